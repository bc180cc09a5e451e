//! The profiles of what a NAS is used for: no two are the same load with other numbers, and each
//! shows in its trace the share, rate or size that its head claims.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::cases::Done;
use common::pipeline::{plans_with, shipped, simulate};
use ioscore::os::sim::trace::Detail;
use ioscore::os::sim::{Event, Op, Options};
use ioscore::plan::instr::Plan;
use ioscore::plan::listing::listing;
use ioscore::run::numbers::numbers;
use ioscore::vm::random::StreamKey;

const LIBRARY: &[&str] = &[
    "backup-target",
    "database-log",
    "file-server",
    "mail-server",
    "metadata-storm",
    "mixed-office",
    "photo-import",
    "streaming",
    "untar",
    "vm-images",
    "web-server",
];

/// Every case on the simulation under `quick` and what the test sets: its id and what it did.
fn simulated(name: &str, sets: &[(&str, &str)]) -> Vec<(String, Done)> {
    let planned = plans_with(&format!("{name}.yaml"), &shipped(name), &["quick"], sets);
    let cases = planned.unwrap_or_else(|problems| panic!("{problems}"));
    let run = |(case, plan): (ioscore::profile::case::BoundCase, std::sync::Arc<_>)| {
        let (run, disk) =
            simulate(&plan, Options { trace: 1 << 21, ..Options::default() }, StreamKey::default());
        assert_eq!(run.fault, None, "{name}:{}", case.case_id);
        (case.case_id, Done { plan, run, events: disk.trace(), disk: Some(disk) })
    };
    cases.into_iter().map(run).collect()
}

fn case(name: &str, id: &str, sets: &[(&str, &str)]) -> Done {
    simulated(name, sets).into_iter().find(|(case, _)| case == id).expect("there is such a case").1
}

/// `n` of `all` is a share of `p`, within five standard deviations.
fn has_share(what: &str, n: u64, all: u64, p: f64) {
    assert!(all >= 200, "{what}: only {all}");
    let (n, all) = (n as f64, all as f64);
    let sigma = (all * p * (1.0 - p)).sqrt();
    assert!((n - all * p).abs() < 5.0 * sigma, "{what}: {n} of {all}, expected {}", all * p);
}

fn creates(event: &Event) -> bool {
    matches!(event.detail, Detail::Open { flags, .. } if flags & libc::O_CREAT != 0)
}

/// Bytes written to each name that holds the text.
fn sizes(done: &Done, part: &str) -> BTreeMap<String, u64> {
    let mut sizes = BTreeMap::new();
    for event in done.events.iter().filter(|e| e.name.contains(part)) {
        match event.op {
            Op::Open if creates(event) => *sizes.entry(event.name.clone()).or_insert(0) += 0,
            Op::Write | Op::Pwrite => {
                *sizes.entry(event.name.clone()).or_insert(0) += event.result.unwrap().unwrap();
            }
            _ => {}
        }
    }
    sizes
}

fn below(sizes: &BTreeMap<String, u64>, bound: u64) -> u64 {
    sizes.values().filter(|size| **size < bound).count() as u64
}

fn number(done: &Done, name: &str) -> f64 {
    *numbers(&done.plan, &done.run, 0).get(name).unwrap_or_else(|| panic!("{name} is no number"))
}

/// The listing without numbers, names and the plan's hash: what is done, in which order.
fn skeleton(plan: &Plan) -> String {
    let mut names: BTreeSet<&str> = plan.sets.iter().map(|set| &*set.name).collect();
    for phase in &plan.phases {
        names.insert(&phase.name);
        names.extend(phase.groups.iter().map(|group| &*group.name));
        names.extend(phase.stats.iter().map(|stat| &*stat.key));
    }
    let text = listing(plan);
    let (_, steps) = text.split_once("\n  phase ").expect("a listing shows its phases");
    let lines = steps.lines().map(|line| line.split(" -> ").next().unwrap_or_default());
    let word = |word: &str| match word {
        word if word.contains(|c: char| c.is_ascii_digit()) => "#".to_string(),
        word if names.contains(word.trim_matches([',', ':'])) => "x".to_string(),
        word => word.to_string(),
    };
    lines.map(|line| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn no_two_profiles_are_the_same_load_with_other_numbers() {
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for name in LIBRARY {
        let cases = plans_with(name, &shipped(name), &[], &[]).unwrap_or_else(|p| panic!("{p}"));
        let bones = skeleton(&cases[0].1);
        assert!(bones.lines().count() >= 6, "{name}:\n{bones}");
        if let Some(other) = seen.insert(bones.clone(), name) {
            panic!("{name} does what {other} does:\n{bones}");
        }
    }
    assert_eq!(seen.len(), LIBRARY.len());
}

#[test]
fn each_says_what_it_answers_and_has_the_presets_and_a_tail() {
    for name in LIBRARY {
        let text = shipped(name);
        let head: Vec<&str> = text.lines().skip(1).take_while(|line| line.starts_with('#')).collect();
        assert!(head.join(" ").contains('?'), "{name} asks no question");
        assert!(text.lines().count() <= 90, "{name} is longer than a page");
        assert!(text.contains(".latency.p99") || *name == "untar", "{name} shows no p99");
        for preset in ["quick", "sound"] {
            let cases = plans_with(name, &text, &[preset], &[]).unwrap_or_else(|p| panic!("{p}"));
            for (case, plan) in cases.iter().filter(|_| preset == "quick") {
                let laid_out = ioscore::plan::needs::needs(plan);
                let most = laid_out.written.unwrap_or(0);
                assert!(most < 300 << 20, "{name}:{} may write {most} bytes", case.case_id);
            }
        }
    }
}

#[test]
fn mail_is_created_appended_synced_and_closed_in_this_order() {
    for (id, done) in simulated("mail-server", &[("time", "2s"), ("messages", "200"), ("ramp", "0s")]) {
        let workers = if id == "1-worker" { 1 } else { 16 };
        assert_eq!(done.plan.workers, workers);
        let mut delivered = 0;
        for worker in 0..workers {
            let calls: Vec<&Event> = done.events.iter().filter(|e| e.worker == worker).collect();
            let laid_out = if worker == 0 { 160 } else { 0 };
            let starts = (0..calls.len()).filter(|i| creates(calls[*i])).skip(laid_out);
            for start in starts {
                let delivery: Vec<Op> = calls[start..].iter().take(4).map(|e| e.op).collect();
                let whole = [Op::Open, Op::Pwrite, Op::Fsync, Op::Close];
                // The end of the phase may cut the last one short; its file is closed all the same.
                let last = calls.len() - start <= 4;
                assert!(delivery == whole || last, "{id} {worker}: {delivery:?}");
                if delivery == whole {
                    assert!(calls[start..start + 4].iter().all(|e| e.name == calls[start].name));
                    delivered += 1;
                }
            }
        }
        let ops = |key: &str| done.ops("serve", key);
        let counted = ops("deliver");
        assert!(counted > 100 && delivered - counted <= u64::from(workers), "{id}: {delivered} {counted}");
        let all = ops("remove") + counted + ops("answer") + ops("look");
        let half = (counted + ops("answer")) as f64 / all as f64;
        assert!((half - 0.5).abs() < 0.03, "{id}: {half} of the operations end with an fsync");
        assert!(ops("fsync").abs_diff(counted + ops("answer")) <= u64::from(workers));
        let fs = done.disk.as_ref().unwrap().statfs();
        let files = fs.files - fs.files_free - 2;
        assert!((1..=200).contains(&files), "{id}: {files}, more than fit");
    }
}

#[test]
fn mail_never_takes_more_room_than_there_is() {
    for (_, done) in simulated("mail-server", &[("time", "2s"), ("messages", "10")]) {
        let fs = done.disk.as_ref().unwrap().statfs();
        assert!(fs.files - fs.files_free - 2 <= 10);
        if done.plan.workers == 1 {
            let mut there = 0i64;
            for event in &done.events {
                there +=
                    i64::from(creates(event)) - i64::from(event.op == Op::Unlink && event.result.is_ok());
                assert!(there <= 10);
            }
            assert!(there > 0);
        }
    }
}

#[test]
fn messages_are_sixteen_kibibytes_in_the_mean() {
    let done = case("mail-server", "1-worker", &[("messages", "5000"), ("time", "100ms"), ("ramp", "0s")]);
    let laid_out: Vec<u64> = sizes(&done, "mail/")
        .into_iter()
        .filter(|(name, _)| *name <= "mail/00004000".into())
        .map(|(_, s)| s)
        .collect();
    assert_eq!(laid_out.len(), 4000);
    let mean = laid_out.iter().sum::<u64>() as f64 / 4000.0;
    // Answers have grown a few of them.
    assert!((mean / 16384.0 - 1.0).abs() < 0.08, "{mean}");
}

#[test]
fn the_storm_touches_every_name_once_in_each_phase() {
    let done = case("metadata-storm", "4-workers", &[]);
    assert_eq!((done.ops("make", "mkdir"), done.ops("make", "create")), (4 * 11, 800));
    assert_eq!((done.ops("look", "stat"), done.ops("look", "list")), (800, 16));
    assert_eq!((done.ops("move", "rename"), done.ops("remove", "remove_all")), (800, 800));
    assert_eq!(done.ops("remove", "rmdir"), 40);
    for op in [Op::Stat, Op::Rename, Op::Unlink] {
        let names: BTreeSet<&str> = done.names(op).into_iter().collect();
        assert_eq!(names.len(), 800, "{op:?}");
    }
    let fs = done.disk.as_ref().unwrap().statfs();
    assert_eq!(fs.files - fs.files_free, 1 + 4, "only the workers' own directories are left");
}

#[test]
fn clients_of_a_share_mostly_read_and_save_safely() {
    let done = case("file-server", "8-clients", &[("documents", "2000"), ("time", "4s"), ("ramp", "0s")]);
    let ops = |key: &str| done.ops("work", key);
    let all = ops("read_document") + ops("browse") + ops("save") + ops("new_document");
    // A save that is over when the time is up counts less often than a look: within 3 points.
    for (label, share) in [("read_document", 0.60), ("browse", 0.25), ("save", 0.10), ("new_document", 0.05)]
    {
        let own = ops(label) as f64 / all as f64;
        assert!(all > 1000 && (own - share).abs() < 0.03, "{label}: {own} of {all}");
    }
    assert!(ops("fsync").abs_diff(ops("save")) <= 8 && ops("replace").abs_diff(ops("save")) <= 8);
    let laid_out: BTreeMap<String, u64> = sizes(&done, ".doc")
        .into_iter()
        .filter(|(name, _)| name[name.len() - 10..] <= *"002000.doc")
        .collect();
    assert_eq!(laid_out.len(), 2000);
    has_share("below 24 KiB", below(&laid_out, 24 << 10), 2000, 0.5);
    has_share("above 8 MiB", 2000 - below(&laid_out, 8 << 20), 2000, 0.01);
}

#[test]
fn ten_pages_are_read_for_a_line_and_some_far_more_often() {
    let done = case("web-server", "1-worker", &[("pages", "200"), ("time", "10s"), ("ramp", "0s")]);
    let (requests, lines) = (done.ops("serve", "request"), done.ops("serve", "append"));
    assert!(lines > 500 && requests.abs_diff(10 * lines) <= 10, "{requests} requests, {lines} lines");
    let mut asked: BTreeMap<&str, u64> = BTreeMap::new();
    let opened = done.calls(Op::Open).into_iter().filter(|e| e.name.ends_with(".html") && !creates(e));
    opened.for_each(|e| *asked.entry(&e.name).or_default() += 1);
    let mut counts: Vec<u64> = asked.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all = counts.iter().sum();
    let harmonic: f64 = (1..=200).map(|rank| 1.0 / f64::from(rank)).sum();
    for (rank, count) in counts.iter().take(3).enumerate() {
        has_share(&format!("rank {}", rank + 1), *count, all, 1.0 / (rank as f64 + 1.0) / harmonic);
    }
}

#[test]
fn half_of_the_photos_are_below_six_mebibytes() {
    let done = case("photo-import", "one-copy", &[("photos", "400")]);
    let photos = sizes(&done, "IMG_");
    assert_eq!(photos.len(), 400);
    has_share("below 6 MiB", below(&photos, 6 << 20), 400, 0.5);
    has_share("above 25 MiB", 400 - below(&photos, 25 << 20), 400, 0.1);
    assert_eq!((done.ops("copy", "fsync"), done.ops("copy", "utimes")), (400, 400));
    assert_eq!(done.ops("index", "preview"), 400);
    assert!(done.bytes("index", "read") <= 400 << 16);
    assert!(done.calls(Op::Pread).iter().all(|e| matches!(e.detail, Detail::Range(Some(0), 65536))));
    let thumbs = sizes(&done, "thumbs/");
    assert!(thumbs.len() == 400 && thumbs.values().all(|size| *size == 16 << 10));
}

#[test]
fn machines_read_seven_of_ten_blocks_and_four_fifths_in_one_place() {
    let done = case("vm-images", "1-machine", &[("image", "8MiB"), ("time", "5s"), ("ramp", "0s")]);
    let (reads, writes) = (done.ops("run", "read"), done.ops("run", "write"));
    has_share("reads", reads, reads + writes, 0.7);
    assert!(done.ops("run", "flush").abs_diff(writes / 16) <= 1);
    let offsets = done.offsets(Op::Pread);
    assert_eq!(done.bytes("run", "read"), reads * 8192);
    // A read that ends after the time is up does not count.
    assert!((offsets.len() as u64).abs_diff(reads) <= 1);
    let mut counts: BTreeMap<u64, u64> = (0..1024).map(|block| (block * 8192, 0)).collect();
    offsets.iter().for_each(|offset| *counts.get_mut(offset).expect("a whole block") += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    has_share("the busiest fifth", counts[..205].iter().sum(), offsets.len() as u64, 0.8);
}

#[test]
fn one_chunk_of_four_is_new_and_the_oldest_tenth_goes() {
    let done = case("backup-target", "nightly", &[("chunks", "2000"), ("there", "500"), ("size", "64KiB")]);
    let ops = |key: &str| done.ops("backup", key);
    assert_eq!((ops("known"), ops("new_chunk"), ops("fsync")), (1500 / 2 * 2, 500, 500));
    assert_eq!(done.ops("prune", "remove_all"), 100);
    // What another stream still has in hand is left out.
    let restored = done.ops("restore", "open");
    assert!((999..=1000).contains(&restored), "{restored}");
    assert_eq!(done.bytes("restore", "read"), restored << 16);
    let names: Vec<&str> = done
        .calls(Op::Open)
        .into_iter()
        .filter(|e| !creates(e) && e.name.contains("store/"))
        .filter(|e| matches!(e.detail, Detail::Open { flags, .. } if flags & libc::O_PATH == 0))
        .map(|e| &*e.name)
        .collect();
    let number = |name: &&str| name[name.len() - 8..].parse::<u64>().unwrap_or(0);
    let rising = names.windows(2).filter(|pair| number(&pair[0]) < number(&pair[1])).count();
    assert_eq!(names.len() as u64, restored);
    has_share("steps upwards of a random order", rising as u64, names.len() as u64 - 1, 0.5);
}

#[test]
fn half_of_the_source_files_are_below_four_kibibytes() {
    let done = case("untar", "source-tree", &[("files", "1700")]);
    let files = sizes(&done, ".c");
    assert_eq!(files.len(), 1700);
    has_share("below 4 KiB", below(&files, 4 << 10), 1700, 0.5);
    has_share("below 24 KiB", below(&files, 24 << 10), 1700, 0.9);
    let mut dirs: BTreeMap<&str, u32> = BTreeMap::new();
    files.keys().for_each(|name| *dirs.entry(name.rsplit_once('/').unwrap().0).or_default() += 1);
    assert!(dirs.len() == 100 && dirs.values().all(|n| *n == 17), "{dirs:?}");
    for (phase, key, n) in [
        ("unpack", "chmod", 1700),
        ("unpack", "syncfs", 1),
        ("walk", "list", 100),
        ("walk", "stat", 1700),
        ("remove", "remove_all", 1700),
        ("remove", "rmdir", 100),
    ] {
        assert_eq!(done.ops(phase, key), n, "{phase}.{key}");
    }
}

#[test]
fn commit_records_have_their_sizes_and_the_checkpoint_its_rate() {
    for (id, done) in simulated("database-log", &[("time", "10s"), ("ramp", "0s")]) {
        let commits = done.ops("serve", "commit");
        let wal: Vec<u64> = done
            .calls(Op::Pwrite)
            .iter()
            .filter(|e| e.name.ends_with("wal"))
            .map(|e| e.result.unwrap().unwrap())
            .skip_while(|len| *len > 64 << 10)
            .collect();
        assert!(done.ops("serve", "fdatasync").abs_diff(commits) <= 1);
        let first = wal.len() - commits as usize;
        for (size, share) in [(8192, 0.7), (16384, 0.2), (65536, 0.1)] {
            let n = wal[first..].iter().filter(|len| **len == size).count() as u64;
            has_share(&format!("{id}: records of {size}"), n, commits, share);
        }
        if id == "checkpoint" {
            let pages = number(&done, "serve.checkpoint.write.ops.total");
            assert!((pages - 10_000.0).abs() <= 2.0, "{pages} pages in 10 s");
            assert_eq!(done.ops("serve", "fsync"), pages as u64 / 256);
        }
    }
}

#[test]
fn films_keep_their_rate_and_none_stalls() {
    for (id, done) in simulated("streaming", &[("time", "10s")]) {
        let streams = if id == "16-streams" { 16.0 } else { 4.0 };
        let played = number(&done, "play.films.read.bytes.total");
        let asked = streams * 40e6 * 10.0;
        assert!((played - asked).abs() <= streams * f64::from(1 << 20), "{id}: {played} of {asked}");
        // A read that ends before the next is due cannot have stalled its film.
        let longest = number(&done, "play.films.read.latency.max");
        assert!(longest > 0.0 && longest < f64::from(1 << 20) / 40e6, "{id}: {longest} s");
        let recorded = number(&done, "play.recorder.append.bytes.total");
        assert!((recorded - f64::from(100 << 20)).abs() <= f64::from(1 << 20), "{id}: {recorded}");
    }
}

#[test]
fn people_come_at_random_moments_and_four_of_five_look() {
    let done =
        case("mixed-office", "backup-running", &[("time", "100s"), ("ramp", "0s"), ("backup", "1GiB")]);
    let (looks, saves) = (done.ops("day", "look"), done.ops("day", "save"));
    has_share("looks", looks, looks + saves, 0.8);
    // Twenty people, two things a second each, for a hundred seconds; the count of a Poisson process.
    assert!(((looks + saves) as f64 - 4000.0).abs() < 5.0 * 4000f64.sqrt(), "{looks} + {saves}");
    assert!(done.ops("day", "commit").abs_diff(2000) <= 1);
    let read =
        done.calls(Op::Pread).iter().filter(|e| matches!(e.detail, Detail::Range(_, 1_048_576))).count();
    assert!(read > 1000, "the backup ran: {read} reads");
    let numbers = numbers(&done.plan, &done.run, 0);
    assert!(!numbers.keys().any(|name| name.starts_with("day.backup.read.ops")), "and is not measured");
}
