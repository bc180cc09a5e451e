//! Engines as users meet them: what the kernel refuses ends its own row with the error and the next
//! step, the suite goes on, and a way out that was taken is in the record.

mod common;
mod program;

use std::process::Command;

use common::{need, skip};
use program::{Place, rows};
use serde_json::Value;

/// One case through the engine to be tested, one of plain calls after it.
const ENGINES: &str = "\
profile: engines
version: 1.0.0
title: Engines
summary: A test of tests.
params:
  engine: {type: choice, of: [sync, libaio, io_uring, mmap], default: sync}
  depth: {type: count, default: 8}
  direct: {type: choice, of: [require, prefer, never], default: never}
cases:
  - {id: tried, title: Tried, with: {engine: ENGINE, depth: DEPTH, direct: DIRECT}}
  - {id: after, title: After, with: {depth: 1}}
engine: {name: \"{{ engine }}\", depth: \"{{ depth }}\", direct: \"{{ direct }}\"FALLBACK}
files:
  data: {count: 1, size: 256KiB}
phases:
  - phase: run
    repeat: 100
    steps:
      - STEP
results:
  - {name: Operations, value: run.ops.total, better: higher, primary: true}
";

const READ: &str = "{read: 4KiB, in: data, at: random}";

/// The profile with its capitals filled in.
fn profile(engine: &str, depth: u32, direct: &str, fallback: &str, step: &str) -> String {
    let fallback = if fallback.is_empty() { String::new() } else { format!(", fallback: [{fallback}]") };
    let text = ENGINES.replace("ENGINE", engine).replace("DEPTH", &depth.to_string());
    text.replace("DIRECT", direct).replace("FALLBACK", &fallback).replace("STEP", step)
}

const RUN: [&str; 8] = ["run", "engines.yaml", "--target", "t", "--runs", "1", "--name", "one"];

/// Runs it behind the command `before`: exit code, error output, the row of the case in question.
fn behind(text: &str, before: &[&str]) -> (Option<i32>, String, Value) {
    let place = Place::with(&[text]);
    let mut command = Command::new(before[0]);
    command.args(&before[1..]).arg(env!("CARGO_BIN_EXE_ioscore")).args(RUN).current_dir(place.path());
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(place.record_path("one").exists(), "no record ({}): {said}", output.status);
    let record = place.record("one");
    let [row, after] = rows(&record) else { panic!("two rows: {record}") };
    assert_eq!(after["status"], "ok", "the suite goes on: {after}");
    if row["status"] != "ok" {
        is_printed(row, &String::from_utf8_lossy(&output.stdout));
        is_printed(row, &said);
    }
    assert!(place.left().is_empty(), "the target is clean again");
    (output.status.code(), said, row.clone())
}

/// What is wrong with a row and what to do about it is told to whoever looks on.
#[track_caller]
fn is_printed(row: &Value, text: &str) {
    for key in ["message", "what_to_do"] {
        let words = row["reason"][key].as_str().unwrap_or_default();
        assert!(!words.is_empty() && text.contains(words), "{key} {words:?} is not printed: {text}");
    }
}

/// The same with system calls that fail: `io_setup:error=EAGAIN`.
fn refusing(strace: &str, text: &str, refused: &[&str]) -> (Option<i32>, String, Value) {
    let inject: Vec<String> = refused.iter().map(|what| format!("inject={what}")).collect();
    let mut before = vec![strace, "-f", "-qq", "-o", "/dev/null"];
    inject.iter().for_each(|inject| before.extend(["-e", inject]));
    before.push("--");
    behind(text, &before)
}

fn strace(test: &str) -> Option<String> {
    need(test, ["strace"]).map(|[strace]| strace.display().to_string())
}

#[track_caller]
fn ends(row: &Value, status: &str, errno: &str, message: &str, todo: &str) {
    assert_eq!((&row["status"], &row["reason"]["errno"]), (&status.into(), &errno.into()), "{row}");
    let text = |key: &str| row["reason"][key].as_str().unwrap_or_default().to_string();
    assert!(text("message").contains(message), "{message}: {row}");
    assert!(text("what_to_do").contains(todo), "{todo}: {row}");
    assert!(row.get("runs").is_none_or(|runs| runs.as_array().is_none_or(Vec::is_empty)), "numbers: {row}");
}

#[test]
fn every_engine_does_the_work_and_is_in_the_record() {
    for (engine, depth) in [("sync", 1), ("libaio", 16), ("io_uring", 16), ("mmap", 1)] {
        for step in [READ, "{write: 4KiB, in: data, at: random}"] {
            let (code, said, row) = behind(&profile(engine, depth, "never", "", step), &["env"]);
            assert_eq!(code, Some(0), "{engine}: {said}");
            assert_eq!((&row["status"], &row["engine"]["used"]), (&"ok".into(), &engine.into()), "{row}");
            let run = &row["runs"][0];
            assert_eq!(run["values"]["Operations"], 100.0, "{engine} {step}: {run}");
            let reached = run["effective"]["depth"].as_f64();
            match depth {
                1 => assert_eq!(reached, None, "{run}"),
                _ => assert!(reached.is_some_and(|depth| depth > 1.0 && depth <= 16.0), "{run}"),
            }
        }
    }
}

#[test]
fn a_ring_refused_by_a_sandbox_ends_its_row_only() {
    let Some(strace) = strace("a_ring_refused_by_a_sandbox_ends_its_row_only") else { return };
    for errno in ["EPERM", "ENOSYS"] {
        let refused = format!("io_uring_setup:error={errno}");
        let (code, said, row) = refusing(&strace, &profile("io_uring", 8, "never", "", READ), &[&refused]);
        assert_ne!(code, Some(0), "{said}");
        ends(&row, "unsupported", errno, "io_uring_setup", "fallback");
    }
}

#[test]
fn slots_of_libaio_that_are_used_up_end_its_row_only() {
    let Some(strace) = strace("slots_of_libaio_that_are_used_up_end_its_row_only") else { return };
    let text = profile("libaio", 8, "never", "", READ);
    let (code, said, row) = refusing(&strace, &text, &["io_setup:error=EAGAIN"]);
    assert_ne!(code, Some(0), "{said}");
    ends(&row, "unsupported", "EAGAIN", "io_setup", "aio-max-nr");
}

#[test]
fn the_way_out_that_was_taken_is_in_the_record() {
    let Some(strace) = strace("the_way_out_that_was_taken_is_in_the_record") else { return };
    let text = profile("io_uring", 8, "never", "libaio, sync", READ);
    let ring = "io_uring_setup:error=EPERM";
    for (refused, taken) in [(&[ring][..], "libaio"), (&[ring, "io_setup:error=EAGAIN"], "sync")] {
        let (code, said, row) = refusing(&strace, &text, refused);
        assert_eq!((code, &row["status"]), (Some(0), &"ok".into()), "{said}{row}");
        assert_eq!(row["engine"]["used"], taken, "{row}");
        let run = &row["runs"][0];
        assert_eq!(run["values"]["Operations"], 100.0, "{run}");
        let notes = run["effective"]["fallbacks"].to_string();
        assert!(notes.contains("io_uring_setup: EPERM") && notes.contains(taken), "{notes}");
        let engine = &run["effective"]["engines"][0];
        assert_eq!((&engine["asked"], &engine["used"]), (&"io_uring".into(), &taken.into()), "{engine}");
    }
}

#[test]
fn little_locked_memory_only_leaves_the_buffers_unregistered() {
    let name = "little_locked_memory_only_leaves_the_buffers_unregistered";
    let Some([prlimit, setpriv]) = need(name, ["prlimit", "setpriv"]) else { return };
    let [prlimit, setpriv] = [prlimit, setpriv].map(|path| path.display().to_string());
    // The limit does not bind whoever has CAP_IPC_LOCK.
    let mut before = vec![prlimit.as_str(), "--memlock=65536:65536"];
    let drop_it = [setpriv.as_str(), "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"];
    let root = Command::new(drop_it[0]).args(&drop_it[1..]).arg("true").output();
    if root.is_ok_and(|output| output.status.success()) {
        before.extend(drop_it);
    }
    let (code, said, row) = behind(&profile("io_uring", 32, "never", "", READ), &before);
    assert_eq!(
        (code, &row["status"], &row["engine"]["used"]),
        (Some(0), &"ok".into(), &"io_uring".into()),
        "{said}{row}"
    );
    let effective = &row["runs"][0]["effective"];
    assert_eq!(effective["queue"]["registered_buffers"], false, "{effective}");
    assert!(effective["fallbacks"].to_string().contains("locked memory"), "{effective}");
}

/// Runs it in a file system of its own that is mounted over the target.
fn mounted(test: &str, text: &str, mount: &str, more: &[&str]) -> Option<(String, Value, Value)> {
    let place = Place::with(&[text]);
    let script = format!("mount {mount} none t && exec \"$0\" \"$@\"");
    let mut probe = Command::new("unshare");
    probe.args(["--mount", "sh", "-c", &format!("mount {mount} none t")]).current_dir(place.path());
    if !probe.output().is_ok_and(|output| output.status.success()) {
        skip(test, "mounting needs root");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_ioscore")]).args(RUN).args(more);
    let output = command.current_dir(place.path()).output().expect("the shell starts");
    let record = place.record("one");
    let [row, after] = rows(&record) else { panic!("two rows: {record}") };
    Some((String::from_utf8_lossy(&output.stderr).into_owned(), row.clone(), after.clone()))
}

#[test]
fn direct_io_refused_when_a_file_is_opened() {
    let name = "direct_io_refused_when_a_file_is_opened";
    // ramfs is nothing but page cache.
    let run =
        |direct| mounted(name, &profile("sync", 1, direct, "", READ), "-t ramfs", &["--allow", "space"]);
    let Some((said, row, after)) = run("require") else { return };
    assert_eq!((&row["status"], &after["status"]), (&"unsupported".into(), &"ok".into()), "{said}{row}");
    ends(&row, "unsupported", "EINVAL", "direct open", "without direct I/O");
    is_printed(&row, &said);
    let Some((said, row, _)) = run("prefer") else { return };
    assert_eq!(row["status"], "ok", "{said}{row}");
    let effective = &row["runs"][0]["effective"];
    assert_eq!(effective["direct"], "buffered", "{effective}");
    assert!(effective["fallbacks"].to_string().contains("refused by the first open (EINVAL"), "{effective}");
}

#[test]
fn direct_io_refused_by_the_first_transfer_only() {
    let Some(strace) = strace("direct_io_refused_by_the_first_transfer_only") else { return };
    // Writes into a file that has no layout: the first pwrite is the step's.
    let write = "{write: 4KiB, in: data, at: random}";
    for (engine, depth, step, refused, call) in [
        ("libaio", 8, READ, "io_submit:error=EINVAL:when=1", "read"),
        ("libaio", 8, write, "io_submit:error=EINVAL:when=1", "write"),
        ("sync", 1, write, "pwrite64:error=EINVAL:when=1", "write"),
    ] {
        let laid_out = |text: String| text.replace("size: 256KiB}", "size: 256KiB, layout: none}");
        let text = |direct| match step {
            READ => profile(engine, depth, direct, "", step),
            _ => laid_out(profile(engine, depth, direct, "", step)),
        };
        // Every thread's first pwrite is refused: the case after it makes none.
        let after = |text: String| text.replace("{depth: 1}}", "{depth: 1, engine: mmap}}");
        let text = |direct| if engine == "sync" { after(text(direct)) } else { text(direct) };
        let (code, said, row) = refusing(&strace, &text("require"), &[refused]);
        assert_ne!(code, Some(0), "{said}");
        ends(&row, "unsupported", "EINVAL", &format!("direct {call}"), "without direct I/O");
        let (code, said, row) = refusing(&strace, &text("prefer"), &[refused]);
        assert_eq!((code, &row["status"]), (Some(0), &"ok".into()), "{engine} {call}: {said}{row}");
        let run = &row["runs"][0];
        assert_eq!(run["values"]["Operations"], 100.0, "{run}");
        assert_eq!(run["effective"]["direct"], "buffered", "{run}");
        let notes = run["effective"]["fallbacks"].to_string();
        assert!(notes.contains(&format!("refused by the first {call} (EINVAL")), "{engine} {call}: {notes}");
    }
}

#[test]
fn a_full_disk_under_a_mapping_ends_its_row_only() {
    let name = "a_full_disk_under_a_mapping_ends_its_row_only";
    // Holes, more of them than there is room for.
    let text = profile("mmap", 1, "never", "", "{write: 64KiB, in: data}")
        .replace("size: 256KiB}", "size: 8MiB, layout: none}")
        .replace(
            "{id: after, title: After, with: {depth: 1}}",
            "{id: after, title: After, with: {depth: 1, count: 1}}",
        )
        .replace("repeat: 100", "repeat: \"{{ count }}\"")
        .replace("  depth: {type", "  count: {type: count, default: 100}\n  depth: {type");
    let Some((said, row, after)) = mounted(name, &text, "-t tmpfs -o size=1m", &["--allow", "space"]) else {
        return;
    };
    ends(&row, "failed", "ENOSPC", "ENOSPC after", "make room");
    is_printed(&row, &said);
    assert_eq!(after["status"], "ok", "{said}{after}");
}

/// Three engines in one case: by the profile, by a phase, by a step.
const MANY: &str = "\
profile: engines
version: 1.0.0
title: Engines
summary: A test of tests.
cases:
  - {id: tried, title: Tried}
  - {id: after, title: After}
engine: {name: io_uring, depth: 16}
files:
  data: {count: 1, size: 256KiB}
phases:
  - {phase: ring, repeat: 400, steps: [READ]}
  - {phase: older, engine: {name: libaio, depth: 4}, repeat: 400, steps: [READ]}
  - phase: both
    repeat: 100
    steps:
      - {label: queued, read: 4KiB, in: data, at: random}
      - {label: plain, read: 4KiB, in: data, at: random, engine: sync}
results:
  - {name: Operations, value: ring.ops.total, better: higher, primary: true}
";

#[test]
fn each_engine_of_a_case_has_its_own_entry() {
    let (code, said, row) = behind(&MANY.replace("READ", READ), &["env"]);
    assert_eq!(code, Some(0), "{said}");
    let effective = &row["runs"][0]["effective"];
    let entries = effective["engines"].as_array().expect("entries");
    let seen: Vec<_> = entries.iter().map(|e| (&e["asked"], &e["used"], &e["depth_asked"])).collect();
    let expected = [("io_uring", 16), ("libaio", 4), ("sync", 1)].map(|(n, d)| (n.into(), d.into()));
    assert_eq!(seen, expected.iter().map(|(n, d)| (n, n, d)).collect::<Vec<(&Value, &Value, &Value)>>());
    let uses: Vec<_> = entries.iter().map(|e| e["used_by"].to_string()).collect();
    assert_eq!(uses, [r#"["ring","both.queued"]"#, r#"["older"]"#, r#"["both.plain"]"#]);
    let depth = |at: usize| entries[at]["depth"].as_f64();
    assert!(depth(0).is_some_and(|depth| depth > 4.0 && depth <= 16.0), "{effective}");
    assert!(depth(1).is_some_and(|depth| depth > 1.0 && depth <= 4.0), "{effective}");
    assert_eq!(depth(2), None, "{effective}");
    let calls = |at: usize| entries[at]["queue"]["submissions"].as_u64().unwrap_or(0);
    assert!(calls(0) > 0 && calls(1) > 0 && entries[2]["queue"].is_null(), "{effective}");
    assert!(
        effective["depth"].is_null() && effective["queue"].is_null(),
        "no number of several: {effective}"
    );
}

/// A loop device with large sectors and a file system on it, gone when this is.
struct LargeSectors {
    place: Place,
    device: String,
}

impl LargeSectors {
    /// None where it cannot be made here.
    fn new(test: &str, text: &str) -> Option<LargeSectors> {
        let [losetup, mkfs] = need(test, ["losetup", "mkfs.ext4"])?;
        let place = Place::with(&[text]);
        let image = place.path().join("image");
        let file = std::fs::File::create(&image).expect("the image is made");
        file.set_len(256 << 20).expect("the image has its size");
        let mut attach = Command::new(losetup);
        attach.args(["--find", "--show", "--sector-size", "4096"]).arg(&image);
        let output = attach.output().expect("losetup starts");
        if !output.status.success() {
            skip(test, "loop devices with large sectors need root");
            return None;
        }
        let device = String::from_utf8_lossy(&output.stdout).trim().to_string();
        let made = LargeSectors { place, device };
        let target = made.place.path().join("t");
        let mkfs = Command::new(mkfs).args(["-q", "-F"]).arg(&made.device).output().expect("mkfs starts");
        assert!(mkfs.status.success(), "{}", String::from_utf8_lossy(&mkfs.stderr));
        let mount = Command::new("mount").arg(&made.device).arg(&target).output().expect("mount starts");
        if !mount.status.success() {
            skip(test, "mounting needs root");
            return None;
        }
        Some(made)
    }
}

impl Drop for LargeSectors {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.place.path().join("t")).output();
        let _ = Command::new("losetup").args(["--detach", &self.device]).output();
    }
}

#[test]
fn direct_io_refused_with_several_transfers_in_flight() {
    let test = "direct_io_refused_with_several_transfers_in_flight";
    // A sector holds eight of the blocks: the file opens, the transfers are refused.
    let read = READ.replace("4KiB", "512");
    let write = "{write: 512, in: data, at: random}";
    for (engine, depth) in [("libaio", 4), ("libaio", 16), ("io_uring", 4), ("io_uring", 16)] {
        for (step, call) in [(read.as_str(), "read"), (write, "write")] {
            for direct in ["prefer", "require"] {
                let text = profile(engine, depth, direct, "", step);
                let Some(disk) = LargeSectors::new(test, &text) else { return };
                let mut command = Command::new(env!("CARGO_BIN_EXE_ioscore"));
                command.args(RUN).args(["--allow", "alignment"]).current_dir(disk.place.path());
                let output = command.output().expect("the program starts");
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                let record = disk.place.record("one");
                let what = format!("{engine} {depth} {call} {direct}: {said}{record}");
                let row = &rows(&record)[0];
                if direct == "require" {
                    ends(row, "unsupported", "EINVAL", "direct", "direct");
                    continue;
                }
                assert_eq!(row["status"], "ok", "{what}");
                let run = &row["runs"][0];
                assert_eq!(run["values"]["Operations"], 100.0, "{what}");
                assert_eq!(run["effective"]["direct"], "buffered", "{what}");
                let notes = run["effective"]["fallbacks"].to_string();
                assert!(notes.contains(&format!("refused by the first {call} (EINVAL")), "{what}");
            }
        }
    }
}

#[test]
fn direct_io_that_nothing_refused_is_recorded_as_asked() {
    // Whether the kernel went past its cache is another question.
    for (direct, word) in [("require", "asked"), ("never", "buffered")] {
        let (_, said, row) = behind(&profile("libaio", 4, direct, "", READ), &["env"]);
        if row["status"] == "unsupported" {
            skip("direct_io_that_nothing_refused_is_recorded_as_asked", "no direct I/O here");
            return;
        }
        let effective = &row["runs"][0]["effective"];
        assert_eq!(effective["direct"], word, "{said}{effective}");
        assert_eq!(effective["engines"][0]["direct_asked"], direct, "{effective}");
        assert_eq!(effective["engines"][0]["used_by"].to_string(), r#"["run"]"#, "{effective}");
    }
}
