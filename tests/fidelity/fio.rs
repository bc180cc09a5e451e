//! fio with a fixed amount: the same requests by direction and size, the same bytes, the same way of
//! opening, the same syncs. When its rings and batches are handed over depends on timing, so their
//! calls are not compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{need, scratch};

/// 256 blocks of 4 KiB.
const PROFILE: &str = r#"
profile: amount
version: 1.0.0
title: A fixed amount
summary: Reads or writes every block of a file once.
params:
  pattern: {type: choice, of: [randread, randwrite, read, write], default: read}
  engine:  {type: choice, of: [sync, libaio], default: sync}
  depth:   {type: count, default: 1}
  direct:  {type: choice, of: [require, never], default: never}
  fsync_every: {type: count, default: 0}
engine: {name: "{{ engine }}", depth: "{{ depth }}", direct: "{{ direct }}"}
files:
  data: {dir: ., name: f, count: 1, size: 1MiB}
phases:
  - phase: run
    repeat: 256
    steps:
      - read: 4KiB
        in: data
        at: "{{ 'permuted' if pattern == 'randread' else 'next' }}"
        when: pattern in ['randread', 'read']
      - write: 4KiB
        in: data
        at: "{{ 'permuted' if pattern == 'randwrite' else 'next' }}"
        when: pattern in ['randwrite', 'write']
      - fsync: data
        every: "{{ [fsync_every, 1] | max }}"
        when: fsync_every > 0
results: [{name: Blocks/s, value: run.ops.rate, better: higher}]
"#;

/// Requests of the file by what they are.
fn requests(log: &Path, file: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let mut count = |what: String, n: usize| *found.entry(what).or_insert(0) += n;
    for line in fs::read_to_string(log).expect("strace wrote its log").lines() {
        for (call, what) in
            [("pread64(", "read"), ("pwrite64(", "write"), ("read(", "read"), ("write(", "write")]
        {
            let named = line.split_whitespace().any(|word| word.starts_with(call)) && line.contains(file);
            // A call that another thread's line interrupts is told in two: the second has its result.
            let resumed = line.contains(&format!("<... {} resumed>", call.trim_end_matches('(')));
            if (named || resumed) && line.ends_with("= 4096") {
                count(format!("{what} 4096"), 1);
            }
        }
        if line.contains("io_submit(") {
            for (opcode, what) in [("IOCB_CMD_PREAD,", "read"), ("IOCB_CMD_PWRITE,", "write")] {
                let of_size = line.matches("aio_nbytes=4096").count();
                count(format!("{what} 4096"), line.matches(opcode).count().min(of_size));
            }
        }
        for sync in ["fsync(", "fdatasync("] {
            if line.split_whitespace().any(|word| word.starts_with(sync)) && line.contains(file) {
                count(sync.trim_end_matches('(').into(), 1);
            }
        }
    }
    found.retain(|_, n| *n > 0);
    found
}

/// How the file was opened for the requests: access, and what goes past or through to the disk.
fn opened(log: &Path, file: &str) -> Vec<&'static str> {
    let text = fs::read_to_string(log).expect("strace wrote its log");
    let mut opens =
        text.lines().filter(|line| line.contains("open") && line.contains(file) && !line.contains("= -1"));
    // The last opening is the one that is used: both lay the file out before.
    let last = opens.rfind(|line| line.contains("O_RDONLY") || line.contains("O_RDWR"));
    let last = last.unwrap_or_default();
    ["O_RDONLY", "O_RDWR", "O_DIRECT", "O_SYNC", "O_DSYNC"]
        .into_iter()
        .filter(|flag| last.contains(flag))
        .collect()
}

fn traced(strace: &Path, log: &Path, program: &Path, args: &[String], dir: &Path) {
    let calls = "trace=openat,openat2,open,pread64,pwrite64,read,write,io_submit,fsync,fdatasync";
    let done = Command::new(strace)
        .args(["-f", "-v", "-y", "-s", "0", "-e", calls, "-o"])
        .arg(log)
        .arg(program)
        .args(args)
        .current_dir(dir)
        .output()
        .expect("strace runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn the_same_requests_whatever_the_pattern() {
    let test = "fidelity::fio::the_same_requests_whatever_the_pattern";
    let Some([fio, strace]) = need(test, ["fio", "strace"]) else { return };
    let rows = [
        ("read", "sync", 1, "never", 0),
        ("randread", "sync", 1, "never", 0),
        ("write", "sync", 1, "never", 0),
        // No multiple of the number of writes: fio leaves out the sync that would be due after the last.
        ("randwrite", "sync", 1, "never", 24),
        ("randread", "libaio", 8, "require", 0),
        ("randwrite", "libaio", 8, "require", 0),
        ("write", "sync", 1, "require", 40),
    ];
    for (pattern, engine, depth, direct, fsync) in rows {
        let what = format!("{pattern} {engine} {depth} {direct} {fsync}");
        let dir = scratch();
        let (profile, target) = (dir.path().join("amount.yaml"), dir.path().join("t"));
        fs::write(&profile, PROFILE).expect("the profile is written");
        fs::create_dir(&target).expect("the target is made");
        let (theirs_log, ours_log) = (dir.path().join("theirs"), dir.path().join("ours"));

        let file = dir.path().join("f");
        let named = if engine == "sync" { "psync" } else { engine };
        let job = |more: &[&str]| -> Vec<String> {
            let mut args = vec![
                "--name=t".to_string(),
                format!("--filename={}", file.display()),
                format!("--rw={pattern}"),
                "--bs=4k".into(),
                "--size=1m".into(),
                format!("--ioengine={named}"),
                format!("--iodepth={depth}"),
                format!("--direct={}", u8::from(direct == "require")),
                "--thread".into(),
            ];
            if fsync > 0 {
                args.push(format!("--fsync={fsync}"));
            }
            args.extend(more.iter().map(|arg| arg.to_string()));
            args
        };
        let laid_out = Command::new(&fio).args(job(&["--create_only=1"])).current_dir(dir.path()).output();
        assert!(laid_out.is_ok_and(|done| done.status.success()), "{what}: fio lays its file out");
        traced(&strace, &theirs_log, &fio, &job(&[]), dir.path());

        let mut args: Vec<String> =
            ["run", profile.to_str().expect("text"), "--target", target.to_str().expect("text")]
                .map(String::from)
                .to_vec();
        args.extend(["--out".into(), dir.path().join("o").display().to_string()]);
        args.extend(["--runs", "1", "--quiet"].map(String::from));
        for (name, value) in [("pattern", pattern), ("engine", engine), ("direct", direct)] {
            args.extend(["--set".into(), format!("{name}={value}")]);
        }
        args.extend([
            "--set".into(),
            format!("depth={depth}"),
            "--set".into(),
            format!("fsync_every={fsync}"),
        ]);
        traced(&strace, &ours_log, Path::new(env!("CARGO_BIN_EXE_ioscore")), &args, dir.path());

        let (ours, theirs) = (requests(&ours_log, "/f"), requests(&theirs_log, "/f"));
        let blocks = theirs.iter().filter(|(what, _)| what.ends_with("4096")).map(|(_, n)| n).sum::<usize>();
        assert_eq!(blocks, 256, "{what}: fio made its requests: {theirs:?}");
        assert_eq!(ours, theirs, "{what}");
        assert_eq!(opened(&ours_log, "/f>"), opened(&theirs_log, "/f>"), "{what}");
    }
}
