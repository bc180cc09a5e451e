//! What can be said of a draw before it is drawn: mean, variance, upper bound, and the
//! granularity of its values. Knows tables and bounds, neither programs nor machines.

use super::instr::*;

/// What is known of a random number; infinite where nothing is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// Mean.
    pub mean: f64,
    /// Variance.
    pub variance: f64,
    /// What it does not exceed.
    pub upper: f64,
}

/// Probability that a sum of draws exceeds [`Moments::largest_sum`], as its natural logarithm:
/// one in a thousand millions.
const LOG_ODDS: f64 = 20.723_265_836_946_41;

impl Moments {
    /// A number that is always the same.
    pub fn exactly(n: f64) -> Moments {
        Moments { mean: n, variance: 0.0, upper: n }
    }

    /// Of this nothing is known.
    pub const UNKNOWN: Moments =
        Moments { mean: f64::INFINITY, variance: f64::INFINITY, upper: f64::INFINITY };

    /// What the sum of `n` independent draws does not exceed (Bernstein's inequality), and never
    /// more than `n` times the largest.
    pub fn largest_sum(&self, n: f64) -> f64 {
        if n == 0.0 || self.upper == 0.0 {
            return 0.0;
        }
        if n.is_infinite() {
            return n;
        }
        let spread = (2.0 * n * self.variance * LOG_ODDS).sqrt() + self.upper * LOG_ODDS / 3.0;
        (n * self.upper).min(n * self.mean + spread)
    }
}

/// What bounds of a draw may depend on.
#[derive(Clone, Copy, Debug)]
pub struct FileSizes {
    /// Bytes of a file.
    pub size: Moments,
    /// Bytes a file may still grow.
    pub room: Moments,
}

/// Sizes of the files of one set. Files that are written by steps may have any size up to the
/// set's largest.
pub fn file_sizes(set: &SetPlan, tables: &[Table]) -> FileSizes {
    let none = FileSizes { size: Moments::UNKNOWN, room: Moments::UNKNOWN };
    let drawn = draw(set.size, tables, &none);
    let largest = set.max_size.map_or(f64::INFINITY, |n| n as f64);
    let size = if set.count > 0 { drawn } else { Moments { upper: largest, ..Moments::UNKNOWN } };
    FileSizes { size, room: Moments { upper: largest, ..Moments::UNKNOWN } }
}

/// What is known of a draw.
pub fn draw(draw: Draw, tables: &[Table], file: &FileSizes) -> Moments {
    match draw {
        Draw::Const(n) => Moments::exactly(n as f64),
        Draw::Uniform { lo, hi, step } => {
            let (lo, hi) = (bound(lo, file), bound(hi, file));
            let step = step.max(1) as f64;
            if !lo.mean.is_finite() || !hi.mean.is_finite() {
                return Moments { upper: hi.upper.max(lo.upper.min(hi.upper)), ..Moments::UNKNOWN };
            }
            // A range that is upside down gives its lower end.
            let steps = |lo: f64, hi: f64| ((hi - lo).max(0.0) / step).floor();
            let n = steps(lo.mean, hi.mean) + 1.0;
            Moments {
                mean: lo.mean + (n - 1.0) * step / 2.0,
                variance: (n * n - 1.0) / 12.0 * step * step + lo.variance + hi.variance,
                upper: lo.upper + steps(lo.upper, hi.upper) * step,
            }
        }
        Draw::Table(id) => tables.get(id as usize).map_or(Moments::UNKNOWN, table),
    }
}

/// What is known of one draw from a table. Ranks are no numbers: of them nothing is known.
pub fn table(table: &Table) -> Moments {
    match table {
        Table::Lookup { values, index } => {
            let n = index.len().max(1) as f64;
            let all = || index.iter().filter_map(|i| values.get(usize::from(*i))).map(|v| *v as f64);
            let mean = all().sum::<f64>() / n;
            Moments {
                mean,
                variance: all().map(|v| (v - mean).powi(2)).sum::<f64>() / n,
                upper: all().fold(0.0, f64::max),
            }
        }
        Table::Quantiles { values, tail } => quantiles(values, tail),
        Table::Zipf { .. } | Table::Hot { .. } => Moments::UNKNOWN,
    }
}

/// Every interval is equally likely and even within; the last one may be a table of its own.
fn quantiles(values: &[u64], tail: &[u64]) -> Moments {
    let (mut mean, mut square) = (0.0, 0.0);
    let mut add = |a: u64, b: u64, share: f64| {
        let (a, b) = (a as f64, b as f64);
        mean += share * (a + b) / 2.0;
        square += share * (a * a + a * b + b * b) / 3.0;
    };
    let share = 1.0 / (values.len().max(2) - 1) as f64;
    let body = if tail.is_empty() { values } else { &values[..values.len().saturating_sub(1)] };
    body.windows(2).for_each(|w| add(w[0], w[1], share));
    let part = share / (tail.len().max(2) - 1) as f64;
    tail.windows(2).for_each(|w| add(w[0], w[1], part));
    let upper = values.iter().chain(tail).max().copied().unwrap_or(0) as f64;
    Moments { mean, variance: (square - mean * mean).max(0.0), upper }
}

fn bound(bound: Bound, file: &FileSizes) -> Moments {
    match bound {
        Bound::Number(n) => Moments::exactly(n as f64),
        Bound::FileSize => file.size,
        Bound::FileRoom => file.room,
    }
}

/// The largest number that divides every value of a draw; 0 where all are 0. `size` is the
/// granularity of file sizes.
pub fn granularity(draw: Draw, tables: &[Table], size: u64) -> u64 {
    let of = |bound: Bound| match bound {
        Bound::Number(n) => n,
        Bound::FileSize => size,
        Bound::FileRoom => 1,
    };
    match draw {
        Draw::Const(n) => n,
        // A range of one value draws that value.
        Draw::Uniform { lo: Bound::Number(lo), hi: Bound::Number(hi), step }
            if hi < lo.saturating_add(step.max(1)) =>
        {
            lo
        }
        Draw::Uniform { lo, step, .. } => gcd(of(lo), step.max(1)),
        Draw::Table(id) => match tables.get(id as usize) {
            Some(Table::Lookup { values, .. }) => values.iter().fold(0, |a, b| gcd(a, *b)),
            _ => 1,
        },
    }
}

/// Greatest common divisor; 0 is divided by everything.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> FileSizes {
        FileSizes { size: Moments::exactly(100.0), room: Moments::UNKNOWN }
    }

    fn of(d: Draw, tables: &[Table]) -> Moments {
        draw(d, tables, &facts())
    }

    #[test]
    fn means_and_upper_bounds_are_those_of_the_distribution() {
        let uniform = |lo, hi, step| Draw::Uniform { lo: Bound::Number(lo), hi, step };
        let m = of(uniform(512, Bound::Number(2100), 512), &[]);
        assert_eq!((m.mean, m.upper), (1280.0, 2048.0));
        assert_eq!(of(uniform(0, Bound::FileSize, 1), &[]).mean, 50.0);
        assert_eq!(of(uniform(1, Bound::FileRoom, 1), &[]).upper, f64::INFINITY);
        let tables = [
            Table::Lookup { values: vec![4096, 65536], index: vec![0, 0, 0, 1] },
            Table::Quantiles { values: vec![0, 100, 300], tail: vec![] },
            Table::Quantiles { values: vec![0, 100, 300], tail: vec![100, 100, 300] },
        ];
        assert_eq!((of(Draw::Table(0), &tables).mean, of(Draw::Table(0), &tables).upper), (19456.0, 65536.0));
        assert_eq!((of(Draw::Table(1), &tables).mean, of(Draw::Table(1), &tables).upper), (125.0, 300.0));
        assert_eq!((of(Draw::Table(2), &tables).mean, of(Draw::Table(2), &tables).upper), (100.0, 300.0));
    }

    /// The tables say what drawing from them gives.
    #[test]
    fn moments_agree_with_what_is_drawn() {
        use crate::vm::draw::{FileFacts, draw};
        use crate::vm::random::{Purpose, StreamKey, Streams};
        let tables = [Table::Quantiles { values: vec![0, 10, 50, 5000], tail: vec![50, 100, 5000] }];
        let mut random = Streams::new(Generator::ChaCha8, StreamKey::default());
        let n = 200_000;
        let drawn: Vec<f64> = (0..n)
            .map(|_| draw(Draw::Table(0), &tables, &mut random, Purpose::Size, FileFacts::default()) as f64)
            .collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(n);
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        let said = table(&tables[0]);
        assert!((said.mean / mean - 1.0).abs() < 0.02, "{said:?} {mean}");
        assert!((said.variance / variance - 1.0).abs() < 0.03, "{said:?} {variance}");
    }

    #[test]
    fn sums_of_many_draws_stay_near_their_mean() {
        let heavy = Table::Quantiles {
            values: vec![1 << 10, 16 << 10, 64 << 10, 1 << 30],
            tail: vec![64 << 10, 1 << 20, 1 << 30],
        };
        let m = table(&heavy);
        let sum = m.largest_sum(1e6);
        assert!(sum > 1e6 * m.mean && sum < 1.03 * 1e6 * m.mean, "{sum}");
        assert_eq!(Moments::exactly(4096.0).largest_sum(1e6), 4096e6);
        assert_eq!(m.largest_sum(1.0), m.upper);
    }

    #[test]
    fn granularity_divides_every_value() {
        let tables = [Table::Lookup { values: vec![4096, 6144], index: vec![0, 1] }];
        assert_eq!(granularity(Draw::Table(0), &tables, 0), 2048);
        let uniform = |lo, hi, step| Draw::Uniform { lo: Bound::Number(lo), hi: Bound::Number(hi), step };
        assert_eq!(granularity(uniform(4096, 65536, 4096), &[], 0), 4096);
        assert_eq!(granularity(uniform(4096, 4096, 1), &[], 0), 4096);
        assert_eq!(granularity(uniform(4096, 4097, 1), &[], 0), 1);
        assert_eq!(granularity(Draw::Const(0), &[], 0), 0);
    }
}
