//! What a plan needs of a machine, found by walking its programs: bytes, files, descriptors,
//! memory, threads, alignment, time.
//!
//! Needs are upper bounds unless said otherwise; `None` stands for what only the run can tell.
//! Knows nothing of what a machine has: that is `preflight`'s.

use super::instr::*;
use super::level::times;
use super::moments::{gcd, granularity};
use super::walk::{Levels, Totals, Walk};
use crate::os::Recipe;
use crate::profile::units::{format_duration, format_size};

/// Bytes a page.
const PAGE: u64 = 4096;
/// Bytes one member takes in a pool: its facts, its place among the live ones, its age.
const MEMBER: u64 = 48;
/// Bytes of one statistic: a histogram's table and the octaves latencies commonly fall into.
const STATISTIC: u64 = 10 << 10;
/// Largest rank table in bytes.
const RANK_TABLE: u64 = 8 << 20;
/// Descriptors every worker has besides its files: the three standard ones, the run directory and
/// its parent, the record's, and a few the process has from its caller.
const OWN_DESCRIPTORS: u64 = 16;
/// Digits of a running number: pools count in 32 bits.
const NUMBER_DIGITS: [(u8, usize); 2] = [(10, 10), (16, 8)];

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
    let walk = Walk::new(plan);
    let phases: Vec<PhaseSum> = plan.phases.iter().map(|phase| PhaseSum::of(&walk, phase)).collect();
    let sets = plan.sets.len();
    let peaks = peaks(plan, &phases);
    let mut totals = Totals::none(sets);
    add_schedule(&plan.schedule, &phases, &mut totals);

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

/// Every recorded load with the number of workers that perform it.
fn replays(plan: &Plan) -> impl Iterator<Item = (&ReplayPlan, f64)> {
    let groups = plan.phases.iter().flat_map(|phase| &phase.groups);
    groups.flat_map(move |group| {
        let workers = f64::from(group.workers.1.saturating_sub(group.workers.0));
        group.code.iter().filter_map(move |instr| match instr {
            Instr::Op { args, .. } => match plan.args.get(*args as usize)?.detail {
                Detail::Replay(id) => Some((plan.replays.get(usize::from(id))?, workers)),
                _ => None,
            },
            _ => None,
        })
    })
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

/// Ranges of workers that do the same: they are in the same groups and use the same sets.
fn alike(plan: &Plan) -> Vec<[u32; 2]> {
    let groups = plan.phases.iter().flat_map(|p| &p.groups).map(|g| g.workers);
    let ranges = groups.chain(plan.sets.iter().flat_map(|s| s.used_by.iter().copied()));
    let mut edges: Vec<u32> = ranges.flat_map(|(a, b)| [a, b]).chain([0, plan.workers]).collect();
    edges.retain(|edge| *edge <= plan.workers);
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|e| [e[0], e[1]]).collect()
}

fn uses(set: &SetPlan, worker: u32) -> bool {
    set.used_by.iter().any(|(a, b)| (*a..*b).contains(&worker))
}

/// Workers whose steps use a set.
fn users(plan: &Plan, set: &SetPlan) -> f64 {
    alike(plan).iter().filter(|[a, _]| uses(set, *a)).map(|[a, b]| f64::from(b - a)).sum()
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

/// Every operation of every program.
fn all_ops<'a>(plan: &'a Plan, walk: &'a Walk) -> impl Iterator<Item = (&'static str, &'a Args, u32)> {
    plan.phases.iter().flat_map(|p| &p.groups).flat_map(move |g| walk.ops(&g.code))
}

/// Descriptors one worker has open at most: directories it keeps, files sets keep open, the file
/// in hand of every set it opens, and one for what is opened and closed at once.
fn descriptors(plan: &Plan, walk: &Walk) -> u64 {
    let of = |worker: u32| {
        let mut opened = vec![0; plan.sets.len()];
        let groups = plan.phases.iter().flat_map(|p| &p.groups);
        for group in groups.filter(|g| (g.workers.0..g.workers.1).contains(&worker)) {
            for (verb, args, _) in walk.ops(&group.code) {
                if let (Some(opened), "create" | "open") = (opened.get_mut(usize::from(args.set)), verb) {
                    *opened = 1;
                }
            }
        }
        // The first worker has the directories of all sets.
        // A database has a journal beside it, or a log and its index, and its directory for a moment.
        let extra: u64 = plan.sql.databases.iter().filter_map(|db| opened.get(usize::from(*db))).sum();
        let used =
            plan.sets.iter().zip(opened).filter(|(s, _)| !s.memory && (worker == 0 || uses(s, worker)));
        let each = used.map(|(set, opened)| {
            let dirs = u64::from(!set.dir.is_empty()) + set.dirs.as_ref().map_or(0, |d| u64::from(d.count));
            let kept = set.kept_open.filter(|_| uses(set, worker));
            dirs.saturating_add(kept.map_or(opened, |_| set.count))
        });
        each.fold(3 * extra, u64::saturating_add)
    };
    let most = alike(plan).iter().map(|[first, _]| of(*first)).max().unwrap_or(0);
    // A recorded load keeps its directories, which are among its paths.
    let replayed = replays(plan).map(|(replay, _)| {
        let stream = &replay.stream;
        let dirs: std::collections::BTreeSet<u32> = stream.paths.iter().map(|path| path.parent).collect();
        u64::from(stream.handles) + dirs.len() as u64
    });
    most.saturating_add(replayed.sum()).saturating_add(OWN_DESCRIPTORS + 1)
}

/// Bytes of the slots that transfers in flight move from and to.
fn queue_memory(plan: &Plan, slot: u64) -> u64 {
    let slots = |(index, engine): (usize, &EnginePlan)| {
        let uses =
            |moves| plan.args.iter().any(|args| usize::from(args.engine) == index && args.moves == moves);
        if !engine.has_queue() || !(uses(Moves::Reads) || uses(Moves::Writes)) {
            return 0;
        }
        let depth = u64::from(engine.depth);
        depth + if uses(Moves::Writes) { depth.max(DATA_POOL / slot.max(1)) } else { 0 }
    };
    plan.engines.iter().enumerate().map(slots).sum::<u64>().saturating_mul(slot)
}

fn memory(plan: &Plan, members: f64) -> Memory {
    let largest = plan.largest_block.saturating_add(PAGE);
    let on_target = plan.sets.iter().filter(|s| s.count > 0).map(|s| s.data);
    let recipes: Vec<Recipe> = plan
        .args
        .iter()
        .filter(|a| a.amount != Amount::Bytes(Draw::Const(0)) || matches!(a.detail, Detail::Replay(_)))
        .map(|a| a.data)
        .chain(on_target)
        .collect();
    let uses = |wanted: fn(&Recipe) -> bool| recipes.iter().any(wanted);
    // Reading has a buffer always.
    let mut buffers = largest;
    for wanted in [
        (|r: &Recipe| *r == Recipe::Zero) as fn(&Recipe) -> bool,
        |r| *r == Recipe::Text,
        |r| matches!(r, Recipe::Byte(_)),
        |r| matches!(r, Recipe::Mixed { .. }),
    ] {
        if uses(wanted) {
            buffers = buffers.saturating_add(largest);
        }
    }
    // Files that hold what was read before are laid out with random data.
    if uses(|r| matches!(r, Recipe::Random | Recipe::Mixed { .. } | Recipe::Read)) {
        let own = if plan.workers > OWN_POOLS { largest } else { largest.max(DATA_POOL + PAGE) };
        buffers = buffers.saturating_add(own);
    }
    buffers = buffers.saturating_add(queue_memory(plan, largest));
    let in_memory = plan.sets.iter().filter(|s| s.memory).map(|set| {
        let sizes = super::moments::file_sizes(set, &plan.tables);
        (super::moments::draw(set.size, &plan.tables, &sizes).upper.min(9e18) as u64, users(plan, set) as u64)
    });
    let stats = plan.phases.iter().map(|p| p.stats.len() as u64).max().unwrap_or(0) * STATISTIC;
    let pools = if members < 1e15 { (members as u64).saturating_mul(MEMBER) } else { 0 };
    let (own, shared) = if plan.sets.iter().any(|s| s.per_worker) { (pools, 0) } else { (0, pools) };
    let ranks = plan.tables.iter().filter(|t| matches!(t, Table::Zipf { .. })).count() as u64 * RANK_TABLE;
    let shared = shared.saturating_add(ranks);
    let mut per_worker = buffers.saturating_add(stats).saturating_add(own);
    let mut total = per_worker.saturating_mul(u64::from(plan.workers)).saturating_add(shared);
    for (size, users) in in_memory {
        per_worker = per_worker.saturating_add(size);
        total = total.saturating_add(size.saturating_mul(users));
    }
    Memory { per_worker, shared, total }
}

/// Longest part between slashes that these segments can give.
fn longest_component(segments: &[Segment]) -> u64 {
    let digits = |spec: &Spec| {
        let of = NUMBER_DIGITS.iter().find(|(radix, _)| *radix == spec.radix).map_or(20, |(_, n)| *n);
        of.max(usize::from(spec.width)) as u64
    };
    let (mut longest, mut current) = (0, 0);
    for segment in segments {
        match segment {
            Segment::Literal(text) => {
                for (i, part) in text.split(|b| *b == b'/').enumerate() {
                    if i > 0 {
                        current = 0;
                    }
                    current += part.len() as u64;
                    longest = longest.max(current);
                }
            }
            Segment::Number(spec) | Segment::Worker(spec) | Segment::Clock(spec) => current += digits(spec),
            Segment::Random(count) | Segment::Digits(count) => current += u64::from(*count),
        }
        longest = longest.max(current);
    }
    longest
}

/// What lengths and offsets of direct transfers are multiples of.
fn alignment(plan: &Plan, walk: &Walk) -> Option<Granularity> {
    let flagged = |flags: i32| flags & libc::O_DIRECT != 0;
    let mut by_flag: Vec<bool> = plan.sets.iter().map(|s| s.kept_open.is_some_and(flagged)).collect();
    for (_, args, _) in all_ops(plan, walk) {
        if let (Some(direct), true) = (by_flag.get_mut(usize::from(args.set)), flagged(args.opening.flags)) {
            *direct = true;
        }
    }
    let mut found: Option<Granularity> = None;
    for (verb, args, index) in all_ops(plan, walk) {
        let Some(set) = plan.sets.get(usize::from(args.set)) else { continue };
        // What must be direct is opened so; what merely should be is tried when it is opened.
        let required = by_flag[usize::from(args.set)];
        if !(required || plan.engine_of(args).direct == Direct::Prefer)
            || set.memory
            || !matches!(verb, "read" | "write" | "append")
        {
            continue;
        }
        let bytes = step_granularity(plan, set, args);
        if bytes > 0 && found.as_ref().is_none_or(|g| bytes < g.bytes) {
            let place = plan.places.get(index as usize).cloned().unwrap_or_default();
            found = Some(Granularity { bytes, place, required });
        }
    }
    found
}

fn step_granularity(plan: &Plan, set: &SetPlan, args: &Args) -> u64 {
    let size = if set.count > 0 { granularity(set.size, &plan.tables, 0) } else { 1 };
    let of = |draw: Draw| granularity(draw, &plan.tables, size);
    let amount = match args.amount {
        Amount::Whole => size,
        Amount::Bytes(draw) => of(draw),
    };
    let block = match args.block {
        Some(block) => of(block),
        None if args.amount == Amount::Whole => crate::ops::data::WHOLE_BLOCK,
        None => amount,
    };
    fn place(plan: &Plan, at: At, size: u64, of: &dyn Fn(Draw) -> u64) -> u64 {
        match at {
            At::Offset(draw) => of(draw),
            At::Stride(n) => n,
            // What is left at the end of the file is a transfer of its own.
            At::End | At::Next => size,
            At::Weighted(id) => plan.ats.get(usize::from(id)).map_or(0, |places| {
                places
                    .iter()
                    .filter(|(at, _)| !matches!(at, At::Weighted(_)))
                    .fold(0, |g, (at, _)| gcd(g, place(plan, *at, size, of)))
            }),
            // Whole blocks.
            _ => 0,
        }
    }
    // New files begin at 0 and grow by what is written.
    let size = if set.count > 0 { size } else { 0 };
    gcd(gcd(amount, block), place(plan, args.at, size, &of))
}

fn root_wanted(plan: &Plan, walk: &Walk) -> Vec<&'static str> {
    let mut wanted: Vec<&'static str> =
        all_ops(plan, walk).map(|(verb, _, _)| verb).filter(|verb| *verb == "drop_caches").collect();
    wanted.dedup();
    wanted
}

/// The needs in lines, for people.
pub fn text(needs: &Needs) -> String {
    let mut out = String::new();
    let mut line = |what: &str, text: String| out.push_str(&format!("{what:<12} {text}\n"));
    let held = |held: &Held, show: &dyn Fn(u64) -> String| match held.peak {
        Some(peak) => format!("{} at the start, at most {}", show(held.laid_out), show(peak)),
        None => format!("{} at the start, then as many as the run makes", show(held.laid_out)),
    };
    line("space", held(&needs.bytes, &about));
    line(
        "writes",
        match needs.written {
            Some(bytes) => about(bytes),
            None => "as much as the run manages".into(),
        },
    );
    line("inodes", held(&needs.inodes, &|n| n.to_string()));
    line(
        "descriptors",
        format!("{} a worker, {} together", needs.descriptors_per_worker, needs.descriptors_total),
    );
    line(
        "memory",
        format!("{} a worker, {} together", about(needs.memory.per_worker), about(needs.memory.total)),
    );
    line("threads", needs.threads.to_string());
    line("names", format!("up to {} bytes", needs.largest_name));
    if let Some(g) = &needs.alignment {
        let word = if g.required { "required" } else { "preferred" };
        line("direct I/O", format!("{word}, in multiples of {} ({})", format_size(g.bytes), g.place));
    }
    let time =
        needs.expected_seconds.map(|s| format_duration(((s * 1e3).round() as u64).saturating_mul(1_000_000)));
    line(
        "time",
        match (time, needs.untimed.is_empty()) {
            (Some(time), true) => time,
            (Some(time), false) => format!("{time}, and what {} take", needs.untimed.join(", ")),
            (None, _) => "ends with its work".into(),
        },
    );
    if !needs.root_wanted.is_empty() {
        line("root", format!("for {}", needs.root_wanted.join(", ")));
    }
    out
}

/// A size for reading: three digits of the largest fitting unit.
pub fn about(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value.fract() == 0.0 || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
#[path = "needs_tests.rs"]
mod tests;
