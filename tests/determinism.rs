//! The same seed gives each worker the same operations in the same order, on the simulation and on
//! Linux, whatever the timing: a time limit only decides how many of them.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use common::pipeline::plans;
use common::strace::Syscall;
use common::{need, ours, scratch};
use ioscore::os::sim::{Event, Options, SimFs};
use ioscore::run::prepare::case_number;
use ioscore::vm::random::StreamKey;
use ioscore::vm::shared::Shared;
use ioscore::vm::team::{self, TeamOptions, Watcher};

const WORKERS: u32 = 4;

/// Everything that is drawn: files, sizes, places, blocks, alternatives. Every worker has files of
/// its own, in a directory of its number.
const PROFILE: &str = r#"
profile: drawn
version: 1.0.0
title: Drawn
summary: Draws everything that can be drawn.
workers: 4
files:
  own:
    per: worker
    count: 20
    slots: 30
    size: {uniform: [4KiB, 128KiB]}
    data: zero
    guards: {empty: skip, full: skip}
phases:
  - phase: work
    for: 400ms
    steps:
      - mix:
          - weight: 3
            steps:
              - {open: own, pick: random, mode: read}
              - {read: {weighted: {1k: 50, 4k: 50}}, at: random}
              - {read: 1k, at: random}
              - close
          - weight: 2
            steps:
              - {open: own, pick: random, mode: read}
              - {read: whole, block: {uniform: [4KiB, 64KiB]}}
              - close
          - weight: 2
            steps:
              - {open: own, pick: random, mode: rw}
              - {write: 2KiB, at: random, data: random}
              - {write: {uniform: [1, 9000]}, block: 4KiB, at: {weighted: {start: 1, random: 1}}}
              - {fsync: own, every: 3}
              - close
          - weight: 1
            steps: [{create: own}, {write: 3KiB}, {append: {exponential: 8KiB}, block: 4KiB}, close]
          - weight: 1
            steps: [{unlink: own, pick: random}]
results:
  - {name: Operations, value: work.ops.total, better: higher, primary: true}
"#;

/// One line for each call of each worker: what, on which file, where, how much.
type Logs = BTreeMap<u32, Vec<String>>;

/// How many calls each worker had made when its files had been laid out.
struct Border<'a>(&'a SimFs, Mutex<BTreeMap<u32, usize>>);

impl Watcher for Border<'_> {
    fn laid_out(&self) {
        let mut made = self.1.lock().unwrap();
        self.0.trace().iter().for_each(|event| *made.entry(event.worker).or_default() += 1);
    }
}

/// What the simulation does with this seed; longer than any run here.
fn simulated(seed: u64) -> Logs {
    const ROOM: usize = 50_000;
    let planned = plans("drawn.yaml", PROFILE, &[]).unwrap();
    let (case, plan) = &planned[0];
    let key = StreamKey { seed, case: case_number(case), ..StreamKey::default() };
    let latency = ioscore::os::sim::Latency { clock: 1, call: 1, name: 1, data: 1, kib: 0, flush: 1 };
    let disk = SimFs::new(Options { latency, trace: ROOM, ..Options::default() });
    let shared = Arc::new(Shared::new(plan));
    let border = Border(&disk, Mutex::default());
    let ended = AtomicBool::new(false);
    let options = TeamOptions { key, epoch: 0, mark: false };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // What does not fit the trace need not happen.
            while !ended.load(Ordering::Acquire) {
                if disk.trace().len() >= ROOM * WORKERS as usize {
                    return shared.abort();
                }
                std::thread::yield_now();
            }
        });
        let run = team::run(plan, &shared, |worker| disk.worker(worker), options, &border);
        ended.store(true, Ordering::Release);
        assert_eq!(run.fault, None);
    });
    let before = border.1.into_inner().unwrap();
    let mut logs = Logs::new();
    for event in disk.trace() {
        logs.entry(event.worker).or_default().push(simulated_line(&event));
    }
    for (worker, log) in &mut logs {
        log.drain(..before[worker]);
    }
    logs
}

fn simulated_line(event: &Event) -> String {
    use ioscore::os::sim::trace::Detail;
    let name = event.name.rsplit('/').next().unwrap_or_default();
    let range = match event.detail {
        Detail::Range(Some(offset), len) => format!(" {offset}+{len}"),
        Detail::Range(None, len) => format!(" +{len}"),
        _ => String::new(),
    };
    format!("{} {name}{range}", event.op.name())
}

/// What a real run does.
fn real(strace: &Path, more: &[&str]) -> (Logs, u64) {
    let dir = scratch();
    let profile = dir.path().join("drawn.yaml");
    std::fs::write(&profile, PROFILE).expect("the profile is written");
    let trace = ours::trace(strace, dir.path(), profile.to_str().expect("text"), &[], more);
    let phases = trace.phases().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(phases.len(), 1);
    let mut threads: BTreeMap<u32, (u32, Vec<String>)> = BTreeMap::new();
    for call in &phases[0].1 {
        let Some((worker, line)) = real_line(call) else { continue };
        let log = threads.entry(call.pid).or_insert((worker, Vec::new()));
        assert_eq!(log.0, worker, "a worker touches its own files only: {line}");
        log.1.push(line);
    }
    let logs: Logs = threads.into_values().collect();
    assert_eq!(logs.len(), WORKERS as usize, "every worker is a thread and works");
    (logs, seed_of(&dir.path().join("o")))
}

/// The worker whose directory the call is about, and its line.
fn real_line(call: &Syscall) -> Option<(u32, String)> {
    let path = call.paths.last()?;
    let mut parts = path.iter().rev().filter_map(|part| part.to_str());
    let (name, worker) = (parts.next()?, parts.next()?.parse().ok()?);
    let op = match call.name.as_str() {
        "openat2" | "openat" => "open",
        "pread64" => "pread",
        "pwrite64" => "pwrite",
        "unlinkat" => "unlink",
        other => other,
    };
    let range = match call.name.as_str() {
        "read" | "write" => format!(" +{}", call.args[2]),
        "pread64" | "pwrite64" => format!(" {}+{}", call.args[3], call.args[2]),
        _ => String::new(),
    };
    Some((worker, format!("{op} {name}{range}")))
}

/// The seed in the only record under `out`.
fn seed_of(out: &Path) -> u64 {
    let run = std::fs::read_dir(out).expect("records").next().expect("a record").expect("an entry").path();
    let text = std::fs::read(run.join("record.json")).expect("the record is there");
    let record: serde_json::Value = serde_json::from_slice(&text).expect("the record is JSON");
    record["run"]["seed"].as_u64().expect("the record holds the seed")
}

/// Each worker's log up to the end of the shorter one; fails where they part.
fn assert_same_beginning(a: &Logs, b: &Logs) {
    for worker in 0..WORKERS {
        let (a, b) = (&a[&worker], &b[&worker]);
        let both = a.len().min(b.len());
        assert!(both >= 10, "worker {worker} did next to nothing: {} and {} calls", a.len(), b.len());
        if let Some(at) = (0..both).find(|&i| a[i] != b[i]) {
            let from = at.saturating_sub(3);
            panic!("worker {worker} parts at call {at}:\n{:#?}\n{:#?}", &a[from..=at], &b[from..=at]);
        }
    }
}

#[test]
fn linux_does_what_the_simulation_does_under_any_load() {
    let Some([strace]) = need("determinism::linux_does_what_the_simulation_does", ["strace"]) else { return };
    let expected = simulated(7);
    let (quiet, seed) = real(&strace, &["--seed", "7"]);
    assert_eq!(seed, 7);
    let stop = AtomicBool::new(false);
    let busy = std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let busy = real(&strace, &["--seed", "7"]).0;
        stop.store(true, Ordering::Relaxed);
        busy
    });
    assert_same_beginning(&expected, &quiet);
    assert_same_beginning(&expected, &busy);
}

#[test]
fn without_a_seed_runs_differ_and_the_record_tells_how_to_repeat_them() {
    let Some([strace]) = need("determinism::without_a_seed", ["strace"]) else { return };
    let (first, seed) = real(&strace, &[]);
    let (second, other) = real(&strace, &[]);
    assert_ne!(seed, other);
    assert_ne!(first[&0][..10], second[&0][..10]);
    assert_same_beginning(&first, &simulated(seed));
    assert_same_beginning(&second, &simulated(other));
}

#[test]
fn workers_do_different_things() {
    let logs = simulated(7);
    assert_eq!(logs.len(), WORKERS as usize);
    for worker in 1..WORKERS {
        assert_ne!(logs[&0][..50], logs[&worker][..50]);
    }
    let kinds: std::collections::BTreeSet<&str> =
        logs[&0].iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["close", "fsync", "open", "pread", "pwrite", "read", "unlink", "write"]
    );
}
