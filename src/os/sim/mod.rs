//! The simulation: a file system in memory, a virtual clock, scripted faults.

mod calls;
pub(crate) mod content;
pub mod disk;
pub(crate) mod files;
pub mod latency;
pub(crate) mod names;
pub mod script;
pub mod shared;
pub mod trace;
mod transfer;
pub mod worker;

pub use content::Extent;
pub use latency::Latency;
pub use script::{Direct, Effect, Op, Rule, Script, When};
pub use shared::{Options, SimFs};
pub use trace::Event;
pub use worker::Sim;
