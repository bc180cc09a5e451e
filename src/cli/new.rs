//! `new`: files to start from.

use super::output::{Failure, Outcome, data};
use crate::profile::names::{is_id, to_id};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Profile,
    Suite,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kind of file
    #[arg(value_enum)]
    kind: Kind,
    /// Its id: lower-case words joined by dashes; save it as NAME.yaml
    name: String,
}

const PROFILE: &str = include_str!("new_profile.yaml");
const SUITE: &str = include_str!("new_suite.yaml");

/// Carries out `new`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    if !is_id(&args.name) {
        let near = to_id(&args.name);
        let help = if near.is_empty() { String::new() } else { format!("; did you mean {near}?") };
        return Err(Failure::wrong(format!(
            "{:?} is no id: use lower-case words of letters and digits joined by single dashes{help}",
            args.name
        )));
    }
    let text = if args.kind == Kind::Profile { PROFILE } else { SUITE };
    data(text.replace("my-test", &args.name))?;
    Ok(0)
}
