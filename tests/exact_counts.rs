//! The counts and bytes of an original with a published stream of operations, computed by the
//! profile alone and run on the simulation.

mod common;

use common::pipeline::{plans, shipped, simulate, total};
use ioscore::os::sim::{Op, Options};
use ioscore::vm::random::StreamKey;

/// What one configuration of PostMark does (seed 42): files created, read, appended to, appends
/// skipped at the size limit, deleted in the end, bytes written and read, calls of write and read.
struct Row {
    sets: &'static [(&'static str, &'static str)],
    created: u64,
    read: u64,
    appended: u64,
    skipped: u64,
    deleted_last: u64,
    written: u64,
    bytes_read: u64,
    writes: u64,
    reads: u64,
}

fn check(row: &Row) {
    let planned = plans("postmark.yaml", &shipped("postmark"), row.sets).unwrap();
    let plan = &planned[0].1;
    let (run, disk) = simulate(plan, Options::default(), StreamKey::default());
    assert_eq!(run.fault, None);
    let ops = |phase: &str, key: &str| total(plan, &run, phase, key, |s| s.ops);
    let bytes = |phase: &str, key: &str| total(plan, &run, phase, key, |s| s.bytes);
    let created = ops("create", "create") + ops("work", "create");
    assert_eq!(created, row.created, "created");
    assert_eq!(ops("create", "new_file") + ops("work", "new_file"), row.created, "labelled blocks");
    assert_eq!(ops("work", "read_file"), row.read, "read");
    assert_eq!(ops("work", "append_file"), row.appended, "appended");
    let transactions: u64 =
        row.sets.iter().find(|(k, _)| *k == "transactions").map_or(250_000, |(_, v)| v.parse().unwrap());
    assert_eq!(transactions - row.read - row.appended, row.skipped, "appends skipped at the size limit");
    let deleted = ops("work", "unlink");
    assert_eq!(ops("delete", "remove_all"), row.deleted_last, "deleted in the end");
    assert_eq!(deleted + row.deleted_last, created, "deleted");
    let writes =
        |f: &dyn Fn(&str, &str) -> u64| f("create", "write") + f("work", "write") + f("work", "append");
    assert_eq!(writes(&bytes), row.written, "bytes written");
    assert_eq!(bytes("work", "read"), row.bytes_read, "bytes read");
    assert_eq!(writes(&ops), row.writes, "calls of write");
    assert_eq!(ops("work", "read"), row.reads, "calls of read");
    assert_eq!(disk.statfs().files_free, disk.statfs().files - 1, "nothing is left but the root");
}

#[test]
fn two_hundred_transactions() {
    check(&Row {
        sets: &[("transactions", "200"), ("files", "50")],
        created: 142,
        read: 115,
        appended: 85,
        skipped: 0,
        deleted_last: 34,
        written: 47_445_480,
        bytes_read: 36_549_315,
        writes: 11_700,
        reads: 8_974,
    });
}

#[test]
fn twenty_five_thousand_transactions() {
    check(&Row {
        sets: &[("transactions", "25000")],
        created: 12_978,
        read: 12_475,
        appended: 12_512,
        skipped: 13,
        deleted_last: 456,
        written: 4_534_409_541,
        bytes_read: 4_343_654_783,
        writes: 1_120_218,
        reads: 1_066_463,
    });
}

#[test]
fn two_hundred_and_fifty_thousand_transactions() {
    check(&Row {
        sets: &[],
        created: 125_608,
        read: 125_224,
        appended: 124_584,
        skipped: 192,
        deleted_last: 716,
        written: 44_053_243_649,
        bytes_read: 43_866_388_338,
        writes: 10_884_310,
        reads: 10_769_654,
    });
}

#[test]
fn raw_files_in_three_subdirectories() {
    check(&Row {
        sets: &[
            ("transactions", "20"),
            ("smallest", "500"),
            ("largest", "10000"),
            ("files", "5"),
            ("subdirs", "3"),
            ("buffer", "none"),
            ("read_block", "4096"),
            ("write_block", "1024"),
        ],
        created: 15,
        read: 13,
        appended: 7,
        skipped: 0,
        deleted_last: 5,
        written: 99_811,
        bytes_read: 98_722,
        writes: 108,
        reads: 33,
    });
}

#[test]
fn dd_copies_no_block_one_or_several() {
    for (count, blocks) in [("0", 0), ("1", 1), ("7", 7)] {
        let planned = plans("dd.yaml", &shipped("dd"), &[("count", count)]).unwrap();
        let plan = &planned[0].1;
        let (run, _) = simulate(plan, Options::default(), StreamKey::default());
        assert_eq!(run.fault, None);
        assert_eq!(total(plan, &run, "copy", "write", |s| s.ops), blocks, "count={count}");
        assert_eq!(total(plan, &run, "copy", "write", |s| s.bytes), blocks << 20, "count={count}");
    }
}

/// The control of the dd method says that it makes no call, and makes none.
#[test]
fn the_control_of_the_dd_method_stays_in_memory() {
    let planned = plans("dd-method.yaml", &shipped("dd-method"), &[("count", "4")]).unwrap();
    for (case, plan) in planned {
        let options = Options { trace: 1 << 16, ..Options::default() };
        let (run, disk) = simulate(&plan, options, StreamKey::default());
        assert_eq!(run.fault, None);
        let transfers = disk
            .trace()
            .iter()
            .filter(|event| matches!(event.op, Op::Read | Op::Pread | Op::Write | Op::Pwrite))
            .count();
        let copies = matches!(case.case_id.as_str(), "1m-blocks" | "10m-blocks");
        assert_eq!(transfers > 0, copies, "{}: {transfers} transfers", case.case_id);
        assert!(total(&plan, &run, "copy", "moved", |s| s.bytes) >= 4 << 20, "{}", case.case_id);
    }
}
