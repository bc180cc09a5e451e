//! The numbers of a case: metrics, steps, seconds, what was effective, and the verdict.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::row::Declared;
use crate::measure::Sparse;
use crate::stats;

/// Which direction is an improvement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

impl Better {
    /// As written in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Better::Higher => "higher",
            Better::Lower => "lower",
        }
    }
}

/// One number of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Metric {
    /// Name within the case.
    pub name: String,
    /// In base units (bytes, seconds, operations, or one of them a second); absent when what it
    /// counts never happened.
    pub value: Option<f64>,
    /// The unit it is shown in, for example `MiB/s`.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// The one that decides about repeats.
    pub primary: bool,
    /// The value of each repeat, in base units.
    pub runs: Vec<Option<f64>>,
    /// The number as the report it was imported from shows it.
    pub printed: Option<String>,
}

impl Metric {
    /// Without a value yet.
    pub fn declared(declared: Declared) -> Metric {
        Metric {
            name: declared.name,
            value: None,
            unit: declared.unit,
            better: declared.better,
            primary: declared.primary,
            runs: Vec::new(),
            printed: None,
        }
    }

    /// Takes the values of the repeats; the metric's own is their mean. What is not finite counts
    /// as absent.
    pub(super) fn set_runs(&mut self, runs: Vec<Option<f64>>) {
        self.runs = runs.into_iter().map(|run| run.filter(|v| v.is_finite())).collect();
        self.value = stats::mean(&self.numbers());
        self.printed = None;
    }

    pub(super) fn set_value(&mut self, value: Option<f64>) {
        self.value = value.filter(|v| v.is_finite());
        self.runs.clear();
    }

    pub(super) fn clear(&mut self) {
        (self.value, self.printed) = (None, None);
        self.runs.clear();
    }

    /// The repeats that have a value.
    pub fn numbers(&self) -> Vec<f64> {
        self.runs.iter().flatten().copied().collect()
    }
}

/// What one step did in a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StepResult {
    /// Operations that succeeded.
    pub ops: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Bytes asked for.
    pub requested: u64,
    /// Operations that failed, those expected to included.
    pub errors: u64,
    /// Transfers that came back short and were continued.
    pub short_ios: u64,
    /// Latencies; absent when none were taken.
    pub latency: Option<Sparse>,
}

impl StepResult {
    /// Adds another repeat of the same step.
    pub fn add(&mut self, other: &StepResult) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.requested += other.requested;
        self.errors += other.errors;
        self.short_ios += other.short_ios;
        self.latency = match (&self.latency, &other.latency) {
            (Some(mine), Some(theirs)) => match (mine.histogram(), theirs.histogram()) {
                (Some(mut sum), Some(more)) => {
                    sum.merge(&more);
                    sum.sparse()
                }
                _ => None,
            },
            (mine, theirs) => mine.clone().or_else(|| theirs.clone()),
        };
    }
}

/// What happened in each second of a phase; a stall is a second of zeros.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Series {
    /// Name of the phase.
    pub phase: String,
    /// Operations that ended in each second.
    pub ops: Vec<u64>,
    /// Bytes moved by them.
    pub bytes: Vec<u64>,
    /// 99th percentile of their latencies in ns; null where there were none.
    pub p99_ns: Vec<Option<u64>>,
}

impl Series {
    /// From the intervals of all workers together.
    pub fn of(phase: impl Into<String>, intervals: &[crate::measure::Interval]) -> Series {
        Series {
            phase: phase.into(),
            ops: intervals.iter().map(|i| i.ops).collect(),
            bytes: intervals.iter().map(|i| i.bytes).collect(),
            p99_ns: intervals.iter().map(|i| i.latency.percentile(99.0)).collect(),
        }
    }
}

/// Whether direct I/O was direct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Directness {
    /// Past the page cache.
    Direct,
    /// Through the page cache, as asked.
    Buffered,
    /// Every transfer was made on a descriptor open with the flag for direct I/O; whether the kernel
    /// went past its cache was not looked at.
    Asked,
    /// The flag was accepted and nothing was bypassed.
    Ignored,
    /// It could not be found out.
    Unknown,
}

/// What became of the queues that all workers together have of one engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QueueUse {
    /// Whether files were registered with the kernel.
    pub registered_files: bool,
    /// Whether the memory of transfers was registered with the kernel.
    pub registered_buffers: bool,
    /// Calls that handed transfers to the kernel.
    pub submissions: u64,
    /// Calls and transfers of queues repeated because of EAGAIN, EBUSY or EINTR. What a signal interrupts
    /// outside of queues is repeated and not counted.
    pub retries: u64,
}

/// One engine of a case: what was asked for, what became of it, and what it was used by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EngineUse {
    /// Name of the engine asked for.
    pub asked: String,
    /// Name of the engine used: another one where that could not be had.
    pub used: String,
    /// Transfers in flight of each worker that were asked for.
    pub depth_asked: u32,
    /// Transfers of one worker in flight on average, when one of them was queued; absent without a
    /// queue, or where nothing was queued.
    pub depth: Option<f64>,
    /// Whether direct I/O was asked for: `require`, `prefer` or `never`.
    pub direct_asked: String,
    /// Its queues; absent without any.
    pub queue: Option<QueueUse>,
    /// Phases that it moves all data of, and else steps, as `phase.step` or `phase.label`.
    pub used_by: Vec<String>,
}

/// What was really in force, as far as it could be found out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Effective {
    /// Whether direct I/O was direct.
    pub direct: Option<Directness>,
    /// State of the caches at the start, and why if it is not the one asked for.
    pub cache: Option<String>,
    /// How test files were laid out: `written`, `fallocated`, `holes`.
    pub layout: Option<String>,
    /// The engines that transfers went through.
    pub engine: Option<String>,
    /// Transfers in flight on average, when one of them was queued; of the only engine that has a
    /// queue, absent where several have: `engines` holds each.
    pub depth: Option<f64>,
    /// The queues of the only engine that has any, as `depth`.
    pub queue: Option<QueueUse>,
    /// Each engine of the plan that data is moved by.
    pub engines: Vec<EngineUse>,
    /// Bytes the measured operations read; absent where that is not known, as of a database.
    pub application_read_bytes: Option<u64>,
    /// Bytes the measured operations wrote, as those read.
    pub application_written_bytes: Option<u64>,
    /// Bytes the device read meanwhile.
    pub device_read_bytes: Option<u64>,
    /// Bytes the device wrote meanwhile.
    pub device_written_bytes: Option<u64>,
    /// Share of the time the busiest worker spent on a processor, 0 to 1.
    pub busiest_worker: Option<f64>,
    /// The first request of a recorded load that did not end as it was recorded.
    pub unexpected: Option<String>,
    /// What the kernel could not do, and what was done instead.
    pub fallbacks: Vec<String>,
}

/// Whether a number may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Soundness {
    /// Nothing speaks against it.
    Sound,
    /// At least one check speaks against it.
    Doubtful,
}

impl Soundness {
    /// As written in records and reports.
    pub fn word(self) -> &'static str {
        match self {
            Soundness::Sound => "sound",
            Soundness::Doubtful => "doubtful",
        }
    }
}

/// What the validity checks found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// Whether the row may be believed.
    pub soundness: Soundness,
    /// What each check found.
    pub findings: Vec<Finding>,
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// Name of the check.
    pub check: String,
    /// Whether it makes the row doubtful.
    pub doubt: bool,
    /// The finding in words.
    pub message: String,
}

impl Verdict {
    /// Doubtful as soon as one finding is.
    pub fn of(findings: Vec<Finding>) -> Verdict {
        let doubtful = findings.iter().any(|finding| finding.doubt);
        Verdict { soundness: if doubtful { Soundness::Doubtful } else { Soundness::Sound }, findings }
    }

    /// The messages of what makes it doubtful.
    pub fn doubts(&self) -> String {
        let doubts = self.findings.iter().filter(|finding| finding.doubt);
        doubts.map(|finding| finding.message.as_str()).collect::<Vec<_>>().join("; ")
    }
}

/// One repeat of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RepeatResult {
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// How long it took, layout included, in seconds.
    pub elapsed_s: f64,
    /// Metrics by name, in base units; what never happened is not listed.
    pub values: BTreeMap<String, f64>,
    /// By `phase.step` or `phase.label`.
    pub steps: BTreeMap<String, StepResult>,
    /// What happened in each second, by phase.
    pub series: Vec<Series>,
    /// What was really in force.
    pub effective: Effective,
}

impl RepeatResult {
    /// JSON has no infinity: what is no finite number counts as never happened.
    pub(super) fn drop_what_is_no_number(&mut self) {
        self.values.retain(|_, value| value.is_finite());
        if !self.elapsed_s.is_finite() {
            self.elapsed_s = 0.0;
        }
    }
}
