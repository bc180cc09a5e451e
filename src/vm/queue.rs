//! Transfers through a queue: laid in, handed over in batches, waited for, repeated. Knows neither
//! kernels nor profiles.

use super::fault::Flow;
use super::flight::{Flight, Queued};
use super::random::Streams;
use super::worker::Worker;
use crate::os::{Call, Os, Recipe, Transfer};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Waits until nothing is in flight any more.
    #[cold]
    #[inline(never)]
    pub fn drain(&mut self) -> Flow {
        while self.queue.is_busy() {
            match self.reap(1) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }

    /// Waits for what is in flight and looks at none of it: the program has failed.
    pub fn abandon_queue(&mut self) {
        while self.queue.is_busy() {
            self.queue.ended.clear();
            let Worker { os, queue, .. } = self;
            if os.exchange(&[], 1, &mut queue.ended).is_err() || queue.ended.is_empty() {
                break;
            }
            let ended = queue.ended.len() as u32;
            queue.in_flight = queue.in_flight.saturating_sub(ended);
        }
    }

    #[inline(always)]
    fn flight<const WRITE: bool>(&self, args: &Args, span: Queued) -> Flight {
        let Queued { fd, offset, len, asked, checked } = span;
        let (start, stat, index) = (self.now, args.stat, self.running);
        Flight { start, offset, len, asked, args: index, fd, stat, tries: 0, write: WRITE, checked }
    }

    /// One transfer to its end, where the queue takes no more than one.
    #[inline(always)]
    pub fn transfer_one<const WRITE: bool>(&mut self, args: &Args, span: Queued) -> Flow {
        let Worker { queue, os, buffers, .. } = self;
        let Queued { fd, offset, len, asked, checked } = span;
        // There is one slot for reads.
        let slot = if WRITE { queue.writes.take() } else { Some(0) };
        let Some(slot) = slot else { return self.no_slot() };
        let data = args.data;
        if WRITE && O::BYTES {
            let filled = queue.filled.get_mut(slot as usize);
            buffers.fill(os.slot(slot), len as usize, data, slot, filled);
        }
        queue.queued += 1;
        queue.occupancy += 1;
        let result = os.transfer_one(Transfer { fd, offset, len, slot, write: WRITE, data });
        if WRITE {
            queue.writes.give(slot);
        }
        if result == Ok(len as usize) && !checked {
            self.finish_here(args.stat, u64::from(len), u64::from(asked));
            return Flow::Next;
        }
        self.unusual_one(args, self.flight::<WRITE>(args, span), slot, result)
    }

    #[cold]
    #[inline(never)]
    fn unusual_one(&mut self, args: &Args, flight: Flight, slot: u32, result: Call<usize>) -> Flow {
        self.now = self.os.now();
        self.late = self.now >= self.event_at && !self.event(self.now);
        self.moved_ops += 1;
        self.moved_bytes += u64::from(flight.len);
        let mut flow = self.settle_flight(args, flight, slot, result);
        while flow == Flow::Next && self.queue.is_busy() {
            flow = self.reap(1);
        }
        flow
    }

    /// Puts one transfer into the queue, and waits for another to end where it is then full.
    #[inline(always)]
    pub fn enqueue<const WRITE: bool>(&mut self, args: &Args, span: Queued) -> Flow {
        if self.queue.depth == 1 {
            return self.transfer_one::<WRITE>(args, span);
        }
        self.enqueue_each::<WRITE>(args, span, 1, |_| span.offset)
    }

    /// Puts so many alike into the queue, which has room for them, each at a place of its own, and
    /// waits for some to end where it is then full.
    #[inline(always)]
    pub fn enqueue_each<const WRITE: bool>(
        &mut self,
        args: &Args,
        span: Queued,
        count: u32,
        mut place: impl FnMut(&mut Streams) -> u64,
    ) -> Flow {
        let alike = self.flight::<WRITE>(args, span);
        let len = span.len;
        for _ in 0..count {
            let offset = place(&mut self.random);
            match self.lay_in::<WRITE>(args.data, Flight { offset, ..alike }) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        self.moved_ops += u64::from(count);
        self.moved_bytes += u64::from(count) * u64::from(len);
        if !self.queue.whole && !self.queue.is_full() {
            return self.hand_over();
        }
        let mut flow = Flow::Next;
        // One that ended may have been queued once more.
        while flow == Flow::Next && self.queue.is_full() {
            flow = self.reap(1);
        }
        flow
    }

    /// Hands over what was queued, and waits for nothing. The call takes its time: the next transfer
    /// begins after it.
    #[inline]
    fn hand_over(&mut self) -> Flow {
        let Worker { os, queue, .. } = self;
        if let Err(errno) = os.exchange(&queue.batch, 0, &mut queue.ended) {
            return self.fail("exchange", None, None, Some(errno), None);
        }
        queue.batch.clear();
        self.restart_clock();
        Flow::Next
    }

    /// Puts one transfer into the queue, which has room.
    #[inline(always)]
    fn lay_in<const WRITE: bool>(&mut self, recipe: Recipe, flight: Flight) -> Flow {
        let Flight { fd, offset, len, .. } = flight;
        let Worker { queue, os, buffers, .. } = self;
        let free = if WRITE { queue.writes.take() } else { queue.reads.pop() };
        let Some(slot) = free else { return self.no_slot() };
        if WRITE && O::BYTES {
            let filled = queue.filled.get_mut(slot as usize);
            buffers.fill(os.slot(slot), len as usize, recipe, slot, filled);
        }
        queue.batch.push(Transfer { fd, offset, len, slot, write: WRITE, data: recipe });
        queue.in_flight += 1;
        if let Some(place) = queue.flights.get_mut(slot as usize) {
            *place = flight;
        }
        Flow::Next
    }

    #[cold]
    fn no_slot(&mut self) -> Flow {
        let message = "no slot of the queue is free; please report this as a bug";
        self.fail("queue", None, None, None, Some(message.into()))
    }

    /// Queues a transfer once more: it is the same operation, and its latency goes on.
    pub(super) fn repeat_flight(&mut self, args: &Args, flight: Flight) -> Flow {
        match flight.write {
            true => self.lay_in::<true>(args.data, flight),
            false => self.lay_in::<false>(args.data, flight),
        }
    }
}
