//! What the user wrote: loading, places, units, expressions, parameters, cases, suites.

pub mod diagnostic;
pub mod node;
pub mod shape;
