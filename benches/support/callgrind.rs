//! Counts the instructions a command executes, in user space, with callgrind.
//!
//! Two runs that differ only in their number of operations give the instructions per operation:
//! what starting and ending cost is in both and cancels. Valgrind answers `openat2` with ENOSYS and
//! runs no vDSO, so reading the clock is a system call and costs next to nothing here.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The instructions of one run of `command`, all threads together.
pub fn instructions<A: AsRef<OsStr>>(valgrind: &Path, command: &[A]) -> Result<u64, String> {
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
    total(&String::from_utf8_lossy(&text))
        .ok_or_else(|| "callgrind's file holds no total of instructions".into())
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
