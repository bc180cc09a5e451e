//! Queued transfers on the simulation: every operation once, in its order, exactly counted; what is
//! no transfer waits for those in flight (the simulation refuses it otherwise).

mod common;

use std::sync::Arc;

use common::pipeline::{plans, simulate, total};
use ioscore::os::Errno;
use ioscore::os::sim::{Direct, Effect, Event, Op, Options, Script, SimFs, When};
use ioscore::plan::instr::Plan;
use ioscore::vm::random::StreamKey;
use ioscore::vm::team::TeamRun;
use proptest::prelude::*;

const DATA: [&str; 3] = ["read", "write", "append"];

fn profile(engine: &str, repeat: &str, steps: &str) -> String {
    format!(
        "profile: queues
version: 1.0.0
title: Queues
summary: A test of tests.
engine: {engine}
files:
  data: {{count: 3, size: 1MiB}}
phases:
  - phase: run
    {repeat}
    steps:
{steps}
results:
  - {{name: Operations, value: run.seconds, unit: s, better: lower, primary: true}}
"
    )
}

fn run_with(text: &str, options: Options) -> (Arc<Plan>, TeamRun, SimFs) {
    let planned = plans("queues.yaml", text, &[]).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let plan = Arc::clone(&planned[0].1);
    let (run, disk) = simulate(&plan, options, StreamKey::default());
    (plan, run, disk)
}

fn run(text: &str) -> (Arc<Plan>, TeamRun, SimFs) {
    run_with(text, Options { trace: 1 << 20, ..Options::default() })
}

fn counts(plan: &Plan, run: &TeamRun) -> Vec<(&'static str, u64, u64, u64)> {
    let one = |key| {
        let of = |count: fn(&ioscore::vm::stat::Stat) -> u64| total(plan, run, "run", key, count);
        (key, of(|s| s.ops), of(|s| s.bytes), of(|s| s.latency.count()))
    };
    DATA.iter().chain(&["fsync", "fdatasync"]).map(|key| one(*key)).collect()
}

/// Transfers and syncs in the order in which the machine was told of them.
fn told(disk: &SimFs) -> Vec<Event> {
    let kinds = [Op::Pread, Op::Pwrite, Op::Read, Op::Write, Op::Fsync, Op::Fdatasync];
    disk.trace().into_iter().filter(|event| kinds.contains(&event.op)).collect()
}

fn step() -> impl Strategy<Value = String> {
    let size = prop::sample::select(vec!["512", "4KiB", "12KiB", "64KiB", "{uniform: [1, 9000]}"]);
    let at = prop::sample::select(vec!["random", "next", "start", "permuted", "{stride: 16KiB}"]);
    let pick = prop::sample::select(vec!["same", "random", "next"]);
    prop_oneof![
        5 => (size.clone(), at.clone(), pick.clone())
            .prop_map(|(size, at, pick)| format!("{{read: {size}, in: data, at: {at}, pick: {pick}}}")),
        4 => (size.clone(), at, pick)
            .prop_map(|(size, at, pick)| format!("{{write: {size}, in: data, at: {at}, pick: {pick}}}")),
        2 => size.prop_map(|size| format!("{{append: {size}, in: data, block: 4KiB}}")),
        1 => (1u32..9).prop_map(|every| format!("{{fsync: data, every: {every}}}")),
        1 => Just("{fdatasync: data, every: 5}".to_string()),
        1 => (1u32..9).prop_map(|n| format!("{{repeat: {n}, steps: [{{read: 4KiB, in: data}}]}}")),
        1 => Just("{label: block, steps: [{read: 4KiB, in: data}, {write: 4KiB, in: data}]}".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    /// Whatever the depth, the same operations as one at a time, in the same order.
    #[test]
    fn queued_operations_are_those_of_the_plain_calls(
        steps in prop::collection::vec(step(), 1..6),
        depth in 1u32..40,
        rounds in 1u32..200,
        amount in any::<bool>(),
    ) {
        // An amount ends after so many transfers; only data steps count there.
        let repeat = match amount && steps[0].contains("{read") || steps[0].contains("{write") {
            true => format!("until: {{ops: {rounds}}}"),
            false => format!("repeat: {rounds}"),
        };
        let steps = steps.iter().map(|step| format!("      - {step}\n")).collect::<String>();
        let (plain_plan, plain_run, plain_disk) = run(&profile("sync", &repeat, &steps));
        let engine = format!("{{name: io_uring, depth: {depth}}}");
        let (plan, queued_run, disk) = run(&profile(&engine, &repeat, &steps));
        prop_assert_eq!(&plain_run.fault, &None);
        prop_assert_eq!(&queued_run.fault, &None);
        prop_assert_eq!(counts(&plan, &queued_run), counts(&plain_plan, &plain_run));
        let (queued, plain) = (told(&disk), told(&plain_disk));
        prop_assert!(!plain.is_empty());
        prop_assert_eq!(queued, plain);
        for file in ["data/1", "data/2", "data/3"] {
            let size = disk.stat(file).unwrap().size;
            prop_assert_eq!(size, plain_disk.stat(file).unwrap().size);
        }
    }
}

const READS: &str = "      - {read: 4KiB, in: data, at: random}\n";

/// 81 us and 4 us a transfer: 32 at a time take as long as one, and are that many times as fast.
#[test]
fn many_in_flight_take_less_time() {
    let seconds = |depth: u32| {
        let engine = format!("{{name: libaio, depth: {depth}}}");
        let (_, run, _) = run(&profile(&engine, "repeat: 3200", READS));
        let worker = &run.phases[0].workers[0];
        let (queued, sum) = worker.depths[0];
        assert_eq!(queued, 3200);
        ((worker.end - worker.start) as f64 / 1e9, sum as f64 / queued as f64)
    };
    let (one, alone) = seconds(1);
    let (many, together) = seconds(32);
    assert_eq!(alone, 1.0);
    assert!(together > 12.0 && together <= 32.0, "{together}");
    assert!(one / many > 10.0, "{one} {many}");
}

/// What ends after the window does not count, and latencies are from queueing to the end.
#[test]
fn only_what_ends_inside_the_window_counts() {
    let engine = "{name: io_uring, depth: 16}";
    let (plan, run, disk) = run(&profile(engine, "for: 100ms", READS));
    let reads = total(&plan, &run, "run", "read", |s| s.ops);
    let told = told(&disk).iter().filter(|event| event.op == Op::Pread).count() as u64;
    assert!(reads > 1000 && told > reads && told - reads <= 16, "{reads} of {told}");
    let worker = &run.phases[0].workers[0];
    assert!(worker.end - worker.start <= 100_000_000);
    let latency = worker.stats.iter().find_map(|s| s.latency.min_ns()).unwrap();
    assert!(latency >= 84_000, "{latency}");
}

#[test]
fn amounts_are_exact_with_workers_in_turn() {
    for repeat in ["until: {ops: 1001}", "until: {bytes: 4100096}"] {
        let text =
            profile("{name: io_uring, depth: 7}", repeat, READS).replace("files:", "workers: 3\nfiles:");
        let (plan, run, _) = run(&text);
        assert_eq!(run.fault, None);
        assert_eq!(total(&plan, &run, "run", "read", |s| s.ops), 1001, "{repeat}");
    }
}

fn script(op: Op, nth: u64, effect: Effect) -> Options {
    Options { script: Script::one(op, When::Nth(nth), effect), trace: 1 << 20, ..Options::default() }
}

#[test]
fn short_transfers_go_on_and_are_counted() {
    let text = profile("{name: io_uring, depth: 8}", "repeat: 100", READS);
    let (plan, run, disk) = run_with(&text, script(Op::Pread, 50, Effect::Short(1000)));
    assert_eq!(run.fault, None);
    let of = |count: fn(&ioscore::vm::stat::Stat) -> u64| total(&plan, &run, "run", "read", count);
    assert_eq!((of(|s| s.ops), of(|s| s.bytes), of(|s| s.short)), (100, 409_600, 1));
    assert_eq!(told(&disk).iter().filter(|event| event.op == Op::Pread).count(), 101);
}

#[test]
fn an_error_ends_the_run_and_an_expected_one_does_not() {
    let failing = || script(Op::Pread, 50, Effect::Errno(Errno(libc::EIO)));
    let text = profile("{name: io_uring, depth: 8}", "repeat: 100", READS);
    let (_, run, _) = run_with(&text, failing());
    let (_, fault) = run.fault.unwrap();
    assert_eq!((fault.call, fault.errno, fault.len), ("read", Some(Errno(libc::EIO)), Some(4096)));
    assert!(&*fault.path == "1" && fault.offset.is_some(), "{fault:?}");
    let text = profile(
        "{name: io_uring, depth: 8}",
        "repeat: 100",
        "      - {read: 4KiB, in: data, at: random, expect: [EIO]}\n",
    );
    let (plan, run, _) = run_with(&text, failing());
    assert_eq!(run.fault, None);
    let of = |count: fn(&ioscore::vm::stat::Stat) -> u64| total(&plan, &run, "run", "read", count);
    assert_eq!((of(|s| s.ops), of(|s| s.errors), of(|s| s.bytes)), (100, 1, 99 * 4096));
}

/// Refused when the file is opened, or only by the first read.
#[test]
fn preferred_direct_io_gives_way_and_required_does_not() {
    for (engine, refused) in [
        ("sync", "open"),
        ("sync", "read"),
        ("io_uring", "open"),
        ("io_uring", "read"),
        ("io_uring, depth: 8", "open"),
        ("io_uring, depth: 8", "read"),
    ] {
        let options = || match refused {
            "open" => Options {
                script: Script { direct: Direct::Refused, ..Script::default() },
                trace: 1 << 20,
                ..Options::default()
            },
            // No block of 4 KiB is a multiple of what it needs.
            _ => Options {
                script: Script { direct: Direct::Aligned(1 << 20), ..Script::default() },
                trace: 1 << 20,
                ..Options::default()
            },
        };
        let with = |direct: &str| {
            let text = profile(&format!("{{name: {engine}, direct: {direct}}}"), "repeat: 100", READS);
            run_with(&text, options())
        };
        let (plan, run, _) = with("prefer");
        assert_eq!(run.fault, None, "{engine} {refused}");
        assert_eq!(total(&plan, &run, "run", "read", |s| s.ops), 100);
        assert_eq!(run.refused_direct, Some((refused, Errno(libc::EINVAL))), "{engine}");
        let (_, run, _) = with("require");
        let (_, fault) = run.fault.unwrap();
        assert_eq!((fault.call, fault.errno), (refused, Some(Errno(libc::EINVAL))), "{engine}");
        let (_, run, _) = with("never");
        assert_eq!((run.fault, run.refused_direct), (None, None));
    }
}

/// Steps of one phase on two engines: each goes through its own, and waits for the other's.
#[test]
fn engines_take_turns() {
    let steps = "      - {read: 4KiB, in: data, at: random}
      - {write: 4KiB, in: data, at: random, engine: {name: libaio, depth: 4}}
      - {fsync: data, every: 10}
";
    let (plan, run, disk) = run(&profile("sync", "repeat: 50", steps));
    assert_eq!(run.fault, None);
    assert_eq!(plan.engines.len(), 2);
    assert_eq!(total(&plan, &run, "run", "read", |s| s.ops), 50);
    assert_eq!(total(&plan, &run, "run", "write", |s| s.ops), 50);
    let kinds: Vec<Op> = told(&disk).iter().map(|event| event.op).collect();
    let data: Vec<Op> = kinds.iter().copied().filter(|op| *op != Op::Fsync).collect();
    let laid_out = data.len() - 100;
    assert!(data[laid_out..].chunks(2).all(|pair| pair == [Op::Pread, Op::Pwrite]));
}

/// A loop of nothing but a mix runs in one go; with a step beside it, that never comes, it does not.
#[test]
fn a_mix_draws_the_same_however_it_runs() {
    for weights in [[70, 25, 5], [3001, 2000, 501]] {
        mix_draws_the_same(weights);
    }
}

fn mix_draws_the_same([first, second, third]: [u32; 3]) {
    let mix = &format!(
        "      - mix:
          - {{read: 4KiB, in: data, at: random, weight: {first}}}
          - {{write: 4KiB, in: data, at: random, weight: {second}}}
          - {{read: 8KiB, in: data, at: random, weight: {third}}}
"
    );
    let never = "      - {fsync: data, every: 1000000}\n";
    let seen = |steps: &str| {
        let (_, run, disk) = run(&profile("sync", "repeat: 2000", steps));
        assert_eq!(run.fault, None);
        let events = told(&disk);
        let data: Vec<String> = events
            .iter()
            .filter(|event| matches!(event.op, Op::Pread | Op::Pwrite))
            .map(|event| format!("{:?} {:?}", event.op, event.detail))
            .collect();
        data
    };
    let (alone, beside) = (seen(mix), seen(&format!("{mix}{never}")));
    assert!(alone.len() > 2000, "{}", alone.len());
    let first = alone.iter().zip(&beside).position(|(a, b)| a != b);
    assert_eq!((alone.len(), first), (beside.len(), None), "{:?}", first.map(|at| (&alone[at], &beside[at])));
}

/// What was in flight when the ramp ended is no part of the amount, whatever the depth.
#[test]
fn an_amount_after_a_ramp_is_exact() {
    let step = "      - {read: 4KiB, in: data, at: random}\n";
    for engine in ["sync", "{name: io_uring, depth: 1}", "{name: io_uring, depth: 32}"] {
        for until in ["{ops: 100}", "{bytes: 400KiB}"] {
            let text = profile(engine, &format!("ramp: 1ms\n    until: {until}"), step);
            let (plan, run, _) = run(&text);
            assert_eq!(run.fault, None, "{engine}");
            assert_eq!(total(&plan, &run, "run", "read", |s| s.ops), 100, "{engine} {until}");
        }
    }
}

fn refused(text: &str) -> String {
    plans("queues.yaml", text, &[]).expect_err("it must be refused")
}

#[test]
fn one_file_is_direct_or_not() {
    let steps = "      - {read: 4KiB, in: data}
      - {write: 4KiB, in: data, engine: {name: sync, direct: require}}
";
    let said = refused(&profile("sync", "repeat: 5", steps));
    assert!(said.contains("direct-and-not") && said.contains("data"), "{said}");
    let steps = "      - {open: data, mode: rw}
      - {write: 4KiB, engine: {name: sync, direct: require}}
      - close
";
    let said = refused(&profile("sync", "repeat: 5", steps));
    assert!(said.contains("direct-and-not") && said.contains("flags: [direct]"), "{said}");
    let (_, run, _) =
        run(&profile("sync", "repeat: 5", &steps.replace("mode: rw", "mode: rw, flags: [direct]")));
    assert_eq!(run.fault, None);
}

/// Reads and writes each go through the file, and each begins again at its end.
#[test]
fn each_way_keeps_a_position_for_either_direction() {
    for engine in ["sync", "{name: libaio, depth: 4}"] {
        let steps = "      - repeat: 40
        steps:
          - {read: 64KiB, in: data, at: each_way}
          - {repeat: 2, steps: [{write: 64KiB, in: data, at: each_way}]}";
        let text = profile(engine, "repeat: 1", steps).replace("count: 3", "count: 1");
        let (_, done, disk) = run(&text);
        assert_eq!(done.fault, None);
        for (op, times) in [(Op::Pread, 40), (Op::Pwrite, 80)] {
            // The last ones: the layout writes the file before.
            let all: Vec<_> =
                told(&disk).into_iter().filter(|e| e.op == op).map(|e| format!("{:?}", e.detail)).collect();
            let expected: Vec<_> =
                (0..times).map(|n| format!("Range(Some({}), 65536)", n % 16 * 65536)).collect();
            assert_eq!(all[all.len() - expected.len()..], expected, "{engine} {op:?}");
        }
    }
}
