//! Tests of suites: order, nesting, presets, repeats.

use super::*;
use crate::profile::yaml;

const FACTS: Facts =
    Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 };

struct Library(Vec<(&'static str, &'static str)>);

impl Library {
    fn find(&self, kind: &str, id: &str) -> Option<Node> {
        let found = self.0.iter().find(|(name, _)| *name == format!("{kind} {id}"));
        found.map(|(_, text)| yaml::node(text))
    }

    fn ids(&self, kind: &str) -> Vec<String> {
        self.0
            .iter()
            .filter_map(|(name, _)| name.strip_prefix(kind))
            .map(|id| id.trim().to_string())
            .collect()
    }
}

impl Resolver for Library {
    fn profile(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>> {
        Ok(self.find("profile", id))
    }

    fn suite(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>> {
        Ok(self.find("suite", id))
    }

    fn profile_ids(&self) -> Vec<String> {
        self.ids("profile ")
    }

    fn suite_ids(&self) -> Vec<String> {
        self.ids("suite ")
    }
}

fn library() -> Library {
    Library(vec![
        (
            "profile fill",
            "{profile: fill, version: 1.0.0, title: Fill, params: {files: {type: count, default: 100}, time: {type: duration, default: 9s}},
              reproduces: {tool: filler, version: '1', comparable_with: pts/fill-1.0.0},
              presets: {quick: {files: '{{ files // 10 }}'}, tiny: {files: 1}}, cases: [{id: small}, {id: large, with: {files: 500}}]}",
        ),
        (
            "profile wait",
            "{profile: wait, version: 1.0.0, title: Wait, params: {time: {type: duration, default: 60s}}}",
        ),
        ("profile other", "{profile: other, version: 1.0.0, title: Other}"),
        ("suite inner", "{suite: inner, title: Inner, runs: {exactly: 2}, cache: drop, tests: [{profile: wait}]}"),
        (
            "suite outer",
            "{suite: outer, title: Outer, presets: {quick: {runs: 1, time: 5s}},
              tests: [{suite: inner}, {profile: fill, cases: ['l*']}, {profile: fill, cases: small, with: {files: 7}}]}",
        ),
        ("suite round", "{suite: round, title: Round, tests: [{suite: trip}]}"),
        ("suite trip", "{suite: trip, title: Trip, tests: [{suite: round}]}"),
    ])
}

fn plan_of(suite: Node, request: &Request) -> Checked<Vec<PlannedCase>> {
    Suite::from_node(suite)?.0.plan(&library(), &[], request, &FACTS)
}

fn plan(id: &str, request: &Request) -> Checked<Vec<PlannedCase>> {
    plan_of(library().find("suite", id).unwrap(), request)
}

fn shown(planned: &[PlannedCase]) -> Vec<String> {
    let show = |planned: &PlannedCase| {
        let bound = &planned.bound;
        let params: Vec<String> = bound.params.iter().map(|param| param.value.to_string()).collect();
        format!(
            "{}:{} {} {:?} {:?}",
            bound.profile_id,
            bound.case_id,
            params.join(","),
            planned.runs.policy,
            planned.cache
        )
    };
    planned.iter().map(show).collect()
}

#[test]
fn cases_come_in_the_order_written() {
    let (planned, notes) = plan("outer", &Request::default()).unwrap();
    assert_eq!(
        shown(&planned),
        [
            "wait:default 1m Exactly(2) Drop",
            "fill:large 500,9s Pts { min: 3 } Keep",
            "fill:small 7,9s Pts { min: 3 } Keep"
        ]
    );
    assert_eq!(notes, []);
    assert_eq!(planned[2].bound.title, "small [files=7]");
    assert_eq!(planned[2].bound.comparable_with, None);
    assert_eq!(planned[1].bound.comparable_with.as_deref(), Some("pts/fill-1.0.0"));
}

#[test]
fn presets_reach_whom_they_concern() {
    let request = Request { presets: vec!["quick".into()], ..Request::default() };
    let (planned, notes) = plan("outer", &request).unwrap();
    assert_eq!(
        shown(&planned),
        [
            "wait:default 5s Exactly(1) Drop",
            "fill:large 50,5s Exactly(1) Keep",
            "fill:small 0,5s Exactly(1) Keep"
        ]
    );
    assert_eq!(notes, []);

    let request = Request { presets: vec!["tiny".into()], ..Request::default() };
    let (planned, notes) = plan("outer", &request).unwrap();
    assert_eq!(shown(&planned)[1], "fill:large 1,9s Pts { min: 3 } Keep");
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0].message, "wait has no preset tiny and runs without it");
    assert_eq!(notes[0].severity, crate::profile::diagnostic::Severity::Note);

    let request = Request { presets: vec!["quik".into()], ..Request::default() };
    let problems = plan("outer", &request).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        (&problems[0].message[..], &problems[0].help[0][..]),
        ("nothing that is run has a preset quik", "did you mean quick?")
    );
}

#[test]
fn a_preset_sets_what_at_least_one_profile_knows() {
    let of = |preset: &str| {
        plan_of(
            yaml::node(&format!(
                "{{suite: s, title: S, presets: {{p: {preset}}}, tests: [{{profile: fill, cases: small}}, {{suite: inner}}, {{profile: wait}}]}}"
            )),
            &Request { presets: vec!["p".into()], ..Request::default() },
        )
    };
    let (_, notes) = of("{files: 3}").unwrap();
    let messages: Vec<&str> = notes.iter().map(|note| &note.message[..]).collect();
    assert_eq!(messages, ["wait has no parameter files, which the preset p sets, and runs without it"]);

    let problems = of("{fils: 3}").unwrap_err();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].message, "the preset p sets fils, a parameter that no profile of the suite has");
    assert!(problems[0].help == ["did you mean files?"] && problems[0].on_key && problems[0].place.is_some());

    // Many profiles without it are one note.
    let request = Request { presets: vec!["tiny".into()], ..Request::default() };
    let suite = yaml::node(
        "{suite: s, title: S, tests: [{profile: wait}, {profile: other}, {profile: fill, cases: small}]}",
    );
    let notes = plan_of(suite, &request).unwrap().1;
    let messages: Vec<&str> = notes.iter().map(|note| &note.message[..]).collect();
    assert_eq!(messages, ["wait, other have no preset tiny and run without it"]);
}

#[test]
fn the_command_line_has_the_last_word() {
    let request = Request {
        cases: vec!["fill:*".into(), "def*".into()],
        sets: vec![("files".into(), "3".into())],
        runs: Some(Runs::exactly(9)),
        ..Request::default()
    };
    let (planned, notes) = plan("outer", &request).unwrap();
    assert_eq!(
        shown(&planned),
        [
            "wait:default 1m Exactly(9) Drop",
            "fill:large 3,9s Exactly(9) Keep",
            "fill:small 3,9s Exactly(9) Keep"
        ]
    );
    assert_eq!(notes[0].message, "wait has no parameter files and runs without it");

    let request = Request { cases: vec!["sm*".into()], ..Request::default() };
    assert_eq!(shown(&plan("outer", &request).unwrap().0).len(), 1);
    let request = Request { cases: vec!["zz".into()], ..Request::default() };
    assert!(plan("outer", &request).unwrap_err()[0].message.starts_with("--cases zz"));
    let request = Request { sets: vec![("fils".into(), "3".into())], ..Request::default() };
    assert_eq!(plan("outer", &request).unwrap_err()[0].help, ["did you mean files?"]);
}

#[test]
fn a_profile_alone_is_run_the_same_way() {
    let suite = Suite::of_profile("fill", vec!["small".into()], yaml::node("x"));
    let (planned, _) = suite.plan(&library(), &[], &Request::default(), &FACTS).unwrap();
    assert_eq!(shown(&planned), ["fill:small 100,9s Pts { min: 3 } Keep"]);
}

#[test]
fn mistakes_of_suites() {
    let table = [
        ("tests: [{profile: fil}]", "there is no profile fil", "did you mean fill?"),
        ("tests: [{suite: iner}]", "there is no suite iner", "did you mean inner?"),
        ("tests: [{suite: round}]", "the suite round contains itself: s → round → trip → round", "leave"),
        ("tests: [{suite: s}]", "the suite s contains itself: s → s", "leave"),
        ("tests: []", "the suite s has no tests", "list some"),
        ("tests: [{cases: a}]", "one profile or one suite", "write"),
        ("tests: [{suite: inner, with: {}}]", "with has no meaning with suite", "name"),
        ("tests: [{profile: fill, cases: smal}]", "no case of fill is called smal", "did you mean small?"),
        ("tests: [{profile: fill, with: {fils: 1}}]", "unknown parameter fils", "did you mean files?"),
        (
            "{cache: remount, tests: [{profile: fill}]}",
            "\"remount\" is not in this version",
            "write keep or drop",
        ),
        ("{runs: 0, tests: [{profile: fill}]}", "no run at all", "write"),
        ("{runs: {exactly: 5, rule: pts}, tests: [{profile: fill}]}", "leaves nothing to a rule", "write"),
        ("{runs: {rule: best}, tests: [{profile: fill}]}", "\"best\" is no rule", "write"),
        ("{runs: {mn: 3}, tests: [{profile: fill}]}", "unknown key mn", "write"),
    ];
    for (text, message, help) in table {
        let mut node = yaml::node(text);
        let head = yaml::node("{suite: s, title: S}");
        if let Value::Map(entries) = &mut node.value {
            entries.extend(head.entries().iter().cloned());
        }
        let problems = plan_of(node, &Request::default()).expect_err(text);
        assert!(problems.len() == 1 && problems[0].message.contains(message), "{text}: {problems:?}");
        assert!(problems[0].place.is_some() && problems[0].help[0].starts_with(help), "{text}: {problems:?}");
    }
}

#[test]
fn repeats_are_read() {
    let read = |text: &str| runs(&yaml::node(text)).unwrap();
    assert_eq!(read("4"), Runs::exactly(4));
    assert_eq!(read("{exactly: 4}"), Runs::exactly(4));
    assert_eq!(read("{min: 4}").policy, Policy::Pts { min: 4 });
    assert_eq!(read("{min: 5, rule: ci}").policy, Policy::Ci { min: 5 });
    assert_eq!(
        read("{rule: pts, max: 7, budget: 10m}"),
        Runs { max: Some(7), budget: Some(600_000_000_000), ..Runs::DEFAULT }
    );
}
