//! `schema`: the JSON Schemas.

use super::output::{Outcome, data};
use crate::profile::language::What;
use crate::profile::schema::schema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    Profile,
    Suite,
    Record,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Kind of file
    #[arg(value_enum)]
    kind: Kind,
}

/// Carries out `schema`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let verbs = crate::ops::verbs();
    let pretty = |what| serde_json::to_string_pretty(&schema(what, verbs)).unwrap_or_default() + "\n";
    data(match args.kind {
        Kind::Profile => pretty(What::Profile),
        Kind::Suite => pretty(What::Suite),
        Kind::Record => crate::record::SCHEMA.to_string(),
    })?;
    Ok(0)
}
