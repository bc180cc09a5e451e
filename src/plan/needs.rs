//! What a plan needs of a machine, found by walking its programs: bytes, files, descriptors,
//! memory, threads, alignment, time.
//!
//! Needs are upper bounds unless said otherwise; `None` stands for what only the run can tell.
//! Knows nothing of what a machine has: that is `preflight`'s.

use super::instr::*;
use super::level::times;
use super::needs_process::{
    alignment, alike, all_ops, descriptors, longest_component, memory, replays, root_wanted, users, uses,
};
pub use super::needs_text::{about, text};
use super::walk::{Levels, Totals, Walk};

/// Something that is on the target: at the start, and at most at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Held {
    /// Before the first phase.
    pub laid_out: u64,
    /// At any time, at most; `None` where only the run can tell.
    pub peak: Option<u64>,
}

/// Memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Memory {
    /// Buffers, pools and statistics of each worker.
    pub per_worker: u64,
    /// What workers share.
    pub shared: u64,
    /// All workers and what they share.
    pub total: u64,
}

/// What direct transfers are multiples of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granularity {
    /// Bytes that lengths and offsets of every direct transfer are multiples of.
    pub bytes: u64,
    /// The step with the smallest one.
    pub place: String,
    /// Whether the plan insists on direct transfers.
    pub required: bool,
}

/// What a plan needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Needs {
    /// Bytes files hold.
    pub bytes: Held,
    /// Bytes the phases write, on average, without the layout.
    pub written: Option<u64>,
    /// Files, directories and links.
    pub inodes: Held,
    /// Descriptors one worker has open at once, at most.
    pub descriptors_per_worker: u64,
    /// All workers together (where they share one table, or the machine counts).
    pub descriptors_total: u64,
    /// Memory of the process.
    pub memory: Memory,
    /// Threads started.
    pub threads: u32,
    /// Longest single name in bytes.
    pub largest_name: u64,
    /// `None` where nothing is asked to be direct.
    pub alignment: Option<Granularity>,
    /// Time limits, pauses and rates of all phases in seconds; `None` where there are none. What
    /// ends with its work comes on top.
    pub expected_seconds: Option<f64>,
    /// Phases that end with their work and not with a time.
    pub untimed: Vec<String>,
    /// Operations only root may perform.
    pub root_wanted: Vec<&'static str>,
}

/// Finds out what a plan needs.
pub fn needs(plan: &Plan) -> Needs {
    let mut walk = Walk::new(plan);
    let (mut phases, mut totals) = summed(&walk, plan);
    if totals.sets.iter().any(|set| set.trees > 0.0) {
        // What is done to each tree is known once it is known how many there are.
        walk.trees(&totals);
        (phases, totals) = summed(&walk, plan);
    }
    let peaks = peaks(plan, &phases);

    let (mut bytes, mut inodes) = ([0.0; 2], [0.0; 2]);
    let mut members = 0.0;
    for (id, set) in plan.sets.iter().enumerate().filter(|(_, set)| !set.memory) {
        let pools = if set.per_worker { users(plan, set) } else { 1.0 };
        let count = pools * set.count as f64;
        let size = walk.moments(set.size, id as SetId);
        let (sum, sum_on_disk) = match set.layout {
            Layout::None => (size.largest_sum(count), 0.0),
            _ => (size.largest_sum(count), size.largest_sum(count)),
        };
        let moved = totals.sets[id];
        let peak = &peaks[id];
        // Either every member is as large as it may get, or everything ever written is kept.
        let largest = set.max_size.map_or(f64::INFINITY, |n| n as f64).max(if set.count > 0 {
            size.upper
        } else {
            0.0
        });
        let written_size = if set.count > 0 { size.upper.max(peak.end) } else { peak.end };
        let by_members = if moved.most == 0.0 {
            sum_on_disk
        } else {
            times(peak.members, largest).min(times(peak.members, written_size) + moved.appended)
        };
        bytes[0] += times(count, if set.layout == Layout::None { 0.0 } else { size.mean });
        bytes[1] += by_members.min(sum_on_disk + moved.most).max(sum.min(sum_on_disk));
        let dirs = directories(plan, set);
        inodes[0] += count + dirs;
        // The journal; or the log and its index.
        let beside =
            if plan.sql.databases.contains(&(id as SetId)) { 2.0 * peak.members.max(count) } else { 0.0 };
        inodes[1] +=
            beside + peak.members.max(count) + dirs + peak.beside + fixed_names(plan, &walk, id as SetId);
        members += peak.members.max(count) / pools.max(1.0);
    }
    let trees = super::tree_needs::grown(plan);
    bytes[1] += trees.bytes;
    inodes[1] += trees.names;
    for (replay, workers) in replays(plan) {
        let stream = &replay.stream;
        bytes[1] += stream.footprint as f64 * workers;
        // Directories among the paths are not told apart from files.
        inodes[1] += (stream.names + stream.paths.len() as u64) as f64 * workers;
    }
    let written = totals.sets.iter().map(|s| s.written).sum::<f64>();
    let descriptors = descriptors(plan, &walk);
    let untimed: Vec<String> = plan
        .phases
        .iter()
        .zip(&phases)
        .filter(|(_, sum)| !sum.timed)
        .map(|(phase, _)| phase.name.clone())
        .collect();
    Needs {
        bytes: Held { laid_out: bytes[0] as u64, peak: whole(bytes[1]) },
        written: whole(written),
        inodes: Held { laid_out: inodes[0] as u64, peak: whole(inodes[1]) },
        descriptors_per_worker: descriptors,
        descriptors_total: descriptors.saturating_mul(u64::from(plan.workers)),
        memory: memory(plan, members),
        threads: plan.workers,
        largest_name: plan.names.iter().map(|name| longest_component(name)).max().unwrap_or(0),
        alignment: alignment(plan, &walk),
        expected_seconds: (totals.seconds > 0.0).then_some(totals.seconds),
        untimed,
        root_wanted: root_wanted(plan, &walk),
    }
}

/// What every phase does, and all of them as the schedule has them.
fn summed(walk: &Walk, plan: &Plan) -> (Vec<PhaseSum>, Totals) {
    let phases: Vec<PhaseSum> = plan.phases.iter().map(|phase| PhaseSum::of(walk, phase)).collect();
    let mut totals = Totals::none(plan.sets.len());
    add_schedule(&plan.schedule, &phases, &mut totals);
    (phases, totals)
}

/// A number that is known.
fn whole(n: f64) -> Option<u64> {
    // Beyond 2^63 it is a loop without an end rather than an amount.
    (n < 9.0e18).then_some(n.ceil() as u64)
}

/// One execution of a phase.
struct PhaseSum {
    totals: Totals,
    /// What one worker of each group does to pools.
    groups: Vec<((u32, u32), Levels)>,
    timed: bool,
}

impl PhaseSum {
    fn of(walk: &Walk, phase: &PhasePlan) -> PhaseSum {
        let mut sum = PhaseSum { totals: Totals::none(walk.sets()), groups: Vec::new(), timed: false };
        let ends = phase.groups.iter().any(|g| g.ends_phase);
        let mut seconds: f64 = 0.0;
        for group in &phase.groups {
            let workers = f64::from(group.workers.1.saturating_sub(group.workers.0));
            let (mut totals, levels) = walk.program(&group.code, workers);
            if group.ends_phase || !ends {
                seconds = seconds.max(totals.seconds);
                sum.timed |= walk.is_timed(&group.code);
            }
            totals.seconds = 0.0;
            sum.totals.add(&totals, workers, workers);
            sum.groups.push((group.workers, levels));
        }
        sum.totals.seconds = seconds;
        sum
    }
}

fn add_schedule(schedule: &[Schedule], phases: &[PhaseSum], to: &mut Totals) {
    for entry in schedule {
        match entry {
            Schedule::Phase(id) => {
                if let Some(phase) = phases.get(usize::from(*id)) {
                    to.add(&phase.totals, 1.0, 1.0);
                }
            }
            Schedule::Loop { until, body } => {
                let mut round = Totals::none(to.sets.len());
                add_schedule(body, phases, &mut round);
                let (n, seconds) = match until {
                    Until::Times(n) => (*n as f64, times(round.seconds, *n as f64)),
                    Until::Time(span) => (f64::INFINITY, round.seconds.max(*span as f64 / 1e9)),
                    _ => (1.0, round.seconds),
                };
                round.seconds = 0.0;
                to.add(&round, n, n);
                to.seconds += seconds;
            }
        }
    }
}

/// Levels of one line of workers through the schedule; `phase` says what a phase does.
fn along(schedule: &[Schedule], same: &Levels, phase: &dyn Fn(u16) -> Option<Levels>) -> Levels {
    schedule.iter().fold(same.clone(), |levels, entry| match entry {
        Schedule::Phase(id) => phase(*id).map_or(levels.clone(), |next| levels.then(&next)),
        Schedule::Loop { until, body } => {
            let n = match until {
                Until::Times(n) => *n as f64,
                Until::Time(_) => f64::INFINITY,
                _ => 1.0,
            };
            levels.then(&along(body, same, phase).map(|l| l.repeat(n)))
        }
    })
}

/// The most there is of one set.
#[derive(Clone, Copy, Debug, Default)]
struct Peak {
    /// Members of all its pools.
    members: f64,
    /// Other names in its directories.
    beside: f64,
    /// Bytes a file can have by what is written from its start on.
    end: f64,
}

fn peaks(plan: &Plan, phases: &[PhaseSum]) -> Vec<Peak> {
    let same = Levels::same(plan.sets.len());
    let mut peaks = vec![Peak::default(); plan.sets.len()];
    let bounded = |set: &SetPlan, members: f64| members.min(set.slots.map_or(f64::INFINITY, |n| n as f64));
    for edge in alike(plan) {
        let workers = f64::from(edge[1] - edge[0]);
        let line = along(&plan.schedule, &same, &|id| {
            let phase = phases.get(usize::from(id))?;
            let group = phase.groups.iter().find(|((a, b), _)| (*a..*b).contains(&edge[0]))?;
            Some(group.1.clone())
        });
        for (id, set) in plan.sets.iter().enumerate() {
            if set.per_worker && uses(set, edge[0]) {
                peaks[id].members += workers * bounded(set, line.members[id].peak(set.count as f64));
            }
            peaks[id].beside += times(workers, line.beside[id].peak(0.0));
            peaks[id].end = peaks[id].end.max(line.ends[id].peak(0.0));
        }
    }
    let together = along(&plan.schedule, &same, &|id| {
        let groups =
            phases.get(usize::from(id))?.groups.iter().map(|((a, b), levels)| match b.saturating_sub(*a) {
                1 => levels.clone(),
                n => levels.map(|l| l.beside(f64::from(n))),
            });
        groups.reduce(|a, b| a.with(&b, super::level::Level::along))
    });
    for (id, set) in plan.sets.iter().enumerate().filter(|(_, set)| !set.per_worker) {
        peaks[id].members = bounded(set, together.members[id].peak(set.count as f64));
    }
    peaks
}

fn has_worker(plan: &Plan, name: NameId) -> bool {
    let segments = plan.names.get(usize::from(name)).map_or(&[][..], Vec::as_slice);
    segments.iter().any(|s| matches!(s, Segment::Worker(_)))
}

/// Directories of a set on the target.
fn directories(plan: &Plan, set: &SetPlan) -> f64 {
    let mut owners = 1.0;
    let mut total = 0.0;
    for part in &set.dir {
        if has_worker(plan, *part) {
            owners = users(plan, set);
        }
        total += owners;
    }
    if let Some(dirs) = &set.dirs {
        if has_worker(plan, dirs.name) {
            owners = users(plan, set);
        }
        total += owners * f64::from(dirs.count);
    }
    total
}

/// Names that are always the same and made by steps: each is there once at most.
fn fixed_names(plan: &Plan, walk: &Walk, set: SetId) -> f64 {
    let makes = |verb: &str, args: &Args| match verb {
        "mkdir" | "symlink" => true,
        "open" => args.opening.flags & libc::O_CREAT != 0,
        _ => false,
    };
    let mut names: Vec<NameId> = all_ops(plan, walk)
        .filter(|(verb, args, _)| {
            args.set == set && args.name != NO_NAME && makes(verb, args) && !walk.varies(args.name)
        })
        .map(|(_, args, _)| args.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len() as f64 * f64::from(plan.workers)
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
