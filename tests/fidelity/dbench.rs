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
pub const LOAD: &str = "/usr/share/dbench/client.txt";

/// Two passes, each an execution of the phase.
pub fn twice(load: &Path) -> String {
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
    if call.name == "lgetxattr" {
        call.name = "getxattr".into();
    }
    if call.name == "newfstatat"
        && let Some(flags) = call.args.get_mut(3)
        && flags == "AT_SYMLINK_NOFOLLOW"
    {
        *flags = "0".into();
    }
    call
}

/// One whole second pass of dbench over a load, with more arguments before the number of clients.
fn second_pass(dbench: &Path, strace: &Path, load: &Path, seconds: &[&str], more: &[&str]) -> Multiset {
    let dir = scratch();
    let work = dir.path().join("w");
    std::fs::create_dir(&work).expect("the work directory is made");
    let mut said = String::new();
    for seconds in seconds {
        let mut args = vec!["-t".as_ref(), seconds.as_ref(), "-D".as_ref(), work.as_os_str(), "-c".as_ref()];
        args.push(load.as_os_str());
        args.extend(more.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
        args.push("1".as_ref());
        let trace = Run::new(dbench, args, dir.path()).trace(strace);
        let passes = passes(&trace.calls, |call| call.name == "lseek" && call.paths.contains(&load.into()));
        if let Some(pass) = passes.first() {
            return Multiset::of(under(pass, &work));
        }
        said = trace.stdout;
    }
    panic!("no whole second pass: {said}")
}

/// Our second pass over the same load, brought to the same names.
fn our_second_pass(strace: &Path, load: &Path, options: &str) -> Multiset {
    let dir = scratch();
    let file = dir.path().join("twice.yaml");
    let text = twice(load).replace("data: zero}", &format!("data: zero, options: {{{options}}}}}"));
    assert!(text.contains(options));
    std::fs::write(&file, text).expect("the profile is written");
    let trace = ours::trace(strace, dir.path(), file.to_str().expect("text"), &[], &[]);
    let phases = trace.phases().unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(phases.len(), 2);
    let target = dir.path().join("t");
    // Attributes of names are asked for through the descriptor of their directory.
    let places = [target.as_path(), Path::new("/proc/thread-self/fd")];
    let here = |call: &&&Syscall| call.paths.iter().any(|path| places.iter().any(|p| path.starts_with(p)));
    let second: Vec<Syscall> = phases[1].1.iter().filter(here).map(|call| followed(call)).collect();
    Multiset::of(second.iter())
}

#[test]
fn a_beginning_of_the_load_side_by_side() {
    let test = "fidelity_dbench::a_beginning";
    let Some([dbench, strace]) = need(test, ["dbench", "strace"]) else { return };
    let Ok(text) = std::fs::read_to_string(LOAD) else {
        return skip(test, "dbench's client.txt is not installed");
    };
    let dir = scratch();
    let load = dir.path().join("load");
    let lines = beginning(&text, LINES);
    assert!(lines.lines().count() > 4000, "{}", lines.lines().count());
    std::fs::write(&load, lines).expect("the load is written");
    // Two passes take a few seconds, and longer where an fsync does.
    let theirs = second_pass(&dbench, &strace, &load, &["4", "12", "40", "120"], &[]);
    common::assert_same(&our_second_pass(&strace, &load, ""), &theirs);
}

/// Every kind of request, on files and on directories, as recorded and otherwise.
const EVERY_KIND: &str = r#"Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
SET_FILE_INFORMATION 1 258 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x2 2 NT_STATUS_OK
WriteX 2 0 65536 65536 NT_STATUS_OK
ReadX 2 0 4096 4096 NT_STATUS_OK
Flush 2 NT_STATUS_OK
LockX 2 2147483538 1 NT_STATUS_OK
UnlockX 2 2147483538 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 2 258 NT_STATUS_OK
SET_FILE_INFORMATION 2 258 NT_STATUS_OK
Close 2 NT_STATUS_OK
NTCreateX "\clients\client1\missing" 0x40 0x1 3 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a" 0x40 0x5 4 NT_STATUS_OK
Close 4 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x1 5 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1" 0x40 0x1 6 NT_STATUS_OK
QUERY_FILE_INFORMATION 6 258 NT_STATUS_OK
SET_FILE_INFORMATION 6 258 NT_STATUS_OK
Close 6 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 1 NT_STATUS_OK
Rename "\clients\client1\a" "\clients\client1\b" NT_STATUS_OK
NTCreateX "\clients\client1\kept" 0x40 0x2 7 NT_STATUS_OK
Close 7 NT_STATUS_OK
Unlink "\clients\client1\b" 0x6 NT_STATUS_OK
Mkdir "\clients\client1\d" NT_STATUS_OK
Rmdir "\clients\client1\d" NT_STATUS_OK
NTCreateX "\clients\client1\sub" 0x1 0x2 8 NT_STATUS_OK
Close 8 NT_STATUS_OK
NTCreateX "\clients\client1\sub\f" 0x40 0x2 9 NT_STATUS_OK
Close 9 NT_STATUS_OK
"#;

/// Whether the original gives up on this file system, because it has no extended attributes.
fn refuses_attributes(dbench: &Path, load: &Path) -> bool {
    let dir = scratch();
    let mut command = std::process::Command::new(dbench);
    command.args(["-t", "1", "-x", "-D"]).arg(dir.path()).arg("-c").arg(load).arg("1");
    let output = command.output().expect("dbench starts");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    !output.status.success() && said.contains("setxattr failed - Operation not supported")
}

#[test]
fn every_option_makes_the_calls_of_the_original() {
    let test = "fidelity_dbench::every_option";
    let Some([dbench, strace]) = need(test, ["dbench", "strace"]) else { return };
    let dir = scratch();
    let load = dir.path().join("load");
    std::fs::write(&load, EVERY_KIND).expect("the load is written");
    for (theirs, ours) in [
        (None, ""),
        (Some("-x"), "attributes: true"),
        (Some("-s"), "sync_open: true"),
        (Some("-S"), "sync_dirs: true"),
        (Some("-F"), "sync_writes: true"),
        (Some("--no-resolve"), "no_resolve: true"),
    ] {
        let more: Vec<&str> = theirs.into_iter().collect();
        if theirs == Some("-x") && refuses_attributes(&dbench, &load) {
            // Only zfs-fuse is known to have no extended attributes: the original ends there.
            if std::env::var(crate::everywhere::INSIDE).as_deref() != Ok(common::places::OPTIONAL) {
                skip(test, "the file system has no extended attributes");
            }
            continue;
        }
        let original = second_pass(&dbench, &strace, &load, &["2", "8"], &more);
        if theirs == Some("-x") {
            let calls = ["getxattr", "fgetxattr", "fsetxattr"].map(|class| original.class(class));
            if calls.contains(&0) {
                skip(test, "this dbench, or the file system, has no extended attributes");
                continue;
            }
        }
        let seen = our_second_pass(&strace, &load, ours);
        assert!(!original.is_empty());
        assert!(seen.difference(&original).is_none(), "{ours}:\n{}", seen.difference(&original).unwrap());
    }
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
    let told = run.unexpected.clone().expect("it is told");
    let (place, rest) = told.split_once(", was").expect("it says what came");
    assert!(
        place.starts_with("line 11 of the load, unlink clients/client") && place.ends_with("/b"),
        "{told}"
    );
    assert!(rest.starts_with(" recorded as a success and failed: ENOENT"), "{told}");

    let full = Options { space: 1 << 13, ..names };
    let (run, _) = common::pipeline::simulate(plan, full, StreamKey::default());
    let (_, fault) = run.fault.expect("the disk is full");
    assert_eq!(fault.errno.map(|errno| errno.0), Some(libc::ENOSPC));
    assert!(fault.path.starts_with("clients/client") && fault.path.ends_with("/a"), "{}", fault.path);
}

/// What the first request that ended otherwise than recorded is told as, on the simulation.
fn told(load: &str) -> Option<String> {
    let dir = scratch();
    let file = dir.path().join("load");
    std::fs::write(&file, load).expect("the load is written");
    let planned = plans("t.yaml", &twice(&file), &[]).unwrap();
    let names = Options { names: true, ..Options::default() };
    let (run, _) = common::pipeline::simulate(&planned[0].1, names, StreamKey::default());
    assert_eq!(run.fault, None);
    run.unexpected
}

#[test]
fn the_first_request_that_ends_otherwise_is_told_with_its_line() {
    let open = "NTCreateX \"\\a\" 0x40 0x2 1 0x0\n";
    let close = "Close 1 0x0\n";
    assert_eq!(told(&format!("{open}WriteX 1 0 10 10 0x0\nReadX 1 0 10 10 0x0\n{close}")), None);
    for (load, expected) in [
        (
            format!("{open}\n# short\nReadX 1 0 10 10 0x0\n{close}"),
            "line 4 of the load, read a, was recorded with 10 bytes and moved 0",
        ),
        (
            format!("{open}{close}{}", open.replace("0x0\n", "0xC0000034\n")),
            "line 3 of the load, open a, was recorded as a failure and succeeded",
        ),
        (
            format!("NTCreateX \"\\a\" 0x40 0x1 1 0x0\nFlush 1 0x0\n{close}"),
            "line 1 of the load, open a, was recorded as a success and failed: ENOENT (no such file or directory)",
        ),
        (
            "Rename \"\\x\" \"\\y\" 0x0\n".to_string(),
            "line 1 of the load, rename x, was recorded as a success and failed: ENOENT (no such file or directory)",
        ),
    ] {
        assert_eq!(told(&load).as_deref(), Some(format!("{expected} (worker 0)").as_str()), "{load}");
    }
}

/// Ten virtual seconds of one pass a second, as its rate or as its recorded times have it.
#[test]
fn a_rate_holds_request_by_request_and_recorded_times_hold_without_one() {
    let dir = scratch();
    let load = dir.path().join("load");
    let mut text =
        "NTCreateX \"\\client1\" 0x1 0x2 1 0x0\nClose 1 0x0\nNTCreateX \"\\client1\\a\" 0x40 0x5 1 0x0\n"
            .to_string();
    for at in 0..16 {
        text += &format!("WriteX 1 {} 65536 65536 0x0\n", at * 65536);
    }
    text += "2.0 Flush 1 0x0\nClose 1 0x0\n";
    std::fs::write(&load, text).expect("the load is written");
    let run = |rate: &str| {
        let body = format!(
            "workers: 2\nfiles: {{tree: {{dir: .}}}}\nphases:\n  - {{phase: run, for: 10s, {rate} steps: [{{replay: \"{}\", \
             format: loadfile, in: tree, replace: {{client1: \"client{{worker}}\"}}, data: zero}}]}}\n",
            load.display()
        );
        let planned = plans("t.yaml", &profile(&body), &[]).unwrap_or_else(|e| panic!("{e}"));
        let plan = &planned[0].1;
        let (run, _) = common::pipeline::simulate(plan, Options::default(), StreamKey::default());
        assert_eq!((run.fault.as_ref(), run.unexpected.as_ref()), (None, None));
        (plan.clone(), run)
    };
    for debt in ["", ", debt: false"] {
        let (plan, run) = run(&format!("rate: {{bytes: 1MiB{debt}}},"));
        // Two workers with a rate each; one write more where the time ends.
        let bytes = total(&plan, &run, "run", "write", |s| s.bytes);
        assert!((20 << 20..=(20 << 20) + 4 * 65536).contains(&bytes), "{bytes} with{debt}");
        // From one write to the next, not all of a pass at once: every second has its share.
        let seconds = ioscore::run::numbers::seconds(&plan, &run);
        let shares: Vec<u64> = seconds[0].bytes.iter().take(9).copied().collect();
        assert_eq!(shares.len(), 9);
        assert!(shares.iter().all(|b| b.abs_diff(2 << 20) <= 4 * 65536), "{shares:?}");
    }
    // Two seconds a pass, in which everything is written at its beginning.
    let (plan, run) = run("");
    let flushes = total(&plan, &run, "run", "fsync", |s| s.ops);
    assert!((8..=10).contains(&flushes), "{flushes}");
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
