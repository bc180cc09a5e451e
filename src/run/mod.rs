//! Running cases, suites and whole sessions, and turning what was counted into numbers.

pub mod numbers;
mod tally;
