//! The table that is printed after a run: one line per case and metric.

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

use super::format::{in_unit, plain, short};
use crate::record::{Metric, Record, Row, Soundness};
use crate::stats::Summary;

/// The table of one record. `width` is that of the terminal; without it, lines are as long as
/// their content.
pub fn table(record: &Record, width: Option<u16>) -> String {
    let mut table = empty(&["case", "metric", "value", "unit", "± sd", "n", ""], &[2, 4, 5], width);
    for row in &record.rows {
        lines(row).into_iter().for_each(|line| {
            table.add_row(
                line.map(|cell| plain(&cell))
                    .into_iter()
                    .zip(0..)
                    .map(|(text, i)| aligned(text, i, &[2, 4, 5])),
            );
        });
    }
    trimmed(&table)
}

/// A table without borders whose `right` columns are numbers.
pub(super) fn empty(header: &[&str], right: &[usize], width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    if let Some(width) = width {
        table.set_width(width.max(40));
    } else {
        table.set_content_arrangement(ContentArrangement::Disabled);
    }
    table.set_header(header.iter().enumerate().map(|(i, text)| aligned(plain(text), i, right)));
    table
}

pub(super) fn aligned(text: String, column: usize, right: &[usize]) -> Cell {
    let cell = Cell::new(text);
    if right.contains(&column) { cell.set_alignment(CellAlignment::Right) } else { cell }
}

/// As text, without blanks at line ends and the padding of the first column.
pub(super) fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.strip_prefix(' ').unwrap_or(&line).trim_end().to_string() + "\n").collect()
}

type Line = [String; 7];

/// The lines of one case: one per metric, or one with the outcome if it declares none. Case and
/// remark stand on the first.
fn lines(row: &Row) -> Vec<Line> {
    let remark = remark(row);
    let mut lines: Vec<Line> = row.metrics().iter().map(|metric| metric_line(row, metric)).collect();
    if lines.is_empty() {
        let mut line = Line::default();
        line[2] = row.status().word().into();
        lines.push(line);
    }
    lines[0][0] = row.title.clone();
    lines[0][6] = remark;
    lines
}

fn metric_line(row: &Row, metric: &Metric) -> Line {
    let value = match metric.value {
        Some(value) => short(in_unit(value, &metric.unit)),
        None if row.is_ok() => "-".into(),
        None => row.status().word().into(),
    };
    let summary = Summary::of(&metric.numbers());
    [
        String::new(),
        metric.name.clone(),
        value,
        metric.unit.clone(),
        summary.and_then(spread).unwrap_or_default(),
        summary.map(|summary| summary.n.to_string()).unwrap_or_default(),
        String::new(),
    ]
}

/// The standard deviation as a share of the mean: `1.2 %`.
pub(super) fn spread(summary: Summary) -> Option<String> {
    let share = summary.sd? / summary.mean.abs() * 100.0;
    share.is_finite().then(|| format!("{share:.1} %"))
}

/// Why there is no number, or why it is doubtful.
fn remark(row: &Row) -> String {
    if let Some(reason) = row.reason() {
        let help = reason.what_to_do.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        return reason.line() + &help;
    }
    match row.verdict() {
        Some(verdict) if verdict.soundness == Soundness::Doubtful => {
            format!("doubtful: {}", verdict.doubts())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Finding, Measured, NoResult, Reason, Verdict, sample};

    const MIB: f64 = 1_048_576.0;

    fn record() -> Record {
        let mut failed = sample::measured("mixed", "b", &[1.0]);
        failed.no_result(
            NoResult::Failed,
            Reason {
                errno: Some("ENOSPC".into()),
                what_to_do: Some("free 3 GiB".into()),
                ..Reason::new("no space")
            },
        );
        let mut doubtful = sample::measured("mixed", "c", &[900.0 * MIB]);
        let finding =
            Finding { check: "cached".into(), doubt: true, message: "94 % came from the cache".into() };
        doubtful.measured(Measured {
            runs: doubtful.runs().to_vec(),
            verdict: Some(Verdict::of(vec![finding])),
            ..Measured::default()
        });
        let mut bare = sample::case("x", "d");
        bare.metrics.clear();
        bare.title = "Evil \x1b[31m title".into();
        let rows = vec![
            sample::measured("mixed", "a", &[470.0 * MIB, 472.0 * MIB, 474.0 * MIB]),
            failed,
            doubtful,
            Row::planned(bare),
        ];
        sample::record("r", rows)
    }

    #[test]
    fn one_line_per_case_and_metric() {
        insta::assert_snapshot!(table(&record(), None), @r"
        case              metric         value  unit    ± sd  n
        Case a            Rate             472  MiB/s  0.4 %  3
                          Latency         5.50  us     0.0 %  3
        Case b            Rate          failed  MiB/s            no space (ENOSPC); free 3 GiB
                          Latency       failed  us
        Case c            Rate             900  MiB/s         1  doubtful: 94 % came from the cache
                          Latency         5.50  us            1
        Evil  [31m title           interrupted                   not started
        ");
    }

    #[test]
    fn a_narrow_terminal_wraps_and_loses_nothing() {
        let text = table(&record(), Some(60));
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
        let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("free") && words.contains("ENOSPC") && words.contains("472"));
    }
}
