//! The compiler: a bound case becomes a plan. Gives every mistake it finds, each with its place.

mod args;
mod case;
mod context;
mod flow;
mod limits;
mod loops;
mod phases;
mod quantiles;
pub mod replay;
mod sets;
mod sql;
mod statements;
mod trees;
mod values;

pub use case::lower;
