//! The first operations of a case, as a simulated machine sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::os::sim::{Options, SimFs};
use crate::plan::instr::Plan;
use crate::vm::random::StreamKey;
use crate::vm::shared::{Shared, lock};
use crate::vm::team::{self, TeamOptions, Watcher};

/// Longest time to spend on a trace.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most calls of the layout that a worker's trace holds.
const LAYOUT: usize = 1 << 20;

/// Remembers how many calls each worker had made when all files were laid out.
struct Border<'a> {
    machine: &'a SimFs,
    calls: Mutex<Option<BTreeMap<u32, usize>>>,
}

impl Border<'_> {
    fn count(&self) -> BTreeMap<u32, usize> {
        let mut calls = BTreeMap::new();
        self.machine.trace().iter().for_each(|event| *calls.entry(event.worker).or_default() += 1);
        calls
    }
}

impl Watcher for Border<'_> {
    fn laid_out(&self) {
        *lock(&self.calls) = Some(self.count());
    }
}

/// The first `count` calls of one worker of every group, after the files have been laid out.
pub fn text(plan: &Arc<Plan>, key: StreamKey, count: usize) -> String {
    let laid_out: u64 = plan.sets.iter().map(|set| set.count.saturating_mul(64)).sum();
    let room = usize::try_from(laid_out).unwrap_or(LAYOUT).min(LAYOUT) + count + 64;
    let machine = SimFs::new(Options { trace: room, ..Options::default() });
    let border = Border { machine: &machine, calls: Mutex::new(None) };
    let shared = Arc::new(Shared::new(plan));
    let ended = AtomicBool::new(false);
    let first: BTreeSet<u32> =
        plan.phases.iter().flat_map(|phase| &phase.groups).map(|group| group.workers.0).collect();
    let run = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            // A plan may run for an hour of simulated time: nobody waits for what is not shown.
            let began = Instant::now();
            while !ended.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(5));
                let before = lock(&border.calls).clone();
                let enough = before.is_some_and(|before| {
                    let now = border.count();
                    let of = |calls: &BTreeMap<u32, usize>, id| calls.get(id).copied().unwrap_or(0);
                    first.iter().all(|id| of(&now, id) >= of(&before, id) + count)
                });
                if enough || began.elapsed() > PATIENCE {
                    shared.abort();
                    return;
                }
            }
        });
        let options = TeamOptions { key, epoch: 0, mark: true };
        let run = team::run(plan, &shared, |id| machine.worker(id), options, &border);
        ended.store(true, Ordering::Release);
        let _ = watch.join();
        run
    });
    let before = lock(&border.calls).clone().unwrap_or_default();
    let events = machine.trace();
    let mut out = String::new();
    for id in first {
        let own = || events.iter().filter(|event| event.worker == id);
        let skipped = before.get(&id).copied().unwrap_or(0);
        let _ = writeln!(out, "worker {id}: {skipped} calls lay out files, then");
        for event in own().skip(skipped).take(count) {
            let _ = writeln!(out, "  {event}");
        }
    }
    if let Some((worker, fault)) = run.fault {
        let (_, reason) = crate::run::reason::of_fault(plan, worker, &fault);
        let _ = writeln!(out, "the simulation ended with: {}", reason.line());
    }
    out
}
