//! What one worker did in each second of a phase.
//!
//! Works from totals and a snapshot of the latency histogram, so that an operation pays one
//! comparison. Knows nothing of what the operations are.

use super::histogram::Histogram;

/// One second.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Operations that ended in it.
    pub ops: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// Latencies of the operations that ended in it.
    pub latency: Histogram,
}

/// The seconds of one worker, empty ones included: a stall is a row of zeros, not a gap.
#[derive(Clone, Debug)]
pub struct Intervals {
    length_ns: u64,
    /// End of the interval that is open.
    end_ns: u64,
    ops: u64,
    bytes: u64,
    snapshot: Histogram,
    closed: Vec<Interval>,
}

impl Intervals {
    /// Starts at `start_ns` with intervals of `length_ns` (at least 1).
    pub fn new(start_ns: u64, length_ns: u64) -> Intervals {
        let length_ns = length_ns.max(1);
        Intervals {
            length_ns,
            end_ns: start_ns.saturating_add(length_ns),
            ops: 0,
            bytes: 0,
            snapshot: Histogram::new(),
            closed: Vec::new(),
        }
    }

    /// Whether an operation that ends at `now_ns` belongs to a later interval than the open one.
    /// Ask before counting it, and [`Intervals::roll`] first if so.
    #[inline]
    pub fn due(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// Closes every interval that ended by `now_ns`. What was counted since the last call belongs
    /// to the first of them. The totals count from the start of the phase.
    #[cold]
    pub fn roll(&mut self, now_ns: u64, ops: u64, bytes: u64, latency: &Histogram) {
        if !self.due(now_ns) {
            return;
        }
        self.close(ops, bytes, latency);
        self.end_ns = self.end_ns.saturating_add(self.length_ns);
        while self.due(now_ns) && self.end_ns != u64::MAX {
            self.closed.push(Interval::default());
            self.end_ns = self.end_ns.saturating_add(self.length_ns);
        }
    }

    fn close(&mut self, ops: u64, bytes: u64, latency: &Histogram) {
        let latency_of_interval = latency.since(&self.snapshot);
        self.closed.push(Interval {
            ops: ops - self.ops,
            bytes: bytes - self.bytes,
            latency: latency_of_interval,
        });
        (self.ops, self.bytes, self.snapshot) = (ops, bytes, latency.clone());
    }

    /// All intervals up to the end of the phase at `end_ns`. A last, shorter one is kept only if
    /// something ended in it: it says less than a second.
    pub fn finish(mut self, end_ns: u64, ops: u64, bytes: u64, latency: &Histogram) -> Vec<Interval> {
        self.roll(end_ns, ops, bytes, latency);
        if ops > self.ops {
            self.close(ops, bytes, latency);
        }
        self.closed
    }
}

/// Adds the intervals of another worker, second by second.
pub fn merge(into: &mut Vec<Interval>, from: &[Interval]) {
    if into.len() < from.len() {
        into.resize_with(from.len(), Interval::default);
    }
    for (mine, theirs) in into.iter_mut().zip(from) {
        mine.ops += theirs.ops;
        mine.bytes += theirs.bytes;
        mine.latency.merge(&theirs.latency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// One operation of 4096 bytes ends at each time; each took `latency`.
    fn play(ends: &[u64], latency: u64, end: u64) -> Vec<Interval> {
        let mut series = Intervals::new(0, SECOND);
        let (mut ops, mut histogram) = (0, Histogram::new());
        for &now in ends {
            if series.due(now) {
                series.roll(now, ops, ops * 4096, &histogram);
            }
            ops += 1;
            histogram.record(latency);
        }
        series.finish(end, ops, ops * 4096, &histogram)
    }

    #[test]
    fn a_stall_is_seen_as_empty_seconds() {
        let seconds = play(&[1, SECOND - 1, 4 * SECOND + 5], 10, 5 * SECOND);
        assert_eq!(seconds.iter().map(|s| s.ops).collect::<Vec<_>>(), [2, 0, 0, 0, 1]);
        assert_eq!(seconds[0].bytes, 8192);
        assert_eq!(seconds[1].latency.percentile(99.0), None);
        assert_eq!(seconds[4].latency.percentile(99.0), Some(10));
    }

    #[test]
    fn an_operation_on_the_border_counts_in_the_later_second() {
        let seconds = play(&[SECOND], 1, SECOND + 1);
        assert_eq!(seconds.iter().map(|s| s.ops).collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn a_last_short_interval_without_operations_is_dropped() {
        assert_eq!(play(&[5], 1, SECOND + SECOND / 2).len(), 1);
        assert_eq!(play(&[], 1, 3 * SECOND).len(), 3);
    }

    #[test]
    fn workers_add_up_second_by_second() {
        let mut all = play(&[1, SECOND + 1], 10, 2 * SECOND);
        merge(&mut all, &play(&[2, SECOND + 2, 2 * SECOND + 2], 1000, 3 * SECOND));
        assert_eq!(all.iter().map(|s| s.ops).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(all[1].latency.percentile(50.0), Some(10));
        assert_eq!(all[1].latency.percentile(100.0), Some(1000));
    }
}
