//! Sets: guards, orders, picks, directories, kept-open files, many workers at one pool.

use crate::common::cases::{Done, linux, plan, sim, try_sim};
use ioscore::os::sim::{Op, Options};

#[test]
fn guards_skip_end_or_fail() {
    let body = |guard: &str, step: &str| {
        format!(
            r#"
files: {{a: {{count: 1, slots: 2, size: 4KiB, max_size: 8KiB, guards: {{{guard}}}}}}}
phases:
  - {{phase: p, repeat: 5, steps: [{{steps: [{step}, {{label: inside, steps: [statfs]}}]}}, {{label: after, steps: [sync]}}]}}
"#
        )
    };
    // What is done before the guard says no, and how often.
    for (key, step, before) in [
        ("empty", "{unlink: a, pick: random}", 1),
        ("full", "{create: a}", 1),
        ("no_room", "{open: a, pick: oldest, mode: append}, {append: 4KiB}, close", 1),
    ] {
        let skipped = sim(&body(&format!("{key}: skip"), step));
        assert_eq!((skipped.ops("p", "inside"), skipped.ops("p", "after")), (before, 5), "{key}");
        let ended = sim(&body(&format!("{key}: end_phase"), step));
        assert_eq!((ended.ops("p", "inside"), ended.ops("p", "after")), (before, before), "{key}");
        for guard in ["".to_string(), format!("{key}: error")] {
            let failed = try_sim(&body(&guard, step), Options::default());
            assert!(failed.run.fault.is_some(), "{key}");
        }
    }
}

/// Four files a1 to a4; a2 is deleted and a5 takes its slot, so that slot and age differ.
fn walked(step: &str) -> Done {
    sim(&format!(
        r#"
files: {{a: {{count: 4, size: 4KiB, name: "a{{n}}", insert: lowest_free}}}}
phases:
  - {{phase: before, steps: [{{open: a, pick: oldest}}, close, {{unlink: a}}, {{create: a}}, close]}}
  - {{phase: p, steps: [{step}]}}
"#
    ))
}

#[test]
fn each_and_remove_all_know_every_order() {
    let by = |order: &str| match order {
        "oldest" => Some(["a/a2", "a/a3", "a/a4", "a/a5"]),
        "newest" => Some(["a/a5", "a/a4", "a/a3", "a/a2"]),
        "slot" => Some(["a/a5", "a/a2", "a/a3", "a/a4"]),
        _ => None,
    };
    for order in ["oldest", "newest", "slot", "random"] {
        let walk =
            walked(&format!("{{each: a, order: {order}, steps: [stat: a]}}").replace("stat: a", "{stat: a}"));
        let removal = walked(&format!("{{remove_all: a, order: {order}}}"));
        for (what, names) in
            [("each", walk.names(Op::Stat)), ("remove_all", removal.names(Op::Unlink)[1..].to_vec())]
        {
            match by(order) {
                Some(expected) => assert_eq!(names, expected, "{what} {order}"),
                None => {
                    let mut sorted = names.clone();
                    sorted.sort_unstable();
                    assert_eq!(sorted, ["a/a2", "a/a3", "a/a4", "a/a5"], "{what} {order}");
                }
            }
        }
    }
    assert_eq!(walked("{each: a, limit: 2, steps: [{stat: a}]}").ops("p", "stat"), 2);
    assert_eq!(walked("{remove_all: a, limit: 3}").ops("p", "remove_all"), 3);
}

#[test]
fn random_orders_are_random() {
    let body = |step: &str| {
        format!("files: {{a: {{count: 100, name: \"{{n:03}}\"}}}}\nphases: [{{phase: p, steps: [{step}]}}]")
    };
    for (step, op) in [
        ("{each: a, order: random, steps: [{stat: a}]}", Op::Stat),
        ("{remove_all: a, order: random}", Op::Unlink),
    ] {
        let done = sim(&body(step));
        let names = done.names(op);
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted.len(), 100);
        assert_ne!(sorted, names, "{step}");
    }
}

#[test]
fn steps_inside_each_mean_the_file_walked_to() {
    let done = sim(r#"
files: {a: {count: 3, size: 4KiB, name: "a{n}"}, b: {name: "b{n}"}}
phases: [{phase: p, steps: [{create: b}, close, {each: a, steps: [unlink]}, {unlink: b}]}]
"#);
    assert_eq!(done.names(Op::Unlink), ["a/a1", "a/a2", "a/a3", "b/b1"]);
}

#[test]
fn each_walks_over_files_that_are_kept_open() {
    let body = r#"
files: {a: {count: 3, size: 8KiB, name: "a{n}"}}
phases:
  - {phase: p, repeat: 2, steps: [{each: a, steps: [{read: whole, in: a, block: 4KiB}, {fdatasync: a}]}]}
"#;
    for done in [sim(body), linux(body)] {
        assert_eq!(done.run.fault, None);
        assert_eq!(
            (done.ops("p", "read"), done.bytes("p", "read"), done.ops("p", "fdatasync")),
            (12, 49_152, 6)
        );
    }
    assert_eq!(sim(body).opens().len(), 3 + 3, "laid out, then opened once");
}

#[test]
fn picks_choose_as_they_say() {
    let opened = |pick: &str| {
        let done = sim(&format!(
            "files: {{a: {{count: 10, name: \"{{n:02}}\"}}}}\nphases: [{{phase: p, repeat: 200, steps: [{{open: a, pick: {pick}}}, close]}}]"
        ));
        done.opens()[10..].iter().map(|n| n[2..].parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert!(opened("oldest").iter().all(|n| *n == 1));
    assert!(opened("newest").iter().all(|n| *n == 10));
    assert!(opened("next").iter().zip(0u64..).all(|(n, i)| *n == i % 10 + 1));
    let same = opened("same");
    assert!(same.iter().all(|n| *n == same[0]));
    let count = |all: &[u64], n: u64| all.iter().filter(|m| **m == n).count();
    let random = opened("random");
    assert!((1..=10).all(|n| count(&random, n).abs_diff(20) < 22 && count(&random, n) > 0));
    let zipf = opened("{zipf: 1.2}");
    let law = 200.0 / (1..=10).map(|r| f64::from(r).powf(-1.2)).sum::<f64>();
    let hottest = (1..=10).map(|n| count(&zipf, n)).max().unwrap() as f64;
    assert!((hottest - law).abs() < 5.0 * law.sqrt(), "{hottest} {law}");
    let hot = opened("{hot: {share: 90%, of: 10%}}");
    let hottest = (1..=10).map(|n| count(&hot, n)).max().unwrap();
    assert!(hottest.abs_diff(180) < 22, "{hottest}");
}

#[test]
fn kept_open_files_are_picked_without_opening_again() {
    let done = sim(r#"
files: {a: {count: 4, size: 8KiB, name: "a{n}", flags: [dsync]}}
phases: [{phase: p, repeat: 40, steps: [{write: 4KiB, in: a, pick: next}]}]
"#);
    assert_eq!(done.opens().len(), 8);
    let names = done.names(Op::Pwrite);
    let after_layout = &names[names.len() - 40..];
    assert!((1..=4).all(|n| after_layout.iter().filter(|m| **m == format!("a/a{n}")).count() == 10));
    let dsync = done.events.iter().filter(|e| e.op == Op::Open && e.to_string().contains("dsync")).count();
    assert_eq!(dsync, 4);
}

#[test]
fn many_workers_share_a_pool_without_taking_each_others_files() {
    let body = r#"
workers: 8
files: {a: {count: 20, slots: 24, size: 4KiB, name: "{n}", guards: {empty: skip, full: skip}}}
phases:
  - phase: p
    repeat: 400
    steps:
      - mix:
          - {steps: [{create: a}, {append: 4KiB}, close]}
          - {unlink: a, pick: random}
          - {steps: [{open: a, pick: random, mode: append_rw}, {read: whole}, {append: 512}, close]}
          - {rename: a, pick: oldest}
          - {link: a, pick: newest}
          - {stat: a, pick: {zipf: 1.1}}
  - {phase: last, steps: [{remove_all: a}]}
"#;
    for done in [sim(body), linux(body)] {
        assert_eq!(done.run.fault, None);
        for key in ["create", "unlink", "read", "rename", "link", "stat"] {
            assert!(done.ops("p", key) > 100, "{key}: {}", done.ops("p", key));
        }
        let made = 20 + done.ops("p", "create") + done.ops("p", "link");
        assert_eq!(made, done.ops("p", "unlink") + done.ops("last", "remove_all"), "nothing is lost");
        assert!(done.ops("last", "remove_all") <= 24);
    }
}

#[test]
fn directories_rotate_by_files_by_time_and_by_chance() {
    let dirs = |dirs: &str, extra: &str| {
        let done = sim(&format!(
            "files: {{a: {{name: \"{{n}}\", dirs: {{count: 3, name: \"d{{n}}\", {dirs}}}}}}}\nphases: [{{phase: p, repeat: 12, steps: [{{create: a{extra}}}, close, {{think: 100ms}}]}}]"
        ));
        (done.opens().iter().map(|n| n[2..4].to_string()).collect::<Vec<_>>(), done.calls(Op::Mkdir).len())
    };
    let (files, made) = dirs("rotate: 2", "");
    assert_eq!(files.join(" "), "d0 d0 d1 d1 d2 d2 d0 d0 d1 d1 d2 d2");
    assert_eq!(made, 4, "the set's own and three in it, all ahead");
    let (time, _) = dirs("rotate: 400ms", "");
    assert_eq!(time.join(" "), "d0 d0 d0 d0 d1 d1 d1 d1 d2 d2 d2 d2");
    let (random, _) = dirs("pick: random", "");
    assert!(["d0", "d1", "d2"].iter().all(|d| random.iter().any(|r| r == d)), "{random:?}");
    assert_eq!(dirs("rotate: 2", ", parents: missing").1, 1 + 3, "each one once");
    assert_eq!(dirs("rotate: 2", ", parents: always").1, 1 + 12, "before every file");
}

#[test]
fn workers_have_files_of_their_own() {
    let done = sim(
        "workers: 3\nfiles: {a: {per: worker, count: 2, name: \"{n}\"}}\nphases: [{phase: p, steps: [{create: a}, close]}]",
    );
    let mut names = done.opens();
    names.sort_unstable();
    assert_eq!(names, ["0/1", "0/2", "0/3", "1/1", "1/2", "1/3", "2/1", "2/2", "2/3"]);
}

#[test]
fn direct_engines_may_open_files_by_steps() {
    let made = plan(
        "engine: {name: sync, direct: require}\nfiles: {a: {name: x}}\nphases: [{phase: p, steps: [{create: a}, {write: 4KiB}, close]}]",
    );
    assert!(made.is_ok(), "{made:?}");
}

#[test]
fn what_does_not_fit_a_list_of_ones_own_names_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("mine");
    std::fs::write(&file, "one 5000\ntwo 100\n").unwrap();
    let own = file.to_str().unwrap();
    let body = |facts: &str| {
        format!(
            "datasets:\n  a: {{file: {own}}}\n  b: {{beside: a, {facts}, bytes: 30, size: {{quantiles: {{0%: 1, 100%: 20}}}}}}\n\
             trees: {{t: {{name: \"t{{n}}\"}}}}\nphases: [{{phase: p, steps: [{{write_tree: t, files: b}}]}}]"
        )
    };
    let problems = plan(&body("files: 3, replaces: 3")).unwrap_err();
    assert!(problems.contains(&format!("of the 2 of a; a is read from {own}")), "{problems}");
    // It has no directories of which so many could be used.
    let plan = plan(&body("files: 3, used: 7")).unwrap();
    assert_eq!((plan.datasets[1].files.len(), plan.datasets[1].dirs.len()), (3, 1));
}
