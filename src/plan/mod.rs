//! From a bound case to a plan: what will happen, with nothing left to decide. Also what can be
//! told of a plan without running it: its listing, its needs, its identity.

pub mod args;
pub mod dataset;
pub mod grow;
pub mod hash;
pub mod instr;
mod level;
pub mod listing;
pub mod lower;
pub mod moments;
pub mod needs;
mod needs_process;
mod needs_text;
pub mod preflight;
pub mod reading;
pub mod sets;
#[cfg(test)]
mod sketch;
pub mod sql;
pub mod stream;
mod tree_needs;
mod walk;
mod words;
