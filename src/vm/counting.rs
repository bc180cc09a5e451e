//! What an operation comes to: counted with its latency, settled when it failed, held to what its step
//! says must happen.

use super::fault::{Fault, Flow};
use super::pool::NONE;
use super::worker::Worker;
use crate::os::{Call, Errno, Nanos, Os};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Ends an operation: one clock reading, which is also the start of the next one.
    pub fn finish(&mut self, stat: StatId, bytes: u64, requested: u64) {
        self.finish_here(stat, bytes, requested);
    }

    /// [`Worker::finish`] without the call, for the one place that most operations pass through.
    #[inline(always)]
    pub fn finish_here(&mut self, stat: StatId, bytes: u64, requested: u64) {
        let t = self.os.now();
        let latency = t.saturating_sub(self.now);
        self.now = t;
        self.moved_ops += 1;
        self.moved_bytes += bytes;
        if t >= self.event_at && !self.event(t) {
            return;
        }
        match self.stats.get_mut(usize::from(stat)) {
            Some(s) => {
                s.count(bytes, requested, latency);
                self.last_end = t;
            }
            None => self.exclude(latency),
        }
    }

    /// What an operation that is not measured took.
    pub(super) fn exclude(&mut self, latency: Nanos) {
        if self.excluded_since != self.last_end {
            self.excluded_since = self.last_end;
            self.excluded_before = self.excluded;
        }
        self.excluded += latency;
    }

    /// Nanoseconds spent in steps that are not measured, before the last counted operation.
    pub fn excluded_before_end(&self) -> Nanos {
        if self.excluded_since == self.last_end { self.excluded_before } else { self.excluded }
    }

    /// Takes the time without ending an operation: what came since the last one (a pause, a
    /// preparation) is nobody's latency.
    #[inline]
    pub fn restart_clock(&mut self) {
        self.now = self.os.now();
    }

    /// Counts a step or block as a whole that began at `start`.
    pub fn finish_whole(&mut self, stat: StatId, start: Nanos, bytes: u64, requested: u64) {
        if self.now > self.window_end || self.ramp_until != 0 {
            return;
        }
        if let Some(s) = self.stats.get_mut(usize::from(stat)) {
            let latency = self.now.saturating_sub(start);
            s.count(bytes, requested, latency);
            if latency > 0 && bytes > 0 {
                s.rate_sum += bytes as f64 / (latency as f64 / 1e9);
                s.rated += 1;
            }
        }
    }

    /// Ends an operation that is one call, holding its result against what the step expects.
    #[inline]
    pub fn settle(&mut self, args: &Args, result: Call<()>, call: &'static str) -> Flow {
        match result {
            Ok(()) if args.must_fail.is_none() => {
                self.finish(args.stat, 0, 0);
                Flow::Next
            }
            other => self.settle_unusual(args, other, call),
        }
    }

    #[cold]
    fn settle_unusual(&mut self, args: &Args, result: Call<()>, call: &'static str) -> Flow {
        match result {
            Err(errno) if args.must_fail == Some(errno) || args.expect.contains(&errno) => {
                self.finish(args.stat, 0, 0);
                if let Some(stat) = self.stats.get_mut(usize::from(args.stat)) {
                    stat.errors += 1;
                }
                Flow::Next
            }
            Ok(()) => self.held_to(args, call),
            Err(errno) => self.fail(call, None, None, Some(errno), None),
        }
    }

    /// After a success: it must not be one where the step says that it fails.
    pub fn held_to(&mut self, args: &Args, call: &'static str) -> Flow {
        match args.must_fail {
            None => Flow::Next,
            Some(errno) => {
                self.fail(call, None, None, None, Some(format!("succeeded, but must fail with {errno}")))
            }
        }
    }

    /// Whether an error is one the step expects.
    pub fn expects(args: &Args, errno: Errno) -> bool {
        args.must_fail == Some(errno) || args.expect.contains(&errno)
    }

    /// Notes what failed, unless something has before, and leaves the program.
    #[cold]
    pub fn fail(
        &mut self,
        call: &'static str,
        offset: Option<u64>,
        len: Option<u64>,
        errno: Option<Errno>,
        message: Option<String>,
    ) -> Flow {
        if self.fault.is_none() {
            let end = self.path.iter().position(|b| *b == 0).unwrap_or(self.path.len());
            self.fault = Some(Box::new(Fault {
                args: Some(self.running),
                call,
                path: String::from_utf8_lossy(&self.path[..end]).into(),
                offset,
                len,
                errno,
                message: message.map(String::into_boxed_str),
                what_to_do: None,
                written: self.moved_bytes,
            }));
        }
        Flow::Fault
    }

    /// Whether a step that is done only every n-th time is done now.
    /// Counted for each open file of `set` by itself.
    pub fn takes_turn(&mut self, every: u32, set: SetId) -> bool {
        let file = self.hands.get(usize::from(set)).map(|hand| hand.file).filter(|file| file.is_open());
        let (slot, number) = file.map_or((NONE, 0), |file| (file.slot, file.member.number));
        let (owner, turn) = self.turns.entry((self.running, slot)).or_insert((number, 0));
        if *owner != number {
            // Another file has the slot by now.
            (*owner, *turn) = (number, 0);
        }
        *turn += 1;
        let now = *turn >= every;
        if now {
            *turn = 0;
        }
        now
    }
}
