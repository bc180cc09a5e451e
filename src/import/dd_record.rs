//! From reports of dd to a record that is shown, compared and exported like any other. How the
//! reports were read is not known here.

use std::collections::BTreeMap;

use super::dd::Report;
use crate::record::{Better, Case, Declared, Measured, Record, RepeatResult, Reproduces, Row, Run, RunState};

/// Bytes and block size of one measurement, and each time it was made.
type Repeats = ((u64, Option<u64>), Vec<RepeatResult>);

/// The record of reports: equal amounts in equal blocks are repeats of one case, whose two rates
/// are one number in MB/s (10^6) and MiB/s (2^20). `name` is that of the run and its target, `now`
/// the time of the import.
pub fn record(name: &str, now: &str, reports: &[Report]) -> Record {
    let mut cases: Vec<Repeats> = Vec::new();
    for report in reports {
        let key = (report.bytes, report.blocks);
        let at = cases.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            cases.push((key, Vec::new()));
            cases.len() - 1
        });
        if let Some((_, runs)) = cases.get_mut(at) {
            runs.push(repeat(report, now));
        }
    }
    let run = Run {
        name: name.into(),
        title: Some("reports of dd".into()),
        started: now.into(),
        finished: Some(now.into()),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        imported_from: Some("dd".into()),
        state: RunState::Complete,
        ..Run::default()
    };
    let mut record = Record::planned(run, Default::default(), Default::default(), Vec::new());
    record.target.name = name.into();
    record.rows = cases.into_iter().map(|((bytes, blocks), runs)| row(bytes, blocks, runs)).collect();
    record
}

fn repeat(report: &Report, now: &str) -> RepeatResult {
    let values = [("Rate", report.rate), ("Rate in MiB/s", report.rate), ("Time", report.seconds)];
    RepeatResult {
        started: now.into(),
        elapsed_s: report.seconds,
        values: BTreeMap::from(values.map(|(name, value)| (name.to_string(), value))),
        ..RepeatResult::default()
    }
}

fn row(bytes: u64, blocks: Option<u64>, runs: Vec<RepeatResult>) -> Row {
    let (case, title) = match blocks {
        Some(blocks) => {
            let block = bytes / blocks.max(1);
            (format!("{blocks}-x-{block}"), format!("{blocks} x {}", size(block)))
        }
        None => (format!("{bytes}-bytes"), format!("{bytes} bytes")),
    };
    let metric = |name: &str, unit: &str, better, primary| Declared {
        name: name.into(),
        unit: unit.into(),
        better,
        primary,
    };
    let mut row = Row::planned(Case {
        profile: "dd".into(),
        profile_version: "1.0.0".into(),
        reproduces: Some(Reproduces { test: "dd".into(), version: String::new(), case: case.clone() }),
        case,
        title,
        metrics: vec![
            metric("Rate", "MB/s", Better::Higher, true),
            metric("Rate in MiB/s", "MiB/s", Better::Higher, false),
            metric("Time", "s", Better::Lower, false),
        ],
        ..Case::default()
    });
    row.measured(Measured { runs, ..Measured::default() });
    row
}

/// `1MiB` where it is a whole number of them, else in smaller units.
fn size(bytes: u64) -> String {
    let unit = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let found = unit.into_iter().find(|(size, _)| bytes >= *size && bytes.is_multiple_of(*size));
    found.map_or(format!("{bytes} bytes"), |(size, name)| format!("{}{name}", bytes / size))
}

#[cfg(test)]
mod tests {
    use super::super::dd::reports;
    use super::*;

    const TEXT: &str = "100+0 records out\n104857600 bytes transferred in 0.641162 secs (163543088 bytes/sec)\n\
        100+0 records out\n104857600 bytes transferred in 0.640 secs (163840000 bytes/sec)\n\
        10+0 records out\n104857600 bytes transferred in 0.643 secs (163075583 bytes/sec)\n";

    #[test]
    fn equal_blocks_are_repeats_and_others_a_case_of_their_own() {
        let record = record("blog", "2026-01-02T03:04:05Z", &reports(TEXT).unwrap());
        let rows: Vec<_> = record.rows.iter().map(|row| (&*row.title, row.metrics()[0].runs.len())).collect();
        assert_eq!(rows, [("100 x 1MiB", 2), ("10 x 10MiB", 1)]);
        assert!(record.rows.iter().all(Row::is_ok));
        assert_eq!((record.target.name.as_str(), record.run.imported_from.as_deref()), ("blog", Some("dd")));
    }

    #[test]
    fn one_rate_in_two_units() {
        let record = record("x", "2026-01-02T03:04:05Z", &reports(TEXT).unwrap()[..1]);
        let metrics = record.rows[0].metrics();
        let shown = |i: usize| metrics[i].value.unwrap() / crate::record::unit::factor(&metrics[i].unit);
        assert_eq!((metrics[0].unit.as_str(), metrics[1].unit.as_str()), ("MB/s", "MiB/s"));
        assert!((shown(0) - 163.54).abs() < 0.01 && (shown(1) - 155.97).abs() < 0.01);
    }
}
