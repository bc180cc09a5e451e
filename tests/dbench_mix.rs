//! The mix that stands for dbench's load has the shape of that load's unit of work: so many requests
//! of each kind, of these sizes, so many writes before each fsync, on so many files.
//!
//! What is published is the whole load, which is 129 units after a short beginning.

mod common;

use std::collections::BTreeMap;
use std::sync::Arc;

use common::pipeline::{plans, shipped, total};
use ioscore::os::sim::script::Op;
use ioscore::os::sim::trace::Detail;
use ioscore::os::sim::{Options, SimFs};
use ioscore::plan::instr::{Plan, Until};
use ioscore::vm::random::StreamKey;
use ioscore::vm::shared::Shared;
use ioscore::vm::stat::Stat;
use ioscore::vm::team::{self, TeamOptions, TeamRun, Watcher};

const UNITS: u64 = 129;

/// Remembers calls from the first phase on: what is laid out is no part of the load.
struct FromThePhase(SimFs);

impl Watcher for FromThePhase {
    fn phase_begins(&self, _: &Plan, _: u16) {
        self.0.start_trace();
    }
}

/// Runs whole decks of one client, as many as the load has units.
fn run() -> (Arc<Plan>, TeamRun, SimFs) {
    let planned = plans("dbench-mix.yaml", &shipped("dbench-mix"), &[]).unwrap();
    let mut plan = Plan::clone(&planned[0].1);
    let cards = plan.mixes[0].table.len() as u64;
    for lp in plan.loops.iter_mut().filter(|lp| lp.phase) {
        (lp.until, lp.ramp) = (Until::Times(cards * UNITS), 0);
    }
    let plan = Arc::new(plan);
    let disk = SimFs::new(Options { trace: 4_000_000, trace_later: true, ..Options::default() });
    let shared = Arc::new(Shared::new(&plan));
    let options = TeamOptions { key: StreamKey::default(), epoch: 1_600_000_000, mark: false };
    let run = team::run(&plan, &shared, |id| disk.worker(id), options, &FromThePhase(disk.clone()));
    assert_eq!(run.fault, None);
    (plan, run, disk)
}

/// Within one in a hundred.
fn close(what: &str, found: u64, published: u64) {
    let ratio = found as f64 / published as f64;
    assert!((0.99..=1.01).contains(&ratio), "{what}: {found}, published {published}");
}

#[test]
fn a_deck_has_the_shape_of_a_unit() {
    let (plan, run, disk) = run();
    let count = |key: &str, of: fn(&Stat) -> u64| total(&plan, &run, "run", key, of);
    let ops = |key: &str| count(key, |stat| stat.ops);
    // Every card counts as a block, every deck as a deck.
    assert_eq!(ops("unit"), (plan.mixes[0].table.len() as u64 + 1) * UNITS);
    for (what, found, published) in [
        ("reads", ops("read"), 124_199),
        ("writes", ops("write"), 39_502),
        ("opens and creations", ops("create") + ops("open") - count("open", |s| s.errors), 58_200),
        ("opens of what is not there", count("open", |s| s.errors), 21_030),
        ("creations", ops("create"), 16_056),
        ("closes", ops("close"), 58_200),
        ("looks at a path that is there", ops("query_path"), 47_429),
        ("looks at a path that is not", ops("query_path_missing"), 24_256 + 129),
        ("searches of a directory", ops("find_first"), 27_765),
        ("deletions", ops("unlink"), 16_000),
        ("looks at free space", ops("statfs"), 13_168),
        ("looks at an open file", ops("query_file"), 12_585),
        ("times set", ops("utimes"), 6_454),
        ("fsyncs", ops("fsync"), 5_553),
        ("renames", ops("rename"), 3_355),
        ("locks", ops("lock"), 258),
        ("locks given back", ops("unlock"), 258),
        // Of the units alone: the beginning of the load writes 21.2 MB more.
        ("bytes read", count("read", |s| s.bytes), 11_411_000 * UNITS),
        ("bytes written", count("write", |s| s.bytes), 7_712_000 * UNITS),
    ] {
        close(what, found, published);
    }
    assert_eq!(count("read", |s| s.missed), 0, "the load has no short read");

    let (mut reads, mut writes) = (BTreeMap::new(), BTreeMap::new());
    let (mut since, mut flushes) = (BTreeMap::new(), BTreeMap::new());
    let mut live: u64 = plan.sets.iter().map(|set| set.count).sum();
    assert_eq!(live, 57);
    let mut most = live;
    disk.look(|event| match (event.op, &event.detail) {
        _ if event.result.is_err() => {}
        (Op::Open, Detail::Open { flags, .. }) => {
            since.insert(event.name.clone(), 0u64);
            live += u64::from(flags & libc::O_CREAT != 0);
            most = most.max(live);
        }
        (Op::Unlink, _) => live -= 1,
        (Op::Read | Op::Pread, Detail::Range(_, len)) => *reads.entry(*len).or_insert(0u64) += 1,
        (Op::Write | Op::Pwrite, Detail::Range(_, len)) => {
            *writes.entry(*len).or_insert(0u64) += 1;
            *since.entry(event.name.clone()).or_default() += 1;
        }
        (Op::Fsync, _) => {
            let before = since.insert(event.name.clone(), 0).unwrap_or(0);
            *flushes.entry(before).or_insert(0u64) += 1;
        }
        _ => {}
    });
    let dirs = (0..9).map(|n| format!("/~dmtmp/app{n}")).chain(["".into(), "/~dmtmp".into()]);
    let dirs: Vec<String> = dirs.map(|dir| format!("clients/client0{dir}")).collect();
    assert_eq!(dirs.len(), 11);
    assert!(dirs.iter().all(|dir| disk.stat(dir).is_ok_and(|stat| stat.directory)), "{dirs:?}");
    assert!((57..=85).contains(&most), "{most}");
    let published = [
        (4096, 83_172),
        (61_440, 16_641),
        (2048, 4_644),
        (8192, 4_644),
        (16_384, 1_937),
        (512, 1_161),
        (543, 648),
        (1024, 645),
    ];
    published.iter().for_each(|(size, n)| close(&format!("reads of {size}"), reads[size], *n));
    let published =
        [(65_536, 12_658), (4096, 9_942), (1, 7_424), (2048, 1_677), (8192, 1_164), (510, 387), (53, 258)];
    published.iter().for_each(|(size, n)| close(&format!("writes of {size}"), writes[size], *n));
    let published = [(1, 3_323), (2, 448), (3, 418), (4, 337), (5, 229), (6, 200)];
    published.iter().for_each(|(n, count)| close(&format!("{n} writes before an fsync"), flushes[n], *count));
}
