//! All rows, in one order, with the functions that perform them.

use std::sync::LazyLock;

use super::at_random::Way;
use super::row::Row;
use crate::os::Os;
use crate::plan::instr::{Args, Detail, EnginePlan, Instr, Moves, Plan};
use crate::profile::shape::Verb;
use crate::vm::fault::Flow;
use crate::vm::worker::Worker;

/// Performs one operation.
pub type Exec<O> = fn(&mut Worker<O>, &Plan, &Args) -> Flow;

/// Performs one operation after the other, each in an iteration of its own, up to the one of this
/// number, while nothing else is to be looked at.
pub type Many<O> = fn(&mut Worker<O>, &Plan, &Args, u64) -> Flow;

/// Declares a family of operations: each row names the function that performs it, so that a new
/// operation is one row.
macro_rules! family {
    ($( { verb: $verb:expr, object: $object:expr, counts: $counts:expr, run: $run:ident $(, $field:ident: $value:expr)* $(,)? } ),* $(,)?) => {
        /// The rows of this family.
        pub const ROWS: &[$crate::ops::row::Row] = &[
            $( {
                #[allow(unused_mut)]
                let mut row = $crate::ops::row::Row {
                    verb: $verb,
                    object: $object,
                    counts: $counts,
                    detail: $crate::plan::instr::Detail::Nothing,
                    needs_open: false,
                    opens: false,
                    by_age: false,
                };
                $( row.$field = $value; )*
                row
            } ),*
        ];

        /// What performs them, in the same order.
        pub fn execs<O: $crate::os::Os>() -> Vec<$crate::ops::Exec<O>> {
            vec![$( $run::<O> as $crate::ops::Exec<O> ),*]
        }
    };
}
pub(crate) use family;

/// The families: adding one is one line here and one below.
const FAMILIES: &[&[Row]] = &[
    super::files::ROWS,
    super::data::ROWS,
    super::space::ROWS,
    super::durability::ROWS,
    super::names::ROWS,
    super::attributes::ROWS,
    super::sql::ROWS,
    super::flow::ROWS,
    super::trees::ROWS,
    super::replay::ROWS,
];

/// What performs each operation, in the order of [`rows`].
pub fn table<O: Os>() -> Vec<Exec<O>> {
    [
        super::files::execs::<O>(),
        super::data::execs::<O>(),
        super::space::execs::<O>(),
        super::durability::execs::<O>(),
        super::names::execs::<O>(),
        super::attributes::execs::<O>(),
        super::sql::execs::<O>(),
        super::flow::execs::<O>(),
        super::trees::execs::<O>(),
        super::replay::execs::<O>(),
    ]
    .concat()
}

/// One step ready to be performed: its operands, and what performs just these.
pub struct Linked<'a, O: Os> {
    /// What performs it.
    pub run: Exec<O>,
    /// Its operands.
    pub args: &'a Args,
    /// Their index in the plan.
    pub index: u32,
    /// One transfer at a random place that is over when its call returns.
    pub way: Option<Way>,
    /// Whether transfers in flight, or the engine in use, must be looked at before it.
    pub care: bool,
    /// It puts its transfers into a queue.
    pub queues: bool,
    /// What performs many of it in a row, where there is such a function.
    pub many: Option<Many<O>>,
    /// The loop that this step is all of; [`NO_LOOP`] for most.
    pub alone: u16,
}

/// No loop.
pub const NO_LOOP: u16 = u16::MAX;

/// The steps of a plan by the index of their operands. A step that says little gets a function that
/// asks little.
pub fn link<O: Os>(plan: &Plan) -> Vec<Linked<'_, O>> {
    let table = table::<O>();
    let queue = plan.engines.iter().any(EnginePlan::has_queue);
    // Operands of blocks and the like belong to no operation and are never run.
    let mut linked: Vec<Linked<O>> = plan
        .args
        .iter()
        .zip(0..)
        .map(|(args, index)| Linked {
            run: |_, _, _| Flow::Next,
            args,
            index,
            way: None,
            care: false,
            queues: false,
            many: None,
            alone: NO_LOOP,
        })
        .collect();
    for group in plan.phases.iter().flat_map(|phase| &phase.groups) {
        for (at, instr) in group.code.iter().enumerate() {
            let Instr::Op { op, args } = *instr else { continue };
            let (Some(step), Some(run)) = (linked.get_mut(args as usize), table.get(usize::from(op))) else {
                continue;
            };
            let verb = rows().nth(usize::from(op)).map_or("", |row| row.verb.name);
            step.run = *run;
            if let Some((one, many)) = super::at_random::special(verb, plan, step.args) {
                (step.run, step.many) = (one, Some(many));
                step.way = super::at_random::way(verb, plan, step.args);
            }
            let whole = matches!(step.args.detail, Detail::Tree(_));
            step.queues =
                step.args.moves != Moves::Nothing && !whole && plan.engine_of(step.args).has_queue();
            step.care = queue && !step.queues || plan.engines.len() > 1;
            step.alone = match group.code.get(at + 1) {
                Some(Instr::LoopNext { id, head }) if *head as usize == at && step.args.every == 1 => *id,
                _ => NO_LOOP,
            };
        }
    }
    linked
}

/// Every row; an operation's number is its index here.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    FAMILIES.iter().copied().flatten()
}

/// The row of a verb and its number.
pub fn find(verb: &str) -> Option<(u16, &'static Row)> {
    rows().enumerate().find(|(_, row)| row.verb.name == verb).map(|(i, row)| (i as u16, row))
}

/// The verbs as the schema and the reference see them.
pub fn verbs() -> &'static [Verb] {
    static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| rows().map(|row| row.verb).collect());
    &VERBS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_one_row_and_one_function() {
        let mut names: Vec<&str> = rows().map(|r| r.verb.name).collect();
        assert_eq!(names.len(), table::<crate::os::sim::Sim>().len());
        names.sort_unstable();
        let before = names.len();
        names.dedup();
        assert_eq!(names.len(), before);
    }

    #[test]
    fn every_row_is_documented() {
        for row in rows() {
            assert!(row.verb.doc.len() > 20, "{}", row.verb.name);
            assert!(row.verb.args.iter().all(|f| !f.doc.is_empty()), "{}", row.verb.name);
            assert!(row.verb.bare || row.verb.object.is_some(), "{}", row.verb.name);
        }
    }
}
