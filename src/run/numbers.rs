//! From what the workers counted to the numbers that `results:` can name.
//!
//! Every number is `phase[.group][.step].quantity.reduction` in base units: operations, bytes,
//! seconds. What never happened has no number. How a number is shown, judged or stored is not
//! known here.

use std::collections::BTreeMap;

use super::tally::{self, Subject, Tally};
use crate::measure::{Histogram, series};
use crate::plan::instr::{PhasePlan, Plan, StatKind};
use crate::plan::reading::directions;
use crate::plan::stream::Kind;
use crate::record::{Series, StepResult};
use crate::vm::stat::Stat;
use crate::vm::team::TeamRun;

pub use crate::profile::results::Numbers;

/// Reductions of what is counted.
const COUNTED: &[&str] = &["total", "rate", "rate_sum", "rate_mean", "busy_rate"];
/// Reductions of latencies.
const TIMED: &[&str] = &["mean", "p50", "p95", "p99", "p99_9", "max"];
const PERCENTILES: &[(&str, f64)] = &[("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99_9", 99.9)];

/// Every number a run of this plan gives. `epoch_ns` is the wall clock (since 1970) at the moment
/// the run's own clock stood at 0.
pub fn numbers(plan: &Plan, run: &TeamRun, epoch_ns: u64) -> Numbers {
    let mut out = Numbers::new();
    for (id, phase) in measured(plan) {
        let executions = tally::executions(plan, run, id);
        if executions.is_empty() {
            continue;
        }
        let span: f64 = executions.iter().map(|e| e.seconds).sum();
        put(&mut out, &phase.name, "seconds", Some(span));
        let whole: u64 = executions.iter().map(|e| e.whole_seconds(epoch_ns)).sum();
        put(&mut out, &phase.name, "whole_seconds", Some(whole as f64));
        for subject in tally::subjects(phase) {
            let mut tally = Tally::of(&executions, &subject.stats);
            tally.take_own_rates(&executions, &subject.rated);
            emit(&mut out, &prefix(phase, &subject), &subject, &tally);
        }
        let whole_phase = tally::subjects(phase).into_iter().filter(|s| s.key.is_empty());
        for subject in whole_phase {
            last_second(&mut out, &prefix(phase, &subject), &executions, &subject);
        }
    }
    out
}

/// Every name that [`numbers`] can give for this plan.
pub fn known(plan: &Plan) -> Vec<String> {
    let mut names = Vec::new();
    for (_, phase) in measured(plan) {
        names.extend(["seconds", "whole_seconds"].map(|what| format!("{}.{what}", phase.name)));
        for subject in tally::subjects(phase) {
            let prefix = prefix(phase, &subject);
            let mut add = |quantity: &str, reductions: &[&str]| {
                names.extend(reductions.iter().map(|r| format!("{prefix}.{quantity}.{r}")));
            };
            match subject.kind {
                StatKind::Decks => names.push(format!("{prefix}.decks")),
                StatKind::Step => {
                    add("steps", COUNTED);
                    add("step_latency", TIMED);
                }
                // An operation that moves nothing has no bytes to speak of.
                kind => operations(&mut names, &prefix, kind != StatKind::Operation, subject.key.is_empty()),
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Every name that this plan would give with another recorded load in the place of its own; none
/// where it performs no load.
pub fn of_other_loads(plan: &Plan) -> Vec<String> {
    let mut names = Vec::new();
    if plan.replays.is_empty() {
        return names;
    }
    for (_, phase) in measured(plan) {
        let groups = phase.groups.iter().filter(|group| group.measured).map(|group| group.name.as_str());
        for group in groups.chain([""]) {
            let place = [phase.name.as_str(), group];
            let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
            operations(&mut names, &place, true, true);
            for kind in Kind::ALL.iter().filter(|kind| !kind.key().is_empty()) {
                operations(&mut names, &format!("{place}.{}", kind.key()), kind.moves(), false);
            }
        }
    }
    names
}

/// The names of what is counted of operations, by whether they move bytes, and whether they are a
/// whole phase or group.
fn operations(names: &mut Vec<String>, prefix: &str, moves: bool, whole: bool) {
    let mut add = |quantity: &str, reductions: &[&str]| {
        names.extend(reductions.iter().map(|r| format!("{prefix}.{quantity}.{r}")));
    };
    add("ops", COUNTED);
    add("errors", COUNTED);
    for quantity in ["bytes", "requested"].into_iter().filter(|_| moves) {
        add(quantity, COUNTED);
        add(quantity, &["mean"]);
        if whole {
            add(quantity, &["rate_last_second"]);
        }
    }
    add("latency", TIMED);
    if !whole {
        names.push(format!("{prefix}.seconds"));
    }
}

/// What each step did, by `phase[.group].step`; a step of several transfers as a whole has `.steps`
/// behind its name.
pub fn steps(plan: &Plan, run: &TeamRun) -> BTreeMap<String, StepResult> {
    let mut out = BTreeMap::new();
    for (id, phase) in measured(plan) {
        let executions = tally::executions(plan, run, id);
        for subject in tally::subjects(phase).into_iter().filter(|s| !s.key.is_empty()) {
            let sum = Tally::of(&executions, &subject.stats).sum;
            if sum.ops == 0 && sum.errors == 0 {
                continue;
            }
            let mut key = prefix(phase, &subject);
            match subject.kind {
                StatKind::Step => key.push_str(".steps"),
                StatKind::Decks => key.push_str(".decks"),
                _ => {}
            }
            let result = StepResult {
                ops: sum.ops,
                bytes: sum.bytes,
                requested: sum.requested(),
                errors: sum.errors,
                short_ios: sum.short,
                latency: sum.latency.sparse(),
            };
            out.insert(key, result);
        }
    }
    out
}

/// Second by second, one series a measured phase; several executions follow one another.
pub fn seconds(plan: &Plan, run: &TeamRun) -> Vec<Series> {
    let mut out = Vec::new();
    for (id, phase) in measured(plan) {
        let mut all = Vec::new();
        for execution in tally::executions(plan, run, id) {
            let mut together = Vec::new();
            execution.workers.iter().for_each(|w| series::merge(&mut together, w.intervals));
            all.extend(together);
        }
        if !all.is_empty() {
            out.push(Series::of(phase.name.clone(), &all));
        }
    }
    out
}

/// Bytes that counted transfers moved: read, written. `None` where that is not known: a database's
/// transfers are its own, and steps that read and write under one label count together.
pub fn moved(plan: &Plan, run: &TeamRun) -> Option<(u64, u64)> {
    if !plan.sql.databases.is_empty() {
        return None;
    }
    let (mut read, mut written) = (0, 0);
    for phase_run in &run.phases {
        let Some(phase) = plan.phases.get(usize::from(phase_run.phase)) else { continue };
        let ways = directions(plan, phase);
        for worker in &phase_run.workers {
            for (id, (stat, about)) in worker.stats.iter().zip(&phase.stats).enumerate() {
                if about.kind != StatKind::Data || stat.bytes == 0 {
                    continue;
                }
                match (ways.reads.contains(&id), ways.writes.contains(&id)) {
                    (true, false) => read += stat.bytes,
                    (false, true) => written += stat.bytes,
                    _ => return None,
                }
            }
        }
    }
    Some((read, written))
}

fn measured(plan: &Plan) -> impl Iterator<Item = (u16, &PhasePlan)> {
    (0u16..).zip(&plan.phases).filter(|(_, phase)| phase.measured)
}

fn prefix(phase: &PhasePlan, subject: &Subject) -> String {
    let parts = [phase.name.as_str(), &subject.group, &subject.key];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
}

fn put(out: &mut Numbers, prefix: &str, name: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|v| v.is_finite()) {
        out.insert(format!("{prefix}.{name}"), value);
    }
}

fn emit(out: &mut Numbers, prefix: &str, subject: &Subject, tally: &Tally) {
    let sum = &tally.sum;
    if sum.ops == 0 {
        return;
    }
    match subject.kind {
        StatKind::Decks => put(out, prefix, "decks", Some(sum.ops as f64)),
        StatKind::Step => {
            counted(out, prefix, "steps", tally, |stat| stat.ops);
            timed(out, prefix, "step_latency", &sum.latency);
        }
        kind => {
            counted(out, prefix, "ops", tally, |stat| stat.ops);
            counted(out, prefix, "errors", tally, |stat| stat.errors);
            if kind != StatKind::Operation {
                counted(out, prefix, "bytes", tally, |stat| stat.bytes);
                counted(out, prefix, "requested", tally, |stat| stat.requested());
                for (quantity, value) in [("bytes", sum.bytes), ("requested", sum.requested())] {
                    put(out, prefix, &format!("{quantity}.mean"), Some(value as f64 / sum.ops as f64));
                }
            }
            timed(out, prefix, "latency", &sum.latency);
            if !subject.key.is_empty() {
                put(out, prefix, "seconds", Some(inside(&sum.latency)));
            }
        }
    }
    // Where single operations have rates of their own, the mean is over them.
    if let StatKind::Data | StatKind::Block = subject.kind
        && let Some(mean) = tally.own_rate()
    {
        put(out, prefix, "bytes.rate_mean", Some(mean));
    }
}

/// All time inside operations, in seconds.
fn inside(latency: &Histogram) -> f64 {
    latency.sum_ns() as f64 / 1e9
}

fn counted(out: &mut Numbers, prefix: &str, quantity: &str, tally: &Tally, of: fn(&Stat) -> u64) {
    let total = of(&tally.sum) as f64;
    let ratio = |amount: f64, seconds: f64| (seconds > 0.0).then(|| amount / seconds);
    let mut add = |reduction: &str, value| put(out, prefix, &format!("{quantity}.{reduction}"), value);
    add("total", Some(total));
    add("rate", ratio(total, tally.seconds));
    let own = tally.workers.values().filter_map(|(stat, seconds)| ratio(of(stat) as f64, *seconds));
    let own: Vec<f64> = own.collect();
    add("rate_sum", (!own.is_empty()).then(|| own.iter().sum()));
    let each = tally.executions.iter().filter_map(|(stat, seconds)| ratio(of(stat) as f64, *seconds));
    let each: Vec<f64> = each.collect();
    add("rate_mean", (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64));
    add("busy_rate", ratio(total, inside(&tally.sum.latency)));
}

fn timed(out: &mut Numbers, prefix: &str, quantity: &str, latency: &Histogram) {
    let mut add = |reduction: &str, ns: Option<f64>| {
        put(out, prefix, &format!("{quantity}.{reduction}"), ns.map(|ns| ns / 1e9));
    };
    add("mean", latency.mean_ns());
    for (name, percent) in PERCENTILES {
        add(name, latency.percentile(*percent).map(|ns| ns as f64));
    }
    add("max", latency.max_ns().map(|ns| ns as f64));
}

/// What was moved up to the last whole second before the end of the window, over those seconds;
/// nothing where the window is no longer than a second.
fn last_second(out: &mut Numbers, prefix: &str, executions: &[tally::Execution], subject: &Subject) {
    let (mut bytes, mut all, mut seconds) = (0u64, 0u64, 0usize);
    for execution in executions {
        let whole = (execution.seconds.ceil() as usize).saturating_sub(1);
        seconds += whole;
        for worker in
            execution.workers.iter().filter(|w| subject.group.is_empty() || w.group == subject.group)
        {
            bytes += worker.intervals.iter().take(whole).map(|i| i.bytes).sum::<u64>();
            all += worker.intervals.iter().map(|i| i.bytes).sum::<u64>();
        }
    }
    if seconds == 0 || all == 0 {
        return;
    }
    let rate = bytes as f64 / seconds as f64;
    put(out, prefix, "bytes.rate_last_second", Some(rate));
    // Seconds know bytes moved; what was asked for is taken to be spread over them alike.
    let sum = Tally::of(executions, &subject.stats).sum;
    let share = if sum.bytes > 0 { sum.requested() as f64 / sum.bytes as f64 } else { 1.0 };
    put(out, prefix, "requested.rate_last_second", Some(rate * share));
}

#[cfg(test)]
#[path = "numbers_tests.rs"]
pub(super) mod tests;
