//! A table of verbs for the tests of the checker: every form a verb can have, with the names
//! people know. The program's own table is another one.

use ioscore::profile::shape::{Field, Kind, Verb};

use Kind::{At, Bool, Choice, Choices, Count, Data, Distribution, Set, Size, Text};

const PICK: Field =
    Field::new("pick", Choice(&["random", "next", "oldest", "newest", "zipf", "same"]), "which file");
const IN: Field = Field::new("in", Set, "the set whose file in hand is meant");
const NAME: Field = Field::new("name", Text, "a name in the set's directory that is no member");
const MODE: Field = Field::new("mode", Choice(&["read", "write", "append", "rw", "append_rw"]), "access");
const FLAGS: Field =
    Field::new("flags", Choices(&["direct", "dsync", "sync", "trunc", "excl", "noatime", "append"]), "flags");
const BUFFER: Field = Field::new("buffer", Choice(&["stdio", "none"]), "as C's buffered files");
const BLOCK: Field = Field::new("block", Size, "bytes in one operation");
const REMAINDER: Field =
    Field::new("remainder", Choice(&["if_any", "always", "if_alone"]), "the last operation");
const AT: Field = Field::new("at", At, "where in the file");
const DATA: Field = Field::new("data", Data, "the contents");
const AMOUNT: Kind = Kind::OneOf(&[Choice(&["whole"]), Distribution]);

const fn verb(name: &'static str, group: &'static str, object: Option<Kind>, bare: bool) -> Verb {
    Verb { name, group, doc: "Does what its name says.", object, bare, args: &[] }
}

const fn with(mut verb: Verb, args: &'static [Field]) -> Verb {
    verb.args = args;
    verb
}

pub const VERBS: &[Verb] = &[
    with(
        verb("create", "open files", Some(Set), false),
        &[
            MODE,
            FLAGS,
            BUFFER,
            Field::new("permissions", Text, "permission bits, in octal"),
            Field::new("parents", Choice(&["ahead", "missing", "always"]), "when directories are made"),
        ],
    ),
    with(verb("open", "open files", Some(Set), false), &[PICK, NAME, MODE, FLAGS, BUFFER]),
    verb("close", "open files", Some(Set), true),
    with(verb("seek", "open files", Some(Size), false), &[IN]),
    with(
        verb("read", "data", Some(AMOUNT), false),
        &[IN, PICK, BLOCK, REMAINDER, AT, Field::new("verify", Bool, "compare with what was written")],
    ),
    with(verb("write", "data", Some(AMOUNT), false), &[IN, PICK, BLOCK, REMAINDER, AT, DATA]),
    with(verb("append", "data", Some(Distribution), false), &[IN, BLOCK, REMAINDER, DATA]),
    with(verb("truncate", "data", Some(Size), false), &[IN]),
    with(
        verb("fallocate", "data", Some(Size), false),
        &[IN, Field::new("how", Choice(&["allocate", "keep_size", "punch", "zero"]), "what is done")],
    ),
    with(verb("advise", "data", Some(Choice(&["dontneed", "willneed", "random"])), false), &[IN]),
    verb("fsync", "durability", Some(Set), true),
    verb("fdatasync", "durability", Some(Set), true),
    verb("sync", "durability", None, true),
    verb("drop_caches", "durability", None, true),
    with(verb("unlink", "names", Some(Set), false), &[PICK]),
    with(verb("rename", "names", Some(Set), false), &[PICK, Field::new("to", Text, "the new name")]),
    with(verb("stat", "names", Some(Set), true), &[PICK, NAME]),
    verb("statfs", "names", None, true),
    verb("list", "names", Some(Set), false),
    with(verb("utimes", "names", Some(Set), false), &[PICK]),
    with(verb("lock", "names", Some(Size), false), &[Field::new("at", Size, "where")]),
    with(verb("unlock", "names", Some(Size), false), &[Field::new("at", Size, "where")]),
    with(
        verb("remove_all", "names", Some(Set), false),
        &[Field::new("order", Choice(&["oldest", "newest", "slot"]), "which first")],
    ),
    verb("think", "flow", Some(Kind::Duration), false),
    verb("barrier", "flow", None, true),
    verb("sql", "databases", Some(Text), false),
    with(
        verb("replay", "traces", Some(Text), false),
        &[
            Field::required("format", Choice(&["loadfile", "dbench"]), "the notation of the file"),
            IN,
            Field::new("replace", Kind::MapOf(&Text), "words in paths"),
            Field::new("options", Kind::MapOf(&Kind::Any), "the reader's own switches"),
            Field::new("speed", Count, "how many times faster"),
        ],
    ),
];
