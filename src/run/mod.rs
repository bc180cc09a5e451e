//! Running cases, suites and whole sessions, and turning what was counted into numbers.

pub mod case;
pub mod numbers;
pub mod progress;
pub mod reason;
pub mod stop;
mod tally;
