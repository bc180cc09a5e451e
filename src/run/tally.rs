//! Adding up what workers counted: over workers, over executions of a phase, over steps.
//!
//! Knows which time belongs to which count. What the sums are called is not known here.

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::Interval;
use crate::os::Nanos;
use crate::plan::instr::{PhasePlan, Plan, StatKind};
use crate::vm::stat::Stat;
use crate::vm::team::TeamRun;

/// One worker in one execution.
pub struct Share<'a> {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Name of its group; empty without groups.
    pub group: &'a str,
    /// Its numbers, by statistic of the phase.
    pub stats: &'a [Stat],
    /// Its numbers by interval; empty where none are kept.
    pub intervals: &'a [Interval],
    /// Its own time from its start to its last counted operation, without what is not measured.
    pub seconds: f64,
}

/// One execution of a phase with its measured workers.
pub struct Execution<'a> {
    /// One share a measured worker.
    pub workers: Vec<Share<'a>>,
    /// The common window.
    pub seconds: f64,
    start: Nanos,
    end: Nanos,
}

impl Execution<'_> {
    /// The difference of two clocks that show whole seconds only; at least 1.
    pub fn whole_seconds(&self, epoch_ns: u64) -> u64 {
        let stamp = |at: Nanos| epoch_ns.saturating_add(at) / 1_000_000_000;
        (stamp(self.end) - stamp(self.start)).max(1)
    }
}

/// All executions of one phase in which measured workers took part.
pub fn executions<'a>(plan: &'a Plan, run: &'a TeamRun, phase: u16) -> Vec<Execution<'a>> {
    let Some(about) = plan.phases.get(usize::from(phase)) else { return Vec::new() };
    let mut out = Vec::new();
    for phase_run in run.phases.iter().filter(|run| run.phase == phase) {
        let mut workers: Vec<_> = phase_run
            .workers
            .iter()
            .filter_map(|worker| Some((worker, about.groups.get(worker.group)?)))
            .filter(|(_, group)| group.measured)
            .collect();
        workers.sort_by_key(|(worker, _)| worker.worker);
        let Some(start) = workers.iter().map(|(w, _)| w.start).min() else { continue };
        let last = workers.iter().map(|(w, _)| w.end).max().unwrap_or(start);
        let left = workers.iter().map(|(w, _)| w.left).max().unwrap_or(last);
        // A fixed window counts whole unless everyone left before it was over.
        let (start, end) = match phase_run.window {
            Some((from, to)) if left >= to => (from, to),
            _ => (start, last),
        };
        // Only what nobody measured is no part of the common time.
        let excluded = workers.iter().map(|(w, _)| w.excluded).min().unwrap_or(0);
        out.push(Execution {
            seconds: seconds(end.saturating_sub(start).saturating_sub(excluded)),
            start,
            end,
            workers: workers
                .into_iter()
                .map(|(worker, group)| Share {
                    worker: worker.worker,
                    group: &group.name,
                    stats: &worker.stats,
                    intervals: &worker.intervals,
                    seconds: seconds(worker.end.saturating_sub(worker.start).saturating_sub(worker.excluded)),
                })
                .collect(),
        });
    }
    out
}

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / 1e9
}

/// Something that numbers are about: a step, or a phase or group as a whole (an empty key).
pub struct Subject {
    /// Name of the group; empty without groups.
    pub group: String,
    /// Name of the step; empty for a phase or group as a whole.
    pub key: String,
    /// What kind of operations it counts.
    pub kind: StatKind,
    /// Its statistics, as positions in the phase's list.
    pub stats: Vec<usize>,
    /// Those among them and their steps as a whole whose operations have rates of their own.
    pub rated: Vec<usize>,
}

/// What there are numbers about in a phase. A phase as a whole is its data steps; where it has
/// none, its other operations.
pub fn subjects(phase: &PhasePlan) -> Vec<Subject> {
    let mut out: Vec<Subject> = Vec::new();
    let grouped = |name: &str| phase.groups.iter().all(|g| g.name != name || g.measured);
    let stats: Vec<_> =
        phase.stats.iter().enumerate().filter(|(_, s)| s.measured && grouped(&s.group)).collect();
    for (id, stat) in &stats {
        let same = |s: &&mut Subject| {
            let whole = |kind| match kind {
                StatKind::Step => 1,
                StatKind::Decks => 2,
                _ => 0,
            };
            s.group == stat.group && s.key == stat.key && whole(s.kind) == whole(stat.kind)
        };
        match out.iter_mut().find(same) {
            Some(subject) => subject.stats.push(*id),
            None => out.push(Subject {
                group: stat.group.clone(),
                key: stat.key.clone(),
                kind: stat.kind,
                stats: vec![*id],
                rated: Vec::new(),
            }),
        }
    }
    for subject in &mut out {
        let own = stats.iter().filter(|(_, s)| s.group == subject.group && s.key == subject.key);
        subject.rated = own.map(|(id, _)| *id).collect();
    }
    let groups: BTreeSet<&str> = stats.iter().map(|(_, s)| s.group.as_str()).collect();
    for group in groups.into_iter().filter(|g| !g.is_empty()).map(Some).chain([None]) {
        let of = |kind: StatKind| -> Vec<usize> {
            let inside = stats.iter().filter(|(_, s)| group.is_none_or(|g| g == s.group) && s.kind == kind);
            inside.map(|(id, _)| *id).collect()
        };
        let kinds = [StatKind::Data, StatKind::Operation];
        let chosen = kinds.into_iter().map(|kind| (kind, of(kind))).find(|(_, stats)| !stats.is_empty());
        if let Some((kind, stats)) = chosen {
            let group = group.unwrap_or_default().to_string();
            out.push(Subject { group, key: String::new(), kind, stats, rated: Vec::new() });
        }
    }
    out
}

/// Sums of one subject.
#[derive(Clone, Default)]
pub struct Tally {
    /// All of it.
    pub sum: Stat,
    /// Common time of all executions in seconds.
    pub seconds: f64,
    /// By worker, over all executions, with the worker's own time.
    pub workers: BTreeMap<u32, (Stat, f64)>,
    /// Each execution with its common time.
    pub executions: Vec<(Stat, f64)>,
    /// Sum of the rates of single operations, bytes a second, and how many had one.
    own_rates: (f64, u64),
}

impl Tally {
    /// Sums the statistics at the positions `stats` over all executions.
    pub fn of(executions: &[Execution], stats: &[usize]) -> Tally {
        let mut tally = Tally::default();
        for execution in executions {
            let mut together = Stat::default();
            for share in &execution.workers {
                let own = tally.workers.entry(share.worker).or_default();
                own.1 += share.seconds;
                for stat in stats.iter().filter_map(|id| share.stats.get(*id)) {
                    own.0.merge(stat);
                    together.merge(stat);
                }
            }
            tally.sum.merge(&together);
            tally.seconds += execution.seconds;
            if together.ops > 0 {
                tally.executions.push((together, execution.seconds));
            }
        }
        tally.workers.retain(|_, (stat, _)| stat.ops > 0);
        tally
    }

    /// Adds the rates of single operations that these statistics hold.
    pub fn take_own_rates(&mut self, executions: &[Execution], stats: &[usize]) {
        for share in executions.iter().flat_map(|execution| &execution.workers) {
            for stat in stats.iter().filter_map(|id| share.stats.get(*id)) {
                self.own_rates.0 += stat.rate_sum;
                self.own_rates.1 += stat.rated;
            }
        }
    }

    /// Mean rate of single operations, bytes a second; `None` where they have none of their own.
    pub fn own_rate(&self) -> Option<f64> {
        (self.own_rates.1 > 0).then(|| self.own_rates.0 / self.own_rates.1 as f64)
    }
}
