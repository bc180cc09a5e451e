//! Every verb of the table, on the simulation and for real: the same counts, bytes and errors.

use std::collections::BTreeSet;

use crate::common::cases::{linux, sim, try_sim};
use ioscore::os::Errno;
use ioscore::os::sim::script::{Effect, Script, When};
use ioscore::os::sim::{Op, Options};

/// Verbs that concern the whole machine, and the one that needs a recording: elsewhere.
const WHOLE_MACHINE: &[&str] = &["drop_caches", "replay", "sync"];

const ALL: &str = r#"
engine: sqlite
files:
  d: {count: 1, name: "d"}
  a: {count: 4, size: 64KiB, name: "a{n}"}
  b: {name: "b{n}"}
  m: {where: memory, size: 64KiB}
datasets:
  l: {files: 20, dirs: 4, bytes: 100000, size: {quantiles: {0%: 0, 100%: 20000}}}
trees:
  t: {name: "t{n}", buffer: stdio, block: 8KiB}
phases:
  - phase: all
    steps:
      - statfs
      - {write_tree: t, files: l, becomes: there}
      - {read_tree: t, state: there, past_end: 2}
      - {write_tree: t, state: there, files: l, existing: unlink}
      - {stat_tree: t, pick: same}
      - {remove_tree: t, pick: same, files: l, becomes: bare}
      - {remove_tree: t, state: bare}
      - {stat: a, pick: oldest}
      - {open: a, mode: rw}
      - stat
      - {read: 64KiB, block: 16KiB}
      - {seek: 4KiB}
      - {write: 8KiB}
      - {append: 4KiB}
      - {truncate: 32KiB}
      - {fallocate: 64KiB, at: start}
      - {advise: sequential}
      - {sync_range: 8KiB}
      - fsync
      - fdatasync
      - fsync_dir
      - {set_xattr: user.x, size: 16, expect: [EOPNOTSUPP]}
      - {get_xattr: user.x, expect: [EOPNOTSUPP]}
      - {lock: 4KiB}
      - {unlock: 4KiB}
      - {seek: 0}
      - {create: b, mode: rw}
      - {copy_range: 16KiB, in: b, from: a}
      - {close: b}
      - {close: a}
      - {read: 16KiB, in: m, block: 4KiB}
      - syncfs
      - {rename: a, pick: newest}
      - {replace: a, pick: oldest}
      - {link: a, pick: oldest}
      - {symlink: a, pick: oldest, name: soft}
      - {readlink: a, name: soft}
      - {unlink: a, name: soft}
      - {chmod: a, pick: random, permissions: "0600"}
      - {utimes: a, pick: random}
      - {list: a}
      - {mkdir: a, name: sub}
      - {rmdir: a, name: sub}
      - {stat: a, name: "none{n}", expect: [ENOENT]}
      - {unlink: a, pick: random}
      - {think: 1ms}
      - barrier
      - drain
      - {open: d}
      - {sql: "CREATE TABLE t(x); INSERT INTO t VALUES ('{n}{random:4}')", in: d}
      - {sql_file: tests/language/statements.sql}
      - {close: d}
      - {remove_all: a}
"#;

#[test]
fn every_verb_does_the_same_on_the_simulation_and_for_real() {
    let (simulated, real) = (sim(ALL), linux(ALL));
    assert_eq!(real.run.fault, None);
    let mut seen = BTreeSet::new();
    for verb in ioscore::ops::verbs() {
        let key = verb.name;
        let used = ALL.lines().any(|line| {
            line.trim().trim_start_matches("- ").trim_start_matches('{').split([':', ' ', ',']).next()
                == Some(key)
        });
        if used {
            seen.insert(key);
        }
        assert_eq!(simulated.ops("all", key), real.ops("all", key), "{key}");
        assert_eq!(simulated.bytes("all", key), real.bytes("all", key), "{key}");
        if !key.contains("xattr") {
            assert_eq!(simulated.errors("all", key), real.errors("all", key), "{key}");
        }
        let counts = !["think", "barrier", "drain"].contains(&key);
        assert_eq!(simulated.ops("all", key) > 0, used && counts, "{key}");
    }
    let table: BTreeSet<&str> = ioscore::ops::verbs().iter().map(|v| v.name).collect();
    let missing: Vec<_> = table.difference(&seen).copied().collect();
    assert_eq!(missing, WHOLE_MACHINE);
    assert_eq!(simulated.ops("all", "read"), 4 + 4);
    assert_eq!(simulated.errors("all", "stat"), 1);
    assert_eq!(simulated.ops("all", "remove_all"), 3, "4 files, one more by link, two less");
}

#[test]
fn what_concerns_the_whole_machine_is_asked_of_it() {
    let done = sim("phases: [{phase: all, steps: [sync, drop_caches]}]");
    assert_eq!((done.calls(Op::Sync).len(), done.calls(Op::DropCaches).len()), (1, 1));
    assert_eq!(done.run.refused_drop, None);
}

#[test]
fn caches_that_stay_are_told_of_where_a_profile_is_content_with_that() {
    let refused = Errno(libc::EACCES);
    let fault = Script::one(Op::DropCaches, When::From(1), Effect::Errno(refused));
    let run = |expect: &str| {
        let body = format!("phases: [{{phase: all, measured: false, steps: [{{drop_caches: {expect}}}]}}]");
        try_sim(&body, Options { script: fault.clone(), ..Options::default() }).run
    };
    let content = run(", expect: [EACCES, EPERM]");
    assert_eq!((content.fault, content.refused_drop), (None, Some(refused)));
    assert!(run("").fault.is_some(), "elsewhere it is a failure");
}

#[test]
fn names_move_as_they_should() {
    let done = sim(r#"
files: {a: {count: 2, size: 4KiB, name: "a{n}"}}
phases:
  - {phase: p, steps: [{rename: a, pick: oldest}, {link: a, pick: same}, {symlink: a, pick: same, name: soft}]}
"#);
    assert_eq!(done.names(Op::Rename), ["a/a1 -> a/a3"]);
    assert_eq!(done.names(Op::Link), ["a/a3 -> a/a4"]);
    assert_eq!(done.calls(Op::Symlink).len(), 1);
    let disk = done.disk.as_ref().unwrap();
    for (name, there) in [("a/a1", false), ("a/a2", true), ("a/a3", true), ("a/a4", true), ("a/soft", true)] {
        let found = disk.stat(name).is_ok() || name == "a/soft";
        assert_eq!(found, there, "{name}");
    }
}

#[test]
fn expected_errors_count_and_others_fail() {
    let body = |step: &str| {
        format!("files: {{a: {{count: 1, size: 4KiB}}}}\nphases: [{{phase: p, repeat: 5, steps: [{step}]}}]")
    };
    let fine = sim(&body("{stat: a, name: none, expect: [ENOENT, EIO]}"));
    assert_eq!((fine.ops("p", "stat"), fine.errors("p", "stat")), (5, 5));
    let must = sim(&body("{stat: a, name: none, must_fail: ENOENT}"));
    assert_eq!((must.ops("p", "stat"), must.errors("p", "stat")), (5, 5));
    for (step, word) in [
        ("{stat: a, name: none}", "ENOENT"),
        ("{stat: a, name: none, expect: [EIO]}", "ENOENT"),
        ("{stat: a, must_fail: ENOENT}", "succeeded"),
        ("{read: 4KiB, in: a, must_fail: EIO}", "succeeded"),
        ("{write: 4KiB, in: a, must_fail: ENOSPC}", "succeeded"),
    ] {
        let done = try_sim(&body(step), Options::default());
        assert!(done.fault().contains(word), "{step}: {}", done.fault());
    }
}

#[test]
fn buffered_files_may_run_out_of_space_too() {
    let body = r#"
files: {a: {name: "{n}"}}
phases:
  - phase: p
    repeat: 40
    steps: [{create: a, buffer: stdio, expect: [ENOSPC]}, {write: 64KiB, expect: [ENOSPC]}, close]
"#;
    let done = try_sim(body, Options { space: 1 << 20, ..Options::default() });
    assert_eq!(done.run.fault, None);
    assert!(done.errors("p", "write") > 10, "{}", done.errors("p", "write"));
}
