//! The repeats of one case on one target: how many, and what they add up to.
//!
//! Knows the rules by name and the clock by what it is told.

use crate::profile::suite::{Policy, Runs};
use crate::record::{Finding, Measured, NoResult, Reason, RepeatResult, Row, Verdict};
use crate::stats::repeat::{Decision, Rule, Why, decide, within_budget};

/// How far the repeats of a case have come.
#[derive(Debug)]
pub struct Repeats {
    runs: Runs,
    /// Name of the number that decides.
    primary: Option<String>,
    done: Vec<RepeatResult>,
    failed: Option<(NoResult, Reason)>,
}

impl Repeats {
    /// No repeats yet; `primary` names the number that decides how many there are.
    pub fn new(runs: Runs, primary: Option<String>) -> Repeats {
        Repeats { runs, primary, done: Vec::new(), failed: None }
    }

    /// Number of the next repeat, from 0.
    pub fn next(&self) -> u64 {
        self.done.len() as u64
    }

    /// Adds the result of one repeat.
    pub fn add(&mut self, result: RepeatResult) {
        self.done.push(result);
    }

    /// One repeat without a result makes all of them worthless: a case that fails now and then
    /// has no number.
    pub fn fail(&mut self, outcome: NoResult, reason: Reason) {
        self.failed = Some((outcome, reason));
    }

    /// Whether to run again; `left_s` is what is left of the session's time budget in seconds.
    pub fn decision(&self, left_s: Option<f64>) -> Decision {
        if self.failed.is_some() {
            return Decision::Enough(Why::Asked);
        }
        let elapsed: Vec<f64> = self.done.iter().map(|run| run.elapsed_s).collect();
        if elapsed.is_empty() {
            return Decision::More;
        }
        if self.runs.max.is_some_and(|max| elapsed.len() as u64 >= max) {
            return Decision::Enough(Why::Most);
        }
        let values: Vec<f64> =
            self.done.iter().filter_map(|run| run.values.get(self.primary.as_ref()?).copied()).collect();
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let decision = match self.runs.policy {
            // Without the number that decides, the least the rule asks for must do.
            Policy::Exactly(n) | Policy::Pts { min: n } | Policy::Ci { min: n }
                if values.len() < elapsed.len() =>
            {
                decide(Rule::Exactly(size(n)), &vec![0.0; elapsed.len()], &elapsed)
            }
            Policy::Exactly(n) => decide(Rule::Exactly(size(n)), &values, &elapsed),
            Policy::Pts { min } => decide(Rule::Pts { min: size(min) }, &values, &elapsed),
            Policy::Ci { min } => decide(Rule::Ci { min: size(min) }, &values, &elapsed),
        };
        let used: f64 = elapsed.iter().sum();
        let own = self.runs.budget.map(|ns| ns as f64 / 1e9 - used);
        let left = match (own, left_s) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        within_budget(decision, &elapsed, left)
    }

    /// Whether there is something to put into the row.
    pub fn is_settled(&self) -> bool {
        self.failed.is_some() || !self.done.is_empty()
    }

    /// Puts the outcome into the row; with what makes it doubtful, where something does.
    pub fn settle(self, row: &mut Row, mut doubts: Vec<Finding>) {
        if let Some((outcome, reason)) = self.failed {
            row.no_result(outcome, reason);
            return;
        }
        let effective = self.done.first().map(|run| run.effective.clone()).unwrap_or_default();
        let unexpected = self.done.iter().find_map(|run| run.effective.unexpected.clone());
        doubts.extend(unexpected.map(|message| Finding { check: "replay".into(), doubt: true, message }));
        row.measured(Measured {
            engine: effective.engine.clone(),
            effective,
            verdict: (!doubts.is_empty()).then(|| Verdict::of(doubts)),
            runs: self.done,
        });
    }
}

/// The rule in words, for the record.
pub fn described(runs: &Runs) -> String {
    let mut text = match runs.policy {
        Policy::Exactly(n) => format!("exactly {n}"),
        Policy::Pts { min } => format!("min {min}, rule pts"),
        Policy::Ci { min } => format!("min {min}, rule ci"),
    };
    if let Some(max) = runs.max {
        text.push_str(&format!(", max {max}"));
    }
    if let Some(budget) = runs.budget {
        text.push_str(&format!(", budget {}", crate::profile::units::format_duration(budget)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(runs: Runs, values: &[Option<f64>], elapsed_s: f64) -> Repeats {
        let mut repeats = Repeats::new(runs, Some("Rate".into()));
        for value in values {
            let values = value.map(|v| ("Rate".to_string(), v)).into_iter().collect();
            repeats.add(RepeatResult { values, elapsed_s, ..RepeatResult::default() });
        }
        repeats
    }

    #[test]
    fn rules_ask_for_more_until_they_are_satisfied() {
        let pts = Runs::DEFAULT;
        assert_eq!(with(pts, &[], 1.0).decision(None), Decision::More);
        assert_eq!(with(pts, &[Some(1.0); 2], 1.0).decision(None), Decision::More);
        assert_eq!(with(pts, &[Some(1.0); 3], 1.0).decision(None), Decision::Enough(Why::Steady));
        let wild = [Some(1.0), Some(2.0), Some(3.0)];
        assert_eq!(with(pts, &wild, 1.0).decision(None), Decision::More);
        let limited = Runs { max: Some(3), ..pts };
        assert_eq!(with(limited, &wild, 1.0).decision(None), Decision::Enough(Why::Most));
        assert_eq!(with(Runs::exactly(1), &[Some(1.0)], 1.0).decision(None), Decision::Enough(Why::Asked));
    }

    #[test]
    fn budgets_win() {
        let wild = [Some(1.0), Some(2.0), Some(3.0)];
        assert_eq!(with(Runs::DEFAULT, &wild, 10.0).decision(Some(5.0)), Decision::Enough(Why::Budget));
        let own = Runs { budget: Some(35_000_000_000), ..Runs::DEFAULT };
        assert_eq!(with(own, &wild, 10.0).decision(None), Decision::Enough(Why::Budget));
        assert_eq!(with(own, &wild, 1.0).decision(None), Decision::More);
    }

    #[test]
    fn without_the_deciding_number_repeats_end_all_the_same() {
        assert_eq!(with(Runs::DEFAULT, &[None; 3], 1.0).decision(None), Decision::Enough(Why::Asked));
        assert_eq!(with(Runs::DEFAULT, &[None, Some(1.0)], 1.0).decision(None), Decision::More);
    }

    #[test]
    fn one_failure_takes_all_numbers() {
        let mut repeats = with(Runs::DEFAULT, &[Some(1.0); 2], 1.0);
        repeats.fail(NoResult::Failed, Reason::new("fsync: EIO"));
        assert!(matches!(repeats.decision(None), Decision::Enough(_)));
        let mut row = Row::planned(crate::record::Case::default());
        repeats.settle(&mut row, Vec::new());
        assert!(!row.is_ok() && row.runs().is_empty());
    }
}
