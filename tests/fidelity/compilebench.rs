//! One tree of each phase makes the calls that compilebench makes. The program needs an interpreter
//! that Debian no longer has: its counts, taken with strace on tmpfs, stand in for it.

use crate::common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::pipeline::{plans_with, shipped};
use ioscore::os::sim::script::Op;
use ioscore::os::sim::trace::{Detail, Event};
use ioscore::os::sim::{Options, SimFs};
use ioscore::plan::instr::Plan;
use ioscore::vm::random::StreamKey;
use ioscore::vm::shared::Shared;
use ioscore::vm::team::{NoWatcher, TeamOptions, run};

fn plan(sets: &[(&str, &str)]) -> Arc<Plan> {
    let cases = plans_with("compilebench.yaml", &shipped("compilebench"), &[], sets);
    Arc::clone(&cases.unwrap_or_else(|problems| panic!("{problems}"))[0].1)
}

/// The calls of each phase, on the simulation.
fn phases(plan: &Arc<Plan>) -> BTreeMap<String, Vec<Event>> {
    let disk = SimFs::new(Options { trace: 1 << 20, names: true, ..Options::default() });
    let shared = Arc::new(Shared::new(plan));
    let options = TeamOptions { key: StreamKey::default(), epoch: 0, mark: true };
    let done = run(plan, &shared, |worker| disk.worker(worker), options, &NoWatcher);
    assert_eq!(done.fault, None);
    let mut found = BTreeMap::new();
    let mut phase: Option<String> = None;
    for event in disk.trace() {
        if let (Op::Mark, Detail::Text(text)) = (event.op, &event.detail) {
            phase = text.strip_prefix("ioscore:begin:").map(str::to_string);
        } else if let Some(phase) = &phase {
            found.entry(phase.clone()).or_insert_with(Vec::new).push(event);
        }
    }
    found
}

fn count(events: &[Event], f: impl Fn(&Event) -> bool) -> u64 {
    events.iter().filter(|event| f(event)).count() as u64
}

fn flags(event: &Event) -> i32 {
    match event.detail {
        Detail::Open { flags, .. } => flags,
        _ => 0,
    }
}

fn opens(events: &[Event], wanted: i32) -> u64 {
    let mask = libc::O_ACCMODE | libc::O_CREAT | libc::O_APPEND | libc::O_DIRECTORY | libc::O_PATH;
    count(events, |event| event.op == Op::Open && flags(event) & mask == wanted)
}

fn of(events: &[Event], op: Op) -> u64 {
    count(events, |event| event.op == op)
}

fn moved(events: &[Event], op: Op) -> u64 {
    events.iter().filter(|event| event.op == op).filter_map(|event| event.result.ok().flatten()).sum()
}

/// Within 2 % of the published number.
fn near(found: u64, published: u64, what: &str) {
    let share = found as f64 / published as f64;
    assert!((0.98..=1.02).contains(&share), "{what}: {found}, published {published}");
}

/// `O_PATH` descriptors stand for the looks at parent directories that the original takes by name.
const HANDLE: i32 = libc::O_PATH | libc::O_DIRECTORY;
const WRITTEN: i32 = libc::O_RDWR | libc::O_CREAT | libc::O_APPEND;

#[test]
fn one_tree_of_each_phase_makes_the_published_calls() {
    let plan = plan(&[("trees", "1"), ("reads", "1"), ("order", "sorted")]);
    let phases = phases(&plan);

    let create = &phases["create"];
    assert_eq!(opens(create, WRITTEN), 21_280);
    assert_eq!(of(create, Op::Fstat), 42_560);
    assert_eq!(of(create, Op::Seek), 21_280);
    assert_eq!(of(create, Op::Close) - opens(create, HANDLE), 21_280);
    assert_eq!(of(create, Op::Mkdir), 1_264);
    assert_eq!(moved(create, Op::Write), 233_176_153);
    near(of(create, Op::Write), 31_951, "writes of create");
    assert_eq!(of(create, Op::Pwrite) + of(create, Op::Unlink) + of(create, Op::Read), 0);

    let compile = &phases["compile"];
    assert_eq!(opens(compile, WRITTEN), 3_263);
    assert_eq!(of(compile, Op::Fstat), 6_526);
    assert_eq!(of(compile, Op::Seek), 3_263);
    assert_eq!(of(compile, Op::Close) - opens(compile, HANDLE), 3_263);
    let made = |ok: bool| count(compile, |event| event.op == Op::Mkdir && event.result.is_ok() == ok);
    assert_eq!((made(true), made(false)), (247, 130), "directories made, and those that were there");
    assert_eq!(moved(compile, Op::Write), 713_696_760);
    near(of(compile, Op::Write), 9_484, "writes of compile");

    let read = &phases["read"];
    assert_eq!(opens(read, libc::O_RDONLY), 24_543);
    assert_eq!(opens(read, libc::O_DIRECTORY), 1_511);
    assert_eq!(of(read, Op::Getdents), 3_022);
    assert_eq!(of(read, Op::Fstat), 49_086 + 1_511);
    assert_eq!(of(read, Op::Stat), 26_053 + 1_510, "each entry, and each directory once more");
    assert_eq!(of(read, Op::Close) - opens(read, HANDLE), 26_054);
    assert_eq!(moved(read, Op::Read), 946_872_913);
    let empty = count(read, |event| event.op == Op::Read && event.result == Ok(Some(0)));
    assert_eq!(empty, 48_676, "reads past the end");
    near(of(read, Op::Read), 74_924, "reads");

    let delete = &phases["delete"];
    assert_eq!(of(delete, Op::Unlink), 24_543);
    assert_eq!(of(delete, Op::Rmdir), 1_510, "the tree's own directory stays");
    assert_eq!(opens(delete, libc::O_DIRECTORY), 1_511);
    assert_eq!(of(delete, Op::Getdents), 3_022);
    assert_eq!(of(delete, Op::Stat), 26_053 + 1_510);
    assert_eq!(of(delete, Op::Fstat), 1_511);
    assert_eq!(of(delete, Op::Close) - opens(delete, HANDLE), 1_511);
}

#[test]
fn the_order_of_the_file_system_changes_the_order_and_nothing_else() {
    let names = |order: &str| {
        let plan = plan(&[("trees", "1"), ("reads", "1"), ("order", order), ("size", "small")]);
        let create = phases(&plan).remove("create").unwrap();
        let written = |event: &Event| event.op == Op::Open && flags(event) & libc::O_CREAT != 0;
        create.into_iter().filter(written).map(|event| event.name).collect::<Vec<_>>()
    };
    let (readdir, shuffled) = (names("readdir"), names("shuffled"));
    assert!(readdir != shuffled, "one order of the file system, one of none");
    let set = |names: &[String]| names.iter().cloned().collect::<std::collections::BTreeSet<_>>();
    assert!(set(&readdir) == set(&shuffled), "the same files");
    // A walk from the top: a directory's files come before those of the directories below.
    let depth = |name: &str| name.split('/').count();
    assert!(readdir.first().is_some_and(|name| depth(name) == 2), "{:?}", readdir.first());
    assert_eq!(readdir.len(), 2_128);
}

#[test]
fn ones_own_list_is_followed_exactly() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("list");
    std::fs::write(&list, "a/one 5000\na/two 0\nb/c/three 600000\nfour 262144\n").unwrap();
    let sets = [("trees", "1"), ("reads", "1"), ("order", "sorted"), ("list", list.to_str().unwrap())];
    let plan = plan(&sets);
    let mut phases = phases(&plan);
    let (create, read) = (phases.remove("create").unwrap(), phases.remove("read").unwrap());
    let writes: Vec<u64> = create
        .iter()
        .filter(|event| event.op == Op::Write)
        .filter_map(|event| event.result.ok().flatten())
        .collect();
    // Sorted by directory: the top first. 600000 is three pieces of 256 KiB at most: the first goes out
    // whole, each later one fills a block of the buffer first.
    assert_eq!(writes, [262_144, 4096, 904, 262_144, 4096, 258_048, 4096, 69_632, 1_984]);
    assert_eq!(opens(&create, WRITTEN), 4);
    assert_eq!(of(&create, Op::Mkdir), 4, "the tree, a, b and b/c");
    // A piece that does not come whole is asked
    // for again, in whole blocks; the end is seen with a whole piece.
    let reads = |path: &str| -> Vec<(u64, u64)> {
        let of_file = read.iter().filter(|event| event.op == Op::Read && event.name.ends_with(path));
        let range = |event: &Event| match event.detail {
            Detail::Range(_, len) => (len, event.result.ok().flatten().unwrap_or(0)),
            _ => (0, 0),
        };
        of_file.map(range).collect()
    };
    let piece = 262_144;
    assert_eq!(reads("a/one"), [(piece, 5000), (253_952, 0), (piece, 0)]);
    assert_eq!(reads("a/two"), [(piece, 0)]);
    assert_eq!(
        reads("b/c/three"),
        [(piece, piece), (piece, piece), (piece, 75_712), (184_320, 0), (piece, 0)]
    );
    assert_eq!(reads("/four"), [(piece, piece), (piece, 0)]);
}

#[test]
fn ones_own_list_may_have_no_directories() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("list");
    std::fs::write(&list, "one 5000\ntwo 100\n").unwrap();
    let own = list.to_str().unwrap();
    let plan = plan(&[("trees", "1"), ("reads", "1"), ("size", "small"), ("list", own)]);
    for list in plan.datasets.iter() {
        assert_eq!(list.dirs.len(), 1, "{} has only the tree itself", list.name);
        assert!(list.files.iter().all(|file| !list.path(file).contains('/')), "{}", list.name);
    }
    assert_eq!(plan.datasets[0].files.len(), 2);
    let phases = phases(&plan);
    assert_eq!(of(&phases["create"], Op::Mkdir), 1);
    assert!(opens(&phases["compile"], WRITTEN) > 0);
    assert_eq!(of(&phases["delete"], Op::Rmdir), 0, "the tree's own directory stays");
}

#[test]
fn what_the_trees_take_is_known_before_they_are_written() {
    let needs = ioscore::plan::needs::needs(&plan(&[("trees", "2")]));
    assert_eq!(needs.bytes.peak, Some(2 * (233_176_153 + 713_696_760)));
    let names = needs.inodes.peak.unwrap();
    assert!((2 * 26_053..2 * 26_500).contains(&names), "{names}");
    // Everything is written once: two trees created, and each of them compiled.
    assert_eq!(needs.written, Some(2 * (233_176_153 + 713_696_760)));
}

#[test]
fn trees_grow_old() {
    let sets = [("mode", "ageing"), ("trees", "12"), ("runs", "40"), ("size", "small"), ("order", "sorted")];
    let cases = plans_with("compilebench.yaml", &shipped("compilebench"), &[], &[]).unwrap();
    assert_eq!(cases.len(), 3);
    let cases = plans_with("compilebench.yaml", &shipped("compilebench"), &[], &sets).unwrap();
    let plan = Arc::clone(&cases.iter().find(|(case, _)| case.case_id == "ageing").unwrap().1);
    let phases = phases(&plan);
    let age = &phases["age"];
    assert!(of(age, Op::Sync) >= 35, "nearly every operation ends with a sync: {}", of(age, Op::Sync));
    assert_eq!(of(age, Op::DropCaches), 40);
    // Each of the seven does something.
    assert!(
        of(age, Op::Unlink) > 0 && of(age, Op::Write) > 0 && of(age, Op::Read) > 0 && of(age, Op::Rmdir) > 0
    );
    assert!(of(age, Op::Truncate) > 0, "patched files are read, emptied and written anew");
}

#[test]
fn every_stage_goes_over_every_tree() {
    let sets = [("mode", "stages"), ("trees", "2"), ("size", "small"), ("order", "sorted")];
    let cases = plans_with("compilebench.yaml", &shipped("compilebench"), &[], &sets).unwrap();
    let plan = Arc::clone(&cases.iter().find(|(case, _)| case.case_id == "stages").unwrap().1);
    let phases = phases(&plan);
    let [clean, objects, patch] = [0, 1, 2].map(|list| plan.datasets[list].files.len() as u64);
    assert_eq!(opens(&phases["create"], WRITTEN), 2 * clean);
    assert_eq!(opens(&phases["compile"], WRITTEN), 2 * objects);
    assert!(of(&phases["look"], Op::Read) >= 2 * (clean + objects));
    assert_eq!(of(&phases["tidy"], Op::Unlink), 2 * objects);
    assert_eq!(opens(&phases["patch"], WRITTEN), 2 * patch);
    assert!(of(&phases["check"], Op::Stat) >= 2 * clean);
    assert!(of(&phases["remove"], Op::Unlink) >= 2 * clean);
    for stage in ["tidy", "patch", "remove"] {
        assert_eq!(of(&phases[stage], Op::Sync), 2, "{stage}: within each tree's time");
    }
}
