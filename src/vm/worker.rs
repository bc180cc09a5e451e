//! One worker's state, and the small steps every operation is made of: take a file in hand, draw,
//! count, settle a result. Operations (`crate::ops`) are written in these terms.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::buffers::Buffers;
use super::claims::Claim;
use super::draw::{self, FileFacts, RankCache};
use super::fault::Fault;
use super::flight::Queue;
use super::hand::{CLOSED, Hand};
use super::pool::Pool;
use super::random::{Purpose, StreamKey, Streams};
use super::shared::Shared;
use super::stat::Stat;
use crate::measure::series::Intervals;
use crate::os::{Errno, Fd, Nanos, Os};
use crate::plan::instr::*;

/// Nanoseconds between two looks at the clock for progress and the like.
const TICK: Nanos = 200_000_000;
/// Length of one interval of the series.
pub const SECOND: Nanos = 1_000_000_000;

/// State of one loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoopState {
    /// Iterations begun.
    pub iterations: u64,
    /// Passes, ops or bytes already there when the loop began.
    pub base: u64,
    /// The iteration before which more is to be looked at than this number.
    pub care_at: u64,
    /// The deadline outside of it, restored at its end.
    pub outer: (Nanos, Pc),
    /// How many claims there are outside of it.
    pub outer_claims: usize,
    /// The limit of passes outside of it and where that ends, restored at its end.
    pub outer_passes: Option<(u64, Pc)>,
    /// Where the next outer loop until exhaustion ends.
    pub outer_exhausted: Option<Pc>,
    /// Times it was entered in this phase.
    pub entries: u64,
    /// Iterations one after the other in which nothing was done.
    pub idle: u32,
}

/// A worker's watch for a steady rate of all of them.
#[derive(Clone, Debug, Default)]
pub struct Steady {
    /// How many seconds in a row must agree.
    pub windows: u32,
    /// Thousandths of the mean.
    pub within: u32,
    /// When the next second is over.
    pub next: Nanos,
    /// The shared counter when the last one began.
    pub last: Option<u64>,
    /// Operations of each second.
    pub seconds: Vec<u64>,
}

/// State of one pace.
#[derive(Clone, Copy, Debug, Default)]
pub struct PaceState {
    /// When the next iteration is due; 0 before the first.
    pub due: Nanos,
    /// Bytes already moved when the last one began.
    pub bytes: u64,
}

/// Everything one thread needs to run its programs.
pub struct Worker<O: Os> {
    /// What carries out the operations.
    pub os: O,
    /// Number of the worker, from 0.
    pub id: u32,
    /// What is run.
    pub plan: Arc<Plan>,
    /// What all workers of the case have in common.
    pub shared: Arc<Shared>,
    /// Random choices of this worker.
    pub random: Streams,
    /// Tables of Zipf's law this worker has used.
    pub ranks: RankCache,
    /// Memory that transfers read into and write from.
    pub buffers: Buffers,
    pub(super) key: StreamKey,
    pub(super) name_key: u64,
    /// Seconds since 1970 when the run's clock stood at 0.
    pub epoch: i64,

    /// End of the last operation.
    pub now: Nanos,
    /// When something is due besides counting: an interval, a deadline, the start of the window.
    pub event_at: Nanos,
    /// When the innermost running time limit ends, and where the program goes on then.
    pub deadline: (Nanos, Pc),
    /// Operations that end after this do not count.
    pub window_end: Nanos,
    /// While not 0: nothing counts before this time.
    pub ramp_until: Nanos,
    tick_at: Nanos,
    intervals: Option<Intervals>,

    /// Index of the operands of the running operation.
    pub running: u32,
    /// Numbers of the phase so far, by statistic.
    pub stats: Vec<Stat>,
    /// Kinds of `stats`, copied from the phase.
    pub kinds: Vec<StatKind>,
    /// State of each loop of the phase.
    pub loops: Vec<LoopState>,
    /// State of each pace of the phase.
    pub paces: Vec<PaceState>,
    /// Start of each labelled block that runs.
    pub blocks: Vec<Nanos>,
    /// Members still to be walked over, last first.
    pub walks: Vec<Vec<u32>>,
    /// Decks being dealt, last card first.
    pub decks: Vec<Vec<u16>>,
    /// Iterations of the innermost loop, from 1.
    pub iteration: u64,
    /// Times sequential transfers came to the end of their file.
    pub passes: u64,
    /// How many passes the innermost loop over passes allows, and where it ends.
    pub pass_limit: Option<(u64, Pc)>,
    /// Where the innermost loop until exhaustion ends.
    pub exhausted_exit: Option<Pc>,
    /// What the loops around the program's place still allow, the outermost first.
    pub claims: Vec<Claim>,
    /// Some of them count operations that move nothing.
    pub counts_operations: bool,
    /// Its group ends the phase.
    pub leads: bool,
    /// Another group ends the phase.
    pub follows: bool,
    /// Operations of the phase, the uncounted ones included.
    pub moved_ops: u64,
    /// End of the time before the first operation that counted.
    pub first_start: Nanos,
    /// End of the last operation that counted.
    pub last_end: Nanos,
    /// Nanoseconds spent in steps that are not measured.
    pub excluded: Nanos,
    /// What ends the phase when its rate is steady, and the seconds seen so far.
    pub steady: Option<Steady>,
    /// The counted operation after which some of it was spent last, by its end, and how much had
    /// been spent before that one.
    pub(super) excluded_since: Nanos,
    pub(super) excluded_before: Nanos,
    /// Nanoseconds behind schedule, where a rate is kept.
    pub lag: Nanos,
    /// Bytes of the phase, the uncounted ones included. (Away from `moved_ops`: side by side the
    /// compiler adds to both at once, which takes three times as many instructions.)
    pub moved_bytes: u64,

    /// What is in hand, by set.
    pub hands: Vec<Hand>,
    pub(super) pools: Vec<Option<Pool>>,
    /// Descriptor of each set's directory and of its subdirectories; closed while unknown.
    pub dirs: Vec<SetDirs>,
    /// Turns of steps that are done only every n-th time, by step and slot of the open file: its
    /// number and the count.
    pub(super) turns: HashMap<(u32, u32), (u32, u32)>,
    pub(super) path: Vec<u8>,
    /// The first request of a recorded load that did not end as recorded: when, and in words.
    pub unexpected: Option<(Nanos, Box<str>)>,
    /// Why it could not go on; the first fault is kept.
    pub fault: Option<Box<Fault>>,
    /// The last choice found files, every one of them in another worker's hand.
    pub(super) all_held: bool,
    reported: (u64, u64),
    /// What is kept of trees between steps.
    pub(super) trees: super::trees::TreeState,
    /// Recorded loads, by their number in the plan.
    pub(super) replays: Vec<Option<Box<super::replay::Replaying>>>,
    /// Transfers in flight, of the engine in use.
    pub queue: Queue,
    /// Those of the other engines.
    pub(super) queues: Vec<Queue>,
    /// The engine in use (index into [`Plan::engines`]).
    pub engine: u8,
    /// The transfers that end now are over after the window.
    pub(super) late: bool,
    /// Why files that should be open for direct I/O are not.
    pub refused_direct: Option<(&'static str, Errno)>,
    /// Why a step that should drop the caches did not, though its profile is content with that.
    pub refused_drop: Option<Errno>,
    /// Statistics and contents of the buffered step that wrote last.
    pub last_stdio: (StatId, crate::os::Recipe),
    /// Fills of memory sets, by set.
    pub memory: Vec<Option<super::buffers::Aligned>>,
}

/// Directories of one set as one worker holds them.
#[derive(Clone, Debug, Default)]
pub struct SetDirs {
    /// The set's own directory, [`CLOSED`] while it is not pinned.
    pub base: Fd,
    /// Descriptors of the subdirectories, [`CLOSED`] while unknown.
    pub sub: Vec<Fd>,
    /// Subdirectories this worker has made or found (`parents: missing`).
    pub seen: Vec<bool>,
    /// First subdirectory used.
    pub first: u32,
    /// Files created so far.
    pub files: u64,
    /// When rotation by time began.
    pub since: Nanos,
}

impl<O: Os> Worker<O> {
    /// A worker before its first phase; `epoch` is in seconds since 1970.
    pub fn new(
        os: O,
        id: u32,
        plan: Arc<Plan>,
        shared: Arc<Shared>,
        key: StreamKey,
        epoch: i64,
    ) -> Worker<O> {
        let key = StreamKey { worker: u64::from(id), ..key };
        let sets = plan.sets.len();
        let pools =
            plan.sets.iter().map(|set| set.per_worker.then(|| Pool::new(set.insert, set.slots, set.by_age)));
        let dirs = plan.sets.iter().map(|set| {
            let count = set.dirs.as_ref().map_or(0, |d| d.count as usize);
            SetDirs { base: CLOSED, sub: vec![CLOSED; count], seen: vec![false; count], ..SetDirs::default() }
        });
        Worker {
            random: Streams::new(plan.random.generator, key),
            ranks: RankCache::default(),
            buffers: Buffers::new(plan.largest_block as usize, key.hash(0xda7a), Arc::clone(&shared.data)),
            name_key: key.hash(0x6e61_6d65),
            key,
            epoch,
            id,
            now: 0,
            event_at: 0,
            deadline: (Nanos::MAX, 0),
            window_end: Nanos::MAX,
            ramp_until: 0,
            tick_at: 0,
            intervals: None,
            running: 0,
            stats: Vec::new(),
            kinds: Vec::new(),
            loops: vec![LoopState::default(); plan.loops.len()],
            paces: vec![PaceState::default(); plan.paces.len()],
            blocks: vec![0; usize::from(plan.blocks)],
            walks: vec![Vec::new(); plan.eaches.len()],
            decks: vec![Vec::new(); plan.mixes.len()],
            iteration: 0,
            passes: 0,
            pass_limit: None,
            exhausted_exit: None,
            claims: Vec::new(),
            counts_operations: false,
            leads: false,
            follows: false,
            moved_ops: 0,
            moved_bytes: 0,
            first_start: 0,
            last_end: 0,
            excluded: 0,
            steady: None,
            excluded_since: 0,
            excluded_before: 0,
            lag: 0,
            hands: vec![Hand::default(); sets],
            pools: pools.collect(),
            dirs: dirs.collect(),
            turns: HashMap::new(),
            path: Vec::with_capacity(512),
            unexpected: None,
            fault: None,
            all_held: false,
            reported: (0, 0),
            trees: super::trees::TreeState::default(),
            replays: Vec::new(),
            queue: Queue::default(),
            queues: Vec::new(),
            engine: 0,
            late: false,
            refused_direct: None,
            refused_drop: None,
            last_stdio: (NO_STAT, crate::os::Recipe::Zero),
            memory: plan.sets.iter().map(|_| None).collect(),
            plan,
            shared,
            os,
        }
    }

    // --- a phase ----------------------------------------------------------------------------

    /// Before the first operation of a phase; `start` is the moment all workers were released.
    pub fn begin_phase(&mut self, phase: &PhasePlan, start: Nanos) {
        self.stats = vec![Stat::default(); phase.stats.len()];
        self.kinds = phase.stats.iter().map(|s| s.kind).collect();
        self.deadline = (Nanos::MAX, 0);
        self.window_end = Nanos::MAX;
        self.ramp_until = 0;
        (self.passes, self.moved_ops, self.moved_bytes) = (0, 0, 0);
        (self.excluded, self.excluded_before, self.excluded_since, self.lag) = (0, 0, 0, 0);
        self.steady = None;
        (self.pass_limit, self.exhausted_exit) = (None, None);
        self.claims.clear();
        self.counts_operations = false;
        self.loops.fill(LoopState::default());
        self.reported = (0, 0);
        self.turns.clear();
        self.paces.fill(PaceState::default());
        (self.first_start, self.last_end) = (start, start);
        self.now = start;
        self.intervals = phase.measured.then(|| Intervals::new(start, SECOND));
        self.tick_at = start + TICK;
        self.forget_depth();
        self.schedule_event();
    }

    /// The second by second account of the phase that ended.
    pub fn take_intervals(&mut self) -> Vec<crate::measure::series::Interval> {
        match self.intervals.take() {
            Some(intervals) => {
                let (ops, bytes, latency) = self.totals();
                intervals.finish(self.last_end, ops, bytes, &latency)
            }
            None => Vec::new(),
        }
    }

    fn totals(&self) -> (u64, u64, crate::measure::histogram::Histogram) {
        let (mut ops, mut bytes) = (0, 0);
        let mut latency = crate::measure::histogram::Histogram::new();
        for (stat, kind) in self.stats.iter().zip(&self.kinds) {
            if matches!(kind, StatKind::Data | StatKind::Operation) && stat.ops > 0 {
                ops += stat.ops;
                bytes += stat.bytes;
                latency.merge(&stat.latency);
            }
        }
        (ops, bytes, latency)
    }

    /// Sets `event_at` to the earliest of the interval's end, the ramp's end and the window's end.
    pub fn schedule_event(&mut self) {
        let ramp = if self.ramp_until == 0 { Nanos::MAX } else { self.ramp_until };
        let ramp = if self.window_end == Nanos::MAX { Nanos::MAX } else { ramp };
        self.event_at = self.tick_at.min(ramp).min(self.window_end);
    }

    /// Something besides counting is due at `t`. False: the operation that ended then does not
    /// count.
    #[cold]
    #[inline(never)]
    pub(super) fn event(&mut self, t: Nanos) -> bool {
        if self.ramp_until != 0 && t >= self.ramp_until && self.window_end != Nanos::MAX {
            self.open_window(self.ramp_until);
        }
        if t >= self.tick_at {
            self.report_progress();
            self.tick_at = t + TICK;
            self.look_for_steadiness(t);
            if self.intervals.as_ref().is_some_and(|i| i.due(t)) {
                let (ops, bytes, latency) = self.totals();
                if let Some(intervals) = &mut self.intervals {
                    intervals.roll(t, ops, bytes, &latency);
                }
            }
        }
        self.schedule_event();
        if t > self.window_end {
            // Seen again at every later operation: late ones never count.
            self.event_at = 0;
            return false;
        }
        true
    }

    /// Once a second: whether the rate of all workers has become steady. The phase then ends.
    fn look_for_steadiness(&mut self, t: Nanos) {
        let Some(steady) = &mut self.steady else { return };
        if t < steady.next {
            return;
        }
        let total = self.shared.ops.load(Ordering::Relaxed);
        if let Some(last) = steady.last.replace(total) {
            steady.seconds.push(total.saturating_sub(last));
        }
        steady.next = t + SECOND;
        let windows = steady.windows as usize;
        if self.ramp_until == 0 && steady.seconds.len() >= windows {
            let seconds = &steady.seconds[steady.seconds.len() - windows..];
            let mean = seconds.iter().sum::<u64>() as f64 / windows as f64;
            let allowed = mean * f64::from(steady.within) / 1000.0;
            if mean > 0.0 && seconds.iter().all(|s| (*s as f64 - mean).abs() <= allowed) {
                self.shared.stop_phase();
            }
        }
    }

    /// Forgets what was counted so far: the measured part of the phase begins.
    pub fn open_window(&mut self, at: Nanos) {
        self.stats.iter_mut().for_each(|s| *s = Stat::default());
        (self.first_start, self.last_end) = (at, at);
        self.intervals = self.intervals.take().map(|_| Intervals::new(at, SECOND));
        self.ramp_until = 0;
        (self.excluded, self.excluded_before, self.excluded_since) = (0, 0, 0);
        self.forget_depth();
    }

    /// Forgets what was counted if the measured part never began.
    pub fn forget_ramp(&mut self) {
        if self.ramp_until != 0 {
            self.open_window(self.now);
        }
    }

    /// Sleeps until `time`, a deadline or the end of the phase, whichever comes first. What was
    /// slept is nobody's latency.
    pub fn pause_until(&mut self, time: Nanos) {
        self.restart_clock();
        while self.now < time && !self.is_over() {
            self.os.sleep_until(time.min(self.deadline.0).min(self.now + TICK));
            self.restart_clock();
        }
    }

    /// Adds what was done since the last report to the shared counters.
    pub fn report_progress(&mut self) {
        let (ops, bytes) = (self.moved_ops, self.moved_bytes);
        self.shared.ops.fetch_add(ops - self.reported.0, Ordering::Relaxed);
        self.shared.bytes.fetch_add(bytes - self.reported.1, Ordering::Relaxed);
        self.reported = (ops, bytes);
    }

    /// Whether the program must look for its way out before another operation.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.now >= self.deadline.0 || self.shared.stopping()
    }

    // --- drawing ----------------------------------------------------------------------------

    /// What bounds of a draw may depend on, for the file in hand of a set.
    pub fn file_facts(&self, set: SetId) -> FileFacts {
        let Some(hand) = self.hands.get(usize::from(set)) else { return FileFacts::default() };
        let size = hand.file.size;
        let room = self.plan.sets[usize::from(set)].max_size.map_or(u64::MAX, |max| max.saturating_sub(size));
        FileFacts { size, room }
    }

    /// Draws a number for a step on `set`.
    #[inline]
    pub fn draw(&mut self, draw: Draw, purpose: Purpose, set: SetId) -> u64 {
        if let Draw::Const(n) = draw {
            return n;
        }
        let facts = self.file_facts(set);
        draw::draw(draw, &self.plan.tables, &mut self.random, purpose, facts)
    }
}
