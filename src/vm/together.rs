//! Groups that run side by side in one phase: how the group that ends it ends it for all, also
//! where every worker has a clock of its own.

use std::sync::atomic::Ordering;

use super::worker::Worker;
use crate::os::{Nanos, Os};

impl<O: Os> Worker<O> {
    /// Where workers have clocks of their own: nobody runs ahead of the group that ends the phase.
    /// True: that group is done and this worker's time is up.
    pub fn keeps_step(&mut self) -> bool {
        if self.leads {
            self.shared.horizon.fetch_max(self.now, Ordering::AcqRel);
        }
        while self.follows {
            let ends_at = self.shared.ends_at.load(Ordering::Acquire);
            if self.now >= ends_at || self.shared.stopping() {
                // The way out is the phase's end.
                self.deadline = (0, u32::MAX);
                return true;
            }
            if ends_at != Nanos::MAX || self.now <= self.shared.horizon.load(Ordering::Acquire) {
                break;
            }
            std::thread::yield_now();
        }
        false
    }

    /// Before this worker waits for others: they must not wait for its clock.
    pub fn wait_for_others(&self) {
        if self.leads && !O::BYTES {
            self.shared.horizon.store(Nanos::MAX, Ordering::Release);
        }
    }

    /// This worker of the group that ends the phase is done; the last one ends it for all.
    pub fn end_phase_for_all(&mut self) {
        // What is not counted (background load may end a phase too) still takes its time.
        let end = if self.last_end > self.first_start { self.last_end } else { self.now };
        let latest = self.shared.ends_with.fetch_max(end, Ordering::AcqRel).max(end);
        if self.shared.enders.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.ends_at.store(latest, Ordering::Release);
            // On a real machine now is now; on the others each goes on up to that time.
            if O::BYTES {
                self.shared.stop_phase();
            }
        }
    }
}
