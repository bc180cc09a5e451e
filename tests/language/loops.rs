//! Loops: how often, how long, until what; alone, inside one another and together.

use crate::common::cases::{plan, sim, try_sim};
use ioscore::os::sim::{Op, Options};

const FILE: &str = "files: {a: {count: 1, size: 40KiB, name: \"a{n}\"}}\n";

fn with_file(rest: &str) -> String {
    format!("{FILE}{rest}")
}

#[test]
fn repeats_stand_on_blocks_phases_and_lists_of_phases() {
    let done = sim(&with_file(
        r#"phases:
  - repeat: 3
    phases:
      - {phase: p, repeat: 4, steps: [{repeat: 5, steps: [{read: 4KiB, in: a}]}, {stat: a}]}
      - {phase: q, steps: [statfs]}
"#,
    ));
    assert_eq!((done.ops("p", "read"), done.ops("p", "stat"), done.ops("q", "statfs")), (60, 12, 3));
    assert_eq!(done.run.phases.len(), 6);
    let none = sim(&with_file("phases: [{phase: p, steps: [{repeat: 0, steps: [statfs]}, {stat: a}]}]"));
    assert_eq!((none.ops("p", "statfs"), none.ops("p", "stat")), (0, 1));
}

#[test]
fn a_time_ends_a_loop_at_its_time() {
    let done = sim(&with_file("phases: [{phase: p, for: 10s, steps: [{read: 4KiB, in: a}]}]"));
    // 80 us and 4 of a KiB each, and the clock is read once.
    let expected = 10e9 / 84_020.0;
    assert!((done.ops("p", "read") as f64 - expected).abs() < 3.0, "{}", done.ops("p", "read"));
    let inner = sim(&with_file(
        "phases: [{phase: p, repeat: 2, steps: [{for: 1s, steps: [{read: 4KiB, in: a}]}, {stat: a}]}]",
    ));
    assert!((inner.ops("p", "read") as f64 - expected / 5.0).abs() < 4.0);
    assert_eq!(inner.ops("p", "stat"), 2, "what follows the inner loop is done");
}

#[test]
fn a_time_without_any_operation_ends_too() {
    let done =
        sim(&with_file("phases: [{phase: p, for: 1h, steps: [{mix: [{repeat: 0, steps: [statfs]}]}]}]"));
    assert_eq!(done.ops("p", "statfs"), 0);
}

#[test]
fn amounts_are_exact_together_and_one_by_one() {
    for (until, steps, key, ops) in [
        ("{ops: 100}", "{read: 4KiB, in: a}", "read", 100),
        ("{ops: 100, each: true}", "{read: 4KiB, in: a}", "read", 300),
        ("{bytes: 1MiB}", "{read: 4KiB, in: a}", "read", 256),
        ("{bytes: 1MiB, each: true}", "{read: 4KiB, in: a}", "read", 768),
        // Many transfers in one step, and an inner loop.
        ("{ops: 101}", "{read: 40KiB, block: 4KiB, in: a}", "read", 101),
        ("{ops: 100, each: true}", "{repeat: 7, steps: [{read: 4KiB, in: a}]}", "read", 300),
        ("{ops: 100}", "{repeat: 7, steps: [{read: 4KiB, in: a}]}", "read", 100),
        // Operations of any kind, where no data moves.
        ("{ops: 100}", "{stat: a, name: x, expect: [ENOENT]}", "stat", 100),
        ("{ops: 100, each: true}", "{stat: a, name: x, expect: [ENOENT]}", "stat", 300),
        ("{ops: 100}", "{label: twice, steps: [{think: 1ms}, statfs]}", "statfs", 100),
    ] {
        let done =
            sim(&with_file(&format!("workers: 3\nphases: [{{phase: p, until: {until}, steps: [{steps}]}}]")));
        assert_eq!(done.ops("p", key), ops, "{until} {steps}");
    }
}

#[test]
fn an_amount_in_a_block_is_done_each_time_the_block_is() {
    for (until, ops) in [("{ops: 100}", 300), ("{ops: 50, each: true}", 300), ("{bytes: 400KiB}", 300)] {
        let done = sim(&with_file(&format!(
            "workers: 2\nphases: [{{phase: p, repeat: 3, steps: [{{until: {until}, steps: [{{read: 4KiB, in: a}}]}}]}}]"
        )));
        assert_eq!(done.ops("p", "read"), ops, "{until}");
    }
}

#[test]
fn an_outer_amount_counts_what_an_inner_loop_does() {
    let done = sim(&with_file(
        "phases: [{phase: p, until: {ops: 95}, steps: [{until: {ops: 10}, steps: [{read: 4KiB, in: a}]}, {stat: a}]}]",
    ));
    assert_eq!((done.ops("p", "read"), done.ops("p", "stat")), (95, 9));
}

#[test]
fn skipped_iterations_do_not_end_an_amount_nor_count_into_it() {
    let body = r#"
workers: 2
files: {a: {slots: 5, per: worker, guards: {empty: skip, full: skip}}}
phases:
  - phase: p
    until: {ops: 1000}
    steps:
      - mix: [{steps: [{create: a}, close]}, {weight: 3, unlink: a, pick: random}]
"#;
    let done = sim(body);
    let all: u64 = ["create", "close", "unlink"].iter().map(|key| done.ops("p", key)).sum();
    assert_eq!(all, 1000);
    assert!(done.ops("p", "unlink") > 50);
}

#[test]
fn loops_that_cannot_end_are_refused_or_fail() {
    for until in ["{bytes: 1MiB}", "{passes: 2}"] {
        let problem = plan(&with_file(&format!("phases: [{{phase: p, until: {until}, steps: [statfs]}}]")));
        assert!(problem.unwrap_err().contains("never ends"), "{until}");
    }
    let problem = plan(&with_file("phases: [{phase: p, until: {ops: 2}, steps: [{think: 1ms}]}]"));
    assert!(problem.unwrap_err().contains("never ends"));
    let body = "files: {a: {guards: {empty: skip}}}\nphases: [{phase: p, until: {ops: 2}, steps: [{unlink: a, pick: random}]}]";
    let done = try_sim(body, Options::default());
    assert!(done.fault().contains("nothing was done"), "{}", done.fault());
}

#[test]
fn passes_go_through_the_whole_file() {
    let done =
        sim(&with_file("phases: [{phase: p, until: {passes: 3}, steps: [{read: 4KiB, in: a, at: next}]}]"));
    assert_eq!(done.ops("p", "read"), 30);
    let nested = sim(&with_file(
        "phases: [{phase: p, until: {passes: 3}, steps: [{repeat: 4, steps: [{read: 4KiB, in: a}]}, {stat: a}]}]",
    ));
    assert_eq!(nested.ops("p", "read"), 30, "an inner loop does not end the outer one's count");
    let ramped = sim(&with_file(
        "phases: [{phase: p, ramp: 1s, until: {passes: 3}, steps: [{read: 4KiB, in: a, at: next}]}]",
    ));
    assert!(ramped.ops("p", "read").abs_diff(30) <= 9, "{}", ramped.ops("p", "read"));
}

#[test]
fn a_pass_over_an_empty_file_is_over_at_once() {
    let done = sim(
        "files: {a: {count: 1, size: 0}}\nphases: [{phase: p, until: {passes: 2}, steps: [{read: 4KiB, in: a}]}, {phase: q, repeat: 3, steps: [{read: 4KiB, in: a}]}]",
    );
    assert!(done.ops("p", "read") <= 2, "{}", done.ops("p", "read"));
    assert_eq!((done.ops("q", "read"), done.bytes("q", "read")), (3, 0));
}

#[test]
fn exhaustion_ends_a_loop_whatever_the_guards_say() {
    let body = |guard: &str| {
        format!(
            r#"
files: {{a: {{slots: 50, guards: {{{guard}}}}}}}
phases:
  - phase: grow
    until: exhausted
    steps: [{{create: a}}, {{repeat: 3, steps: [{{write: 4KiB}}]}}, close]
  - phase: shrink
    repeat: 2
    steps: [{{until: exhausted, steps: [{{unlink: a, pick: oldest}}]}}, statfs]
"#
        )
    };
    for guard in ["", "full: skip, empty: skip", "full: end_phase, empty: end_phase"] {
        let done = sim(&body(guard));
        assert_eq!((done.ops("grow", "create"), done.ops("grow", "write")), (50, 150), "{guard}");
        assert_eq!((done.ops("shrink", "unlink"), done.ops("shrink", "statfs")), (50, 2), "{guard}");
    }
}

#[test]
fn a_ramp_never_counts() {
    for (end, ops) in [("until: {ops: 100}", 100), ("repeat: 100", 200), ("until: {bytes: 400KiB}", 100)] {
        let done = sim(&with_file(&format!(
            "workers: 2\nphases: [{{phase: p, ramp: 1s, {end}, steps: [{{read: 4KiB, in: a}}]}}]"
        )));
        assert_eq!(done.ops("p", "read"), ops, "{end}");
        let all = done.calls(Op::Pread).len() as u64;
        let in_ramp = 2.0 * 1e9 / 84_020.0;
        assert!(((all - ops) as f64 - in_ramp).abs() < 4.0, "{end}: {all} transfers");
    }
    let timed = sim(&with_file("phases: [{phase: p, ramp: 2s, for: 1s, steps: [{read: 4KiB, in: a}]}]"));
    assert!((timed.ops("p", "read") as f64 - 1e9 / 84_020.0).abs() < 3.0);
}

#[test]
fn a_phase_that_ends_within_its_ramp_has_counted_nothing() {
    let body = r#"
files: {a: {count: 5, guards: {empty: end_phase}}}
phases: [{phase: p, ramp: 10s, for: 10s, steps: [{unlink: a, pick: oldest}]}]
"#;
    let done = sim(body);
    assert_eq!((done.ops("p", "unlink"), done.calls(Op::Unlink).len()), (0, 5));
}

#[test]
fn groups_share_the_end_their_phase_states() {
    let done = sim(&with_file(
        r#"phases:
  - phase: p
    until: {ops: 1000}
    groups:
      first: {workers: 2, steps: [{label: x, read: 4KiB, in: a}]}
      second: {workers: 1, steps: [{label: x, read: 4KiB, in: a}]}
"#,
    ));
    assert_eq!(done.ops("p", "x"), 1000);
}

#[test]
fn every_nth_counts_for_each_file_by_itself() {
    let done = sim(&with_file(
        "phases: [{phase: p, repeat: 10, steps: [{write: 4KiB, in: a}, {fsync: a, every: 3}]}]",
    ));
    assert_eq!(done.ops("p", "fsync"), 3);
    let two = sim(r#"
files: {a: {count: 2, size: 4KiB, name: "a{n}"}}
phases: [{phase: p, repeat: 10, steps: [{write: 4KiB, in: a, pick: next}, {fsync: a, every: 2}]}]
"#);
    let first = two.names(Op::Fsync).iter().filter(|n| **n == "a/a1").count();
    assert_eq!((two.ops("p", "fsync"), first), (4, 2), "5 writes to each file");
}
