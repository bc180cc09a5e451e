//! The exactness harness: run a program, see every system call it makes, compare it with another's.
//!
//! - `tools` finds the original programs and says loudly when one is missing;
//! - `strace` runs a program under strace and parses the log;
//! - `calls` brings calls to equivalence classes and counts them;
//! - `select` decides which calls of a trace count;
//! - `places` makes fresh file systems of every kind;
//! - `ours` runs the program under test, `pipeline` its inside on the simulation.
//!
//! It knows nothing of profiles, plans or the interpreter.

// Every test binary compiles this module and uses its own part of it.
#![allow(dead_code, unused_imports)]

pub mod calls;
pub mod cases;
pub mod ours;
pub mod pipeline;
pub mod places;
pub mod select;
pub mod strace;
pub mod tools;

pub use calls::{Multiset, assert_same};
pub use select::Window;
pub use strace::{Run, Trace};
pub use tools::{need, scratch, skip};
