//! What is seen of a run while it goes on: a bar on a terminal, else a line a case.
//!
//! Everything goes to the error output. Where a tracer looks at the marks of phases, nothing is
//! written while a case runs.

use std::cell::Cell;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plan::instr::{Expected, Plan};
use crate::vm::shared::lock;

/// Redraws a second at most: a benchmark has better things to do.
const REDRAWS: u8 = 4;
/// How often whoever watches a case looks at its counters.
pub const TICK: Duration = Duration::from_millis(250);

/// Where and how progress is shown.
pub struct Progress {
    kind: Kind,
    /// The phase that runs, for the bar.
    phase: Mutex<Option<Running>>,
    last: Cell<(u64, Option<Instant>)>,
}

enum Kind {
    Silent,
    Lines,
    Bar(ProgressBar),
}

struct Running {
    name: String,
    since: Instant,
    expected: Option<Duration>,
}

impl Progress {
    /// Nothing at all.
    pub fn silent() -> Progress {
        Progress { kind: Kind::Silent, phase: Mutex::new(None), last: Cell::new((0, None)) }
    }

    /// What fits the error output. `marked`: a tracer looks on, so that nothing may be written
    /// while a case runs.
    pub fn new(quiet: bool, marked: bool) -> Progress {
        let kind = match (quiet, marked, std::io::stderr().is_terminal()) {
            (true, _, _) => Kind::Silent,
            (false, false, true) => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(REDRAWS));
                if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_msg}") {
                    bar.set_style(style);
                }
                Kind::Bar(bar)
            }
            _ => Kind::Lines,
        };
        Progress { kind, ..Progress::silent() }
    }

    /// A case (or a repeat of it) begins.
    pub fn begin(&self, what: &str) {
        if let Kind::Bar(bar) = &self.kind {
            bar.set_prefix(what.to_string());
            bar.set_message("preparing files");
            bar.tick();
        }
        *lock(&self.phase) = None;
        self.last.set((0, None));
    }

    /// Looks at the counters of a running case; `phase` is the phase that runs.
    pub fn tick(&self, plan: &Plan, phase: Option<&str>, ops: u64, bytes: u64) {
        let Kind::Bar(bar) = &self.kind else { return };
        let mut running = lock(&self.phase);
        if let Some(name) = phase
            && running.as_ref().is_none_or(|r| r.name != name)
        {
            let expected = plan.phases.iter().find(|p| p.name == name).map(|p| p.expected);
            *running = Some(Running {
                name: name.to_string(),
                since: Instant::now(),
                expected: match expected {
                    Some(Expected::Time(ns)) => Some(Duration::from_nanos(ns)),
                    _ => None,
                },
            });
        }
        let Some(running) = running.as_ref() else {
            bar.tick();
            return;
        };
        let (before, at) = self.last.get();
        let rate = at.map_or(0.0, |at: Instant| {
            ops.saturating_sub(before) as f64 / at.elapsed().as_secs_f64().max(1e-9)
        });
        self.last.set((ops, Some(Instant::now())));
        let elapsed = running.since.elapsed().as_secs();
        let of = running.expected.map(|e| format!(" of {} s", e.as_secs())).unwrap_or_else(|| " s".into());
        let moved = bytes as f64 / 1048576.0;
        bar.set_message(format!("{}: {elapsed}{of}, {rate:.0} ops/s, {moved:.0} MiB so far", running.name));
        bar.tick();
    }

    /// A case is over. Its line stays.
    pub fn end(&self, line: &str) {
        match &self.kind {
            Kind::Silent => {}
            Kind::Lines => say(line),
            Kind::Bar(bar) => bar.suspend(|| say(line)),
        }
    }

    /// Something worth knowing that is neither data nor progress; not said where quiet.
    pub fn note(&self, line: &str) {
        self.end(line);
    }

    /// Something the user must know, quiet or not.
    pub fn warn(&self, line: &str) {
        match &self.kind {
            Kind::Bar(bar) => bar.suspend(|| say(line)),
            _ => say(line),
        }
    }

    /// The run is over: the bar goes.
    pub fn finish(&self) {
        if let Kind::Bar(bar) = &self.kind {
            bar.finish_and_clear();
        }
    }
}

/// A line on the error output; that nobody reads it is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
