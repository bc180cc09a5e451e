//! Describing a handful of numbers: mean, median, spread, interval of the mean.
//!
//! Pure functions over slices; what the numbers are is not known here. All inputs are expected
//! to be finite.

use super::distribution::t_quantile;

/// Arithmetic mean; `None` of nothing. Counted from the first value, so that equal values have
/// exactly themselves for mean and no spread.
pub fn mean(values: &[f64]) -> Option<f64> {
    let first = *values.first()?;
    Some(first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64)
}

/// Median, the mean of the middle two for an even number; `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Sum of the squared distances from the mean.
fn squares(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    Some(values.iter().map(|v| (v - mean).powi(2)).sum())
}

/// Standard deviation of a sample (division by n - 1); `None` below two values.
pub fn sample_sd(values: &[f64]) -> Option<f64> {
    (values.len() > 1).then(|| squares(values).map(|s| (s / (values.len() - 1) as f64).sqrt()))?
}

/// Standard deviation of a population (division by n); `None` of nothing.
pub fn population_sd(values: &[f64]) -> Option<f64> {
    squares(values).map(|s| (s / values.len() as f64).sqrt())
}

/// Geometric mean; `None` of nothing, or when a value is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|&v| v <= 0.0) {
        return None;
    }
    mean(&values.iter().map(|v| v.ln()).collect::<Vec<_>>()).map(f64::exp)
}

/// What is said of the runs of one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of runs.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle value; the mean of the two middle ones of an even number.
    pub median: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Sample standard deviation; needs two values, as do the next two.
    pub sd: Option<f64>,
    /// Standard error of the mean: sd / sqrt(n).
    pub se: Option<f64>,
    /// 95 % confidence interval of the mean (Student's t).
    pub ci95: Option<(f64, f64)>,
}

impl Summary {
    /// `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mean = mean(values)?;
        let sd = sample_sd(values);
        let se = sd.map(|sd| sd / (values.len() as f64).sqrt());
        let ci95 = se.map(|se| {
            let half = t_quantile(0.975, (values.len() - 1) as f64) * se;
            (mean - half, mean + half)
        });
        Some(Summary {
            n: values.len(),
            mean,
            median: median(values)?,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            sd,
            se,
            ci95,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64) {
        assert!((got - want).abs() <= tolerance, "{got} is not {want}");
    }

    #[test]
    fn nothing_and_one_value() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[4.0]).unwrap();
        assert_eq!((one.n, one.mean, one.median, one.sd, one.se, one.ci95), (1, 4.0, 4.0, None, None, None));
    }

    /// NIST StRD, univariate summary statistics, data set NumAcc1: 10000001, 10000003, 10000002;
    /// certified mean 10000002, certified standard deviation 1 (itl.nist.gov/div898/strd).
    #[test]
    fn nist_numacc1() {
        let summary = Summary::of(&[10000001.0, 10000003.0, 10000002.0]).unwrap();
        assert_eq!((summary.mean, summary.sd, summary.median), (10000002.0, Some(1.0), 10000002.0));
        assert_eq!((summary.min, summary.max), (10000001.0, 10000003.0));
    }

    /// NIST StRD NumAcc2: 1.2, then 1.1 and 1.3 in turn, 1001 values; certified mean 1.2, sd 0.1.
    #[test]
    fn nist_numacc2() {
        let mut values = vec![1.2];
        (0..500).for_each(|_| values.extend([1.1, 1.3]));
        close(mean(&values).unwrap(), 1.2, 1e-13);
        close(sample_sd(&values).unwrap(), 0.1, 1e-13);
    }

    /// t(0.975, 2) = 4.303 by every printed table; mean 2, se 1/sqrt(3).
    #[test]
    fn interval_of_three() {
        let (low, high) = Summary::of(&[1.0, 2.0, 3.0]).unwrap().ci95.unwrap();
        close(high - 2.0, 4.302_653 / 3.0f64.sqrt(), 1e-5);
        close(2.0 - low, high - 2.0, 1e-12);
    }

    #[test]
    fn geometric() {
        close(geometric_mean(&[1.0, 10.0, 100.0]).unwrap(), 10.0, 1e-12);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        close(population_sd(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap(), 2.0, 1e-12);
    }
}
