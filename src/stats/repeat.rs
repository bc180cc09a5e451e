//! When a case has been repeated often enough.
//!
//! Pure: sees the values and how long each run took, and answers more or enough. Knows neither
//! cases nor how they are run.

use super::describe::{Summary, mean, population_sd, sample_sd};

/// The spread, as a share of the mean, at which `pts` still asks for another run.
const PTS_SPREAD: f64 = 0.03;
/// Half the 95 % interval, as a share of the mean, that `ci` is satisfied with.
const CI_WITHIN: f64 = 0.02;
/// `ci` gives up here: noise that 30 runs do not average out is not noise.
const CI_MOST: usize = 30;

/// How a case is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// This many runs, whatever they show.
    Exactly(usize),
    /// `min` runs, then one more while they spread too far, up to four, three or two times `min`
    /// by the length of a run.
    Pts { min: usize },
    /// `min` runs, then one more until the 95 % interval of the mean is within 2 %.
    Ci { min: usize },
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Another run.
    More,
    /// No more runs, and why.
    Enough(Why),
}

/// Why no more runs are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// As many as were asked for.
    Asked,
    /// The runs agree well enough.
    Steady,
    /// The most runs the rule allows; they still spread.
    Most,
    /// Another run would not fit into the time that is left.
    Budget,
}

impl Why {
    /// A few words for the terminal and the record.
    pub fn text(self) -> &'static str {
        match self {
            Why::Asked => "as many runs as asked for",
            Why::Steady => "the runs agree",
            Why::Most => "the most runs the rule allows; they still spread",
            Why::Budget => "the time budget is spent",
        }
    }
}

/// Whether another run is needed. `values` are the runs' numbers of the case's primary metric and
/// `elapsed_s` how long each took. A time budget wins over every rule; see [`within_budget`].
pub fn decide(rule: Rule, values: &[f64], elapsed_s: &[f64]) -> Decision {
    let n = values.len();
    match rule {
        Rule::Exactly(asked) if n < asked.max(1) => Decision::More,
        Rule::Exactly(_) => Decision::Enough(Why::Asked),
        Rule::Pts { min } if n < min.max(1) => Decision::More,
        Rule::Pts { .. } if steady_by_pts(values) => Decision::Enough(Why::Steady),
        Rule::Pts { min } => below(n, pts_most(min.max(1), elapsed_s)),
        Rule::Ci { min } if n < min.max(2) => Decision::More,
        Rule::Ci { .. } if steady_by_interval(values) => Decision::Enough(Why::Steady),
        Rule::Ci { min } => below(n, CI_MOST.max(min)),
    }
}

/// Holds a decision against the time left, in seconds: a run as long as the mean so far must fit.
pub fn within_budget(decision: Decision, elapsed_s: &[f64], left_s: Option<f64>) -> Decision {
    match (decision, left_s, mean(elapsed_s)) {
        (Decision::More, Some(left), Some(run)) if run > left => Decision::Enough(Why::Budget),
        _ => decision,
    }
}

fn below(n: usize, most: usize) -> Decision {
    if n < most { Decision::More } else { Decision::Enough(Why::Most) }
}

/// Twelve runs for a minimum of three when a run takes under two minutes, nine under four, else
/// six: in general four, three or two times the minimum.
fn pts_most(min: usize, elapsed_s: &[f64]) -> usize {
    let factor = match mean(elapsed_s) {
        Some(run) if run >= 240.0 => 2,
        Some(run) if run >= 120.0 => 3,
        _ => 4,
    };
    min * factor
}

/// The sample standard deviation is under 3 % of the mean, and no value lies outside the mean
/// plus or minus three population standard deviations (which n values can only do from n = 11).
fn steady_by_pts(values: &[f64]) -> bool {
    let (Some(mean), Some(sigma)) = (mean(values), population_sd(values)) else { return false };
    let spread = sample_sd(values).unwrap_or(0.0);
    let calm = spread == 0.0 || spread < PTS_SPREAD * mean.abs();
    // Ten values can reach three sigma exactly, and rounding must not turn that into more.
    calm && values.iter().all(|v| (v - mean).abs() <= 3.0 * sigma * (1.0 + 1e-9))
}

fn steady_by_interval(values: &[f64]) -> bool {
    let Some(Summary { mean, ci95: Some((low, high)), .. }) = Summary::of(values) else { return false };
    (high - low) / 2.0 <= CI_WITHIN * mean.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTS: Rule = Rule::Pts { min: 3 };

    /// How many runs a rule makes of an endless supply of these values.
    fn runs(rule: Rule, supply: &[f64], each_s: f64) -> (usize, Why) {
        let (mut values, mut elapsed) = (Vec::new(), Vec::new());
        loop {
            if let Decision::Enough(why) = decide(rule, &values, &elapsed) {
                return (values.len(), why);
            }
            values.push(supply[values.len() % supply.len()]);
            elapsed.push(each_s);
        }
    }

    #[test]
    fn exactly_is_exact() {
        assert_eq!(runs(Rule::Exactly(5), &[1.0, 900.0], 1.0), (5, Why::Asked));
        assert_eq!(runs(Rule::Exactly(1), &[1.0], 1.0), (1, Why::Asked));
    }

    #[test]
    fn calm_runs_stop_at_three() {
        assert_eq!(runs(PTS, &[100.0, 101.0, 99.0], 1.0), (3, Why::Steady));
        assert_eq!(runs(PTS, &[0.0], 1.0), (3, Why::Steady));
    }

    #[test]
    fn noisy_runs_stop_at_twelve_nine_or_six() {
        let noisy = [100.0, 150.0];
        assert_eq!(runs(PTS, &noisy, 119.9), (12, Why::Most));
        assert_eq!(runs(PTS, &noisy, 120.0), (9, Why::Most));
        assert_eq!(runs(PTS, &noisy, 239.9), (9, Why::Most));
        assert_eq!(runs(PTS, &noisy, 240.0), (6, Why::Most));
        assert_eq!(runs(Rule::Pts { min: 5 }, &noisy, 1.0), (20, Why::Most));
    }

    #[test]
    fn three_percent_is_already_too_much() {
        // Sample deviation of 97, 100, 103 is exactly 3.
        assert_eq!(decide(PTS, &[97.0, 100.0, 103.0], &[1.0; 3]), Decision::More);
        assert_eq!(decide(PTS, &[97.01, 100.0, 102.99], &[1.0; 3]), Decision::Enough(Why::Steady));
    }

    #[test]
    fn an_outlier_asks_for_a_twelfth_run_and_cannot_before() {
        let with_outlier = |n: usize| {
            let mut values = vec![100.0; n - 1];
            values.push(101.0);
            values
        };
        assert_eq!(decide(PTS, &with_outlier(11), &[1.0; 11]), Decision::More);
        assert_eq!(decide(PTS, &with_outlier(10), &[1.0; 10]), Decision::Enough(Why::Steady));
        assert_eq!(decide(PTS, &with_outlier(11), &[130.0; 11]), Decision::Enough(Why::Most));
    }

    #[test]
    fn ci_stops_when_the_interval_is_narrow() {
        assert_eq!(runs(Rule::Ci { min: 3 }, &[100.0, 100.1], 1.0), (3, Why::Steady));
        let (n, why) = runs(Rule::Ci { min: 3 }, &[100.0, 104.0], 1.0);
        assert_eq!(why, Why::Steady);
        // Half width t(n-1) * 2.0x / sqrt(n) falls to 2.04 only after several runs.
        assert!((5..=8).contains(&n), "{n}");
        assert_eq!(runs(Rule::Ci { min: 3 }, &[1.0, 100.0], 1.0), (30, Why::Most));
    }

    #[test]
    fn the_budget_wins() {
        let more = decide(Rule::Exactly(5), &[1.0], &[10.0]);
        assert_eq!(within_budget(more, &[10.0], Some(9.0)), Decision::Enough(Why::Budget));
        assert_eq!(within_budget(more, &[10.0], Some(11.0)), Decision::More);
        assert_eq!(within_budget(more, &[10.0], None), Decision::More);
        assert_eq!(
            within_budget(Decision::Enough(Why::Asked), &[10.0], Some(0.0)),
            Decision::Enough(Why::Asked)
        );
    }
}
