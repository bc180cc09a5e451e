//! Our time against an original's, turn about: A B A B …, never failing on a number.
//!
//! `cargo bench --bench pairs [-- NAME]` runs the rows whose name holds NAME; `IOSCORE_PAIRS` sets
//! the number of pairs. It fails only when a command does.

mod support;
#[path = "../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use support::paired::{self, FEWEST, median, ratio};

/// Two commands that do the same work. In both, `{dir}` is an empty directory, `{config}` a file
/// that holds `config`, `{ioscore}` our program, `{out}` a place for its record.
struct Row {
    name: &'static str,
    original: &'static str,
    ours: &'static str,
    theirs: &'static str,
    config: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        name: "small files",
        original: "fs_mark",
        ours: "{ioscore} run fs-mark:files-nosync --set files=200 --target {dir} --out {out} --runs 1 --quiet",
        theirs: "fs_mark -d {dir} -s 1048576 -n 200 -S 0 -l {config}",
        config: "",
    },
    Row {
        name: "mail transactions",
        original: "postmark",
        ours: "{ioscore} run postmark --set transactions=5000 --target {dir} --out {out} --runs 1 --quiet",
        theirs: "postmark {config}",
        config: "set transactions 5000\nset size 5120 524288\nset number 500\nset location {dir}\nrun\nquit\n",
    },
    Row {
        name: "copy",
        original: "dd",
        ours: "{ioscore} run dd:plain --target {dir} --out {out} --runs 1 --quiet",
        theirs: "dd if=/dev/zero of={dir}/file bs=1M count=100",
        config: "",
    },
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let pairs = match std::env::var("IOSCORE_PAIRS").map(|text| text.parse::<usize>()) {
        Err(_) => FEWEST,
        Ok(Ok(n)) if n >= FEWEST => n,
        Ok(_) => {
            eprintln!("IOSCORE_PAIRS must be a number, {FEWEST} or more");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = false;
    println!(
        "{:<20} {:<10} {:>10} {:>10} {:>8}  95 % interval",
        "work", "original", "ours s", "theirs s", "ratio"
    );
    for row in ROWS.iter().filter(|row| wanted.iter().all(|part| row.name.contains(part.as_str()))) {
        if tools::need(&format!("bench pairs {}", row.name), [row.original]).is_none() {
            continue;
        }
        match compare(row, pairs) {
            Ok(line) => println!("{:<20} {:<10} {line}", row.name, row.original),
            Err(why) => {
                failed = true;
                println!("{:<20} {:<10} failed: {why}", row.name, row.original);
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn compare(row: &Row, pairs: usize) -> Result<String, String> {
    // One of each first, so that programs and directories are in memory for all that count.
    seconds(row, row.ours)?;
    seconds(row, row.theirs)?;
    let times = (0..pairs)
        .map(|_| Ok((seconds(row, row.ours)?, seconds(row, row.theirs)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let (ours, theirs): (Vec<f64>, Vec<f64>) = times.iter().copied().unzip();
    let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    let paired::Ratio { ratio, low, high } = ratio(&times).ok_or("a run took no time at all")?;
    Ok(format!("{:>10.3} {:>10.3} {ratio:>8.3}  {low:.3} to {high:.3}", middle(&ours), middle(&theirs)))
}

/// The wall time of one run in a fresh directory.
fn seconds(row: &Row, command: &str) -> Result<f64, String> {
    let scratch = tools::scratch();
    let [dir, config, record] = ["d", "config", "out"].map(|name| scratch.path().join(name));
    let fill = |text: &str| {
        text.replace("{dir}", &dir.to_string_lossy())
            .replace("{config}", &config.to_string_lossy())
            .replace("{out}", &record.to_string_lossy())
            .replace("{ioscore}", env!("CARGO_BIN_EXE_ioscore"))
    };
    std::fs::create_dir(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    std::fs::write(&config, fill(row.config)).map_err(|e| format!("{}: {e}", config.display()))?;
    // Split first: a path with a blank stays one word.
    let words: Vec<String> = command.split(' ').map(fill).collect();
    let (program, args) = words.split_first().ok_or("an empty command")?;
    let begin = Instant::now();
    let out = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    let seconds = begin.elapsed().as_secs_f64();
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        return Err(format!("{program} ended with {}: {}", out.status, said.trim()));
    }
    // A program that did nothing would be fast.
    if command.contains("{out}") && !record.exists() {
        return Err(format!("{program} left no record in {}", record.display()));
    }
    Ok(seconds)
}
