//! From a bound case to a plan: what will happen, with nothing left to decide.

pub mod instr;
pub mod lower;
