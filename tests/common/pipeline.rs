//! From a profile's text to plans, as the program does it.

use std::sync::Arc;

use ioscore::plan::instr::Plan;
use ioscore::profile::case::{BoundCase, Selection};
use ioscore::profile::check::check_structure;
use ioscore::profile::definition::Profile;
use ioscore::profile::expression::Facts;
use ioscore::profile::language::What;
use ioscore::profile::load::load_file;
use ioscore::profile::source::Sources;

/// Facts of a machine that every test agrees on: 4 processors, 8 GiB of memory, 100 GiB free.
pub fn facts() -> Facts {
    Facts { cpus: 4, memory: 8 << 30, free_space: 100 << 30, page_size: 4096, target_block: 4096 }
}

/// Every case of a profile with its plan; the mistakes, rendered, where there are any.
pub fn plans(name: &str, text: &str, sets: &[(&str, &str)]) -> Result<Vec<(BoundCase, Arc<Plan>)>, String> {
    plans_with(name, text, &[], sets)
}

/// The same under presets.
pub fn plans_with(
    name: &str,
    text: &str,
    presets: &[&str],
    sets: &[(&str, &str)],
) -> Result<Vec<(BoundCase, Arc<Plan>)>, String> {
    let mut sources = Sources::new();
    let loaded = load_file(&mut sources, name, text.as_bytes());
    let shown =
        |problems: &[_], sources: &Sources| ioscore::profile::render::render(problems, sources, false);
    let (node, _) = loaded.map_err(|p| shown(&p, &sources))?;
    let verbs = ioscore::ops::verbs();
    let problems = check_structure(&node, What::Profile, verbs);
    if problems.iter().any(|p| p.severity == ioscore::profile::diagnostic::Severity::Error) {
        return Err(shown(&problems, &sources));
    }
    let (profile, _) = Profile::from_node(node, verbs).map_err(|p| shown(&p, &sources))?;
    let selection = Selection {
        presets: presets.iter().map(|p| (*p).into()).collect(),
        sets: sets.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect(),
        ..Selection::default()
    };
    let (bound, _) = profile.bind(&selection, &facts()).map_err(|p| shown(&p, &sources))?;
    bound
        .into_iter()
        .map(|case| {
            let plan = ioscore::plan::lower::lower(&case).map_err(|p| shown(&p, &sources))?;
            Ok((case, Arc::new(plan)))
        })
        .collect()
}

/// The text of a shipped profile.
pub fn shipped(name: &str) -> String {
    let path = format!("{}/profiles/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Runs a plan on the simulation.
pub fn simulate(
    plan: &Arc<Plan>,
    options: ioscore::os::sim::Options,
    key: ioscore::vm::random::StreamKey,
) -> (ioscore::vm::team::TeamRun, ioscore::os::sim::SimFs) {
    use ioscore::vm::{shared::Shared, team};
    let options = ioscore::os::sim::Options { names: plan.reads_names(), ..options };
    let disk = ioscore::os::sim::SimFs::new(options);
    let shared = Arc::new(Shared::new(plan));
    // A fixed seed of the profile's own comes first, as in the program.
    let key = ioscore::vm::random::StreamKey { seed: plan.random.seed.unwrap_or(key.seed), ..key };
    let options = team::TeamOptions { key, epoch: 1_600_000_000, mark: false };
    let run = team::run(plan, &shared, |worker| disk.worker(worker), options, &team::NoWatcher);
    (run, disk)
}

/// Sum of a count over all workers and all executions of a phase's step.
pub fn total(
    plan: &Plan,
    run: &ioscore::vm::team::TeamRun,
    phase: &str,
    key: &str,
    count: impl Fn(&ioscore::vm::stat::Stat) -> u64,
) -> u64 {
    use ioscore::plan::instr::StatKind;
    let mut sum = 0;
    for execution in &run.phases {
        let phase_plan = &plan.phases[usize::from(execution.phase)];
        if phase_plan.name != phase {
            continue;
        }
        for worker in &execution.workers {
            for (stat, stat_plan) in worker.stats.iter().zip(&phase_plan.stats) {
                if stat_plan.key == key && stat_plan.kind != StatKind::Step {
                    sum += count(stat);
                }
            }
        }
    }
    sum
}
