//! The record: what a run leaves behind, how it is stored, and what is kept out of it.

pub mod json;
pub mod model;
pub mod result;
pub mod row;
#[cfg(test)]
pub mod sample;
#[cfg(test)]
mod schema_test;
pub mod scrub;
pub mod store;
pub mod unit;

pub use model::{Record, Run, RunState, SCHEMA, SCHEMA_VERSION, SuiteRef, now};
pub use result::{
    Better, Directness, Effective, EngineUse, Finding, Metric, QueueUse, RepeatResult, Series, Soundness,
    StepResult, Verdict,
};
pub use row::{Case, Declared, Engine, Measured, NoResult, Reason, Reproduces, Row, Status};
pub use scrub::{Identity, Scrubber};
pub use store::{Store, StoreError};
