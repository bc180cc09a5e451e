//! Records are valid by the published schema, and the schema refuses what is none.

use std::collections::BTreeMap;

use ioscore::record::{
    Better, Case, Declared, Directness, Effective, Finding, Measured, NoResult, Reason, Record, RepeatResult,
    Row, Run, SCHEMA, Series, StepResult, SuiteRef, Verdict,
};
use ioscore::system::files::Root;
use ioscore::system::{Space, machine, target};
use schema_check::Checker;
use serde_json::{Value, json};

/// A record in which every kind of part occurs.
fn record() -> Record {
    let case = |id: &str| Case {
        profile: "p".into(),
        case: id.into(),
        params: json!({"block": 4096, "list": [1, "x", null]}).as_object().cloned().unwrap_or_default(),
        metrics: vec![Declared {
            name: "Rate".into(),
            unit: "MiB/s".into(),
            better: Better::Higher,
            primary: true,
        }],
        ..Case::default()
    };
    let suite = SuiteRef { id: "s".into(), title: None, hash: "h".into() };
    let mut record = Record::planned(
        Run { name: "r".into(), suite: Some(suite), ..Run::default() },
        machine::describe(&Root::default()),
        target::describe(&Root::default(), None, std::path::Path::new("/")),
        vec![case("a"), case("b"), case("c")],
    );
    record.target.space_before = Some(Space::of_statfs(4096, 10, 8192, 0, 0));
    let mut latency = ioscore::measure::Histogram::new();
    latency.record(1000);
    let step = StepResult { ops: 1, latency: latency.sparse(), ..StepResult::default() };
    record.rows[0].measured(Measured {
        engine: Some("sync".into()),
        effective: Effective { direct: Some(Directness::Ignored), depth: Some(1.5), ..Effective::default() },
        verdict: Some(Verdict::of(vec![Finding { check: "c".into(), doubt: true, message: "m".into() }])),
        runs: vec![RepeatResult {
            values: BTreeMap::from([("Rate".to_string(), 1.0)]),
            steps: BTreeMap::from([("run.read".to_string(), step)]),
            series: vec![Series { phase: "run".into(), ops: vec![0], bytes: vec![0], p99_ns: vec![None] }],
            ..RepeatResult::default()
        }],
    });
    record.rows[1].no_result(NoResult::Failed, Reason { offset: Some(1), ..Reason::new("broken") });
    record.rows.push(Row::imported(case("d"), vec![(Some(476.0), Some("476".into()))]));
    record
}

#[test]
fn a_record_with_every_kind_of_part_is_valid() {
    let checker = Checker::new(&serde_json::from_str(SCHEMA).expect("JSON")).expect("a schema");
    let good = serde_json::to_value(record()).expect("a value");
    assert_eq!(checker.check(&good), []);
    for (pointer, wrong) in [
        ("/schema_version", json!("1")),
        ("/run/state", json!("finished")),
        ("/rows/0/status", json!("fine")),
        ("/rows/0/metrics/0/value", json!("3")),
        ("/rows/0/steps/run.read/ops", json!(-1)),
        ("/rows/0/runs/0/series/0/p99_ns", json!(["x"])),
        ("/rows/1/reason/offset", json!(1.5)),
        ("/rows/0/effective/direct", json!("yes")),
        ("/target/devices", json!({})),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).expect(pointer) = wrong;
        let issues = checker.check(&bad);
        // What may also be absent is refused as a whole.
        let named = |at: &str| at.starts_with(pointer) || (!at.is_empty() && pointer.starts_with(at));
        assert!(issues.iter().any(|issue| named(&issue.pointer)), "{pointer}: {issues:?}");
    }
    for missing in ["run", "rows", "system"] {
        let mut bad = good.clone();
        bad.as_object_mut().expect("a map").remove(missing);
        assert!(!checker.check(&bad).is_empty(), "{missing} may be missing");
    }
    let mut bad = good;
    bad["rows"][0]["surprise"] = Value::Null;
    assert!(!checker.check(&bad).is_empty());
}
