//! The vocabulary in which the language describes itself: kinds of values and named fields.
//!
//! Tables of [`Field`]s are the single source of the JSON Schema, of the reference pages, of
//! did-you-mean and of the check of literal values. The operation table describes the arguments
//! of each verb with them, [`crate::profile::language`] everything else.

/// What may stand at one place of a file. Any scalar may also be a `{{ expression }}`, and null
/// is the same as not written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Anything (checked elsewhere).
    Any,
    /// A whole number from 0.
    Count,
    /// Bytes: `4096`, `4KiB`, `4kB`.
    Size,
    /// `20s`, `1m30s`; never a bare number.
    Duration,
    /// `75%`.
    Percent,
    /// `true` or `false`.
    Bool,
    /// Any text; numbers and booleans are taken as they are written.
    Text,
    /// A name expressions can say: `[a-z][a-z0-9_]*`.
    Name,
    /// A kebab-case id.
    Id,
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Any of some words, one or a list.
    Choices(&'static [&'static str]),
    /// A constant size or count, or one of the distribution maps of section 2 of the language.
    Distribution,
    /// Where a transfer goes: `next`, `each_way`, `random`, `permuted`, `start`, a size, a distribution,
    /// `{stride: 8KiB}`, `{weighted: {next: 50, start: 22}}`.
    At,
    /// Contents: `random`, `zero`, `text`, `read`, `{byte: a}`, `{compressible: 50%, duplicate: 20%}`.
    Data,
    /// A bare expression without braces.
    Expression,
    /// The name of a file set of this profile.
    Set,
    /// One error name such as `ENOENT`, or a list of them.
    Errnos,
    /// A list of steps; a list inside it is spliced.
    Steps,
    /// A list of phases, or of loops over phases.
    Phases,
    /// A map with these keys and no others.
    Map(&'static [Field]),
    /// A map with free keys (names) and values of one kind.
    MapOf(&'static Kind),
    /// A list of values of one kind; a single value stands for a list of one.
    ListOf(&'static Kind),
    /// Any of these kinds, the first that fits.
    OneOf(&'static [Kind]),
}

/// One key of a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// The key as written.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// Whether the map must have it.
    pub required: bool,
    /// One line of help, lower-case, without a full stop.
    pub doc: &'static str,
}

impl Field {
    /// A key that may be left out.
    pub const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Field {
        Field { name, kind, required: false, doc }
    }

    /// A key that must be there.
    pub const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Field {
        Field { name, kind, required: true, doc }
    }
}

/// One verb of the step vocabulary, as the schema and the reference see it.
#[derive(Clone, Copy, Debug)]
pub struct Verb {
    /// The word as written in a step.
    pub name: &'static str,
    /// Section of the reference page: `open files`, `data`, `durability`, `names`, `flow`, ….
    pub group: &'static str,
    /// One or two sentences.
    pub doc: &'static str,
    /// What the verb's own value is; `None` where only the bare word is written.
    pub object: Option<Kind>,
    /// Whether the bare word (`- close`) is allowed.
    pub bare: bool,
    /// The other keys, besides the modifiers that every step takes.
    pub args: &'static [Field],
}
