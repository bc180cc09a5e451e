//! The interpreter: programs, thread state, pools, buffers, random streams, pacing. It knows
//! instructions and machines, neither YAML nor reports.

pub mod buffers;
pub mod claims;
mod counting;
pub mod direct;
pub mod draw;
mod ends;
mod engines;
pub mod fault;
pub mod flight;
pub mod hand;
pub mod interp;
pub mod layout;
pub mod mt19937;
pub mod names;
mod paths;
pub mod pool;
pub mod queue;
pub mod random;
pub mod replay;
pub mod shared;
pub mod stat;
pub mod stdio;
mod taking;
pub mod team;
mod together;
mod tree_order;
mod tree_walk;
mod tree_write;
pub mod trees;
pub mod worker;
