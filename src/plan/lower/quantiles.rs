//! Distributions as tables of quantiles, made once.
//!
//! A table holds 1000 intervals of equal probability, so that per mille are exact, and the last of
//! them, where the tail is, has 1000 of its own. Between two points values are drawn evenly.

use crate::plan::instr::Table;

/// Intervals of equal probability, of the whole and of its last interval.
const INTERVALS: usize = 1000;

fn table(quantile: impl Fn(f64) -> f64) -> Table {
    let n = INTERVALS as f64;
    let value = |p: f64| quantile(p).max(0.0).min(u64::MAX as f64 / 4.0).round() as u64;
    // The end of an unbounded tail is cut in the middle of its last interval: one in two million.
    let last = 1.0 - 0.5 / (n * n);
    let tail: Vec<u64> =
        (0..=INTERVALS).map(|i| value((1.0 - 1.0 / n + i as f64 / (n * n)).min(last))).collect();
    let mut values: Vec<u64> = (0..INTERVALS).map(|i| value(i as f64 / n)).collect();
    values.push(tail[INTERVALS]);
    rising(&mut values);
    Table::Quantiles {
        values,
        tail: {
            let mut tail = tail;
            rising(&mut tail);
            tail
        },
    }
}

/// Rounding must not make a later point smaller.
fn rising(values: &mut [u64]) {
    for i in 1..values.len() {
        values[i] = values[i].max(values[i - 1]);
    }
}

/// Exponential with this mean: `-mean ln(1 - p)`.
pub fn exponential(mean: f64) -> Table {
    table(|p| -mean * (1.0 - p).ln())
}

/// Normal, cut off below 0.
pub fn normal(mean: f64, sd: f64) -> Table {
    table(|p| match p {
        p if p <= 0.0 => (mean - 6.0 * sd).max(0.0),
        p => mean + sd * normal_quantile(p),
    })
}

/// Gamma with this mean and shape, by bisection of its distribution function.
pub fn gamma(mean: f64, shape: f64) -> Table {
    let scale = mean / shape;
    table(|p| {
        if p <= 0.0 {
            return 0.0;
        }
        let (mut lo, mut hi) = (0.0, shape + 10.0 * shape.sqrt() + 40.0);
        for _ in 0..60 {
            let mid = 0.5 * (lo + hi);
            if lower_gamma(shape, mid) < p {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        0.5 * (lo + hi) * scale
    })
}

/// (fraction, value) points, straight lines between them.
pub fn points(points: &[(f64, u64)]) -> Table {
    let at = |p: f64| {
        let after = points.iter().position(|(q, _)| *q >= p).unwrap_or(points.len().saturating_sub(1));
        match (after.checked_sub(1).and_then(|i| points.get(i)), points.get(after)) {
            (Some((p0, v0)), Some((p1, v1))) if p1 > p0 => {
                *v0 as f64 + (*v1 as f64 - *v0 as f64) * (p - p0) / (p1 - p0)
            }
            (_, Some((_, v))) => *v as f64,
            _ => 0.0,
        }
    };
    let n = INTERVALS as f64;
    let value = |p: f64| at(p).round() as u64;
    let values = (0..=INTERVALS).map(|i| value(i as f64 / n)).collect();
    let tail = (0..=INTERVALS).map(|i| value(1.0 - 1.0 / n + i as f64 / (n * n))).collect();
    Table::Quantiles { values, tail }
}

/// Inverse of the standard normal distribution function: P. J. Acklam's rational approximation
/// (2003), relative error below 1.15e-9.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e+01,
        2.209460984245205e+02,
        -2.759285104469687e+02,
        1.38357751867269e+02,
        -3.066479806614716e+01,
        2.506628277459239e+00,
    ];
    const B: [f64; 5] = [
        -5.447609879822406e+01,
        1.615858368580409e+02,
        -1.556989798598866e+02,
        6.680131188771972e+01,
        -1.328068155288572e+01,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-03,
        -3.223964580411365e-01,
        -2.400758277161838e+00,
        -2.549732539343734e+00,
        4.374664141464968e+00,
        2.938163982698783e+00,
    ];
    const D: [f64; 4] =
        [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00];
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, a| sum * x + a);
    let tail = |q: f64| poly(&C, q) / (poly(&D, q) * q + 1.0);
    if p < 0.02425 {
        tail((-2.0 * p.ln()).sqrt())
    } else if p > 1.0 - 0.02425 {
        -tail((-2.0 * (1.0 - p).ln()).sqrt())
    } else {
        let q = p - 0.5;
        let r = q * q;
        poly(&A, r) * q / (poly(&B, r) * r + 1.0)
    }
}

/// Regularised lower incomplete gamma function, by its series or its continued fraction
/// (Abramowitz and Stegun 6.5.29 and 6.5.31).
fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..1000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-15 {
                break;
            }
        }
        front * sum
    } else {
        let tiny = 1e-300;
        let mut b = x + 1.0 - a;
        let mut c = 1.0 / tiny;
        let mut d = 1.0 / b;
        let mut h = d;
        for i in 1..1000 {
            let an = -(i as f64) * (i as f64 - a);
            b += 2.0;
            d = 1.0 / (an * d + b).abs().max(tiny).copysign(an * d + b);
            c = b + an / c;
            let delta = d * c;
            h *= delta;
            if (delta - 1.0).abs() < 1e-15 {
                break;
            }
        }
        1.0 - front * h
    }
}

/// Lanczos' approximation with g = 7 and nine coefficients (Godfrey, 2001).
fn ln_gamma(x: f64) -> f64 {
    const G: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let sum = G.iter().enumerate().skip(1).fold(G[0], |sum, (i, g)| sum + g / (x + i as f64));
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::instr::{Draw, Generator};
    use crate::vm::draw::{FileFacts, draw};
    use crate::vm::random::{Purpose, StreamKey, Streams};

    fn sample(table: Table) -> Vec<f64> {
        let tables = [table];
        let mut random = Streams::new(Generator::ChaCha8, StreamKey { seed: 11, ..StreamKey::default() });
        let facts = FileFacts::default();
        let one = |random: &mut Streams| draw(Draw::Table(0), &tables, random, Purpose::Size, facts) as f64;
        (0..200_000).map(|_| one(&mut random)).collect()
    }

    fn mean_and_sd(x: &[f64]) -> (f64, f64) {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        (mean, (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
    }

    /// Mean and deviation as the distributions have them by definition.
    #[test]
    fn samples_have_the_moments_of_their_law() {
        for (table, mean, sd) in [
            (exponential(100_000.0), 100_000.0, 100_000.0),
            (gamma(16384.0, 1.5), 16384.0, 16384.0 / 1.5f64.sqrt()),
            (gamma(16384.0, 0.5), 16384.0, 16384.0 / 0.5f64.sqrt()),
            (normal(50_000.0, 5_000.0), 50_000.0, 5_000.0),
        ] {
            let (m, s) = mean_and_sd(&sample(table));
            assert!((m - mean).abs() < mean * 0.01, "mean {m}, expected {mean}");
            assert!((s - sd).abs() < sd * 0.02, "sd {s}, expected {sd}");
        }
    }

    /// Values of R's `qnorm(0.975)` and `pgamma(2, 3)`.
    #[test]
    fn special_functions_match_published_values() {
        assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-8);
        assert!((normal_quantile(0.001) + 3.090_232_306_167_813).abs() < 1e-8);
        assert!((lower_gamma(3.0, 2.0) - 0.323_323_583_816_936_5).abs() < 1e-12);
        assert!((lower_gamma(1.0, 5.0) - (1.0 - (-5.0f64).exp())).abs() < 1e-12);
    }

    #[test]
    fn given_quantiles_come_back() {
        let mut x = sample(points(&[(0.0, 0), (0.5, 4055), (0.9, 10_000), (0.999, 50_000), (1.0, 1 << 20)]));
        x.sort_by(f64::total_cmp);
        let at = |p: f64| x[(p * x.len() as f64) as usize];
        assert!((at(0.5) - 4055.0).abs() < 60.0, "{}", at(0.5));
        assert!((at(0.9) - 10_000.0).abs() < 120.0, "{}", at(0.9));
        assert!((at(0.998) - 49_596.0).abs() < 400.0, "{}", at(0.998));
        assert!(*x.last().unwrap() > 500_000.0);
    }
}
