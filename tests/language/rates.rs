//! Rates: how many, how even, and what becomes of lost time.

use crate::common::cases::{sim, try_sim};
use ioscore::os::sim::{Effect, Op, Options, Script, When};

fn body(rate: &str, rest: &str) -> String {
    format!(
        "files: {{a: {{count: 1, size: 40KiB}}}}\nphases: [{{phase: p, for: 10s, rate: {rate}, steps: [{{read: 4KiB, in: a}}]{rest}}}]"
    )
}

#[test]
fn a_rate_is_kept() {
    let ops = |rate: &str| sim(&body(rate, "")).ops("p", "read");
    assert!(ops("{ops: 100}").abs_diff(1000) <= 1, "{}", ops("{ops: 100}"));
    assert!(ops("{bytes: 400KiB}").abs_diff(1000) <= 1);
    assert!(ops("{ops: 100, debt: false}").abs_diff(1000) <= 1);
    // 1000 draws of an exponential: the sum is off by 3 % with one sigma.
    let poisson = ops("{ops: 100, spacing: poisson}");
    assert!(poisson.abs_diff(1000) < 150 && poisson != 1000, "{poisson}");
}

#[test]
fn lost_time_is_made_up_or_forgiven() {
    let stalled = |rate: &str| {
        let script = Script::one(Op::Pread, When::Nth(100), Effect::Stall(2_000_000_000));
        let done = try_sim(&body(rate, ""), Options { script, ..Options::default() });
        assert_eq!(done.run.fault, None);
        done.ops("p", "read")
    };
    assert!(stalled("{ops: 100}").abs_diff(1000) <= 1, "{}", stalled("{ops: 100}"));
    let forgiven = stalled("{ops: 100, debt: false}");
    assert!(forgiven.abs_diff(800) <= 2, "{forgiven}");
}

#[test]
fn time_outside_of_a_block_is_not_owed_to_it() {
    let done = sim(r#"
files: {a: {count: 1, size: 40KiB}}
phases:
  - phase: p
    repeat: 3
    steps:
      - {for: 1s, rate: {ops: 100}, steps: [{read: 4KiB, in: a}]}
      - {think: 5s}
"#);
    assert!(done.ops("p", "read").abs_diff(300) <= 3, "{}", done.ops("p", "read"));
}

#[test]
fn a_group_that_ends_the_phase_ends_it_with_its_last_operation() {
    let done = sim(r#"
files: {a: {count: 1, size: 40KiB}, log: {name: log}}
phases:
  - phase: p
    groups:
      readers: {workers: 3, rate: {ops: 100}, steps: [{read: 4KiB, in: a, at: random}]}
      writer: {workers: 1, ends_phase: true, repeat: 200, rate: {ops: 50}, steps: [{create: log, parents: missing}, {write: 4KiB}, fsync, close]}
"#);
    let phase = &done.run.phases[0];
    let writer = phase.workers.iter().find(|w| w.group == 1).unwrap();
    let (from, to) = phase.window.unwrap();
    assert_eq!(to, writer.end, "the window ends with the writer");
    let seconds = (to - from) as f64 / 1e9;
    assert!((seconds - 199.0 / 50.0).abs() < 0.02, "{seconds}");
    let reads = done.ops("p", "read");
    assert!(reads.abs_diff((300.0 * seconds) as u64) <= 6, "{reads} in {seconds} s");
    for reader in phase.workers.iter().filter(|w| w.group == 0) {
        assert!(reader.end <= to + 100_000, "{} {to}", reader.end);
    }
}

#[test]
fn thinking_is_nobodys_latency() {
    let done = sim(
        "files: {a: {count: 1, size: 40KiB}}\nphases: [{phase: p, repeat: 100, steps: [{think: 10ms}, {read: 4KiB, in: a}]}]",
    );
    let phase = &done.run.phases[0];
    let worker = &phase.workers[0];
    let stat = worker.stats.iter().find(|s| s.ops == 100).unwrap();
    assert!(stat.latency.max_ns().unwrap() < 200_000, "{:?}", stat.latency.max_ns());
    assert!(worker.end - worker.start > 1_000_000_000);
}
