//! Our profiles against the programs they follow: the same system calls, call by call. One file a
//! program; `everywhere` runs all of them once more on each kind of file system.

#[path = "../common/mod.rs"]
mod common;

mod compilebench;
mod dbench;
mod dd;
mod everywhere;
mod fio;
mod fs_mark;
mod postmark;
mod sqlite;
