//! Which of a plan's statistics count reads; the other transfers are writes.

use std::collections::BTreeSet;

use super::instr::{Args, Detail, Instr, PhasePlan, Plan};
use super::stream::Kind;

/// Statistics of a phase that count reads, as positions in its list.
pub fn reading(plan: &Plan, phase: &PhasePlan) -> BTreeSet<usize> {
    let reads = |op: usize| crate::ops::rows().nth(op).is_some_and(|row| row.verb.name == "read");
    let mut out = BTreeSet::new();
    for instr in phase.groups.iter().flat_map(|group| &group.code) {
        if let Instr::Op { op, args } = instr
            && reads(usize::from(*op))
            && let Some(Args { stat, .. }) = plan.args.get(*args as usize)
        {
            out.insert(usize::from(*stat));
        }
        if let Instr::Op { args, .. } = instr
            && let Some(Args { detail: Detail::Replay(id), .. }) = plan.args.get(*args as usize)
            && let Some(stat) =
                plan.replays.get(usize::from(*id)).and_then(|r| r.stats.get(Kind::Read as usize))
        {
            out.insert(usize::from(*stat));
        }
    }
    out
}
