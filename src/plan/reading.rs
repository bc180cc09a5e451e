//! Which way the transfers go that a plan's statistics count.

use std::collections::BTreeSet;

use super::instr::{Detail, Instr, Moves, PhasePlan, Plan};
use super::stream::Kind;

/// Statistics of a phase by the way of the transfers they count, as positions in its list. Steps
/// that go both ways under one label stand in both.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Directions {
    /// Those that count bytes from files.
    pub reads: BTreeSet<usize>,
    /// Those that count bytes to files.
    pub writes: BTreeSet<usize>,
}

/// Which way the transfers of a phase go, by the statistic that counts them.
pub fn directions(plan: &Plan, phase: &PhasePlan) -> Directions {
    let mut out = Directions::default();
    for instr in phase.groups.iter().flat_map(|group| &group.code) {
        let Instr::Op { args, .. } = instr else { continue };
        let Some(args) = plan.args.get(*args as usize) else { continue };
        match args.moves {
            Moves::Reads => drop(out.reads.insert(usize::from(args.stat))),
            Moves::Writes => drop(out.writes.insert(usize::from(args.stat))),
            Moves::Nothing => {}
        }
        if let Detail::Replay(id) = args.detail
            && let Some(replay) = plan.replays.get(usize::from(id))
        {
            let stat = |kind: Kind| replay.stats.get(kind as usize).map(|stat| usize::from(*stat));
            out.reads.extend(stat(Kind::Read));
            out.writes.extend(stat(Kind::Write));
        }
    }
    out
}
