//! Counts the instructions a command executes, in user space, with callgrind.
//!
//! Two runs that differ only in their number of operations give the instructions per operation:
//! what starting and ending cost is in both and cancels. Valgrind answers `openat2` with ENOSYS and
//! runs no vDSO, so reading the clock is a system call and costs next to nothing here.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The instructions of one run of `command`, all threads together.
pub fn instructions<A: AsRef<OsStr>>(valgrind: &Path, command: &[A]) -> Result<u64, String> {
    let text = profile(valgrind, command)?;
    total(&text).ok_or_else(|| NO_TOTAL.into())
}

/// The same without those of the C library's copying functions.
#[allow(dead_code)]
pub fn without_copies<A: AsRef<OsStr>>(valgrind: &Path, command: &[A]) -> Result<u64, String> {
    let text = profile(valgrind, command)?;
    let all = total(&text).ok_or(NO_TOTAL)?;
    all.checked_sub(copying(&text)).ok_or_else(|| "more was copied than done".into())
}

const NO_TOTAL: &str = "callgrind's file holds no total of instructions";

/// What callgrind writes about one run of `command`.
fn profile<A: AsRef<OsStr>>(valgrind: &Path, command: &[A]) -> Result<String, String> {
    let dir = tempfile::tempdir().map_err(|e| format!("no temporary directory: {e}"))?;
    let file = dir.path().join("callgrind.out");
    let mut option = std::ffi::OsString::from("--callgrind-out-file=");
    option.push(&file);
    let out = Command::new(valgrind)
        .args(["--tool=callgrind", "-q"])
        .arg(option)
        .arg("--")
        .args(command)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{}: {e}", valgrind.display()))?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!("the command ended with {}: {}", out.status, said.trim()));
    }
    let text = std::fs::read(&file).map_err(|e| format!("callgrind left no {}: {e}", file.display()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Instructions inside `memcpy` and `memmove`, whichever variant, in a callgrind file. A function's
/// name stands with its number the first time only; the line after a `calls=` is what was called.
pub fn copying(text: &str) -> u64 {
    let mut copies: HashSet<&str> = HashSet::new();
    let (mut inside, mut called, mut sum) = (false, false, 0);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=").or_else(|| line.strip_prefix("cfn=")) {
            let (number, name) = name.split_once(' ').unwrap_or((name, ""));
            if name.contains("memcpy") || name.contains("memmove") {
                copies.insert(number);
            }
            if line.starts_with("fn=") {
                inside = copies.contains(number);
            }
        } else if line.starts_with("calls=") {
            called = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
            if inside && !called {
                let own = line.split_whitespace().nth(1);
                sum += own.and_then(|own| own.parse::<u64>().ok()).unwrap_or(0);
            }
            called = false;
        }
    }
    sum
}

/// The total of a callgrind file whose first event is instructions read (`Ir`).
pub fn total(text: &str) -> Option<u64> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    if first(value("events:")?)? != "Ir" {
        return None;
    }
    first(value("totals:").or_else(|| value("summary:"))?)?.parse().ok()
}

/// One run: how many operations it was told to do, how many instructions that took.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    pub operations: u64,
    pub instructions: u64,
}

/// Instructions for each operation more; none if the second run did not do more operations.
pub fn slope(few: Point, many: Point) -> Option<f64> {
    let operations = many.operations.checked_sub(few.operations).filter(|&n| n > 0)?;
    Some((many.instructions as f64 - few.instructions as f64) / operations as f64)
}
