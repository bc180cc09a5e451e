//! The description of the machine and of a target: what `/proc` and `/sys` say.

pub mod files;
#[cfg(test)]
pub mod fixture;
pub mod machine;
pub mod model;
pub mod mounts;
pub mod stack;
pub mod target;

pub use model::{Clock, Device, FileSystem, Listed, Space, System, Target};
