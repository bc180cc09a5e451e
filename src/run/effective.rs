//! What was really in force in a run, as far as running it tells: engines and their queues, direct I/O,
//! layout, caches, and what the kernel could not do. Nothing is measured or judged here.

use super::engines::{self, Chosen};
use super::numbers;
use crate::os::linux::Context;
use crate::os::linux::resolve::Resolver;
use crate::plan::instr::{Args, Direct, Instr, Layout, Moves, PhasePlan, Plan};
use crate::record::{Directness, Effective, EngineUse, QueueUse};
use crate::vm::team::TeamRun;

/// What was in force, as far as running it tells.
pub fn effective(chosen: &Chosen, team: &TeamRun, context: &Context, cache: Option<String>) -> Effective {
    let plan = chosen.plan.as_ref();
    let moved = numbers::moved(plan, team);
    let mut fallbacks = chosen.notes.clone();
    if matches!(context.resolver(), Resolver::Walk) {
        fallbacks.push("openat2 is missing: paths are walked component by component".to_string());
    }
    if !team.own_tables {
        fallbacks.push("unshare(CLONE_FILES) is refused: workers share one descriptor table".to_string());
    }
    let used: Vec<_> = plan.engines_used().into_iter().filter_map(|index| plan.engines.get(index)).collect();
    for engine in used.iter().filter(|engine| engine.direct != engine.wants_direct()) {
        fallbacks.push(format!("direct I/O was not tried: engine {} works on the page cache", engine.name));
    }
    if let Some((call, errno)) = team.refused_direct {
        fallbacks
            .push(format!("direct I/O was refused by the first {call} ({errno}): buffered from there on"));
    }
    if let Some(errno) = team.refused_drop {
        fallbacks.push(format!(
            "caches were not dropped: {errno}; dropping them needs root, and what is read then may come from memory"
        ));
    }
    for note in team.queues.iter().flat_map(|(_, queue)| &queue.notes) {
        if !fallbacks.contains(note) {
            fallbacks.push(note.clone());
        }
    }
    let layouts = plan.sets.iter().filter(|set| set.count > 0 && !set.memory);
    let mut layouts: Vec<&str> = layouts
        .map(|set| match set.layout {
            // The engine that does nothing lays out nothing either.
            Layout::Written if plan.engines.iter().all(|engine| engine.name == "nop") => "empty",
            Layout::Written => "written",
            Layout::Fallocated => "fallocated",
            Layout::None => "holes",
        })
        .collect();
    layouts.sort_unstable();
    layouts.dedup();
    let engines = uses(chosen, team);
    let (depth, queue) = only_queue(&engines);
    Effective {
        direct: Some(directness(plan, team.refused_direct.is_some())),
        cache,
        engine: Some(engines::used(plan)),
        depth,
        queue,
        engines,
        layout: (!layouts.is_empty()).then(|| layouts.join(", ")),
        unexpected: team.unexpected.clone(),
        application_read_bytes: moved.map(|(read, _)| read),
        application_written_bytes: moved.map(|(_, written)| written),
        fallbacks,
        ..Effective::default()
    }
}

/// Each engine of the plan that transfers go through.
fn uses(chosen: &Chosen, team: &TeamRun) -> Vec<EngineUse> {
    let plan = chosen.plan.as_ref();
    let entry = |index: usize| {
        let (asked, used) = (chosen.asked.engines.get(index)?, plan.engines.get(index)?);
        let queues = || team.queues.iter().filter(|(engine, _)| usize::from(*engine) == index);
        Some(EngineUse {
            asked: asked.name.clone(),
            used: engines::with_version(&used.name),
            depth_asked: asked.depth,
            depth: depth(team, index),
            direct_asked: direct_word(asked.direct).into(),
            queue: (queues().count() > 0).then(|| QueueUse {
                registered_files: queues().all(|(_, queue)| queue.registered_files),
                registered_buffers: queues().all(|(_, queue)| queue.registered_buffers),
                submissions: queues().map(|(_, queue)| queue.submissions).sum(),
                retries: queues().map(|(_, queue)| queue.retries).sum(),
            }),
            used_by: used_by(plan, index),
        })
    };
    plan.engines_used().into_iter().filter_map(entry).collect()
}

/// What the one queue of a case reached and what became of it. There is no such number of several.
fn only_queue(engines: &[EngineUse]) -> (Option<f64>, Option<QueueUse>) {
    let mut queues = engines.iter().filter(|engine| engine.queue.is_some());
    match (queues.next(), queues.next()) {
        (Some(only), None) => (only.depth, only.queue.clone()),
        _ => (None, None),
    }
}

/// Transfers of an engine in flight on average, when one of them was queued.
fn depth(team: &TeamRun, engine: usize) -> Option<f64> {
    let workers = team.phases.iter().flat_map(|phase| &phase.workers);
    let all = workers.filter_map(|worker| worker.depths.get(engine));
    let (queued, sum) = all.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    (queued > 0).then(|| sum as f64 / queued as f64)
}

fn direct_word(direct: Direct) -> &'static str {
    match direct {
        Direct::Require => "require",
        Direct::Prefer => "prefer",
        Direct::Never => "never",
    }
}

/// The phases whose transfers go through an engine; where a phase has others too, the steps.
fn used_by(plan: &Plan, engine: usize) -> Vec<String> {
    let mut names = Vec::new();
    for phase in &plan.phases {
        let mut all = true;
        let mut steps = Vec::new();
        for (index, args) in moving(plan, phase) {
            if usize::from(args.engine) != engine {
                all = false;
                continue;
            }
            let name = step_name(plan, phase, index, args);
            if !steps.contains(&name) {
                steps.push(name);
            }
        }
        match all && !steps.is_empty() {
            true => names.push(phase.name.clone()),
            false => names.append(&mut steps),
        }
    }
    names
}

/// The operands of a phase's steps that move data, with their indices.
fn moving<'a>(plan: &'a Plan, phase: &'a PhasePlan) -> impl Iterator<Item = (u32, &'a Args)> {
    let code = phase.groups.iter().flat_map(|group| &group.code);
    code.filter_map(|instr| match instr {
        Instr::Op { args: index, .. } => {
            let args = plan.args.get(*index as usize)?;
            (args.moves != Moves::Nothing).then_some((*index, args))
        }
        _ => None,
    })
}

/// As in the record's `steps`; what is not counted has no name but its place in the profile.
fn step_name(plan: &Plan, phase: &PhasePlan, index: u32, args: &Args) -> String {
    match phase.stats.get(usize::from(args.stat)) {
        Some(stat) => {
            let parts = [phase.name.as_str(), &stat.group, &stat.key];
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
        }
        None => plan.places.get(index as usize).cloned().unwrap_or_default(),
    }
}

/// What is known of direct I/O without looking at what the kernel does with the flag.
fn directness(plan: &Plan, refused: bool) -> Directness {
    let flagged = |flags: i32| flags & libc::O_DIRECT != 0;
    let wanted = plan.engines_used().into_iter().filter_map(|index| plan.engines.get(index));
    let direct = wanted.into_iter().any(|engine| engine.wants_direct() != Direct::Never)
        || plan.args.iter().any(|args| flagged(args.opening.flags))
        || plan.sets.iter().any(|set| set.kept_open.is_some_and(flagged));
    if !direct || refused {
        return Directness::Buffered;
    }
    // Whether each file that a step's transfers go to is open with the flag whoever opened it.
    let every = |args: &Args| {
        let Some(set) = plan.sets.get(usize::from(args.set)) else { return false };
        if let Some(flags) = set.kept_open {
            return flagged(flags) || set.prefer_direct;
        }
        let opens = |other: &&Args| {
            other.set == args.set && (other.opening.flags != 0 || other.opening.permissions != 0)
        };
        let mut openings = plan.args.iter().filter(opens).map(|other| other.opening).peekable();
        openings.peek().is_some() && openings.all(|opening| flagged(opening.flags) || opening.prefer_direct)
    };
    let mut steps = plan.args.iter().filter(|args| args.moves != Moves::Nothing).peekable();
    // What trees, databases and recorded loads do goes its own way.
    let others = !plan.replays.is_empty()
        || !plan.sql.databases.is_empty()
        || plan.sets.iter().any(|set| set.trees.is_some());
    match steps.peek().is_some() && !others && steps.all(every) {
        true => Directness::Asked,
        false => Directness::Unknown,
    }
}
