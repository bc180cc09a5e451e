//! File sets as the plan holds them, and the pieces their names are made of. Part of the contract of
//! [`super::instr`], which hands it on.

use super::instr::{Draw, NameId};
use crate::os::{Nanos, Recipe};

/// A piece of a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Segment {
    /// These bytes as they are.
    Literal(Vec<u8>),
    /// The set's running number.
    Number(Spec),
    /// The worker's number, from 0.
    Worker(Spec),
    /// Seconds since 1970 at the file's creation.
    Clock(Spec),
    /// So many characters of `0-9A-Z`.
    Random(u32),
    /// So many decimal digits.
    Digits(u32),
}

/// How a number is printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spec {
    /// 10 or 16.
    pub radix: u8,
    /// Whether hexadecimal digits are capital letters.
    pub upper: bool,
    /// ASCII character that fills up to the width.
    pub fill: u8,
    /// Where the digits stand in the width.
    pub align: Align,
    /// Fewest characters printed.
    pub width: u16,
}

/// Where a number stands in a field wider than it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Align {
    /// At the left, filled behind.
    Left,
    /// At the right, filled in front.
    Right,
    /// In the middle, filled on both sides.
    Center,
}

/// What happens when a pool cannot give what a step asks.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Guard {
    /// Leaves the enclosing block before any further draw.
    Skip,
    /// Ends the phase.
    EndPhase,
    /// Ends the run with an error.
    #[default]
    Error,
}

/// Where a new member goes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Insert {
    /// Any free slot.
    #[default]
    Next,
    /// The free slot of the lowest number.
    LowestFree,
    /// The slot after the last one used, or the lowest free one.
    BumpThenLowestFree,
}

/// When a new directory is begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rotate {
    /// After so many nanoseconds.
    Time(Nanos),
    /// After so many files.
    Files(u64),
    /// A random one for every file.
    Random,
}

/// How the files present at the start come about.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Layout {
    /// Written in full with the set's data.
    #[default]
    Written,
    /// Given their space by `fallocate`, not written.
    Fallocated,
    /// Created, sized by truncation, not written.
    None,
}

/// Subdirectories of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct DirsPlan {
    /// Number of subdirectories.
    pub count: u32,
    /// How they are named.
    pub name: NameId,
    /// When files begin to go to another one.
    pub rotate: Rotate,
}

/// How the trees of a set are written and read.
#[derive(Clone, Debug, PartialEq)]
pub struct TreesPlan {
    /// Bytes of one transfer, or of one piece handed to a buffered file.
    pub block: u64,
    /// Transfers as C's buffered files make them.
    pub stdio: bool,
    /// Names of the states that its trees may be in.
    pub states: Vec<String>,
}

/// No list of files.
pub const NO_DATASET: u16 = u16::MAX;
/// No state.
pub const NO_STATE: u8 = u8::MAX;

/// What one step does with a tree.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct TreeStep {
    /// The list of files ([`super::instr::Plan::datasets`]), or [`NO_DATASET`].
    pub dataset: u16,
    /// States a tree may be in, a bit each; 0 is any.
    pub states: u32,
    /// The state it is in then, or [`NO_STATE`].
    pub becomes: u8,
    /// Reads after the end of each file.
    pub past_end: u8,
    /// It works on a tree that is there.
    pub chosen: bool,
    /// Files that are there are removed first.
    pub unlink: bool,
    /// The directory of the tree itself stays.
    pub keep_top: bool,
}

/// One file set.
#[derive(Clone, Debug, PartialEq)]
pub struct SetPlan {
    /// As the profile calls it.
    pub name: String,
    /// Every worker has a pool of its own.
    pub per_worker: bool,
    /// Names of the directories down to the files, relative to the run directory.
    pub dir: Vec<NameId>,
    /// Subdirectories the files are spread over; `None` where they lie in `dir`.
    pub dirs: Option<DirsPlan>,
    /// How its files are named.
    pub file_name: NameId,
    /// Files laid out before the first phase, per pool.
    pub count: u64,
    /// Most members a pool has.
    pub slots: Option<u64>,
    /// Which slot a new file gets.
    pub insert: Insert,
    /// Bytes of each file laid out.
    pub size: Draw,
    /// Most bytes a file may grow to; `None` where there is no limit.
    pub max_size: Option<u64>,
    /// What its files hold unless a step says otherwise.
    pub data: Recipe,
    /// How the first files are made.
    pub layout: Layout,
    /// Lives in memory, not on the target.
    pub memory: bool,
    /// Flags of the files that stay open for steps that name the set without opening it; `None`
    /// where no step does.
    pub kept_open: Option<i32>,
    /// They are open for direct I/O where the file system can.
    pub prefer_direct: bool,
    /// What follows when there is no member to take.
    pub empty: Guard,
    /// What follows when there is no slot for another member.
    pub full: Guard,
    /// What follows when a file cannot grow as far as is asked.
    pub no_room: Guard,
    /// Its directory is made before the first phase (and not by a step).
    pub dir_ahead: bool,
    /// So are its subdirectories.
    pub subdirs_ahead: bool,
    /// Ranges of workers whose steps use it; nobody else lays it out or opens it.
    pub used_by: Vec<(u32, u32)>,
    /// Members are walked by age.
    pub by_age: bool,
    /// Mode bits of directories.
    pub dir_permissions: u32,
    /// Its members are trees of directories; `None` for a set of files.
    pub trees: Option<TreesPlan>,
}
