//! The first operations of a case, as a simulated machine sees them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::os::sim::{Options, SimFs};
use crate::plan::instr::Plan;
use crate::vm::random::StreamKey;
use crate::vm::shared::Shared;
use crate::vm::team::{self, TeamOptions, Watcher};

/// Longest time to spend on a trace once all files are laid out.
const PATIENCE: Duration = Duration::from_secs(10);

/// Begins the trace when all files are there.
struct Start<'a> {
    machine: &'a SimFs,
    laid_out: AtomicBool,
}

impl Watcher for Start<'_> {
    fn laid_out(&self) {
        self.machine.start_trace();
        self.laid_out.store(true, Ordering::Release);
    }
}

/// The first `count` calls of one worker of every group, after the files have been laid out.
pub fn text(plan: &Arc<Plan>, key: StreamKey, count: usize) -> String {
    let machine = SimFs::new(Options {
        trace: count,
        trace_later: true,
        names: plan.reads_names(),
        ..Options::default()
    });
    let start = Start { machine: &machine, laid_out: AtomicBool::new(false) };
    let shared = Arc::new(Shared::new(plan));
    let ended = AtomicBool::new(false);
    let first: BTreeSet<u32> =
        plan.phases.iter().flat_map(|phase| &phase.groups).map(|group| group.workers.0).collect();
    let run = std::thread::scope(|scope| {
        // Where it cannot be started, the plan is simulated to its end.
        let watch = std::thread::Builder::new().spawn_scoped(scope, || {
            // A plan may run for an hour of simulated time: nobody waits for what is not shown.
            let mut began = Instant::now();
            while !ended.load(Ordering::Acquire) {
                std::thread::sleep(Duration::from_millis(2));
                if !start.laid_out.load(Ordering::Acquire) {
                    began = Instant::now();
                    continue;
                }
                let traced = machine.traced();
                let enough = first.iter().all(|id| traced.get(id).is_some_and(|calls| *calls >= count));
                if enough || began.elapsed() > PATIENCE {
                    shared.abort();
                    return;
                }
            }
        });
        let options = TeamOptions { key, epoch: 0, mark: true };
        let run = team::run(plan, &shared, |id| machine.worker(id), options, &start);
        ended.store(true, Ordering::Release);
        if let Ok(watch) = watch {
            let _ = watch.join();
        }
        run
    });
    let events = machine.trace();
    let mut out = String::new();
    for id in first {
        let _ = writeln!(out, "worker {id}, when all files are laid out:");
        let lines = events.iter().filter(|event| event.worker == id).take(count);
        out.push_str(&collapsed(lines.map(ToString::to_string)));
    }
    if let Some((worker, fault)) = run.fault {
        let (_, reason) = crate::run::reason::of_fault(plan, worker, &fault);
        let _ = writeln!(out, "the simulation ended with: {}", reason.line());
    }
    out
}

/// Lines, indented; the same one several times in a row stands once, with how often.
fn collapsed(lines: impl Iterator<Item = String>) -> String {
    let mut runs: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some((last, times)) if *last == line => *times += 1,
            _ => runs.push((line, 1)),
        }
    }
    let mut out = String::new();
    for (line, times) in runs {
        let _ = match times {
            1 => writeln!(out, "  {line}"),
            _ => writeln!(out, "  {line} x {times}"),
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::collapsed;

    #[test]
    fn the_same_line_stands_once() {
        let lines = ["open a", "read a", "read a", "read a", "close a", "read a"];
        let shown = collapsed(lines.iter().map(|line| line.to_string()));
        assert_eq!(shown, "  open a\n  read a x 3\n  close a\n  read a\n");
        assert_eq!(collapsed(std::iter::empty()), "");
    }
}
