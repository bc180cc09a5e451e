//! Counters and latencies of one step, as a worker keeps them.

use crate::measure::histogram::Histogram;
use crate::os::Nanos;

/// One step's numbers within one phase.
#[derive(Clone, Debug, Default)]
pub struct Stat {
    // The order keeps apart what is counted together: side by side the compiler adds to two at once,
    // which takes more instructions than adding to each.
    /// Operations counted.
    pub ops: u64,
    /// Errors that the step expects.
    pub errors: u64,
    /// Bytes really moved.
    pub bytes: u64,
    /// Transfers that moved less than was asked and were continued.
    pub short: u64,
    /// Bytes asked for beyond those moved: at the end of a file a transfer moves less.
    pub missed: u64,
    /// Sum of each operation's own rate, bytes a second, over `rated` operations.
    pub rate_sum: f64,
    /// Operations that have a rate of their own.
    pub rated: u64,
    /// Nanoseconds an operation.
    pub latency: Histogram,
}

impl Stat {
    /// Counts one operation: bytes moved, bytes asked for, nanoseconds taken.
    #[inline]
    pub fn count(&mut self, bytes: u64, requested: u64, latency: Nanos) {
        self.ops += 1;
        self.bytes += bytes;
        if requested != bytes {
            self.missed += requested.saturating_sub(bytes);
        }
        self.latency.record(latency);
    }

    /// Counts so many operations that were all the same.
    #[inline]
    pub fn count_alike(&mut self, times: u64, bytes: u64, requested: u64, latency: Nanos) {
        self.ops += times;
        self.bytes += times * bytes;
        if requested != bytes {
            self.missed += times * requested.saturating_sub(bytes);
        }
        self.latency.record_times(latency, times);
    }

    /// Bytes asked for.
    pub fn requested(&self) -> u64 {
        self.bytes + self.missed
    }

    /// Adds another's numbers to these.
    pub fn merge(&mut self, other: &Stat) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.missed += other.missed;
        self.errors += other.errors;
        self.short += other.short;
        self.rate_sum += other.rate_sum;
        self.rated += other.rated;
        self.latency.merge(&other.latency);
    }
}
