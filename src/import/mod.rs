//! One file a format that other programs write: loads to be performed, lists of files, reports to
//! be compared with.

pub mod dd;
pub mod dd_record;
pub mod list;
pub mod loadfile;
