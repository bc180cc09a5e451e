//! See ARCHITECTURE.md.

pub mod dd;
pub mod dd_record;
