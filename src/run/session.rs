//! All cases on all targets, target after target within each repeat, saved after every case.
//!
//! Knows order, repeats, budgets and records; how a case is run or a result shown is elsewhere.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::case::{self, Counted, Job, Missed};
use super::numbers;
use super::preflight::Judged;
use super::prepare::{self, Prepared, case_number};
use super::progress::Progress;
use super::repeats::{self, Repeats};
use super::stop::Stop;
use super::target::{self, Place};
use crate::plan::instr::Plan;
use crate::profile::results;
use crate::record::{
    NoResult, Reason, Record, RepeatResult, Row, Run, RunState, Scrubber, Store, StoreError, SuiteRef, now,
    store,
};
use crate::stats::repeat::Decision;
use crate::system::System;
use crate::vm::random::StreamKey;

/// How a session is to be run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the run; with several targets each gets `name-target`.
    pub name: String,
    /// One line for people, kept in the record.
    pub title: Option<String>,
    /// Where records are kept.
    pub results: PathBuf,
    /// Seed that was asked for; without one a resumed run keeps its own, and others take a fresh one.
    pub seed: Option<u64>,
    /// For all of it.
    pub budget: Option<Duration>,
    /// Continues runs of this name.
    pub resume: bool,
    /// Leaves test files where they are.
    pub keep: bool,
    /// Shows the begin and end of phases to tracers.
    pub mark: bool,
    /// The suite the cases come from; `None` without one.
    pub suite: Option<SuiteRef>,
    /// Arguments of the program, kept in the record.
    pub command_line: Vec<String>,
    /// Takes names that identify out of the record.
    pub scrubber: Scrubber,
    /// The machine, kept in the record.
    pub system: System,
}

/// One target with the cases as they are planned for it.
pub struct Side {
    /// The target.
    pub place: Place,
    /// In the order they run.
    pub cases: Vec<Prepared>,
    /// What is known of each case before it runs, by its position.
    pub judged: Vec<Judged>,
}

/// A side while it runs.
struct Lane {
    side: Side,
    store: Store,
}

/// What a session gave.
pub struct Ran {
    /// One a target.
    pub records: Vec<Record>,
    /// Why some of them could not be written in the end.
    pub unsaved: Option<StoreError>,
}

/// Runs everything. The records stand on disk after every case; they are given back at the end.
/// Where one cannot be written after a case, the run goes on and writes it with the next.
///
/// # Errors
/// Where a record cannot be made or continued.
pub fn run(
    settings: &Settings,
    sides: Vec<Side>,
    stop: &Stop,
    progress: &Progress,
) -> Result<Ran, StoreError> {
    let began = Instant::now();
    let names = names(settings, &sides);
    if !settings.resume
        && let Some(name) = names.iter().find(|name| settings.results.join(name).exists())
    {
        let results = settings.results.display().to_string();
        return Err(StoreError::Exists { name: name.clone(), results });
    }
    let fresh = fresh_seed();
    let mut lanes = Vec::new();
    for (side, name) in sides.into_iter().zip(names) {
        let record = planned(settings, &side, name, fresh);
        let scrubber = settings.scrubber.clone();
        let store = match settings.resume {
            true => Store::resume(&settings.results, &record, scrubber)?,
            false => Store::create(&settings.results, record, scrubber)?,
        };
        lanes.push(Lane { side, store });
    }
    let cases = lanes.iter().map(|lane| lane.side.cases.len()).max().unwrap_or(0);
    for at in 0..cases {
        if stop.requested() {
            break;
        }
        let left = settings.budget.map(|budget| budget.as_secs_f64() - began.elapsed().as_secs_f64());
        one_case(settings, &mut lanes, at, cases, (began, left), stop, progress);
    }
    progress.finish();
    let (mut records, mut unsaved) = (Vec::new(), None);
    for mut lane in lanes {
        let space = target::space_now(&lane.side.place.path);
        // Saved once more when it is closed.
        let _ = lane.store.update(|record| record.target.space_after = space);
        let state = if stop.requested() { RunState::Interrupted } else { RunState::Complete };
        let (record, failed) = lane.store.close(state);
        records.push(record);
        unsaved = unsaved.or(failed);
    }
    Ok(Ran { records, unsaved })
}

/// One case on every target, repeat after repeat.
fn one_case(
    settings: &Settings,
    lanes: &mut [Lane],
    at: usize,
    cases: usize,
    (began, left): (Instant, Option<f64>),
    stop: &Stop,
    progress: &Progress,
) {
    let several = lanes.len() > 1;
    let mut turns: Vec<Option<Repeats>> = lanes
        .iter()
        .map(|lane| {
            let finished = lane.store.record().rows.get(at).is_none_or(Row::is_ok);
            let case = lane.side.cases.get(at).filter(|_| !finished)?;
            let primary = case.specs.iter().find(|spec| spec.primary).map(|spec| spec.name.clone());
            let mut repeats = Repeats::new(case.runs, primary);
            let refused = lane.side.judged.get(at).and_then(|judged| judged.refused.clone());
            if let Some((outcome, reason)) = refused {
                repeats.fail(outcome, reason);
            } else if let Err(why) = &case.plan {
                repeats.fail(NoResult::Failed, prepare::unusable(why));
            } else if left.is_some_and(|left| left <= 0.0) {
                repeats.fail(NoResult::Skipped, Reason::new("the time budget is spent"));
            }
            Some(repeats)
        })
        .collect();
    let started = Instant::now();
    loop {
        let mut ran = false;
        for (lane, turn) in lanes.iter().zip(&mut turns) {
            let Some(repeats) = turn else { continue };
            let Some(Prepared { plan: Ok(plan), .. }) = lane.side.cases.get(at) else { continue };
            let Some(case) = lane.side.cases.get(at) else { continue };
            let left = settings.budget.map(|b| b.as_secs_f64() - began.elapsed().as_secs_f64());
            if stop.requested() || repeats.decision(left) != Decision::More {
                continue;
            }
            ran = true;
            let label = label(lane, case, at, cases, several);
            progress.begin(&format!("{label}, run {}", repeats.next() + 1));
            match once(settings, lane, case, plan, repeats.next(), stop, progress) {
                Ok(result) => repeats.add(result),
                Err(missed) => repeats.fail(missed.0, missed.1),
            }
        }
        if !ran {
            break;
        }
    }
    for (lane, turn) in lanes.iter_mut().zip(turns) {
        let (Some(mut repeats), Some(case)) = (turn, lane.side.cases.get(at)) else { continue };
        let unfinished = stop.requested() && repeats.decision(None) == Decision::More;
        if unfinished {
            if !repeats.is_settled() {
                continue;
            }
            repeats.fail(NoResult::Interrupted, Reason::new("interrupted between its repeats"));
        }
        let Some(mut row) = lane.store.record().rows.get(at).cloned() else { continue };
        let doubts = lane.side.judged.get(at).map(|judged| judged.doubts.clone()).unwrap_or_default();
        repeats.settle(&mut row, doubts);
        let line = format!("{}: {}", label(lane, case, at, cases, several), outcome(&row, started.elapsed()));
        let saved = lane.store.set_row(at, row);
        progress.end(&line);
        if let Err(error) = saved {
            progress.warn(&format!("warning: the record could not be written: {error}"));
        }
    }
}

/// One repeat on one target.
fn once(
    settings: &Settings,
    lane: &Lane,
    case: &Prepared,
    plan: &std::sync::Arc<Plan>,
    repeat: u64,
    stop: &Stop,
    progress: &Progress,
) -> Result<RepeatResult, Missed> {
    let record = lane.store.record();
    let job = Job {
        plan,
        target: &lane.side.place.path,
        file_system: lane.side.place.about.file_system.as_ref().map(|fs| fs.kind.as_str()),
        run_name: &record.run.name,
        key: StreamKey {
            seed: plan.random.seed.unwrap_or(record.run.seed),
            case: case_number(&case.bound),
            repeat,
            worker: 0,
        },
        cache: case.cache,
        keep: settings.keep,
        mark: settings.mark,
    };
    let started = now();
    let done = case::run(&job, stop, progress);
    if let Some(path) = &done.kept {
        progress.note(&format!("kept: {path}"));
    }
    if let Some(trouble) = &done.trouble {
        progress.warn(&format!("warning: {trouble}"));
    }
    Ok(repeat_result(case, plan, started, done.outcome?))
}

/// What one repeat counted, as the record keeps it.
pub fn repeat_result(case: &Prepared, plan: &Plan, started: String, counted: Counted) -> RepeatResult {
    let all = numbers::numbers(plan, &counted.team, counted.epoch_ns);
    let metrics = results::evaluate(&case.specs, &all, &case.bound.scope);
    RepeatResult {
        started,
        elapsed_s: counted.elapsed_s,
        values: metrics.into_iter().filter_map(|metric| Some((metric.name, metric.value?))).collect(),
        steps: numbers::steps(plan, &counted.team),
        series: numbers::seconds(plan, &counted.team),
        effective: counted.effective,
    }
}

/// The record before the first case.
fn planned(settings: &Settings, side: &Side, name: String, fresh: u64) -> Record {
    let stored =
        || store::load(&settings.results.join(&name).join(store::FILE)).ok().map(|record| record.run.seed);
    let seed = settings.seed.or_else(|| settings.resume.then(stored).flatten()).unwrap_or(fresh);
    let mut rules: Vec<String> = side.cases.iter().map(|case| repeats::described(&case.runs)).collect();
    rules.dedup();
    let run = Run {
        name,
        title: settings.title.clone(),
        started: now(),
        utc_offset: utc_offset(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        command_line: settings.command_line.clone(),
        suite: settings.suite.clone(),
        seed,
        repeats: (!rules.is_empty()).then(|| rules.join("; ")),
        ..Run::default()
    };
    let cases = side.cases.iter().map(|case| case.about.clone()).collect();
    Record::planned(run, settings.system.clone(), side.place.about.clone(), cases)
}

/// A seed nobody has chosen. 53 bits: readers of JSON may hold it as a floating-point number.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() >> 11
}

/// Names of the runs, one a target; different also where targets are called alike.
fn names(settings: &Settings, sides: &[Side]) -> Vec<String> {
    let name = &settings.name;
    if let [_] = sides {
        return vec![name.clone()];
    }
    let mut names: Vec<String> = Vec::new();
    for side in sides {
        let good = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        // A directory is often called after a person: what the record keeps out stays out of names.
        let target = settings.scrubber.text(&side.place.about.name);
        let base = format!("{name}-{}", target.chars().map(good).collect::<String>());
        let mut one = base.clone();
        let mut turn = 1;
        while names.contains(&one) {
            turn += 1;
            one = format!("{base}-{turn}");
        }
        names.push(one);
    }
    names
}

fn label(lane: &Lane, case: &Prepared, at: usize, cases: usize, several: bool) -> String {
    let bound = &case.bound;
    let on = if several { format!(" on {}", lane.side.place.about.name) } else { String::new() };
    format!("[{}/{cases}] {}:{}{on}", at + 1, bound.profile_id, bound.case_id)
}

fn outcome(row: &Row, elapsed: Duration) -> String {
    match row.reason() {
        None => {
            let runs = row.runs().len();
            let plural = if runs == 1 { "" } else { "s" };
            format!("ok, {runs} run{plural}, {:.1} s", elapsed.as_secs_f64())
        }
        Some(reason) => {
            let todo = reason.what_to_do.as_ref().map(|todo| format!("; {todo}")).unwrap_or_default();
            format!("{}: {}{todo}", row.status().word(), reason.line())
        }
    }
}

/// Local time minus UTC, as `+02:00`; `None` where the time zone is not known.
fn utc_offset() -> Option<String> {
    let offset = crate::os::linux::clock::utc_offset_seconds()?;
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    Some(format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60))
}
