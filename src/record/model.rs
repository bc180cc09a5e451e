//! The record of one run on one target. Plain data; knows nothing of how it came about.

use serde::{Deserialize, Serialize};

use super::row::{Case, Row};
use crate::system::{System, Target};

/// Version of the stored form. It rises when a field gets another meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema of the stored form.
pub const SCHEMA: &str = include_str!("../../schema/record.schema.json");

/// One run on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Record {
    /// Version of this form.
    pub schema_version: u32,
    /// The run itself.
    pub run: Run,
    /// The machine it ran on.
    pub system: System,
    /// Where it took place.
    pub target: Target,
    /// One per planned case, in the order of the suite.
    pub rows: Vec<Row>,
}

/// The run itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Run {
    /// Name of the run's directory.
    pub name: String,
    /// One line for people.
    pub title: Option<String>,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// When it ended; absent while it has not.
    pub finished: Option<String>,
    /// Local time minus UTC where it ran, for example `+02:00`.
    pub utc_offset: Option<String>,
    /// Version of the program that ran it.
    pub tool_version: String,
    /// The command line, without what identifies a person or machine.
    pub command_line: Vec<String>,
    /// The suite its cases come from; absent without one.
    pub suite: Option<SuiteRef>,
    /// Seed of all random streams.
    pub seed: u64,
    /// How cases were repeated, as the suite says it.
    pub repeats: Option<String>,
    /// The kind of file it was imported from; absent for a run of our own.
    pub imported_from: Option<String>,
    /// How far it got.
    pub state: RunState,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum RunState {
    /// Every planned case has its outcome.
    Complete,
    /// Ended by the user or a signal.
    Interrupted,
    /// Still running, or died.
    #[default]
    Incomplete,
}

/// Which suite was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SuiteRef {
    /// The name it is found by.
    pub id: String,
    /// One line for people.
    pub title: Option<String>,
    /// Hash of its content and of the profiles it names.
    pub hash: String,
}

impl Record {
    /// The record before the first case: every planned case is there, none has started.
    pub fn planned(run: Run, system: System, target: Target, cases: Vec<Case>) -> Record {
        let rows = cases.into_iter().map(Row::planned).collect();
        Record { schema_version: SCHEMA_VERSION, run, system, target, rows }
    }
}

/// The time now as a record states it: RFC 3339, UTC, whole seconds.
pub fn now() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
