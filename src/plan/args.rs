//! The operands of operations: what a step of a profile comes down to, part by part. Part of the
//! contract in `instr`; knows neither YAML nor how it is run.

use super::instr::{NO_NAME, NO_SET, NO_STAT, NameId, Pc, SetId, StatId};
use super::sets::TreeStep;
use crate::os::{Advice, Errno, Lock, Recipe, Space};

/// Which member of a set an operation takes in hand.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Pick {
    /// The one in hand.
    #[default]
    Same,
    /// Any member, each as likely as the others.
    Random,
    /// Members in the order of their slots, round and round.
    Next,
    /// The member that has been there longest.
    Oldest,
    /// The member that came last.
    Newest,
    /// By rank of age under a distribution (index into [`Plan::tables`]).
    Ranked(u32),
}

/// How members are walked over.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Order {
    /// From the first that came to the last.
    #[default]
    Oldest,
    /// From the last that came to the first.
    Newest,
    /// By the number of the slot.
    Slot,
    /// Shuffled.
    Random,
}

/// A number drawn when it is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Always this number.
    Const(u64),
    /// From `lo` to `hi`, both included, in steps from `lo`.
    Uniform { lo: Bound, hi: Bound, step: u64 },
    /// From a table (index into [`Plan::tables`]).
    Table(u32),
}

/// A bound that may depend on the file in hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Always this number.
    Number(u64),
    /// Its size in bytes.
    FileSize,
    /// What it may still grow: the set's largest size less its own.
    FileRoom,
}

/// How much one data step moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// So many bytes.
    Bytes(Draw),
    /// All of the file in hand.
    Whole,
}

/// Where a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum At {
    /// Goes on where the last transfer ended.
    #[default]
    Next,
    /// Goes on where the last transfer of the same direction ended that went so; at the start of the file
    /// again where the next one does not fit.
    EachWay,
    /// Any whole block of the file.
    Random,
    /// Every block once, in a random order, then again in another.
    Permuted,
    /// The start of the file.
    Start,
    /// The end of the file.
    End,
    /// A byte offset.
    Offset(Draw),
    /// A block number drawn by rank: the ranks are spread over the file.
    Ranked(u32),
    /// `share` of the transfers (of 2^32) go to the first `of` (of 2^32) of the file.
    Hot { share: u32, of: u32 },
    /// The last offset plus this many bytes.
    Stride(u64),
    /// One of several (index into [`Plan::ats`]).
    Weighted(u16),
}

/// What becomes of a last block that is shorter than the others.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Remainder {
    /// One shorter transfer, where bytes are left.
    #[default]
    IfAny,
    /// One last transfer even of no bytes.
    Always,
    /// As `IfAny`, and one transfer of no bytes where there is nothing else.
    IfAlone,
}

/// Whether a file's directory is made by the step that creates the file.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Parents {
    /// Made before the first phase.
    #[default]
    Ahead,
    /// Made when the worker has not yet seen it.
    Missing,
    /// Asked for before every file; that it exists is no error.
    Always,
}

/// Which way a step moves data.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Moves {
    /// It moves none.
    #[default]
    Nothing,
    /// From files.
    Reads,
    /// To files.
    Writes,
}

/// How a file was opened, as far as the steps after it need to know.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Opening {
    /// Flags of `open(2)`.
    pub flags: i32,
    /// Permission bits of a created file.
    pub permissions: u32,
    /// Who makes the directory of a file that is created.
    pub parents: Parents,
    /// Transfers as C's buffered files make them: whole blocks of the file's preferred size.
    pub stdio: bool,
    /// Open for direct I/O where the file system can.
    pub prefer_direct: bool,
}

/// What a particular operation needs beside the common operands.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Detail {
    /// No more than the common operands.
    #[default]
    Nothing,
    /// Which hint is given.
    Advice(Advice),
    /// What is done with the range.
    Space(Space),
    /// Which lock is taken or given back.
    Lock(Lock),
    /// Nanoseconds (not a constant: drawn).
    Pause,
    /// In which order members are walked over.
    Order(Order),
    /// Index of the barrier ([`Plan::barriers`]).
    Barrier(u16),
    /// The open file is meant, not its name.
    OpenFile,
    /// Every subdirectory of the set is meant, not the set's own directory.
    Subdirs,
    /// The number counts from the file's position, not from its start.
    Relative,
    /// What is done with a tree as a whole.
    Tree(TreeStep),
    /// The statements of a database (index into [`SqlPlan::scripts`]).
    Script(u32),
    /// Which recorded load is performed ([`Plan::replays`]).
    Replay(u16),
}

/// The operands of one operation. One struct for all of them: an operation reads what it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// The set whose member is taken in hand, or [`NO_SET`].
    pub set: SetId,
    /// A second set (`from:`).
    pub other: SetId,
    /// Where the operation counts, or [`NO_STAT`].
    pub stat: StatId,
    /// Statistics of the step as a whole, where it moves several blocks.
    pub step_stat: StatId,
    /// Where the enclosing block ends: a guard that says `skip` goes there.
    pub skip_to: Pc,
    /// Which member is taken.
    pub pick: Pick,
    /// The engine its transfers go through (index into [`Plan::engines`]).
    pub engine: u8,
    /// Which way it moves data.
    pub moves: Moves,
    /// Bytes the step moves.
    pub amount: Amount,
    /// Bytes of the step's only transfer where they are a constant, 0 elsewhere: follows from
    /// `amount` and `block`, and spares the interpreter the question.
    pub fixed: u64,
    /// Bytes a transfer; `None` moves the amount in one.
    pub block: Option<Draw>,
    /// How a shorter last block is moved.
    pub remainder: Remainder,
    /// Where in the file each transfer goes.
    pub at: At,
    /// What is written.
    pub data: Recipe,
    /// Check what was read against the recipe.
    pub verify: bool,
    /// How the file is open.
    pub opening: Opening,
    /// A name in the set's directory that is no member, or [`NO_NAME`].
    pub name: NameId,
    /// A number some operations take: a size, a position, a length.
    pub value: Draw,
    /// What only this kind of operation needs.
    pub detail: Detail,
    /// Perform only every n-th time, counted per worker and file; 1 is always.
    pub every: u32,
    /// Errors that are as good as success.
    pub expect: Vec<Errno>,
    /// The error that must come.
    pub must_fail: Option<Errno>,
    /// Most members a walk takes; how many of the last bytes a hint is for.
    pub limit: Option<u64>,
}

impl Default for Args {
    fn default() -> Args {
        Args {
            set: NO_SET,
            other: NO_SET,
            stat: NO_STAT,
            step_stat: NO_STAT,
            skip_to: 0,
            pick: Pick::Same,
            engine: 0,
            moves: Moves::Nothing,
            amount: Amount::Bytes(Draw::Const(0)),
            fixed: 0,
            block: None,
            remainder: Remainder::IfAny,
            at: At::Next,
            data: Recipe::Zero,
            verify: false,
            opening: Opening::default(),
            name: NO_NAME,
            value: Draw::Const(0),
            detail: Detail::Nothing,
            every: 1,
            expect: Vec::new(),
            must_fail: None,
            limit: None,
        }
    }
}
