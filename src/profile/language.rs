//! The tables of the language: every key of profiles and suites that is not a verb's own.
//!
//! The schemas, the reference page, did-you-mean and the check of literal values follow from
//! them. Verbs come from the operation table; this module must not know any of them but the
//! blocks, which hold steps.

use super::shape::{Field, Kind, Verb};

use Kind::{Any, Bool, Choice, Choices, Count, Duration, Expression, Id, Name, Percent, Size, Text};

/// Which of the two kinds of file is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// A file of cases.
    Profile,
    /// A file that lists tests.
    Suite,
}

impl What {
    /// `profile` or `suite`.
    pub fn word(self) -> &'static str {
        match self {
            What::Profile => "profile",
            What::Suite => "suite",
        }
    }

    /// The keys of the whole file.
    pub fn fields(self) -> &'static [Field] {
        match self {
            What::Profile => PROFILE,
            What::Suite => SUITE,
        }
    }
}

/// The engines that can be asked for. `nop` moves no data: what is measured then is this program's
/// own overhead.
pub const ENGINES: &[&str] = &["sync", "libaio", "io_uring", "mmap", "sqlite", "nop"];

/// How an engine is asked for.
pub const ENGINE_KIND: Kind = Kind::OneOf(&[Choice(ENGINES), Kind::Map(ENGINE)]);

/// The types of parameters.
pub const TYPES: &[&str] =
    &["count", "size", "duration", "percent", "bool", "text", "choice", "choices", "file", "distribution"];

/// The units in which a number of `results:` can be printed.
pub const UNITS: &[&str] = &[
    "s", "ms", "us", "ns", "B", "kB", "MB", "GB", "KiB", "MiB", "GiB", "B/s", "kB/s", "MB/s", "GB/s",
    "KiB/s", "MiB/s", "GiB/s", "ops/s", "files/s", "rows/s", "%",
];

/// The orders in which `each` and other steps go through a set.
pub const ORDERS: &[&str] = &["random", "next", "oldest", "newest", "slot"];

const GUARD: Kind = Choice(&["skip", "end_phase", "error"]);

/// The keys of a profile.
pub const PROFILE: &[Field] = &[
    Field::required("profile", Id, "id of the profile, the file's own name"),
    Field::required("version", Text, "three numbers: a change of the first two makes results not comparable"),
    Field::required("title", Text, "what tables and charts call it"),
    Field::required("summary", Text, "one sentence that says what is done to the storage"),
    Field::new("description", Text, "more about it: what the load stands for, how to use it"),
    Field::new("reproduces", Kind::Map(REPRODUCES), "the tool whose numbers this profile follows"),
    Field::new("params", Kind::MapOf(&Kind::Map(PARAM)), "what a user may set"),
    Field::new("let", Kind::MapOf(&Any), "named values made from the parameters"),
    Field::new("presets", Kind::MapOf(&Kind::MapOf(&Any)), "overlays over the parameters, by name"),
    Field::new(
        "cases",
        Kind::ListOf(&Kind::Map(CASE)),
        "the rows of the result; without them one case with the defaults",
    ),
    Field::new(
        "engine",
        ENGINE_KIND,
        "how reads and writes are handed to the system; `\"null\"` (in quotes) moves nothing and so measures this program's own overhead",
    ),
    Field::new("workers", Count, "threads that perform the steps side by side"),
    Field::new(
        "random",
        Kind::Map(RANDOM),
        "the seed, and the generator of an original that is followed draw by draw",
    ),
    Field::new("files", Kind::MapOf(&Kind::Map(SET)), "the sets of files the steps work on"),
    Field::new("datasets", Kind::MapOf(&Kind::Map(DATASET)), "lists of files that trees are written from"),
    Field::new("trees", Kind::MapOf(&Kind::Map(TREES)), "the sets of directory trees the steps work on"),
    Field::required("phases", Kind::Phases, "what is done, phase after phase"),
    Field::required("results", Kind::ListOf(&Kind::Map(RESULT)), "the numbers it reports, the table's lines"),
];

/// Keys that are part of the language's plan but not of this version.
pub const NOT_YET: &[(&str, &str)] = &[];

/// Verbs of the language's plan; those that the operation table has by now are found there first.
pub const VERBS_NOT_YET: &[&str] = &[];

const REPRODUCES: &[Field] = &[
    Field::required("tool", Text, "name of the tool"),
    Field::required("version", Text, "its version, in quotes"),
    Field::new("comparable_with", Kind::ListOf(&Text), "the published tests whose numbers can be compared"),
];

const PARAM: &[Field] = &[
    Field::required("type", Choices(TYPES), "what it may be; a list means either"),
    Field::new("of", Kind::ListOf(&Text), "the words of a choice"),
    Field::new(
        "default",
        Any,
        "the value where the user gives none; without it the user must give one, null means as if not written",
    ),
    Field::new("help", Text, "one line for the user"),
];

const CASE: &[Field] = &[
    Field::required("id", Id, "id of the row"),
    Field::new("title", Text, "what tables call it"),
    Field::new("with", Kind::MapOf(&Any), "parameters that differ from their defaults"),
    Field::new("matrix", Kind::MapOf(&Kind::ListOf(&Any)), "lists of values: one case for every combination"),
];

const ENGINE: &[Field] = &[
    Field::required("name", Choice(ENGINES), "which engine"),
    Field::new("depth", Count, "requests in flight for each worker"),
    Field::new("direct", Choice(&["require", "prefer", "never"]), "whether the page cache is passed by"),
    Field::new("fallback", Choices(ENGINES), "engines to take where the first is not to be had"),
    Field::new("pragmas", Kind::MapOf(&Text), "settings of every database connection"),
];

const RANDOM: &[Field] = &[
    Field::new("seed", Count, "the same seed gives the same operations"),
    Field::new("generator", Choice(&["chacha8", "mt19937"]), "which generator"),
    Field::new("seeding", Choice(&["1999"]), "the year of the Mersenne twister's seeding"),
    Field::new("burn", Count, "draws thrown away at the start"),
    Field::new("order", Choice(&["single"]), "one stream for all purposes, in the order of an original"),
];

const SET: &[Field] = &[
    Field::new("count", Count, "files laid out before the first phase"),
    Field::new("slots", Count, "files that fit"),
    Field::new("size", Kind::Distribution, "size of a file that is laid out"),
    Field::new("max_size", Size, "no file grows beyond it; gives {file.room}"),
    Field::new("data", Kind::Data, "contents of the files that are laid out"),
    Field::new("layout", Choice(&["written", "fallocated", "none"]), "how files are laid out"),
    Field::new("name", Text, "name of a file; {n} is its running number"),
    Field::new("dir", Text, "directory of the set"),
    Field::new("dirs", Kind::Map(DIRS), "subdirectories the files are spread over"),
    Field::new("per", Choice(&["worker", "shared"]), "whether each worker has its own files"),
    Field::new(
        "insert",
        Choice(&["next", "lowest_free", "bump_then_lowest_free"]),
        "which slot a new file gets",
    ),
    Field::new(
        "flags",
        Choices(&["direct", "dsync", "sync", "noatime"]),
        "flags of the file the set keeps open",
    ),
    Field::new("where", Choice(&["target", "memory"]), "whether the files are on the target"),
    Field::new("guards", Kind::Map(GUARDS), "what happens where a step finds the set unfit"),
];

const DATASET: &[Field] = &[
    Field::new(
        "file",
        Text,
        "a file that holds the list: a path and a size in bytes a line; instead of all below but `beside` and `order`",
    ),
    Field::new("files", Count, "files of the list"),
    Field::new("dirs", Count, "directories that it adds; each holds files"),
    Field::new("bytes", Size, "bytes of all its files together, exactly"),
    Field::new("size", Kind::Distribution, "quantiles of the sizes, met at their points"),
    Field::new("beside", Text, "another list, whose directories this one may use"),
    Field::new(
        "used",
        Count,
        "directories of the other list that get files; of one read from a file no more than it has",
    ),
    Field::new("replaces", Count, "files that have the path of one of the other list"),
    Field::new(
        "order",
        Choice(&["as_is", "sorted", "shuffled", "readdir"]),
        "in which order they are written; readdir: as the file system lists them",
    ),
];

const TREES: &[Field] = &[
    Field::new("name", Text, "name of a tree; {n} is its running number"),
    Field::new("dir", Text, "directory of the set"),
    Field::new("per", Choice(&["worker", "shared"]), "whether each worker has its own trees"),
    Field::new("slots", Count, "trees that fit"),
    Field::new("block", Size, "bytes of one transfer"),
    Field::new("buffer", Choice(&["stdio", "none"]), "stdio: transfers as C's buffered files make them"),
    Field::new("data", Kind::Data, "contents of their files"),
    Field::new("guards", Kind::Map(GUARDS), "what happens where a step finds the set unfit"),
];

const DIRS: &[Field] = &[
    Field::required("count", Count, "how many"),
    Field::new("name", Text, "name of a directory; {n} is its number"),
    Field::new(
        "rotate",
        Kind::OneOf(&[Duration, Count]),
        "how long one is used: a time, or a number of files",
    ),
    Field::new("pick", Choice(&["random", "next"]), "which one a new file goes to"),
];

const GUARDS: &[Field] = &[
    Field::new("empty", GUARD, "no file to choose"),
    Field::new("full", GUARD, "no free slot"),
    Field::new("no_room", GUARD, "the file cannot grow"),
];

macro_rules! looped {
    ($($field:expr),* $(,)?) => {
        &[
            $($field,)*
            Field::new("repeat", Count, "how many times"),
            Field::new("for", Duration, "how long"),
            Field::new("until", Kind::OneOf(&[Choice(&["exhausted"]), Kind::Map(UNTIL)]), "what ends it"),
            Field::new("ramp", Duration, "time in front that is not counted"),
            Field::new("rate", Kind::Map(RATE), "no faster than this"),
        ]
    };
}

/// What makes a loop of a block, a phase, a group or a list of phases.
pub const LOOP: &[Field] = looped![];

/// The keys of which a loop has at most one.
pub const ENDS: &[&str] = &["repeat", "for", "until"];

const UNTIL: &[Field] = &[
    Field::new("bytes", Size, "this many bytes were moved"),
    Field::new("ops", Count, "this many operations were done"),
    Field::new("passes", Count, "every file was gone through this many times"),
    Field::new("exhausted", Kind::OneOf(&[Bool, Kind::Set]), "nothing is left to work on"),
    Field::new("steady", Kind::Map(STEADY), "the rate no longer changes"),
    Field::new("each", Bool, "each worker by itself rather than all together"),
];

const STEADY: &[Field] = &[
    Field::required("within", Percent, "how far it may be from its mean"),
    Field::required("window", Duration, "for how long it must stay so"),
    Field::new("at_most", Duration, "when to give up"),
];

const RATE: &[Field] = &[
    Field::new("ops", Count, "operations a second"),
    Field::new("bytes", Size, "bytes a second"),
    Field::new("spacing", Choice(&["fixed", "poisson"]), "how operations are spread over the time"),
    Field::new("debt", Bool, "whether lost time is made up"),
];

/// The keys of one phase.
pub const PHASE: &[Field] = looped![
    Field::required("phase", Name, "name of the phase"),
    Field::new("steps", Kind::Steps, "what each worker does"),
    Field::new("groups", Kind::MapOf(&Kind::Map(GROUP)), "different steps side by side"),
    Field::new("engine", ENGINE_KIND, "the engine of its reads and writes, instead of the profile's"),
    Field::new("when", Expression, "whether the phase takes place"),
    Field::new("measured", Bool, "false: nothing of it is reported"),
];

/// The keys of a list of phases that stands for one phase.
pub const PHASE_LIST: &[Field] = looped![
    Field::required("phases", Kind::Phases, "phases, one after the other"),
    Field::new("when", Expression, "whether they take place"),
    Field::new("measured", Bool, "false: nothing of them is reported"),
];

const GROUP: &[Field] = looped![
    Field::new("workers", Count, "threads of the group"),
    Field::required("steps", Kind::Steps, "what each of them does"),
    Field::new("ends_phase", Bool, "the phase ends with this group"),
    Field::new("when", Expression, "whether the group is there"),
    Field::new("measured", Bool, "false: load in the background, not reported"),
];

/// What every step with a verb may have besides its verb's own arguments.
pub const MODIFIERS: &[Field] = &[
    Field::new("label", Name, "name under which it is counted"),
    Field::new("when", Expression, "whether the step is part of the plan"),
    Field::new("weight", Count, "share in a mix"),
    Field::new("measured", Bool, "false: not counted and not timed"),
    Field::new("every", Count, "only each n-th time, for each worker and file"),
    Field::new("expect", Kind::Errnos, "errors as good as success"),
    Field::new("must_fail", Kind::Errnos, "the error it must end with"),
];

/// What a block may have besides its own keys: the first few modifiers.
pub const BLOCK_MODIFIERS: &[Field] = MODIFIERS.split_at(4).0;

/// The steps that hold steps. They are told apart from verbs by their modifiers.
pub const BLOCKS: &[Verb] = &[
    Verb {
        name: "mix",
        group: "flow",
        doc: "Draws one of its steps each time, by weight. With `exact` the weights are a deck that is shuffled and dealt.",
        object: Some(Kind::Steps),
        bare: false,
        args: looped![Field::new("exact", Bool, "deal shuffled decks rather than draw")],
    },
    Verb {
        name: "each",
        group: "flow",
        doc: "Performs its steps once for each file of a set.",
        object: Some(Kind::Set),
        bare: false,
        args: &[
            Field::required("steps", Kind::Steps, "what is done to each file"),
            Field::new("order", Choice(ORDERS), "which file comes first"),
            Field::new("limit", Count, "at most this many files"),
        ],
    },
    Verb {
        name: "steps",
        group: "flow",
        doc: "A block: its steps one after the other. With a label it is counted and timed as one operation.",
        object: Some(Kind::Steps),
        bare: false,
        args: LOOP,
    },
];

const RESULT: &[Field] = &[
    Field::required("name", Text, "what tables call the number"),
    Field::required("value", Expression, "an expression over what was measured"),
    Field::new("unit", Choice(UNITS), "the unit it is printed in"),
    Field::required("better", Choice(&["higher", "lower"]), "which of two values is the better one"),
    Field::new("primary", Bool, "the number that stands for the whole case"),
    Field::new("when", Expression, "whether the number is reported"),
    Field::new(
        "optional",
        Bool,
        "whether it is left out, and no mistake, where the recorded load has no request of the kind it names",
    ),
];

/// The keys of a suite.
pub const SUITE: &[Field] = &[
    Field::required("suite", Id, "id of the suite, the file's own name"),
    Field::required("title", Text, "what reports call it"),
    Field::new("summary", Text, "one sentence that says what it is for"),
    Field::new("description", Text, "more about it"),
    Field::new("runs", Kind::OneOf(&[Count, Kind::Map(RUNS)]), "how often each case is run"),
    Field::new("cache", Choice(&["keep", "drop"]), "what is done to the page cache between runs"),
    Field::new(
        "presets",
        Kind::MapOf(&Kind::MapOf(&Any)),
        "overlays over runs, cache and parameters, by name",
    ),
    Field::required("tests", Kind::ListOf(&Kind::Map(TEST)), "the profiles and suites it runs"),
];

const RUNS: &[Field] = &[
    Field::new("min", Count, "at least this many"),
    Field::new("max", Count, "at most this many"),
    Field::new("exactly", Count, "this many, whatever they show"),
    Field::new("rule", Choice(&["pts", "ci"]), "when there are enough"),
    Field::new("budget", Duration, "no longer than this for one case"),
];

const TEST: &[Field] = &[
    Field::new("profile", Text, "a profile's id or file"),
    Field::new("suite", Text, "another suite's id or file"),
    Field::new("cases", Kind::ListOf(&Text), "which cases; * stands for anything"),
    Field::new("with", Kind::MapOf(&Any), "parameters that differ from their defaults"),
];

/// Maps whose keys expressions must be able to say.
pub const NAMED: &[&str] = &["params", "let", "files", "groups"];

/// The maps of a distribution: name, what its value is in words, an example.
pub const DISTRIBUTIONS: &[(&str, Distribution, &str)] = &[
    ("uniform", Distribution::Pair, "{uniform: [4KiB, 64KiB]}"),
    ("weighted", Distribution::Weights, "{weighted: {4KiB: 50, 8KiB: 30}}"),
    ("gamma", Distribution::Named(&["mean", "shape"]), "{gamma: {mean: 16KiB, shape: 1.5}}"),
    ("normal", Distribution::Named(&["mean", "sd"]), "{normal: {mean: 16KiB, sd: 4KiB}}"),
    ("exponential", Distribution::One, "{exponential: 16KiB}"),
    ("quantiles", Distribution::Quantiles, "{quantiles: {0%: 0, 50%: 4KiB, 100%: 1MiB}}"),
    ("zipf", Distribution::One, "{zipf: 1.1}"),
    ("hot", Distribution::Shares, "{hot: {share: 80%, of: 20%}}"),
];

/// What stands beside the name of a distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// A list of two bounds, with `step` beside it.
    Pair,
    /// A map of values and weights.
    Weights,
    /// A map of percents and values.
    Quantiles,
    /// A map with just these numbers.
    Named(&'static [&'static str]),
    /// A number.
    One,
    /// `{share: 80%, of: 20%}`.
    Shares,
}

/// What can be read of the file in hand where a size is expected.
pub const FILE_BOUNDS: &[&str] = &["{file.size}", "{file.room}"];

/// The words of [`Kind::At`].
pub const AT_WORDS: &[&str] = &["next", "each_way", "random", "permuted", "start"];

/// The words of [`Kind::Data`].
pub const DATA_WORDS: &[&str] = &["random", "zero", "text", "read"];

/// What a kind is called in messages and on the reference page.
pub fn words(kind: &Kind) -> String {
    match kind {
        Kind::Any => "any value".into(),
        Kind::Count => "a whole number".into(),
        Kind::Size => "a size (4KiB)".into(),
        Kind::Duration => "a duration (20s)".into(),
        Kind::Percent => "a percent (75%)".into(),
        Kind::Bool => "true or false".into(),
        Kind::Text => "a text".into(),
        Kind::Name => "a name (lower-case letters, digits and _)".into(),
        Kind::Id => "an id (lower-case letters, digits and -)".into(),
        Kind::Choice(options) => either(options.iter().map(|option| (*option).to_owned()).collect()),
        Kind::Choices(options) => format!("one or a list of: {}", options.join(", ")),
        Kind::Distribution => "a size or a distribution ({uniform: [4KiB, 64KiB]})".into(),
        Kind::At => {
            format!("{}, a size, a distribution, {{stride: 8KiB}} or weighted words", AT_WORDS.join(", "))
        }
        Kind::Data => {
            format!("{}, {{byte: a}} or {{compressible: 50%, duplicate: 20%}}", DATA_WORDS.join(", "))
        }
        Kind::Expression => "an expression, without braces".into(),
        Kind::Set => "the name of a set of files".into(),
        Kind::Errnos => "an error name (ENOENT) or a list of them".into(),
        Kind::Steps => "a list of steps".into(),
        Kind::Phases => "a list of phases".into(),
        Kind::Map(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
            format!("a map with {}", names.join(", "))
        }
        Kind::MapOf(inner) => match inner {
            Kind::Any => "a map with keys of your own".into(),
            inner => format!("a map with keys of your own, each {}", words(inner)),
        },
        Kind::ListOf(inner) => format!("a list, each {}", words(inner)),
        Kind::OneOf(kinds) => either(kinds.iter().flat_map(alternatives).collect()),
    }
}

fn alternatives(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Choice(options) => options.iter().map(|option| format!("`{option}`")).collect(),
        Kind::Distribution => {
            vec!["a size (4KiB)".into(), "a distribution ({uniform: [4KiB, 64KiB]})".into()]
        }
        kind => vec![words(kind)],
    }
}

/// `a, b or c`.
pub fn either(mut words: Vec<String>) -> String {
    match words.pop() {
        Some(last) if !words.is_empty() => format!("{} or {last}", words.join(", ")),
        Some(last) => last,
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_help_is_one_plain_line() {
        let tables =
            [PROFILE, SUITE, PHASE, PHASE_LIST, GROUP, MODIFIERS, LOOP, SET, RESULT, PARAM, CASE, ENGINE];
        for table in tables {
            for (at, field) in table.iter().enumerate() {
                assert!(table[at + 1..].iter().all(|other| other.name != field.name), "{}", field.name);
                assert!(
                    !field.doc.is_empty() && !field.doc.ends_with('.') && !field.doc.contains('\n'),
                    "{}",
                    field.doc
                );
            }
        }
        assert_eq!(BLOCK_MODIFIERS.len(), 4);
        assert_eq!(BLOCK_MODIFIERS.last().map(|field| field.name), Some("measured"));
    }

    #[test]
    fn kinds_have_words() {
        assert_eq!(words(&Kind::OneOf(&[Duration, Count])), "a duration (20s) or a whole number");
        assert_eq!(words(&Choice(&["a", "b", "c"])), "a, b or c");
    }
}
