//! Running cases, suites and whole sessions, and turning what was counted into numbers.

pub mod case;
mod effective;
mod engines;
pub mod numbers;
pub mod overhead;
pub mod preflight;
pub mod prepare;
pub mod progress;
pub mod reason;
mod repeats;
pub mod session;
pub mod stop;
mod tally;
pub mod target;
