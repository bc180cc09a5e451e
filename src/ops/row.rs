//! What one row of the operation table holds, and the arguments several rows share.

use crate::plan::instr::Detail;
use crate::profile::shape::{Field, Kind, Verb};

/// What the verb's own value is to the plan.
#[derive(Clone, Copy)]
pub enum Object {
    /// There is none.
    None,
    /// A file set.
    Set,
    /// How many bytes to move: a size, `whole`, or a distribution.
    Amount,
    /// A number of bytes or a position.
    Value,
    /// A span of time.
    Pause,
    /// One of the verb's words.
    Word(fn(&str) -> Option<Detail>),
    /// A name (of an attribute).
    Name,
    /// Statements of a database.
    Sql,
    /// The path of a file of them.
    SqlFile,
    /// The file of a recorded load.
    Replay,
}

/// How the operation counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counts {
    /// Its transfers are the phase's data operations.
    Data,
    /// It is one operation.
    Operation,
    /// It is not counted at all (control flow).
    Nothing,
}

/// One operation.
pub struct Row {
    /// The word in a profile and the fields it takes.
    pub verb: Verb,
    /// What stands behind the verb.
    pub object: Object,
    /// What it adds to the statistics.
    pub counts: Counts,
    /// Words fixed for this verb, where it has no words to choose.
    pub detail: Detail,
    /// Whether it works on an open file (and not on a name).
    pub needs_open: bool,
    /// Whether it opens the file it takes in hand.
    pub opens: bool,
    /// Whether it uses members by age unless told otherwise.
    pub by_age: bool,
}

/// Fields with the same meaning in every verb that has them.
pub const IN: Field = Field::new("in", Kind::Set, "the file set; without it the set of the file opened last");
/// Which member of the set is used.
pub const PICK: Field = Field::new(
    "pick",
    Kind::OneOf(&[Kind::Choice(&["random", "next", "oldest", "newest", "same"]), Kind::Distribution]),
    "which file is taken in hand: random, next, oldest, newest, same, or {zipf: …}, {hot: …} by rank",
);
/// Bytes of each transfer.
pub const BLOCK: Field =
    Field::new("block", Kind::Distribution, "bytes a transfer; without it the whole amount in one");
/// Where transfers go in the file.
pub const AT: Field = Field::new(
    "at",
    Kind::At,
    "next (default), each_way (as next, but reads and writes have a position each), random, permuted, start, an offset or distribution, {stride: 8KiB}, {zipf: …}, {hot: …}, {weighted: {next: 50, start: 22}}",
);
/// How the last, shorter block is moved.
pub const REMAINDER: Field = Field::new(
    "remainder",
    Kind::Choice(&["if_any", "always", "if_alone"]),
    "the last, shorter transfer: if_any (default), always (even of no bytes), if_alone (no bytes where there is nothing else)",
);
/// What is written.
pub const DATA: Field =
    Field::new("data", Kind::Data, "what is written; without it what the set says, else random");
/// A name that is no member of the set.
pub const NAME: Field =
    Field::new("name", Kind::Text, "a name in the set's directory that is no member of it");
/// What a file is opened for.
pub const MODE: Field = Field::new(
    "mode",
    Kind::Choice(&["read", "write", "append", "rw", "append_rw"]),
    "what the file is opened for (create: write, open: read)",
);
/// Further flags of `open(2)`.
pub const FLAGS: Field = Field::new(
    "flags",
    Kind::Choices(&["direct", "dsync", "sync", "trunc", "excl", "noatime", "append"]),
    "further open flags; `create` truncates unless flags are given",
);
/// Mode bits of what is made.
pub const PERMISSIONS: Field =
    Field::new("permissions", Kind::Text, "permission bits in octal, in quotes: \"0644\"");
/// Whether transfers are made as C's buffered files make them.
pub const BUFFER: Field = Field::new(
    "buffer",
    Kind::Choice(&["stdio", "none"]),
    "stdio: transfers as C's buffered files make them, in blocks of the file's preferred size",
);
/// Who makes the directory of a file.
pub const PARENTS: Field = Field::new(
    "parents",
    Kind::Choice(&["ahead", "missing", "always"]),
    "the file's directory: made ahead and uncounted (default), when missing, or asked for before every file",
);
/// The engine of one step.
pub const ENGINE: Field = Field::new(
    "engine",
    crate::profile::language::ENGINE_KIND,
    "the engine of its transfers, instead of that of the phase or profile",
);
/// A number of bytes.
pub const SIZE: Field = Field::new("size", Kind::Distribution, "bytes");
