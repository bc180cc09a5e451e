//! What the user wrote: loading, places, units, expressions, parameters, cases, suites.

mod body;
mod calculator;
pub mod case;
mod clashes;
pub mod definition;
pub mod diagnostic;
pub mod distribution;
pub mod expression;
pub mod names;
pub mod node;
pub mod params;

pub mod results;
pub mod shape;
pub mod suite;
pub mod template;
pub mod units;
mod yaml;
