//! The shipped suites list what they say, in the order they say.

mod common;

use std::sync::Arc;

use common::pipeline::plans_with;
use ioscore::os::Recipe;
use ioscore::plan::hash::plan_hash;
use ioscore::plan::instr::{Args, Detail, Draw, Instr, Moves, PhasePlan, Plan, Segment};
use ioscore::plan::needs::needs;
use ioscore::plan::stream::Kind;
use ioscore::profile::embedded;
use ioscore::profile::expression::Facts;
use ioscore::profile::library::Library;
use ioscore::profile::suite::{Cache, Request, Runs};
use ioscore::run::prepare::{self, Prepared};

/// The published table, line by line: test, title, unit or name of the number, direction.
const PUBLISHED: &[(&str, &str, &str, &str)] = &[
    ("sqlite-insert", "Timed SQLite Insertions", "s", "lower"),
    ("fio", "Type: Random Read - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Random Read - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Random Read - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Random Write - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Random Write - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Random Write - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Sequential Read - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Read - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Read - BS: 4KB", "IOPS", "higher"),
    ("fio", "Type: Sequential Write - BS: 2MB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Write - BS: 4KB", "MiB/s", "higher"),
    ("fio", "Type: Sequential Write - BS: 4KB", "IOPS", "higher"),
    ("fs-mark", "1000 Files, 1MB Size", "Files/s", "higher"),
    ("fs-mark", "5000 Files, 1MB Size, 4 Threads", "Files/s", "higher"),
    ("fs-mark", "4000 Files, 32 Sub Dirs, 1MB Size", "Files/s", "higher"),
    ("fs-mark", "1000 Files, 1MB Size, No Sync/FSync", "Files/s", "higher"),
    ("dbench-mix", "12 Clients", "MB/s", "higher"),
    ("dbench-mix", "1 Clients", "MB/s", "higher"),
    ("compilebench", "Test: Compile", "MiB/s", "higher"),
    ("compilebench", "Test: Initial Create", "MiB/s", "higher"),
    ("compilebench", "Test: Read Compiled Tree", "MiB/s", "higher"),
    ("postmark", "Disk Transaction Performance", "TPS", "higher"),
];

const FACTS: Facts =
    Facts { cpus: 4, memory: 8 << 30, free_space: 100 << 30, page_size: 4096, target_block: 4096 };

fn planned(suite: &str, presets: &[&str]) -> Vec<Prepared> {
    planned_on(suite, presets, &FACTS)
}

fn planned_on(suite: &str, presets: &[&str], facts: &Facts) -> Vec<Prepared> {
    let library = Library::new(ioscore::ops::verbs());
    let suite = library.suite_of(&[suite.to_string()]).expect("a shipped suite is sound");
    let request =
        Request { presets: presets.iter().map(|name| name.to_string()).collect(), ..Request::default() };
    let (planned, _) = suite.plan(&library, library.verbs(), &request, facts).expect("it can be planned");
    prepare::prepare(planned).expect("it compiles")
}

/// The title of a published line as the profile writes it.
fn full(title: &str) -> String {
    title.replace(" - BS: ", " - IO Engine: Linux AIO - Buffered: No - Direct: Yes - Block Size: ")
        + if title.contains(" - BS: ") { " - Disk Target: Default Test Directory" } else { "" }
}

/// The lines of a suite that a published table has: the primary ones, and IOPS.
fn lines(cases: &[Prepared]) -> Vec<(String, String, String, String)> {
    let mut lines = Vec::new();
    for case in cases {
        for metric in case
            .specs
            .iter()
            .filter(|metric| metric.primary || metric.name == "IOPS" || metric.name.starts_with("Test: "))
        {
            let unit = match metric.unit.name() {
                "" => metric.name.clone(),
                unit => unit.to_string(),
            };
            let bound = &case.bound;
            // Several numbers of one case are lines of their own, by their names.
            let title = match metric.name.starts_with("Test: ") {
                true => metric.name.clone(),
                false => bound.title.split(" [").next().unwrap_or_default().to_string(),
            };
            lines.push((
                bound.profile_id.clone(),
                title,
                unit,
                format!("{:?}", metric.better).to_lowercase(),
            ));
        }
    }
    lines
}

#[test]
fn the_suite_has_the_published_lines_in_their_order() {
    let expected: Vec<_> = PUBLISHED
        .iter()
        .map(|line| (line.0.to_string(), full(line.1), line.2.to_string(), line.3.to_string()))
        .collect();
    assert_eq!(expected.len(), 23);
    for suite in ["nas-filesystems", "pts-disk-1.3"] {
        assert_eq!(lines(&planned(suite, &[])), expected, "{suite}");
        assert_eq!(lines(&planned(suite, &["quick"])), expected, "{suite}, quick");
    }
}

#[test]
fn the_presets_say_how_often_and_from_which_cache() {
    for (suite, _) in embedded::SUITES {
        assert!(planned(suite, &["quick"]).iter().all(|case| case.runs == Runs::exactly(1)), "{suite}");
        assert!(planned(suite, &["sound"]).iter().all(|case| case.cache == Cache::Drop), "{suite}");
    }
}

#[test]
fn every_shipped_profile_has_both_presets() {
    for (id, text) in embedded::PROFILES {
        assert!(text.contains("\n  quick: ") && text.contains("\n  sound: "), "{id}");
    }
}

/// What `quick` may take of the target, and its machine has.
const QUICK_SPACE: u64 = 2 << 30;

#[test]
fn quick_fits_into_two_gibibytes_whatever_the_machine() {
    for memory in [1 << 30, 8 << 30, 512 << 30] {
        let facts = Facts { memory, ..FACTS };
        for suite in ["nas-filesystems", "pts-disk-1.3", "slog"] {
            let cases = planned_on(suite, &["quick"], &facts);
            assert!(!cases.is_empty());
            for case in cases {
                let plan = case.plan.as_ref().expect("it compiles");
                let peak = needs(plan).bytes.peak;
                let which = format!("{suite}: {}:{}", case.bound.profile_id, case.bound.case_id);
                // What a database takes only the run can tell: less than a page a row of its three rounds.
                let inserts = case.bound.params.iter().find(|param| param.name == "inserts");
                let inserts = inserts.and_then(|param| param.value.to_string().parse::<u64>().ok());
                let peak = peak.or(inserts.filter(|_| !plan.sql.scripts.is_empty()).map(|n| n * 3 * 4096));
                let peak = peak.unwrap_or_else(|| panic!("{which}: only the run can tell its space"));
                assert!(peak < QUICK_SPACE, "{which} with {memory} bytes of memory: {peak} bytes");
            }
        }
    }
}

/// Every case of a shipped profile under presets.
fn cases(id: &str, text: &str, presets: &[&str]) -> Vec<(String, Arc<Plan>)> {
    let load = format!("{}/tests/loads/small.txt", env!("CARGO_MANIFEST_DIR"));
    let sets = [("loadfile", load.as_str())];
    let sets = if id == "dbench" { &sets[..] } else { &[] };
    let planned = plans_with(id, text, presets, sets).unwrap_or_else(|e| panic!("{id}: {e}"));
    planned.into_iter().map(|(bound, plan)| (format!("{id}:{}", bound.case_id), plan)).collect()
}

/// Operands of the operations of a phase, with the names of their verbs.
fn operations<'a>(plan: &'a Plan, phase: &'a PhasePlan) -> impl Iterator<Item = (&'static str, &'a Args)> {
    let verbs: Vec<&str> = ioscore::ops::verbs().iter().map(|verb| verb.name).collect();
    let code = phase.groups.iter().flat_map(|group| &group.code);
    code.filter_map(move |instr| match instr {
        Instr::Op { op, args } => Some((verbs[usize::from(*op)], &plan.args[*args as usize])),
        _ => None,
    })
}

/// Whether nothing can make it smaller: random, or what was read.
fn incompressible(recipe: Recipe) -> bool {
    matches!(recipe, Recipe::Random | Recipe::Read | Recipe::Mixed { compressible: 0, duplicate: 0 })
}

/// What a plan writes to the target that a file system could make smaller.
fn compressible(plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    for set in plan.sets.iter().filter(|set| set.count > 0 && set.size != Draw::Const(0)) {
        if !incompressible(set.data) {
            found.push(format!("set {} is laid out with {:?}", set.name, set.data));
        }
    }
    for (verb, args) in plan.phases.iter().flat_map(|phase| operations(plan, phase)) {
        let to_disk = plan.sets.get(usize::from(args.set)).is_some_and(|set| !set.memory);
        let writes = args.moves == Moves::Writes && to_disk || matches!(verb, "replay" | "write_tree");
        if writes && !incompressible(args.data) {
            found.push(format!("{verb} writes {:?}", args.data));
        }
        if let Detail::Script(script) = args.detail {
            for statement in &plan.sql.scripts[script as usize] {
                let text: Vec<&[u8]> = statement
                    .pieces
                    .iter()
                    .filter_map(|piece| match piece {
                        Segment::Literal(text) => Some(text.as_slice()),
                        _ => None,
                    })
                    .collect();
                let text = String::from_utf8_lossy(&text.concat()).into_owned();
                if text.contains("INSERT") && !text.contains("randomblob") {
                    found.push(format!("{text} writes text"));
                }
            }
        }
    }
    found
}

/// Whether what a phase does reaches the disk by itself.
fn makes_safe(plan: &Plan, phase: &PhasePlan) -> bool {
    let synchronous = |flags: i32| flags & libc::O_DSYNC != 0;
    operations(plan, phase).any(|(verb, args)| {
        let set = plan.sets.get(usize::from(args.set));
        matches!(verb, "fsync" | "fdatasync" | "syncfs" | "sync")
            || synchronous(args.opening.flags)
            || set.and_then(|set| set.kept_open).is_some_and(synchronous)
            || verb == "sql" && plan.sql.pragmas.iter().any(|(name, value)| name == "synchronous" && value == "extra")
            || matches!(args.detail, Detail::Replay(id) if plan.replays[usize::from(id)].stream.count(Kind::Fsync) > 0)
    })
}

/// Measured phases that write and leave it to chance when that reaches the disk.
fn unsafe_phases(plan: &Plan) -> Vec<String> {
    let writes = |phase: &&PhasePlan| {
        phase.measured
            && operations(plan, phase).any(|(verb, args)| {
                let to_disk = plan.sets.get(usize::from(args.set)).is_some_and(|set| !set.memory);
                args.moves == Moves::Writes && to_disk
                    || matches!(verb, "replay" | "write_tree" | "sql" | "create" | "unlink")
            })
    };
    let phases = plan.phases.iter().filter(writes).filter(|phase| !makes_safe(plan, phase));
    phases.map(|phase| format!("phase {} writes and is never made safe", phase.name)).collect()
}

#[test]
fn sound_is_what_it_says() {
    let mut wrong = Vec::new();
    for (id, text) in embedded::PROFILES {
        let (usual, sound) = (cases(id, text, &[]), cases(id, text, &["sound"]));
        assert!(!sound.is_empty() && usual.len() == sound.len());
        for ((case, usual), (_, sound)) in usual.iter().zip(&sound) {
            let found: Vec<String> = compressible(sound).into_iter().chain(unsafe_phases(sound)).collect();
            wrong.extend(found.iter().map(|what| format!("{case}: {what}")));
            let has_all = compressible(usual).is_empty() && unsafe_phases(usual).is_empty();
            if plan_hash(usual) == plan_hash(sound) && !has_all {
                wrong.push(format!("{case}: sound changes nothing"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
