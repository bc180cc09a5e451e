//! `check`: every mistake of profiles and suites, with its place.

use super::output::{EXIT_WRONG, Outcome, data, say};
use super::plan;
use crate::profile::case::each_once;
use crate::profile::diagnostic::{Diagnostic, Severity};
use crate::profile::library::{Found, Library};
use crate::profile::params::ParamType;
use crate::profile::render::{render, render_lines};
use crate::profile::suite::{PlannedCase, Request, Runs, Suite};
use crate::run::{prepare, target};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of profiles or suites, or ids of those that come with the program
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// One line a mistake, for editors and other programs
    #[arg(long)]
    lines: bool,
    /// Says nothing of files without mistakes
    #[arg(long, short)]
    quiet: bool,
}

/// Carries out `check`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let mut wrong = false;
    for file in &args.files {
        let library = plan::library();
        let mut found = problems(&library, file);
        found.extend(library.take_warnings());
        let found = each_once(found);
        let bad = found.iter().any(|found| found.severity == Severity::Error);
        wrong |= bad;
        if args.lines {
            data(render_lines(&found, &library.sources()))?;
        } else if !found.is_empty() {
            say(render(&found, &library.sources(), true).trim_end());
        }
        if !bad && !args.quiet && !args.lines {
            data(format!("{file}: ok\n"))?;
        }
    }
    Ok(if wrong { EXIT_WRONG } else { 0 })
}

fn problems(library: &Library, file: &str) -> Vec<Diagnostic> {
    let facts = target::facts(None);
    match library.open(file) {
        Err(problems) => problems,
        Ok((Found::Suite(suite), _)) => compiled(library, &suite, Vec::new()),
        Ok((Found::Profile(profile), _)) => {
            let problems = profile.check(&facts);
            if problems.iter().any(|found| found.severity == Severity::Error) {
                return problems;
            }
            // With stand-ins for what only the user can give, every case must compile, alone and
            // with each preset.
            let sets = |profile: &crate::profile::definition::Profile| -> Vec<(String, String)> {
                let open = profile.params.decls.iter().filter(|decl| decl.default.is_none());
                open.map(|decl| (decl.name.clone(), decl.stand_in().to_string())).collect()
            };
            let sets = sets(&profile);
            let suite = Suite::of_profile(&profile.id, Vec::new(), profile.node.clone());
            let mut found = problems;
            for preset in std::iter::once(None).chain(profile.presets.iter().map(|(name, _)| Some(name))) {
                let request = Request {
                    presets: preset.into_iter().cloned().collect(),
                    sets: sets.clone(),
                    runs: Some(Runs::exactly(1)),
                    ..Request::default()
                };
                found.extend(planned(library, &suite, &request));
            }
            if profile
                .params
                .decls
                .iter()
                .any(|decl| decl.default.is_none() && decl.types.contains(&ParamType::File))
            {
                // The file that stands in for the user's is not there.
                found.retain(|problem| problem.code != "unreadable-file");
            }
            found
        }
    }
}

fn compiled(library: &Library, suite: &Suite, sets: Vec<(String, String)>) -> Vec<Diagnostic> {
    let alone = std::iter::once(Request { sets: sets.clone(), ..Request::default() });
    let presets = suite.presets.iter().map(|preset| Request {
        presets: vec![preset.name.clone()],
        sets: sets.clone(),
        ..Request::default()
    });
    alone.chain(presets).flat_map(|request| planned(library, suite, &request)).collect()
}

fn planned(library: &Library, suite: &Suite, request: &Request) -> Vec<Diagnostic> {
    match suite.plan(library, library.verbs(), request, &target::facts(None)) {
        Err(problems) => problems,
        Ok((cases, notes)) => {
            let mut found: Vec<Diagnostic> = notes
                .into_iter()
                .filter(|note| note.severity > Severity::Note && note.code != "same-cases")
                .collect();
            found.extend(cases.into_iter().flat_map(mistakes));
            found
        }
    }
}

fn mistakes(case: PlannedCase) -> Vec<Diagnostic> {
    match prepare::one(case) {
        Ok(case) => case.plan.err().unwrap_or_default(),
        Err(problems) => problems,
    }
}
