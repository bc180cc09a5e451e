//! Which engines a case runs with: those asked for, or the first of their `fallback` that the machine
//! gives.

use std::sync::Arc;

use crate::os::Errno;
use crate::os::linux::engines::{self, Refused, any::Any, several::Several};
use crate::os::linux::sqlite;
use crate::plan::instr::{Direct, EnginePlan, Plan};
use crate::record::{NoResult, Reason};

/// The engines of a case.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The plan with the engines that were asked for.
    pub asked: Arc<Plan>,
    /// The plan with the engines that are really used.
    pub plan: Arc<Plan>,
    /// What could not be had, and what was taken instead.
    pub notes: Vec<String>,
    /// How many engines of each list were passed over, by engine of the plan.
    passed: Vec<usize>,
}

/// The engine of databases.
const SQLITE: &str = "sqlite";

/// Why no engine of a list can be had.
pub type None = Box<(NoResult, Reason)>;

impl Chosen {
    /// The first of each list that the machine gives.
    ///
    /// # Errors
    /// Where it gives none: the reason of the first one.
    pub fn first(plan: &Arc<Plan>) -> Result<Chosen, None> {
        let mut chosen = Chosen::before(plan);
        for index in plan.engines_used() {
            while let Some(engine) = chosen.plan.engines.get(index) {
                match engines::probe(&engine.name, plan.workers, engine.depth) {
                    Ok(()) => break,
                    Err(refused) => chosen.pass_over(index, refused)?,
                }
            }
        }
        Ok(chosen)
    }

    /// Nothing has been tried yet.
    fn before(plan: &Arc<Plan>) -> Chosen {
        let passed = vec![0; plan.engines.len()];
        Chosen { asked: Arc::clone(plan), plan: Arc::clone(plan), notes: Vec::new(), passed }
    }

    /// After an engine that could not have its queue after all: the next one of its list.
    ///
    /// # Errors
    /// Where there is none: the reason.
    pub fn next(mut self, index: usize, errno: Errno) -> Result<Chosen, None> {
        let name = self.plan.engines.get(index).map_or("", |engine| engine.name.as_str());
        let refused = engines::refused(name, errno);
        self.pass_over(index, refused)?;
        Ok(self)
    }

    fn pass_over(&mut self, index: usize, refused: Refused) -> Result<(), None> {
        let Refused { engine, call, errno, help } = refused;
        let asked = Arc::clone(&self.asked);
        let why = format!("engine {engine}: {call}: {errno}");
        let (Some(list), Some(passed)) = (asked.engines.get(index), self.passed.get_mut(index)) else {
            return Err(nothing(why, errno, help));
        };
        let Some(next) = list.fallback.get(*passed) else { return Err(nothing(why, errno, help)) };
        *passed += 1;
        self.notes.push(format!("{why}; {next} was taken instead"));
        let mut plan = Plan::clone(&self.plan);
        if let Some(engine) = plan.engines.get_mut(index) {
            *engine = EnginePlan { name: next.clone(), ..list.clone() };
            // One that has no queue goes one at a time.
            engine.depth = if engine.has_queue() { list.depth } else { 1 };
        }
        if plan.engines.iter().all(|engine| engine.wants_direct() == Direct::Never) {
            plan.sets.iter_mut().for_each(|set| set.prefer_direct = false);
            plan.args.iter_mut().for_each(|args| args.opening.prefer_direct = false);
        }
        self.plan = Arc::new(plan);
        Ok(())
    }

    /// Whether all of them are the one of this name.
    pub fn all(&self, name: &str) -> bool {
        self.plan.engines.iter().all(|engine| engine.name == name)
    }

    /// One worker's engines.
    pub fn make(&self) -> Several {
        Several::new(self.plan.engines.iter().map(|engine| Any::new(&engine.name)).collect())
    }
}

fn nothing(message: String, errno: Errno, help: String) -> None {
    let mut reason = Reason::new(message);
    reason.errno = crate::os::errno::name(errno).map(str::to_string);
    reason.what_to_do = Some(help);
    Box::new((NoResult::Unsupported, reason))
}

/// The names of the engines a plan's transfers and statements go through.
pub fn names(plan: &Plan) -> String {
    listed(plan).join(", ")
}

/// The same with the version of what comes with this program and is no part of the system.
pub fn used(plan: &Plan) -> String {
    listed(plan).into_iter().map(with_version).collect::<Vec<_>>().join(", ")
}

/// The name of an engine, and its version where it is no part of the system.
pub fn with_version(name: &str) -> String {
    match name {
        SQLITE if sqlite::FDATASYNC => format!("{name} {}", sqlite::version()),
        SQLITE => format!("{name} {} (built without fdatasync)", sqlite::version()),
        _ => name.to_string(),
    }
}

fn listed(plan: &Plan) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let databases = (!plan.sql.databases.is_empty()).then_some(SQLITE);
    let engines = plan.engines_used().into_iter().filter_map(|index| plan.engines.get(index));
    for name in engines.map(|engine| engine.name.as_str()).chain(databases) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(name: &str, depth: u32, fallback: &[&str]) -> Arc<Plan> {
        let mut plan = Plan::empty();
        plan.engines = vec![EnginePlan {
            name: name.into(),
            depth,
            fallback: fallback.iter().map(|name| name.to_string()).collect(),
            ..EnginePlan::sync()
        }];
        Arc::new(plan)
    }

    #[test]
    fn what_is_refused_later_gives_way_to_the_next_of_its_list() {
        let asked = plan("io_uring", 32, &["libaio", "sync"]);
        let first = Chosen::before(&asked);
        let second = first.next(0, Errno(libc::EPERM)).unwrap();
        assert_eq!((names(&second.plan).as_str(), second.plan.engines[0].depth), ("libaio", 32));
        assert!(second.notes[0].starts_with("engine io_uring: io_uring_setup: EPERM"), "{:?}", second.notes);
        assert!(second.notes[0].ends_with("; libaio was taken instead"), "{:?}", second.notes);
        let third = second.next(0, Errno(libc::EAGAIN)).unwrap();
        assert_eq!((names(&third.plan).as_str(), third.plan.engines[0].depth), ("sync", 1));
        assert_eq!(third.notes.len(), 2);
        assert!(third.all("sync") && asked.engines[0].name == "io_uring");
    }

    #[test]
    fn without_another_the_row_says_the_call_the_error_and_what_to_do() {
        let asked = plan("io_uring", 1, &[]);
        let first = Chosen::before(&asked);
        let (outcome, reason) = *first.next(0, Errno(libc::ENOSYS)).unwrap_err();
        assert_eq!(outcome, NoResult::Unsupported);
        assert_eq!(reason.errno.as_deref(), Some("ENOSYS"));
        assert!(reason.message.starts_with("engine io_uring: io_uring_setup: ENOSYS"), "{}", reason.message);
        assert!(reason.what_to_do.is_some_and(|todo| todo.contains("fallback")));
    }

    /// More contexts than any machine gives: the list is walked until something works.
    #[test]
    fn a_queue_that_the_kernel_does_not_have_is_passed_over() {
        let chosen = Chosen::first(&plan("libaio", u32::MAX, &["sync"])).unwrap();
        assert_eq!(names(&chosen.plan), "sync");
        assert!(chosen.notes[0].contains("io_setup"), "{:?}", chosen.notes);
        let (outcome, reason) = *Chosen::first(&plan("libaio", u32::MAX, &[])).unwrap_err();
        assert_eq!(outcome, NoResult::Unsupported);
        assert!(reason.errno.is_some() && reason.what_to_do.is_some());
    }
}
