//! `explain`: parameters, plan, needs and first operations of every case.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::output::{Failure, Outcome, data};
use super::plan::{self, Values};
use super::trace;
use crate::os::linux::raise_descriptor_limit;
use crate::plan::listing::listing;
use crate::plan::needs;
use crate::run::prepare::{self, Prepared, case_number};
use crate::run::target::{self, Place};
use crate::run::{numbers, preflight};
use crate::vm::random::StreamKey;

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profiles or suites, as `run` takes them
    #[arg(required = true, value_name = "SUITE|PROFILE[:CASE]")]
    what: Vec<String>,
    /// Directory whose room and blocks are taken into account
    #[arg(long, value_name = "[NAME=]PATH")]
    target: Option<String>,
    #[command(flatten)]
    values: Values,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Shows the first N operations as they would be issued
    #[arg(long, value_name = "N")]
    trace: Option<usize>,
    /// Seed of the operations that are shown
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

/// Carries out `explain`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let library = plan::library();
    let suite = plan::suite(&library, &args.what, &args.out)?;
    let place = match &args.target {
        Some(argument) => {
            let (name, path) = target::parse(argument);
            Some(target::look(name.as_deref(), Path::new(&path), false).map_err(Failure::target)?)
        }
        None => None,
    };
    let facts = place.as_ref().map_or_else(|| target::facts(None), |place| place.facts);
    let cases = plan::cases(&library, &suite, &args.values.request(None), &facts, true)?;
    let mut first = true;
    for case in &cases {
        if !std::mem::take(&mut first) {
            data("\n")?;
        }
        data(text(case, place.as_ref(), args))?;
    }
    Ok(0)
}

fn text(case: &Prepared, place: Option<&Place>, args: &Args) -> String {
    let bound = &case.bound;
    let mut out = String::new();
    let _ = writeln!(out, "{}:{}  {}", bound.profile_id, bound.case_id, bound.title);
    let _ = writeln!(out, "\nparameters");
    for param in &bound.params {
        let changed = if param.changed { "  (changed)" } else { "" };
        let _ = writeln!(out, "  {} = {}{changed}", param.name, param.value);
    }
    for (name, value) in &bound.facts_used {
        let _ = writeln!(out, "  {name} = {value}  (of this machine)");
    }
    let plan = match &case.plan {
        Ok(plan) => plan,
        Err(why) => {
            let reason = prepare::unusable(why);
            let help = reason.what_to_do.map(|help| format!("; {help}")).unwrap_or_default();
            let _ = writeln!(out, "\nit cannot be run: {}{help}", reason.message);
            return out;
        }
    };
    let _ = write!(out, "\nplan {}\n{}", case.about.plan_hash, indented(&listing(plan)));
    let _ = write!(out, "\nneeds\n{}", indented(&needs::text(&needs::needs(plan))));
    if let Some(place) = place {
        let judged = preflight::check(std::slice::from_ref(case), place, descriptors(), false, &[]);
        let refused = judged.into_iter().find_map(|judged| judged.refused);
        let text = refused.map_or("it has all of it".into(), |(_, reason)| {
            format!("{}; {}", reason.line(), reason.what_to_do.unwrap_or_default())
        });
        let _ = writeln!(out, "  target {}: {text}", place.about.name);
    }
    let _ = writeln!(out, "\nresults");
    for spec in &case.specs {
        let _ = writeln!(out, "  {} = {} {}", spec.name, spec.value.value, spec.unit);
    }
    let _ = writeln!(out, "\nnumbers");
    out.push_str(&numbers_text(&numbers::known(plan)));
    if let Some(count) = args.trace {
        let seed = plan.random.seed.unwrap_or(args.seed);
        let key = StreamKey { seed, case: case_number(bound), repeat: 0, worker: 0 };
        let _ = write!(out, "\ntrace\n{}", trace::text(plan, key, count));
    }
    out
}

/// The limit of open files that a run would have.
fn descriptors() -> u64 {
    raise_descriptor_limit().map_or(1024, |(soft, _)| soft)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}").trim_end().to_string() + "\n").collect()
}

/// Quantities of a subject, each with its reductions.
type Shape<'a> = BTreeMap<&'a str, Vec<&'a str>>;

/// The names of numbers: what has the same quantities and reductions stands together.
fn numbers_text(names: &[String]) -> String {
    let mut subjects: BTreeMap<&str, Shape> = BTreeMap::new();
    for name in names {
        let (before, reduction) = name.rsplit_once('.').unwrap_or(("", name));
        let (subject, quantity) = match reduction {
            // A phase's and a step's own time has no reduction.
            "seconds" | "whole_seconds" => (before, reduction),
            _ => before.rsplit_once('.').unwrap_or(("", before)),
        };
        let reductions = subjects.entry(subject).or_default().entry(quantity).or_default();
        if reduction != quantity {
            reductions.push(reduction);
        }
    }
    let mut shapes: Vec<(Shape, Vec<&str>)> = Vec::new();
    for (subject, quantities) in subjects {
        match shapes.iter_mut().find(|(shape, _)| *shape == quantities) {
            Some((_, alike)) => alike.push(subject),
            None => shapes.push((quantities, vec![subject])),
        }
    }
    let mut out = String::new();
    for (shape, alike) in shapes {
        let _ = writeln!(out, "  {}", alike.join(", "));
        // Quantities with the same reductions share a line.
        let mut lines: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
        for (quantity, reductions) in shape {
            match lines.iter_mut().find(|(_, same)| *same == reductions) {
                Some((quantities, _)) => quantities.push(quantity),
                None => lines.push((vec![quantity], reductions)),
            }
        }
        for (quantities, reductions) in lines {
            let _ = match reductions.as_slice() {
                [] => writeln!(out, "    .{}", quantities.join(" .")),
                _ => writeln!(out, "    .{}  .{}", quantities.join(" ."), reductions.join(" .")),
            };
        }
    }
    out
}
