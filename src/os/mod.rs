//! The machine: a trait, its Linux and its simulated form.

pub mod errno;
pub mod linux;
pub mod machine;
pub mod sim;

pub use machine::*;
