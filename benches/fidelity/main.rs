//! Our speed against each original's on fresh file systems of every kind, turn about, as a report in
//! Markdown. Never fails on a number.
//!
//! `cargo bench --bench fidelity [-- WORD …]` runs the rows whose tool, work or file system holds a
//! WORD (`-- postmark zfs`). `IOSCORE_PAIRS` sets the number of pairs; `IOSCORE_FIDELITY_PAGE` names a
//! page where the lines of these rows are replaced. Fails only when a command does. Needs the right to
//! mount.

#[path = "../../tests/common/places.rs"]
mod places;
mod report;
mod rows;
#[path = "../support/mod.rs"]
mod support;
#[path = "../../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use places::{KINDS, OPTIONAL};
use report::{Line, Outcome};
use rows::{ROWS, Row};
use support::paired::{FEWEST, median, ratio};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let pairs = match std::env::var("IOSCORE_PAIRS").map(|text| text.parse::<usize>()) {
        Err(_) => FEWEST,
        Ok(Ok(n)) if n >= FEWEST => n,
        Ok(_) => {
            eprintln!("IOSCORE_PAIRS must be a number, {FEWEST} or more");
            return ExitCode::FAILURE;
        }
    };
    let wanted = |row: &Row, kind: &str| {
        let has = |word: &String| [row.tool, row.work, kind].iter().any(|text| text.contains(word.as_str()));
        words.iter().all(has)
    };
    let (mut lines, mut failed) = (Vec::new(), false);
    for row in ROWS {
        let program = row.theirs.split(' ').next().unwrap_or_default();
        for kind in KINDS.into_iter().filter(|kind| wanted(row, kind)) {
            let when = format!("{pairs}, {}, {}", report::day(), report::load());
            let outcome = match tools::need(&format!("bench fidelity {} on {kind}", row.tool), [program]) {
                Some(_) => compare(row, kind, pairs),
                None => Outcome::NotHad(format!("{program} is not installed")),
            };
            failed |= matches!(&outcome, Outcome::Failed(_));
            let line = Line { row, kind, outcome, when };
            // As it goes: the whole takes many minutes.
            eprintln!("{} | {} | {}", row.tool, row.work, line.cells());
            lines.push(line);
        }
    }
    if let Some(page) = std::env::var_os("IOSCORE_FIDELITY_PAGE")
        && let Err(why) = report::put_into(Path::new(&page), &lines)
    {
        eprintln!("{why}");
        failed = true;
    }
    println!("{}", report::markdown(&lines, None));
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// All pairs of a row on one fresh file system.
fn compare(row: &Row, kind: &str, pairs: usize) -> Outcome {
    let place = match places::fresh(kind) {
        Ok(place) => place,
        Err(why) if kind == OPTIONAL => return Outcome::NotHad(why),
        Err(why) => return Outcome::Failed(why),
    };
    let amount = row.amount[usize::from(kind != "tmpfs")];
    let run = |ours: bool| rate(row, ours, amount, place.point());
    let measured = || -> Result<Vec<(f64, f64)>, String> {
        // One of each first, so that programs are in memory for all that count.
        run(true)?;
        run(false)?;
        let pair = |n: usize| {
            // What follows the other has an older file system: each goes first in turn.
            let first = run(n.is_multiple_of(2))?;
            let second = run(!n.is_multiple_of(2))?;
            Ok(if n.is_multiple_of(2) { (first, second) } else { (second, first) })
        };
        (0..pairs).map(pair).collect()
    };
    let rates = match measured() {
        Ok(rates) => rates,
        Err(why) => return Outcome::Failed(why),
    };
    let (ours, theirs): (Vec<f64>, Vec<f64>) = rates.iter().copied().unzip();
    match (median(&ours), median(&theirs), ratio(&rates)) {
        (Some(ours), Some(theirs), Some(ratio)) => Outcome::Rates { ours, theirs, ratio },
        _ => Outcome::Failed("a run did nothing".into()),
    }
}

/// The rate of one run in an empty directory of the file system, after all before is on the disk.
fn rate(row: &Row, ours: bool, amount: u64, point: &Path) -> Result<f64, String> {
    let made = |made: std::io::Result<tempfile::TempDir>| made.map_err(|e| format!("a directory: {e}"));
    let dir = made(tempfile::Builder::new().prefix("w").tempdir_in(point))?;
    let aside = made(tempfile::Builder::new().prefix("io-").tempdir_in("/dev/shm"))?;
    let record = aside.path().join("out");
    let fill = |text: &str| {
        text.replace("{dir}", &dir.path().to_string_lossy())
            .replace("{aside}", &aside.path().to_string_lossy())
            .replace("{n}", &amount.to_string())
    };
    let mut words: Vec<String> = if ours {
        row.ours.split(' ').map(fill).collect()
    } else {
        row.theirs.split(' ').map(fill).collect()
    };
    let stdin = if ours {
        words.splice(0..0, [env!("CARGO_BIN_EXE_ioscore").to_string(), "run".into()]);
        words.extend(["--target".into(), fill("{dir}"), "--out".into(), fill("{aside}/out")]);
        words.extend(["--name", "r", "--runs", "1", "--quiet"].map(String::from));
        Stdio::null()
    } else {
        supplies(row.tool, amount, dir.path(), aside.path())?
    };
    settle()?;
    let begin = Instant::now();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(stdin).current_dir(aside.path()).env("LC_ALL", "C");
    let out = command.output().map_err(|e| format!("{}: {e}", words[0]))?;
    let seconds = begin.elapsed().as_secs_f64();
    let text = [out.stdout, out.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).join("\n");
    if !out.status.success() {
        return Err(format!("{} ended with {}: {}", words.join(" "), out.status, text.trim()));
    }
    if ours {
        row.rate.ours(&record.join("r/record.json"), amount, seconds)
    } else {
        row.rate.theirs(&text, amount, seconds)
    }
}

/// What an original needs beside its arguments: files aside, and what it reads from its input.
fn supplies(tool: &str, amount: u64, dir: &Path, aside: &Path) -> Result<Stdio, String> {
    let write = |name: &str, data: &[u8]| {
        fs::write(aside.join(name), data).map_err(|e| format!("{}: {e}", aside.join(name).display()))
    };
    match tool {
        "postmark" => {
            let size = "set size 5120 524288\nset number 500\n";
            let place = dir.display();
            let text = format!("set transactions {amount}\n{size}set location {place}\nrun\nquit\n");
            write("config", text.as_bytes())?;
        }
        "dd" => {
            let source = aside.join("source");
            let mut random = fs::File::open("/dev/urandom").map_err(|e| e.to_string())?;
            let mut file = fs::File::create(source).map_err(|e| e.to_string())?;
            let mut part = std::io::Read::take(&mut random, amount << 20);
            std::io::copy(&mut part, &mut file).map_err(|e| e.to_string())?;
        }
        "sqlite" => {
            let mut text = String::from(
                "CREATE TABLE pts1 ('I' SMALLINT NOT NULL, 'DT' TIMESTAMP NOT NULL DEFAULT \
                 CURRENT_TIMESTAMP, 'F1' VARCHAR(4) NOT NULL, 'F2' VARCHAR(16) NOT NULL);\n",
            );
            for n in 1..=amount {
                text += &format!(
                    "INSERT INTO 'pts1' ('I', 'DT', 'F1', 'F2') VALUES ('{n}', CURRENT_TIMESTAMP, '{:04}', '{:016}');\n",
                    1000 + n % 9000,
                    n * 7_919
                );
            }
            write("empty", b"")?;
            write("statements", text.as_bytes())?;
            let file = fs::File::open(aside.join("statements")).map_err(|e| e.to_string())?;
            return Ok(file.into());
        }
        _ => {}
    }
    Ok(Stdio::null())
}

/// Waits until all that was written before is on its disk.
fn settle() -> Result<(), String> {
    let done = Command::new("sync").status().map_err(|e| format!("sync: {e}"))?;
    if done.success() { Ok(()) } else { Err("sync failed".into()) }
}
