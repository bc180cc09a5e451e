//! Walks a plan's programs without running them: how often each instruction is performed, how
//! many bytes it moves, how many members and how long files there can be at most.
//!
//! Knows what operations do to sets; knows neither machines nor what may be asked of them.

use std::collections::BTreeMap;

use super::instr::*;
use super::level::{Level, times};
use super::moments::{self, FileSizes, Moments};
use crate::ops::data::WHOLE_BLOCK;

/// What steps do to the files of one set; infinite where it is not known beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moved {
    /// Bytes written, on average.
    pub written: f64,
    /// Bytes written or allocated, at most.
    pub most: f64,
    /// Bytes files grow at their ends, at most, however they were opened.
    pub appended: f64,
    /// Trees that are made, on average.
    pub trees: f64,
}

/// What a piece of program does.
#[derive(Clone, Debug)]
pub struct Totals {
    /// What becomes of each set, by [`SetId`].
    pub sets: Vec<Moved>,
    /// Operations; of them transfers.
    pub ops: f64,
    /// Transfers among the operations, on average.
    pub transfers: f64,
    /// Bytes of its transfers, on average and at most.
    pub moved: f64,
    /// Bytes of its transfers, at most.
    pub most: f64,
    /// Times sequential transfers come to the end of their file.
    pub passes: f64,
    /// Seconds of its time limits, pauses and rates.
    pub seconds: f64,
}

impl Totals {
    /// Of a program that does nothing.
    pub fn none(sets: usize) -> Totals {
        let sets = vec![Moved::default(); sets];
        Totals { sets, ops: 0.0, transfers: 0.0, moved: 0.0, most: 0.0, passes: 0.0, seconds: 0.0 }
    }

    /// Adds `other`, so many times on average and so many at most.
    pub fn add(&mut self, other: &Totals, mean: f64, most: f64) {
        for (to, from) in self.sets.iter_mut().zip(&other.sets) {
            to.written += times(from.written, mean);
            to.most += times(from.most, most);
            to.appended += times(from.appended, most);
            to.trees += times(from.trees, mean);
        }
        self.ops += times(other.ops, mean);
        self.transfers += times(other.transfers, mean);
        self.moved += times(other.moved, mean);
        self.most += times(other.most, most);
        self.passes += times(other.passes, mean);
        self.seconds += times(other.seconds, mean);
    }
}

/// How high numbers get along a program, one of each for every set.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    /// Members of its pool.
    pub members: Vec<Level>,
    /// Names in its directories that are no members.
    pub beside: Vec<Level>,
    /// End of the file in hand in bytes, at most.
    pub ends: Vec<Level>,
    /// The same on average, where every transfer begins at the end of the one before; at most where not.
    pub means: Vec<Level>,
    /// Variance of what goes by the average.
    pub variances: Vec<Level>,
}

impl Levels {
    /// As they were before.
    pub fn same(sets: usize) -> Levels {
        let same = vec![Level::SAME; sets];
        Levels {
            members: same.clone(),
            beside: same.clone(),
            ends: same.clone(),
            means: same.clone(),
            variances: same,
        }
    }

    /// These and others combined, number by number.
    pub fn with(&self, other: &Levels, f: impl Fn(Level, Level) -> Level) -> Levels {
        let both = |a: &[Level], b: &[Level]| a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect();
        Levels {
            members: both(&self.members, &other.members),
            beside: both(&self.beside, &other.beside),
            ends: both(&self.ends, &other.ends),
            means: both(&self.means, &other.means),
            variances: both(&self.variances, &other.variances),
        }
    }

    /// These, then those of what follows.
    pub fn then(&self, next: &Levels) -> Levels {
        self.with(next, Level::then)
    }

    /// Each number changed by `f`.
    pub fn map(&self, f: impl Fn(Level) -> Level) -> Levels {
        self.with(self, |a, _| f(a))
    }
}

/// Where a walk stands: how often it comes there, and with what levels.
#[derive(Clone)]
struct State {
    often: f64,
    levels: Levels,
}

/// A plan being walked.
pub struct Walk<'a> {
    plan: &'a Plan,
    verbs: Vec<&'static str>,
    sizes: Vec<FileSizes>,
    /// How many trees there are of each set.
    trees: Vec<f64>,
    /// Members a pool of each set has at most.
    members: Vec<f64>,
}

impl<'a> Walk<'a> {
    /// Begins a walk of the whole plan.
    pub fn new(plan: &'a Plan) -> Walk<'a> {
        let verbs = crate::ops::rows().map(|row| row.verb.name).collect();
        let sizes = plan.sets.iter().map(|set| moments::file_sizes(set, &plan.tables)).collect();
        let sets = plan.sets.len();
        Walk { plan, verbs, sizes, trees: vec![0.0; sets], members: vec![f64::INFINITY; sets] }
    }

    /// Takes as many trees of each set for granted as these totals make, and as many members of a pool:
    /// what is done to each of them counts so often.
    pub fn present(&mut self, totals: &Totals, members: Vec<f64>) {
        self.trees = totals.sets.iter().map(|set| set.trees).collect();
        self.members = members;
    }

    /// The verb of an operation; empty for one that is not in the table.
    pub fn verb(&self, op: u16) -> &'static str {
        self.verbs.get(usize::from(op)).copied().unwrap_or_default()
    }

    /// Number of sets.
    pub fn sets(&self) -> usize {
        self.plan.sets.len()
    }

    /// Whether a program ends with a time.
    pub fn is_timed(&self, code: &[Instr]) -> bool {
        code.iter().any(|instr| match instr {
            Instr::LoopStart { id, .. } => self
                .plan
                .loops
                .get(usize::from(*id))
                .is_some_and(|lp| lp.phase && matches!(lp.until, Until::Time(_) | Until::Steady { .. })),
            _ => false,
        })
    }

    /// Every operation of a program.
    pub fn ops(&self, code: &'a [Instr]) -> impl Iterator<Item = (&'static str, &'a Args, u32)> {
        code.iter().filter_map(|instr| match instr {
            Instr::Op { op, args } => Some((self.verb(*op), self.plan.args.get(*args as usize)?, *args)),
            _ => None,
        })
    }

    /// Sizes of a set's files; unknown for no set.
    pub fn sizes(&self, set: SetId) -> FileSizes {
        let unknown = FileSizes { size: Moments::UNKNOWN, room: Moments::UNKNOWN };
        self.sizes.get(usize::from(set)).copied().unwrap_or(unknown)
    }

    /// What is known of a draw of a step on `set`.
    pub fn moments(&self, draw: Draw, set: SetId) -> Moments {
        moments::draw(draw, &self.plan.tables, &self.sizes(set))
    }

    /// What one worker of `workers` does in one execution of a program.
    pub fn program(&self, code: &[Instr], workers: f64) -> (Totals, Levels) {
        self.range(code, 0, code.len(), workers)
    }

    fn range(&self, code: &[Instr], from: usize, to: usize, workers: f64) -> (Totals, Levels) {
        let sets = self.plan.sets.len();
        let mut totals = Totals::none(sets);
        // Ways into instructions from elsewhere; jumps out of the piece lead to its end.
        let mut ways: BTreeMap<usize, State> = BTreeMap::new();
        let mut now = Some(State { often: 1.0, levels: Levels::same(sets) });
        let (mut pc, mut pace) = (from, None);
        while pc < to {
            now = join(now, ways.remove(&pc));
            let (Some(mut state), Some(instr)) = (now.take(), code.get(pc)) else {
                pc += 1;
                continue;
            };
            let mut next = pc + 1;
            let mut inner = |exit: Pc, count: &dyn Fn(&Totals) -> (f64, f64)| {
                let end = (exit as usize).clamp(pc + 1, to);
                let (mut body, levels) = self.range(code, pc + 1, end, workers);
                let (mean, most) = count(&body);
                let seconds = self.seconds(*instr, body.seconds, mean);
                body.seconds = 0.0;
                totals.seconds += times(seconds, state.often);
                totals.add(&body, times(mean, state.often), times(most, state.often));
                state.levels = state.levels.then(&levels.map(|l| l.repeat(most)));
                end + 1
            };
            match *instr {
                Instr::Op { op, args } => {
                    if let Some(args) = self.plan.args.get(args as usize) {
                        self.operation(self.verb(op), args, &mut state, &mut totals);
                    }
                }
                Instr::Jump(target) if target as usize > pc => {
                    go(&mut ways, target as usize, to, state);
                    pc += 1;
                    continue;
                }
                Instr::LoopStart { id, exit } => {
                    next = inner(exit, &|body| self.iterations(id, code, pc + 1, body, workers));
                }
                Instr::EachStart { id, exit } => {
                    next = inner(exit, &|_| {
                        let n = self.walked(id);
                        (n, n)
                    });
                }
                Instr::Mix { id } => {
                    if let Some(mix) = self.plan.mixes.get(usize::from(id)) {
                        for (i, target) in mix.targets.iter().enumerate() {
                            let drawn = mix.table.iter().filter(|a| usize::from(**a) == i).count();
                            if drawn > 0 {
                                let often = times(state.often, drawn as f64 / mix.table.len() as f64);
                                go(&mut ways, *target as usize, to, State { often, ..state.clone() });
                            }
                        }
                    }
                    pc += 1;
                    continue;
                }
                Instr::Pace { id } => pace = self.plan.paces.get(usize::from(id)).or(pace),
                Instr::End => {
                    go(&mut ways, to, to, state);
                    pc += 1;
                    continue;
                }
                _ => {}
            }
            now = Some(state);
            pc = next;
        }
        if let Some(pace) = pace {
            let due = if pace.bytes > 0.0 { totals.moved / pace.bytes } else { 1.0 / pace.ops };
            if due.is_finite() {
                totals.seconds = totals.seconds.max(due);
            }
        }
        let end = join(now, ways.into_values().reduce(meet));
        (totals, end.map_or_else(|| Levels::same(sets), |s| s.levels))
    }

    /// Seconds a loop takes at least: a loop over time takes its time, whatever is in it.
    fn seconds(&self, instr: Instr, body: f64, iterations: f64) -> f64 {
        let lp = match instr {
            Instr::LoopStart { id, .. } => self.plan.loops.get(usize::from(id)),
            _ => None,
        };
        let inside = times(body, iterations);
        let seconds = match lp.map(|lp| (lp.until, lp.ramp)) {
            Some((Until::Time(span) | Until::Steady { at_most: span, .. }, ramp)) => {
                ramp.saturating_add(span) as f64 / 1e9
            }
            Some((_, ramp)) => inside + ramp as f64 / 1e9,
            None => inside,
        };
        // Of a loop whose end is not known beforehand its time is not known either.
        if seconds.is_finite() { seconds } else { 0.0 }
    }

    /// How often a loop's body is performed by each worker, on average and at most.
    fn iterations(&self, id: u16, code: &[Instr], head: usize, body: &Totals, workers: f64) -> (f64, f64) {
        let Some(lp) = self.plan.loops.get(usize::from(id)) else { return (1.0, 1.0) };
        let share =
            |total: u64, each: bool| if each { total as f64 } else { total as f64 / workers.max(1.0) };
        let over = |total: f64, unit: f64| if unit > 0.0 { total / unit } else { 1.0 };
        let same = |n: f64| (n, n);
        match lp.until {
            Until::Times(n) => same(n as f64),
            Until::Time(span) | Until::Steady { at_most: span, .. } => {
                let seconds = lp.ramp.saturating_add(span) as f64 / 1e9;
                // A rate says how many there will be, where the machine keeps up.
                let rate = match code.get(head).copied() {
                    Some(Instr::Pace { id }) => self.plan.paces.get(usize::from(id)),
                    _ => None,
                };
                match rate {
                    Some(p) if p.bytes > 0.0 && body.moved > 0.0 && body.moved.is_finite() => {
                        (p.bytes * seconds / body.moved, p.bytes * seconds / body.moved + 1.0)
                    }
                    Some(p) if p.ops > 0.0 && p.bytes <= 0.0 => (p.ops * seconds, p.ops * seconds + 1.0),
                    _ => same(f64::INFINITY),
                }
            }
            Until::Ops { total, each, data } => {
                same(over(share(total, each), if data { body.transfers } else { body.ops }))
            }
            Until::Bytes { total, each } => {
                let total = share(total, each);
                (over(total, body.moved), over(total, body.most))
            }
            Until::Passes(n) => same(over(n as f64, body.passes)),
            Until::Exhausted => same(f64::INFINITY),
        }
    }

    /// How many members a walk takes at most.
    fn walked(&self, id: u16) -> f64 {
        let Some(each) = self.plan.eaches.get(usize::from(id)) else { return 0.0 };
        let Some(set) = self.plan.sets.get(usize::from(each.set)) else { return 0.0 };
        let grows = self.plan.phases.iter().flat_map(|p| &p.groups).any(|g| {
            self.ops(&g.code).any(|(verb, args, _)| args.set == each.set && matches!(verb, "create" | "link"))
        });
        let limit = if each.limit == u64::MAX { f64::INFINITY } else { each.limit as f64 };
        let trees = self.trees.get(usize::from(each.set)).copied().unwrap_or(0.0);
        let present = match grows {
            true => {
                let pool = self.members.get(usize::from(each.set)).copied().unwrap_or(f64::INFINITY);
                set.slots.map_or(pool, |n| pool.min(n as f64))
            }
            false => set.count as f64 + trees,
        };
        limit.min(present)
    }

    fn operation(&self, verb: &str, args: &Args, state: &mut State, totals: &mut Totals) {
        let often = state.often / f64::from(args.every.max(1));
        totals.ops += often;
        if verb == "think" {
            totals.ops -= often;
            totals.seconds += times(often, self.moments(args.value, args.set).mean / 1e9);
        }
        let set = usize::from(args.set);
        let Some(plan) = self.plan.sets.get(set) else { return };
        if args.must_fail.is_some() {
            return;
        }
        let apply = |level: &mut Level, step: Level| *level = level.then(step);
        let levels = &mut state.levels;
        let named = args.name != NO_NAME;
        let falls = args.every <= 1;
        if verb == "create" || verb == "open" && !named {
            for file in [&mut levels.ends, &mut levels.means, &mut levels.variances] {
                apply(&mut file[set], Level::set(0.0));
            }
        }
        match verb {
            "create" | "link" => apply(&mut levels.members[set], Level::up(1.0)),
            "open" if !named => {}
            // Where there is no other member, the new one stays.
            "replace" if falls => apply(&mut levels.members[set], Level::down_to(1.0, 1.0)),
            "open" if args.opening.flags & libc::O_CREAT == 0 => {}
            "open" | "symlink" | "mkdir" if named && self.varies(args.name) => {
                apply(&mut levels.beside[set], Level::up(1.0));
            }
            "unlink" | "rmdir" if named && falls => apply(&mut levels.beside[set], Level::down(1.0)),
            "unlink" if falls => apply(&mut levels.members[set], Level::down(1.0)),
            "remove_all" if falls => {
                let down = args.limit.map_or(f64::INFINITY, |n| n as f64);
                apply(&mut levels.members[set], Level::down(down));
            }
            "write_tree" => {
                let Detail::Tree(step) = args.detail else { return };
                let Some(list) = self.plan.datasets.get(usize::from(step.dataset)) else { return };
                totals.sets[set].written += times(often, list.bytes() as f64);
                totals.sets[set].trees += if step.chosen { 0.0 } else { often };
            }
            "sql" | "sql_file" => {
                // SQLite knows how much it writes; nobody else does.
                totals.sets[set].written = f64::INFINITY;
                totals.sets[set].most = f64::INFINITY;
                totals.sets[set].appended = f64::INFINITY;
            }
            "fallocate" if matches!(args.detail, Detail::Space(crate::os::Space::Punch)) => {}
            "fallocate" => totals.sets[set].most += often * self.moments(args.value, args.set).upper,
            "copy_range" => {
                let moved = self.moments(args.value, args.set);
                self.transfer(true, plan, args, moved, moved.mean, state, totals, often);
            }
            "read" | "write" | "append" => {
                let amount = match args.amount {
                    Amount::Whole => self.sizes(args.set).size,
                    Amount::Bytes(draw) => self.moments(draw, args.set),
                };
                let block = match args.block {
                    Some(block) => self.moments(block, args.set).mean,
                    None if args.amount == Amount::Whole => WHOLE_BLOCK as f64,
                    None => amount.mean,
                };
                let block = if block > 0.0 { block } else { amount.mean };
                if verb == "append" {
                    totals.sets[set].appended += times(often, amount.upper);
                }
                self.transfer(verb != "read", plan, args, amount, block, state, totals, often);
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn transfer(
        &self,
        write: bool,
        set: &SetPlan,
        args: &Args,
        amount: Moments,
        block: f64,
        state: &mut State,
        totals: &mut Totals,
        often: f64,
    ) {
        let id = usize::from(args.set);
        let transfers =
            if amount.mean > 0.0 && amount.mean.is_finite() { (amount.mean / block).ceil() } else { 1.0 };
        totals.transfers += times(often, transfers);
        totals.moved += times(often, amount.mean);
        totals.most += times(often, amount.upper);
        let size = self.sizes(args.set).size;
        if args.at == At::Next && size.mean.is_finite() && size.mean > 0.0 {
            totals.passes += times(often, amount.mean / size.mean);
        }
        if write && !set.memory {
            totals.sets[id].written += times(often, amount.mean);
            totals.sets[id].most += times(often, amount.upper);
            let appended = self.end(set, args, args.at, amount.upper, state.levels.ends[id], 0);
            match appended {
                Some(end) => state.levels.ends[id] = end,
                None => totals.sets[id].appended += times(often, amount.upper),
            }
            let follows = args.at == At::Next && set.kept_open.is_none();
            let (bytes, variance) =
                if follows { (amount.mean, amount.variance) } else { (amount.upper, 0.0) };
            if let Some(end) = self.end(set, args, args.at, bytes, state.levels.means[id], 0) {
                state.levels.means[id] = end;
                state.levels.variances[id] = state.levels.variances[id].then(Level::up(variance));
            }
        }
    }

    /// Where a file can end after a write that goes to `at`. `None`: it grows at its end.
    fn end(
        &self,
        set: &SetPlan,
        args: &Args,
        at: At,
        amount: f64,
        before: Level,
        depth: u8,
    ) -> Option<Level> {
        let size = if set.count > 0 { self.sizes(args.set).size.upper } else { 0.0 };
        // Within the file, or from the start of one that is smaller.
        let inside = before.then(Level::set(size.max(amount)));
        match at {
            _ if args.opening.flags & libc::O_APPEND != 0 => None,
            At::Next | At::EachWay if set.kept_open.is_some() => Some(inside),
            At::Next | At::EachWay => Some(before.then(Level::up(amount))),
            At::Start => Some(before.then(Level::set(amount))),
            At::End => None,
            At::Offset(draw) => Some(before.then(Level::set(self.moments(draw, args.set).upper + amount))),
            At::Weighted(id) if depth == 0 => {
                let places = self.plan.ats.get(usize::from(id))?;
                let ends: Option<Vec<Level>> =
                    places.iter().map(|(at, _)| self.end(set, args, *at, amount, before, 1)).collect();
                ends?.into_iter().reduce(Level::or)
            }
            _ => Some(inside),
        }
    }

    /// Whether a name differs from one use to the next.
    pub fn varies(&self, name: NameId) -> bool {
        self.plan.names.get(usize::from(name)).is_some_and(|segments| {
            segments.iter().any(|s| !matches!(s, Segment::Literal(_) | Segment::Worker(_)))
        })
    }
}

fn meet(a: State, b: State) -> State {
    State { often: a.often + b.often, levels: a.levels.with(&b.levels, Level::or) }
}

fn join(a: Option<State>, b: Option<State>) -> Option<State> {
    match (a, b) {
        (Some(a), Some(b)) => Some(meet(a, b)),
        (a, b) => a.or(b),
    }
}

/// Notes a way to `target`, or to the end of the piece.
fn go(ways: &mut BTreeMap<usize, State>, target: usize, end: usize, state: State) {
    let target = target.min(end);
    let state = match ways.remove(&target) {
        Some(there) => meet(there, state),
        None => state,
    };
    ways.insert(target, state);
}
