//! How soon a run is under way, and what many workers cost. Prints times, never fails on one.
//!
//! `cargo bench --bench startup`. The time from the start of the program to the end of the first
//! phase with one worker holds everything a run does before its first operation, and more.

#[path = "../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

const RUNS: usize = 9;

fn main() -> ExitCode {
    println!("{:<42} {:>10} {:>10}", "workers, each creating one file", "best ms", "median ms");
    for workers in [1, 100, 2000] {
        let times: Result<Vec<f64>, String> = (0..RUNS).map(|_| seconds(workers)).collect();
        match times {
            Ok(mut times) => {
                times.sort_by(f64::total_cmp);
                println!("{workers:<42} {:>10.1} {:>10.1}", times[0] * 1e3, times[RUNS / 2] * 1e3);
            }
            Err(why) => {
                println!("{workers:<42} failed: {why}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// The time of the whole program.
fn seconds(workers: u32) -> Result<f64, String> {
    // In memory where there is such a place: the start is meant, not the disk.
    let scratch = tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tools::scratch());
    let (target, out) = (scratch.path().join("t"), scratch.path().join("o"));
    std::fs::create_dir(&target).map_err(|e| format!("{}: {e}", target.display()))?;
    let begin = Instant::now();
    let run = Command::new(env!("CARGO_BIN_EXE_ioscore"))
        .args(["run", "benches/profiles/crowd.yaml", "--runs", "1", "--quiet", "--set"])
        .arg(format!("workers={workers}"))
        .arg("--target")
        .arg(&target)
        .arg("--out")
        .arg(&out)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| e.to_string())?;
    let seconds = begin.elapsed().as_secs_f64();
    if !run.status.success() || !out.exists() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    Ok(seconds)
}
