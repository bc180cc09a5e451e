//! Brings system calls to equivalence classes and counts them.
//!
//! Two calls are alike when a file system cannot tell them apart: `open` and `openat`, `stat` and
//! `statx`. Knows nothing of which calls of a trace count (`select`).

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use super::strace::{Syscall, number, unquote};

/// What makes two calls alike. Printed as `class detail mode size -> moved errno`, each part where
/// it has a meaning: `open O_RDWR|O_CREAT 0666`, `read 4096 -> 17`, `mkdir 0777 EEXIST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub class: String,
    /// Open flags (access mode first, then by the alphabet; without `O_CLOEXEC`, `O_LARGEFILE`),
    /// whence, advice, kind of lock.
    pub detail: String,
    /// Permission bits, where the call sets any.
    pub mode: Option<u32>,
    /// Bytes asked for.
    pub size: Option<u64>,
    /// Bytes moved, where that is not the size.
    pub moved: Option<i64>,
    pub errno: Option<String>,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.class)?;
        if !self.detail.is_empty() {
            write!(f, " {}", self.detail)?;
        }
        if let Some(mode) = self.mode {
            write!(f, " {mode:04o}")?;
        }
        if let Some(size) = self.size {
            write!(f, " {size}")?;
        }
        if let Some(moved) = self.moved {
            write!(f, " -> {moved}")?;
        }
        self.errno.iter().try_for_each(|errno| write!(f, " {errno}"))
    }
}

/// The key of a call. Names not known here keep their own class, so nothing is lost.
pub fn key(call: &Syscall) -> Key {
    let arg = |i: usize| call.args.get(i).map_or("", String::as_str);
    let new = |class: &str| Key { class: class.to_owned(), ..Key::default() };
    let open = |flags: &str, mode: &str| {
        let sets_mode = flags.contains("O_CREAT") || flags.contains("O_TMPFILE");
        Key { detail: open_flags(flags), mode: octal(mode).filter(|_| sets_mode), ..new("open") }
    };
    let with_mode = |class: &str, mode: &str| Key { mode: octal(mode), ..new(class) };
    let detailed = |class: &str, detail: &str| Key { detail: detail.to_owned(), ..new(class) };
    let transfer = |size: Option<u64>| Key { size, ..new(&call.name) };
    let whole = |i: usize| number(arg(i)).map(i64::cast_unsigned);

    let mut key = match call.name.as_str() {
        "open" => open(arg(1), arg(2)),
        "creat" => open("O_WRONLY|O_CREAT|O_TRUNC", arg(1)),
        "openat" => open(arg(2), arg(3)),
        "openat2" => open(field(arg(2), "flags"), field(arg(2), "mode")),
        "statfs" | "fstatfs" => new("statfs"),
        "stat" => new("stat"),
        "lstat" => new("lstat"),
        "fstat" => new("fstat"),
        "newfstatat" | "fstatat64" => new(stat_class(arg(1), arg(3))),
        "statx" => new(stat_class(arg(1), arg(2))),
        "unlink" => new("unlink"),
        "rmdir" => new("rmdir"),
        "unlinkat" => new(if arg(2).contains("AT_REMOVEDIR") { "rmdir" } else { "unlink" }),
        "mkdir" => with_mode("mkdir", arg(1)),
        "mkdirat" => with_mode("mkdir", arg(2)),
        "rename" | "renameat" => new("rename"),
        "renameat2" => detailed("rename", arg(4).trim_start_matches('0')),
        "utime" | "utimes" | "futimesat" => new("utimes"),
        "utimensat" => new(if arg(1) == "NULL" { "futimes" } else { "utimes" }),
        "access" => detailed("access", arg(1)),
        "faccessat" | "faccessat2" => detailed("access", arg(2)),
        "link" | "linkat" => new("link"),
        "symlink" | "symlinkat" => new("symlink"),
        "readlink" | "readlinkat" => new("readlink"),
        "chmod" => with_mode("chmod", arg(1)),
        "fchmodat" => with_mode("chmod", arg(2)),
        "fchmod" => with_mode("fchmod", arg(1)),
        "dup2" | "dup3" => new("dup2"),
        "read" | "write" | "pread64" | "pwrite64" => transfer(whole(2)),
        "readv" | "writev" | "preadv" | "pwritev" | "preadv2" | "pwritev2" => transfer(vector_size(arg(1))),
        "sendfile" => transfer(whole(3)),
        "copy_file_range" | "splice" => transfer(whole(4)),
        "truncate" | "ftruncate" => transfer(whole(1)),
        "fallocate" => Key { detail: arg(1).to_owned(), ..transfer(whole(3)) },
        "lseek" => detailed("lseek", arg(2)),
        "fadvise64" => detailed("fadvise64", arg(3)),
        "sync_file_range" => detailed("sync_file_range", arg(3)),
        "fcntl" => detailed("fcntl", &fcntl(arg(1), arg(2))),
        name => new(name),
    };
    let moves = matches!(call.name.as_str(), "sendfile" | "copy_file_range" | "splice")
        || call.name.contains("read") && key.size.is_some()
        || call.name.contains("write") && key.size.is_some();
    if moves && call.errno.is_none() {
        key.moved = call.ret.filter(|&ret| key.size != Some(ret.cast_unsigned()));
    }
    key.errno = call.errno.clone().or_else(|| call.ret.is_none().then(|| "unreturned".to_owned()));
    key
}

/// `stat`, `lstat` or `fstat` from the path and the flags of the one call that does all three.
fn stat_class(path: &str, flags: &str) -> &'static str {
    let no_path = path == "NULL" || unquote(path).is_some_and(|text| text.is_empty());
    match (no_path && flags.contains("AT_EMPTY_PATH"), flags.contains("AT_SYMLINK_NOFOLLOW")) {
        (true, _) => "fstat",
        (false, true) => "lstat",
        (false, false) => "stat",
    }
}

/// `O_RDWR|O_CREAT|O_CLOEXEC` as `O_RDWR|O_CREAT`, always in one order.
fn open_flags(text: &str) -> String {
    const ACCESS: [&str; 3] = ["O_RDONLY", "O_WRONLY", "O_RDWR"];
    let mut flags: Vec<&str> =
        text.split('|').filter(|flag| !matches!(*flag, "O_CLOEXEC" | "O_LARGEFILE")).collect();
    flags.sort_by_key(|flag| (!ACCESS.contains(flag), *flag));
    flags.join("|")
}

/// The command, and what tells one use of it from another.
fn fcntl(command: &str, arg: &str) -> String {
    let mut text = command.to_owned();
    for name in ["l_type", "l_start", "l_len"] {
        match field(arg, name) {
            "" => {}
            value => write!(text, " {value}").expect("a string takes all"),
        }
    }
    if command == "F_SETFL" {
        write!(text, " {}", open_flags(arg)).expect("a string takes all");
    }
    text
}

/// The value of `name=` in `{a=1, b=2}`.
fn field<'a>(text: &'a str, name: &str) -> &'a str {
    let parts = text.trim_start_matches('{').trim_end_matches('}').split(", ");
    parts.filter_map(|part| part.split_once('=')).find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

/// The bytes of all buffers of `[{iov_base="…", iov_len=3}, …]`; none if strace left some out.
fn vector_size(text: &str) -> Option<u64> {
    let lengths = text.split("iov_len=").skip(1);
    let sum = lengths.map(|rest| rest.split('}').next()?.parse::<u64>().ok()).sum::<Option<u64>>();
    sum.filter(|_| text.ends_with("}]"))
}

fn octal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 8).ok()
}

/// How often each kind of call was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Multiset(BTreeMap<Key, u64>);

impl Multiset {
    pub fn of<'a>(calls: impl IntoIterator<Item = &'a Syscall>) -> Self {
        let mut set = Multiset::default();
        for call in calls {
            *set.0.entry(key(call)).or_default() += 1;
        }
        set
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many calls have a key for which `test` holds.
    pub fn count(&self, test: impl Fn(&Key) -> bool) -> u64 {
        self.0.iter().filter(|(key, _)| test(key)).map(|(_, n)| n).sum()
    }

    /// How many calls of `class` there are, whatever came of them.
    pub fn class(&self, class: &str) -> u64 {
        self.count(|key| key.class == class)
    }

    /// The bytes that the calls of `class` moved.
    pub fn bytes(&self, class: &str) -> u64 {
        let moved = |key: &Key| match (&key.errno, key.moved) {
            (Some(_), _) => 0,
            (None, Some(moved)) => u64::try_from(moved).unwrap_or(0),
            (None, None) => key.size.unwrap_or(0),
        };
        self.0.iter().filter(|(key, _)| key.class == class).map(|(key, n)| n * moved(key)).sum()
    }

    /// The same calls with the keys as text, as the tables of the tests write them.
    pub fn table(&self) -> BTreeMap<String, u64> {
        self.0.iter().map(|(key, n)| (key.to_string(), *n)).collect()
    }

    /// What two sets do not share, a line each, or nothing.
    pub fn difference(&self, theirs: &Multiset) -> Option<String> {
        difference(("ours", &self.table()), ("theirs", &theirs.table()))
    }
}

/// Each key whose counts differ, with both counts; nothing if there is none.
pub fn difference(
    ours: (&str, &BTreeMap<String, u64>),
    theirs: (&str, &BTreeMap<String, u64>),
) -> Option<String> {
    let keys: std::collections::BTreeSet<_> = ours.1.keys().chain(theirs.1.keys()).collect();
    let count = |set: &BTreeMap<String, u64>, key: &String| set.get(key).copied().unwrap_or(0);
    let lines: String = keys
        .into_iter()
        .map(|key| (count(ours.1, key), count(theirs.1, key), key))
        .filter(|(a, b, _)| a != b)
        .fold(String::new(), |text, (a, b, key)| format!("{text}{a:>10} {b:>10}  {key}\n"));
    (!lines.is_empty()).then(|| format!("{:>10} {:>10}\n{lines}", ours.0, theirs.0))
}

/// Fails with a line for each kind of call whose counts differ.
///
/// # Panics
/// When they differ, and when both are empty: nothing compared proves nothing.
pub fn assert_same(ours: &Multiset, theirs: &Multiset) {
    assert!(!theirs.is_empty(), "no calls to compare with");
    if let Some(text) = ours.difference(theirs) {
        panic!("the calls differ:\n{text}");
    }
}

/// Compares with a table written by hand; says what is off, or nothing.
pub fn against(seen: &Multiset, expected: &[(u64, &str)]) -> Option<String> {
    let table: BTreeMap<String, u64> = expected.iter().map(|(n, key)| ((*key).to_owned(), *n)).collect();
    assert_eq!(table.len(), expected.len(), "the table names a key twice");
    difference(("seen", &seen.table()), ("expected", &table))
}
