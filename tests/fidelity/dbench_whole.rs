//! The whole of dbench's load for real, call by call, where an fsync costs nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{need, scratch, skip};
use crate::dbench::{LOAD, PASS, twice};

/// The lines of a load that look for its directories, make and empty them, and one look into each:
/// what differs between a first pass and a later one, which finds the directories.
fn directories(text: &str) -> String {
    let (mut out, mut open) = (String::new(), ("", ""));
    let mut looked = BTreeSet::new();
    let made = |path: &str| text.lines().any(|line| line.starts_with(&format!("NTCreateX {path} 0x1 ")));
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["Deltree" | "Mkdir", ..] => out += &format!("{line}\n"),
            // Looked for before it is made, and one that nobody makes.
            ["QUERY_PATH_INFORMATION", path, _, status] if looked.insert((path, status)) => {
                let missing = status == "NT_STATUS_OBJECT_NAME_NOT_FOUND" && made(path);
                if missing || status == "NT_STATUS_OBJECT_PATH_NOT_FOUND" {
                    out += &format!("{line}\n");
                }
            }
            ["NTCreateX", path, "0x1", _, handle, _] => {
                out += &format!("{line}\n");
                open = (handle, path.trim_end_matches('"'));
            }
            ["Close", handle, _] if handle == open.0 => {
                let look = format!("{}\\none\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND", open.1);
                out += &format!("{line}\nQUERY_PATH_INFORMATION {look}\n");
                open = ("", "");
            }
            _ => {}
        }
    }
    out
}

/// How often one run of a load makes each call, by strace's own count: no log of a million calls.
fn counted_by_strace(strace: &Path, load: &Path, base: &Path) -> BTreeMap<String, i64> {
    let dir = tempfile::tempdir_in(base).expect("a directory in memory");
    let (work, log, file) = (dir.path().join("t"), dir.path().join("counts"), dir.path().join("once.yaml"));
    std::fs::create_dir(&work).expect("the target is made");
    // A load of directories alone moves no bytes to report.
    let once = twice(load).replace("repeat: 2", "repeat: 1").replace("run.bytes.rate", "run.open.ops.rate");
    std::fs::write(&file, once).expect("the profile is written");
    let calls: Vec<&str> = CALLS.iter().flat_map(|(_, names)| *names).copied().collect();
    let status = std::process::Command::new(strace)
        .args(["-f", "--seccomp-bpf", "-c", "-e", &format!("trace={}", calls.join(",")), "-o"])
        .args([&log, Path::new(env!("CARGO_BIN_EXE_ioscore")), Path::new("run"), &file])
        .args([Path::new("--target"), &work, Path::new("--out"), &dir.path().join("o")])
        .args(["--runs", "1", "--quiet"])
        .stdout(std::process::Stdio::null())
        .status()
        .expect("strace starts");
    assert!(status.success(), "{status}");
    let table = std::fs::read_to_string(&log).expect("strace left its counts");
    let row = |line: &str| -> Option<(String, i64)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        Some((words.last()?.to_string(), words.get(3)?.parse().ok()?))
    };
    table
        .lines()
        .filter_map(row)
        .filter(|(name, _)| calls.iter().any(|call| call.trim_start_matches('?') == name))
        .collect()
}

/// Calls of [`PASS`], and the names they have on Linux; with a question mark those that not every machine has.
const CALLS: &[(&str, &[&str])] = &[
    ("close", &["close"]),
    ("fstat", &["fstat"]),
    ("fsync", &["fsync"]),
    ("getdents", &["getdents64"]),
    ("lock", &["fcntl"]),
    ("mkdir", &["?mkdir", "mkdirat"]),
    ("open", &["?open", "openat", "openat2"]),
    ("pread", &["pread64"]),
    ("pwrite", &["pwrite64"]),
    ("rename", &["?rename", "?renameat", "renameat2"]),
    ("stat", &["?stat", "newfstatat"]),
    ("statfs", &["statfs", "fstatfs"]),
    ("unlink", &["?unlink", "unlinkat"]),
    ("utimes", &["utimensat"]),
];

/// The whole load for real, on a file system in memory. Counted is the first pass; what it does
/// otherwise than a later one is what its directories do otherwise, which they show by themselves.
#[test]
fn the_whole_load_in_memory() {
    let test = "fidelity_dbench::the_whole_load_in_memory";
    let Some([strace]) = need(test, ["strace"]) else { return };
    let Ok(text) = std::fs::read_to_string(LOAD) else {
        return skip(test, "dbench's client.txt is not installed");
    };
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return skip(test, "there is no /dev/shm");
    }
    let dir = scratch();
    let of = |name: &str, load: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, load).expect("the load is written");
        counted_by_strace(&strace, &path, memory)
    };
    let made = directories(&text);
    assert_eq!(made.matches(" 0x1 ").count(), 11, "{made}");
    let once = of("once", made.clone());
    let again = of("again", made.repeat(2));
    let whole = counted_by_strace(&strace, Path::new(LOAD), memory);
    let sum = |counts: &BTreeMap<String, i64>, names: &[&str]| -> i64 {
        names.iter().filter_map(|name| counts.get(name.trim_start_matches('?'))).sum()
    };
    let (mut seen, mut expected) = (Vec::new(), Vec::new());
    for (class, names) in CALLS {
        seen.push((class, sum(&whole, names) + sum(&again, names) - 2 * sum(&once, names)));
        let rows = PASS.iter().filter(|(key, _)| key.split(' ').next() == Some(class));
        expected.push((class, rows.map(|(_, count)| *count as i64).sum::<i64>()));
    }
    assert_eq!(seen, expected);
    assert_eq!(expected.iter().map(|(_, count)| count).sum::<i64>(), 1_226_456);
}
