//! Statistics over repeated runs: descriptions, intervals, tests, and when to stop repeating.

pub mod compare;
pub mod describe;
pub mod distribution;
pub mod repeat;

pub use compare::{Test, mann_whitney, welch};
pub use describe::{Summary, geometric_mean, mean, median, sample_sd};
pub use repeat::{Decision, Rule, Why, decide};
