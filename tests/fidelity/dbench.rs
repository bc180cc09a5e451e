//! A replayed load makes the calls that dbench makes of it.
//!
//! Differences that are meant: names are looked up without following a last symbolic link
//! (`AT_SYMLINK_NOFOLLOW`); directories are opened once as mere places (`O_PATH`), in the first pass;
//! new times of a file are now, not ten seconds ago. `kill` and the reading of the load file belong
//! to dbench alone.

use crate::common;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use common::cases::profile;
use common::pipeline::{plans, total};
use common::select::{passes, under};
use common::strace::Syscall;
use common::{Multiset, Run, need, ours, scratch, skip};
use ioscore::import::loadfile;
use ioscore::os::sim::trace::Detail;
use ioscore::os::sim::{Options, SimFs};
use ioscore::plan::instr::Plan;
use ioscore::plan::stream::Kind;
use ioscore::vm::random::StreamKey;
use ioscore::vm::team::{TeamOptions, TeamRun, Watcher};

/// Lines of the load that are compared side by side, at most.
pub const LINES: usize = 5000;

/// Where Debian installs the load.
const LOAD: &str = "/usr/share/dbench/client.txt";

/// Two passes, each an execution of the phase.
fn twice(load: &Path) -> String {
    format!(
        r#"profile: twice
version: 1.0.0
title: Twice
summary: Two passes through a load.
files: {{tree: {{dir: .}}}}
phases:
  - repeat: 2
    phases:
      - phase: run
        steps:
          - {{replay: "{}", format: loadfile, in: tree, replace: {{client1: "client{{worker}}"}}, data: zero}}
results: [{{name: MB/s, value: run.bytes.rate, better: higher}}]
"#,
        load.display()
    )
}

/// Begins to remember calls with the second execution of a phase.
struct Second {
    disk: SimFs,
    seen: AtomicU32,
}

impl Watcher for Second {
    fn phase_begins(&self, _: &Plan, _: u16) {
        if self.seen.fetch_add(1, Ordering::SeqCst) == 1 {
            self.disk.start_trace();
        }
    }
}

/// Runs two passes on the simulation; the calls of the second one are remembered.
fn simulate(plan: &Arc<Plan>) -> (TeamRun, SimFs) {
    let options = Options { trace: 2_000_000, trace_later: true, names: true, ..Options::default() };
    let disk = SimFs::new(options);
    let shared = Arc::new(ioscore::vm::shared::Shared::new(plan));
    let watcher = Second { disk: disk.clone(), seen: AtomicU32::new(0) };
    let options = TeamOptions { key: StreamKey::default(), epoch: 1_600_000_000, mark: false };
    let run = ioscore::vm::team::run(plan, &shared, |id| disk.worker(id), options, &watcher);
    (run, disk)
}

/// How often each call was made, by its name, its flags and its error.
fn counted(disk: &SimFs) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    disk.look(|event| {
        let mut key = event.op.name().to_string();
        if let Detail::Open { flags, mode } = event.detail {
            let flag = |bit: i32, letter: char| if flags & bit == bit { Some(letter) } else { None };
            let letters = [
                flag(libc::O_RDWR, 'w'),
                flag(libc::O_CREAT, 'c'),
                flag(libc::O_TRUNC, 't'),
                flag(libc::O_DIRECTORY, 'd'),
                flag(libc::O_NONBLOCK, 'n'),
                flag(libc::O_PATH, 'p'),
            ];
            key.extend([' '].into_iter().chain(letters.into_iter().flatten()));
            if flags & libc::O_CREAT != 0 {
                key += &format!(" {mode:o}");
            }
        }
        if let Err(errno) = event.result {
            key += &format!(" {}", ioscore::os::errno::name(errno).unwrap_or("?"));
        }
        *all.entry(key).or_insert(0) += 1;
    });
    all
}

/// What one whole pass of dbench 4.0 over its load makes, seen under strace: every call of the second
/// pass but those of the harness.
pub const PASS: &[(&str, u64)] = &[
    ("close", 178_449),
    ("fstat", 197_488),
    ("fsync", 5_553),
    ("getdents", 240_498),
    ("lock", 516),
    ("mkdir EEXIST", 12),
    ("open d", 11),
    ("open dn", 120_249),
    ("open dn ENOENT", 129),
    ("open w", 42_132),
    ("open w ENOENT", 21_030),
    ("open wc 600", 16_056),
    ("open wct 600", 1),
    ("pread", 124_199),
    ("pwrite", 39_502),
    ("rename", 3_355),
    ("stat", 109_006),
    ("stat ENOENT", 92_591),
    ("statfs", 13_168),
    ("unlink", 16_057),
    ("utimes", 6_454),
];

/// Requests of one pass.
const REQUESTS: &[(Kind, u64)] = &[
    (Kind::Read, 124_199),
    (Kind::Write, 39_502),
    (Kind::Open, 79_230),
    (Kind::Close, 58_200),
    (Kind::Fsync, 5_553),
    (Kind::Rename, 3_355),
    (Kind::Unlink, 16_000),
    (Kind::Rmdir, 0),
    (Kind::Mkdir, 1),
    (Kind::DeleteTree, 2),
    (Kind::QueryPath, 71_814),
    (Kind::QueryFile, 12_585),
    (Kind::QueryFs, 13_168),
    (Kind::SetFile, 6_454),
    (Kind::FindFirst, 27_765),
    (Kind::Lock, 258),
    (Kind::Unlock, 258),
    (Kind::Sleep, 0),
    (Kind::NotBefore, 0),
];
/// `clients`, the client's own, `~dmtmp` and the nine in it.
pub const KEPT_DIRECTORIES: u64 = 12;
const READ: u64 = 1_472_088_767;
const WRITTEN: u64 = 1_015_974_170;

#[test]
fn the_whole_load_makes_the_calls_of_the_original() {
    let test = "fidelity_dbench::the_whole_load";
    let Ok(text) = std::fs::read(LOAD) else { return skip(test, "dbench's client.txt is not installed") };
    let stream = loadfile::read(&text).expect("the load is one");
    assert_eq!(stream.entries.len(), 458_344);
    for (kind, count) in REQUESTS {
        assert_eq!(stream.count(*kind), *count, "{kind:?}");
    }
    assert_eq!(stream.bytes, (READ, WRITTEN));
    assert!(stream.memory() < 16 * stream.entries.len(), "{} bytes", stream.memory());
    assert!((23_900_000..24_000_000).contains(&stream.footprint), "{}", stream.footprint);
    assert!(stream.handles <= 23, "{}", stream.handles);
    drop(stream);

    let planned = plans("twice.yaml", &twice(Path::new(LOAD)), &[]).unwrap();
    let plan = &planned[0].1;
    let (run, disk) = simulate(plan);
    assert_eq!(run.fault, None);
    let mut expected: BTreeMap<String, u64> =
        PASS.iter().map(|(key, count)| (key.to_string(), *count)).collect();
    // The end of the run gives back the directories that were kept.
    *expected.get_mut("close").expect("it is in the list") += KEPT_DIRECTORIES;
    assert_eq!(counted(&disk), expected);
    assert_eq!(PASS.iter().map(|(_, count)| count).sum::<u64>(), 1_226_456);
    for (kind, count) in REQUESTS.iter().filter(|(kind, _)| !kind.key().is_empty()) {
        assert_eq!(total(plan, &run, "run", kind.key(), |stat| stat.ops), 2 * count, "{kind:?}");
        assert_eq!(total(plan, &run, "run", kind.key(), |stat| stat.errors), 0, "{kind:?}");
    }
    assert_eq!(total(plan, &run, "run", "read", |stat| stat.bytes), 2 * READ);
    assert_eq!(total(plan, &run, "run", "write", |stat| stat.bytes), 2 * WRITTEN);
}

/// The longest beginning of the load, of at most `most` lines, that leaves nothing open.
fn beginning(text: &str, most: usize) -> String {
    let (mut open, mut whole, mut at) = (0i64, 0, 0);
    for line in text.split_inclusive('\n').take(most) {
        at += line.len();
        match line.split(' ').next() {
            Some("NTCreateX") if line.contains("NT_STATUS_OK") => open += 1,
            Some("Close") => open -= 1,
            _ => {}
        }
        if open == 0 {
            whole = at;
        }
    }
    text[..whole].to_string()
}

/// The one difference a file system sees: a last symbolic link is not followed.
fn followed(call: &Syscall) -> Syscall {
    let mut call = call.clone();
    if call.name == "newfstatat"
        && let Some(flags) = call.args.get_mut(3)
        && flags == "AT_SYMLINK_NOFOLLOW"
    {
        *flags = "0".into();
    }
    call
}

#[test]
fn a_beginning_of_the_load_side_by_side() {
    let test = "fidelity_dbench::a_beginning";
    let Some([dbench, strace]) = need(test, ["dbench", "strace"]) else { return };
    let Ok(text) = std::fs::read_to_string(LOAD) else {
        return skip(test, "dbench's client.txt is not installed");
    };
    let (theirs_in, ours_in) = (scratch(), scratch());
    let (work, load) = (theirs_in.path().join("w"), theirs_in.path().join("load"));
    std::fs::create_dir(&work).expect("the work directory is made");
    let lines = beginning(&text, LINES);
    assert!(lines.lines().count() > 4000, "{}", lines.lines().count());
    std::fs::write(&load, lines).expect("the load is written");
    let traced = |seconds: &str| {
        let args = [
            "-t".as_ref(),
            seconds.as_ref(),
            "-D".as_ref(),
            work.as_os_str(),
            "-c".as_ref(),
            load.as_os_str(),
        ];
        Run::new(&dbench, args.into_iter().chain(["1".as_ref()]), theirs_in.path()).trace(&strace)
    };
    let whole = |trace: &common::strace::Trace| {
        !passes(&trace.calls, |call| call.name == "lseek" && call.paths.contains(&load)).is_empty()
    };
    // Two passes take a few seconds, and longer where an fsync does.
    let mut trace = traced("4");
    for seconds in ["12", "40", "120"] {
        if !whole(&trace) {
            trace = traced(seconds);
        }
    }
    let theirs = passes(&trace.calls, |call| call.name == "lseek" && call.paths.contains(&load));
    let theirs = theirs.first().unwrap_or_else(|| panic!("no whole second pass: {}", trace.stdout));
    let theirs = Multiset::of(under(theirs, &work));

    let file = ours_in.path().join("twice.yaml");
    std::fs::write(&file, twice(&load)).expect("the profile is written");
    let trace = ours::trace(&strace, ours_in.path(), file.to_str().expect("text"), &[], &[]);
    let phases = trace.phases().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(phases.len(), 2);
    let target = ours_in.path().join("t");
    let ours = phases[1].1.iter().filter(|call| call.paths.iter().any(|path| path.starts_with(&target)));
    let second: Vec<Syscall> = ours.map(|call| followed(call)).collect();
    common::assert_same(&Multiset::of(second.iter()), &theirs);
}

#[test]
fn other_clients_have_their_own_directories_and_failures_end_the_row() {
    let dir = scratch();
    let load = dir.path().join("load");
    let text = "Mkdir \"\\clients\" NT_STATUS_OK\n\
        NTCreateX \"\\clients\\client1\" 0x1 0x2 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n\
        NTCreateX \"\\clients\\client1\\a\" 0x40 0x2 2 NT_STATUS_OK\nWriteX 2 0 4096 4096 NT_STATUS_OK\n\
        Flush 2 NT_STATUS_OK\nClose 2 NT_STATUS_OK\n\
        NTCreateX \"\\clients\\client1\\A\" 0x40 0x1 3 NT_STATUS_OK\nReadX 3 0 4096 4096 NT_STATUS_OK\n\
        Close 3 NT_STATUS_OK\nUnlink \"\\clients\\client1\\b\" 0x6 NT_STATUS_OK\n";
    std::fs::write(&load, text).expect("the load is written");
    let step = format!(
        "{{replay: {}, format: loadfile, in: tree, replace: {{client1: \"client{{worker}}\"}}, data: zero}}",
        load.display()
    );
    let body = format!(
        "workers: 3\nfiles: {{tree: {{dir: .}}}}\nphases: [{{phase: run, repeat: 2, steps: [{step}]}}]\n"
    );
    let planned = plans("t.yaml", &profile(&body), &[]).unwrap();
    let plan = &planned[0].1;
    let names = Options { names: true, ..Options::default() };
    let (run, disk) = common::pipeline::simulate(plan, names.clone(), StreamKey::default());
    assert_eq!(run.fault, None);
    for client in 0..3 {
        assert_eq!(disk.stat(&format!("clients/client{client}/a")).unwrap().size, 4096);
    }
    let count = |key: &str, of: fn(&ioscore::vm::stat::Stat) -> u64| total(plan, &run, "run", key, of);
    // A name in another case is found; a file that is not there cannot be deleted, and that is told.
    assert_eq!((count("read", |s| s.ops), count("read", |s| s.errors)), (6, 0));
    assert_eq!((count("unlink", |s| s.ops), count("unlink", |s| s.errors)), (6, 6));

    let full = Options { space: 1 << 13, ..names };
    let (run, _) = common::pipeline::simulate(plan, full, StreamKey::default());
    let (_, fault) = run.fault.expect("the disk is full");
    assert_eq!(fault.errno.map(|errno| errno.0), Some(libc::ENOSPC));
    assert!(fault.path.starts_with("clients/client") && fault.path.ends_with("/a"), "{}", fault.path);
}

#[test]
fn a_load_that_cannot_be_used_is_a_mistake_of_the_profile() {
    let dir = scratch();
    let load = dir.path().join("load");
    std::fs::write(&load, "Mkdir \"\\a\" NT_STATUS_OK\nFlush 7 NT_STATUS_OK\n").expect("it is written");
    let problems = plans("twice.yaml", &twice(&load), &[]).expect_err("handle 7 was never opened");
    assert!(problems.contains("load:2:7: handle 7 is not open here"), "{problems}");
    assert!(problems.contains("an NTCreateX that succeeds must open it first"), "{problems}");
    let problems = plans("twice.yaml", &twice(&dir.path().join("none")), &[]).expect_err("no file");
    assert!(problems.contains("No such file"), "{problems}");
}
