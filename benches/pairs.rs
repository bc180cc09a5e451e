//! Our speed against an original's, turn about: A B A B …, never failing on a number.
//!
//! `cargo bench --bench pairs [-- NAME]` runs the rows whose name holds NAME; `IOSCORE_PAIRS` sets
//! the number of pairs, `IOSCORE_PAIRS_DIR` the directory (/dev/shm), `IOSCORE_PAIRS_DISK` that for
//! rows on a disk (the build directory). It fails only when a command does. Above 1 we are faster;
//! `wanted` is what the row is meant to show, in the ratio or, with `low`, in the lower end of its
//! interval.

mod support;
#[path = "../tests/common/tools.rs"]
#[allow(dead_code)]
mod tools;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use support::paired::{self, FEWEST, median, ratio};
use support::readings::{printed, recorded, said, terse};

/// Two commands that do the same work. In both, `{dir}` is an empty directory, `{config}` a file
/// that holds `config`, `{ioscore}` our program, `{out}` a place for its record, `{c}` the directory of
/// the compiled programs of `benches/c`. In theirs, `{kept}` is the directory that ours left behind
/// with `--keep`: both then work on the same files.
struct Row {
    name: &'static str,
    /// A program that must be there; `cc` for those of `benches/c`.
    original: &'static str,
    place: Place,
    wanted: &'static str,
    ours: &'static str,
    theirs: &'static str,
    config: &'static str,
    rate: Rate,
}

/// Where the files are.
#[derive(Clone, Copy)]
enum Place {
    Memory,
    Disk,
}

/// What is compared.
enum Rate {
    /// What each reports itself: a metric of our record, and a column of the line that follows the
    /// original's header with this word.
    Reported { metric: &'static str, column: &'static str },
    /// The same with fio's terse output, version 3, whose eighth field is reads per second.
    Terse { metric: &'static str },
    /// What each reports itself: a metric of our record, and the number behind the original's word,
    /// which is in units of so many of ours.
    Said { metric: &'static str, word: &'static str, unit: f64 },
    /// One over the time of the whole program, for originals whose own clock is too coarse.
    Whole,
}

const ROWS: &[Row] = &[
    Row {
        name: "small files",
        original: "fs_mark",
        place: Place::Memory,
        wanted: "",
        ours: "{ioscore} run fs-mark:1000-files-nosync --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "fs_mark -d {dir} -s 1048576 -n 1000 -S 0 -l {config}",
        config: "",
        rate: Rate::Reported { metric: "Files/s", column: "Files/sec" },
    },
    Row {
        name: "mail transactions",
        original: "postmark",
        place: Place::Memory,
        wanted: "",
        ours: "{ioscore} run postmark --set transactions=25000 --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "postmark {config}",
        config: "set transactions 25000\nset size 5120 524288\nset number 500\nset location {dir}\nrun\nquit\n",
        rate: Rate::Whole,
    },
    Row {
        name: "cached reads",
        original: "fio",
        place: Place::Memory,
        wanted: ">= 1.5",
        ours: "{ioscore} run benches/profiles/random-read.yaml --target {dir} --out {out} --name r --runs 1 --quiet --set time=2s --set engine=sync --set size=1MiB",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randread --time_based --runtime=2 --output-format=terse --terse-version=3 --ioengine=psync --size=1M",
        config: "",
        rate: Rate::Terse { metric: "Reads/s" },
    },
    Row {
        name: "bare cached reads",
        original: "cc",
        place: Place::Memory,
        wanted: ">= 0.85",
        ours: "{ioscore} run benches/profiles/random-read.yaml --target {dir} --out {out} --name r --runs 1 --quiet --set time=2s --set engine=sync --set size=1MiB",
        theirs: "{c}/pread_loop {dir}/f 1 2",
        config: "",
        rate: Rate::Reported { metric: "Reads/s", column: "reads/s" },
    },
    Row {
        name: "bare direct reads",
        original: "cc",
        place: Place::Disk,
        wanted: ">= 0.97",
        ours: "{ioscore} run benches/profiles/random-read.yaml --target {dir} --out {out} --name r --runs 1 --quiet --set time=2s --set direct=require --set size=64MiB",
        theirs: "{c}/pread_loop {dir}/f 64 2 direct",
        config: "",
        rate: Rate::Reported { metric: "Reads/s", column: "reads/s" },
    },
    Row {
        name: "libaio reads, 32",
        original: "fio",
        place: Place::Disk,
        wanted: "low >= 0.97",
        ours: "{ioscore} run benches/profiles/random-read.yaml --target {dir} --out {out} --name r --runs 1 --quiet --set time=2s --set engine=libaio --set depth=32 --set direct=require --set size=64MiB",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randread --time_based --runtime=2 --output-format=terse --terse-version=3 --ioengine=libaio --iodepth=32 --direct=1 --size=64M",
        config: "",
        rate: Rate::Terse { metric: "Reads/s" },
    },
    Row {
        name: "io_uring reads, 32",
        original: "fio",
        place: Place::Disk,
        wanted: "low >= 0.97",
        ours: "{ioscore} run benches/profiles/random-read.yaml --target {dir} --out {out} --name r --runs 1 --quiet --set time=2s --set engine=io_uring --set depth=32 --set direct=require --set size=64MiB",
        theirs: "fio --name=r --filename={dir}/f --bs=4k --rw=randread --time_based --runtime=2 --output-format=terse --terse-version=3 --ioengine=io_uring --iodepth=32 --direct=1 --size=64M",
        config: "",
        rate: Rate::Terse { metric: "Reads/s" },
    },
    Row {
        name: "office clients",
        original: "dbench",
        place: Place::Memory,
        wanted: ">= 1.3",
        ours: "{ioscore} run dbench:1-client --set loadfile=/usr/share/dbench/client.txt --set time=6s --set warmup=1s --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "dbench -t 6 -D {dir} -c /usr/share/dbench/client.txt 1",
        config: "",
        rate: Rate::Said { metric: "Throughput", word: "Throughput", unit: 1e6 },
    },
    Row {
        name: "12 office clients",
        original: "dbench",
        place: Place::Memory,
        wanted: ">= 1.3",
        ours: "{ioscore} run dbench:12-clients --set loadfile=/usr/share/dbench/client.txt --set time=6s --set warmup=1s --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "dbench -t 6 -D {dir} -c /usr/share/dbench/client.txt 12",
        config: "",
        rate: Rate::Said { metric: "Throughput", word: "Throughput", unit: 1e6 },
    },
    // Ours both: the mix against the recording that it stands for. On ext4, where an fsync costs
    // what it costs.
    Row {
        name: "office mix",
        original: "dbench",
        place: Place::Disk,
        wanted: "0.9 to 1.1",
        ours: "{ioscore} run dbench-mix:1-client --set time=10s --set warmup=2s --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "{ioscore} run dbench:1-client --set loadfile=/usr/share/dbench/client.txt --set time=10s --set warmup=2s --target {dir} --out {out} --name r --runs 1 --quiet",
        config: "",
        rate: Rate::Said { metric: "Throughput", word: "Throughput", unit: 1e6 },
    },
    Row {
        name: "office mix, 12",
        original: "dbench",
        place: Place::Disk,
        wanted: "0.9 to 1.1",
        ours: "{ioscore} run dbench-mix:12-clients --set time=10s --set warmup=2s --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "{ioscore} run dbench:12-clients --set loadfile=/usr/share/dbench/client.txt --set time=10s --set warmup=2s --target {dir} --out {out} --name r --runs 1 --quiet",
        config: "",
        rate: Rate::Said { metric: "Throughput", word: "Throughput", unit: 1e6 },
    },
    Row {
        name: "source tree read",
        original: "cc",
        place: Place::Memory,
        wanted: ">= 1.0",
        ours: "{ioscore} run compilebench:makej --set trees=1 --set reads=5 --set leave=true --keep --target {dir} --out {out} --name r --runs 1 --quiet",
        theirs: "{c}/tree_read {kept}/kernel-1 5",
        config: "",
        rate: Rate::Said { metric: "Test: Read Compiled Tree", word: "Read", unit: 1_048_576.0 },
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
    let compiled = match compiled() {
        Ok(compiled) => compiled,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = false;
    println!(
        "{:<20} {:<10} {:>12} {:>12} {:>8}  95 % interval  wanted",
        "work", "original", "ours /s", "theirs /s", "ratio"
    );
    for row in ROWS.iter().filter(|row| wanted.iter().all(|part| row.name.contains(part.as_str()))) {
        if tools::need(&format!("bench pairs {}", row.name), [row.original]).is_none() {
            continue;
        }
        match compare(row, pairs, compiled.path()) {
            Ok(line) => println!("{:<20} {:<10} {line}  {}", row.name, row.original, row.wanted),
            Err(why) => {
                failed = true;
                println!("{:<20} {:<10} failed: {why}", row.name, row.original);
            }
        }
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The programs of `benches/c`, compiled; none of them where there is no compiler.
fn compiled() -> Result<tempfile::TempDir, String> {
    let dir = tempfile::tempdir().map_err(|e| format!("no temporary directory: {e}"))?;
    let Some(cc) = tools::find("cc") else { return Ok(dir) };
    let sources = std::fs::read_dir("benches/c").map_err(|e| format!("benches/c: {e}"))?;
    for source in sources.flatten().map(|entry| entry.path()) {
        let program = dir.path().join(source.file_stem().unwrap_or_default());
        let done = Command::new(&cc).args(["-O2", "-o"]).arg(&program).arg(&source).status();
        if !done.is_ok_and(|status| status.success()) {
            return Err(format!("{} does not compile", source.display()));
        }
    }
    Ok(dir)
}

fn compare(row: &Row, pairs: usize, c: &Path) -> Result<String, String> {
    // One of each first, so that programs and directories are in memory for all that count.
    pair(row, c)?;
    let rates = (0..pairs).map(|_| pair(row, c)).collect::<Result<Vec<_>, String>>()?;
    let (ours, theirs): (Vec<f64>, Vec<f64>) = rates.iter().copied().unzip();
    let middle = |values: &[f64]| median(values).unwrap_or(f64::NAN);
    let paired::Ratio { ratio, low, high } = ratio(&rates).ok_or("a run did nothing")?;
    Ok(format!("{:>12.3} {:>12.3} {ratio:>8.3}  {low:.3} to {high:.3}", middle(&ours), middle(&theirs)))
}

/// The rates of one run of ours and one of theirs, each in a fresh directory unless theirs takes what
/// ours left.
fn pair(row: &Row, c: &Path) -> Result<(f64, f64), String> {
    let first = scratch(row)?;
    let ours = rate(row, row.ours, c, first.path(), Path::new(""))?;
    if !row.theirs.contains("{kept}") {
        drop(first);
        return Ok((ours, rate(row, row.theirs, c, scratch(row)?.path(), Path::new(""))?));
    }
    let left = std::fs::read_dir(first.path().join("d")).map_err(|e| e.to_string())?;
    let mut left = left.flatten().map(|entry| entry.path().join("work")).filter(|path| path.is_dir());
    let kept = left.next().ok_or("nothing was kept")?;
    Ok((ours, rate(row, row.theirs, c, scratch(row)?.path(), &kept)?))
}

/// A directory of its own for one run.
fn scratch(row: &Row) -> Result<tempfile::TempDir, String> {
    let (variable, usual) = match row.place {
        Place::Memory => ("IOSCORE_PAIRS_DIR", "/dev/shm"),
        Place::Disk => ("IOSCORE_PAIRS_DISK", env!("CARGO_TARGET_TMPDIR")),
    };
    let place = std::env::var_os(variable).map_or(usual.into(), PathBuf::from);
    tempfile::Builder::new()
        .prefix("io-")
        .tempdir_in(&place)
        .map_err(|e| format!("a directory in {}: {e}", place.display()))
}

/// The rate of one run.
fn rate(row: &Row, command: &str, c: &Path, scratch: &Path, kept: &Path) -> Result<f64, String> {
    let [dir, config, record] = ["d", "config", "out"].map(|name| scratch.join(name));
    let fill = |text: &str| {
        text.replace("{dir}", &dir.to_string_lossy())
            .replace("{config}", &config.to_string_lossy())
            .replace("{out}", &record.to_string_lossy())
            .replace("{c}", &c.to_string_lossy())
            .replace("{kept}", &kept.to_string_lossy())
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
        Rate::Reported { metric, .. } | Rate::Terse { metric } if ours => recorded(Some(metric)),
        Rate::Terse { .. } => terse(&String::from_utf8_lossy(&out.stdout), 7),
        Rate::Reported { metric, .. } | Rate::Said { metric, .. } if ours => recorded(Some(metric)),
        Rate::Said { word, unit, .. } => Ok(said(&String::from_utf8_lossy(&out.stdout), word)? * unit),
        Rate::Reported { column, .. } => printed(&String::from_utf8_lossy(&out.stdout), column),
    }
}
