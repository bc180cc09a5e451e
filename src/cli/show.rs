//! `show`: one profile, suite or result.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::output::{Failure, Outcome, data, width};
use super::plan;
use crate::profile::definition::Profile;
use crate::profile::library::{Found, Library};
use crate::profile::suite::{Request, Suite};
use crate::record::{Record, store};
use crate::report::terminal;
use crate::run::target;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// A profile or suite (file or id), or a result (record file, run directory or name)
    #[arg(value_name = "PROFILE|SUITE|RESULT")]
    what: String,
    /// Prints a result as it would be shared: the whole record, without what identifies anybody
    #[arg(long)]
    shared: bool,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

/// Carries out `show`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let is_record = Path::new(&args.what).extension().is_some_and(|ext| ext == "json");
    if is_record || args.shared || store::find(&args.out, &args.what).is_ok_and(|_| !is_yaml(&args.what)) {
        let record = store::load(&store::find(&args.out, &args.what)?)?;
        return match args.shared {
            true => shared(record),
            false => data(result(&record)).map(|()| 0),
        };
    }
    let library = plan::library();
    let (found, _) = library.open(&args.what).map_err(|problems| Failure::found(&problems, &library))?;
    match found {
        Found::Profile(profile) => data(profile_text(&library, &profile))?,
        Found::Suite(suite) => data(suite_text(&library, &suite))?,
    }
    Ok(0)
}

fn is_yaml(what: &str) -> bool {
    what.ends_with(".yaml") || what.ends_with(".yml")
}

fn shared(mut record: Record) -> Outcome {
    crate::record::Scrubber::of_this_machine().record(&mut record);
    let bytes = crate::record::json::write(&record)
        .map_err(|error| Failure::target(format!("writing JSON: {error}")))?;
    data(bytes).map(|()| 0)
}

fn result(record: &Record) -> String {
    let run = &record.run;
    let mut out = format!("{}  {}  seed {}\n", run.name, run.started, run.seed);
    if let Some(title) = &run.title {
        let _ = writeln!(out, "{title}");
    }
    let system = &record.system;
    let facts = [&system.processor, &system.kernel, &system.distribution];
    let facts: Vec<&str> = facts.into_iter().flatten().map(String::as_str).collect();
    let _ = writeln!(out, "system: {}", facts.join(", "));
    let target = &record.target;
    let _ = writeln!(out, "target: {}, {}\n", target.name, target.stack.as_deref().unwrap_or("unknown"));
    out.push_str(&terminal::table(record, width()));
    out
}

fn profile_text(library: &Library, profile: &Profile) -> String {
    let mut out = format!("{} {}  {}\n", profile.id, profile.version, profile.title);
    for text in [&profile.summary, &profile.description].into_iter().flatten() {
        let _ = writeln!(out, "{text}");
    }
    if let Some(original) = &profile.reproduces {
        let with =
            original.comparable_with.as_ref().map(|w| format!(", comparable with {w}")).unwrap_or_default();
        let _ = writeln!(out, "follows {} {}{with}", original.tool, original.version);
    }
    let _ = writeln!(out, "\nparameters");
    for decl in &profile.params.decls {
        let default = decl.default.as_ref().map_or("must be given".into(), |node| node.value.to_string());
        let help = decl.help.as_ref().map(|help| format!("  {help}")).unwrap_or_default();
        let _ = writeln!(out, "  {} = {default}{help}", decl.name);
    }
    if !profile.presets.is_empty() {
        let _ = writeln!(out, "\npresets");
        for (name, node) in &profile.presets {
            let _ = writeln!(out, "  {name}: {}", node.value);
        }
    }
    let _ = writeln!(out, "\ncases");
    let suite = Suite::of_profile(&profile.id, Vec::new(), profile.node.clone());
    out.push_str(&cases(library, &suite, profile));
    out
}

/// One line a case, with stand-ins for what must be given.
fn cases(library: &Library, suite: &Suite, profile: &Profile) -> String {
    let open = profile.params.decls.iter().filter(|decl| decl.default.is_none());
    let sets = open.map(|decl| (decl.name.clone(), decl.stand_in().to_string())).collect();
    let request = Request { sets, ..Request::default() };
    match suite.plan(library, library.verbs(), &request, &target::facts(None)) {
        Ok((cases, _)) => {
            cases.iter().map(|case| format!("  {:<28} {}\n", case.bound.case_id, case.bound.title)).collect()
        }
        Err(problems) => format!("  {} mistakes; see `ioscore check`\n", problems.len()),
    }
}

fn suite_text(library: &Library, suite: &Suite) -> String {
    let mut out = format!("{}  {}\n", suite.id, suite.title);
    for text in [&suite.summary, &suite.description].into_iter().flatten() {
        let _ = writeln!(out, "{text}");
    }
    if !suite.presets.is_empty() {
        let names: Vec<&str> = suite.presets.iter().map(|preset| preset.name.as_str()).collect();
        let _ = writeln!(out, "\npresets: {}", names.join(", "));
    }
    let _ = writeln!(out, "\ncases");
    match suite.plan(library, library.verbs(), &Request::default(), &target::facts(None)) {
        Ok((cases, _)) => {
            for case in &cases {
                let id = format!("{}:{}", case.bound.profile_id, case.bound.case_id);
                let _ = writeln!(out, "  {id:<40} {}", case.bound.title);
            }
        }
        Err(problems) => {
            let _ = writeln!(out, "  {} mistakes; see `ioscore check`", problems.len());
        }
    }
    out
}
