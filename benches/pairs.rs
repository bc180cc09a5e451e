//! Our speed against an original's, turn about: A B A B …, never failing on a number.
//!
//! `cargo bench --bench pairs [-- NAME]` runs the rows whose name holds NAME; `IOSCORE_PAIRS` sets
//! the number of pairs, `IOSCORE_PAIRS_DIR` the directory (/dev/shm). It fails only when a command
//! does. Above 1 we are faster.

mod support;
#[path = "../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::path::{Path, PathBuf};
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
    rate: Rate,
}

/// What is compared.
enum Rate {
    /// What each reports itself: a metric of our record, and a column of the line that follows the
    /// original's header with this word.
    Reported { metric: &'static str, column: &'static str },
    /// What each reports itself: a metric of our record, and the number behind the original's word.
    Said { metric: &'static str, word: &'static str },
    /// One over the time of the whole program, for originals whose own clock is too coarse.
    Whole,
}

const ROWS: &[Row] = &[
    Row {
        name: "small files",
        original: "fs_mark",
        ours: "{ioscore} run fs-mark:1000-files-nosync --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "fs_mark -d {dir} -s 1048576 -n 1000 -S 0 -l {config}",
        config: "",
        rate: Rate::Reported { metric: "Files/s", column: "Files/sec" },
    },
    Row {
        name: "mail transactions",
        original: "postmark",
        ours: "{ioscore} run postmark --set transactions=25000 --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "postmark {config}",
        config: "set transactions 25000\nset size 5120 524288\nset number 500\nset location {dir}\nrun\nquit\n",
        rate: Rate::Whole,
    },
    Row {
        name: "office clients",
        original: "dbench",
        ours: "{ioscore} run dbench:1-client --set loadfile=/usr/share/dbench/client.txt --set time=6s --set warmup=1s --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "dbench -t 6 -D {dir} -c /usr/share/dbench/client.txt 1",
        config: "",
        rate: Rate::Said { metric: "Throughput", word: "Throughput" },
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
        "work", "original", "ours /s", "theirs /s", "ratio"
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
    rate(row, row.ours)?;
    rate(row, row.theirs)?;
    let rates = (0..pairs)
        .map(|_| Ok((rate(row, row.ours)?, rate(row, row.theirs)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let (ours, theirs): (Vec<f64>, Vec<f64>) = rates.iter().copied().unzip();
    let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    let paired::Ratio { ratio, low, high } = ratio(&rates).ok_or("a run did nothing")?;
    Ok(format!("{:>10.3} {:>10.3} {ratio:>8.3}  {low:.3} to {high:.3}", middle(&ours), middle(&theirs)))
}

/// The rate of one run in a fresh directory.
fn rate(row: &Row, command: &str) -> Result<f64, String> {
    let place = std::env::var_os("IOSCORE_PAIRS_DIR").map_or("/dev/shm".into(), PathBuf::from);
    let scratch = tempfile::Builder::new()
        .prefix("io-")
        .tempdir_in(&place)
        .map_err(|e| format!("a directory in {}: {e}", place.display()))?;
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
    let ours = command.contains("{out}");
    // A program that did nothing would be fast.
    let recorded = |metric| recorded(&record.join("r/record.json"), metric);
    if ours {
        recorded(None)?;
    }
    match row.rate {
        Rate::Whole => Ok(1.0 / seconds),
        Rate::Reported { metric, .. } | Rate::Said { metric, .. } if ours => recorded(Some(metric)),
        Rate::Said { word, .. } => said(&String::from_utf8_lossy(&out.stdout), word),
        Rate::Reported { column, .. } => printed(&String::from_utf8_lossy(&out.stdout), column),
    }
}

/// A metric of our record's only run, or just whether there is one.
fn recorded(file: &Path, metric: Option<&str>) -> Result<f64, String> {
    let text = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let record: serde_json::Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let values = &record["rows"][0]["runs"][0]["values"];
    let value = match metric {
        Some(name) => values[name].as_f64(),
        None => values.as_object().map(|values| values.len() as f64),
    };
    value.ok_or_else(|| format!("{} holds no {}", file.display(), metric.unwrap_or("values")))
}

/// The number behind a word that begins a line.
fn said(text: &str, word: &str) -> Result<f64, String> {
    let found =
        text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok());
    found.ok_or_else(|| format!("no number behind {word} in:\n{text}"))
}

/// The number below `column` in a table with one header line.
fn printed(text: &str, column: &str) -> Result<f64, String> {
    let mut lines = text.lines().skip_while(|line| !line.contains(column));
    let at = lines.next().and_then(|header| header.split_whitespace().position(|word| word == column));
    let number = |line: &str| line.split_whitespace().nth(at?)?.parse().ok();
    lines.find_map(number).ok_or_else(|| format!("no number under {column} in:\n{text}"))
}
