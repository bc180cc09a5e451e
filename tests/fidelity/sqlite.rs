//! Our `sqlite-insert` profile makes the calls the sqlite3 program makes when it is given the same
//! statements, in the same order, in every journal mode; and as many as are known of the published test.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;

use common::calls::{difference, key};
use common::strace::Syscall;
use common::{Run, need, ours, scratch};

const CREATE: &str = "CREATE TABLE pts1 ('I' SMALLINT NOT NULL, 'DT' TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
                      'F1' VARCHAR(4) NOT NULL, 'F2' VARCHAR(16) NOT NULL);\n";

/// The published file: 2500 of these without the last line's end are 266392 bytes.
fn inserts(count: u64) -> String {
    let one = |n: u64| {
        format!(
            "INSERT INTO 'pts1' ('I', 'DT', 'F1', 'F2') VALUES ('{n}', CURRENT_TIMESTAMP, '{:04}', '{:016}');\n",
            1000 + n % 9000,
            n * 7_919
        )
    };
    (1..=count).map(one).collect()
}

/// A call by what it is and by which of the database's files it concerns.
fn step(call: &Syscall) -> String {
    let name = call.paths.last().and_then(|path| path.file_name()).unwrap_or_default().to_string_lossy();
    let role = match name.strip_prefix("benchmark.db") {
        Some("") => "database",
        Some(ending) => ending,
        None => "directory",
    };
    format!("{} {role}", key(call))
}

/// What may differ, at most so many for each opening of the database, and why. Nothing here
/// happens once for each insert.
pub const TOLERATED: &[(&str, u64, &str)] = &[
    ("lstat", 16, "each part of the path is looked at, and ours has more of them"),
    ("readlink", 2, "we ask for the path of the run directory, before and after"),
    ("stat", 3, "the shell looks whether the file is there; versions check it at other times"),
    ("fstat", 4, "we check the run directory before and after"),
    ("access", 2, "the shell looks whether the file is there"),
    ("open O_RDONLY database", 1, "the shell looks what kind of file it is"),
    ("lseek SEEK_SET EINVAL database", 1, "the shell looks what kind of file it is"),
    ("read", 1, "the shell looks what kind of file it is"),
    ("close database", 1, "the shell looks what kind of file it is"),
    ("fcntl", 6, "versions lock and unlock at other times"),
];

fn tolerated(step: &str) -> Option<usize> {
    TOLERATED
        .iter()
        .position(|row| step.strip_prefix(row.0).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// Calls that must be the same one after the other, and how often the others were made.
fn sorted(calls: &[&Syscall]) -> (Vec<String>, BTreeMap<String, u64>) {
    let (mut exact, mut loose) = (Vec::new(), BTreeMap::new());
    for call in calls {
        let step = step(call);
        match tolerated(&step) {
            Some(row) => *loose.entry(TOLERATED[row].0.to_string()).or_default() += 1,
            None => exact.push(step),
        }
    }
    (exact, loose)
}

fn counts(steps: &[String]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    steps.iter().for_each(|step| *counts.entry(step.clone()).or_default() += 1);
    counts
}

/// What the shell does with each text, one process after the other.
fn theirs(sqlite3: &Path, strace: &Path, dir: &Path, scripts: &[String]) -> Vec<Syscall> {
    let (work, script) = (dir.join("w"), dir.join("script"));
    std::fs::create_dir(&work).expect("the work directory is made");
    let database = work.join("benchmark.db");
    // The profile's file is there, empty, before the clock starts.
    std::fs::write(&database, "").expect("the database is made");
    let run = |text: &String| {
        std::fs::write(&script, text).expect("the script is written");
        let args = ["-batch".as_ref(), "-init".as_ref(), "/dev/null".as_ref(), database.as_os_str()];
        let trace = Run::new(sqlite3, args, dir).stdin(&script).trace(strace);
        trace.under(&work).into_iter().cloned().collect::<Vec<_>>()
    };
    scripts.iter().flat_map(run).collect()
}

/// What our profile does between its marks on files of its run directory.
fn ours(strace: &Path, dir: &Path, sets: &[(&str, &str)]) -> Vec<Syscall> {
    let trace = ours::trace(strace, dir, "sqlite-insert:timed-insertions", sets, &[]);
    let target = dir.join("t");
    let phases = trace.phases().unwrap_or_else(|e| panic!("{e}"));
    let calls = phases.iter().flat_map(|(_, calls)| calls.iter().copied());
    calls.filter(|call| call.paths.iter().any(|path| path.starts_with(&target))).cloned().collect()
}

/// Directories of a scratch on the disk and of one in memory; of the one file system that all is run on.
fn places() -> Vec<(&'static str, tempfile::TempDir)> {
    if std::env::var_os(crate::everywhere::INSIDE).is_some() {
        return vec![("the disk", scratch())];
    }
    let memory = tempfile::Builder::new().prefix("io-").tempdir_in("/dev/shm");
    let memory = memory.map(|dir| ("tmpfs", dir)).into_iter();
    memory.chain([("the disk", scratch())]).collect()
}

fn compare(what: &str, ours: &[Syscall], theirs: &[Syscall], opens: u64) {
    let borrowed = |calls: &'_ [Syscall]| -> (Vec<String>, BTreeMap<String, u64>) {
        sorted(&calls.iter().collect::<Vec<_>>())
    };
    let ((mine, mine_loose), (other, other_loose)) = (borrowed(ours), borrowed(theirs));
    assert!(other.len() > 10, "{what}: the shell did nothing");
    let table = difference(("ours", &counts(&mine)), ("theirs", &counts(&other)));
    assert_eq!(table, None, "{what}");
    for (at, (a, b)) in mine.iter().zip(&other).enumerate() {
        assert_eq!(a, b, "{what}: call {at} of {}", mine.len());
    }
    for (class, most, why) in TOLERATED {
        let of = |counts: &BTreeMap<String, u64>| counts.get(*class).copied().unwrap_or(0);
        let (a, b) = (of(&mine_loose), of(&other_loose));
        assert!(
            a.abs_diff(b) <= most * opens,
            "{what}: {class}: {a} and {b}, more than {most} an opening ({why})"
        );
    }
}

#[test]
fn the_calls_of_the_published_test() {
    let test = "fidelity_sqlite::the_calls_of_the_published_test";
    let Some([sqlite3, strace]) = need(test, ["sqlite3", "strace"]) else { return };
    for (place, dir) in places() {
        let count = if place == "tmpfs" { 2500 } else { 50 };
        let (a, b) = (dir.path().join("a"), dir.path().join("b"));
        [&a, &b].iter().for_each(|dir| std::fs::create_dir(dir).expect("it is made"));
        let theirs = theirs(&sqlite3, &strace, &a, &[CREATE.into(), inserts(count)]);
        let ours = ours(&strace, &b, &[("inserts", &count.to_string()), ("rounds", "1")]);
        compare(&format!("{count} inserts on {place}"), &ours, &theirs, 2);
    }
}

/// Calls of our profile by kind and file, whatever the path.
fn ours_counted(strace: &Path, dir: &Path, sets: &[(&str, &str)]) -> BTreeMap<String, u64> {
    let calls = ours(strace, dir, sets);
    counts(&sorted(&calls.iter().collect::<Vec<_>>()).0)
}

/// What the published test costs, known from the original: the table is made by four syncs and four
/// writes, each insert by four syncs and ten writes.
#[test]
fn as_many_calls_as_are_known_of_the_original() {
    let test = "fidelity_sqlite::as_many_calls_as_are_known_of_the_original";
    let Some([strace]) = need(test, ["strace"]) else { return };
    // Pages of 4096 bytes to the database: two an insert, and some more where a new leaf begins.
    for (count, pages) in [(50, 102), (2500, 5034)] {
        let dir = tempfile::Builder::new().prefix("io-").tempdir_in("/dev/shm").expect("there is memory");
        let sets = [("inserts", count.to_string()), ("rounds", "1".into())];
        let sets: Vec<(&str, &str)> = sets.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let seen = ours_counted(&strace, dir.path(), &sets);
        let expected = [
            ("fdatasync -journal", 2 * (count + 1)),
            ("fdatasync database", count + 1),
            ("fdatasync directory", count + 1),
            ("pwrite64 12 -journal", count + 1),
            ("pwrite64 512 -journal", count + 1),
            ("pwrite64 4 -journal", 4 * count),
            ("pwrite64 4096 -journal", 2 * count),
            ("pwrite64 4096 database", pages),
            ("open O_RDWR|O_CREAT|O_NOFOLLOW 0644 -journal", count + 1),
            ("open O_RDWR|O_CREAT|O_NOFOLLOW 0644 database", 2),
            ("unlink -journal", count + 1),
        ];
        let of_them = |key: &&String| {
            ["fdatasync", "fsync", "pwrite64", "open O_RDWR", "unlink"]
                .iter()
                .any(|kind| key.starts_with(kind))
        };
        let seen: BTreeMap<String, u64> =
            seen.iter().filter(|(key, _)| of_them(key)).map(|(key, n)| (key.clone(), *n)).collect();
        let expected = expected.iter().map(|(key, n)| ((*key).to_string(), *n)).collect();
        assert_eq!(difference(("ours", &seen), ("known", &expected)), None, "{count} inserts");
    }
}

/// Journal mode, how often the disk is waited for, and syncs and deletions of each insert. (With
/// truncate and persist the fifth makes durable that the journal is empty.)
const MODES: &[(&str, &str, u64, u64)] = &[
    ("delete", "full", 4, 1),
    ("delete", "normal", 3, 1),
    ("delete", "extra", 5, 1),
    ("delete", "off", 0, 1),
    ("truncate", "full", 5, 0),
    ("persist", "full", 5, 0),
    ("memory", "full", 1, 0),
    ("off", "full", 1, 0),
    ("wal", "full", 1, 0),
    ("wal", "normal", 0, 0),
];

/// How many there are, for the page.
pub const NUMBER: usize = MODES.len();

#[test]
fn the_calls_of_every_mode() {
    let test = "fidelity_sqlite::the_calls_of_every_mode";
    let Some([sqlite3, strace]) = need(test, ["sqlite3", "strace"]) else { return };
    for (place, dir) in places() {
        for (journal, synchronous, syncs, unlinks) in MODES {
            let (a, b) = (dir.path().join("a"), dir.path().join("b"));
            [&a, &b].iter().for_each(|dir| std::fs::create_dir(dir).expect("it is made"));
            // What we set when we open, and look at then.
            let set = format!(
                "PRAGMA journal_mode='{journal}';\nPRAGMA synchronous='{synchronous}';\nPRAGMA synchronous;\n"
            );
            let what = format!("{journal}, {synchronous}, on {place}");
            let mut per_insert = BTreeMap::new();
            for count in [30, 10] {
                let scripts = [format!("{set}{CREATE}"), format!("{set}{}", inserts(count))];
                let theirs = theirs(&sqlite3, &strace, &a, &scripts);
                let number = count.to_string();
                let sets = [
                    ("inserts", number.as_str()),
                    ("rounds", "1"),
                    ("journal", *journal),
                    ("synchronous", *synchronous),
                ];
                let ours = ours(&strace, &b, &sets);
                compare(&format!("{what}, {count} inserts"), &ours, &theirs, 2);
                for (class, n) in counts(&ours.iter().map(|call| key(call).class).collect::<Vec<_>>()) {
                    per_insert.entry(class).or_insert_with(Vec::new).push(n);
                }
                [&a, &b].iter().for_each(|dir| {
                    std::fs::remove_dir_all(dir).expect("it is removed");
                    std::fs::create_dir(dir).expect("it is made");
                });
            }
            let each = |class: &str| {
                per_insert.get(class).map_or(0, |n: &Vec<u64>| {
                    let less = n.get(1).copied().unwrap_or(0);
                    (n[0] - less) / 20
                })
            };
            assert_eq!((each("fdatasync"), each("unlink"), each("fsync")), (*syncs, *unlinks, 0), "{what}");
            std::fs::remove_dir_all(&a).expect("it is removed");
            std::fs::remove_dir_all(&b).expect("it is removed");
        }
    }
}
