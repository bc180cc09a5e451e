//! The machine: a trait, its Linux and its simulated form.

pub mod errno;
pub mod linux;
pub mod machine;
pub mod path;
pub mod sim;
#[cfg(test)]
pub mod skipped;
pub mod sql_error;

#[cfg(test)]
mod tests;

pub use linux::memory::Aligned;
pub use machine::*;
