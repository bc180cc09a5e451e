//! Loops that end after an amount: before every operation its part is claimed, alone or from a
//! budget that all workers share, so that the amount is met exactly.

use std::sync::atomic::Ordering;

use super::worker::Worker;
use crate::os::Os;
use crate::plan::instr::Pc;

/// What must be claimed before a transfer: the loop around it ends after a fixed amount.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// Operations, data transfers or bytes.
    pub unit: ClaimUnit,
    /// What the loop allows, in `unit`.
    pub total: u64,
    /// Index of the budget all workers share; `None` counts this worker alone.
    pub budget: Option<u16>,
    /// What this worker has used of it, in `unit`.
    pub used: u64,
    /// Where the program goes on when nothing is left.
    pub exit: Pc,
}

impl Claim {
    /// How much of it one operation of a unit takes; nothing where it does not count.
    fn amount(&self, unit: ClaimUnit, bytes: u64) -> Option<u64> {
        match (self.unit, unit) {
            (ClaimUnit::Bytes, ClaimUnit::Transfers) => Some(bytes),
            (a, b) if a == b => Some(1),
            _ => None,
        }
    }
}

/// What a loop over an amount counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimUnit {
    /// Operations of any kind.
    Operations,
    /// Data transfers.
    Transfers,
    /// Bytes moved.
    Bytes,
}

impl<O: Os> Worker<O> {
    /// Ends a loop over an amount when nothing of it is left for `bytes` more. Called before
    /// every transfer (and before other operations where those count).
    #[inline]
    pub fn may_go_on(&mut self, unit: ClaimUnit, bytes: u64) -> bool {
        self.claims.is_empty() || self.ramp_until != 0 || self.claim_more(unit, bytes)
    }

    fn claim_more(&mut self, unit: ClaimUnit, bytes: u64) -> bool {
        for i in 0..self.claims.len() {
            let claim = self.claims[i];
            let Some(amount) = claim.amount(unit, bytes) else { continue };
            let granted = match claim.budget.and_then(|b| self.shared.budgets.get(usize::from(b))) {
                Some(used) => used
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                        (used < claim.total).then(|| used.saturating_add(amount))
                    })
                    .is_ok(),
                None => claim.used < claim.total,
            };
            if !granted {
                self.give_back(i, unit, bytes);
                self.deadline = (0, claim.exit);
                return false;
            }
            self.claims[i].used += amount;
        }
        true
    }

    /// What was claimed did not happen.
    pub fn unclaim(&mut self, unit: ClaimUnit) {
        if self.ramp_until == 0 {
            self.give_back(self.claims.len(), unit, 0);
        }
    }

    /// Gives back what the outermost `n` claims gave.
    fn give_back(&mut self, n: usize, unit: ClaimUnit, bytes: u64) {
        for claim in &mut self.claims[..n] {
            let Some(amount) = claim.amount(unit, bytes) else { continue };
            claim.used = claim.used.saturating_sub(amount);
            if let Some(used) = claim.budget.and_then(|b| self.shared.budgets.get(usize::from(b))) {
                used.fetch_sub(amount, Ordering::Relaxed);
            }
        }
    }

    /// A sequential transfer came to the end of its file. False: the loop over passes ends.
    pub fn pass_done(&mut self) -> bool {
        if self.ramp_until != 0 {
            return true;
        }
        self.passes += 1;
        match self.pass_limit {
            Some((limit, exit)) if self.passes >= limit => {
                self.deadline = (0, exit);
                false
            }
            _ => true,
        }
    }
}
