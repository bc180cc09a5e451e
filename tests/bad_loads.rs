//! Recorded loads that cannot be used, and ones that go otherwise than recorded: the row says so, and
//! the next one runs.

mod program;

use program::{Place, rows};

const LOADS: &str = "\
profile: loads
version: 1.0.0
title: Loads
summary: A test of tests.
params:
  load: {type: file, default: good}
cases:
  - {id: tried, title: Tried, with: {load: tried}}
  - {id: after, title: After}
files: {tree: {dir: .}}
phases:
  - {phase: run, steps: [{replay: \"{{ load }}\", format: loadfile, in: tree, data: zero}]}
results:
  - {name: Bytes, value: run.bytes.total, better: higher, primary: true}
";

const GOOD: &str = "\
NTCreateX \"\\a\" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 4096 4096 NT_STATUS_OK
Close 1 NT_STATUS_OK
";

fn place(tried: &str) -> Place {
    let place = Place::with(&[LOADS]);
    place.write("good", GOOD);
    place.write("tried", tried);
    place
}

#[test]
fn a_load_that_cannot_be_used_ends_its_row_only() {
    for (tried, said, todo) in [
        (
            format!("{GOOD}Frobnicate 1 NT_STATUS_OK\n"),
            "tried:4:1: unknown operation \"Frobnicate\"",
            "the operations are ReadX",
        ),
        (
            format!("{GOOD}Flush 7 NT_STATUS_OK\n"),
            "tried:4:7: handle 7 is not open here",
            "an NTCreateX that succeeds must open it first",
        ),
        (
            format!("{GOOD}ReadX 1 0 40"),
            "tried:4:13: the line is cut short: 3 of ReadX's 5",
            "it takes handle, number, number, number, status",
        ),
        (
            format!("{GOOD}Mkdir \"\\d\" SOMETIMES\n"),
            "tried:4:12: unknown status \"SOMETIMES\"",
            "a line ends with NT_STATUS_OK",
        ),
        (
            format!("{GOOD}Mkdir \"\\d NT_STATUS_OK\n"),
            "tried:4:7: a quote that nothing closes",
            "add a second",
        ),
        ("# nothing\n".to_string(), "tried:1:1: no operation in the whole file", "write one a line"),
    ] {
        let place = place(&tried);
        let answer = place.run("one", &["loads.yaml"]).expect(1).says(&["loads:tried: failed", said, todo]);
        assert!(answer.out.contains(said) && answer.out.contains(todo), "{}", answer.out);
        assert_eq!(place.statuses("one"), ["tried: failed", "after: ok"]);
        let record = place.record("one");
        let reason = &rows(&record)[0]["reason"];
        assert!(reason["message"].as_str().is_some_and(|text| text.contains(said)), "{reason}");
        assert!(reason["what_to_do"].as_str().is_some_and(|text| text.contains(todo)), "{reason}");
        assert_eq!(rows(&record)[1]["metrics"][0]["value"], 4096.0);
        // Whoever only asks is told as well; it is no mistake of the profile, but one all the same.
        place.call(&["check", "loads.yaml"]).expect(2).says(&[]);
        let explained = place.call(&["explain", "loads.yaml:tried"]).expect(0).out;
        assert!(explained.contains(said) && explained.contains(todo), "{explained}");
        let dry = place.call(&["run", "loads.yaml", "--target", "t", "--dry-run"]).expect(0).out;
        assert!(dry.contains("would fail") && dry.contains(said), "{dry}");
    }
}

#[test]
fn a_load_that_is_not_there_is_a_mistake_of_the_command() {
    let place = place(GOOD);
    let answer = place.run("one", &["loads.yaml", "--set", "load=none"]).expect(2);
    assert!(answer.err.contains("none"), "{}", answer.err);
}

#[test]
fn a_load_that_goes_otherwise_is_doubtful_and_says_where() {
    let place = place(&format!("# ours\n{GOOD}Unlink \"\\b\" 0x6 NT_STATUS_OK\n"));
    let answer = place.run("one", &["loads.yaml"]).expect(0);
    let said = "line 5 of the load, unlink b, was recorded as a success and failed: ENOENT";
    assert!(answer.out.contains(&format!("doubtful: {said}")), "{}", answer.out);
    let record = place.record("one");
    let [tried, after] = rows(&record) else { panic!("{record}") };
    let finding = &tried["verdict"]["findings"][0];
    assert_eq!((&finding["check"], &finding["doubt"]), (&"replay".into(), &true.into()), "{tried}");
    assert!(finding["message"].as_str().is_some_and(|text| text.starts_with(said)), "{finding}");
    assert!(tried["effective"]["unexpected"].as_str().is_some_and(|text| text.starts_with(said)), "{tried}");
    assert_eq!(tried["steps"]["run.unlink"]["errors"], 1, "{tried}");
    assert!(after["verdict"].is_null() && after["effective"]["unexpected"].is_null(), "{after}");
    place.run("two", &["loads.yaml", "--strict"]).expect(1);
}
