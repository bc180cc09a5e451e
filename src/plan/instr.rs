//! The plan: what will happen, with nothing left to decide. The only contract between the
//! compiler and the interpreter; it knows neither YAML nor how it is run.
//!
//! A phase holds one flat program a group of workers. Operands live in side tables that
//! instructions index; places in the profile live in [`Plan::places`], away from the hot path.

use crate::os::Nanos;

pub use super::args::*;
pub use super::dataset::*;
pub use super::sets::*;
pub use super::sql::*;
pub use super::stream::{ReplayOptions, ReplayPlan, Stream};

/// Index into a program.
pub type Pc = u32;
/// Index into [`Plan::sets`].
pub type SetId = u16;
/// Index into the statistics of one phase ([`PhasePlan::stats`]).
pub type StatId = u16;
/// Index into [`Plan::names`].
pub type NameId = u16;

/// "No set": the operation concerns no file set.
pub const NO_SET: SetId = SetId::MAX;
/// "No name beside the set".
pub const NO_NAME: NameId = NameId::MAX;
/// "Not counted".
pub const NO_STAT: StatId = StatId::MAX;

/// Bytes of the pool of random data a worker writes from: more than one compression record (at most
/// 1 MiB), little enough to stay in the second-level cache with what it is copied to.
pub const DATA_POOL: u64 = 2 << 20;
/// Up to so many workers each has a pool of its own and renews it in place; more of them copy from
/// one they share, which costs a copy and saves gigabytes.
pub const OWN_POOLS: u32 = 64;

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Instr {
    /// Performs operation `op` (index into the operation table) with the operands `args`
    /// (index into [`Plan::args`]).
    Op { op: u16, args: u32 },
    /// Goes on elsewhere.
    Jump(Pc),
    /// Enters loop `id` (index into [`Plan::loops`]), whose [`Instr::LoopEnd`] stands at `exit`;
    /// goes there at once where it runs no time at all.
    LoopStart { id: u16, exit: Pc },
    /// Goes back to `head` while loop `id` is not at its end.
    LoopNext { id: u16, head: Pc },
    /// Leaves a loop: the limits outside of it hold again.
    LoopEnd { id: u16 },
    /// Draws an alternative of mix `id` (index into [`Plan::mixes`]) and jumps there.
    Mix { id: u16 },
    /// Starts the clock of a labelled block.
    BlockStart { block: u16 },
    /// Counts a labelled block as one operation.
    BlockEnd { block: u16, stat: StatId },
    /// Starts walking over the members of a set as it is now.
    EachStart { id: u16, exit: Pc },
    /// Takes the next member in hand and goes to `head`, or falls through at the end.
    EachNext { id: u16, head: Pc },
    /// Waits until the pace `id` (index into [`Plan::paces`]) allows the next iteration.
    Pace { id: u16 },
    /// The end of the program.
    End,
}

/// When a loop ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// After so many iterations.
    Times(u64),
    /// After so many nanoseconds.
    Time(Nanos),
    /// After so many transfers of its data steps (`data`), or so many operations where it has
    /// none; all workers together or each.
    Ops { total: u64, each: bool, data: bool },
    /// After so many bytes.
    Bytes { total: u64, each: bool },
    /// When sequential transfers have come to the end of their file so many times.
    Passes(u64),
    /// When a set has no member left to take, or no room for another.
    Exhausted,
    /// When the operations of all workers in each of the last `windows` seconds were within
    /// `within` (1/1000) of their mean.
    Steady { windows: u32, within: u32, at_most: Nanos },
}

/// The span of a loop that goes on until something else ends the phase; longer than any run.
pub const FOR_EVER: Nanos = Nanos::MAX / 4;

/// One loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopPlan {
    /// The condition it ends by.
    pub until: Until,
    /// Uncounted time in front, nanoseconds.
    pub ramp: Nanos,
    /// Index into the run's shared budgets for ends that all workers share.
    pub budget: u16,
    /// Whether this is the phase's own loop.
    pub phase: bool,
}

/// Alternatives of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct MixPlan {
    /// Alternative by drawn number; its length is the sum of the weights.
    pub table: Vec<u16>,
    /// Where each alternative starts.
    pub targets: Vec<Pc>,
    /// Deals shuffled decks of exactly `table` instead of drawing.
    pub exact: bool,
    /// Statistics that count whole decks.
    pub decks: StatId,
}

/// A walk over a set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EachPlan {
    /// The set walked over.
    pub set: SetId,
    /// The order of its members.
    pub order: Order,
    /// Most members taken.
    pub limit: u64,
}

/// A rate to keep, for each worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacePlan {
    /// Iterations a second; 0 where bytes count.
    pub ops: f64,
    /// Bytes a second; 0 where iterations count.
    pub bytes: f64,
    /// Random intervals (exponential) instead of even ones.
    pub poisson: bool,
    /// Whether lost time is made up.
    pub debt: bool,
}

/// A table that numbers are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub enum Table {
    /// Value by drawn number below the table's length.
    Lookup { values: Vec<u64>, index: Vec<u16> },
    /// Values at equally spaced probabilities, `len - 1` intervals, drawn between linearly; the
    /// last interval has a table of its own where the tail is long.
    Quantiles { values: Vec<u64>, tail: Vec<u64> },
    /// Ranks under Zipf's law with this exponent; the number of ranks is known when drawn.
    Zipf { exponent: f64 },
    /// `share` of the draws (of 2^32) fall on the first `of` (of 2^32) of the ranks.
    Hot { share: u32, of: u32 },
}

/// What a statistic counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StatKind {
    /// Transfers of a read, write or append.
    Data,
    /// Any other operation.
    Operation,
    /// A step of several transfers as a whole.
    Step,
    /// A labelled block.
    Block,
    /// Whole decks of an exact mix.
    Decks,
}

/// One statistic of a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct StatPlan {
    /// Label, or verb.
    pub key: String,
    /// Group it belongs to; empty without groups.
    pub group: String,
    /// What it counts.
    pub kind: StatKind,
    /// Whether it appears among the results.
    pub measured: bool,
}

/// One kind of worker within a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupPlan {
    /// As the profile calls it; empty without groups.
    pub name: String,
    /// Its workers: from the first to before the second number.
    pub workers: (u32, u32),
    /// The program each of its workers runs.
    pub code: Vec<Instr>,
    /// The phase ends when these workers are done.
    pub ends_phase: bool,
    /// Whether its operations count.
    pub measured: bool,
}

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub struct PhasePlan {
    /// As the profile calls it.
    pub name: String,
    /// Whether anything in it counts.
    pub measured: bool,
    /// Its groups of workers.
    pub groups: Vec<GroupPlan>,
    /// Its statistics; [`StatId`] is an index into them.
    pub stats: Vec<StatPlan>,
    /// Planned length of its own loop: time or iterations a worker, for progress.
    pub expected: Expected,
}

/// What a progress bar can know beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Expected {
    /// Nanoseconds of the phase's own loop.
    Time(Nanos),
    /// Iterations of the phase's own loop, of each worker.
    Iterations(u64),
    /// Nothing is known.
    #[default]
    Unknown,
}

/// The order of phases.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// One phase (index into [`Plan::phases`]).
    Phase(u16),
    /// Phases repeated together until the condition holds.
    Loop { until: Until, body: Vec<Schedule> },
}

/// Which generator random choices come from.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Generator {
    /// One ChaCha8 stream a purpose, keyed by seed, case, repeat and worker.
    #[default]
    ChaCha8,
    /// One MT19937 stream in program order: bounded draws are remainders, picks probe slots
    /// until one is used. Seeded as in 1999; so many draws are thrown away first.
    Mt19937 { burn: u64 },
}

/// How random choices are made.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct RandomPlan {
    /// Where the numbers come from.
    pub generator: Generator,
    /// Fixed by the profile; `None`: by the run.
    pub seed: Option<u64>,
}

/// The engine the data steps use.
#[derive(Clone, Debug, PartialEq)]
pub struct EnginePlan {
    /// The engine's name: `sync` and the like.
    pub name: String,
    /// Most transfers in flight for each worker.
    pub depth: u32,
    /// Whether files are opened with direct I/O.
    pub direct: Direct,
    /// Engines to take, in this order, where it is not to be had.
    pub fallback: Vec<String>,
}

impl EnginePlan {
    /// One transfer after the other by plain calls.
    pub fn sync() -> EnginePlan {
        EnginePlan { name: "sync".into(), depth: 1, direct: Direct::Never, fallback: Vec::new() }
    }

    /// Whether files are to be open for direct I/O. A preference that the engine cannot follow is none.
    pub fn wants_direct(&self) -> Direct {
        let can = crate::os::engine_facts(&self.name).is_none_or(|facts| facts.direct);
        if self.direct == Direct::Prefer && !can { Direct::Never } else { self.direct }
    }

    /// Whether its transfers are queued, be it one at a time.
    pub fn has_queue(&self) -> bool {
        crate::os::engine_facts(&self.name).is_some_and(|facts| facts.max_depth > 1)
    }
}

/// Whether files are opened with direct I/O.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Direct {
    /// Always; the run fails where the file system cannot.
    Require,
    /// Where the file system can.
    Prefer,
    /// Not unless a step asks for it.
    #[default]
    Never,
}

/// Everything that will happen in one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Threads started; every phase's groups are ranges of them.
    pub workers: u32,
    /// What moves the data: the profile's engine, then those of single phases and steps.
    pub engines: Vec<EnginePlan>,
    /// How random choices are made.
    pub random: RandomPlan,
    /// File sets; [`SetId`] is an index into them.
    pub sets: Vec<SetPlan>,
    /// Phases, each once, however often it runs.
    pub phases: Vec<PhasePlan>,
    /// Order in which the phases run.
    pub schedule: Vec<Schedule>,
    /// Operands of operations.
    pub args: Vec<Args>,
    /// Loops of all programs.
    pub loops: Vec<LoopPlan>,
    /// Mixes of all programs.
    pub mixes: Vec<MixPlan>,
    /// Walks over sets.
    pub eaches: Vec<EachPlan>,
    /// Rates to keep.
    pub paces: Vec<PacePlan>,
    /// Tables that numbers are drawn from.
    pub tables: Vec<Table>,
    /// Weighted positions: each with its weight.
    pub ats: Vec<Vec<(At, u32)>>,
    /// Names in pieces; [`NameId`] is an index into them.
    pub names: Vec<Vec<Segment>>,
    /// Lists of files that trees are written from.
    pub datasets: Datasets,
    /// Databases and what is said to them.
    pub sql: SqlPlan,
    /// Recorded loads.
    pub replays: Vec<ReplayPlan>,
    /// Number of shared budgets.
    pub budgets: u16,
    /// Number of labelled blocks.
    pub blocks: u16,
    /// Number of group barriers.
    pub barriers: u16,
    /// Largest transfer in bytes.
    pub largest_block: u64,
    /// Where each entry of `args` stands: `phases[0].steps[1].write`, and its line.
    pub places: Vec<String>,
}

impl Plan {
    /// The engine of the profile as a whole.
    pub fn engine(&self) -> &EnginePlan {
        static NONE: std::sync::LazyLock<EnginePlan> = std::sync::LazyLock::new(EnginePlan::sync);
        self.engines.first().unwrap_or(&NONE)
    }

    /// Whether what happens depends on the names that directories hold.
    pub fn reads_names(&self) -> bool {
        !self.replays.is_empty() || self.sets.iter().any(|set| set.trees.is_some())
    }

    /// The engine a step's transfers go through.
    pub fn engine_of(&self, args: &Args) -> &EnginePlan {
        self.engines.get(usize::from(args.engine)).unwrap_or_else(|| self.engine())
    }

    /// The numbers of the engines that transfers of steps go through, in order; that of the profile
    /// where no step moves anything.
    pub fn engines_used(&self) -> Vec<usize> {
        let uses = |index: &usize| {
            self.args.iter().any(|args| args.moves != Moves::Nothing && usize::from(args.engine) == *index)
        };
        let used: Vec<usize> = (0..self.engines.len()).filter(uses).collect();
        if used.is_empty() { vec![0] } else { used }
    }

    /// A plan in which nothing happens: one worker, no phase.
    pub fn empty() -> Plan {
        Plan {
            workers: 1,
            engines: vec![EnginePlan::sync()],
            random: RandomPlan::default(),
            sets: Vec::new(),
            phases: Vec::new(),
            schedule: Vec::new(),
            args: Vec::new(),
            loops: Vec::new(),
            mixes: Vec::new(),
            eaches: Vec::new(),
            paces: Vec::new(),
            tables: Vec::new(),
            ats: Vec::new(),
            names: Vec::new(),
            datasets: Vec::new(),
            sql: SqlPlan::default(),
            replays: Vec::new(),
            budgets: 0,
            blocks: 0,
            barriers: 0,
            largest_block: 0,
            places: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_stay_small() {
        assert!(size_of::<Instr>() <= 32, "{}", size_of::<Instr>());
    }
}
