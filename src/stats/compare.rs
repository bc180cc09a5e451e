//! Whether two groups of runs differ: Welch's t-test and the Mann-Whitney U test.
//!
//! Pure functions; what counts as better is decided by the caller.

use super::describe::{mean, sample_sd};
use super::distribution::{normal_two_sided, t_quantile, t_two_sided};

/// Below this, a difference is called shown.
pub const SIGNIFICANT: f64 = 0.05;

/// Up to this many values together the U distribution is counted out exactly.
const EXACT_LIMIT: usize = 40;

/// The outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Test {
    /// t for Welch, U of the first group for Mann-Whitney.
    pub statistic: f64,
    /// Degrees of freedom; `None` for Mann-Whitney.
    pub df: Option<f64>,
    /// Two-sided probability of such a difference, or a larger one, by chance.
    pub p: f64,
    /// 95 % interval of mean(b) - mean(a); `None` for Mann-Whitney.
    pub difference: Option<(f64, f64)>,
}

impl Test {
    /// Whether a difference is shown at the 5 % level.
    pub fn shown(&self) -> bool {
        self.p < SIGNIFICANT
    }
}

/// Welch's unequal-variances t-test of mean(b) against mean(a), with the degrees of freedom of
/// Welch and Satterthwaite. `None` when a group has fewer than two values. Groups without any
/// spread differ for certain (p = 0) or not at all (p = 1).
pub fn welch(a: &[f64], b: &[f64]) -> Option<Test> {
    let (sd_a, sd_b) = (sample_sd(a)?, sample_sd(b)?);
    let (var_a, var_b) = (sd_a * sd_a / a.len() as f64, sd_b * sd_b / b.len() as f64);
    let (gap, var) = (mean(b)? - mean(a)?, var_a + var_b);
    if var <= 0.0 {
        let p = if gap == 0.0 { 1.0 } else { 0.0 };
        let statistic = if gap == 0.0 { 0.0 } else { gap.signum() * f64::INFINITY };
        return Some(Test { statistic, df: None, p, difference: Some((gap, gap)) });
    }
    let df = var * var / (var_a * var_a / (a.len() - 1) as f64 + var_b * var_b / (b.len() - 1) as f64);
    let t = gap / var.sqrt();
    let half = t_quantile(0.975, df) * var.sqrt();
    Some(Test {
        statistic: t,
        df: Some(df),
        p: t_two_sided(t, df),
        difference: Some((gap - half, gap + half)),
    })
}

/// The Mann-Whitney U test. Small groups are counted out exactly, ties included; larger ones use
/// the normal approximation with tie and continuity correction. `None` when a group is empty.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<Test> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (ranks, ties) = doubled_ranks(a, b);
    let (n, m) = (a.len(), b.len());
    let rank_sum: usize = ranks[..n].iter().sum();
    let u = rank_sum as f64 / 2.0 - (n * (n + 1)) as f64 / 2.0;
    let p = if n + m <= EXACT_LIMIT {
        exact_p(&ranks, n, rank_sum)
    } else {
        let (n, m) = (n as f64, m as f64);
        let all = n + m;
        let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
        let off = ((u - n * m / 2.0).abs() - 0.5).max(0.0);
        if variance <= 0.0 { 1.0 } else { normal_two_sided(off / variance.sqrt()) }
    };
    Some(Test { statistic: u, df: None, p, difference: None })
}

/// Twice the mid-rank of each value (so that ties stay whole numbers), those of `a` first, and
/// the sum of t^3 - t over the groups of ties.
fn doubled_ranks(a: &[f64], b: &[f64]) -> (Vec<usize>, f64) {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let (mut ranks, mut ties, mut start) = (vec![0; values.len()], 0.0, 0);
    while start < order.len() {
        let tied = order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count();
        for &i in &order[start..start + tied] {
            ranks[i] = 2 * start + tied + 1;
        }
        ties += (tied as f64).powi(3) - tied as f64;
        start += tied;
    }
    (ranks, ties)
}

/// The share of all ways to choose `n` of the ranks whose sum lies at least as far from the
/// expected sum as `observed`.
fn exact_p(ranks: &[usize], n: usize, observed: usize) -> f64 {
    let top: usize = ranks.iter().sum();
    // ways[k][s]: how many ways k of the ranks seen so far give the sum s.
    let mut ways = vec![vec![0.0f64; top + 1]; n + 1];
    ways[0][0] = 1.0;
    for &rank in ranks {
        for k in (1..=n).rev() {
            for sum in rank..=top {
                ways[k][sum] += ways[k - 1][sum - rank];
            }
        }
    }
    // The expected doubled sum is n (N + 1); compare distances from it in whole numbers.
    let expected = (n * (ranks.len() + 1)) as i64;
    let distance = (observed as i64 - expected).abs();
    let (mut far, mut all) = (0.0, 0.0);
    for (sum, &count) in ways[n].iter().enumerate() {
        all += count;
        if (sum as i64 - expected).abs() >= distance {
            far += count;
        }
    }
    far / all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} is not {want}");
    }

    /// Student's sleep data (1908), as published with R's `t.test(extra ~ group, sleep)`:
    /// t = -1.8608, df = 17.776, p = 0.07939, interval -3.3654832 to 0.2054832 (of a - b).
    #[test]
    fn welch_on_students_sleep_data() {
        let a = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let b = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let test = welch(&a, &b).unwrap();
        close(test.statistic, 1.8608, 5e-5);
        close(test.df.unwrap(), 17.776, 5e-4);
        close(test.p, 0.07939, 5e-6);
        let (low, high) = test.difference.unwrap();
        close(low, -0.205_483_2, 1e-6);
        close(high, 3.365_483_2, 1e-6);
        assert!(!test.shown());
    }

    #[test]
    fn welch_without_spread_or_values() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0]), None);
        assert_eq!(welch(&[2.0, 2.0], &[2.0, 2.0]).unwrap().p, 1.0);
        let apart = welch(&[2.0, 2.0], &[3.0, 3.0]).unwrap();
        assert_eq!((apart.p, apart.difference), (0.0, Some((1.0, 1.0))));
    }

    /// Without ties the exact tails are fractions that can be counted by hand: three against
    /// three fully apart is 2 of the 20 ways, five against five 2 of 252.
    #[test]
    fn mann_whitney_exact_by_counting() {
        let test = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap();
        assert_eq!(test.statistic, 0.0);
        close(test.p, 0.1, 1e-12);
        let five = mann_whitney(&[6.0, 7.0, 8.0, 9.0, 10.0], &[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.statistic, 25.0);
        close(five.p, 2.0 / 252.0, 1e-12);
    }

    /// Hollander and Wolfe (1973), permeability of the chorioamnion, as published in the help of
    /// R's `wilcox.test`: W = 35, one-sided exact p = 0.1272; the distribution is symmetric.
    #[test]
    fn mann_whitney_on_the_chorioamnion_data() {
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let test = mann_whitney(&x, &y).unwrap();
        assert_eq!(test.statistic, 35.0);
        close(test.p / 2.0, 0.1272, 5e-5);
    }

    /// Critical values of U, two-sided 5 %, in the printed tables (Mann and Whitney 1947): at
    /// n = m = 10 it is 23, so U = 23 is shown and U = 24 is not.
    #[test]
    fn mann_whitney_critical_values() {
        let ways = |u: usize| {
            // Ten against ten whose U is `u`: lift single values of the first group over others.
            let (mut a, b): (Vec<f64>, Vec<f64>) =
                ((0..10).map(f64::from).collect(), (10..20).map(f64::from).collect());
            let mut left = u;
            for value in a.iter_mut().rev() {
                let lift = left.min(10);
                *value = 9.0 + lift as f64 + if lift == 0 { *value - 9.0 } else { 0.5 + *value / 100.0 };
                left -= lift;
            }
            mann_whitney(&a, &b).unwrap()
        };
        assert_eq!((ways(23).statistic, ways(24).statistic), (23.0, 24.0));
        assert!(ways(23).shown() && !ways(24).shown());
    }

    #[test]
    fn ties_and_large_groups() {
        assert_eq!(mann_whitney(&[5.0; 4], &[5.0; 4]).unwrap().p, 1.0);
        // One tie in two against two: sums of doubled ranks 2,5,5,8 choose 2: 7,7,10,10,13,13.
        close(mann_whitney(&[1.0, 2.0], &[2.0, 3.0]).unwrap().p, 4.0 / 6.0, 1e-12);
        assert_eq!(mann_whitney(&[7.0; 30], &[7.0; 30]).unwrap().p, 1.0);
        // The normal approximation must come near the exact count where both can be had.
        let (a, b): (Vec<f64>, Vec<f64>) =
            ((0..20).map(f64::from).collect(), (0..20).map(|v| f64::from(v) + 5.5).collect());
        let exact = mann_whitney(&a, &b).unwrap();
        let (n, u) = (20.0f64, exact.statistic);
        let z = ((u - n * n / 2.0).abs() - 0.5) / (n * n * 41.0 / 12.0).sqrt();
        close(normal_two_sided(z), exact.p, 0.002);
        let shifted: Vec<f64> = (0..60).map(|v| f64::from(v) + 30.0).collect();
        assert!(mann_whitney(&(0..60).map(f64::from).collect::<Vec<_>>(), &shifted).unwrap().p < 1e-6);
    }
}
