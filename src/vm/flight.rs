//! What a queue is made of: its free slots, and what each transfer that has not ended yet was for.
//! Knows neither kernels nor profiles, and hands nothing over.

use crate::os::{Completion, Fd, Nanos, Recipe, Transfer};
use crate::plan::instr::*;

/// Free slots, the one that has been free longest first: what is written again next was written
/// longest ago, so that neighbours in a file do not resemble each other.
#[derive(Debug, Default)]
pub(super) struct Ring {
    slots: Vec<u32>,
    head: u32,
    free: u32,
    mask: u32,
}

impl Ring {
    pub(super) fn new(first: u32, count: u32) -> Ring {
        let size = count.next_power_of_two();
        let mut slots: Vec<u32> = (first..first + count).collect();
        slots.resize(size as usize, 0);
        Ring { slots, head: 0, free: count, mask: size - 1 }
    }

    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        let slot = *self.slots.get((self.head & self.mask) as usize)?;
        self.head = self.head.wrapping_add(1);
        self.free -= 1;
        Some(slot)
    }

    #[inline(always)]
    pub(super) fn give(&mut self, slot: u32) {
        let at = self.head.wrapping_add(self.free) & self.mask;
        if let Some(place) = self.slots.get_mut(at as usize) {
            *place = slot;
            self.free += 1;
        }
    }
}

/// A transfer that has not ended yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flight {
    /// When it was queued.
    pub start: Nanos,
    /// Its byte offset.
    pub offset: u64,
    /// Bytes it moves.
    pub len: u32,
    /// Bytes the step asked for.
    pub asked: u32,
    /// Index of the step's operands.
    pub args: u32,
    /// The file.
    pub fd: Fd,
    /// Where it counts.
    pub stat: StatId,
    /// How often it was repeated.
    pub tries: u16,
    /// Writes instead of reading.
    pub write: bool,
    /// The step looks at more than its bytes: at contents, or at an error that must come.
    pub checked: bool,
}

impl Flight {
    /// Whether both count as the same once they end at one time.
    #[inline]
    pub(super) fn is_like(&self, other: &Flight) -> bool {
        (self.start, self.stat) == (other.start, other.stat)
            && (self.len, self.asked) == (other.len, other.asked)
    }
}

/// What is to be queued.
#[derive(Clone, Copy, Debug)]
pub struct Queued {
    /// The file.
    pub fd: Fd,
    /// Its byte offset.
    pub offset: u64,
    /// Bytes to move.
    pub len: u32,
    /// Bytes the step asked for.
    pub asked: u32,
    /// The step looks at more than its bytes: at contents, or at an error that must come.
    pub checked: bool,
}

/// The queue of one engine, as a worker keeps it.
#[derive(Debug, Default)]
pub struct Queue {
    /// Most transfers in flight; 0 for an engine without a queue.
    pub(super) depth: u32,
    pub(super) in_flight: u32,
    /// How many were in flight when the queue was last looked at.
    pub(super) settled: u32,
    /// Free slots for reads, the one that was in use last first: its memory is at hand.
    pub(super) reads: Vec<u32>,
    pub(super) writes: Ring,
    pub(super) flights: Vec<Flight>,
    /// What each slot holds.
    pub(super) filled: Vec<Option<Recipe>>,
    /// What is queued and not handed over yet.
    pub(super) batch: Vec<Transfer>,
    pub(super) ended: Vec<Completion>,
    /// Those of them that did not end as they should.
    pub(super) unusual: Vec<Completion>,
    /// The queue is filled before it is handed over; otherwise each transfer is handed over as it is
    /// put in.
    pub(super) whole: bool,
    /// Sum over all transfers of how many were in flight with each, itself included.
    pub occupancy: u64,
    /// Transfers queued.
    pub queued: u64,
    /// Transfers repeated.
    pub retries: u64,
}

impl Queue {
    /// Slots an engine needs: as many as are in flight for reads, and for writes enough to go
    /// through a whole pool of random data before any of it comes again.
    pub(super) fn slots(depth: u32, len: usize, writes: bool) -> (u32, u32) {
        let cycle = (DATA_POOL as usize / len.max(1)).min(1 << 16) as u32;
        (depth, if writes { depth.max(cycle) } else { 0 })
    }

    /// Whether an engine without a queue is in use.
    #[inline]
    pub fn is_none(&self) -> bool {
        self.depth == 0
    }

    /// Whether transfers are in flight.
    #[inline]
    pub fn is_busy(&self) -> bool {
        self.in_flight > 0
    }

    /// Counts what was queued since the queue was last looked at: each was in flight with all
    /// those before it.
    #[inline]
    pub(super) fn tally(&mut self) {
        let queued = u64::from(self.in_flight - self.settled);
        self.queued += queued;
        self.occupancy += queued * u64::from(self.settled + self.in_flight + 1) / 2;
    }

    /// Transfers queued, and the sum over them of how many were then in flight.
    pub(super) fn depth_sums(&self) -> (u64, u64) {
        (self.queued, self.occupancy)
    }

    /// How many more transfers are to be put in at a time.
    #[inline]
    pub fn room(&self) -> u32 {
        let room = self.depth.saturating_sub(self.in_flight);
        if self.whole { room } else { room.min(1) }
    }

    /// Whether no other transfer fits.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.in_flight >= self.depth
    }
}
