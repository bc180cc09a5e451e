//! Mixes, labels, barriers.

use std::collections::BTreeMap;

use crate::common::cases::{linux, sim};
use ioscore::os::sim::Op;
use ioscore::plan::instr::StatKind;

#[test]
fn mixes_have_their_shares_and_labels_count() {
    let done = sim(r#"
files: {a: {count: 1, size: 40KiB}}
phases:
  - phase: p
    repeat: 10000
    steps:
      - mix:
          - {weight: 70, label: reading, steps: [{read: 4KiB, in: a}, {read: 4KiB, in: a}]}
          - {weight: 0, label: never, steps: [sync]}
          - weight: 30
            mix: [{label: small, steps: [statfs]}, {weight: 3, label: large, steps: [{stat: a}]}]
"#);
    let share = |key: &str, p: f64| {
        let (n, sigma) = (done.ops("p", key) as f64, (10_000.0 * p * (1.0 - p)).sqrt());
        assert!((n - 10_000.0 * p).abs() < 5.0 * sigma, "{key}: {n}");
    };
    share("reading", 0.7);
    share("small", 0.075);
    share("large", 0.225);
    assert_eq!(done.ops("p", "never"), 0);
    assert_eq!(done.ops("p", "read"), 2 * done.ops("p", "reading"));
    let plan = &done.plan.phases[0];
    let at = plan.stats.iter().position(|s| s.key == "reading" && s.kind == StatKind::Block).unwrap();
    let block = &done.run.phases[0].workers[0].stats[at];
    // Two transfers of 84 us and a clock each; latencies are kept to 1 %.
    let mean = block.latency.mean_ns().unwrap();
    assert!((mean - 168_040.0).abs() < 1700.0, "{mean}");
}

#[test]
fn exact_mixes_deal_whole_decks() {
    let done = sim(r#"
phases:
  - phase: p
    repeat: 1000
    steps:
      - exact: true
        mix: [{weight: 3, label: a, steps: [statfs]}, {weight: 7, label: b, steps: [statfs]}]
"#);
    assert_eq!((done.ops("p", "a"), done.ops("p", "b"), done.ops("p", "mix")), (300, 700, 100));
}

#[test]
fn workers_wait_for_each_other_at_a_barrier() {
    let body = r#"
workers: 4
files: {a: {name: "{n}", slots: 4}}
phases:
  - phase: p
    steps: [{create: a}, close, barrier, {stat: a, pick: newest}, barrier, {unlink: a, pick: oldest}]
"#;
    for done in [sim(body), linux(body)] {
        assert_eq!(done.run.fault, None);
        assert_eq!((done.ops("p", "create"), done.ops("p", "unlink")), (4, 4));
    }
}

#[test]
fn a_barrier_does_not_hold_up_a_phase_that_ends() {
    let body = r#"
files: {a: {count: 1, size: 40KiB}}
phases:
  - phase: p
    groups:
      one: {workers: 2, steps: [barrier, {read: 4KiB, in: a}]}
      two: {workers: 1, ends_phase: true, repeat: 50, steps: [barrier, statfs]}
"#;
    for done in [sim(body), linux(body)] {
        assert_eq!(done.run.fault, None);
        assert_eq!(done.ops("p", "statfs"), 50);
    }
}

#[test]
fn sizes_follow_their_distribution() {
    let sizes = |amount: &str| {
        let done = sim(&format!(
            "files: {{a: {{name: x}}}}\nphases: [{{phase: p, steps: [{{create: a}}, {{repeat: 4000, steps: [{{write: {amount}}}]}}, close]}}]"
        ));
        let mut sizes: Vec<u64> = done.calls(Op::Write).iter().map(|e| e.result.unwrap().unwrap()).collect();
        sizes.sort_unstable();
        assert_eq!(sizes.len(), 4000);
        sizes
    };
    let mean = |sizes: &[u64]| sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    let weighted = sizes("{weighted: {4KiB: 50, 8KiB: 30, 16KiB: 20}}");
    let mut counts = BTreeMap::new();
    weighted.iter().for_each(|s| *counts.entry(*s).or_insert(0u64) += 1);
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [4096, 8192, 16384]);
    assert!(counts[&4096].abs_diff(2000) < 160, "{counts:?}");
    let uniform = sizes("{uniform: [1, 1000]}");
    assert!(uniform[0] >= 1 && uniform[3999] <= 1000 && (mean(&uniform) - 500.5).abs() < 23.0);
    let exponential = sizes("{exponential: 16KiB}");
    assert!((mean(&exponential) / 16384.0 - 1.0).abs() < 0.08);
    let quantiles = sizes("{quantiles: {0%: 0, 50%: 4KiB, 100%: 64KiB}}");
    assert!((quantiles[2000] as f64 / 4096.0 - 1.0).abs() < 0.15, "{}", quantiles[2000]);
    let normal = sizes("{normal: {mean: 16KiB, sd: 1KiB}}");
    assert!((mean(&normal) / 16384.0 - 1.0).abs() < 0.01);
}
