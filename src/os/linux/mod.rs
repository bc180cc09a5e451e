//! Linux: system calls, the run directory, the clock. The only place with `unsafe`.

pub(crate) mod calls;
pub mod clock;
pub(crate) mod data;
pub mod engine;
pub mod engines;
pub mod limits;
pub mod marker;
pub mod memory;
pub mod probe;
pub mod removal;
pub mod resolve;
pub mod rundir;
pub mod sqlite;
#[cfg(test)]
pub mod testing;
pub mod worker;

pub use clock::{Clock, Drift};
pub use limits::{ignore_file_size_signal, is_root, raise_descriptor_limit};
pub use removal::Left;
pub use rundir::{Cleaned, CleanedState, RunDir, clean};
pub use worker::{Context, Linux};
