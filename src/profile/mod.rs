//! What the user wrote: loading, places, units, expressions, parameters, cases, suites.

pub mod diagnostic;
pub mod distribution;
pub mod names;
pub mod node;
pub mod shape;
pub mod template;
pub mod units;
mod yaml;
