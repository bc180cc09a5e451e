//! What the benchmarks share: counting instructions, comparing two commands in pairs, reading
//! what they report.
//!
//! Knows nothing of which commands are measured; `tests/bench_support.rs` tests it.

// Each benchmark compiles this module and uses its own part of it.
#![allow(dead_code)]

pub mod callgrind;
pub mod paired;
pub mod readings;
