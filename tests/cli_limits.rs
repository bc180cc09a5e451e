//! What a machine can run out of or refuse: room, inodes, rights, descriptors, file sizes.

mod common;
mod program;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::skip;
use program::{Place, rows};

/// A case that writes `size`, and one that writes little.
const ROOM: &str = "\
profile: room
version: 1.0.0
title: Room
summary: A test of tests.
params: {size: {type: size, default: 10MiB}, count: {type: count, default: 1}}
cases:
  - {id: big, title: Big}
  - {id: little, title: Little, with: {size: 4KiB}}
files:
  data: {name: \"{n}\", per: worker}
phases:
  - phase: fill
    repeat: \"{{ count }}\"
    steps: [{create: data}, {write: \"{{ size }}\", block: 64KiB}, close]
results:
  - {name: Rate, value: fill.write.bytes.rate, unit: MiB/s, better: higher, primary: true}
";

/// Runs the program in a mount namespace of its own, after `before`; behind its output stand the
/// names left in the target. `None` where the machine does not allow it.
fn in_namespace(
    test: &str,
    place: &Place,
    before: &str,
    arguments: &[&str],
) -> Option<(i32, String, String)> {
    let mut root = Command::new("unshare");
    root.args(["--mount", "mount", "-t", "tmpfs", "none", "t"]).current_dir(place.path());
    if !root.output().is_ok_and(|output| output.status.success()) {
        skip(test, "mounting needs root");
        return None;
    }
    let script = format!("{before} && {{ \"$0\" \"$@\"; code=$?; echo left: $(ls -A t); exit $code; }}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, env!("CARGO_BIN_EXE_ioscore")]).args(arguments);
    let output = command.current_dir(place.path()).output().expect("the shell starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some((output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr)))
}

const RUN: [&str; 8] = ["run", "room.yaml", "--target", "t", "--runs", "1", "--name", "one"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    RUN.iter().copied().chain(more.iter().copied()).collect()
}

#[test]
fn a_target_that_is_full_fails_the_case_and_the_next_one_runs() {
    let place = Place::with(&[ROOM]);
    let small = "mount -t tmpfs -o size=1m none t";
    let name = "a_target_that_is_full_fails_the_case_and_the_next_one_runs";
    // Known beforehand, it is refused; the little one needs more to spare than there is, too.
    let Some((code, out, err)) = in_namespace(name, &place, small, &RUN) else { return };
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("free on the target") && out.ends_with("left:\n"), "{out}{err}");

    let place = Place::with(&[ROOM]);
    let Some((code, out, err)) = in_namespace(name, &place, small, &with(&["--allow", "space"])) else {
        return;
    };
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("ENOSPC after") && out.ends_with("left:\n"), "{out}{err}");
    assert_eq!(place.statuses("one"), ["big: failed", "little: ok"]);
    let record = place.record("one");
    let [big, little] = rows(&record) else { panic!("two rows") };
    assert_eq!(big["reason"]["errno"], "ENOSPC");
    assert!(big["reason"]["step"].as_str().is_some_and(|step| step.starts_with("fill.write")), "{big}");
    assert!(big["metrics"][0]["value"].is_null());
    // What was allowed makes the numbers doubtful.
    assert_eq!(little["verdict"]["soundness"], "doubtful");
    assert_eq!(little["verdict"]["findings"][0]["check"], "space");
}

#[test]
fn inodes_that_run_out_are_known_beforehand() {
    let place = Place::with(&[ROOM]);
    let few = "mount -t tmpfs -o size=512m,nr_inodes=50 none t";
    let more = with(&["--set", "count=100", "--set", "size=4KiB"]);
    let Some((code, _, err)) = in_namespace("inodes_that_run_out", &place, few, &more) else { return };
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("files and directories") && err.contains("unsupported"), "{err}");
}

#[test]
fn a_read_only_target_gives_exit_code_3() {
    let place = Place::with(&[ROOM]);
    let read_only = "mount -t tmpfs -o ro none t";
    let Some((code, _, err)) = in_namespace("a_read_only_target", &place, read_only, &RUN) else { return };
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("EROFS") && err.contains("read-only"), "{err}");
    assert!(!place.path().join("results").exists());
}

/// Runs the program through a shell that sets a limit first.
fn limited(place: &Place, limit: &str, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{limit}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_ioscore")]);
    let output = command.args(arguments).current_dir(place.path()).output().expect("the shell starts");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_limit_of_file_sizes_is_an_error_and_not_the_end() {
    let place = Place::with(&[ROOM]);
    // In blocks of 512 bytes or 1 KiB, as the shell has it: more than any record, less than a file.
    let (code, err) = limited(&place, "ulimit -f 1000", &RUN);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("EFBIG") && err.contains("ulimit -f"), "{err}");
    assert_eq!(place.statuses("one"), ["big: failed", "little: ok"]);
    assert!(place.left().is_empty());
}

#[test]
fn too_few_descriptors_are_known_beforehand() {
    let place = Place::with(&[ROOM]);
    let (code, err) = limited(&place, "ulimit -n 12", &RUN);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("open files") && err.contains("ulimit -n"), "{err}");
    assert_eq!(place.statuses("one"), ["big: unsupported", "little: unsupported"]);
}

#[test]
fn somebody_without_rights_gets_messages_and_not_surprises() {
    let name = "somebody_without_rights_gets_messages_and_not_surprises";
    let place = Place::with(&[ROOM]);
    let program = place.path().join("program");
    std::fs::copy(env!("CARGO_BIN_EXE_ioscore"), &program).expect("the program can be copied");
    let open = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("the mode can be set");
    };
    open(place.path(), 0o777);
    open(&place.path().join("t"), 0o777);
    let suite =
        "suite: dropping\ntitle: D\nruns: 1\ncache: drop\ntests: [{profile: room, cases: [little]}]\n";
    place.write("dropping.yaml", suite);
    let nobody = |arguments: &[&str]| {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(&program)
            .args(arguments);
        command.current_dir(place.path()).output()
    };
    if !nobody(&["--version"]).is_ok_and(|output| output.status.success()) {
        skip(name, "becoming another user needs root");
        return;
    }
    let run = nobody(&["run", "dropping.yaml", "--target", "t", "--name", "one"]).expect("it starts");
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(0), "{err}");
    let record = place.record("one");
    let cache = rows(&record)[0]["effective"]["cache"].as_str().unwrap_or_default().to_string();
    assert!(cache.starts_with("not dropped: EACCES"), "{cache}");

    open(&place.path().join("t"), 0o555);
    let run = nobody(&["run", "room.yaml", "--target", "t", "--name", "two"]).expect("it starts");
    let err = String::from_utf8_lossy(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(3), "{err}");
    assert!(err.contains("EACCES") && !place.path().join("results/two").exists(), "{err}");
}

#[test]
fn what_is_no_regular_file_is_not_read() {
    let place = Place::new();
    place.call(&["check", "/dev/zero"]).expect(2).says(&["no regular file"]);
    place.call(&["run", "/dev/zero", "--target", "t"]).expect(2).says(&["no regular file"]);
    std::fs::write(place.path().join("long.yaml"), vec![b'#'; 3 << 20]).expect("a file");
    place.call(&["check", "long.yaml"]).expect(2);
}
