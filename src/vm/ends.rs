//! Transfers that have ended: what is counted of them, and what is done about those that did not end as
//! they should.

use super::fault::Flow;
use super::flight::{Flight, Queue};
use super::stat::Stat;
use super::worker::Worker;
use crate::os::{Call, Errno, Nanos, Os, Recipe};
use crate::plan::instr::*;

/// How often one transfer is repeated that the kernel could not do at the time.
const PATIENCE: u16 = u16::MAX;

/// Counts what has ended by `now`. Those of one batch mostly took the same time: they are counted
/// together.
pub(super) struct Tally<'a> {
    /// None where it is too late to count.
    pub(super) stats: Option<&'a mut [Stat]>,
    pub(super) now: Nanos,
    /// The transfers seen last, and how many of them.
    pub(super) alike: Flight,
    pub(super) times: u64,
    /// Some were counted.
    pub(super) counted: bool,
    /// Nanoseconds that those took which nobody counts.
    pub(super) unmeasured: Nanos,
}

impl Tally<'_> {
    #[inline(always)]
    pub(super) fn add(&mut self, flight: &Flight) {
        if flight.is_like(&self.alike) {
            self.times += 1;
            return;
        }
        self.count();
        (self.alike, self.times) = (*flight, 1);
    }

    #[inline(always)]
    pub(super) fn count(&mut self) {
        let (Some(stats), 1..) = (&mut self.stats, self.times) else { return };
        let latency = self.now.saturating_sub(self.alike.start);
        match stats.get_mut(usize::from(self.alike.stat)) {
            Some(stat) => {
                let (bytes, requested) = (u64::from(self.alike.len), u64::from(self.alike.asked));
                stat.count_alike(self.times, bytes, requested, latency);
                self.counted = true;
            }
            None => self.unmeasured += self.times * latency,
        }
    }
}

impl<O: Os> Worker<O> {
    /// Hands over what was queued, waits for so many to end, and counts all that have.
    #[inline(never)]
    pub fn reap(&mut self, at_least: u32) -> Flow {
        let Worker { os, queue, .. } = self;
        queue.tally();
        queue.ended.clear();
        let mut exchanged = os.exchange(&queue.batch, 0, &mut queue.ended);
        // What a cache has ends as it is handed over: all of the queue goes at once. A device that is
        // handed all at once ends all at once, and has nothing to do in between: it is handed one
        // transfer at a time, as soon as there is room.
        queue.whole = os.ended() >= queue.in_flight;
        if exchanged.is_ok() {
            exchanged = os.exchange(&[], at_least, &mut queue.ended);
        }
        if let Err(errno) = exchanged {
            return self.fail("exchange", None, None, Some(errno), None);
        }
        queue.batch.clear();
        queue.in_flight = queue.in_flight.saturating_sub(queue.ended.len() as u32);
        queue.settled = queue.in_flight;
        let t = os.now();
        self.now = t;
        self.late = t >= self.event_at && !self.event(t);
        let Worker { queue, stats, .. } = self;
        let Queue { flights, ended, reads, writes, unusual, .. } = queue;
        let stats = (!self.late).then_some(stats.as_mut_slice());
        let mut tally =
            Tally { stats, now: t, alike: Flight::default(), times: 0, counted: false, unmeasured: 0 };
        for completion in ended.iter() {
            let slot = completion.slot;
            let Some(flight) = flights.get(slot as usize) else { continue };
            if completion.result as u32 != flight.len || flight.checked {
                unusual.push(*completion);
                continue;
            }
            if flight.write {
                writes.give(slot)
            } else {
                reads.push(slot)
            }
            tally.add(flight);
        }
        tally.count();
        let Tally { counted, unmeasured, .. } = tally;
        if unmeasured > 0 {
            self.exclude(unmeasured);
        }
        if counted {
            self.last_end = t;
        }
        if self.queue.unusual.is_empty() { Flow::Next } else { self.reap_unusual() }
    }

    /// The ends that [`Worker::reap`] has left out.
    #[cold]
    #[inline(never)]
    fn reap_unusual(&mut self) -> Flow {
        let mut unusual = std::mem::take(&mut self.queue.unusual);
        let mut flow = Flow::Next;
        for completion in unusual.drain(..) {
            let slot = completion.slot;
            let Some(&flight) = self.queue.flights.get(slot as usize) else { continue };
            match flight.write {
                true => self.queue.writes.give(slot),
                false => self.queue.reads.push(slot),
            }
            match self.unusual_end(flight, slot, completion.result()) {
                Flow::Next => {}
                other if flow == Flow::Next => flow = other,
                _ => {}
            }
        }
        self.queue.unusual = unusual;
        self.queue.settled = self.queue.in_flight;
        flow
    }

    fn count_ended(&mut self, stat: StatId, bytes: u64, requested: u64, start: Nanos) {
        if self.late {
            return;
        }
        let latency = self.now.saturating_sub(start);
        match self.stats.get_mut(usize::from(stat)) {
            Some(s) => {
                s.count(bytes, requested, latency);
                self.last_end = self.now;
            }
            None => self.exclude(latency),
        }
    }

    /// A transfer that moved less than it should, failed, or is to be looked at.
    fn unusual_end(&mut self, flight: Flight, slot: u32, result: Call<usize>) -> Flow {
        let plan = std::sync::Arc::clone(&self.plan);
        let Some(args) = plan.args.get(flight.args as usize) else { return Flow::Next };
        let running = std::mem::replace(&mut self.running, flight.args);
        let flow = self.settle_flight(args, flight, slot, result);
        self.running = running;
        flow
    }

    pub(super) fn settle_flight(
        &mut self,
        args: &Args,
        flight: Flight,
        slot: u32,
        result: Call<usize>,
    ) -> Flow {
        let call = if flight.write { "write" } else { "read" };
        let result = match result {
            Err(errno)
                if self.gives_up_direct(args, flight.fd, call, errno)
                    || flight.tries == 0 && self.was_direct(args, errno) =>
            {
                return self.repeat_flight(args, Flight { tries: flight.tries + 1, ..flight });
            }
            // Not at this time: once more, unless that is what is asked for.
            Err(errno @ Errno(libc::EAGAIN | libc::EINTR))
                if flight.tries < PATIENCE && !Self::expects(args, errno) =>
            {
                self.queue.retries += 1;
                return self.repeat_flight(args, Flight { tries: flight.tries + 1, ..flight });
            }
            result => result,
        };
        let mut seen = result.unwrap_or(0);
        let moved = result.and_then(|moved| {
            seen = moved;
            self.continue_flight(args, flight, moved as u64)
        });
        // What the continuation took is part of this transfer.
        match moved {
            Ok(moved) => {
                self.count_ended(flight.stat, moved, u64::from(flight.asked), flight.start);
                let lost = u64::from(flight.len).saturating_sub(moved);
                self.moved_bytes = self.moved_bytes.saturating_sub(lost);
                if args.verify && O::BYTES && !flight.write {
                    let memory = self.os.slot(slot).get(..seen).unwrap_or_default();
                    let expected = match args.data {
                        Recipe::Byte(value) => value,
                        _ => 0,
                    };
                    if let Some(at) = memory.iter().position(|b| *b != expected) {
                        let found = memory.get(at).copied().unwrap_or(0);
                        self.member_path_of(args.set, flight.fd);
                        let message =
                            format!("byte {at} of the transfer is {found:#04x}, expected {expected:#04x}");
                        let len = Some(u64::from(flight.len));
                        return self.fail("verify", Some(flight.offset), len, None, Some(message));
                    }
                }
                self.held_to(args, call)
            }
            Err(errno) if Self::expects(args, errno) => {
                self.count_ended(flight.stat, 0, 0, flight.start);
                if let Some(stat) = self.stats.get_mut(usize::from(flight.stat)) {
                    stat.errors += 1;
                }
                Flow::Next
            }
            Err(errno) => {
                self.member_path_of(args.set, flight.fd);
                self.fail(call, Some(flight.offset), Some(u64::from(flight.len)), Some(errno), None)
            }
        }
    }

    /// Moves the rest of a transfer that moved less than it was asked, one call after the other.
    fn continue_flight(&mut self, args: &Args, flight: Flight, mut done: u64) -> Call<u64> {
        let len = u64::from(flight.len);
        let mut last = done;
        while done < len && last > 0 {
            if let Some(stat) = self.stats.get_mut(usize::from(flight.stat)) {
                stat.short += 1;
            }
            let (at, left) = (Some(flight.offset + done), (len - done) as usize);
            let Worker { os, buffers, .. } = self;
            last = match flight.write {
                true => {
                    let bytes = buffers.data(if O::BYTES { args.data } else { Recipe::Zero }, left);
                    os.write(flight.fd, at, bytes, args.data)?
                }
                false => os.read(flight.fd, at, buffers.reading(left))?,
            } as u64;
            done += last;
            self.now = self.os.now();
        }
        if flight.write && done < len { Err(Errno(libc::EIO)) } else { Ok(done) }
    }
}
