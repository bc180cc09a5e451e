//! Numbers nobody can mean, or no machine can do: said where they are written.

use crate::common::cases::{plan, sim};
use ioscore::plan::needs::needs;

fn refused(body: &str) -> String {
    plan(body).expect_err("it is refused")
}

#[test]
fn room_needs_a_largest_size() {
    let steps = "steps: [{create: a}, {append: {uniform: [1, \"{file.room}\"]}}, {close: a}]";
    let body = |more: &str| format!("files: {{a: {{{more}}}}}\nphases: [{{phase: p, {steps}}}]");
    let said = refused(&body("count: 0"));
    assert!(said.contains("{file.room} has no end") && said.contains("max_size"), "{said}");
    assert!(said.contains("append") || said.contains("t.yaml:"), "with its place: {said}");
    assert!(plan(&body("max_size: 64KiB")).is_ok());
}

#[test]
fn a_transfer_is_no_larger_than_one_call_moves() {
    let body = |step: &str| {
        format!("files: {{a: {{count: 1, size: 4KiB}}}}\nphases: [{{phase: p, steps: [{{{step}, in: a}}]}}]")
    };
    for step in ["read: 18446744073709551615", "write: 2147479553", "read: 4GiB, block: 3GiB"] {
        let said = refused(&body(step));
        assert!(said.contains("at most 2147479552 bytes") && said.contains("block:"), "{said}");
    }
    let open_end = refused(&body("read: {uniform: [1, \"{file.size}\"]}"));
    assert!(open_end.contains("max_size"), "{open_end}");
    for step in ["read: 2147479552", "read: 18446744073709551615, block: 1MiB", "read: whole"] {
        let plan = plan(&body(step)).unwrap_or_else(|problems| panic!("{step}: {problems}"));
        assert!(needs(&plan).memory.total > 0);
    }
}

#[test]
fn needs_of_huge_sets_are_huge() {
    let plan = plan(
        "files: {a: {count: 18446744073709551615, size: 8388608TiB, layout: none}, b: {count: 18446744073709551615}}\n\
         phases: [{phase: p, for: 1000000h, steps: [{read: 4KiB, in: a}, {read: 4KiB, in: b}]}]",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    let needs = needs(&plan);
    assert_eq!(needs.descriptors_per_worker, u64::MAX);
    assert!(ioscore::plan::needs::text(&needs).contains("descriptors"));
}

#[test]
fn burning_has_an_end() {
    let body = |burn: &str| {
        format!(
            "random: {{generator: mt19937, seeding: 1999, order: single, burn: {burn}}}\n\
             phases: [{{phase: p, steps: [statfs]}}]"
        )
    };
    assert!(refused(&body("1073741825")).contains("up to 1073741824 (2^30)"));
    if let Err(problems) = plan(&body("1073741824")) {
        panic!("{problems}");
    }
}

#[test]
fn no_passes_make_no_transfer() {
    let done = sim("files: {a: {count: 1, size: 40KiB}}\n\
         phases: [{phase: p, steps: [{until: {passes: 0}, steps: [{read: 4KiB, in: a}]}, {stat: a}]}]");
    assert_eq!((done.ops("p", "read"), done.ops("p", "stat")), (0, 1));
}

#[test]
fn files_in_other_hands_are_no_empty_set() {
    let done = crate::common::cases::try_sim(
        "workers: 2\nfiles: {a: {count: 1, size: 4KiB}}\n\
         phases: [{phase: p, steps: [{open: a, pick: next}, barrier, {read: 4KiB}, {close: a}]}]",
        Default::default(),
    );
    let (_, fault) = done.run.fault.expect("one of them finds no file");
    let message = fault.message.unwrap_or_default();
    assert!(message.contains("in another worker's hand"), "{message}");
}
