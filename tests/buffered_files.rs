//! What is written through C's buffered files reaches the file however it is closed: by a step, by
//! choosing another file, by a step that takes its place, or at the end.

mod common;

use common::pipeline::{plans, simulate};
use ioscore::os::sim::Options;
use ioscore::os::sim::script::{Effect, Op, Script, When};
use ioscore::vm::random::StreamKey;

fn profile(steps: &str) -> String {
    format!(
        "profile: buffered
version: 1.0.0
title: Buffered
summary: Files that are closed in many ways.
files:
  m: {{count: 2, slots: 80, size: 4KiB, name: \"m{{n}}\", dir: .}}
phases:
  - phase: run
    steps:
      - {{create: m, buffer: stdio, mode: rw}}
      - {{write: 100}}
{steps}
results:
  - {{name: Bytes, value: run.write.bytes.total, unit: B, better: higher, primary: true}}
"
    )
}

const WAYS: &[&str] = &[
    "      - close",
    "      - {fsync: m}",
    "      - {stat: m, pick: oldest}",
    "      - {open: m, pick: oldest}",
    "      - {rename: m, pick: oldest}",
    "      - {chmod: m, pick: oldest, permissions: \"0644\"}",
    "      - {create: m}",
    "",
];

#[test]
fn nothing_that_was_held_back_is_lost() {
    for way in WAYS {
        let planned = plans("t.yaml", &profile(way), &[]).unwrap_or_else(|e| panic!("{way}: {e}"));
        let (run, disk) = simulate(&planned[0].1, Options::default(), StreamKey::default());
        assert_eq!(run.fault, None, "{way}");
        assert_eq!(disk.stat("m3").map(|stat| stat.size), Ok(100), "{way}");
    }
}

/// Held back by a file that is put in another's place: it comes along.
#[test]
fn a_file_in_anothers_place_has_all_that_was_written() {
    let planned = plans("t.yaml", &profile("      - {replace: m, pick: oldest}"), &[]).unwrap();
    let (run, disk) = simulate(&planned[0].1, Options::default(), StreamKey::default());
    assert_eq!(run.fault, None);
    assert_eq!(disk.stat("m1").map(|stat| stat.size), Ok(100));
}

/// A full disk is told, though no step of the profile writes at that time.
#[test]
fn what_could_not_be_written_is_told() {
    for way in WAYS {
        let script = Script::one(Op::Write, When::Every(1), Effect::Errno(ioscore::os::Errno(libc::ENOSPC)));
        let planned = plans("t.yaml", &profile(way), &[]).unwrap();
        let options = Options { script, ..Options::default() };
        let (run, _) = simulate(&planned[0].1, options, StreamKey::default());
        let (_, fault) = run.fault.unwrap_or_else(|| panic!("{way}: nothing was told"));
        assert_eq!(fault.errno, Some(ioscore::os::Errno(libc::ENOSPC)), "{way}");
    }
}
