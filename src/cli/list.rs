//! `list`: what there is.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::output::{Outcome, data, say_found};
use super::plan;
use crate::profile::embedded;
use crate::profile::library::Found;
use crate::record::{Record, RunState, Status, store};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum What {
    Profiles,
    Suites,
    Results,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Which; without it profiles and suites
    #[arg(value_enum)]
    what: Option<What>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

/// Carries out `list`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    match args.what {
        Some(What::Results) => data(results(args))?,
        what => {
            let wanted = |kind| what.is_none_or(|what| what == kind);
            if wanted(What::Profiles) {
                data(files(embedded::PROFILES))?;
            }
            if wanted(What::Suites) {
                data(files(embedded::SUITES))?;
            }
        }
    }
    Ok(0)
}

/// One line a file: id, number of cases or tests, title.
fn files(files: &[embedded::File]) -> String {
    let mut out = String::new();
    for (id, _) in files {
        let library = plan::library();
        let _ = match library.open(id) {
            Ok((Found::Profile(profile), _)) => {
                let summary = profile.summary.as_ref().unwrap_or(&profile.title);
                writeln!(out, "{id:<20} {}  {summary}", profile.version)
            }
            Ok((Found::Suite(suite), _)) => {
                writeln!(out, "{id:<20} suite  {}", suite.summary.as_ref().unwrap_or(&suite.title))
            }
            Err(problems) => {
                say_found(&problems, &library);
                Ok(())
            }
        };
    }
    out
}

/// One line a run.
fn results(args: &Args) -> String {
    let line = |(name, record): (String, Result<Record, _>)| match record {
        Ok(record) => {
            let count = |status| record.rows.iter().filter(|row| row.status() == status).count();
            let state = match record.run.state {
                RunState::Complete => "complete",
                RunState::Interrupted => "interrupted",
                RunState::Incomplete => "incomplete",
            };
            let (ok, all) = (count(Status::Ok), record.rows.len());
            format!(
                "{name:<40} {}  {state}, {ok} of {all} ok, on {}\n",
                record.run.started, record.target.name
            )
        }
        Err(error) => format!("{name:<40} {error}\n"),
    };
    store::list(&args.out).into_iter().map(line).collect()
}
