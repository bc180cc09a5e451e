//! The comparisons of this program on fresh file systems of each kind. Each runs this very program
//! again with its temporary directory there.

use std::path::Path;
use std::process::Command;

use crate::common::places::{self, KINDS, OPTIONAL};
use crate::common::{need, skip};

/// Set in the program that is run again, so that it does not do the same.
pub const INSIDE: &str = "IOSCORE_EVERYWHERE";

/// Comparisons that choose their own place, or need none: once is enough.
const ELSEWHERE: [&str; 10] = [
    "everywhere",
    "compilebench",
    "page",
    "the_whole_load",
    "mistake",
    "other_clients",
    "a_rate_holds",
    "the_first_request",
    "published_sizes",
    "as_many_calls_as_are_known",
];

/// How many comparisons are left: each option of fs_mark, dd and fio, postmark, SQLite and
/// dbench twice.
const COMPARISONS: usize = 9;

/// Runs the comparisons on one kind. `Err` with what went wrong there.
fn compare(program: &Path, point: &Path, kind: &str) -> Result<(), String> {
    let mut child = Command::new(program);
    child.args(ELSEWHERE.iter().flat_map(|name| ["--skip", name]));
    child.env("TMPDIR", point).env(INSIDE, kind);
    let ran = child.output().map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let passed = said.lines().filter(|line| line.starts_with("test ") && line.ends_with(" ok")).count();
    match ran.status.success() && passed == COMPARISONS {
        true => Ok(()),
        false => Err(format!(
            "{kind}: {passed} of {COMPARISONS}\n{said}\n{}",
            String::from_utf8_lossy(&ran.stderr)
        )),
    }
}

#[test]
fn everywhere_the_same_calls() {
    let test = "fidelity::everywhere_the_same_calls";
    let Some(_) = need(test, ["strace", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) else { return };
    let program = std::env::current_exe().expect("this program has a path");
    let mut failures = Vec::new();
    for kind in KINDS {
        let place = match places::fresh(kind) {
            Ok(place) => place,
            Err(why) if kind == OPTIONAL => {
                // Where it can be had: no reason to fail where it cannot.
                say(&format!("{kind}: not compared here: {why}"));
                continue;
            }
            Err(why) => {
                skip(test, &format!("no {kind} can be mounted: {why}"));
                continue;
            }
        };
        let begin = std::time::Instant::now();
        match compare(&program, place.point(), kind) {
            Ok(()) => {
                let seconds = begin.elapsed().as_secs();
                say(&format!("{kind}: {COMPARISONS} comparisons, the same calls, {seconds} s"));
            }
            Err(why) => failures.push(why),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Straight to the stream: the test runner swallows what the print macros of a passing test say.
fn say(line: &str) {
    use std::io::Write as _;
    std::io::stderr().write_all(format!("fidelity: {line}\n").as_bytes()).expect("a line can be told");
}
