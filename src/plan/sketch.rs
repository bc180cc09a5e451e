//! Small plans put together by hand, for the tests of this room.

use super::instr::*;
use crate::os::Recipe;

/// A plan being drawn up: steps go to the program of the phase that is ended next.
pub struct Sketch {
    /// What is drawn up so far.
    pub plan: Plan,
    code: Vec<Instr>,
    stats: Vec<StatPlan>,
    first_worker: u32,
    groups: Vec<GroupPlan>,
}

/// One alternative of a mix.
pub type Steps<'a> = &'a dyn Fn(&mut Sketch);

impl Sketch {
    /// An empty sketch for so many workers.
    pub fn new(workers: u32) -> Sketch {
        let plan = Plan {
            workers,
            engines: vec![EnginePlan::sync()],
            random: RandomPlan::default(),
            sets: vec![],
            phases: vec![],
            schedule: vec![],
            args: vec![],
            loops: vec![],
            mixes: vec![],
            eaches: vec![],
            paces: vec![],
            tables: vec![],
            ats: vec![],
            names: vec![],
            datasets: vec![],
            sql: SqlPlan::default(),
            replays: vec![],
            budgets: 0,
            blocks: 0,
            barriers: 0,
            largest_block: 1 << 20,
            places: vec![],
        };
        Sketch { plan, code: vec![], stats: vec![], first_worker: 0, groups: vec![] }
    }

    /// Adds a name of these pieces.
    pub fn name(&mut self, segments: Vec<Segment>) -> NameId {
        self.plan.names.push(segments);
        (self.plan.names.len() - 1) as NameId
    }

    /// A set of files `{n:08}` in a directory of the set's name.
    pub fn set(&mut self, name: &str, count: u64, size: Draw, with: impl FnOnce(&mut SetPlan)) -> SetId {
        let dir = self.name(vec![Segment::Literal(name.into())]);
        let spec = Spec { radix: 10, upper: false, fill: b'0', align: Align::Right, width: 8 };
        let file_name = self.name(vec![Segment::Number(spec)]);
        let mut set = SetPlan {
            name: name.into(),
            per_worker: false,
            dir: vec![dir],
            dirs: None,
            file_name,
            count,
            slots: None,
            insert: Insert::Next,
            size,
            max_size: None,
            data: Recipe::Random,
            layout: Layout::Written,
            memory: false,
            kept_open: None,
            prefer_direct: false,
            empty: Guard::Error,
            full: Guard::Error,
            no_room: Guard::Error,
            dir_ahead: true,
            subdirs_ahead: true,
            used_by: vec![(0, self.plan.workers)],
            by_age: false,
            dir_permissions: 0o755,
            trees: None,
        };
        with(&mut set);
        self.plan.sets.push(set);
        (self.plan.sets.len() - 1) as SetId
    }

    /// Adds a step of a verb on a set; `with` sets its other operands.
    pub fn op(&mut self, verb: &str, set: SetId, with: impl FnOnce(&mut Args)) {
        let (op, _) = crate::ops::table::find(verb).expect("a verb of the table");
        self.stats.push(StatPlan {
            key: verb.into(),
            group: String::new(),
            kind: StatKind::Operation,
            measured: true,
        });
        let mut args = Args { set, stat: (self.stats.len() - 1) as StatId, ..Args::default() };
        with(&mut args);
        self.plan.args.push(args);
        self.plan.places.push(format!("step {}", self.plan.args.len()));
        self.code.push(Instr::Op { op, args: (self.plan.args.len() - 1) as u32 });
    }

    /// Creates, writes and closes one file.
    pub fn new_file(&mut self, set: SetId, bytes: Draw) {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        self.op("create", set, |a| a.opening = Opening { flags, permissions: 0o644, ..Opening::default() });
        self.op("write", set, |a| a.amount = Amount::Bytes(bytes));
        self.op("close", set, |_| {});
    }

    /// Adds a loop around steps.
    pub fn looped(&mut self, plan: LoopPlan, steps: impl FnOnce(&mut Sketch)) {
        self.plan.loops.push(plan);
        let id = (self.plan.loops.len() - 1) as u16;
        let start = self.code.len();
        self.code.push(Instr::End);
        steps(self);
        self.skip_here(start);
        self.code.push(Instr::LoopNext { id, head: start as Pc + 1 });
        self.code[start] = Instr::LoopStart { id, exit: self.code.len() as Pc };
        self.code.push(Instr::LoopEnd { id });
    }

    /// Where the guards of the steps since `start` lead, those of inner blocks excepted.
    fn skip_here(&mut self, start: usize) {
        let here = self.code.len() as Pc;
        for instr in &self.code[start..] {
            if let Instr::Op { args, .. } = instr {
                let skip_to = &mut self.plan.args[*args as usize].skip_to;
                *skip_to = if *skip_to == 0 { here } else { *skip_to };
            }
        }
    }

    /// Adds the phase's own loop around steps.
    pub fn until(&mut self, until: Until, steps: impl FnOnce(&mut Sketch)) {
        self.looped(LoopPlan { until, ramp: 0, budget: 0, phase: true }, steps);
    }

    /// Adds a loop of so many iterations around steps.
    pub fn repeat(&mut self, times: u64, steps: impl FnOnce(&mut Sketch)) {
        self.until(Until::Times(times), steps);
    }

    /// Adds a wait for the pace.
    pub fn pace(&mut self, pace: PacePlan) {
        self.plan.paces.push(pace);
        self.code.push(Instr::Pace { id: (self.plan.paces.len() - 1) as u16 });
    }

    /// Adds a walk over a set around steps.
    pub fn each(&mut self, plan: EachPlan, steps: impl FnOnce(&mut Sketch)) {
        self.plan.eaches.push(plan);
        let id = (self.plan.eaches.len() - 1) as u16;
        let start = self.code.len();
        self.code.push(Instr::End);
        steps(self);
        self.skip_here(start);
        self.code[start] = Instr::EachStart { id, exit: self.code.len() as Pc };
        self.code.push(Instr::EachNext { id, head: start as Pc + 1 });
    }

    /// Adds a mix of alternatives, each with its weight.
    pub fn mix(&mut self, alternatives: &[(u16, Steps)]) {
        let id = self.plan.mixes.len() as u16;
        self.plan.mixes.push(MixPlan { table: vec![], targets: vec![], exact: false, decks: NO_STAT });
        self.code.push(Instr::Mix { id });
        let (mut table, mut targets, mut jumps) = (vec![], vec![], vec![]);
        for (i, (weight, steps)) in alternatives.iter().enumerate() {
            table.extend(std::iter::repeat_n(i as u16, usize::from(*weight)));
            targets.push(self.code.len() as Pc);
            steps(self);
            jumps.push(self.code.len());
            self.code.push(Instr::End);
        }
        let end = self.code.len() as Pc;
        jumps.into_iter().for_each(|at| self.code[at] = Instr::Jump(end));
        let mix = &mut self.plan.mixes[usize::from(id)];
        (mix.table, mix.targets) = (table, targets);
    }

    /// Ends the program of the next so many workers.
    pub fn group(&mut self, name: &str, workers: u32, ends_phase: bool) {
        self.code.push(Instr::End);
        let range = (self.first_worker, self.first_worker + workers);
        self.first_worker = range.1;
        let code = std::mem::take(&mut self.code);
        self.groups.push(GroupPlan { name: name.into(), workers: range, code, ends_phase, measured: true });
    }

    /// Ends a phase; what is left of the program is for all remaining workers.
    pub fn phase(&mut self, name: &str) {
        if !self.code.is_empty() {
            self.group("", self.plan.workers - self.first_worker, false);
        }
        self.first_worker = 0;
        self.plan.schedule.push(Schedule::Phase(self.plan.phases.len() as u16));
        self.plan.phases.push(PhasePlan {
            name: name.into(),
            measured: true,
            groups: std::mem::take(&mut self.groups),
            stats: std::mem::take(&mut self.stats),
            expected: Expected::Unknown,
        });
    }
}

/// From `lo` to `hi` in steps of one byte.
pub fn uniform(lo: u64, hi: u64) -> Draw {
    Draw::Uniform { lo: Bound::Number(lo), hi: Bound::Number(hi), step: 1 }
}

/// Some of everything: every table holds something, so that every field can be changed.
pub fn rich() -> Sketch {
    let mut s = Sketch::new(4);
    let mail = s.set("mail", 800, Draw::Table(0), |set| {
        (set.slots, set.max_size) = (Some(1000), Some(1 << 20));
        (set.empty, set.full) = (Guard::Skip, Guard::Skip);
    });
    let sub = s.name(vec![Segment::Literal(b"s".into()), Segment::Worker(plain_number())]);
    s.plan.sets[0].dirs = Some(DirsPlan { count: 3, name: sub, rotate: Rotate::Files(100) });
    let log = s.set("log", 1, Draw::Const(64 << 20), |set| {
        (set.per_worker, set.kept_open) = (true, Some(libc::O_RDWR | libc::O_DIRECT));
    });
    let missing = s.name(vec![Segment::Literal(b"no".into()), Segment::Digits(6)]);
    s.plan.tables = vec![
        Table::Quantiles { values: vec![0, 4055, 1 << 20], tail: vec![4055, 1 << 20] },
        Table::Zipf { exponent: 1.1 },
        Table::Lookup { values: vec![4096, 65536], index: vec![0, 0, 0, 1] },
    ];
    s.plan.ats = vec![vec![(At::Next, 50), (At::Random, 28), (At::Start, 22)]];
    s.repeat(200, |s| {
        s.new_file(mail, Draw::Table(2));
        s.op("fsync", mail, |a| a.every = 10);
    });
    s.phase("fill");
    s.looped(
        LoopPlan { until: Until::Time(20_000_000_000), ramp: 5_000_000_000, budget: 0, phase: true },
        |s| {
            s.pace(PacePlan { ops: 100.0, bytes: 0.0, poisson: true, debt: true });
            s.mix(&[
                (3, &|s| {
                    let flags = libc::O_RDONLY;
                    s.op("open", mail, |a| (a.pick, a.opening.flags) = (Pick::Ranked(1), flags));
                    s.op("read", mail, |a| {
                        (a.amount, a.block) = (Amount::Whole, Some(Draw::Const(4096)));
                    });
                    s.op("close", mail, |_| {});
                }),
                (1, &|s| {
                    s.op("stat", mail, |a| {
                        (a.name, a.expect) = (missing, vec![crate::os::Errno(libc::ENOENT)]);
                    });
                    s.op("list", mail, |_| {});
                    s.op("unlink", mail, |a| a.pick = Pick::Oldest);
                }),
            ]);
            s.op("write", log, |a| {
                (a.amount, a.block) = (Amount::Bytes(Draw::Const(1 << 20)), Some(Draw::Const(16 << 10)));
                (a.at, a.data) = (At::Weighted(0), Recipe::Zero);
            });
        },
    );
    s.phase("work");
    s.each(EachPlan { set: mail, order: Order::Oldest, limit: u64::MAX }, |s| s.op("unlink", mail, |_| {}));
    s.phase("clean");
    s.plan.barriers = 1;
    s.plan.blocks = 1;
    s
}

/// `{n}` without width.
pub fn plain_number() -> Spec {
    Spec { radix: 10, upper: false, fill: b' ', align: Align::Right, width: 0 }
}
