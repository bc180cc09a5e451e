//! From arguments to planned cases, as `run`, `explain` and others need them.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::output::{Failure, say_found};
use crate::profile::expression::Facts;
use crate::profile::library::Library;
use crate::profile::names::to_id;
use crate::profile::suite::{Request, Runs, Suite};
use crate::record::{Record, store};
use crate::run::prepare::{self, Prepared};

/// Options that choose values and cases.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Values {
    /// Overlays of the profile or suite, from left to right
    #[arg(long, value_name = "NAME")]
    pub preset: Vec<String>,
    /// Gives a parameter a value; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Takes only cases that match, as `case` or `profile:case`; `*` stands for anything
    #[arg(long, value_name = "GLOB")]
    pub cases: Vec<String>,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_string(), value.to_string())),
        _ => Err(format!("{text:?} sets nothing: write name=value, for example size=4KiB")),
    }
}

impl Values {
    /// What the command line adds to the suite; `runs` has the last word.
    pub fn request(&self, runs: Option<Runs>) -> Request {
        Request { cases: self.cases.clone(), presets: self.preset.clone(), sets: self.set.clone(), runs }
    }
}

/// An empty library with the verbs of the language.
pub fn library() -> Library {
    Library::new(crate::ops::verbs())
}

/// One suite of all arguments; or the rows of a stored result again, where a single argument names one
/// (a record file, a run directory, or a name under `results`).
pub fn suite(library: &Library, what: &[String], results: &Path) -> Result<Suite, Failure> {
    if let [one] = what
        && library.open(one).is_err()
        && let Ok(file) = store::find(results, one)
        && !matches!(file.extension().and_then(|e| e.to_str()), Some("yaml" | "yml"))
    {
        return again(library, &store::load(&file)?);
    }
    library.suite_of(what).map_err(|problems| Failure::found(&problems, library))
}

/// The rows of a record as a suite, with the values they had.
fn again(library: &Library, record: &Record) -> Result<Suite, Failure> {
    let name = &record.run.name;
    if let Some(kind) = &record.run.imported_from {
        return Err(Failure::wrong(format!(
            "{name} was imported ({kind}): it says nothing that could be run again"
        )));
    }
    let tests: Vec<Json> = record
        .rows
        .iter()
        .map(|row| json!({"profile": row.profile, "cases": [row.case], "with": row.params}))
        .collect();
    let id = record.run.suite.as_ref().map_or("again", |suite| suite.id.as_str());
    let title = record.run.title.as_deref().unwrap_or(name);
    // JSON is YAML as well.
    let text = json!({"suite": to_id(id), "title": title, "tests": tests}).to_string();
    library.add_suite(name, &text).map_err(|problems| Failure::found(&problems, library))
}

/// Every case with its plan, for the facts of one target. Warnings are shown where `tell` says so.
pub fn cases(
    library: &Library,
    suite: &Suite,
    request: &Request,
    facts: &Facts,
    tell: bool,
) -> Result<Vec<Prepared>, Failure> {
    let planned = suite.plan(library, library.verbs(), request, facts);
    let (planned, mut notes) = planned.map_err(|problems| Failure::found(&problems, library))?;
    let prepared = prepare::prepare(planned).map_err(|problems| Failure::found(&problems, library))?;
    let mut warnings = library.take_warnings();
    if tell {
        warnings.append(&mut notes);
        say_found(&warnings, library);
    }
    Ok(prepared)
}
