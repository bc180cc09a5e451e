//! The workers of one case: started together, led through the schedule of phases by meeting at
//! gates, and asked for what they counted.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fault::Fault;
use super::interp;
use super::random::StreamKey;
use super::shared::{Gate, Shared, lock};
use super::stat::Stat;
use super::worker::Worker;
use crate::measure::series::Interval;
use crate::os::{Errno, Nanos, Os, PLAIN, QueueState};
use crate::plan::instr::*;

/// Stack of a worker thread in bytes: nothing in the interpreter recurses.
const STACK: usize = 256 << 10;

/// What one worker did in one execution of a phase.
#[derive(Clone, Debug)]
pub struct WorkerPhase {
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Index of its group in the phase.
    pub group: usize,
    /// Its numbers, by statistic of the phase.
    pub stats: Vec<Stat>,
    /// Start of its measured time, on the run's clock.
    pub start: Nanos,
    /// End of its last counted operation, on the run's clock.
    pub end: Nanos,
    /// When its program ended.
    pub left: Nanos,
    /// Time in steps that are not measured, up to `end`.
    pub excluded: Nanos,
    /// Most it was behind a rate it should keep.
    pub lag: Nanos,
    /// Its numbers by interval; empty where none are kept.
    pub intervals: Vec<Interval>,
    /// By engine of the plan: transfers queued, and the sum over them of how many were then in flight.
    pub depths: Vec<(u64, u64)>,
}

/// One execution of a phase.
#[derive(Clone, Debug)]
pub struct PhaseRun {
    /// Index of the phase in the plan.
    pub phase: u16,
    /// When all workers were released.
    pub released: Nanos,
    /// The window everything is measured over, where the phase has a fixed one.
    pub window: Option<(Nanos, Nanos)>,
    /// What each worker did.
    pub workers: Vec<WorkerPhase>,
}

/// Everything one case gave.
#[derive(Clone, Debug, Default)]
pub struct TeamRun {
    /// Executions of phases, in order.
    pub phases: Vec<PhaseRun>,
    /// The first thing that went wrong, and in which worker.
    pub fault: Option<(u32, Fault)>,
    /// Whether it was stopped from outside.
    pub aborted: bool,
    /// Whether every worker got a descriptor table of its own.
    pub own_tables: bool,
    /// An engine that could not have its queue, by its number in the plan, and why.
    pub refused: Option<(u8, Errno)>,
    /// What became of each worker's queues, each with the number of its engine in the plan.
    pub queues: Vec<(u8, QueueState)>,
    /// The call that refused direct I/O where it was preferred, and why.
    pub refused_direct: Option<(&'static str, Errno)>,
    /// Why a step that should drop the caches left them as they were.
    pub refused_drop: Option<Errno>,
    /// The first request of a recorded load that did not end as recorded, in words.
    pub unexpected: Option<String>,
}

/// What the workers are told to do next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Task {
    Phase(u16),
    Leave,
}

/// Reports of a running case to whoever watches it.
pub trait Watcher: Sync {
    /// A phase begins; `marks` are shown to tracers around it.
    fn phase_begins(&self, _plan: &Plan, _phase: u16) {}
    /// The layout is over and the first phase about to begin.
    fn laid_out(&self) {}
}

/// A watcher that does not look.
pub struct NoWatcher;
impl Watcher for NoWatcher {}

/// How a case is to be run.
#[derive(Clone, Copy, Debug, Default)]
pub struct TeamOptions {
    /// What the random choices depend on; the worker's part is filled in.
    pub key: StreamKey,
    /// Seconds since 1970 when the run's clock stood at 0.
    pub epoch: i64,
    /// Show each phase's begin and end to tracers.
    pub mark: bool,
}

struct Meeting {
    task: Mutex<Task>,
    runs: Mutex<Vec<PhaseRun>>,
    released: AtomicU64,
    fault: Mutex<Option<(u32, Fault)>>,
    refused: Mutex<Option<(u8, Errno)>>,
    queues: Mutex<Vec<(u8, QueueState)>>,
    refused_direct: Mutex<Option<(&'static str, Errno)>>,
    refused_drop: Mutex<Option<Errno>>,
    unexpected: Mutex<Option<(Nanos, String)>>,
}

/// Runs a plan with one machine a worker. Returns when every thread is gone.
pub fn run<O: Os>(
    plan: &Arc<Plan>,
    shared: &Arc<Shared>,
    mut machine: impl FnMut(u32) -> O,
    options: TeamOptions,
    watcher: &dyn Watcher,
) -> TeamRun {
    let meeting = Meeting {
        task: Mutex::new(Task::Leave),
        runs: Mutex::new(Vec::new()),
        released: AtomicU64::new(0),
        fault: Mutex::new(None),
        refused: Mutex::new(None),
        queues: Mutex::new(Vec::new()),
        refused_direct: Mutex::new(None),
        refused_drop: Mutex::new(None),
        unexpected: Mutex::new(None),
    };
    let own_tables = Mutex::new(true);
    std::thread::scope(|scope| {
        let mut started = 0;
        for id in 0..plan.workers {
            let worker = Worker::new(
                machine(id),
                id,
                Arc::clone(plan),
                Arc::clone(shared),
                options.key,
                options.epoch,
            );
            let (meeting, own_tables) = (&meeting, &own_tables);
            let thread = std::thread::Builder::new().stack_size(STACK).name(format!("worker-{id}"));
            let spawned = thread.spawn_scoped(scope, move || {
                let mut worker = worker;
                if !worker.os.enter_worker() {
                    *lock(own_tables) = false;
                }
                let whole = std::panic::AssertUnwindSafe(|| work(worker, meeting, options.mark));
                if std::panic::catch_unwind(whole).is_err() {
                    // A bug of ours; the others must not wait for this worker for ever.
                    let message = "the program itself failed; please report this as a bug";
                    let mut first = lock(&meeting.fault);
                    first.get_or_insert((id, plain_fault("worker", message.into())));
                    drop(first);
                    shared.abort();
                    shared.barriers.iter().for_each(Gate::leave);
                    shared.line.leave();
                    shared.gate.leave();
                }
            });
            match spawned {
                Ok(_) => started += 1,
                Err(error) => {
                    let message = format!("starting worker {id} of {}: {error}", plan.workers);
                    *lock(&meeting.fault) = Some((id, plain_fault("thread", message)));
                    shared.abort();
                    break;
                }
            }
        }
        for _ in started..plan.workers {
            shared.gate.leave();
            shared.line.leave();
        }
        lead(plan, shared, &meeting, watcher);
    });
    TeamRun {
        phases: meeting.runs.into_inner().unwrap_or_default(),
        fault: meeting.fault.into_inner().unwrap_or_default(),
        aborted: shared.aborted(),
        own_tables: own_tables.into_inner().unwrap_or(false),
        refused: meeting.refused.into_inner().unwrap_or_default(),
        queues: meeting.queues.into_inner().unwrap_or_default(),
        refused_direct: meeting.refused_direct.into_inner().unwrap_or_default(),
        refused_drop: meeting.refused_drop.into_inner().unwrap_or_default(),
        unexpected: meeting.unexpected.into_inner().unwrap_or_default().map(|(_, words)| words),
    }
}

fn plain_fault(call: &'static str, message: String) -> Fault {
    Fault {
        args: None,
        call,
        path: "".into(),
        offset: None,
        len: None,
        errno: None,
        message: Some(message.into()),
        what_to_do: None,
        written: 0,
    }
}

/// The leader's part: order after order.
fn lead(plan: &Plan, shared: &Shared, meeting: &Meeting, watcher: &dyn Watcher) {
    // Everyone has their queues, has made their files, has opened what is kept.
    shared.gate.meet(|| {});
    shared.gate.meet(|| {});
    shared.gate.meet(|| {});
    watcher.laid_out();
    let mut step = |phase: u16| -> bool {
        if shared.aborted() {
            return false;
        }
        watcher.phase_begins(plan, phase);
        shared.begin_phase(enders(plan, phase));
        for (barrier, gate) in shared.barriers.iter().enumerate() {
            gate.reset(barrier_members(plan, phase, barrier as u16));
        }
        for budget in &shared.budgets {
            budget.store(0, Ordering::Relaxed);
        }
        *lock(&meeting.task) = Task::Phase(phase);
        lock(&meeting.runs).push(PhaseRun { phase, released: 0, window: None, workers: Vec::new() });
        shared.gate.meet(|| {}); // the task is read
        shared.gate.meet(|| {}); // all have ended and said what they did
        if let Some(run) = lock(&meeting.runs).last_mut() {
            close_window(run, shared.ends_at.load(Ordering::Acquire));
        }
        !shared.aborted()
    };
    follow(&plan.schedule, &mut step);
    *lock(&meeting.task) = Task::Leave;
    shared.gate.meet(|| {});
}

/// How many workers are in the groups that end a phase.
fn enders(plan: &Plan, phase: u16) -> usize {
    let groups = plan.phases.get(usize::from(phase)).map_or(&[][..], |p| &p.groups);
    groups.iter().filter(|g| g.ends_phase).map(|g| (g.workers.1 - g.workers.0) as usize).sum()
}

/// A phase that a group ended is measured up to that group's last operation.
fn close_window(run: &mut PhaseRun, ends_at: Nanos) {
    if ends_at == Nanos::MAX {
        return;
    }
    let start = run.workers.iter().map(|w| w.start).min().unwrap_or(run.released);
    let (from, to) = run.window.unwrap_or((start, Nanos::MAX));
    run.window = Some((from, to.min(ends_at)));
}

/// Walks the schedule; `step` runs one phase and says whether to go on.
fn follow(schedule: &[Schedule], step: &mut dyn FnMut(u16) -> bool) -> bool {
    for entry in schedule {
        match entry {
            Schedule::Phase(phase) => {
                if !step(*phase) {
                    return false;
                }
            }
            Schedule::Loop { until, body } => {
                let start = std::time::Instant::now();
                let mut round = 0u64;
                loop {
                    let again = match until {
                        Until::Times(n) => round < *n,
                        Until::Time(span) => round == 0 || start.elapsed().as_nanos() < u128::from(*span),
                        // The compiler refuses other ends here.
                        _ => round == 0,
                    };
                    if !again {
                        break;
                    }
                    if !follow(body, step) {
                        return false;
                    }
                    round += 1;
                }
            }
        }
    }
    true
}

/// Workers that meet at a barrier of a phase.
fn barrier_members(plan: &Plan, phase: u16, barrier: u16) -> usize {
    let Some(phase) = plan.phases.get(usize::from(phase)) else { return 0 };
    let uses = |group: &&GroupPlan| {
        group.code.iter().any(|instr| match instr {
            Instr::Op { args, .. } => {
                plan.args.get(*args as usize).is_some_and(|a| a.detail == Detail::Barrier(barrier))
            }
            _ => false,
        })
    };
    phase.groups.iter().filter(uses).map(|g| (g.workers.1 - g.workers.0) as usize).sum()
}

/// One worker's part: layout, then phase after phase, then out.
fn work<O: Os>(mut worker: Worker<O>, meeting: &Meeting, mark: bool) {
    let shared = Arc::clone(&worker.shared);
    let plan = Arc::clone(&worker.plan);
    let steps = crate::ops::link::<O>(&plan);
    let fail = |id: u32, fault: Fault| {
        let mut first = lock(&meeting.fault);
        if first.is_none() {
            *first = Some((id, fault));
        }
        shared.abort();
    };
    if let Err(refused) = worker.open_queues() {
        lock(&meeting.refused).get_or_insert(refused);
        shared.abort();
    }
    shared.gate.meet(|| {});
    worker.os.use_engine(PLAIN);
    if !shared.aborted()
        && let Err(fault) = worker.lay_out()
    {
        fail(worker.id, fault);
    }
    worker.os.use_engine(worker.engine);
    shared.gate.meet(|| {});
    for set in 0..plan.sets.len() {
        worker.pin(set as SetId);
    }
    if !shared.aborted()
        && let Err(fault) = worker.open_kept()
    {
        fail(worker.id, fault);
    }
    if !shared.aborted() && worker.find_orders().is_err() {
        let fault = worker.fault.take().map_or_else(|| plain_fault("readdir", String::new()), |fault| *fault);
        fail(worker.id, fault);
    }
    worker.prepare_buffers();
    shared.gate.meet(|| {});
    loop {
        shared.gate.meet(|| {});
        let phase_id = match *lock(&meeting.task) {
            Task::Phase(phase) => phase,
            Task::Leave => break,
        };
        let phase = &plan.phases[usize::from(phase_id)];
        let group = phase.groups.iter().position(|g| (g.workers.0..g.workers.1).contains(&worker.id));
        for set in 0..plan.sets.len() {
            worker.pin(set as SetId);
        }
        // Virtual clocks differ between workers; all go on from the latest.
        meeting.released.fetch_max(worker.os.now(), Ordering::AcqRel);
        shared.line.meet(|| {
            if mark {
                worker.os.mark(&mark_text("begin", &phase.name));
            }
            meeting.released.fetch_max(worker.os.now(), Ordering::AcqRel);
        });
        let released = meeting.released.load(Ordering::Acquire);
        if let Some(group_id) = group {
            let group = &phase.groups[group_id];
            worker.os.sleep_until(released);
            worker.begin_phase(phase, released);
            worker.follows = !group.ends_phase && enders(&plan, phase_id) > 0;
            worker.leads = group.ends_phase;
            let ended = interp::run(&mut worker, &plan, &group.code, &steps);
            // A fault of a file that was only laid down ends the phase no earlier than here.
            if ended.is_err() || worker.fault.is_some() {
                worker.abandon_queue();
                let fault = worker.fault.take().map_or_else(|| plain_fault("step", String::new()), |f| *f);
                fail(worker.id, fault);
            }
            worker.forget_ramp();
            if group.ends_phase {
                worker.end_phase_for_all();
            }
            for barrier in barriers_of(&plan, &group.code) {
                shared.barriers[usize::from(barrier)].leave();
            }
            worker.report_progress();
        }
        let left = worker.now;
        shared.line.meet(|| {
            if mark {
                worker.os.mark(&mark_text("end", &phase.name));
            }
        });
        if let Some(group) = group {
            let done = WorkerPhase {
                worker: worker.id,
                group,
                start: worker.first_start,
                end: worker.last_end,
                left,
                excluded: worker.excluded_before_end(),
                lag: worker.lag,
                intervals: worker.take_intervals(),
                depths: worker.depths(),
                stats: std::mem::take(&mut worker.stats),
            };
            let mut runs = lock(&meeting.runs);
            if let Some(run) = runs.last_mut() {
                run.released = released;
                // A phase that was ended early has no window beyond what was done in it.
                if worker.window_end != Nanos::MAX && left >= worker.window_end {
                    run.window = Some((worker.first_start, worker.window_end));
                }
                run.workers.push(done);
            }
        }
        shared.gate.meet(|| {});
    }
    let states = worker.queue_states();
    lock(&meeting.queues).extend(states);
    if let Some(refused) = worker.refused_direct {
        lock(&meeting.refused_direct).get_or_insert(refused);
    }
    if let Some(errno) = worker.refused_drop {
        lock(&meeting.refused_drop).get_or_insert(errno);
    }
    if let Some((at, words)) = worker.unexpected.take() {
        let mut first = lock(&meeting.unexpected);
        if first.as_ref().is_none_or(|(before, _)| at < *before) {
            *first = Some((at, format!("{words} (worker {})", worker.id)));
        }
    }
    worker.close_all();
    if let Some(fault) = worker.fault.take() {
        fail(worker.id, *fault);
    }
}

/// Barriers a program meets at.
fn barriers_of<'a>(plan: &'a Plan, code: &'a [Instr]) -> impl Iterator<Item = u16> + 'a {
    let mut seen = Vec::new();
    code.iter().filter_map(move |instr| match instr {
        Instr::Op { args, .. } => match plan.args.get(*args as usize)?.detail {
            Detail::Barrier(b) if !seen.contains(&b) => {
                seen.push(b);
                Some(b)
            }
            _ => None,
        },
        _ => None,
    })
}

fn mark_text(what: &str, phase: &str) -> std::ffi::CString {
    // Phase names are `[a-z0-9_]`: never a zero byte.
    std::ffi::CString::new(format!("ioscore:{what}:{phase}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::sim::{Options, Sim, SimFs};

    /// One worker that is not there any more when the phase begins: its machine cannot be made to
    /// panic by anything a profile says, so the plan itself is broken.
    #[test]
    fn a_worker_that_panics_does_not_keep_the_others_waiting() {
        let (create, _) = crate::ops::table::find("create").unwrap();
        let group = GroupPlan {
            name: String::new(),
            workers: (0, 3),
            // It works on a set that does not exist.
            code: vec![Instr::Op { op: create, args: 0 }, Instr::End],
            ends_phase: false,
            measured: true,
        };
        let plan = Arc::new(Plan {
            workers: 3,
            phases: vec![PhasePlan {
                name: "broken".into(),
                measured: true,
                groups: vec![group],
                stats: Vec::new(),
                expected: Expected::Unknown,
            }],
            schedule: vec![Schedule::Phase(0)],
            args: vec![Args { set: 7, ..Args::default() }],
            largest_block: 4096,
            places: vec![String::new()],
            ..Plan::empty()
        });
        let disk = SimFs::new(Options::default());
        let shared = Arc::new(Shared::new(&plan));
        let run = run::<Sim>(&plan, &shared, |id| disk.worker(id), TeamOptions::default(), &NoWatcher);
        assert!(run.aborted);
        let (_, fault) = run.fault.expect("the failure is told");
        assert!(fault.message.is_some_and(|m| m.contains("bug")));
    }
}
