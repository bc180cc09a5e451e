//! What a plan needs of the process that runs it: descriptors, memory, names, alignment, rights. What it
//! puts on the target is counted in `needs`.

use super::instr::*;
use super::moments::{gcd, granularity};
use super::needs::{Granularity, Memory};
use super::walk::Walk;
use crate::os::Recipe;

/// Bytes a page.
pub(super) const PAGE: u64 = 4096;
/// Bytes one member takes in a pool: its facts, its place among the live ones, its age.
const MEMBER: u64 = 48;
/// Bytes of one statistic: a histogram's table and the octaves latencies commonly fall into.
pub(super) const STATISTIC: u64 = 10 << 10;
/// Largest rank table in bytes.
const RANK_TABLE: u64 = 8 << 20;
/// Descriptors every worker has besides its files: the three standard ones, the run directory and
/// its parent, the record's, and a few the process has from its caller.
pub(super) const OWN_DESCRIPTORS: u64 = 16;
/// Digits of a running number: pools count in 32 bits.
const NUMBER_DIGITS: [(u8, usize); 2] = [(10, 10), (16, 8)];

/// Every recorded load with the number of workers that perform it.
pub(super) fn replays(plan: &Plan) -> impl Iterator<Item = (&ReplayPlan, f64)> {
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

/// Ranges of workers that do the same: they are in the same groups and use the same sets.
pub(super) fn alike(plan: &Plan) -> Vec<[u32; 2]> {
    let groups = plan.phases.iter().flat_map(|p| &p.groups).map(|g| g.workers);
    let ranges = groups.chain(plan.sets.iter().flat_map(|s| s.used_by.iter().copied()));
    let mut edges: Vec<u32> = ranges.flat_map(|(a, b)| [a, b]).chain([0, plan.workers]).collect();
    edges.retain(|edge| *edge <= plan.workers);
    edges.sort_unstable();
    edges.dedup();
    edges.windows(2).map(|e| [e[0], e[1]]).collect()
}

/// Whether a worker is among those whose steps use a set.
pub(super) fn uses(set: &SetPlan, worker: u32) -> bool {
    set.used_by.iter().any(|(a, b)| (*a..*b).contains(&worker))
}

/// Workers whose steps use a set.
pub(super) fn users(plan: &Plan, set: &SetPlan) -> f64 {
    alike(plan).iter().filter(|[a, _]| uses(set, *a)).map(|[a, b]| f64::from(b - a)).sum()
}

/// Every operation of every program.
pub(super) fn all_ops<'a>(
    plan: &'a Plan,
    walk: &'a Walk,
) -> impl Iterator<Item = (&'static str, &'a Args, u32)> {
    plan.phases.iter().flat_map(|p| &p.groups).flat_map(move |g| walk.ops(&g.code))
}

/// Descriptors one worker has open at most: directories it keeps, files sets keep open, the file
/// in hand of every set it opens, and one for what is opened and closed at once.
pub(super) fn descriptors(plan: &Plan, walk: &Walk) -> u64 {
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

/// Memory at most, with so many members in the pools of one worker.
pub(super) fn memory(plan: &Plan, members: f64) -> Memory {
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
pub(super) fn longest_component(segments: &[Segment]) -> u64 {
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
pub(super) fn alignment(plan: &Plan, walk: &Walk) -> Option<Granularity> {
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

/// Operations only root may perform.
pub(super) fn root_wanted(plan: &Plan, walk: &Walk) -> Vec<&'static str> {
    let mut wanted: Vec<&'static str> =
        all_ops(plan, walk).map(|(verb, _, _)| verb).filter(|verb| *verb == "drop_caches").collect();
    wanted.dedup();
    wanted
}
