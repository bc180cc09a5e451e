use super::*;
use crate::measure::Interval;
use crate::plan::instr::*;
use crate::vm::stat::Stat;
use crate::vm::team::{PhaseRun, WorkerPhase};

const SECOND: u64 = 1_000_000_000;

fn stat_plan(key: &str, kind: StatKind) -> StatPlan {
    StatPlan { key: key.into(), group: String::new(), kind, measured: true }
}

fn group(name: &str, workers: (u32, u32), measured: bool) -> GroupPlan {
    GroupPlan { name: name.into(), workers, code: Vec::new(), ends_phase: false, measured }
}

pub(in crate::run) fn plan(stats: Vec<StatPlan>, groups: Vec<GroupPlan>) -> Plan {
    let phase = PhasePlan { name: "work".into(), measured: true, groups, stats, expected: Expected::Unknown };
    Plan { workers: 2, phases: vec![phase], schedule: vec![Schedule::Phase(0)], ..Plan::empty() }
}

/// `ops` operations of `bytes` bytes and `latency` ns each.
fn stat(ops: u64, bytes: u64, latency: u64) -> Stat {
    let mut stat = Stat::default();
    (0..ops).for_each(|_| stat.count(bytes, bytes, latency));
    stat
}

fn worker(id: u32, start: u64, end: u64, stats: Vec<Stat>) -> WorkerPhase {
    WorkerPhase {
        worker: id,
        group: 0,
        stats,
        start,
        end,
        left: end,
        excluded: 0,
        lag: 0,
        intervals: Vec::new(),
        depths: Vec::new(),
    }
}

fn once(workers: Vec<WorkerPhase>, window: Option<(u64, u64)>) -> TeamRun {
    TeamRun { phases: vec![PhaseRun { phase: 0, released: 0, window, workers }], ..TeamRun::default() }
}

#[track_caller]
fn close(numbers: &Numbers, name: &str, want: f64) {
    let got = numbers.get(name).unwrap_or_else(|| panic!("{name} is not among {:?}", numbers.keys()));
    assert!((got - want).abs() <= want.abs() * 1e-9, "{name} is {got}, not {want}");
}

#[test]
fn rates_are_over_the_common_window_and_rate_sums_over_each_ones_own_time() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 2), true)]);
    // Ten operations of 100 bytes in 2 s, and five in 4 s.
    let run = once(
        vec![
            worker(0, 0, 2 * SECOND, vec![stat(10, 100, SECOND / 10)]),
            worker(1, 0, 4 * SECOND, vec![stat(5, 100, SECOND / 2)]),
        ],
        None,
    );
    let all = numbers(&plan, &run, 0);
    for prefix in ["work.write", "work"] {
        close(&all, &format!("{prefix}.ops.total"), 15.0);
        close(&all, &format!("{prefix}.ops.rate"), 15.0 / 4.0);
        close(&all, &format!("{prefix}.bytes.rate"), 1500.0 / 4.0);
        close(&all, &format!("{prefix}.ops.rate_sum"), 10.0 / 2.0 + 5.0 / 4.0);
        close(&all, &format!("{prefix}.ops.busy_rate"), 15.0 / 3.5);
        close(&all, &format!("{prefix}.bytes.mean"), 100.0);
        close(&all, &format!("{prefix}.latency.max"), 0.5);
        close(&all, &format!("{prefix}.latency.mean"), 3.5 / 15.0);
    }
    close(&all, "work.seconds", 4.0);
    close(&all, "work.write.seconds", 3.5);
    let names = known(&plan);
    assert!(all.keys().all(|name| names.contains(name)), "{all:?}");
    assert!(all.len() > 30);
}

#[test]
fn a_fixed_window_counts_whole_unless_all_left_early() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    let window = Some((SECOND, 11 * SECOND));
    let mut it = worker(0, SECOND, 10 * SECOND, vec![stat(100, 1, 1)]);
    it.left = 11 * SECOND + 5;
    let full = once(vec![it.clone()], window);
    close(&numbers(&plan, &full, 0), "work.ops.rate", 10.0);
    it.left = 10 * SECOND;
    let early = once(vec![it], window);
    close(&numbers(&plan, &early, 0), "work.ops.rate", 100.0 / 9.0);
}

#[test]
fn what_never_ran_has_no_number() {
    let stats = vec![stat_plan("write", StatKind::Data), stat_plan("fsync", StatKind::Operation)];
    let plan = plan(stats, vec![group("", (0, 1), true)]);
    let run = once(vec![worker(0, 0, SECOND, vec![stat(1, 1, 1), Stat::default()])], None);
    let all = numbers(&plan, &run, 0);
    assert!(all.contains_key("work.write.ops.rate"));
    assert!(all.keys().all(|name| !name.contains("fsync")), "{all:?}");
    assert!(!steps(&plan, &run).contains_key("work.fsync"));
    // A phase in which nothing took any time has totals and no rates.
    let timeless = once(vec![worker(0, 5, 5, vec![stat(3, 1, 0), Stat::default()])], None);
    let all = numbers(&plan, &timeless, 0);
    close(&all, "work.write.ops.total", 3.0);
    assert!(!all.contains_key("work.write.ops.rate") && !all.contains_key("work.write.ops.busy_rate"));
    assert!(all.values().all(|v| v.is_finite()));
    assert!(numbers(&plan, &TeamRun::default(), 0).is_empty());
}

#[test]
fn executions_add_up_and_rate_mean_is_the_mean_of_their_rates() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    let execution = |start, end, ops| PhaseRun {
        phase: 0,
        released: start,
        window: None,
        workers: vec![worker(0, start, end, vec![stat(ops, 10, 1)])],
    };
    let run = TeamRun {
        phases: vec![execution(0, SECOND, 10), execution(5 * SECOND, 8 * SECOND, 60)],
        ..TeamRun::default()
    };
    let all = numbers(&plan, &run, 0);
    close(&all, "work.seconds", 4.0);
    close(&all, "work.ops.rate", 70.0 / 4.0);
    close(&all, "work.ops.rate_sum", 70.0 / 4.0);
    close(&all, "work.ops.rate_mean", (10.0 + 20.0) / 2.0);
    close(&all, "work.whole_seconds", 1.0 + 3.0);
}

#[test]
fn whole_seconds_are_differences_of_coarse_stamps_and_at_least_one() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    let run = |start, end| once(vec![worker(0, start, end, vec![stat(1, 1, 1)])], None);
    let whole = |start, end, epoch| numbers(&plan, &run(start, end), epoch)["work.whole_seconds"];
    assert_eq!(whole(0, SECOND / 2, 0), 1.0);
    assert_eq!(whole(0, SECOND + SECOND / 2, 0), 1.0);
    // The same span across one more full second of the wall clock.
    assert_eq!(whole(0, SECOND + SECOND / 2, SECOND / 2), 2.0);
}

#[test]
fn steps_of_several_transfers_blocks_and_decks() {
    let stats = vec![
        stat_plan("write", StatKind::Data),
        stat_plan("write", StatKind::Step),
        stat_plan("save", StatKind::Block),
        stat_plan("mix", StatKind::Decks),
    ];
    let plan = plan(stats, vec![group("", (0, 1), true)]);
    let mut whole = stat(2, 400, SECOND / 2);
    (whole.rate_sum, whole.rated) = (800.0 + 600.0, 2);
    let decks = Stat { ops: 3, ..Stat::default() };
    let block = stat(2, 400, SECOND);
    let run = once(vec![worker(0, 0, 2 * SECOND, vec![stat(8, 100, 1000), whole, block, decks])], None);
    let all = numbers(&plan, &run, 0);
    close(&all, "work.write.ops.total", 8.0);
    close(&all, "work.write.steps.total", 2.0);
    close(&all, "work.write.step_latency.max", 0.5);
    close(&all, "work.write.bytes.rate_mean", 700.0);
    close(&all, "work.write.bytes.rate", 400.0);
    close(&all, "work.save.ops.rate", 1.0);
    close(&all, "work.save.latency.p50", 1.0);
    close(&all, "work.mix.decks", 3.0);
    // The phase as a whole is its transfers, once.
    close(&all, "work.ops.total", 8.0);
    close(&all, "work.bytes.total", 800.0);
    let names = known(&plan);
    assert!(all.keys().all(|name| names.contains(name)));
    let steps = steps(&plan, &run);
    assert_eq!((steps["work.write"].ops, steps["work.write.steps"].ops, steps["work.save"].ops), (8, 2, 2));
}

#[test]
fn a_phase_without_transfers_is_its_operations() {
    let stats = vec![stat_plan("stat", StatKind::Operation), stat_plan("unlink", StatKind::Operation)];
    let plan = plan(stats, vec![group("", (0, 1), true)]);
    let run = once(vec![worker(0, 0, SECOND, vec![stat(3, 0, 1), stat(4, 0, 1)])], None);
    close(&numbers(&plan, &run, 0), "work.ops.rate", 7.0);
}

#[test]
fn groups_have_names_and_background_load_does_not_count() {
    let mut stats = vec![
        stat_plan("read", StatKind::Data),
        stat_plan("append", StatKind::Data),
        stat_plan("write", StatKind::Data),
    ];
    for (stat, name) in stats.iter_mut().zip(["readers", "log", "noise"]) {
        stat.group = name.into();
    }
    let groups =
        vec![group("readers", (0, 1), true), group("log", (1, 2), true), group("noise", (2, 3), false)];
    let plan = plan(stats, groups);
    let none = Stat::default;
    let mut workers = vec![
        worker(0, 0, SECOND, vec![stat(10, 1, 1), none(), none()]),
        worker(1, 0, 2 * SECOND, vec![none(), stat(4, 1, 1), none()]),
        worker(2, 0, 9 * SECOND, vec![none(), none(), stat(99, 1, 1)]),
    ];
    (0..3).for_each(|i| workers[i].group = i);
    let all = numbers(&plan, &once(workers, None), 0);
    close(&all, "work.readers.read.ops.rate", 5.0);
    close(&all, "work.log.ops.total", 4.0);
    close(&all, "work.ops.total", 14.0);
    close(&all, "work.seconds", 2.0);
    assert!(all.keys().all(|name| !name.contains("noise")), "{all:?}");
}

#[test]
fn time_in_unmeasured_steps_is_taken_off() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    let mut one = worker(0, 0, 4 * SECOND, vec![stat(6, 1, 1)]);
    one.excluded = SECOND;
    let all = numbers(&plan, &once(vec![one], None), 0);
    close(&all, "work.seconds", 3.0);
    close(&all, "work.ops.rate", 2.0);
    close(&all, "work.ops.rate_sum", 2.0);
}

#[test]
fn the_rate_of_the_last_whole_second_leaves_out_the_rest() {
    let plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    let mut one = worker(0, 0, 3 * SECOND - 1, vec![stat(60, 10, 1)]);
    let interval = |bytes| Interval { ops: 1, bytes, ..Interval::default() };
    one.intervals = vec![interval(100), interval(300), interval(200)];
    one.left = 3 * SECOND;
    let run = once(vec![one], Some((0, 3 * SECOND)));
    let all = numbers(&plan, &run, 0);
    // Three seconds: what the second stamp shows, over two.
    close(&all, "work.bytes.rate_last_second", 200.0);
    close(&all, "work.requested.rate_last_second", 200.0);
    let series = seconds(&plan, &run);
    assert_eq!((series.len(), &series[0].bytes[..]), (1, &[100, 300, 200][..]));
}

#[test]
fn unmeasured_phases_give_nothing() {
    let mut plan = plan(vec![stat_plan("write", StatKind::Data)], vec![group("", (0, 1), true)]);
    plan.phases[0].measured = false;
    let run = once(vec![worker(0, 0, SECOND, vec![stat(1, 1, 1)])], None);
    assert!(numbers(&plan, &run, 0).is_empty() && known(&plan).is_empty());
    assert!(steps(&plan, &run).is_empty() && seconds(&plan, &run).is_empty());
}

#[test]
fn bytes_go_the_way_their_operations_move_them() {
    let keys = ["write_tree", "read_tree", "both"];
    let stats = keys.iter().map(|key| stat_plan(key, StatKind::Data)).collect();
    let mut plan = plan(stats, vec![group("", (0, 1), true)]);
    let ways = [(0, Moves::Writes), (1, Moves::Reads), (2, Moves::Reads), (2, Moves::Writes)];
    plan.args = ways.map(|(stat, moves)| Args { stat, moves, ..Args::default() }).into();
    plan.phases[0].groups[0].code = (0..4).map(|args| Instr::Op { op: 0, args }).collect();
    let run = |both| {
        once(vec![worker(0, 0, SECOND, vec![stat(2, 10, 1), stat(3, 100, 1), stat(both, 1, 1)])], None)
    };
    assert_eq!(moved(&plan, &run(0)), Some((300, 20)));
    assert_eq!(moved(&plan, &run(1)), None, "one label for both ways");
    plan.sql.databases.push(0);
    assert_eq!(moved(&plan, &run(0)), None, "a database's transfers are not seen");
}
