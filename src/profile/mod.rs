//! What the user wrote: loading, places, units, expressions, parameters, cases, suites.

pub mod check;
mod check_steps;
pub mod decode;
pub mod diagnostic;
pub mod language;
mod literal;
pub mod load;
pub mod locate;
pub mod names;
pub mod node;
mod raw;
pub mod reference;
pub mod render;
pub mod schema;
pub mod shape;
pub mod source;
mod syntax;
pub mod template;
pub mod units;
