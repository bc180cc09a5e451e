//! `compare`: stored results side by side.

use std::path::PathBuf;

use super::output::{Failure, Outcome, data, width};
use crate::record::{Record, store};
use crate::report::side_by_side;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Results: record files, run directories or names of runs
    #[arg(required = true, num_args = 2.., value_name = "RESULT")]
    results: Vec<String>,
    /// The result the others are held against; without it the first
    #[arg(long, value_name = "RESULT")]
    baseline: Option<String>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

/// Carries out `compare`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let mut names = args.results.clone();
    if let Some(baseline) = &args.baseline {
        names.retain(|name| name != baseline);
        names.insert(0, baseline.clone());
    }
    let records = load(&args.out, &names)?;
    let compared = side_by_side::compare(&records);
    data(compared.table(width()))?;
    Ok(0)
}

/// The records of several results.
pub fn load(results: &std::path::Path, names: &[String]) -> Result<Vec<Record>, Failure> {
    names.iter().map(|name| Ok(store::load(&store::find(results, name)?)?)).collect()
}
