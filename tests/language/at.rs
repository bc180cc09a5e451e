//! Where transfers go.

use std::collections::BTreeMap;

use crate::common::cases::{linux, sim, try_sim};
use ioscore::os::sim::{Op, Options};

const BLOCK: u64 = 4096;

fn reads(at: &str, repeat: u64) -> Vec<u64> {
    let done = sim(&format!(
        "files: {{a: {{count: 1, size: 400KiB}}}}\nphases: [{{phase: p, repeat: {repeat}, steps: [{{read: 4KiB, in: a, at: {at}}}]}}]"
    ));
    let offsets = done.offsets(Op::Pread);
    assert_eq!(offsets.len() as u64, repeat, "{at}");
    offsets
}

#[test]
fn next_goes_on_and_starts_again() {
    let offsets = reads("next", 250);
    assert!(offsets.iter().zip(0u64..).all(|(o, i)| *o == i % 100 * BLOCK), "{offsets:?}");
}

#[test]
fn start_offsets_and_strides() {
    assert!(reads("start", 10).iter().all(|o| *o == 0));
    assert!(reads("64KiB", 10).iter().all(|o| *o == 65536));
    let ranged = reads("{uniform: [0, 96KiB], step: 4KiB}", 500);
    assert!(
        ranged.iter().all(|o| o % BLOCK == 0 && *o <= 98304)
            && ranged.contains(&0)
            && ranged.contains(&98304)
    );
    let stride = reads("{stride: 40KiB}", 25);
    assert!(stride.iter().zip(0u64..).all(|(o, i)| *o == i % 10 * 40960), "{stride:?}");
}

#[test]
fn a_stride_into_a_new_file_leaves_holes() {
    let done = sim(
        "files: {a: {name: x}}\nphases: [{phase: p, steps: [{create: a}, {repeat: 5, steps: [{write: 4KiB, at: {stride: 8KiB}}]}, close]}]",
    );
    assert_eq!(done.offsets(Op::Pwrite), [0, 8192, 16384, 24576, 32768]);
    assert_eq!(done.disk.unwrap().extents("a/x").unwrap().len(), 5);
}

#[test]
fn random_is_even_and_fits() {
    let offsets = reads("random", 20_000);
    let mut counts = BTreeMap::new();
    offsets.iter().for_each(|o| *counts.entry(*o).or_insert(0u64) += 1);
    assert_eq!(counts.len(), 100);
    assert!(offsets.iter().all(|o| o % BLOCK == 0 && *o < 400 << 10));
    // 200 each, 5 sigma of 14.
    assert!(counts.values().all(|n| n.abs_diff(200) < 71), "{counts:?}");
}

#[test]
fn permuted_visits_every_block_once_and_then_in_another_order() {
    let offsets = reads("permuted", 200);
    let (first, second) = offsets.split_at(100);
    for round in [first, second] {
        let mut sorted = round.to_vec();
        sorted.sort_unstable();
        assert!(sorted.iter().zip(0u64..).all(|(o, i)| *o == i * BLOCK));
        assert_ne!(sorted, round);
    }
    assert_ne!(first, second);
}

#[test]
fn weighted_words_have_their_shares() {
    let offsets = reads("{weighted: {start: 25, random: 75}}", 8000);
    let at_start = offsets.iter().filter(|o| **o == 0).count() as f64;
    // 25 % and a hundredth of the rest; sigma 39.
    assert!((at_start - 8000.0 * 0.2575).abs() < 5.0 * 39.2, "{at_start}");
}

#[test]
fn hot_and_zipf_follow_their_law() {
    let hot = reads("{hot: {share: 80%, of: 20%}}", 10_000);
    let inside = hot.iter().filter(|o| **o < 80 << 10).count() as f64;
    assert!((inside - 8000.0).abs() < 5.0 * 40.0, "{inside}");
    let zipf = reads("{zipf: 1.0}", 20_000);
    let mut counts = BTreeMap::new();
    zipf.iter().for_each(|o| *counts.entry(*o).or_insert(0u64) += 1);
    let hottest = *counts.values().max().unwrap() as f64;
    let law = 20_000.0 / (1..=100).map(|r| 1.0 / f64::from(r)).sum::<f64>();
    assert!((hottest - law).abs() < 5.0 * law.sqrt(), "{hottest} {law}");
}

#[test]
fn remainders_of_all_three_kinds() {
    let writes = |amount: &str, remainder: &str| {
        let done = sim(&format!(
            "files: {{a: {{name: x}}}}\nphases: [{{phase: p, steps: [{{create: a}}, {{write: {amount}, block: 4KiB, remainder: {remainder}}}, close]}}]"
        ));
        (done.ops("p", "write"), done.bytes("p", "write"))
    };
    assert_eq!(writes("10KiB", "if_any"), (3, 10240));
    assert_eq!(writes("8KiB", "if_any"), (2, 8192));
    assert_eq!(writes("0", "if_any"), (0, 0));
    assert_eq!(writes("10KiB", "always"), (3, 10240));
    assert_eq!(writes("8KiB", "always"), (3, 8192));
    assert_eq!(writes("0", "always"), (1, 0));
    assert_eq!(writes("8KiB", "if_alone"), (2, 8192));
    assert_eq!(writes("0", "if_alone"), (1, 0));
}

#[test]
fn a_set_in_memory_is_read_where_the_step_says() {
    let body = r#"
files:
  m: {where: memory, size: 64KiB, data: {byte: b}}
  out: {name: out}
phases:
  - phase: p
    steps:
      - {open: m}
      - {create: out, mode: rw}
      - {seek: 60KiB, in: m}
      - {repeat: 40, steps: [{read: 4KiB, in: m, at: random}, {write: 4KiB, in: out, data: read}]}
      - {read: 160KiB, in: out, at: start, block: 4KiB, data: {byte: b}, verify: true}
      - {close: out}
"#;
    for done in [sim(body), linux(body)] {
        assert_eq!(done.run.fault, None);
        assert_eq!((done.ops("p", "write"), done.bytes("p", "write")), (40, 163_840));
    }
}

#[test]
fn a_file_smaller_than_the_transfer_is_read_whole() {
    let done = sim(
        "files: {a: {count: 1, size: 3000}}\nphases: [{phase: p, repeat: 4, steps: [{read: 4KiB, in: a, at: random}]}]",
    );
    assert_eq!((done.ops("p", "read"), done.bytes("p", "read")), (4, 12_000));
}

#[test]
fn a_stride_beyond_every_file_starts_again_instead_of_failing() {
    for stride in ["9223372036854775807", "18446744073709551615"] {
        let body = format!(
            "files: {{a: {{count: 1, size: 64KiB}}}}\nphases: [{{phase: p, repeat: 5, steps: [{{read: 4KiB, in: a, at: {{stride: {stride}}}}}, {{write: 1KiB, in: a, at: {{stride: {stride}}}}}]}}]"
        );
        let done = sim(&body);
        assert_eq!((done.ops("p", "read"), done.ops("p", "write")), (5, 5), "{stride}");
    }
}

#[test]
fn a_step_on_a_file_that_was_closed_says_so() {
    let body = "files: {a: {count: 1, size: 64KiB}}\nphases:\n  - {phase: p, steps: [{open: a}, close]}\n  - {phase: q, steps: [{read: 4KiB, in: a}]}";
    let done = try_sim(body, Options::default());
    assert!(done.fault().contains("no file of a is open here"), "{}", done.fault());
}
