//! Our `postmark` profile makes the calls the original makes, in its order, on files of its names.

use crate::common;

use common::calls::key;
use common::pipeline::{plans, shipped, simulate};
use common::strace::Syscall;
use common::{Multiset, Run, need, ours, scratch};
use ioscore::os::sim::{Op, Options};
use ioscore::vm::random::StreamKey;

/// Waking and waiting at the two ends of a phase.
const MEETINGS: u64 = 8;

/// A call with the last name of its path: what both programs call alike.
fn step(call: &&Syscall) -> String {
    let name = call.paths.last().and_then(|path| path.file_name()).unwrap_or_default();
    format!("{} {}", key(call), name.display())
}

fn compare(test: &str, settings: &[&str], sets: &[(&str, &str)]) {
    let Some([postmark, strace]) = need(test, ["postmark", "strace"]) else { return };
    let (theirs_in, ours_in) = (scratch(), scratch());
    let (work, config) = (theirs_in.path().join("w"), theirs_in.path().join("config"));
    std::fs::create_dir(&work).expect("the work directory is made");
    let lines: String = settings.iter().map(|line| format!("set {line}\n")).collect();
    let location = work.to_str().expect("temporary paths are text");
    std::fs::write(&config, format!("{lines}set location {location}\nrun\nquit\n")).expect("it is written");
    let theirs = Run::new(&postmark, [&config], theirs_in.path()).trace(&strace);
    let theirs = theirs.under(&work);

    let trace = ours::trace(&strace, ours_in.path(), "postmark", sets, &[]);
    let phases = trace.phases().unwrap_or_else(|e| panic!("{e}"));
    let window = trace.marked().unwrap_or_else(|e| panic!("{e}"));
    window.assert_other_at_most(MEETINGS * phases.len() as u64);
    common::assert_same(&window.files, &Multiset::of(theirs.iter().copied()));

    // One stream of random numbers, so the order is the same too.
    let target = ours_in.path().join("t");
    let on_files = |call: &&Syscall| call.paths.iter().any(|path| path.starts_with(&target));
    let ours = phases.iter().flat_map(|(_, calls)| calls.iter().copied().filter(on_files));
    for (at, (a, b)) in ours.zip(&theirs).enumerate() {
        assert_eq!(step(&a), step(b), "call {at} of {}", theirs.len());
    }
}

#[test]
fn buffered() {
    let settings = ["transactions 200", "size 5120 524288", "number 50"];
    compare("fidelity_postmark::buffered", &settings, &[("transactions", "200"), ("files", "50")]);
}

#[test]
fn raw() {
    let settings = [
        "transactions 20",
        "size 500 10000",
        "number 5",
        "subdirectories 3",
        "buffering false",
        "read 4096",
        "write 1024",
    ];
    let sets = [
        ("transactions", "20"),
        ("smallest", "500"),
        ("largest", "10000"),
        ("files", "5"),
        ("subdirs", "3"),
        ("buffer", "none"),
        ("read_block", "4096"),
        ("write_block", "1024"),
    ];
    compare("fidelity_postmark::raw", &settings, &sets);
}

/// Known of the published configuration: seed 42, 500 files of 5120 to 524288 bytes.
const FIRST_SIZES: [u64; 8] = [151_156, 128_449, 163_292, 257_216, 268_498, 259_912, 426_122, 480_130];

#[test]
fn the_first_files_have_the_published_sizes() {
    let planned = plans("postmark.yaml", &shipped("postmark"), &[("transactions", "10")]).unwrap();
    let options = Options { trace: 10_000, ..Options::default() };
    let (run, disk) = simulate(&planned[0].1, options, StreamKey::default());
    assert_eq!(run.fault, None);
    let mut sizes: Vec<(String, u64)> = Vec::new();
    for event in disk.trace() {
        match event.op {
            Op::Open => sizes.push((event.name.clone(), 0)),
            Op::Write => {
                let (name, size) = sizes.last_mut().expect("a file is open");
                assert_eq!(*name, event.name);
                *size += event.result.unwrap().unwrap();
            }
            _ => {}
        }
    }
    let expected: Vec<_> = (1..).map(|n: u32| n.to_string()).zip(FIRST_SIZES).collect();
    assert_eq!(sizes.get(..8), Some(&expected[..]));
}
