//! Small records for tests.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::measure::Histogram;
use crate::system::{System, Target};

/// Two metrics: `Rate` in MiB/s, primary, and `Latency` in us.
pub fn case(profile: &str, case: &str) -> Case {
    let params = json!({"block": 4096, "label": "x"});
    Case {
        profile: profile.into(),
        profile_version: "1.0.0".into(),
        case: case.into(),
        title: format!("Case {case}"),
        params: params.as_object().cloned().unwrap_or_default(),
        plan_hash: format!("hash-of-{profile}-{case}"),
        engine: Some("sync".into()),
        metrics: vec![
            Declared { name: "Rate".into(), unit: "MiB/s".into(), better: Better::Higher, primary: true },
            Declared { name: "Latency".into(), unit: "us".into(), better: Better::Lower, primary: false },
        ],
        ..Case::default()
    }
}

/// A row that ran, with these values for `Rate` (base units) and latencies of ten operations.
pub fn measured(profile: &str, name: &str, rates: &[f64]) -> Row {
    let mut row = Row::planned(case(profile, name));
    let mut latency = Histogram::new();
    (1..=10).for_each(|i| latency.record(i * 1000));
    let step = StepResult {
        ops: 10,
        bytes: 40960,
        requested: 40960,
        latency: latency.sparse(),
        ..StepResult::default()
    };
    let runs = rates.iter().map(|&rate| {
        let values = BTreeMap::from([("Rate".to_string(), rate), ("Latency".to_string(), 5.5e-6)]);
        RepeatResult {
            started: "2026-01-02T03:04:05Z".into(),
            elapsed_s: 1.5,
            values,
            steps: BTreeMap::from([("run.read".to_string(), step.clone())]),
            series: vec![Series {
                phase: "run".into(),
                ops: vec![10],
                bytes: vec![40960],
                p99_ns: vec![Some(10_000)],
            }],
            effective: Effective::default(),
        }
    });
    row.measured(Measured {
        engine: Some("sync".into()),
        effective: Effective { direct: Some(Directness::Direct), ..Effective::default() },
        verdict: Some(Verdict::of(Vec::new())),
        runs: runs.collect(),
    });
    row
}

/// A finished run with these rows.
pub fn record(name: &str, rows: Vec<Row>) -> Record {
    Record {
        schema_version: SCHEMA_VERSION,
        run: Run {
            name: name.into(),
            started: "2026-01-02T03:04:05Z".into(),
            finished: Some("2026-01-02T03:14:05Z".into()),
            tool_version: "0.1.0".into(),
            suite: Some(SuiteRef { id: "quick-look".into(), title: None, hash: "suite-hash".into() }),
            seed: 42,
            state: RunState::Complete,
            ..Run::default()
        },
        system: System { kernel: Some("6.1.0".into()), ..System::default() },
        target: Target {
            name: "disk".into(),
            path: "/mnt/disk".into(),
            stack: Some("ext4 -> sda".into()),
            ..Target::default()
        },
        rows,
    }
}
