//! Transfers in flight: which slots of an engine's memory are free, and what each transfer that has
//! not ended yet was for. Knows neither kernels nor profiles.

use super::fault::Flow;
use super::random::Streams;
use super::stat::Stat;
use super::worker::Worker;
use crate::os::{Call, Completion, Errno, Fd, Nanos, Os, Recipe, Transfer};
use crate::plan::instr::*;

/// Free slots, the one that has been free longest first: what is written again next was written
/// longest ago, so that neighbours in a file do not resemble each other.
#[derive(Debug, Default)]
struct Ring {
    slots: Vec<u32>,
    head: u32,
    free: u32,
    mask: u32,
}

impl Ring {
    fn new(first: u32, count: u32) -> Ring {
        let size = count.next_power_of_two();
        let mut slots: Vec<u32> = (first..first + count).collect();
        slots.resize(size as usize, 0);
        Ring { slots, head: 0, free: count, mask: size - 1 }
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        if self.free == 0 {
            return None;
        }
        let slot = *self.slots.get((self.head & self.mask) as usize)?;
        self.head = self.head.wrapping_add(1);
        self.free -= 1;
        Some(slot)
    }

    #[inline(always)]
    fn give(&mut self, slot: u32) {
        let at = self.head.wrapping_add(self.free) & self.mask;
        if let Some(place) = self.slots.get_mut(at as usize) {
            *place = slot;
            self.free += 1;
        }
    }
}

/// How often one transfer is repeated that the kernel could not do at the time.
const PATIENCE: u16 = u16::MAX;

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
    fn is_like(&self, other: &Flight) -> bool {
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
    depth: u32,
    in_flight: u32,
    /// How many were in flight when the queue was last looked at.
    settled: u32,
    /// Free slots for reads, the one that was in use last first: its memory is at hand.
    reads: Vec<u32>,
    writes: Ring,
    flights: Vec<Flight>,
    /// What each slot holds.
    filled: Vec<Option<Recipe>>,
    /// What is queued and not handed over yet.
    batch: Vec<Transfer>,
    ended: Vec<Completion>,
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
    fn slots(depth: u32, len: usize, writes: bool) -> (u32, u32) {
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
    fn tally(&mut self) {
        let queued = u64::from(self.in_flight - self.settled);
        self.queued += queued;
        self.occupancy += queued * u64::from(self.settled + self.in_flight + 1) / 2;
    }

    /// How many more transfers fit.
    #[inline]
    pub fn room(&self) -> u32 {
        self.depth.saturating_sub(self.in_flight)
    }

    /// Whether no other transfer fits.
    #[inline]
    fn is_full(&self) -> bool {
        self.in_flight >= self.depth
    }
}

/// Counts what has ended by `now`. Those of one batch mostly took the same time: they are counted
/// together.
struct Tally<'a> {
    /// None where it is too late to count.
    stats: Option<&'a mut [Stat]>,
    now: Nanos,
    /// The transfers seen last, and how many of them.
    alike: Flight,
    times: u64,
    /// Some were counted.
    counted: bool,
    /// Nanoseconds that those took which nobody counts.
    unmeasured: Nanos,
}

impl Tally<'_> {
    #[inline(always)]
    fn add(&mut self, flight: &Flight) {
        if flight.is_like(&self.alike) {
            self.times += 1;
            return;
        }
        self.count();
        (self.alike, self.times) = (*flight, 1);
    }

    #[inline(always)]
    fn count(&mut self) {
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
    /// Gives every engine of the plan that has a queue its slots; by the worker's own thread.
    ///
    /// # Errors
    /// The number of the engine that could not have one, and why.
    pub fn open_queues(&mut self) -> Result<(), (u8, Errno)> {
        let plan = std::sync::Arc::clone(&self.plan);
        self.queues = plan.engines.iter().map(|_| Queue::default()).collect();
        for (index, engine) in plan.engines.iter().enumerate() {
            let uses = |args: &&Args| usize::from(args.engine) == index && args.moves != Moves::Nothing;
            if !engine.has_queue() || !plan.args.iter().any(|args| uses(&args)) {
                continue;
            }
            let writes = plan.args.iter().any(|args| uses(&args) && args.moves == Moves::Writes);
            let len = (plan.largest_block as usize).next_multiple_of(super::buffers::PAGE);
            let (reading, writing) = Queue::slots(engine.depth, len, writes);
            self.os.use_engine(index as u8);
            let opened = self.os.open_queue(engine.depth, reading + writing, len);
            opened.map_err(|errno| (index as u8, errno))?;
            let all = (reading + writing) as usize;
            if let Some(queue) = self.queues.get_mut(index) {
                *queue = Queue {
                    depth: engine.depth,
                    reads: (0..reading).rev().collect(),
                    writes: Ring::new(reading, writing),
                    flights: vec![Flight::default(); all],
                    filled: vec![None; all],
                    batch: Vec::with_capacity(engine.depth as usize),
                    ended: Vec::with_capacity(engine.depth as usize),
                    ..Queue::default()
                };
            }
        }
        self.os.use_engine(0);
        self.engine = 0;
        self.queue = self.queues.first_mut().map(std::mem::take).unwrap_or_default();
        Ok(())
    }

    /// Transfers queued in the measured part of the phase, and the sum over them of how many were
    /// then in flight.
    pub fn depth(&self) -> (u64, u64) {
        let all = self.queues.iter().chain([&self.queue]);
        all.fold((0, 0), |(queued, sum), queue| (queued + queue.queued, sum + queue.occupancy))
    }

    /// Transfers repeated by all queues.
    pub fn retries(&self) -> u64 {
        self.queues.iter().chain([&self.queue]).map(|queue| queue.retries).sum()
    }

    /// Whether any engine has a queue.
    pub fn has_queues(&self) -> bool {
        self.queues.iter().chain([&self.queue]).any(|queue| !queue.is_none())
    }

    /// Begins to count anew how many transfers are in flight.
    pub(super) fn forget_depth(&mut self) {
        for queue in self.queues.iter_mut().chain([&mut self.queue]) {
            (queue.queued, queue.occupancy, queue.settled) = (0, 0, queue.in_flight);
        }
    }

    /// Further transfers go through another engine.
    fn switch_engine(&mut self, engine: u8) {
        for (index, swap) in [(self.engine, true), (engine, false)] {
            let Some(kept) = self.queues.get_mut(usize::from(index)) else { continue };
            match swap {
                true => *kept = std::mem::take(&mut self.queue),
                false => self.queue = std::mem::take(kept),
            }
        }
        self.engine = engine;
        self.os.use_engine(engine);
    }

    /// Before a step that may not begin while transfers of others are in flight, or goes through
    /// another engine than the last one.
    #[cold]
    #[inline(never)]
    pub fn make_way(&mut self, args: &Args, queues: bool) -> Flow {
        let other = args.engine != self.engine && args.moves != Moves::Nothing;
        if self.queue.is_busy() && (other || !queues) {
            match self.drain() {
                Flow::Next => {}
                flow => return flow,
            }
        }
        if other {
            self.switch_engine(args.engine);
        }
        Flow::Next
    }

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
        let mut flow = Flow::Next;
        // One that ended may have been queued once more.
        while flow == Flow::Next && self.queue.is_full() {
            flow = self.reap(1);
        }
        flow
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

    /// Hands over what was queued, waits for so many to end, and counts all that have.
    #[inline(never)]
    pub fn reap(&mut self, at_least: u32) -> Flow {
        let Worker { os, queue, .. } = self;
        queue.tally();
        queue.ended.clear();
        if let Err(errno) = os.exchange(&queue.batch, at_least, &mut queue.ended) {
            return self.fail("exchange", None, None, Some(errno), None);
        }
        queue.batch.clear();
        queue.in_flight = queue.in_flight.saturating_sub(queue.ended.len() as u32);
        queue.settled = queue.in_flight;
        let t = os.now();
        self.now = t;
        self.late = t >= self.event_at && !self.event(t);
        let Worker { queue, stats, .. } = self;
        let Queue { flights, ended, reads, writes, .. } = queue;
        let stats = (!self.late).then_some(stats.as_mut_slice());
        let mut tally =
            Tally { stats, now: t, alike: Flight::default(), times: 0, counted: false, unmeasured: 0 };
        let mut unusual = false;
        for completion in ended.iter() {
            let slot = completion.slot;
            let Some(flight) = flights.get(slot as usize) else { continue };
            if completion.result as u32 != flight.len || flight.checked {
                unusual = true;
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
        if unusual { self.reap_unusual() } else { Flow::Next }
    }

    /// The ends that [`Worker::reap`] has left out.
    #[cold]
    #[inline(never)]
    fn reap_unusual(&mut self) -> Flow {
        let ended = std::mem::take(&mut self.queue.ended);
        let mut flow = Flow::Next;
        for completion in &ended {
            let slot = completion.slot;
            let Some(&flight) = self.queue.flights.get(slot as usize) else { continue };
            if completion.result as u32 == flight.len && !flight.checked {
                continue;
            }
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
        self.queue.ended = ended;
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

    fn settle_flight(&mut self, args: &Args, flight: Flight, slot: u32, result: Call<usize>) -> Flow {
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

    /// Queues a transfer once more: it is the same operation, and its latency goes on.
    fn repeat_flight(&mut self, args: &Args, flight: Flight) -> Flow {
        match flight.write {
            true => self.lay_in::<true>(args.data, flight),
            false => self.lay_in::<false>(args.data, flight),
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
