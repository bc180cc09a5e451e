//! `until: steady` ends a phase when its rate no longer changes, and not before.

mod common;

use common::pipeline::{plans, simulate};
use ioscore::os::sim::{Options, Script};
use ioscore::vm::random::StreamKey;

fn seconds(script: Script) -> f64 {
    let text = "\
profile: steady-state
version: 1.0.0
title: Steady state
summary: Overwrites one file until the rate no longer changes.
files: {data: {count: 1, size: 1MiB, dir: .}}
phases:
  - phase: run
    until: {steady: {within: 10%, window: 5s, at_most: 60s}}
    steps: [{write: 64KiB, in: data, at: random}]
results: [{name: Rate, value: run.write.ops.rate, better: higher}]
";
    let planned = plans("steady.yaml", text, &[]).unwrap();
    let (run, _) = simulate(&planned[0].1, Options { script, ..Options::default() }, StreamKey::default());
    assert_eq!(run.fault, None);
    let worker = &run.phases[0].workers[0];
    (worker.left - worker.start) as f64 / 1e9
}

#[test]
fn an_even_device_is_steady_at_once() {
    let took = seconds(Script::default());
    assert!((5.0..8.0).contains(&took), "{took}");
}

#[test]
fn a_device_that_slows_is_measured_until_it_has_slowed() {
    let even = seconds(Script::default());
    // At about 450 MB/s this is three seconds; then every write takes five times as long, and
    // five even seconds have to come after it.
    let took = seconds(Script { slow_after: Some((1_400_000_000, 5)), ..Script::default() });
    assert!(took >= even + 2.0, "{took} {even}");
}
