//! Our profiles against the programs they follow: the same system calls, call by call. One file a
//! program; `everywhere` runs all of them once more on each kind of file system; `page` holds
//! docs/fidelity.md to what they and the benchmark of the same name compare.

#[path = "../common/mod.rs"]
mod common;

mod compilebench;
mod dbench;
mod dbench_whole;
mod dd;
mod everywhere;
mod fio;
mod fs_mark;
mod page;
mod postmark;
#[path = "../../benches/fidelity/report.rs"]
#[allow(dead_code)]
mod report;
#[path = "../../benches/fidelity/rows.rs"]
#[allow(dead_code)]
mod rows;
mod sqlite;
#[path = "../../benches/support/mod.rs"]
mod support;

// The benchmark's modules find it here, as they do there.
use common::places;
