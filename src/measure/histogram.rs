//! A log-linear histogram of nanoseconds: exact below 64 ns, then 64 equal buckets an octave.
//!
//! Knows nothing of operations, workers or records: numbers go in, counts and percentiles come out.
//! A bucket is never wider than 1/64 of the values in it, so a percentile is off by at most 1/128.
//! Every `u64` has a bucket; there is no clamping at the top.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// Buckets of one octave, as a power of two.
const SUB_BITS: u32 = 6;
/// Buckets of one octave.
const SUB: usize = 1 << SUB_BITS;
/// The linear start counts as the first octave, then one each for 2^6 to 2^63.
const OCTAVES: usize = 64 - SUB_BITS as usize + 1;

type Octave = [u64; SUB];

/// Counts of latencies. Octaves nothing fell into take no memory.
#[derive(Clone, Debug)]
pub struct Histogram {
    octaves: [Option<Box<Octave>>; OCTAVES],
    count: u64,
    /// Wide, because a few samples near `u64::MAX` would overflow.
    sum: u128,
    min: u64,
    max: u64,
}

/// Lowest and highest value of a bucket, counted over all octaves.
fn bounds(bucket: usize) -> (u64, u64) {
    let (octave, sub) = (bucket / SUB, bucket % SUB);
    if octave == 0 {
        return (sub as u64, sub as u64);
    }
    let shift = (octave - 1) as u32;
    let low = ((SUB + sub) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

/// A value that stands for the bucket: its middle.
fn middle(bucket: usize) -> u64 {
    let (low, high) = bounds(bucket);
    low + (high - low) / 2
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram; allocates nothing.
    pub const fn new() -> Histogram {
        Histogram { octaves: [const { None }; OCTAVES], count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one latency in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, ns: u64) {
        self.record_times(ns, 1);
    }

    /// Counts so many latencies that were all the same.
    #[inline(always)]
    pub fn record_times(&mut self, ns: u64, times: u64) {
        // Split so that an octave's number is that of the highest bit, which is one instruction.
        let [linear, octaves @ ..] = &mut self.octaves;
        match NonZeroU64::new(ns >> SUB_BITS) {
            None => Histogram::first_of_octave(linear, ns as usize, times),
            Some(high) => {
                let sub = (ns >> high.ilog2()) as usize & (SUB - 1);
                match &mut octaves[high.ilog2() as usize] {
                    Some(counts) => counts[sub] += times,
                    empty => Histogram::first_of_octave(empty, sub, times),
                }
            }
        }
        self.count += times;
        self.sum += u128::from(ns) * u128::from(times);
        if ns < self.min {
            self.widen(ns);
        }
        if ns > self.max {
            self.widen(ns);
        }
    }

    /// New extremes are rare: a branch that is never taken is cheaper than two stores.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, ns: u64) {
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
    }

    /// Counts in an octave that may not be there yet. Also for the first one: no call to a kernel takes
    /// less than 64 ns.
    #[cold]
    #[inline(never)]
    fn first_of_octave(octave: &mut Option<Box<Octave>>, sub: usize, times: u64) {
        octave.get_or_insert_with(|| Box::new([0; SUB]))[sub] += times;
    }

    /// Adds all samples of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.octaves.iter_mut().zip(&other.octaves) {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_with(|| Box::new([0; SUB]));
                for (a, b) in mine.iter_mut().zip(theirs.iter()) {
                    *a += b;
                }
            }
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// The samples recorded since `earlier`, an older copy of this histogram. Their smallest and
    /// largest value are known to the bucket only.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut delta = Histogram::new();
        for (index, (now, before)) in self.octaves.iter().zip(&earlier.octaves).enumerate() {
            let Some(now) = now else { continue };
            for (sub, &count) in now.iter().enumerate() {
                let more = count - before.as_ref().map_or(0, |octave| octave[sub]);
                if more > 0 {
                    delta.octaves[index].get_or_insert_with(|| Box::new([0; SUB]))[sub] = more;
                    let (low, high) = bounds(index * SUB + sub);
                    delta.min = delta.min.min(low.max(self.min));
                    delta.max = delta.max.max(high.min(self.max));
                }
            }
        }
        delta.count = self.count - earlier.count;
        delta.sum = self.sum - earlier.sum;
        delta
    }

    /// Forgets all samples and keeps the memory.
    pub fn clear(&mut self) {
        for octave in self.octaves.iter_mut().flatten() {
            octave.fill(0);
        }
        (self.count, self.sum, self.min, self.max) = (0, 0, u64::MAX, 0);
    }

    /// Samples recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All latencies together, in nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum
    }

    /// Mean in nanoseconds; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Smallest sample in nanoseconds; `None` without samples.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Largest sample in nanoseconds; `None` without samples.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The value that `percent` (0 to 100) of the samples do not exceed, in nanoseconds, within
    /// half a bucket and never outside the samples seen; `None` without samples.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.count == 0 || percent.is_nan() {
            return None;
        }
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count);
        if rank == self.count {
            return Some(self.max);
        }
        let mut seen = 0;
        for (bucket, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return Some(middle(bucket).clamp(self.min, self.max));
            }
        }
        Some(self.max)
    }

    /// Every bucket that holds something, in rising order, with its count.
    fn buckets(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.octaves
            .iter()
            .enumerate()
            .filter_map(|(index, octave)| octave.as_ref().map(|counts| (index, counts)))
            .flat_map(|(index, counts)| {
                counts.iter().enumerate().map(move |(sub, &count)| (index * SUB + sub, count))
            })
            .filter(|&(_, count)| count > 0)
    }

    /// The form that is stored; `None` without samples.
    pub fn sparse(&self) -> Option<Sparse> {
        (self.count > 0).then(|| Sparse {
            count: self.count,
            sum_ns: u64::try_from(self.sum).unwrap_or(u64::MAX),
            min_ns: self.min,
            max_ns: self.max,
            buckets: self.buckets().map(|(bucket, count)| (bucket as u32, count)).collect(),
        })
    }
}

/// A histogram as it is stored: only the buckets that hold something.
///
/// Buckets are numbered from 0: number `b < 64` holds exactly `b` ns; any other holds the values
/// from `(64 + b % 64) << (b / 64 - 1)` to one below the start of the next.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Sparse {
    /// Samples.
    pub count: u64,
    /// All latencies together, in nanoseconds; stays at the largest number when it would exceed it.
    pub sum_ns: u64,
    /// Smallest sample in nanoseconds.
    pub min_ns: u64,
    /// Largest sample in nanoseconds.
    pub max_ns: u64,
    /// Bucket number and count, in rising order.
    pub buckets: Vec<(u32, u64)>,
}

impl Sparse {
    /// Back to a histogram that can be merged; `None` when the buckets do not add up (a file
    /// that was changed by hand).
    pub fn histogram(&self) -> Option<Histogram> {
        let mut full = Histogram::new();
        for &(bucket, count) in &self.buckets {
            let (octave, sub) = (bucket as usize / SUB, bucket as usize % SUB);
            let counts = full.octaves.get_mut(octave)?.get_or_insert_with(|| Box::new([0; SUB]));
            counts[sub] = counts[sub].checked_add(count)?;
            full.count = full.count.checked_add(count)?;
        }
        if full.count != self.count || self.count == 0 || self.min_ns > self.max_ns {
            return None;
        }
        (full.sum, full.min, full.max) = (u128::from(self.sum_ns), self.min_ns, self.max_ns);
        Some(full)
    }

    /// Mean in nanoseconds; `None` without samples.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// As [`Histogram::percentile`].
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.histogram()?.percentile(percent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The nearest-rank percentile of all samples.
    fn exact(sorted: &[u64], percent: f64) -> u64 {
        let rank = ((percent / 100.0 * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len());
        sorted[rank - 1]
    }

    fn of(samples: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        samples.iter().for_each(|&ns| histogram.record(ns));
        histogram
    }

    #[test]
    fn nothing_recorded_has_no_numbers() {
        let empty = Histogram::new();
        assert_eq!(empty.count(), 0);
        assert_eq!((empty.min_ns(), empty.max_ns(), empty.mean_ns()), (None, None, None));
        assert_eq!((empty.percentile(50.0), empty.sparse()), (None, None));
        let mut merged = of(&[5]);
        merged.merge(&empty);
        assert_eq!((merged.min_ns(), merged.max_ns(), merged.count()), (Some(5), Some(5), 1));
        assert_eq!(merged.since(&merged.clone()).percentile(99.0), None);
    }

    #[test]
    fn buckets_cover_every_number_without_gap() {
        let last = OCTAVES * SUB - 1;
        assert_eq!(bounds(0), (0, 0));
        assert_eq!(bounds(last).1, u64::MAX);
        for bucket in 1..=last {
            let (low, high) = bounds(bucket);
            assert_eq!(low, bounds(bucket - 1).1 + 1, "bucket {bucket}");
            assert!((high - low) as f64 <= low as f64 / 64.0, "bucket {bucket} is too wide");
            for ns in [low, high] {
                let mut histogram = Histogram::new();
                histogram.record(ns);
                assert_eq!(histogram.buckets().collect::<Vec<_>>(), [(bucket, 1)]);
            }
        }
    }

    #[test]
    fn extremes_and_hours_are_kept() {
        let histogram = of(&[0, 1, u64::MAX, u64::MAX]);
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (Some(0), Some(u64::MAX)));
        assert_eq!(histogram.percentile(100.0), Some(u64::MAX));
        assert_eq!(histogram.sum_ns(), 2 * u128::from(u64::MAX) + 1);
        assert_eq!(histogram.sparse().unwrap().sum_ns, u64::MAX);
        let hours = 4 * 3600 * 1_000_000_000 + 7;
        assert_eq!(of(&[hours]).percentile(50.0), Some(hours), "clamped to what was seen");
    }

    #[test]
    fn stalls_of_half_a_minute_and_two_minutes_are_not_cut() {
        let mut samples = vec![1_000_000; 97];
        samples.extend([30_000_000_000, 30_000_000_000, 120_000_000_000]);
        let p99 = of(&samples).percentile(99.0).unwrap();
        assert!(p99.abs_diff(30_000_000_000) <= 30_000_000_000 / 64);
        assert_eq!(of(&samples).max_ns(), Some(120_000_000_000));
    }

    #[test]
    fn merged_percentiles_are_those_of_all_samples() {
        let (mut fast, slow) = (of(&[1_000_000; 99]), of(&[100_000_000; 99]));
        fast.merge(&slow);
        assert!(fast.percentile(99.0).unwrap().abs_diff(100_000_000) <= 100_000_000 / 64);
        assert!(fast.percentile(50.0).unwrap().abs_diff(1_000_000) <= 1_000_000 / 64);
    }

    proptest! {
        #[test]
        fn percentiles_are_right_within_a_bucket(
            mut samples in proptest::collection::vec((0u32..45, any::<u64>()), 1..400),
            percent in 0.0f64..100.0,
        ) {
            // All magnitudes from 1 ns to hours are equally likely.
            let values: Vec<u64> = samples.drain(..).map(|(bits, x)| x & ((1u64 << bits) | ((1u64 << bits) - 1))).collect();
            let histogram = of(&values);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let (want, got) = (exact(&sorted, percent), histogram.percentile(percent).unwrap());
            prop_assert!(got.abs_diff(want) <= want / 64, "p{percent}: {got} for {want}");
            prop_assert!(got >= sorted[0] && got <= *sorted.last().unwrap());
        }

        #[test]
        fn splitting_and_merging_changes_nothing(
            samples in proptest::collection::vec(0u64..1 << 40, 1..200), cut in 0usize..200,
        ) {
            let cut = cut.min(samples.len());
            let (mut left, right, all) = (of(&samples[..cut]), of(&samples[cut..]), of(&samples));
            let delta = all.since(&left);
            prop_assert_eq!(delta.count(), right.count());
            prop_assert_eq!(delta.sum_ns(), right.sum_ns());
            prop_assert_eq!(delta.buckets().collect::<Vec<_>>(), right.buckets().collect::<Vec<_>>());
            left.merge(&right);
            prop_assert_eq!(left.sparse(), all.sparse());
            let stored = all.sparse().unwrap();
            prop_assert_eq!(stored.histogram().unwrap().sparse().unwrap(), stored);
        }
    }

    #[test]
    fn a_stored_histogram_that_does_not_add_up_is_refused() {
        let mut stored = of(&[1, 2, 3]).sparse().unwrap();
        stored.count = 4;
        assert!(stored.histogram().is_none());
        let far = Sparse { count: 1, sum_ns: 1, min_ns: 1, max_ns: 1, buckets: vec![(u32::MAX, 1)] };
        assert!(far.histogram().is_none());
    }

    #[test]
    fn cleared_is_as_new() {
        let mut histogram = of(&[1, 1 << 30]);
        histogram.clear();
        assert_eq!(histogram.sparse(), None);
        histogram.record(9);
        assert_eq!(histogram.sparse(), of(&[9]).sparse());
    }
}
