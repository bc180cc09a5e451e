//! Our `fs-mark` profile makes the calls the original makes, option by option, side by side.

use crate::common;

use common::{Multiset, Run, need, ours, scratch};

/// The original's options, and the same thing said to our profile.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)]);

const SMALL: [(&str, &str); 2] = [("size", "40000"), ("files", "10")];

const ROWS: [Row; 13] = [
    ("-s 1048576 -n 20", &[("files", "20")]),
    ("-s 1048576 -n 20 -S 0", &[("files", "20"), ("flush", "never")]),
    ("-s 1048576 -n 5 -t 4", &[("files", "5"), ("workers", "4")]),
    ("-s 1048576 -n 40 -D 32", &[("files", "40"), ("subdirs", "32")]),
    ("-s 1048576 -n 40 -D 32 -N 2", &[("files", "40"), ("subdirs", "32"), ("rotate", "2")]),
    ("-s 40000 -n 10 -S 2", &[SMALL[0], SMALL[1], ("flush", "first"), ("sync_all", "true")]),
    ("-s 40000 -n 10 -S 3", &[SMALL[0], SMALL[1], ("flush", "reverse")]),
    ("-s 40000 -n 10 -S 4", &[SMALL[0], SMALL[1], ("flush", "reverse"), ("sync_all", "true")]),
    ("-s 40000 -n 10 -S 5", &[SMALL[0], SMALL[1], ("flush", "in_order")]),
    ("-s 40000 -n 10 -S 6", &[SMALL[0], SMALL[1], ("flush", "in_order"), ("sync_all", "true")]),
    ("-s 50000 -n 4 -L 2", &[("size", "50000"), ("files", "4"), ("rounds", "2")]),
    ("-s 0 -n 4", &[("size", "0"), ("files", "4")]),
    ("-s 16384 -n 4 -w 4096", &[("size", "16KiB"), ("files", "4"), ("block", "4KiB")]),
];

/// How many there are, for the page.
pub const NUMBER: usize = ROWS.len();

/// Waking and waiting at the two ends of a phase, for each worker.
const MEETINGS: u64 = 8;

#[test]
fn the_same_calls_with_every_option() {
    let test = "fidelity_fs_mark::the_same_calls_with_every_option";
    let Some([fs_mark, strace]) = need(test, ["fs_mark", "strace"]) else { return };
    let mut failures = Vec::new();
    for (options, sets) in ROWS {
        let (theirs_in, ours_in) = (scratch(), scratch());
        // Its log lies outside the directory it works in.
        let (work, log) = (theirs_in.path().join("w"), theirs_in.path().join("log"));
        let mut args = vec!["-d".as_ref(), work.as_os_str(), "-l".as_ref(), log.as_os_str()];
        args.extend(options.split(' ').map(std::ffi::OsStr::new));
        let theirs = Run::new(&fs_mark, args, theirs_in.path()).trace(&strace);
        let theirs = Multiset::of(theirs.under(&work));
        assert!(!theirs.is_empty(), "fs_mark {options} did nothing");

        let trace = ours::trace(&strace, ours_in.path(), "fs-mark:1000-files", sets, &[]);
        let phases = trace.phases().unwrap_or_else(|e| panic!("fs_mark {options}: {e}"));
        let window = trace.marked().unwrap_or_else(|e| panic!("fs_mark {options}: {e}"));
        let workers = if options.contains("-t 4") { 4 } else { 1 };
        window.assert_other_at_most(MEETINGS * workers * phases.len() as u64);
        failures.extend(window.files.difference(&theirs).map(|text| format!("fs_mark {options}\n{text}")));
    }
    assert!(failures.is_empty(), "{} rows differ:\n\n{}", failures.len(), failures.join("\n"));
}
