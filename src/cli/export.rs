//! `export`: stored results in another format.

use std::path::PathBuf;

use super::compare::load;
use super::output::{Failure, Outcome, data_to};
use crate::report::{csv, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    Csv,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Shape {
    /// A line per run, case and metric
    Long,
    /// A line per case and metric, a column a run
    Wide,
    /// A line per single repeat
    Raw,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Dialect {
    Rfc4180,
    Excel,
    ExcelEu,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Format
    #[arg(value_enum)]
    format: Format,
    /// Results: record files, run directories or names of runs
    #[arg(required = true, value_name = "RESULT")]
    results: Vec<String>,
    /// File to write; without it the standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What a line of the CSV is
    #[arg(long, value_enum, default_value_t = Shape::Long)]
    shape: Shape,
    /// How cells of the CSV are written
    #[arg(long, value_enum, default_value_t = Dialect::Rfc4180)]
    dialect: Dialect,
    /// Leaves text cells as they are, also those a spreadsheet would take for a formula
    #[arg(long)]
    verbatim: bool,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

/// Carries out `export`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let records = load(&args.out, &args.results)?;
    let bytes = match args.format {
        Format::Csv => csv::write(&records, options(args)).map_err(|error| error.to_string()),
        Format::Json => json::write(&records).map_err(|error| error.to_string()),
    };
    let bytes = bytes.map_err(|error| Failure::target(format!("writing: {error}")))?;
    data_to(args.output.as_deref(), &bytes)?;
    Ok(0)
}

fn options(args: &Args) -> csv::Options {
    csv::Options {
        shape: match args.shape {
            Shape::Long => csv::Shape::Long,
            Shape::Wide => csv::Shape::Wide,
            Shape::Raw => csv::Shape::Raw,
        },
        dialect: match args.dialect {
            Dialect::Rfc4180 => csv::Dialect::Rfc4180,
            Dialect::Excel => csv::Dialect::Excel,
            Dialect::ExcelEu => csv::Dialect::ExcelEu,
        },
        verbatim: args.verbatim,
    }
}
