//! The whole case: engine, workers, random streams, sets, phases, and what can only be said when
//! all steps are known.

use std::collections::{BTreeMap, BTreeSet};

use super::context::Lower;
use crate::plan::instr::*;
use crate::profile::case::BoundCase;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::Node;
use crate::profile::units;

/// Most workers a plan may have.
const MOST_WORKERS: u64 = 100_000;
/// Most draws thrown away at the start: a few seconds' worth.
const MOST_BURNT: u64 = 1 << 30;
/// Smallest buffer a worker has: layout and buffered files move at least this much at once.
const LEAST_BUFFER: u64 = 64 << 10;

/// Compiles a case. `Err` holds every mistake found.
pub fn lower(case: &BoundCase) -> Result<Plan, Vec<Diagnostic>> {
    let body = &case.body;
    let mut lower = Lower {
        plan: Plan::empty(),
        problems: Vec::new(),
        opened: BTreeSet::new(),
        data_use: Vec::new(),
        direct_use: Vec::new(),
        opened_buffered: BTreeSet::new(),
        phase_engine: None,
        on_sets: Vec::new(),
        made_dir: BTreeSet::new(),
        made_subdirs: BTreeSet::new(),
        own_lists: BTreeMap::new(),
    };
    if let Some(node) = body.get("engine") {
        lower.plan.engines = vec![engine(&mut lower, node)];
    }
    lower.plan.random = random(&mut lower, body.get("random"));
    let workers = match body.get("workers") {
        Some(node) => workers(&mut lower, node),
        None => 1,
    };
    lower.plan.workers = workers;
    for (name, node) in body.get("files").map_or(&[][..], Node::entries) {
        lower.set(name, node);
    }
    for (name, node) in body.get("datasets").map_or(&[][..], Node::entries) {
        lower.dataset(name, node);
    }
    for (name, node) in body.get("trees").map_or(&[][..], Node::entries) {
        lower.tree_set(name, node);
    }
    lower.data_use = vec![(false, false); lower.plan.sets.len()];
    lower.direct_use = vec![Vec::new(); lower.plan.sets.len()];
    match body.get("phases") {
        Some(phases) => lower.plan.schedule = lower.phases(phases, workers, true),
        None => lower.problem(Diagnostic::error("no-phase", &body.place, "there is no phase left to run")),
    }
    if lower.plan.phases.is_empty() && lower.problems.is_empty() {
        lower.problem(Diagnostic::error("no-phase", &body.place, "there is no phase left to run"));
    }
    lower.databases();
    finish_sets(&mut lower, body);
    lower.plan.largest_block = lower.largest_block();
    if lower.problems.is_empty() { Ok(lower.plan) } else { Err(lower.problems) }
}

/// Number of workers; notes a mistake and says 1 where it is none that can be.
pub fn workers(lower: &mut Lower, node: &Node) -> u32 {
    let count = lower.or(units::count(node), 1);
    if count == 0 || count > MOST_WORKERS {
        let message = format!("{count} workers where 1 to {MOST_WORKERS} are possible");
        lower.problem(Diagnostic::error("invalid-workers", &node.place, message));
        return 1;
    }
    count as u32
}

fn engine(lower: &mut Lower, node: &Node) -> EnginePlan {
    let mut engine = EnginePlan::sync();
    if let Some(name) = node.text() {
        engine.name = name.into();
        return engine;
    }
    if let Some(name) = node.get("name") {
        engine.name = lower.or(units::text(name), engine.name);
    }
    if let Some(depth) = node.get("depth") {
        engine.depth = lower.or(units::count(depth), 1).clamp(1, u64::from(u32::MAX)) as u32;
    }
    match node.get("direct").and_then(Node::text) {
        Some("require") => engine.direct = Direct::Require,
        Some("prefer") => engine.direct = Direct::Prefer,
        _ => {}
    }
    if let Some(fallback) = node.get("fallback") {
        engine.fallback = fallback.items().iter().filter_map(Node::text).map(str::to_string).collect();
    }
    if let Some(pragmas) = node.get("pragmas") {
        lower.pragmas(pragmas, &engine.name);
    }
    engine
}

/// Most engines one plan may name.
const MOST_ENGINES: usize = 32;

fn random(lower: &mut Lower, node: Option<&Node>) -> RandomPlan {
    let mut random = RandomPlan::default();
    let Some(node) = node else { return random };
    random.seed = node.get("seed").map(|n| lower.or(units::count(n), 0));
    let burn = node.get("burn").map_or(0, |n| lower.or(units::count(n), 0));
    if let Some(node) = node.get("burn").filter(|_| burn > MOST_BURNT) {
        lower.problem(
            Diagnostic::error(
                "invalid-burn",
                &node.place,
                format!("{burn} draws to throw away, where up to {MOST_BURNT} (2^30) are possible"),
            )
            .help("another `seed` gives other draws at once"),
        );
    }
    let mersenne = node.get("generator").and_then(Node::text) == Some("mt19937");
    if mersenne {
        random.generator = Generator::Mt19937 { burn };
        let seeding = node.get("seeding").and_then(|n| units::text(n).ok());
        if seeding.as_deref() != Some("1999") {
            let place = node.get("seeding").unwrap_or(node);
            lower.problem(
                Diagnostic::error("unknown-seeding", &place.place, "mt19937 needs to know how it is seeded")
                    .help("write `seeding: 1999`, the only one there is so far"),
            );
        }
        if node.get("order").and_then(Node::text) != Some("single") {
            lower.problem(
                Diagnostic::error("unknown-order", &node.place, "mt19937 is one stream in program order")
                    .help("write `order: single`"),
            );
        }
    } else {
        for key in ["seeding", "burn", "order"] {
            if let Some(extra) = node.get(key) {
                let message = format!("{key} has no meaning with the default generator");
                lower.problem(
                    Diagnostic::error("useless-key", &extra.place, message)
                        .at_key()
                        .help("it belongs to `generator: mt19937`"),
                );
            }
        }
    }
    random
}

/// What is known of sets only when all steps are.
fn finish_sets(lower: &mut Lower, body: &Node) {
    let files = body.get("files").map_or(&[][..], Node::entries);
    for (id, (_, node)) in files.iter().enumerate() {
        let set_id = id as SetId;
        let Some(set) = lower.plan.sets.get_mut(id) else { continue };
        set.dir_ahead = !lower.made_dir.contains(&set_id);
        set.subdirs_ahead = !lower.made_subdirs.contains(&set_id);
        if lower.plan.sql.databases.contains(&set_id) {
            // Its connections are opened by steps.
            continue;
        }
        let (reads, writes) = lower.data_use.get(id).copied().unwrap_or_default();
        buffered_all_the_same(lower, set_id);
        let Some(set) = lower.plan.sets.get_mut(id) else { continue };
        if !lower.opened.contains(&set_id) && (reads || writes) && !set.memory {
            let access = if writes { libc::O_RDWR } else { libc::O_RDONLY };
            let kept = set.kept_open.unwrap_or(0);
            let wanted = lower.direct_use.get(id).map_or(&[][..], Vec::as_slice);
            let direct = wanted.first().map_or(Direct::Never, |(direct, _)| *direct);
            let other = wanted.iter().find(|(other, _)| *other != direct).map(|(_, place)| place.clone());
            set.kept_open = Some(kept | access | if direct == Direct::Require { libc::O_DIRECT } else { 0 });
            set.prefer_direct = direct == Direct::Prefer && kept & libc::O_DIRECT == 0;
            if let Some(place) = other {
                let message = format!(
                    "the file that {} keeps open cannot be open for direct I/O in one step and not in another",
                    set.name
                );
                lower.problem(
                    Diagnostic::error("direct-and-not", &place, message)
                        .help("give both steps the same `direct`, or open the file by steps"),
                );
            }
            let Some(set) = lower.plan.sets.get(id) else { continue };
            if set.count == 0 {
                let message = format!(
                    "steps use files of {} that nothing opens, and it has none at the start",
                    set.name
                );
                lower.problem(
                    Diagnostic::error("nothing-open", &node.place, message)
                        .help("give it `count: 1` and a `size`, or create and open files by steps"),
                );
            }
        } else if set.kept_open.take().is_some() && node.get("flags").is_some_and(|f| !f.items().is_empty()) {
            let message = format!("flags of {} have no meaning: its files are opened by steps", set.name);
            let place = node.get("flags").unwrap_or(node);
            lower.problem(
                Diagnostic::error("useless-key", &place.place, message)
                    .at_key()
                    .help("give the flags to the `open` or `create` step"),
            );
        }
    }
    // Two sets whose files would have the same names in the same place.
    for (i, (_, node)) in files.iter().enumerate() {
        let Some(set) = lower.plan.sets.get(i) else { continue };
        let same = lower.plan.sets[..i].iter().find(|other| {
            other.dir == set.dir && other.file_name == set.file_name && !other.memory && !set.memory
        });
        if let Some(other) = same {
            let message = format!(
                "the files of {} and {} have the same names in the same directory",
                other.name, set.name
            );
            lower.problem(
                Diagnostic::error("same-names", &node.place, message)
                    .help("give one of them a `dir` or another `name`"),
            );
        }
    }
}

/// Steps that need direct I/O on files that another step opens without it.
fn buffered_all_the_same(lower: &mut Lower, id: SetId) {
    let wanted = lower.direct_use.get(usize::from(id)).map_or(&[][..], Vec::as_slice);
    let require = wanted.iter().find(|(direct, _)| *direct == Direct::Require);
    let (Some((_, place)), true) = (require, lower.opened_buffered.contains(&id)) else { return };
    let name = lower.plan.sets.get(usize::from(id)).map_or("", |set| set.name.as_str());
    let message = format!("the step needs direct I/O, and a step opens files of {name} without it");
    let problem = Diagnostic::error("direct-and-not", place, message)
        .help("give the step that opens them `flags: [direct]`, or its phase the same engine");
    lower.problem(problem);
}

impl Lower {
    /// The number of the engine that a phase or step names.
    pub fn engine_of(&mut self, node: &Node) -> u8 {
        let engine = engine(self, node);
        let known = self.plan.engines.iter().position(|other| *other == engine);
        if known.is_none() && self.plan.engines.len() >= MOST_ENGINES {
            let message = format!("more than {MOST_ENGINES} different engines in one case");
            self.problem(Diagnostic::error("too-many-engines", &node.place, message));
            return 0;
        }
        known.unwrap_or_else(|| {
            self.plan.engines.push(engine);
            self.plan.engines.len() - 1
        }) as u8
    }

    /// The largest transfer any step can ask for.
    fn largest_block(&self) -> u64 {
        let data = self.plan.args.iter().filter_map(|args| self.largest_transfer(args));
        let stdio = self.plan.args.iter().any(|a| a.opening.stdio);
        let trees = self.plan.sets.iter().filter_map(|set| set.trees.as_ref()).map(|trees| trees.block);
        let data = data.chain(trees);
        let replayed = self.plan.replays.iter().map(|replay| replay.stream.largest);
        let data = data.chain(replayed);
        let least = if stdio { crate::ops::stdio::LARGEST_BLOCK * 2 } else { LEAST_BUFFER };
        data.max().unwrap_or(0).max(least)
    }
}
