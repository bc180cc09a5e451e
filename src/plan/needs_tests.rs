use super::*;
use crate::os::Recipe;
use crate::plan::needs_process::{OWN_DESCRIPTORS, PAGE, STATISTIC};
use crate::plan::sketch::{Sketch, rich, uniform};

const SECOND: u64 = 1_000_000_000;

fn bytes(n: u64) -> Amount {
    Amount::Bytes(Draw::Const(n))
}

fn looped(until: Until) -> LoopPlan {
    LoopPlan { until, ramp: 0, budget: 0, phase: true }
}

#[test]
fn a_laid_out_set_needs_its_files() {
    let mut s = Sketch::new(4);
    s.set("data", 10, Draw::Const(1 << 20), |set| set.per_worker = true);
    s.set("drawn", 1000, uniform(0, 8192), |_| {});
    s.phase("nothing");
    let n = needs(&s.plan);
    assert_eq!(n.bytes.laid_out, 40 * (1 << 20) + 1000 * 4096);
    // A thousand files between 0 and 8 KiB never come near a thousand times 8 KiB.
    let peak = n.bytes.peak.unwrap() - 40 * (1 << 20);
    assert!(peak > 1000 * 4096 && peak < 1000 * 4700, "{peak}");
    // 40 + 1000 files, two directories.
    assert_eq!(n.inodes, Held { laid_out: 1042, peak: Some(1042) });
    assert_eq!(n.written, Some(0));
    assert_eq!((n.threads, n.largest_name), (4, 10));
}

#[test]
fn loops_multiply_and_workers_too() {
    let mut s = Sketch::new(3);
    let set = s.set("data", 0, Draw::Const(0), |set| set.per_worker = true);
    s.repeat(100, |s| s.repeat(5, |s| s.new_file(set, uniform(0, 1000))));
    s.phase("fill");
    let n = needs(&s.plan);
    assert_eq!(n.written, Some(3 * 500 * 500));
    assert_eq!(n.bytes, Held { laid_out: 0, peak: Some(3 * 500 * 1000) });
    assert_eq!(n.inodes.peak, Some(1500 + 1));
    assert_eq!(n.untimed, ["fill"]);
}

#[test]
fn what_is_deleted_again_needs_no_room() {
    let mut s = Sketch::new(2);
    let set = s.set("data", 10, Draw::Const(4096), |_| {});
    s.until(Until::Time(20 * SECOND), |s| {
        s.new_file(set, Draw::Const(4096));
        s.op("unlink", set, |a| a.pick = Pick::Oldest);
    });
    s.phase("turn_over");
    let n = needs(&s.plan);
    assert_eq!(n.inodes.peak, Some(10 + 2 + 1));
    assert_eq!(n.bytes.peak, Some(12 * 4096));
    assert_eq!(n.written, None);
    assert_eq!(n.expected_seconds, Some(20.0));
}

#[test]
fn slots_and_largest_sizes_bound_what_time_does_not() {
    let growing = |slots, max_size| {
        let mut s = Sketch::new(1);
        let set = s.set("mail", 0, Draw::Const(0), |set| (set.slots, set.max_size) = (slots, max_size));
        s.until(Until::Time(SECOND), |s| {
            s.mix(&[
                (5, &|s| s.new_file(set, Draw::Const(5000))),
                (5, &|s| {
                    s.op("open", set, |a| a.opening.flags = libc::O_WRONLY | libc::O_APPEND);
                    let room = Draw::Uniform { lo: Bound::Number(1), hi: Bound::FileRoom, step: 1 };
                    s.op("append", set, |a| a.amount = Amount::Bytes(room));
                    s.op("close", set, |_| {});
                }),
            ]);
        });
        s.phase("work");
        needs(&s.plan)
    };
    let n = growing(Some(1000), Some(512 << 10));
    assert_eq!(n.bytes.peak, Some(1000 * (512 << 10)));
    assert_eq!(n.inodes.peak, Some(1001));
    assert_eq!(growing(None, Some(512 << 10)).bytes.peak, None);
    assert_eq!(growing(None, Some(512 << 10)).inodes.peak, None);
    assert_eq!(growing(Some(1000), None).bytes.peak, None);
}

#[test]
fn files_kept_open_do_not_grow() {
    let mut s = Sketch::new(4);
    let set = s.set("data", 1, Draw::Const(1 << 30), |set| set.kept_open = Some(libc::O_RDWR));
    s.until(Until::Time(SECOND), |s| {
        for at in [At::Next, At::Random, At::Permuted, At::Start] {
            s.op("write", set, |a| (a.amount, a.at) = (bytes(4096), at));
        }
    });
    s.phase("run");
    assert_eq!(needs(&s.plan).bytes, Held { laid_out: 1 << 30, peak: Some(1 << 30) });
}

#[test]
fn amounts_say_how_often_a_loop_goes_round() {
    let written = |until| {
        let mut s = Sketch::new(4);
        let set = s.set("data", 1, Draw::Const(1 << 20), |set| {
            (set.per_worker, set.kept_open) = (true, Some(libc::O_RDWR));
        });
        s.looped(looped(until), |s| {
            s.op("write", set, |a| (a.amount, a.block) = (bytes(64 << 10), Some(Draw::Const(4096))));
        });
        s.phase("run");
        needs(&s.plan).written
    };
    assert_eq!(written(Until::Bytes { total: 10 << 20, each: false }), Some(10 << 20));
    assert_eq!(written(Until::Bytes { total: 10 << 20, each: true }), Some(40 << 20));
    assert_eq!(written(Until::Ops { total: 1000, each: false, data: true }), Some(1000 * 4096));
    assert_eq!(written(Until::Passes(3)), Some(4 * 3 * (1 << 20)));
    assert_eq!(written(Until::Times(0)), Some(0));
    assert_eq!(written(Until::Exhausted), None);
}

#[test]
fn mixes_share_out_and_rates_bound() {
    let mut s = Sketch::new(2);
    let set = s.set("data", 1, Draw::Const(1 << 20), |set| set.kept_open = Some(libc::O_RDWR));
    s.looped(LoopPlan { ramp: 5 * SECOND, ..looped(Until::Time(15 * SECOND)) }, |s| {
        s.pace(PacePlan { ops: 10.0, bytes: 0.0, poisson: false, debt: true });
        s.mix(&[
            (1, &|s| s.op("write", set, |a| a.amount = bytes(4000))),
            (3, &|s| s.op("read", set, |a| a.amount = bytes(4000))),
        ]);
    });
    s.phase("run");
    let n = needs(&s.plan);
    assert_eq!(n.written, Some(2 * 200 * 1000));
    assert_eq!(n.expected_seconds, Some(20.0));
    assert_eq!(n.untimed, [""; 0]);
}

#[test]
fn schedules_repeat_phases() {
    let mut s = Sketch::new(1);
    let set = s.set("data", 0, Draw::Const(0), |_| {});
    s.repeat(10, |s| s.new_file(set, Draw::Const(100)));
    s.phase("make");
    s.op("remove_all", set, |a| a.detail = Detail::Order(Order::Slot));
    s.phase("clean");
    let body = std::mem::take(&mut s.plan.schedule);
    s.plan.schedule = vec![Schedule::Loop { until: Until::Times(7), body }];
    let n = needs(&s.plan);
    assert_eq!(n.written, Some(7000));
    assert_eq!((n.bytes.peak, n.inodes.peak), (Some(1000), Some(11)));
}

/// Writes a list of one file into a new tree, or into one that is there.
fn write_tree(s: &mut Sketch, set: SetId, dataset: u16, chosen: bool) {
    s.op("write_tree", set, |a| {
        a.moves = Moves::Writes;
        a.detail = Detail::Tree(TreeStep { dataset, chosen, ..TreeStep::default() });
    });
}

#[test]
fn trees_count_with_every_list_that_is_written_into_them() {
    let mut s = Sketch::new(1);
    let set = s.set("trees", 0, Draw::Const(0), |_| {});
    for (name, size) in [("clean", 1000), ("objects", 300)] {
        let mut list = Dataset::new(name, ListOrder::AsIs);
        list.add_file(0, "a", size);
        s.plan.datasets.push(list.into());
    }
    s.repeat(10, |s| write_tree(s, set, 0, false));
    s.phase("create");
    s.each(EachPlan { set, order: Order::Slot, limit: u64::MAX }, |s| write_tree(s, set, 1, true));
    s.phase("compile");
    let n = needs(&s.plan);
    assert_eq!((n.written, n.bytes.peak), (Some(10 * 1300), Some(10 * 1300)));
    // Twice as many trees in two rounds, and of the second round at most as many are compiled.
    let body = std::mem::take(&mut s.plan.schedule);
    s.plan.schedule = vec![Schedule::Loop { until: Until::Times(2), body }];
    let n = needs(&s.plan);
    assert_eq!((n.written, n.bytes.peak), (Some(20 * 1000 + 2 * 20 * 300), Some(20 * 1000 + 2 * 20 * 300)));
    // Drawn: on average so much, and at most nobody knows.
    let mut s = Sketch::new(1);
    let set = s.set("trees", 0, Draw::Const(0), |_| {});
    let mut list = Dataset::new("patch", ListOrder::AsIs);
    list.add_file(0, "a", 400);
    s.plan.datasets.push(list.into());
    s.repeat(100, |s| {
        s.mix(&[(1, &|s| write_tree(s, set, 0, false)), (3, &|s| s.op("stat_tree", set, |_| {}))]);
    });
    s.phase("age");
    let n = needs(&s.plan);
    assert_eq!((n.written, n.bytes.peak), (Some(25 * 400), None));
}

#[test]
fn groups_do_what_their_workers_do() {
    let mut s = Sketch::new(201);
    let set = s.set("log", 0, Draw::Const(0), |set| set.per_worker = true);
    s.until(Until::Times(1000), |s| s.op("stat", set, |_| {}));
    s.group("readers", 200, false);
    s.repeat(8, |s| s.new_file(set, Draw::Const(4096)));
    s.op("think", NO_SET, |a| a.value = Draw::Const(2 * SECOND));
    s.group("writer", 1, true);
    s.phase("run");
    let n = needs(&s.plan);
    assert_eq!((n.written, n.bytes.peak, n.inodes.peak), (Some(8 * 4096), Some(8 * 4096), Some(9)));
    assert_eq!(n.expected_seconds, Some(2.0));
}

#[test]
fn descriptors_count_directories_kept_files_and_hands() {
    let mut s = Sketch::new(2);
    let sub = s.name(vec![Segment::Literal(b"s".into())]);
    s.set("kept", 100, Draw::Const(0), |set| set.kept_open = Some(0));
    let mail = s.set("mail", 10, Draw::Const(0), |set| {
        set.dirs = Some(DirsPlan { count: 50, name: sub, rotate: Rotate::Random });
    });
    s.op("open", mail, |_| {});
    s.phase("run");
    // 100 files in one directory; one file, its set's directory and 50 below; one more for now.
    assert_eq!(needs(&s.plan).descriptors_per_worker, OWN_DESCRIPTORS + 101 + 52 + 1);
    assert_eq!(needs(&s.plan).descriptors_total, 2 * (OWN_DESCRIPTORS + 154));
}

#[test]
fn memory_is_what_buffers_hold() {
    let with = |data: Recipe| {
        let mut s = Sketch::new(1);
        let set = s.set("data", 0, Draw::Const(0), |_| {});
        s.plan.largest_block = 16 << 20;
        s.op("write", set, |a| (a.amount, a.data) = (bytes(16 << 20), data));
        s.phase("run");
        needs(&s.plan).memory.per_worker - STATISTIC
    };
    let one = (16 << 20) + PAGE;
    assert_eq!(with(Recipe::Zero), 2 * one);
    assert_eq!(with(Recipe::Random), 2 * one);
    assert_eq!(with(Recipe::Mixed { compressible: 50, duplicate: 0 }), 3 * one);
    let mut s = Sketch::new(8);
    s.set("source", 1, Draw::Const(1 << 30), |set| set.memory = true);
    s.phase("run");
    let n = needs(&s.plan);
    let each = (1 << 30) + (1 << 20) + PAGE + DATA_POOL + PAGE;
    assert_eq!(n.memory, Memory { per_worker: each, shared: 0, total: 8 * each });
    assert_eq!((n.bytes.peak, n.inodes.peak), (Some(0), Some(0)));
}

#[test]
fn alignment_is_the_smallest_step_that_is_direct() {
    let of = |direct, steps: &dyn Fn(&mut Sketch, SetId)| {
        let mut s = Sketch::new(1);
        s.plan.engines[0].direct = direct;
        let flag = if direct == Direct::Require { libc::O_DIRECT } else { 0 };
        let set = s.set("data", 1, Draw::Const(1 << 20), |set| set.kept_open = Some(libc::O_RDWR | flag));
        steps(&mut s, set);
        s.phase("run");
        needs(&s.plan).alignment.map(|g| (g.bytes, g.place, g.required))
    };
    let read = |n, at| move |s: &mut Sketch, set| s.op("read", set, |a| (a.amount, a.at) = (bytes(n), at));
    assert_eq!(of(Direct::Never, &read(4096, At::Random)), None);
    assert_eq!(of(Direct::Require, &read(4096, At::Random)), Some((4096, "step 1".into(), true)));
    assert_eq!(of(Direct::Prefer, &read(3000, At::Random)), Some((3000, "step 1".into(), false)));
    let both = |s: &mut Sketch, set| {
        read(65536, At::Next)(s, set);
        read(65536, At::Offset(uniform(0, 1 << 16)))(s, set);
    };
    assert_eq!(of(Direct::Require, &both), Some((1, "step 2".into(), true)));
    // In whole blocks from the start, with a shorter one at the end.
    assert_eq!(of(Direct::Require, &read(3 << 12, At::Next)), Some((4096, "step 1".into(), true)));
}

#[test]
fn names_are_measured_between_slashes() {
    let spec = |width| Spec { radix: 10, upper: false, fill: b'0', align: Align::Right, width };
    assert_eq!(longest_component(&[Segment::Literal(b"long-name/x".into()), Segment::Number(spec(3))]), 11);
    assert_eq!(longest_component(&[Segment::Number(spec(30)), Segment::Random(24)]), 54);
}

#[test]
fn root_is_wanted_for_dropping_caches_only() {
    let mut s = Sketch::new(1);
    s.op("sync", NO_SET, |_| {});
    s.op("drop_caches", NO_SET, |_| {});
    s.op("drop_caches", NO_SET, |_| {});
    s.phase("run");
    assert_eq!(needs(&s.plan).root_wanted, ["drop_caches"]);
    assert_eq!(needs(&rich().plan).root_wanted, [""; 0]);
}

#[test]
fn a_million_files_take_no_time() {
    let mut s = Sketch::new(2000);
    let set = s.set("data", 1_000_000, uniform(0, 1 << 20), |set| set.slots = Some(2_000_000));
    s.repeat(1_000_000, |s| {
        s.repeat(1_000_000, |s| s.new_file(set, uniform(0, 1 << 20)));
        s.each(EachPlan { set, order: Order::Slot, limit: u64::MAX }, |s| s.op("unlink", set, |_| {}));
    });
    s.phase("run");
    let start = std::time::Instant::now();
    let n = needs(&s.plan);
    assert!(crate::plan::listing::listing(&s.plan).contains("repeat 1000000"));
    // Following the programs would take hours: any bound tells the two apart.
    assert!(start.elapsed().as_secs() < 5);
    assert_eq!(n.inodes, Held { laid_out: 1_000_001, peak: Some(2_000_001) });
}

#[test]
fn the_text_names_every_need() {
    insta::assert_snapshot!(text(&needs(&rich().plan)), @r"
    space        458 MiB at the start, at most 573 MiB
    writes       9.78 GiB
    inodes       818 at the start, at most 1018
    descriptors  24 a worker, 96 together
    memory       4.13 MiB a worker, 24.5 MiB together
    threads      4
    names        up to 11 bytes
    direct I/O   required, in multiples of 16KiB (step 11)
    time         25s, and what fill, clean take
    ");
}

#[test]
fn a_recorded_load_needs_its_files_and_its_descriptors_for_every_worker() {
    use crate::plan::stream::{BASE, Entry, Kind, Stream, flags};
    let mut stream = Stream::empty();
    let dir = stream.add_path(BASE, "d");
    let file = stream.add_path(dir, "f");
    stream.entries.push(Entry { kind: Kind::Open, flags: flags::OK, handle: 0, a: file, b: 1 });
    (stream.footprint, stream.names, stream.handles) = (1 << 20, 1, 1);
    let replay = ReplayPlan {
        stream: std::sync::Arc::new(stream),
        replace: Vec::new(),
        options: ReplayOptions::default(),
        pace: None,
        stats: Vec::new(),
    };
    let (op, _) = crate::ops::table::find("replay").unwrap();
    let group = GroupPlan {
        name: String::new(),
        workers: (0, 3),
        code: vec![Instr::Op { op, args: 0 }, Instr::End],
        ends_phase: false,
        measured: true,
    };
    let phase = PhasePlan {
        name: "run".into(),
        measured: true,
        groups: vec![group],
        stats: Vec::new(),
        expected: Expected::Unknown,
    };
    let plan = Plan {
        workers: 3,
        phases: vec![phase],
        schedule: vec![Schedule::Phase(0)],
        args: vec![Args { detail: Detail::Replay(0), ..Args::default() }],
        replays: vec![replay],
        ..Plan::empty()
    };
    let needs = needs(&plan);
    assert_eq!(needs.bytes.peak, Some(3 << 20));
    assert_eq!(needs.descriptors_per_worker, 3 + 17);
}
