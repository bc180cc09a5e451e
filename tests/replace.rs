//! `replace`: the file in hand takes the place of another member, on both machines.

mod common;

use common::pipeline::{plans, simulate, total};
use ioscore::os::sim::{Op, Options};
use ioscore::vm::random::StreamKey;

const PROFILE: &str = r#"
profile: safe-save
version: 1.0.0
title: Safe save
summary: Saves documents as programs do, a new file renamed over the old one.
files: {docs: {name: "{n:04}", count: 10, size: 4KiB}}
phases:
  - phase: save
    repeat: 50
    steps: [{create: docs}, {write: 12KiB}, fsync, close, {replace: docs, pick: random}]
results: [{name: Saves/s, value: save.replace.ops.rate, better: higher}]
"#;

#[test]
fn the_number_of_files_stays_and_sizes_follow() {
    let planned = plans("safe-save.yaml", PROFILE, &[]).unwrap();
    let plan = &planned[0].1;
    let (run, disk) = simulate(plan, Options { trace: 10_000, ..Options::default() }, StreamKey::default());
    assert_eq!(run.fault, None);
    assert_eq!(total(plan, &run, "save", "replace", |s| s.ops), 50);
    let trace = disk.trace();
    let renames: Vec<_> = trace.iter().filter(|e| e.op == Op::Rename).collect();
    assert_eq!(renames.len(), 50);
    for (i, event) in renames.iter().enumerate() {
        assert_eq!(event.result, Ok(None));
        // The file made in this round goes over one that was there.
        let (from, to) = event.name.split_once(" -> ").unwrap();
        assert_eq!(from, format!("docs/{:04}", 11 + i));
        assert_eq!(disk.stat(from).err().map(|e| e.0), Some(libc::ENOENT));
        assert_ne!(from, to);
    }
    // Ten files, the root and the set's directory.
    assert_eq!(disk.statfs().files - disk.statfs().files_free, 12);
    let replaced: std::collections::BTreeSet<&str> =
        renames.iter().filter_map(|e| e.name.split_once(" -> ")).map(|(_, to)| to).collect();
    assert!(replaced.len() > 5);
    assert!(replaced.iter().all(|name| disk.stat(name).unwrap().size == 12 << 10));
}

#[test]
fn on_linux_too() {
    let dir = tempfile::tempdir().unwrap();
    let profile = dir.path().join("safe-save.yaml");
    std::fs::write(&profile, PROFILE).unwrap();
    let out = dir.path().join("out");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_ioscore"))
        .arg("run")
        .args([profile.as_path(), "--target".as_ref(), dir.path(), "--out".as_ref(), out.as_path()])
        .args(["--runs", "1", "--quiet"])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
