//! The compiler: a bound case becomes a plan. Gives every mistake it finds, each with its place.

mod args;
mod case;
mod context;
mod flow;
mod limits;
mod loops;
mod phases;
mod quantiles;
mod sets;
mod sql;
mod statements;
mod values;

pub use case::lower;
