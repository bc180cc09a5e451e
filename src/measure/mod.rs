//! Measuring: histograms of latencies and what happened in each second.

pub mod histogram;
pub mod series;

pub use histogram::{Histogram, Sparse};
pub use series::{Interval, Intervals};
