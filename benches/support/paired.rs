//! The statistics of interleaved pairs: medians, and a ratio with its interval.
//!
//! Whatever slows the machine for a while slows both of a pair, so the pair's ratio is steadier
//! than either time. The ratio is the geometric mean of the pairs' ratios; its interval is
//! Student's, on the logarithms.

/// Fewer pairs give an interval too wide to say anything.
pub const FEWEST: usize = 9;

/// Our time over theirs, with the 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

/// The middle value, or the mean of the two in the middle; none of no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted[half - 1] + upper) / 2.0 })
}

/// The ratio over pairs of (ours, theirs) seconds. None for fewer than [`FEWEST`] pairs, or for
/// times that are not positive.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let logs: Vec<f64> = pairs.iter().map(|(ours, theirs)| (ours / theirs).ln()).collect();
    if pairs.len() < FEWEST || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = t_975(logs.len() - 1) * (variance / n).sqrt();
    Some(Ratio { ratio: mean.exp(), low: (mean - half).exp(), high: (mean + half).exp() })
}

/// The 97.5 % point of Student's t, by the Cornish-Fisher expansion in 1/freedom (Abramowitz and
/// Stegun 26.7.5). Good to 0.001 from 8 degrees of freedom on, which [`FEWEST`] guarantees.
pub fn t_975(freedom: usize) -> f64 {
    let (z, v) = (1.959_963_984_540_054_f64, freedom as f64);
    z + (z.powi(3) + z) / (4.0 * v)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3))
}
