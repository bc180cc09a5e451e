//! Tests of cases: values, ids, titles, comparability, selection.

use super::*;
use crate::profile::node::Value;
use crate::profile::shape::Verb;
use crate::profile::yaml;

const FACTS: Facts =
    Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 };

const TRANSFER: &str = "
profile: transfer
version: 1.2.0
title: Transfer
reproduces: {tool: mover, version: '3', comparable_with: pts/mover-1.0.0}
params:
  pattern: {type: choice, of: [randread, write], default: randread}
  block: {type: size, default: 4KiB}
  size: {type: size, default: 1GiB}
  time: {type: duration, default: 20s}
  ramp: {type: duration, default: '{{ time / 4 }}'}
  data: {type: choice, of: [random, zero], default: random}
let:
  names: {randread: Random Read, write: Sequential Write}
presets:
  sound: {size: '{{ [size, 2 * memory] | max }}'}
  quick: {time: '{{ time / 10 }}'}
cases:
  - matrix: {pattern: [randread, write], block: [4KiB, 2MiB]}
    id: '{{ pattern }}-{{ block }}'
    title: 'Type: {{ names[pattern] }}, Block Size: {{ block }}'
  - {id: zeros, with: {data: zero, size: '{{ size * 2 }}'}}
workers: '{{ cpus }}'
phases:
  - phase: run
    ramp: '{{ ramp }}'
    for: '{{ time }}'
    steps:
      - {read: '{{ block }}', when: pattern == 'randread'}
      - {write: '{{ block }}', when: pattern == 'write'}
";

/// A step vocabulary of three verbs that take nothing.
pub fn verbs() -> Vec<Verb> {
    let verb = |name| Verb { name, group: "data", doc: "", object: None, bare: true, args: &[] };
    ["read", "write", "close"].map(verb).to_vec()
}

fn profile(text: &str) -> Profile {
    Profile::from_node(yaml::node(text), &verbs()).unwrap().0
}

fn select(cases: &[&str], presets: &[&str], sets: &[(&str, &str)]) -> Selection {
    Selection {
        cases: cases.iter().map(|case| case.to_string()).collect(),
        presets: presets.iter().map(|preset| PresetUse::from(*preset)).collect(),
        sets: sets.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect(),
        ..Selection::default()
    }
}

fn bind(selection: &Selection) -> Vec<BoundCase> {
    profile(TRANSFER).bind(selection, &FACTS).unwrap().0
}

fn value(case: &BoundCase, name: &str) -> String {
    case.params.iter().find(|param| param.name == name).unwrap().value.to_string()
}

#[test]
fn every_combination_is_a_case() {
    let cases = bind(&Selection::default());
    let ids: Vec<&str> = cases.iter().map(|case| case.case_id.as_str()).collect();
    assert_eq!(ids, ["randread-4kib", "randread-2mib", "write-4kib", "write-2mib", "zeros"]);
    assert_eq!(cases[1].title, "Type: Random Read, Block Size: 2MiB");
    assert_eq!(cases[4].title, "zeros");
    assert_eq!(value(&cases[4], "size"), "2GiB");
    assert!(cases.iter().all(|case| case.comparable_with.as_deref() == Some("pts/mover-1.0.0")));
    assert!(cases.iter().flat_map(|case| &case.params).all(|param| !param.changed));
    assert_eq!(cases[0].facts_used, BTreeMap::from([("cpus", 4)]));
    let expected = "{workers: 4, phases: [{phase: run, ramp: 5s, for: 20s, steps: [{write: 2097152}]}]}";
    assert_eq!(cases[3].body, yaml::node(expected));
}

#[test]
fn changed_values_are_said_and_end_comparability() {
    let cases = bind(&select(&["write-*"], &["quick"], &[("block", "8k")]));
    assert_eq!(cases.len(), 2);
    assert_eq!(cases[0].case_id, "write-4kib", "ids are those published");
    assert_eq!(cases[0].title, "Type: Sequential Write, Block Size: 8KiB [block=8KiB, time=2s]");
    assert_eq!(cases[0].comparable_with, None);
    assert_eq!(value(&cases[0], "ramp"), "500ms", "defaults follow");
    let changed: Vec<&str> = cases[0].params.iter().filter(|p| p.changed).map(|p| p.name.as_str()).collect();
    assert_eq!(changed, ["block", "time", "ramp"]);

    let same = bind(&select(&["write-4kib"], &[], &[("block", "4096")]));
    assert_eq!(same[0].title, "Type: Sequential Write, Block Size: 4KiB", "no change, nothing to say");
    assert!(same[0].comparable_with.is_some());

    let (_, warnings) =
        profile(TRANSFER).bind(&select(&["write-*"], &[], &[("block", "8k")]), &FACTS).unwrap();
    assert!(warnings[0].message.contains("write-4kib and write-2mib are the same"), "{warnings:?}");
}

#[test]
fn values_come_in_their_order() {
    let mut selection = select(&["zeros"], &["quick", "sound"], &[("data", "random")]);
    selection.with = yaml::node("{time: 100s, size: '{{ size / 2 }}'}").entries().to_vec();
    selection.presets[0].extra = yaml::node("{ramp: '{{ time }}'}").entries().to_vec();
    let case = &bind(&selection)[0];
    assert_eq!(value(case, "time"), "10s", "suite, then preset");
    assert_eq!(value(case, "ramp"), "10s", "a suite's preset sees the profile's");
    assert_eq!(value(case, "size"), "2GiB", "2GiB / 2, then at least twice the memory");
    assert_eq!(value(case, "data"), "random", "set has the last word");
    assert_eq!(case.title, "zeros [time=10s, ramp=10s, data=random]");

    let twice = bind(&select(&["zeros"], &["quick", "quick"], &[]));
    assert_eq!(value(&twice[0], "time"), "200ms", "each sees the value before it");
}

#[test]
fn mistakes_name_what_there_is() {
    let bind = |selection: &Selection| profile(TRANSFER).bind(selection, &FACTS).unwrap_err();
    let table = [
        (
            select(&["raedread-4kib"], &[], &[]),
            "no case of transfer is called raedread-4kib",
            "did you mean randread-4kib?",
        ),
        (select(&[], &["quik"], &[]), "transfer has no preset quik", "did you mean quick?"),
        (select(&[], &[], &[("blok", "1")]), "no parameter blok", "did you mean block?"),
        (select(&[], &[], &[("block", "4x")]), "--set block: \"4x\" is not a size", "write for example"),
    ];
    for (selection, message, help) in table {
        let problems = bind(&selection);
        assert_eq!(problems.len(), 1, "each mistake once: {problems:?}");
        assert!(problems[0].message.contains(message), "{}", problems[0].message);
        assert!(problems[0].help[0].starts_with(help), "{:?}", problems[0].help);
    }
    let with = yaml::node("{blok: 1}").entries().to_vec();
    let selection = Selection { with, ..Selection::default() };
    assert!(bind(&selection)[0].on_key);
}

#[test]
fn a_parameter_without_default_must_be_given() {
    let text = "{profile: replay, version: 1.0.0, title: Replay, params: {trace: {type: file}, twice: {type: text, default: '{{ trace }}!'}},
                 reproduces: {tool: t, version: 1.0, comparable_with: x}, workers: '{{ twice }}'}";
    let profile = profile(text);
    let problems = profile.bind(&Selection::default(), &FACTS).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].message, "the parameter trace has no value");
    let (cases, _) = profile.bind(&select(&[], &[], &[("trace", "a.txt")]), &FACTS).unwrap();
    assert_eq!((&cases[0].case_id[..], &cases[0].title[..]), ("default", "Replay"));
    assert!(cases[0].comparable_with.is_some(), "giving what must be given changes nothing");
    assert_eq!(cases[0].body.get("workers").unwrap().value, Value::Text("a.txt!".into()));
    assert_eq!(profile.check(&FACTS), []);
}

#[test]
fn wrong_heads_and_cases() {
    let table = [
        ("{profile: A b, version: 1.0.0, title: x}", "is no id"),
        ("{profile: a, version: 1.10, title: x}", "is no version"),
        ("{profile: a, version: 1.0.0}", "title is missing"),
        ("{profile: a, version: 1.0.0, title: x, cases: [{title: y}]}", "a case needs an id"),
        (
            "{profile: a, version: 1.0.0, title: x, cases: [{id: y, matrix: {a: []}}]}",
            "the axis a has no values",
        ),
        ("{profile: a, version: 1.0.0, title: x, params: {p: {type: int}}}", "no type"),
    ];
    for (text, message) in table {
        let problems = Profile::from_node(yaml::node(text), &verbs()).expect_err(text);
        assert!(problems[0].message.contains(message), "{text}: {problems:?}");
    }
    let head = "profile: a, version: 1.0.0, title: x, params: {p: {type: count, default: 1}}";
    let table = [
        ("cases: [{id: a}, {id: A}]", "two cases are called a"),
        ("cases: [{id: '{{ q }}'}]", "unknown name q"),
        ("cases: [{id: '---'}]", "makes no id"),
        ("cases: [{id: a, with: {q: 1}}]", "unknown parameter q"),
        ("cases: [{id: a, title: '{{ q }}'}]", "unknown name q"),
        ("cases: [{id: a, with: {p: x}}]", "is not a count"),
        ("presets: {b: {q: 1}}", "unknown parameter q"),
        ("presets: {b: {p: '{{ r }}'}}", "unknown name r"),
        ("workers: '{{ q }}'", "unknown name q"),
    ];
    for (part, message) in table {
        let problems = profile(&format!("{{{head}, {part}}}")).check(&FACTS);
        assert!(problems.len() == 1 && problems[0].message.contains(message), "{part}: {problems:?}");
    }
}

#[test]
fn a_mistake_is_shown_where_it_stands_in_the_file() {
    use crate::profile::{load, render, source::Sources};
    let text = "profile: a\nversion: 1.0.0\ntitle: A\nparams:\n  clients: {type: count, default: 1}\n\
                workers: 1\nphases:\n  - phase: go\n    repeat: \"{{ 2 * cleints }}\"\n    steps: [close]\n";
    let mut sources = Sources::new();
    let (node, _) = load::load_file(&mut sources, "a.yaml", text.as_bytes()).unwrap();
    let problems = Profile::from_node(node, &verbs()).unwrap().0.check(&FACTS);
    let shown = render::render(&problems, &sources, false);
    assert_eq!(problems.len(), 1);
    assert!(shown.contains("a.yaml:9:21"), "{shown}");
    assert!(shown.contains("unknown name cleints") && shown.contains("did you mean clients?"), "{shown}");
    assert!(shown.lines().any(|line| line.trim_matches([' ', '|']) == "^^^^^^^"), "{shown}");
}
