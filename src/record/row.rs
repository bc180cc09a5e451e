//! One planned case and what came of it.
//!
//! A row without a result has no numbers. That holds by construction: the numbers can only be
//! set together with the status `ok`, and every other outcome removes them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

use super::result::{Better, Effective, Metric, RepeatResult, StepResult, Verdict};

/// What came of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Status {
    /// It ran, and has numbers.
    Ok,
    /// The target or the kernel cannot do it.
    Unsupported,
    /// An operation failed.
    Failed,
    /// Left out by the user's choice or a budget.
    Skipped,
    /// The run ended before it, or in it.
    Interrupted,
}

impl Status {
    /// As it is stored and printed.
    pub fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Unsupported => "unsupported",
            Status::Failed => "failed",
            Status::Skipped => "skipped",
            Status::Interrupted => "interrupted",
        }
    }
}

/// Every status but `ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoResult {
    /// The target or the kernel cannot do it.
    Unsupported,
    /// An operation failed.
    Failed,
    /// Left out by the user's choice or a budget.
    Skipped,
    /// The run ended before it, or in it.
    Interrupted,
}

impl From<NoResult> for Status {
    fn from(outcome: NoResult) -> Status {
        match outcome {
            NoResult::Unsupported => Status::Unsupported,
            NoResult::Failed => Status::Failed,
            NoResult::Skipped => Status::Skipped,
            NoResult::Interrupted => Status::Interrupted,
        }
    }
}

/// Why a row has no result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reason {
    /// One lower-case line.
    pub message: String,
    /// The step it happened in, `phase.step`.
    pub step: Option<String>,
    /// The file, relative to the run directory.
    pub path: Option<String>,
    /// Byte offset of the operation.
    pub offset: Option<u64>,
    /// Bytes the operation asked for.
    pub length: Option<u64>,
    /// Name of the error number, for example `ENOSPC`.
    pub errno: Option<String>,
    /// What to do about it.
    pub what_to_do: Option<String>,
}

impl Reason {
    /// A reason that only has a message.
    pub fn new(message: impl Into<String>) -> Reason {
        Reason { message: message.into(), ..Reason::default() }
    }

    /// All of it on one line: `no space left (ENOSPC) in fill.write, data/3 at 4096, 512 bytes`.
    pub fn line(&self) -> String {
        let mut line = self.message.clone();
        let mut add = |text: String| line.push_str(&text);
        if let Some(errno) = self.errno.as_ref().filter(|errno| !self.message.contains(*errno)) {
            add(format!(" ({errno})"));
        }
        if let Some(step) = &self.step {
            add(format!(" in {step}"));
        }
        if let Some(path) = &self.path {
            add(format!(", {path}"));
        }
        if let Some(offset) = self.offset {
            add(format!(" at {offset}"));
        }
        if let Some(length) = self.length {
            add(format!(", {length} bytes"));
        }
        line
    }
}

/// A number a case will have when it has run.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Name within the case.
    pub name: String,
    /// The unit it is shown in, for example `MiB/s`.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// The one that decides about repeats.
    pub primary: bool,
}

/// A planned case: what is known before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// Id of the profile.
    pub profile: String,
    /// Version of the profile.
    pub profile_version: String,
    /// Id of the case.
    pub case: String,
    /// Title of the case.
    pub title: String,
    /// Resolved parameters.
    pub params: Map<String, Value>,
    /// Values the plan took from the machine (processors, memory, …).
    pub facts: Map<String, Value>,
    /// Hash of the resolved plan.
    pub plan_hash: String,
    /// The engine asked for.
    pub engine: Option<String>,
    /// The published test it follows; `None` without one.
    pub reproduces: Option<Reproduces>,
    /// The numbers it will have.
    pub metrics: Vec<Declared>,
}

/// The published test a case follows, by which imported results pair with ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reproduces {
    /// The test, for example `pts/fio`.
    pub test: String,
    /// Its version; results are comparable within X.Y.
    pub version: String,
    /// The case as that test names it.
    pub case: String,
}

/// The engine of a case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Engine {
    /// As asked for; absent where nothing was asked.
    pub asked: Option<String>,
    /// As used; absent where nothing ran.
    pub used: Option<String>,
}

/// One planned case with its outcome. Made by [`Row::planned`]; the outcome is set by
/// [`Row::measured`] or [`Row::no_result`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// Id of the profile.
    pub profile: String,
    /// Version of the profile.
    pub profile_version: String,
    /// Id of the case.
    pub case: String,
    /// Title of the case.
    pub title: String,
    /// Resolved parameters.
    pub params: Map<String, Value>,
    /// Values the plan took from the machine.
    pub facts: Map<String, Value>,
    /// Hash of the resolved plan in canonical form.
    pub plan_hash: String,
    /// The engine asked for and the one used.
    pub engine: Engine,
    /// The published test it follows; absent without one.
    pub reproduces: Option<Reproduces>,
    status: Status,
    reason: Option<Reason>,
    metrics: Vec<Metric>,
    /// By `phase.step` or `phase.label`, all repeats together.
    steps: BTreeMap<String, StepResult>,
    effective: Effective,
    verdict: Option<Verdict>,
    /// Each repeat, whole.
    runs: Vec<RepeatResult>,
}

/// What a case that ran hands over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// Name of the engine used.
    pub engine: Option<String>,
    /// What was really in force.
    pub effective: Effective,
    /// Whether the numbers may be believed.
    pub verdict: Option<Verdict>,
    /// Each repeat in order, at least one.
    pub runs: Vec<RepeatResult>,
}

impl Row {
    /// A case that has not started: `interrupted` until something better is known, so that a
    /// record is true at every moment.
    pub fn planned(case: Case) -> Row {
        Row {
            profile: case.profile,
            profile_version: case.profile_version,
            case: case.case,
            title: case.title,
            params: case.params,
            facts: case.facts,
            plan_hash: case.plan_hash,
            engine: Engine { asked: case.engine, used: None },
            reproduces: case.reproduces,
            status: Status::Interrupted,
            reason: Some(Reason::new("not started")),
            metrics: case.metrics.into_iter().map(Metric::declared).collect(),
            steps: BTreeMap::new(),
            effective: Effective::default(),
            verdict: None,
            runs: Vec::new(),
        }
    }

    /// The case ran: status `ok`. Each metric becomes the mean of its runs, the steps of all
    /// repeats are added up (their histograms merged). Values of metrics that were not declared
    /// are left out. Without a single repeat there is nothing to state, and the row is `failed`.
    pub fn measured(&mut self, mut measured: Measured) {
        measured.runs.iter_mut().for_each(RepeatResult::drop_what_is_no_number);
        if measured.runs.is_empty() {
            return self.no_result(NoResult::Failed, Reason::new("no repeat has finished"));
        }
        for metric in &mut self.metrics {
            metric.set_runs(measured.runs.iter().map(|run| run.values.get(&metric.name).copied()).collect());
        }
        self.steps = BTreeMap::new();
        for (key, step) in measured.runs.iter().flat_map(|run| &run.steps) {
            self.steps.entry(key.clone()).or_default().add(step);
        }
        self.engine.used = measured.engine;
        self.status = Status::Ok;
        self.reason = None;
        self.effective = measured.effective;
        self.verdict = measured.verdict;
        self.runs = measured.runs;
    }

    /// A row of another tool's report: a value and nothing about its runs, by metric in the order
    /// declared. `printed` is the number as the report shows it.
    pub fn imported(case: Case, values: Vec<(Option<f64>, Option<String>)>) -> Row {
        let mut row = Row::planned(case);
        for (metric, (value, printed)) in row.metrics.iter_mut().zip(values) {
            metric.set_value(value);
            metric.printed = printed;
        }
        (row.status, row.reason) = (Status::Ok, None);
        row
    }

    /// The case has no result. All numbers go, the metrics stay declared.
    pub fn no_result(&mut self, outcome: NoResult, reason: Reason) {
        self.status = outcome.into();
        self.reason = Some(reason);
        self.metrics.iter_mut().for_each(Metric::clear);
        self.steps.clear();
        self.effective = Effective::default();
        self.verdict = None;
        self.runs.clear();
    }

    /// How the case ended.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Whether there is a result.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }

    /// Why there is no result; `None` for `ok`.
    pub fn reason(&self) -> Option<&Reason> {
        self.reason.as_ref()
    }

    /// Numbers of the case; empty without a result.
    pub fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Numbers of single steps, by name.
    pub fn steps(&self) -> &BTreeMap<String, StepResult> {
        &self.steps
    }

    /// What was really in force.
    pub fn effective(&self) -> &Effective {
        &self.effective
    }

    /// Whether the numbers may be believed; `None` without a judgement.
    pub fn verdict(&self) -> Option<&Verdict> {
        self.verdict.as_ref()
    }

    /// Results of single repeats.
    pub fn runs(&self) -> &[RepeatResult] {
        &self.runs
    }

    /// Rewrites every text that may name a person or machine.
    pub(super) fn rewrite(&mut self, scrub: &dyn Fn(&str) -> String) {
        let apply = |text: &mut String| *text = scrub(text);
        apply(&mut self.title);
        self.params.values_mut().for_each(|value| rewrite_value(value, scrub));
        if let Some(reason) = &mut self.reason {
            apply(&mut reason.message);
            reason.path.iter_mut().for_each(apply);
            reason.what_to_do.iter_mut().for_each(apply);
        }
        for effective in self.runs.iter_mut().map(|run| &mut run.effective).chain([&mut self.effective]) {
            effective.cache.iter_mut().for_each(apply);
            effective.unexpected.iter_mut().for_each(apply);
            effective.fallbacks.iter_mut().for_each(apply);
        }
        for finding in self.verdict.iter_mut().flat_map(|verdict| &mut verdict.findings) {
            apply(&mut finding.message);
        }
    }

    /// Whether a row that was read keeps the rules; the mistake if not.
    pub(super) fn check(&self) -> Result<(), String> {
        let name = format!("row {}:{}", self.profile, self.case);
        if self.is_ok() != self.reason.is_none() {
            return Err(format!("{name}: a reason belongs to every status but `ok`"));
        }
        if self.is_ok() {
            return Ok(());
        }
        let clean =
            self.metrics.iter().all(|m| m.value.is_none() && m.runs.is_empty() && m.printed.is_none())
                && self.steps.is_empty()
                && self.runs.is_empty()
                && self.verdict.is_none()
                && self.effective == Effective::default();
        if clean { Ok(()) } else { Err(format!("{name} is {} and must have no numbers", self.status.word())) }
    }
}

fn rewrite_value(value: &mut Value, scrub: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = scrub(text),
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_value(item, scrub)),
        Value::Object(map) => map.values_mut().for_each(|item| rewrite_value(item, scrub)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn planned_is_interrupted_and_says_not_started() {
        let row = Row::planned(sample::case("mixed", "randread-4k"));
        assert_eq!(row.status(), Status::Interrupted);
        assert_eq!(row.reason().map(Reason::line).as_deref(), Some("not started"));
        assert_eq!(row.metrics().len(), 2);
        assert_eq!(row.check(), Ok(()));
    }

    #[test]
    fn the_metrics_of_a_measured_row_are_the_means_of_its_runs() {
        let row = sample::measured("mixed", "randread-4k", &[100.0, 110.0, 120.0]);
        assert_eq!(row.status(), Status::Ok);
        let metric = &row.metrics()[0];
        assert_eq!(metric.value, Some(110.0));
        assert_eq!(metric.runs, [Some(100.0), Some(110.0), Some(120.0)]);
        assert_eq!(row.runs().len(), 3);
        let step = &row.steps()["run.read"];
        assert_eq!((step.ops, step.bytes), (30, 30 * 4096));
        assert_eq!(step.latency.as_ref().map(|l| l.count), Some(30));
        assert_eq!(row.check(), Ok(()));
    }

    #[test]
    fn every_outcome_but_ok_removes_all_numbers() {
        for outcome in [NoResult::Unsupported, NoResult::Failed, NoResult::Skipped, NoResult::Interrupted] {
            let mut row = sample::measured("mixed", "randread-4k", &[123456.0]);
            row.no_result(outcome, Reason::new("it broke"));
            assert_eq!(row.check(), Ok(()));
            assert!(row.metrics().len() == 2 && row.metrics().iter().all(|m| m.value.is_none()));
            let stored = serde_json::to_string(&row).unwrap();
            assert!(!stored.contains("123456"), "{stored}");
        }
    }

    #[test]
    fn a_case_without_a_finished_repeat_is_failed() {
        let mut row = Row::planned(sample::case("mixed", "randread-4k"));
        row.measured(Measured::default());
        assert_eq!(row.status(), Status::Failed);
    }

    #[test]
    fn a_metric_that_is_no_number_is_absent() {
        let row = sample::measured("mixed", "randread-4k", &[f64::NAN, f64::INFINITY]);
        assert_eq!(row.metrics()[0].value, None);
        let stored = serde_json::to_string(&row).unwrap();
        let back: Row = serde_json::from_str(&stored).unwrap();
        assert_eq!(back.metrics()[0].runs, [None, None]);
        assert!(!back.runs()[0].values.contains_key("Rate") && back.runs()[0].values.contains_key("Latency"));
    }

    #[test]
    fn a_changed_file_with_numbers_in_a_failed_row_is_noticed() {
        let mut row = sample::measured("mixed", "randread-4k", &[5.0]);
        row.status = Status::Failed;
        row.reason = Some(Reason::new("changed by hand"));
        assert!(row.check().unwrap_err().contains("must have no numbers"));
        row.status = Status::Ok;
        assert!(row.check().is_err());
    }

    #[test]
    fn a_reason_on_one_line() {
        let reason = Reason {
            message: "no space left on device".into(),
            step: Some("fill.write".into()),
            path: Some("data/3".into()),
            offset: Some(4096),
            length: Some(512),
            errno: Some("ENOSPC".into()),
            what_to_do: Some("free 3 GiB".into()),
        };
        assert_eq!(
            reason.line(),
            "no space left on device (ENOSPC) in fill.write, data/3 at 4096, 512 bytes"
        );
    }
}
