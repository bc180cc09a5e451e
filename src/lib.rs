//! ioscore: storage tests as data.
//!
//! A YAML *profile* describes a test, a compiler turns it into a plan, and one generic
//! interpreter runs it. The rooms and their one-way doors are described in `ARCHITECTURE.md`.

pub mod cli;
pub mod import;
pub mod judge;
pub mod measure;
pub mod ops;
pub mod os;
pub mod plan;
pub mod profile;
pub mod record;
pub mod report;
pub mod run;
pub mod stats;
pub mod system;
pub mod vm;
