//! The operation table: one row an operation, one file a family.

pub mod at_random;
pub mod attributes;
pub mod data;
pub mod durability;
pub mod files;
pub mod flow;
pub mod names;
pub mod replay;
pub mod row;
pub mod space;
pub mod sql;
pub mod stdio;
pub mod table;
pub mod trees;

pub use table::{Exec, Linked, link, rows, table, verbs};
