//! Every number that a shipped profile promises comes out of a run, on the simulated machine; a
//! recorded load has a line for each kind of its requests, and needs no other.

use std::sync::Arc;

use ioscore::import::loadfile;
use ioscore::os::sim::{Options, SimFs};
use ioscore::plan::instr::StatKind;
use ioscore::plan::stream::Kind;
use ioscore::profile::embedded;
use ioscore::profile::expression::Facts;
use ioscore::profile::library::Library;
use ioscore::profile::results;
use ioscore::profile::suite::Request;
use ioscore::run::{numbers, prepare};
use ioscore::vm::random::StreamKey;
use ioscore::vm::shared::Shared;
use ioscore::vm::team::{self, NoWatcher, TeamOptions};

/// More transfers than this take too long for a test.
const MOST: u64 = 300_000;

#[test]
fn every_promised_number_comes_out_of_a_run() {
    let facts = Facts { cpus: 2, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 4096 };
    let mut ran = 0;
    for (id, _) in embedded::PROFILES {
        let library = Library::new(ioscore::ops::verbs());
        let suite = library.suite_of(&[id.to_string()]).expect("a shipped profile is sound");
        let presets = library.open(id).ok().map(|(found, _)| match found {
            ioscore::profile::library::Found::Profile(profile) => profile.preset("quick").is_some(),
            _ => false,
        });
        let quick = presets.unwrap_or(false).then(|| "quick".to_string());
        // The one parameter that only a user can give.
        let load = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/loads/small.txt").to_string();
        let sets = if *id == "dbench" { vec![("loadfile".to_string(), load)] } else { Vec::new() };
        let request = Request { presets: quick.into_iter().collect(), sets, ..Request::default() };
        let (planned, _) =
            suite.plan(&library, library.verbs(), &request, &facts).expect("it can be planned");
        for case in prepare::prepare(planned).expect("it compiles") {
            let Ok(plan) = &case.plan else { continue };
            let needs = ioscore::plan::needs::needs(plan);
            if needs.written.is_none_or(|bytes| bytes / plan.largest_block.max(1) > MOST) {
                continue;
            }
            let name = format!("{id}:{}", case.bound.case_id);
            let machine = SimFs::new(Options { names: plan.reads_names(), ..Options::default() });
            let shared = Arc::new(Shared::new(plan));
            let options =
                TeamOptions { key: StreamKey { seed: 1, ..StreamKey::default() }, epoch: 0, mark: false };
            let run = team::run(plan, &shared, |worker| machine.worker(worker), options, &NoWatcher);
            assert!(run.fault.is_none(), "{name}: {:?}", run.fault);
            let all = numbers::numbers(plan, &run, 0);
            let known = numbers::known(plan);
            for number in all.keys() {
                assert!(known.contains(number), "{name}: {number} is not announced");
            }
            for metric in results::evaluate(&case.specs, &all, &case.bound.scope) {
                assert!(metric.value.is_some_and(f64::is_finite), "{name}: {} has no value", metric.name);
            }
            assert!(!numbers::steps(plan, &run).is_empty(), "{name} has no steps");
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} cases were small enough");
}

/// Small loads: one for each kind of request, with what it needs to be one.
const SMALL: &[&str] = &[
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nWriteX 1 0 4096 4096 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nFlush 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nReadX 1 0 0 0 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nLockX 1 0 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nUnlockX 1 0 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nQUERY_FILE_INFORMATION 1 258 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nSET_FILE_INFORMATION 1 258 NT_STATUS_OK\nClose 1 NT_STATUS_OK\n",
    "Mkdir \"\\d\" NT_STATUS_OK\n",
    "Mkdir \"\\d\" NT_STATUS_OK\nRmdir \"\\d\" NT_STATUS_OK\n",
    "Mkdir \"\\d\" NT_STATUS_OK\nDeltree \"\\d\" NT_STATUS_OK\n",
    "QUERY_PATH_INFORMATION \"\\a\" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND\n",
    "QUERY_FS_INFORMATION 1 NT_STATUS_OK\n",
    "FIND_FIRST \"\\*\" 260 1366 1 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\nUnlink \"\\a\" 0x6 NT_STATUS_OK\n",
    "NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK\nClose 1 NT_STATUS_OK\nRename \"\\a\" \"\\b\" NT_STATUS_OK\n",
];

/// The cases of a shipped profile, ready to run; a refusal is a failure.
fn prepared(id: &str, sets: &[(String, String)]) -> Vec<prepare::Prepared> {
    let facts = Facts { cpus: 2, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 4096 };
    let library = Library::new(ioscore::ops::verbs());
    let suite = library.suite_of(&[id.to_string()]).expect("a shipped profile is sound");
    let request = Request { sets: sets.to_vec(), presets: vec!["quick".into()], ..Request::default() };
    let (planned, _) = suite.plan(&library, library.verbs(), &request, &facts).expect("it can be planned");
    prepare::prepare(planned).unwrap_or_else(|problems| panic!("{id} {sets:?}: {problems:?}"))
}

/// The numbers that a load has, against those that it should have: one for each kind of its requests.
fn has_its_lines(path: &std::path::Path) -> Vec<Kind> {
    let text = std::fs::read(path).expect("the load can be read");
    let stream = loadfile::read(&text).expect("the load is one");
    let kinds = Kind::ALL.iter().filter(|kind| stream.count(**kind) > 0 && !kind.key().is_empty());
    let kinds: Vec<Kind> = kinds.copied().collect();
    let mut expected: Vec<String> = kinds.iter().map(|kind| format!("{} p99", kind.key())).collect();
    if kinds.iter().any(|kind| kind.moves()) {
        expected.push("Throughput".into());
    }
    expected.sort();
    let cases = prepared("dbench", &[("loadfile".to_string(), path.display().to_string())]);
    assert_eq!(cases.len(), 2);
    for case in cases {
        assert!(case.plan.is_ok(), "{:?}", case.plan);
        let mut names: Vec<String> = case.specs.iter().map(|spec| spec.name.clone()).collect();
        assert_eq!(case.specs.iter().filter(|spec| spec.primary).count(), 1, "{names:?}");
        let declared: Vec<&String> = case.about.metrics.iter().map(|metric| &metric.name).collect();
        assert_eq!(declared, names.iter().collect::<Vec<_>>());
        names.sort();
        assert_eq!(names, expected, "{}", path.display());
    }
    kinds
}

#[test]
fn a_load_has_a_line_for_each_kind_of_its_requests_and_needs_no_other() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("load");
    let mut seen = Vec::new();
    for text in SMALL {
        assert!(text.lines().count() <= 3);
        std::fs::write(&path, text).expect("the load is written");
        seen.extend(has_its_lines(&path));
    }
    for kind in Kind::ALL.iter().filter(|kind| !kind.key().is_empty()) {
        assert!(seen.contains(kind), "no small load has {kind:?}");
    }
    let whole = std::path::Path::new("/usr/share/dbench/client.txt");
    if whole.is_file() {
        assert_eq!(has_its_lines(whole).len(), 16);
    }
}

#[test]
fn the_mix_has_a_line_for_each_of_its_operations() {
    for case in prepared("dbench-mix", &[]) {
        let plan = case.plan.as_ref().expect("it compiles");
        let stats = plan.phases.iter().flat_map(|phase| &phase.stats);
        let operations = stats.filter(|stat| matches!(stat.kind, StatKind::Data | StatKind::Operation));
        let mut keys: Vec<&str> = operations.map(|stat| stat.key.as_str()).collect();
        keys.sort_unstable();
        keys.dedup();
        assert!(keys.len() >= 15, "{keys:?}");
        for key in keys {
            let name = format!("{key} p99");
            assert!(case.specs.iter().any(|spec| spec.name == name), "there is no {name}");
        }
    }
}
