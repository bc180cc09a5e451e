//! What the workers of a case share: the stop flag, gates, budgets, shared pools, progress.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::buffers::DataPool;
use super::draw::RankTables;
use super::pool::Pool;
use crate::plan::instr::Plan;

/// Locks even when another thread panicked while it held the lock: the run is then failing anyway
/// and must still come to its end.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.lock() {
        Ok(guard) => guard,
        Err(poisoned) => poisoned.into_inner(),
    }
}

/// A meeting point: everyone waits until all members have come. Members may leave for good.
#[derive(Default)]
pub struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    members: usize,
    waiting: usize,
    round: u64,
}

impl Gate {
    /// A gate for so many members.
    pub fn new(members: usize) -> Gate {
        let gate = Gate::default();
        gate.reset(members);
        gate
    }

    /// For a new phase; nobody may be waiting.
    pub fn reset(&self, members: usize) {
        let mut state = lock(&self.state);
        state.members = members;
        state.waiting = 0;
    }

    /// Waits for the others. The last to come runs `last` before anyone goes on.
    pub fn meet(&self, last: impl FnOnce()) {
        let mut state = lock(&self.state);
        state.waiting += 1;
        if state.waiting >= state.members {
            last();
            state.waiting = 0;
            state.round += 1;
            self.changed.notify_all();
            return;
        }
        let round = state.round;
        while state.round == round {
            state = match self.changed.wait(state) {
                Ok(state) => state,
                Err(poisoned) => poisoned.into_inner(),
            };
        }
    }

    /// Comes no more; the others no longer wait for this member.
    pub fn leave(&self) {
        let mut state = lock(&self.state);
        state.members = state.members.saturating_sub(1);
        if state.waiting > 0 && state.waiting >= state.members {
            state.waiting = 0;
            state.round += 1;
            self.changed.notify_all();
        }
    }
}

/// Shared by all workers of one case.
pub struct Shared {
    /// The phase is over for everyone.
    stop: AtomicBool,
    /// Nothing more is to be done at all (an interrupt or a fault).
    abort: AtomicBool,
    /// Used-up parts of ends that all workers count together.
    pub budgets: Vec<AtomicU64>,
    /// Pools of shared sets, by set.
    pub pools: Vec<Option<Mutex<Pool>>>,
    /// Barriers that steps meet at.
    pub barriers: Vec<Gate>,
    /// Everyone and the leader: between the parts of a phase.
    pub gate: Gate,
    /// The workers alone: the last one to come releases all into a phase, and ends it.
    pub line: Gate,
    /// Operations done so far, updated a few times a second by each worker.
    pub ops: AtomicU64,
    /// Bytes moved so far, updated like `ops`.
    pub bytes: AtomicU64,
    /// Tables of Zipf's law, made once for all workers.
    pub ranks: RankTables,
    /// Random data to write.
    pub data: Arc<DataPool>,
    /// Workers still to be done of the group that ends the phase.
    pub enders: AtomicUsize,
    /// Latest time of the workers of that group, for machines whose workers have clocks of their
    /// own: nobody may be further than they are.
    pub horizon: AtomicU64,
    /// End of the last operation of those of them that are done.
    pub ends_with: AtomicU64,
    /// When that group was done; [`u64::MAX`] while it is not.
    pub ends_at: AtomicU64,
}

impl Shared {
    /// State before the first phase of a plan.
    pub fn new(plan: &Plan) -> Shared {
        Shared {
            stop: AtomicBool::new(false),
            abort: AtomicBool::new(false),
            budgets: (0..plan.budgets).map(|_| AtomicU64::new(0)).collect(),
            pools: plan
                .sets
                .iter()
                .map(|set| {
                    let pool = || Mutex::new(Pool::new(set.insert, set.slots, set.by_age));
                    (!set.per_worker).then(pool)
                })
                .collect(),
            barriers: (0..plan.barriers).map(|_| Gate::default()).collect(),
            gate: Gate::new(plan.workers as usize + 1),
            line: Gate::new(plan.workers as usize),
            ops: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ranks: RankTables::default(),
            // What is fresh in every sector differs by seed, case, repeat and worker.
            data: DataPool::new(plan.workers, plan.largest_block as usize, 0x696f_7363),
            enders: AtomicUsize::new(0),
            horizon: AtomicU64::new(0),
            ends_with: AtomicU64::new(0),
            ends_at: AtomicU64::new(u64::MAX),
        }
    }

    /// Whether workers should leave the phase before their next operation.
    #[inline]
    pub fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Ends the phase for everyone.
    pub fn stop_phase(&self) {
        self.stop.store(true, Ordering::Release);
    }

    /// Ends the case for everyone.
    pub fn abort(&self) {
        self.abort.store(true, Ordering::Release);
        self.stop.store(true, Ordering::Release);
    }

    /// Whether the case ends for everyone.
    pub fn aborted(&self) -> bool {
        self.abort.load(Ordering::Acquire)
    }

    /// Before a phase begins: the flag is down again unless the case is at its end.
    /// `enders`: how many workers are in the group that ends it.
    pub fn begin_phase(&self, enders: usize) {
        self.enders.store(enders, Ordering::Relaxed);
        self.horizon.store(0, Ordering::Relaxed);
        self.ends_with.store(0, Ordering::Relaxed);
        self.ends_at.store(u64::MAX, Ordering::Relaxed);
        self.stop.store(self.aborted(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn gates_release_together_and_let_members_leave() {
        let gate = Arc::new(Gate::new(4));
        let lasts = Arc::new(AtomicU64::new(0));
        let workers: Vec<_> = (0..4)
            .map(|i| {
                let (gate, lasts) = (Arc::clone(&gate), Arc::clone(&lasts));
                std::thread::spawn(move || {
                    for _ in 0..100 {
                        gate.meet(|| {
                            lasts.fetch_add(1, Ordering::SeqCst);
                        });
                    }
                    if i == 0 {
                        gate.leave();
                    } else {
                        gate.meet(|| {});
                    }
                })
            })
            .collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        assert_eq!(lasts.load(Ordering::SeqCst), 100);
    }
}
