//! What the CSV forms hold, read back with the csv crate.

use std::collections::HashMap;

use super::*;
use crate::record::{NoResult, Reason, sample};

fn failed() -> Row {
    let mut row = sample::measured("mixed", "b", &[1.0]);
    row.no_result(NoResult::Unsupported, Reason::new("direct I/O is refused, \"EINVAL\""));
    row
}

fn records() -> Vec<Record> {
    let mib = 1_048_576.0;
    let one =
        sample::record("one", vec![sample::measured("mixed", "a", &[mib, 2.0 * mib, 3.0 * mib]), failed()]);
    let mut two = sample::record("two", vec![sample::measured("mixed", "a", &[mib / 3.0])]);
    two.target.name = "=HYPERLINK(\"http://x\")".into();
    vec![one, two]
}

fn text(shape: Shape, dialect: Dialect) -> String {
    String::from_utf8(write(&records(), Options { shape, dialect, verbatim: false }).unwrap()).unwrap()
}

/// Lines as maps from header to cell.
fn lines(text: &str, delimiter: u8) -> Vec<HashMap<String, String>> {
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = csv::ReaderBuilder::new().delimiter(delimiter).from_reader(text.as_bytes());
    reader.deserialize().map(|line| line.expect("a line as wide as its header")).collect()
}

#[test]
fn long_has_one_line_per_run_case_and_metric() {
    let lines = lines(&text(Shape::Long, Dialect::Rfc4180), b',');
    let key: Vec<_> =
        lines.iter().map(|l| (l["run"].as_str(), l["case"].as_str(), l["metric"].as_str())).collect();
    assert_eq!(
        key,
        [
            ("one", "a", "Rate"),
            ("one", "a", "Latency"),
            ("one", "b", "Rate"),
            ("one", "b", "Latency"),
            ("two", "a", "Rate"),
            ("two", "a", "Latency")
        ]
    );
    let first = &lines[0];
    for (column, want) in [
        ("n", "3"),
        ("value", "2"),
        ("mean", "2"),
        ("median", "2"),
        ("sd", "1"),
        ("min", "1"),
        ("max", "3"),
        ("unit", "MiB/s"),
        ("better", "higher"),
        ("primary", "1"),
        ("status", "ok"),
        ("reason", ""),
        ("verdict", "sound"),
        ("suite", "quick-look"),
        ("params", r#"{"block":4096,"label":"x"}"#),
    ] {
        assert_eq!(first[column], want, "{column}");
    }
    // t(0.975, 2) / sqrt(3) = 2.4841
    assert!((first["ci_high"].parse::<f64>().unwrap() - 4.4841).abs() < 1e-3);
    assert_eq!(lines[1]["value"], "5.5", "microseconds of 5.5e-6 s");
    let single = &lines[4];
    assert_eq!((single["n"].as_str(), single["sd"].as_str(), single["ci_low"].as_str()), ("1", "", ""));
    assert_eq!(single["value"].parse::<f64>().unwrap(), 1.0 / 3.0, "full precision");
}

#[test]
fn a_row_without_result_has_lines_reason_and_empty_cells() {
    for shape in [Shape::Long, Shape::Raw] {
        let lines = lines(&text(shape, Dialect::Rfc4180), b',');
        let failed: Vec<_> = lines.iter().filter(|l| l["case"] == "b").collect();
        assert_eq!(failed.len(), 2);
        for line in failed {
            assert_eq!(line["status"], "unsupported");
            assert_eq!(line["reason"], "direct I/O is refused, \"EINVAL\"");
            assert_eq!(line["value"], "");
        }
    }
    let mut bare = Row::planned(crate::record::Case { case: "x".into(), ..sample::case("mixed", "x") });
    bare.no_result(NoResult::Skipped, Reason::new("by choice"));
    let mut case = sample::case("mixed", "none");
    case.metrics.clear();
    let record = sample::record("r", vec![bare, Row::planned(case)]);
    let written = String::from_utf8(write(&[record], Options::default()).unwrap()).unwrap();
    assert_eq!(lines(&written, b',').len(), 3, "a case that declares nothing has a line too");
}

#[test]
fn wide_has_a_column_a_run_and_says_why_one_is_empty() {
    let lines = lines(&text(Shape::Wide, Dialect::Rfc4180), b',');
    assert_eq!(lines.len(), 4);
    assert_eq!((lines[0]["one"].as_str(), lines[0]["two"].as_str()), ("2", "0.3333333333333333"));
    assert_eq!(lines[2]["one"], "");
    assert_eq!(lines[2]["one status"], "unsupported: direct I/O is refused, \"EINVAL\"");
    assert_eq!((lines[2]["two"].as_str(), lines[2]["two status"].as_str()), ("", ""));
}

#[test]
fn wide_keeps_runs_of_one_name_apart_and_plans_on_their_own_lines() {
    let mut other = sample::measured("mixed", "a", &[1.0]);
    other.plan_hash = "another".into();
    let mut records = vec![records().remove(1), sample::record("two", vec![other])];
    records[0].target.name = "ssd".into();
    let options = Options { shape: Shape::Wide, ..Options::default() };
    let lines = lines(&String::from_utf8(write(&records, options).unwrap()).unwrap(), b',');
    assert_eq!(lines.len(), 4);
    assert!(!lines[0]["two/ssd"].is_empty() && lines[0]["two/disk"].is_empty());
    assert!(lines[2]["two/ssd"].is_empty() && !lines[2]["two/disk"].is_empty());
}

#[test]
fn wide_puts_a_published_number_beside_ours() {
    let test = crate::record::Reproduces { test: "pts/x".into(), version: "1.1.0".into(), case: "a".into() };
    let mut ours = sample::measured("mixed", "a", &[1_048_576.0]);
    ours.reproduces = Some(test.clone());
    let mut case = sample::case("imported", "a");
    case.metrics = vec![crate::record::Declared { name: "MB/s".into(), ..case.metrics.remove(0) }];
    (case.plan_hash, case.reproduces) = (String::new(), Some(test));
    let theirs = Row::imported(case, vec![(Some(476.0 * 1_048_576.0), Some("476".into()))]);
    let records = [sample::record("ours", vec![ours]), sample::record("published", vec![theirs])];
    let options = Options { shape: Shape::Wide, ..Options::default() };
    let lines = lines(&String::from_utf8(write(&records, options).unwrap()).unwrap(), b',');
    assert_eq!(lines.len(), 2, "Rate on both, Latency on ours alone");
    assert_eq!((lines[0]["ours"].as_str(), lines[0]["published"].as_str()), ("1", "476"));
    assert_eq!(lines[1]["published"], "");
}

#[test]
fn raw_has_one_line_a_repeat() {
    let lines = lines(&text(Shape::Raw, Dialect::Rfc4180), b',');
    let rates: Vec<_> = lines
        .iter()
        .filter(|l| l["run"] == "one" && l["case"] == "a" && l["metric"] == "Rate")
        .map(|l| (l["repeat"].as_str(), l["value"].as_str(), l["elapsed_s"].as_str()))
        .collect();
    assert_eq!(rates, [("1", "1", "1.5"), ("2", "2", "1.5"), ("3", "3", "1.5")]);
}

#[test]
fn dialects() {
    let plain = text(Shape::Long, Dialect::Rfc4180);
    assert!(plain.starts_with("run,target,") && !plain.contains('\r'));
    let excel = text(Shape::Long, Dialect::Excel);
    assert!(excel.starts_with("\u{feff}run,target,"));
    assert_eq!(excel.matches("\r\n").count(), excel.matches('\n').count());
    let eu = text(Shape::Long, Dialect::ExcelEu);
    assert!(eu.starts_with("\u{feff}run;target;"));
    let line = &lines(&eu, b';')[4];
    assert_eq!(line["value"], "0,3333333333333333");
    assert_eq!(line["params"], r#"{"block":4096,"label":"x"}"#, "text keeps its points");
}

#[test]
fn text_that_a_spreadsheet_would_run_is_neutralised_and_numbers_are_not() {
    let cells = ["=HYPERLINK(\"x\")", "-5", "@x", "+1", "\tx", "\rx", "1-2", "4E5", "0012", "a=b", ""];
    let mut case = sample::case("mixed", "a");
    case.metrics.truncate(1);
    let rows = cells.map(|title| {
        let mut row = Row::planned(case.clone());
        row.title = title.into();
        let values = std::collections::BTreeMap::from([("Rate".to_string(), -5.0 * 1_048_576.0)]);
        row.measured(crate::record::Measured {
            runs: vec![crate::record::RepeatResult { values, ..Default::default() }],
            ..Default::default()
        });
        row
    });
    let record = [sample::record("r", rows.to_vec())];
    let read = |verbatim| {
        let bytes = write(&record, Options { verbatim, ..Options::default() }).unwrap();
        lines(&String::from_utf8(bytes).unwrap(), b',')
    };
    let titles: Vec<String> = read(false).iter().map(|line| line["title"].clone()).collect();
    assert_eq!(
        titles,
        ["'=HYPERLINK(\"x\")", "'-5", "'@x", "'+1", "'\tx", "'\rx", "1-2", "4E5", "0012", "a=b", ""]
    );
    assert!(read(false).iter().all(|line| line["value"] == "-5"));
    assert_eq!(read(true).iter().map(|line| line["title"].clone()).collect::<Vec<_>>(), cells);
}
