use std::collections::HashMap;

use super::*;
use crate::plan::sketch::{Sketch, rich};

type Change = fn(&mut Plan);

/// One change of every field of everything a plan holds, and some of what lies deeper.
const CHANGES: &[(&str, Change)] = &[
    ("workers", |p| p.workers += 1),
    ("engine name", |p| p.engines[0].name = "libaio".into()),
    ("engine depth", |p| p.engines[0].depth = 2),
    ("direct", |p| p.engines[0].direct = Direct::Prefer),
    ("direct required", |p| p.engines[0].direct = Direct::Require),
    ("generator", |p| p.random.generator = Generator::Mt19937 { burn: 0 }),
    ("burn", |p| p.random.generator = Generator::Mt19937 { burn: 1 }),
    ("seed", |p| p.random.seed = Some(0)),
    ("other seed", |p| p.random.seed = Some(1)),
    ("set", |p| drop(p.sets.pop())),
    ("order of sets", |p| p.sets.reverse()),
    ("set name", |p| p.sets[0].name.push('x')),
    ("per worker", |p| p.sets[0].per_worker = true),
    ("dir", |p| p.sets[0].dir.clear()),
    ("dirs", |p| p.sets[0].dirs = None),
    ("dirs count", |p| p.sets[0].dirs.as_mut().unwrap().count = 4),
    ("dirs name", |p| p.sets[0].dirs.as_mut().unwrap().name = 0),
    ("rotate", |p| p.sets[0].dirs.as_mut().unwrap().rotate = Rotate::Time(100)),
    ("rotate count", |p| p.sets[0].dirs.as_mut().unwrap().rotate = Rotate::Files(101)),
    ("rotate at random", |p| p.sets[0].dirs.as_mut().unwrap().rotate = Rotate::Random),
    ("file name", |p| p.sets[0].file_name = 9),
    ("count", |p| p.sets[0].count = 801),
    ("slots", |p| p.sets[0].slots = None),
    ("insert", |p| p.sets[0].insert = Insert::LowestFree),
    ("insert bump", |p| p.sets[0].insert = Insert::BumpThenLowestFree),
    ("size", |p| p.sets[0].size = Draw::Const(0)),
    ("max size", |p| p.sets[0].max_size = None),
    ("set data", |p| p.sets[0].data = Recipe::Zero),
    ("layout", |p| p.sets[0].layout = Layout::Fallocated),
    ("layout none", |p| p.sets[0].layout = Layout::None),
    ("memory", |p| p.sets[0].memory = true),
    ("kept open", |p| p.sets[0].kept_open = Some(0)),
    ("kept open flags", |p| p.sets[1].kept_open = Some(libc::O_RDWR)),
    ("empty", |p| p.sets[0].empty = Guard::EndPhase),
    ("full", |p| p.sets[0].full = Guard::EndPhase),
    ("no room", |p| p.sets[0].no_room = Guard::EndPhase),
    ("dir ahead", |p| p.sets[0].dir_ahead = false),
    ("subdirs ahead", |p| p.sets[0].subdirs_ahead = false),
    ("used by", |p| p.sets[0].used_by.clear()),
    ("used by fewer", |p| p.sets[0].used_by = vec![(0, 3)]),
    ("by age", |p| p.sets[0].by_age = true),
    ("dir permissions", |p| p.sets[0].dir_permissions = 0o700),
    ("phase name", |p| p.phases[0].name.push('x')),
    ("phase measured", |p| p.phases[0].measured = false),
    ("groups", |p| p.phases[0].groups.clear()),
    ("stats", |p| drop(p.phases[0].stats.pop())),
    ("expected", |p| p.phases[0].expected = Expected::Time(7)),
    ("expected iterations", |p| p.phases[0].expected = Expected::Iterations(7)),
    ("stat key", |p| p.phases[0].stats[0].key.push('x')),
    ("stat group", |p| p.phases[0].stats[0].group.push('x')),
    ("stat kind", |p| p.phases[0].stats[0].kind = StatKind::Data),
    ("stat measured", |p| p.phases[0].stats[0].measured = false),
    ("group name", |p| p.phases[0].groups[0].name.push('x')),
    ("group first", |p| p.phases[0].groups[0].workers.0 = 1),
    ("group end", |p| p.phases[0].groups[0].workers.1 = 3),
    ("group ends phase", |p| p.phases[0].groups[0].ends_phase = true),
    ("group measured", |p| p.phases[0].groups[0].measured = false),
    ("operation", |p| p.phases[0].groups[0].code[1] = Instr::Op { op: 1, args: 0 }),
    ("operands", |p| p.phases[0].groups[0].code[1] = Instr::Op { op: 0, args: 1 }),
    ("jump", |p| p.phases[0].groups[0].code[1] = Instr::Jump(0)),
    ("block start", |p| p.phases[0].groups[0].code[1] = Instr::BlockStart { block: 0 }),
    ("block end", |p| p.phases[0].groups[0].code[1] = Instr::BlockEnd { block: 0, stat: 0 }),
    ("loop exit", |p| p.phases[0].groups[0].code[0] = Instr::LoopStart { id: 0, exit: 1 }),
    ("loop id", |p| p.phases[0].groups[0].code[0] = Instr::LoopEnd { id: 0 }),
    ("loop next", |p| p.phases[0].groups[0].code[0] = Instr::LoopNext { id: 0, head: 0 }),
    ("each", |p| p.phases[0].groups[0].code[0] = Instr::EachStart { id: 0, exit: 0 }),
    ("each next", |p| p.phases[0].groups[0].code[0] = Instr::EachNext { id: 0, head: 0 }),
    ("mix", |p| p.phases[0].groups[0].code[0] = Instr::Mix { id: 0 }),
    ("pace", |p| p.phases[0].groups[0].code[0] = Instr::Pace { id: 0 }),
    ("end", |p| p.phases[0].groups[0].code[0] = Instr::End),
    ("schedule", |p| p.schedule.reverse()),
    ("schedule loop", |p| {
        p.schedule = vec![Schedule::Loop { until: Until::Times(1), body: p.schedule.clone() }]
    }),
    ("schedule times", |p| {
        p.schedule = vec![Schedule::Loop { until: Until::Times(2), body: p.schedule.clone() }]
    }),
    ("args", |p| p.args.push(Args::default())),
    ("args set", |p| p.args[0].set = 1),
    ("args other", |p| p.args[0].other = 1),
    ("args stat", |p| p.args[0].stat = 77),
    ("args step stat", |p| p.args[0].step_stat = 77),
    ("args skip", |p| p.args[0].skip_to = 77),
    ("args pick", |p| p.args[0].pick = Pick::Next),
    ("args pick ranked", |p| p.args[0].pick = Pick::Ranked(0)),
    ("args amount", |p| p.args[0].amount = Amount::Whole),
    ("args fixed", |p| p.args[0].fixed = 4097),
    ("args amount bytes", |p| p.args[0].amount = Amount::Bytes(Draw::Const(1))),
    ("args uniform", |p| {
        p.args[0].amount =
            Amount::Bytes(Draw::Uniform { lo: Bound::Number(0), hi: Bound::FileSize, step: 1 });
    }),
    ("args room", |p| {
        p.args[0].amount =
            Amount::Bytes(Draw::Uniform { lo: Bound::Number(0), hi: Bound::FileRoom, step: 1 });
    }),
    ("args step", |p| {
        p.args[0].amount =
            Amount::Bytes(Draw::Uniform { lo: Bound::Number(0), hi: Bound::FileRoom, step: 2 });
    }),
    ("args block", |p| p.args[0].block = Some(Draw::Const(0))),
    ("args remainder", |p| p.args[0].remainder = Remainder::Always),
    ("args remainder alone", |p| p.args[0].remainder = Remainder::IfAlone),
    ("args at", |p| p.args[0].at = At::Random),
    ("args at each way", |p| p.args[0].at = At::EachWay),
    ("args at permuted", |p| p.args[0].at = At::Permuted),
    ("args at offset", |p| p.args[0].at = At::Offset(Draw::Const(0))),
    ("args at stride", |p| p.args[0].at = At::Stride(0)),
    ("args at hot", |p| p.args[0].at = At::Hot { share: 1, of: 2 }),
    ("args at hot share", |p| p.args[0].at = At::Hot { share: 2, of: 2 }),
    ("args data", |p| p.args[0].data = Recipe::Byte(0)),
    ("args data byte", |p| p.args[0].data = Recipe::Byte(1)),
    ("args mixed", |p| p.args[0].data = Recipe::Mixed { compressible: 1, duplicate: 2 }),
    ("args duplicate", |p| p.args[0].data = Recipe::Mixed { compressible: 1, duplicate: 3 }),
    ("args verify", |p| p.args[0].verify = true),
    ("args flags", |p| p.args[0].opening.flags |= libc::O_DIRECT),
    ("args dsync", |p| p.args[0].opening.flags |= libc::O_DSYNC),
    ("args sync", |p| p.args[0].opening.flags |= libc::O_SYNC),
    ("args unknown flag", |p| p.args[0].opening.flags |= libc::O_NOCTTY),
    ("args permissions", |p| p.args[0].opening.permissions = 0o600),
    ("args parents", |p| p.args[0].opening.parents = Parents::Missing),
    ("args stdio", |p| p.args[0].opening.stdio = true),
    ("args name", |p| p.args[0].name = 0),
    ("args value", |p| p.args[0].value = Draw::Const(1)),
    ("args detail", |p| p.args[0].detail = Detail::OpenFile),
    ("args advice", |p| p.args[0].detail = Detail::Advice(Advice::Random)),
    ("args subdirs", |p| p.args[0].detail = Detail::Subdirs),
    ("args relative", |p| p.args[0].detail = Detail::Relative),
    ("args space", |p| p.args[0].detail = Detail::Space(Space::Punch)),
    ("args lock", |p| p.args[0].detail = Detail::Lock(Lock::Read)),
    ("args barrier", |p| p.args[0].detail = Detail::Barrier(0)),
    ("args every", |p| p.args[0].every = 2),
    ("args expect", |p| p.args[0].expect = vec![Errno(libc::ENOENT)]),
    ("args other expect", |p| p.args[0].expect = vec![Errno(libc::EIO)]),
    ("args must fail", |p| p.args[0].must_fail = Some(Errno(libc::ENOENT))),
    ("args limit", |p| p.args[0].limit = Some(0)),
    ("until", |p| p.loops[0].until = Until::Times(201)),
    ("until ops", |p| p.loops[0].until = Until::Ops { total: 200, each: false, data: false }),
    ("until ops each", |p| p.loops[0].until = Until::Ops { total: 200, each: true, data: false }),
    ("until ops data", |p| p.loops[0].until = Until::Ops { total: 200, each: false, data: true }),
    ("until bytes", |p| p.loops[0].until = Until::Bytes { total: 200, each: false }),
    ("until passes", |p| p.loops[0].until = Until::Passes(200)),
    ("until exhausted", |p| p.loops[0].until = Until::Exhausted),
    ("until steady", |p| p.loops[0].until = Until::Steady { windows: 1, within: 2, at_most: 3 }),
    ("until steady within", |p| p.loops[0].until = Until::Steady { windows: 1, within: 3, at_most: 3 }),
    ("ramp", |p| p.loops[0].ramp = 1),
    ("budget", |p| p.loops[0].budget = 1),
    ("phase loop", |p| p.loops[0].phase = false),
    ("mix table", |p| p.mixes[0].table.push(0)),
    ("mix targets", |p| p.mixes[0].targets.reverse()),
    ("mix exact", |p| p.mixes[0].exact = true),
    ("mix decks", |p| p.mixes[0].decks = 0),
    ("each set", |p| p.eaches[0].set = 1),
    ("each order", |p| p.eaches[0].order = Order::Newest),
    ("each limit", |p| p.eaches[0].limit = 1),
    ("pace ops", |p| p.paces[0].ops = 100.5),
    ("pace bytes", |p| p.paces[0].bytes = 1.0),
    ("pace poisson", |p| p.paces[0].poisson = false),
    ("pace debt", |p| p.paces[0].debt = false),
    ("quantiles", |p| p.tables[0] = Table::Quantiles { values: vec![0, 1], tail: vec![] }),
    ("tail", |p| p.tables[0] = Table::Quantiles { values: vec![0], tail: vec![1] }),
    ("zipf", |p| p.tables[1] = Table::Zipf { exponent: 1.1000000000000003 }),
    ("hot table", |p| p.tables[1] = Table::Hot { share: 1, of: 1 }),
    ("lookup", |p| p.tables[2] = Table::Lookup { values: vec![4096, 65536], index: vec![0, 0, 1, 1] }),
    ("ats weight", |p| p.ats[0][0].1 = 51),
    ("ats", |p| p.ats[0][0].0 = At::End),
    ("names", |p| p.names[0] = vec![Segment::Literal(b"x".into())]),
    ("names split", |p| p.names[0] = vec![Segment::Literal(b"ma".into()), Segment::Literal(b"il".into())]),
    ("names random", |p| p.names[0] = vec![Segment::Random(6)]),
    ("names digits", |p| p.names[0] = vec![Segment::Digits(6)]),
    ("spec radix", |p| spec(p).radix = 16),
    ("spec upper", |p| spec(p).upper = true),
    ("spec fill", |p| spec(p).fill = b' '),
    ("spec align", |p| spec(p).align = Align::Left),
    ("spec width", |p| spec(p).width = 9),
    ("databases", |p| p.sql.databases.push(0)),
    ("pragmas", |p| p.sql.pragmas.push(("a".into(), "b".into()))),
    ("script", |p| p.sql.scripts.push(vec![])),
    ("statement", |p| p.sql.scripts.push(vec![Statement { pieces: vec![], line: 0 }])),
    ("statement line", |p| p.sql.scripts.push(vec![Statement { pieces: vec![], line: 1 }])),
    ("args script", |p| p.args[0].detail = Detail::Script(0)),
    ("budgets", |p| p.budgets = 1),
    ("blocks", |p| p.blocks = 2),
    ("barriers", |p| p.barriers = 2),
    ("largest block", |p| p.largest_block = 1),
];

fn spec(plan: &mut Plan) -> &mut Spec {
    match &mut plan.names[1][0] {
        Segment::Number(spec) => spec,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_change_changes_the_hash() {
    let plan = rich().plan;
    let mut seen = HashMap::from([(plan_hash(&plan), "nothing")]);
    for (what, change) in CHANGES {
        let mut changed = plan.clone();
        change(&mut changed);
        assert_ne!(changed, plan, "{what} changes nothing");
        if let Some(other) = seen.insert(plan_hash(&changed), what) {
            panic!("`{what}` and `{other}` have the same hash");
        }
    }
}

#[test]
fn places_do_not_count() {
    let plan = rich().plan;
    let mut moved = plan.clone();
    moved.places[0] = "elsewhere".into();
    assert_eq!(plan_hash(&moved), plan_hash(&plan));
}

/// Holds the form fixed across processes, machines and releases: where this must change, so must
/// the name of the form.
#[test]
fn the_form_is_fixed() {
    let mut sketch = Sketch::new(2);
    let set = sketch.set("data", 1, Draw::Const(4096), |_| {});
    sketch.repeat(3, |s| s.new_file(set, Draw::Const(1000)));
    sketch.phase("write");
    sketch.plan.args[0].expect = vec![Errno(libc::EEXIST)];
    assert_eq!(plan_hash(&sketch.plan), "09a5485783478cb1bc7ef471b5273c02");
}
