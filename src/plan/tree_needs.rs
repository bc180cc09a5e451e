//! What trees of directories take on the target: every tree that is written, with everything that is
//! written into it, as if nothing were ever removed.

use super::instr::*;

/// Bytes and names at most; infinite where only the run can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Grown {
    /// Bytes of files.
    pub bytes: f64,
    /// Files and directories.
    pub names: f64,
}

/// What all trees of a plan come to.
pub fn grown(plan: &Plan) -> Grown {
    let mut grown = Grown::default();
    let mut trees = vec![0.0; plan.sets.len()];
    schedule(plan, &plan.schedule, 1.0, &mut trees, &mut grown);
    grown
}

fn schedule(plan: &Plan, entries: &[Schedule], rounds: f64, trees: &mut [f64], grown: &mut Grown) {
    for entry in entries {
        match entry {
            Schedule::Phase(id) => {
                let groups = plan.phases.get(usize::from(*id)).map_or(&[][..], |phase| &phase.groups);
                for group in groups {
                    let workers = f64::from(group.workers.1.saturating_sub(group.workers.0));
                    program(plan, &group.code, workers * rounds, trees, grown);
                }
            }
            // Every round has as many trees as all together make.
            Schedule::Loop { until, body } => {
                let rounds = match until {
                    Until::Times(n) => rounds * *n as f64,
                    _ => f64::INFINITY,
                };
                schedule(plan, body, rounds, trees, grown);
            }
        }
    }
}

/// What one program comes to that is performed so often.
fn program(plan: &Plan, code: &[Instr], often: f64, trees: &mut [f64], grown: &mut Grown) {
    let mut times = vec![often];
    for instr in code {
        let now = times.last().copied().unwrap_or(1.0);
        match instr {
            Instr::LoopStart { id, .. } => {
                let rounds = match plan.loops.get(usize::from(*id)).map(|lp| lp.until) {
                    Some(Until::Times(n)) => n as f64,
                    _ => f64::INFINITY,
                };
                times.push(super::level::times(now, rounds));
            }
            Instr::EachStart { id, .. } => {
                let set = plan.eaches.get(usize::from(*id)).map_or(0, |each| usize::from(each.set));
                let trees = trees.get(set).copied().unwrap_or(0.0);
                times.push(super::level::times(now, trees));
            }
            Instr::LoopEnd { .. } | Instr::EachNext { .. } if times.len() > 1 => {
                times.pop();
            }
            // What is drawn how often, only the run can tell.
            Instr::Mix { .. } => times.iter_mut().for_each(|times| *times = f64::INFINITY),
            Instr::Op { args, .. } => {
                let Some(args) = plan.args.get(*args as usize) else { continue };
                let Detail::Tree(step) = args.detail else { continue };
                let Some(list) = plan.datasets.get(usize::from(step.dataset)) else { continue };
                if args.moves != Moves::Writes || now == 0.0 {
                    continue;
                }
                grown.bytes += now * list.bytes() as f64;
                grown.names += now * (list.files.len() as f64 + list.dirs.len() as f64);
                if !step.chosen
                    && let Some(count) = trees.get_mut(usize::from(args.set))
                {
                    *count += now;
                }
            }
            _ => {}
        }
    }
}
