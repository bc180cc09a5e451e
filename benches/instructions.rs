//! The gate on our own overhead: instructions in user space for each operation, against a limit.
//! Everything is counted: drawing the place, making the data, the call, the clock, the latency.
//!
//! `cargo bench --bench instructions [-- NAME]` runs the rows whose name holds NAME and fails when
//! one is over its limit. Needs valgrind.

mod support;
#[path = "../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::path::Path;
use std::process::ExitCode;

use support::callgrind::{Point, instructions, slope, without_copies};

/// One operation to weigh.
struct Row {
    name: &'static str,
    /// What is run: a file relative to the package, or the name of a built-in profile with its case.
    profile: &'static str,
    /// The parameter that sets the number of operations.
    count: &'static str,
    /// Further arguments of `run`.
    args: &'static [&'static str],
    /// Leaves out what is spent inside `memcpy`, as callgrind counts it by function: the copy is the
    /// transfer itself. (The copy of 256 bytes that comes with every 32 random numbers is left out
    /// with it: about 1 instruction an operation.)
    without_copies: bool,
    /// Instructions an operation may take: more is a step back, and fails.
    limit: f64,
    /// Instructions it should take. Where the limit is above it, there is still work to do.
    target: f64,
}

const ROWS: &[Row] = &[
    Row {
        name: "nothing",
        profile: "benches/profiles/nop-read.yaml",
        count: "operations",
        args: &[],
        without_copies: false,
        limit: 120.0,
        target: 120.0,
    },
    // Drawing one of two steps adds at most 25 to that.
    Row {
        name: "mix",
        profile: "benches/profiles/nop-mix.yaml",
        count: "operations",
        args: &[],
        without_copies: false,
        limit: 150.0,
        target: 145.0,
    },
    Row {
        name: "sync read",
        profile: "benches/profiles/sync-read.yaml",
        count: "operations",
        args: &[],
        without_copies: false,
        limit: 150.0,
        target: 150.0,
    },
    Row {
        name: "sync write",
        profile: "benches/profiles/sync-write.yaml",
        count: "operations",
        args: &[],
        without_copies: false,
        limit: 350.0,
        target: 350.0,
    },
    Row {
        name: "io_uring 32",
        profile: "benches/profiles/queued-read.yaml",
        count: "operations",
        args: &["--set", "engine=io_uring", "--set", "depth=32"],
        without_copies: false,
        limit: 200.0,
        target: 200.0,
    },
    Row {
        name: "io_uring 1",
        profile: "benches/profiles/queued-read.yaml",
        count: "operations",
        args: &["--set", "engine=io_uring", "--set", "depth=1"],
        without_copies: false,
        limit: 320.0,
        target: 320.0,
    },
    Row {
        name: "libaio 32",
        profile: "benches/profiles/queued-read.yaml",
        count: "operations",
        args: &["--set", "engine=libaio", "--set", "depth=32"],
        without_copies: false,
        limit: 300.0,
        target: 300.0,
    },
    // Without the copy of the 512 bytes.
    Row {
        name: "mmap read",
        profile: "benches/profiles/queued-read.yaml",
        count: "operations",
        args: &["--set", "engine=mmap", "--set", "depth=1", "--set", "block=512"],
        without_copies: true,
        limit: 155.0,
        target: 150.0,
    },
];

/// The two numbers of operations.
const FEW: u64 = 10_000;
const MANY: u64 = 60_000;

/// A random number, an offset and a call stub take about 30 instructions in C: less than this means
/// that the count did not reach the program, not that the program is fast.
const FEWEST: f64 = 25.0;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let Some([valgrind]) = tools::need("bench instructions", ["valgrind"]) else { return ExitCode::SUCCESS };
    let rows = ROWS.iter().filter(|row| wanted.iter().all(|part| row.name.contains(part.as_str())));
    let (mut failed, mut ran) = (false, false);
    println!("{:<20} {:>12} {:>8} {:>8}", "operation", "instructions", "limit", "target");
    for row in rows {
        ran = true;
        match weigh(&valgrind, row) {
            Ok(weight) if weight < FEWEST => {
                failed = true;
                println!(
                    "{:<20} {weight:>12.1} {:>8}  too few to be true: does {}= set the number of operations?",
                    row.name, row.limit, row.count
                );
            }
            Ok(weight) => {
                let over = weight > row.limit;
                failed |= over;
                let said = match (over, weight > row.target) {
                    (true, _) => "  OVER",
                    (false, true) => "  above its target",
                    _ => "",
                };
                println!("{:<20} {weight:>12.1} {:>8} {:>8}{said}", row.name, row.limit, row.target);
            }
            Err(why) => {
                failed = true;
                println!("{:<20} {:>12} {:>8}  {why}", row.name, "failed", row.limit);
            }
        }
    }
    if !ran {
        println!("no row is named like {wanted:?}");
    }
    if failed || !ran { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn weigh(valgrind: &Path, row: &Row) -> Result<f64, String> {
    let point = |operations: u64| -> Result<Point, String> {
        let dir = tools::scratch();
        let (target, out) = (dir.path().join("target"), dir.path().join("out"));
        std::fs::create_dir(&target).map_err(|e| format!("{}: {e}", target.display()))?;
        let mut command: Vec<std::ffi::OsString> = vec![env!("CARGO_BIN_EXE_ioscore").into(), "run".into()];
        command.extend([row.profile.into(), "--target".into(), target.into(), "--out".into(), out.into()]);
        command.extend(["--runs", "1", "--quiet", "--set"].map(Into::into));
        command.push(format!("{}={operations}", row.count).into());
        command.extend(row.args.iter().map(Into::into));
        let count = if row.without_copies { without_copies } else { instructions };
        Ok(Point { operations, instructions: count(valgrind, &command)? })
    };
    slope(point(FEW)?, point(MANY)?).ok_or_else(|| "both runs do the same".into())
}
