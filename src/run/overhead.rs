//! What an operation costs the program itself: writes through an engine that does nothing.
//!
//! Stated in every record, so that a reader sees how much of a number can be ours.

use std::path::Path;
use std::sync::Arc;

use super::target::facts;
use crate::os::linux::engine::Null;
use crate::os::linux::{Clock, Context, Linux, RunDir};
use crate::plan::instr::Plan;
use crate::plan::lower::lower;
use crate::profile::case::Selection;
use crate::profile::definition::Profile;
use crate::profile::load::load_file;
use crate::profile::shape::Verb;
use crate::profile::source::Sources;
use crate::vm::random::StreamKey;
use crate::vm::shared::Shared;
use crate::vm::team::{self, NoWatcher, TeamOptions};

/// Two hundred thousand 4 KiB writes at random places: the shape of the most demanding tests. The
/// file has a size and no bytes, and nothing is ever written to it.
const PROFILE: &str = "\
profile: overhead
version: 1.0.0
title: Overhead
summary: Writes that go nowhere.
files: {data: {name: data, count: 1, size: 1MiB, layout: none, per: worker}}
phases: [{phase: work, repeat: 200000, steps: [{write: 4KiB, in: data, at: random, data: zero}]}]
";

/// Nanoseconds an operation that does nothing takes, clock reading included; `None` where it
/// cannot be measured under this target.
pub fn measure(target: &Path, verbs: &[Verb]) -> Option<f64> {
    let plan = Arc::new(plan(verbs)?);
    let directory = RunDir::create(target, "overhead").ok()?;
    let context = Context::new(directory.root_owned().ok()?, Arc::new(Clock::new()));
    let shared = Arc::new(Shared::new(&plan));
    let machine = |_| Linux::with_engine(&context, Null);
    let options = TeamOptions { key: StreamKey::default(), epoch: 0, mark: false };
    let run = team::run(&plan, &shared, machine, options, &NoWatcher);
    // What is left is found by `clean`; the number is good all the same.
    let _ = directory.remove();
    if run.fault.is_some() {
        return None;
    }
    let worker = run.phases.first()?.workers.first()?;
    let ops: u64 = worker.stats.iter().map(|stat| stat.ops).max()?;
    (ops > 0).then(|| worker.end.saturating_sub(worker.start) as f64 / ops as f64)
}

fn plan(verbs: &[Verb]) -> Option<Plan> {
    let (node, _) = load_file(&mut Sources::new(), "overhead", PROFILE.as_bytes()).ok()?;
    let (profile, _) = Profile::from_node(node, verbs).ok()?;
    let (cases, _) = profile.bind(&Selection::default(), &facts(None)).ok()?;
    lower(cases.first()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overhead_is_more_than_nothing_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let cost = measure(directory.path(), crate::ops::verbs()).expect("a number");
        assert!(cost > 1.0 && cost < 1e6, "{cost}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
