//! The command line: one file a subcommand. Each parses, calls, prints, and gives an exit code.

mod app;
mod check;
mod clean;
mod compare;
mod explain;
mod export;
mod import;
mod list;
mod new;
mod output;
mod packaging;
mod plan;
mod run;
mod schema;
mod show;
mod system;
mod trace;

pub use app::main;
