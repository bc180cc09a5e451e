//! Our `dd` profile makes the calls dd makes on its output. Its input is a file of its own, ours
//! lies in memory: reading it is not compared.
//!
//! Two things dd can do are not said by the profile. A last block too short for a direct write
//! (`bs=3M oflag=direct` of 10 MiB) makes dd take the flag off, write, sync and drop the block from
//! the cache: our blocks are all of one size, and no step changes the flags of an open file. `ibs=`
//! and `obs=` collect short blocks into long ones: our block is both.

use crate::common;

use std::path::Path;

use common::calls::key;
use common::select::without_descriptor_moves;
use common::{Run, need, ours, scratch, skip};

/// dd's arguments, the case of our profile, and its parameters.
type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

const ROWS: [Row; 13] = [
    ("bs=1M count=3", "plain", &[]),
    ("bs=1M count=1", "plain", &[("count", "1")]),
    ("bs=1M count=3 conv=fdatasync", "fdatasync", &[]),
    ("bs=1M count=3 conv=fsync", "fsync", &[]),
    ("bs=1M count=3 oflag=dsync", "dsync", &[]),
    ("bs=1M count=3 oflag=sync", "sync", &[]),
    ("bs=1M count=3 oflag=direct", "direct", &[]),
    ("bs=1M count=3 seek=2", "seek", &[("seek", "2")]),
    ("bs=1M count=3 conv=notrunc", "notrunc", &[]),
    ("bs=1M count=3 oflag=append conv=notrunc", "append", &[]),
    ("bs=1M count=3 oflag=nocache", "nocache", &[]),
    ("bs=1M count=3 oflag=nocache seek=2", "nocache", &[("seek", "2"), ("flags", "[]")]),
    ("bs=10M count=1", "plain", &[("block", "10MiB"), ("count", "1")]),
];

/// How many there are, for the page.
pub const NUMBER: usize = ROWS.len();

/// Waking and waiting at the two ends of a phase.
const MEETINGS: u64 = 8;

#[test]
fn the_same_calls_on_the_output() {
    let test = "fidelity_dd::the_same_calls_on_the_output";
    let Some([dd, strace]) = need(test, ["dd", "strace"]) else { return };
    let mut failures = Vec::new();
    for (args, case, sets) in ROWS {
        let (theirs_in, ours_in) = (scratch(), scratch());
        if args.contains("direct") && !takes_direct(theirs_in.path()) {
            skip(&format!("{test} {args}"), "the temporary directory's file system refuses direct writes");
            continue;
        }
        let (input, output) = (theirs_in.path().join("in"), theirs_in.path().join("out"));
        std::fs::write(&input, vec![b'x'; 10 << 20]).expect("the input is written");
        let files = [format!("if={}", input.display()), format!("of={}", output.display())];
        let all = files.iter().map(String::as_str).chain(args.split(' '));
        let theirs = Run::new(&dd, all, theirs_in.path()).trace(&strace);
        let theirs: Vec<String> =
            without_descriptor_moves(&theirs.under(&output)).into_iter().map(exact).collect();
        assert!(theirs.len() > 2, "dd {args} did nothing: {theirs:?}");

        let sets: Vec<_> = [("count", "3")].iter().chain(sets).copied().collect();
        let trace = ours::trace(&strace, ours_in.path(), &format!("dd:{case}"), &sets, &[]);
        let phases = trace.phases().unwrap_or_else(|e| panic!("dd {args}: {e}"));
        let window = trace.marked().unwrap_or_else(|e| panic!("dd {args}: {e}"));
        window.assert_other_at_most(MEETINGS * phases.len() as u64);
        let other = |call: &&&_| !common::select::is_no_file(call);
        let calls = phases.iter().flat_map(|(_, calls)| calls.iter().filter(other));
        let ours: Vec<String> = calls.map(|c| exact(c)).collect();
        if ours != theirs {
            failures.push(format!("dd {args}\nours   {ours:#?}\ntheirs {theirs:#?}"));
        }
    }
    assert!(failures.is_empty(), "{} rows differ:\n\n{}", failures.len(), failures.join("\n"));
}

/// The key of a call, and the range a hint is for.
fn exact(call: &common::strace::Syscall) -> String {
    let range = if call.name == "fadvise64" { call.args[1..3].join("+") } else { String::new() };
    let at = if call.name == "lseek" { call.args[1].clone() } else { String::new() };
    format!("{} {range}{at}", key(call)).trim_end().to_owned()
}

fn takes_direct(dir: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).custom_flags(libc::O_DIRECT).open(dir.join("probe")).is_ok()
}
