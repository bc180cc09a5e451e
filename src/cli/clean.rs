//! `clean`: removes what runs that died left behind, and nothing else.

use std::path::PathBuf;

use super::output::{EXIT_FAILED, Failure, Outcome, data};
use crate::os::linux::{CleanedState, clean};
use crate::run::reason::of_target;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// The target of the runs
    path: PathBuf,
}

/// Carries out `clean`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let shown = args.path.display();
    let cleaned = clean(&args.path)
        .map_err(|error| Failure::target(format!("target {shown}: {}", of_target(&error))))?;
    let mut failed = false;
    let mut out = String::new();
    for one in &cleaned {
        let what = match one.state {
            CleanedState::Removed => "removed".to_string(),
            CleanedState::StillRunning => "left alone: its run is alive".to_string(),
            CleanedState::Kept => "left alone: kept on purpose; remove it by hand".to_string(),
            CleanedState::NotOurs => "left alone: it is not marked as ours".to_string(),
            CleanedState::Failed(errno) => {
                failed = true;
                let first = one.left.first().map(|left| format!(" at {}", left.path)).unwrap_or_default();
                format!("could not be removed{first}: {errno}")
            }
        };
        out.push_str(&format!("{}: {what}\n", one.name));
    }
    if cleaned.is_empty() {
        out.push_str(&format!("nothing left behind in {shown}\n"));
    }
    data(out)?;
    Ok(if failed { EXIT_FAILED } else { 0 })
}
