//! Every example is correct, runs, and shows what it teaches.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use common::cases::Done;
use common::pipeline::{plans_with, simulate};
use ioscore::os::sim::trace::Detail;
use ioscore::os::sim::{Op, Options};
use ioscore::vm::random::StreamKey;

const EXAMPLES: &[&str] = &[
    "backup-beside-work",
    "block-matrix",
    "file-sizes",
    "fill-up",
    "missing-files",
    "popular-blocks",
    "read-twice",
    "readers-beside-a-writer",
    "synchronous-log",
    "weighted-mix",
];

/// Nanoseconds of a transfer of 4 KiB on the simulation, a reading of the clock included.
const TRANSFER: f64 = 84_020.0;

fn path(name: &str) -> PathBuf {
    PathBuf::from(format!("{}/examples/{name}.yaml", env!("CARGO_MANIFEST_DIR")))
}

/// Every case on the simulation under `quick` and what the test sets: id, title, what it did.
fn simulated(name: &str, sets: &[(&str, &str)]) -> Vec<(String, String, Done)> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    let planned = plans_with(&format!("{name}.yaml"), &text, &["quick"], sets);
    let cases = planned.unwrap_or_else(|problems| panic!("{problems}"));
    let run = |(case, plan): (ioscore::profile::case::BoundCase, Arc<_>)| {
        let (run, disk) =
            simulate(&plan, Options { trace: 1 << 20, ..Options::default() }, StreamKey::default());
        assert_eq!(run.fault, None, "{}", case.case_id);
        (case.case_id, case.title, Done { plan, run, events: disk.trace(), disk: Some(disk) })
    };
    cases.into_iter().map(run).collect()
}

fn only(name: &str, sets: &[(&str, &str)]) -> Done {
    let mut cases = simulated(name, sets);
    assert_eq!(cases.len(), 1, "{name}");
    cases.remove(0).2
}

/// `n` of `all` is a share of `p`, within five standard deviations.
fn has_share(what: &str, n: u64, all: u64, p: f64) {
    let (n, all) = (n as f64, all as f64);
    let sigma = (all * p * (1.0 - p)).sqrt();
    assert!((n - all * p).abs() < 5.0 * sigma, "{what}: {n} of {all}, expected {}", all * p);
}

#[test]
fn every_file_is_listed_and_passes_the_check() {
    let mut found: Vec<String> = std::fs::read_dir(path("x").parent().unwrap())
        .unwrap()
        .map(|e| e.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(found, EXAMPLES);
    for name in EXAMPLES {
        let text = std::fs::read_to_string(path(name)).unwrap();
        let head: String = text.lines().take_while(|line| line.starts_with('#')).collect();
        assert!(head.contains("# Teaches: ") && head.contains("# Answers: "), "{name}");
        let out = Command::new(env!("CARGO_BIN_EXE_ioscore")).arg("check").arg(path(name)).output().unwrap();
        let said = [out.stdout, out.stderr].map(|b| String::from_utf8(b).unwrap()).concat();
        assert!(out.status.success(), "{said}");
        assert_eq!(said.trim().lines().count(), 1, "no warnings: {said}");
        assert!(said.trim().ends_with(": ok"), "{said}");
    }
}

#[test]
fn every_example_runs_for_real_and_leaves_nothing() {
    for name in EXAMPLES {
        let dir = tempfile::tempdir().unwrap();
        let (target, out) = (dir.path().join("target"), dir.path().join("out"));
        std::fs::create_dir(&target).unwrap();
        let run = Command::new(env!("CARGO_BIN_EXE_ioscore"))
            .arg("run")
            .arg(path(name))
            .args(["--preset", "quick", "--runs", "1", "--name", "it", "--quiet", "--target"])
            .arg(&target)
            .arg("--out")
            .arg(&out)
            .output()
            .unwrap();
        let said = [run.stdout, run.stderr].map(|b| String::from_utf8(b).unwrap()).concat();
        assert_eq!(run.status.code(), Some(0), "{name}: {said}");
        let cases = plans_with(name, &std::fs::read_to_string(path(name)).unwrap(), &["quick"], &[]).unwrap();
        for (case, _) in cases {
            assert!(said.contains(&case.title), "{name}: {} is missing in\n{said}", case.title);
        }
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{name}");
    }
}

#[test]
fn the_writer_keeps_its_rate_and_the_readers_do_not_wait_for_it() {
    let done = only("readers-beside-a-writer", &[("time", "10s")]);
    let written = done.bytes("serve", "write") as f64 / 10.0;
    assert!((written / f64::from(8 << 20) - 1.0).abs() < 0.01, "{written}");
    let reads = done.ops("serve", "read") as f64;
    assert!((reads / (4.0 * 10e9 / TRANSFER) - 1.0).abs() < 0.01, "{reads}");
}

#[test]
fn drawn_shares_are_near_and_dealt_ones_exact() {
    let cases = simulated("weighted-mix", &[("transactions", "20000")]);
    assert_eq!(cases.iter().map(|(id, _, _)| id.as_str()).collect::<Vec<_>>(), ["drawn", "dealt"]);
    for (id, _, done) in &cases {
        for (label, percent) in [("look", 70u64), ("change", 25), ("commit", 5)] {
            let n = done.ops("work", label);
            match id.as_str() {
                "dealt" => assert_eq!(n, 20_000 * percent / 100, "{label}"),
                _ => has_share(label, n, 20_000, percent as f64 / 100.0),
            }
        }
        assert_eq!(done.ops("work", "fdatasync"), done.ops("work", "commit"));
    }
    // Every deck by itself: each hundred transactions hold the shares.
    let dealt = &cases[1].2;
    let kinds: Vec<Op> = dealt
        .events
        .iter()
        .filter(|e| matches!(e.detail, Detail::Range(Some(_), 8192)) || e.op == Op::Fdatasync)
        .map(|e| e.op)
        .collect();
    let mut decks = 0;
    for deck in kinds.chunks(105) {
        let count = |op: Op| deck.iter().filter(|o| **o == op).count();
        assert_eq!((count(Op::Pread), count(Op::Pwrite), count(Op::Fdatasync)), (70, 30, 5));
        decks += 1;
    }
    assert_eq!(decks, 200);
}

#[test]
fn sizes_follow_the_gamma_distribution() {
    let done = only("file-sizes", &[("files", "20000")]);
    let sizes: Vec<u64> = done.calls(Op::Write).iter().map(|e| e.result.unwrap().unwrap()).collect();
    assert_eq!(sizes.len(), 20_000);
    let mean = 32768.0;
    // Of shape 1/2 the distribution is the mean times the square of a normal deviate.
    let own = sizes.iter().sum::<u64>() as f64 / 20_000.0;
    let error = mean * 2f64.sqrt() / 20_000f64.sqrt();
    assert!((own - mean).abs() < 5.0 * error, "{own}");
    for (share, square) in [(0.25, 0.101_531), (0.5, 0.454_936), (0.9, 2.705_543), (0.99, 6.634_897)] {
        let below = sizes.iter().filter(|s| (**s as f64) < mean * square).count();
        has_share(&format!("below {share}"), below as u64, 20_000, share);
    }
    let dirs: BTreeSet<&str> = done.opens().iter().map(|n| n.split('/').nth(1).unwrap()).collect();
    assert_eq!(dirs.len(), 16);
}

#[test]
fn the_matrix_has_every_combination_once() {
    let cases = simulated("block-matrix", &[]);
    let mut seen = BTreeMap::new();
    for (id, title, done) in &cases {
        seen.insert(title.split(" [").next().unwrap().to_string(), id.clone());
        let workers = u64::from(done.plan.workers);
        let writes = done.calls(Op::Write);
        assert_eq!(done.bytes("write", "write"), 4 << 20, "{id}");
        let block = (4 << 20) / writes.len() as u64;
        assert!(writes.iter().all(|e| e.result == Ok(Some(block))), "{id}");
        let name = if block == 1 << 20 { "1MiB".into() } else { format!("{}KiB", block >> 10) };
        assert_eq!(title.split(" [").next().unwrap(), format!("{name} blocks, {workers} worker(s)"));
    }
    let ids: BTreeSet<&str> = seen.values().map(String::as_str).collect();
    assert_eq!((cases.len(), seen.len(), ids.len()), (6, 6, 6), "{seen:?}");
    assert_eq!(seen["64KiB blocks, 4 worker(s)"], "64kib-4");
}

#[test]
fn the_hottest_blocks_have_the_share_of_the_law() {
    for (id, _, done) in simulated("popular-blocks", &[("reads", "100000")]) {
        let mut counts = BTreeMap::new();
        let reads = done.offsets(Op::Pread);
        assert_eq!(reads.len(), 100_000);
        reads.iter().for_each(|o| *counts.entry(*o).or_insert(0u64) += 1);
        let mut sorted: Vec<u64> = counts.values().copied().collect();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        // 40 MiB are 10240 blocks; the hottest hundredth of them.
        let share = sorted[..102].iter().sum::<u64>() as f64 / 100_000.0;
        let harmonic = |n: u32| (1..=n).map(|r| 1.0 / f64::from(r)).sum::<f64>();
        match id.as_str() {
            "zipf" => assert!((share - harmonic(102) / harmonic(10_240)).abs() < 0.015, "{share}"),
            _ => assert!((0.01..0.03).contains(&share), "{share}"),
        }
        // Popular blocks lie all over the file.
        let hottest: Vec<u64> = counts.iter().filter(|(_, n)| **n >= sorted[101]).map(|(o, _)| *o).collect();
        let half = hottest.iter().filter(|o| **o < 20 << 20).count();
        assert!((30..72).contains(&(half * 102 / hottest.len())), "{half} of {}", hottest.len());
    }
}

#[test]
fn the_backup_ends_the_phase_with_its_last_file() {
    let done = only("backup-beside-work", &[("files", "20000"), ("size", "4KiB")]);
    let phase = &done.run.phases[0];
    let groups = &done.plan.phases[0].groups;
    let of = |name: &str| groups.iter().position(|g| g.name == name).unwrap();
    let copy = phase.workers.iter().find(|w| w.group == of("copy")).unwrap();
    let (from, to) = phase.window.unwrap();
    assert_eq!(to, copy.end);
    assert_eq!((done.ops("backup", "open"), done.ops("backup", "read")), (20_000, 20_000));
    let seconds = (to - from) as f64 / 1e9;
    assert!(seconds > 1.0, "{seconds}");
    let updates = done.ops("backup", "update") as f64;
    // Four workers with 50 a second each, and one at the very start.
    assert!((updates - 4.0 * 50.0 * seconds).abs() <= 8.0, "{updates} in {seconds} s");
}

#[test]
fn the_log_is_synchronous_and_its_ramp_does_not_count() {
    for (id, _, done) in simulated("synchronous-log", &[]) {
        let dsync = done
            .events
            .iter()
            .any(|e| matches!(e.detail, Detail::Open { flags, .. } if flags & libc::O_DSYNC != 0));
        assert_eq!(dsync, id == "dsync");
        let commits = done.ops("append", "commit");
        assert_eq!(done.ops("append", "write"), commits, "{id}");
        let writes =
            done.calls(Op::Pwrite).iter().filter(|e| matches!(e.detail, Detail::Range(_, 4096))).count();
        assert!(writes as u64 > commits + commits / 8, "{id}: the ramp is there and not counted");
        let each = if id == "dsync" { TRANSFER } else { TRANSFER + 1_000_020.0 };
        assert!((commits as f64 - 0.5e9 / each).abs() < 3.0, "{id}: {commits}");
        if id == "fdatasync" {
            let calls: Vec<Op> = done
                .events
                .iter()
                .filter(|e| e.op == Op::Fdatasync || matches!(e.detail, Detail::Range(_, 4096)))
                .map(|e| e.op)
                .collect();
            assert!(calls.chunks_exact(2).all(|pair| pair == [Op::Pwrite, Op::Fdatasync]));
        }
    }
}

#[test]
fn filling_up_makes_exactly_what_fits() {
    let done = only("fill-up", &[]);
    assert_eq!((done.plan.workers, done.ops("fill", "create"), done.ops("empty", "unlink")), (4, 500, 500));
    let made: BTreeSet<&str> = done.opens().into_iter().collect();
    let removed: BTreeSet<&str> = done.names(Op::Unlink).into_iter().collect();
    assert_eq!((made.len(), &made), (500, &removed));
}

#[test]
fn both_passes_read_the_whole_file_in_order() {
    let done = only("read-twice", &[]);
    for phase in ["first", "again"] {
        assert_eq!((done.ops(phase, "read"), done.bytes(phase, "read")), (128, 16 << 20));
    }
    let offsets = done.offsets(Op::Pread);
    assert_eq!(offsets.len(), 256);
    assert!(offsets.iter().zip(0u64..).all(|(o, i)| *o == i % 128 * (128 << 10)), "{offsets:?}");
    assert_eq!((done.calls(Op::Advise).len(), done.opens().len()), (1, 2), "laid out, then opened once");
}

#[test]
fn missing_files_are_missing_and_count_as_expected() {
    let done = only("missing-files", &[("lookups", "20000")]);
    let ops = |key: &str| done.ops("look", key);
    has_share("absent", ops("absent"), 20_000, 0.6);
    has_share("not opened", ops("not_opened"), 20_000, 0.3);
    has_share("present", ops("present"), 20_000, 0.1);
    assert_eq!(done.errors("look", "absent"), ops("absent"));
    assert_eq!(done.errors("look", "not_opened"), ops("not_opened"));
    assert_eq!(done.errors("look", "present"), 0);
    let absent = done.calls(Op::Stat).iter().filter(|e| e.name.contains("/no") && e.result.is_err()).count();
    assert_eq!(absent as u64, ops("absent"));
}
