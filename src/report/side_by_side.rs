//! Several records side by side: a value each, the ratio to the first, and what the repeats show.
//!
//! Only rows that did the same are ranked and counted; near matches are shown with what differs.

use super::format::{in_unit, plain, short};
use super::pair::{self, Group};
use super::terminal;
use crate::record::{Better, Metric, Record, Row, Status};
use crate::stats::{Summary, geometric_mean, welch};

/// What two groups of repeats show, seen from the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Better than the first, whichever direction that is.
    Faster,
    /// Worse than the first, whichever direction that is.
    Slower,
    /// The repeats do not tell them apart.
    NoDifferenceShown,
}

impl Outcome {
    /// The words shown.
    pub fn text(self) -> &'static str {
        match self {
            Outcome::Faster => "faster",
            Outcome::Slower => "slower",
            Outcome::NoDifferenceShown => "no difference shown",
        }
    }
}

/// One record's part of a line. Values are in base units.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The record has no such row, or the row no such metric.
    Absent,
    /// No number, and why.
    NoResult { status: Status, reason: String },
    /// An `ok` row in which what the metric counts never happened.
    NoValue,
    /// Something differs: shown, not ranked.
    Near { value: Option<f64>, difference: String },
    /// A number, perhaps compared with the first record's.
    Value {
        /// The metric's value.
        value: f64,
        /// The repeats; absent for imported numbers.
        summary: Option<Summary>,
        /// Value over that of the first record; absent there, and without one.
        ratio: Option<f64>,
        /// Welch's test against the first record's repeats; needs two on each side.
        outcome: Option<Outcome>,
        /// The 95 % interval of the difference to the first record's mean.
        difference: Option<(f64, f64)>,
    },
}

/// One case and metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Id of the profile.
    pub profile: String,
    /// Id of the case.
    pub case: String,
    /// Title of the case.
    pub title: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit it is shown in.
    pub unit: String,
    /// Which direction is an improvement.
    pub better: Better,
    /// Whether it is the one number that stands for its case.
    pub primary: bool,
    /// One per record.
    pub cells: Vec<Cell>,
}

/// The whole comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// Names of the records.
    pub names: Vec<String>,
    /// One per case and metric.
    pub lines: Vec<Line>,
    /// Rows that have a result in every record, and all rows.
    pub coverage: (usize, usize),
    /// Per record after the first: geometric mean of its ratios over the cases all records have a
    /// primary number of (one ratio a case), and how many those are; higher-is-better and lower-is-better apart.
    pub means: Vec<Means>,
}

/// Geometric means of ratios to the first record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    /// Mean and number of cases where more is better; `None` without any.
    pub higher: Option<(f64, usize)>,
    /// Mean and number of cases where less is better; `None` without any.
    pub lower: Option<(f64, usize)>,
}

/// Compares the records with the first of them.
pub fn compare(records: &[Record]) -> SideBySide {
    let groups = pair::groups(records);
    let covered = groups.iter().filter(|group| covered(group)).count();
    let lines: Vec<Line> = groups.iter().flat_map(lines).collect();
    let means = (1..records.len()).map(|i| means(&lines, i)).collect();
    SideBySide { names: pair::names(records), lines, coverage: (covered, groups.len()), means }
}

fn covered(group: &Group) -> bool {
    group.rows.iter().all(|row| matches!(row, Some((row, None)) if row.is_ok()))
}

fn lines(group: &Group) -> Vec<Line> {
    let Some((_, lead)) = group.lead() else { return Vec::new() };
    let primary = group.primary();
    group
        .metrics()
        .into_iter()
        .map(|metric| {
            let first = group.rows.first().and_then(|row| row.as_ref());
            let first = first.and_then(|(row, _)| group.metric(row, metric));
            let cells = group.rows.iter().enumerate().map(|(i, row)| match row {
                None => Cell::Absent,
                Some((row, difference)) => {
                    let first = first.filter(|_| i > 0);
                    cell(row, group.metric(row, metric), difference.as_deref(), first)
                }
            });
            Line {
                profile: lead.profile.clone(),
                case: lead.case.clone(),
                title: lead.title.clone(),
                metric: metric.name.clone(),
                unit: metric.unit.clone(),
                better: metric.better,
                primary: primary.is_some_and(|primary| group.same(primary, metric)),
                cells: cells.collect(),
            }
        })
        .collect()
}

fn cell(row: &Row, metric: Option<&Metric>, difference: Option<&str>, first: Option<&Metric>) -> Cell {
    if let Some(reason) = row.reason() {
        return Cell::NoResult { status: row.status(), reason: reason.line() };
    }
    let Some(metric) = metric else { return Cell::Absent };
    if let Some(difference) = difference {
        return Cell::Near { value: metric.value, difference: difference.into() };
    }
    let Some(value) = metric.value else { return Cell::NoValue };
    let test = first.and_then(|first| welch(&first.numbers(), &metric.numbers()));
    let ratio = first.and_then(|first| first.value).map(|base| value / base).filter(|r| r.is_finite());
    Cell::Value {
        value,
        summary: Summary::of(&metric.numbers()),
        ratio,
        outcome: test.map(|test| match (test.shown(), metric.better, test.statistic > 0.0) {
            (false, ..) => Outcome::NoDifferenceShown,
            (true, Better::Higher, true) | (true, Better::Lower, false) => Outcome::Faster,
            _ => Outcome::Slower,
        }),
        difference: test.and_then(|test| test.difference),
    }
}

fn means(lines: &[Line], record: usize) -> Means {
    let of = |better: Better| {
        let ratios: Vec<f64> = lines
            .iter()
            .filter(|line| line.primary && line.better == better)
            .filter(|line| line.cells.iter().all(|cell| matches!(cell, Cell::Value { .. })))
            .filter_map(|line| match line.cells.get(record) {
                Some(Cell::Value { ratio, .. }) => *ratio,
                _ => None,
            })
            .collect();
        geometric_mean(&ratios).map(|mean| (mean, ratios.len()))
    };
    Means { higher: of(Better::Higher), lower: of(Better::Lower) }
}

impl SideBySide {
    /// `11 of 20 rows on both`.
    pub fn coverage_text(&self) -> String {
        let (covered, all) = self.coverage;
        let on = match self.names.len() {
            0 | 1 => "with a result".to_string(),
            2 => "on both".to_string(),
            n => format!("on all {n}"),
        };
        format!("{covered} of {all} rows {on}")
    }

    /// The comparison as a table, with coverage and means below it.
    pub fn table(&self, width: Option<u16>) -> String {
        let mut header = vec!["case", "metric", "unit"];
        header.extend(self.names.iter().map(String::as_str));
        let mut table = terminal::empty(&header, &[], width);
        let mut last = None;
        for line in &self.lines {
            let same_case = last.replace((&line.profile, &line.case)) == Some((&line.profile, &line.case));
            let title = if same_case { String::new() } else { line.title.clone() };
            let mut cells = vec![title, line.metric.clone(), line.unit.clone()];
            cells.extend(line.cells.iter().map(|cell| cell.text(&line.unit)));
            table.add_row(cells.iter().map(|text| plain(text)));
        }
        let mut text = terminal::trimmed(&table);
        text += &format!("\n{}\n", self.coverage_text());
        for (name, means) in self.names.iter().skip(1).zip(&self.means) {
            for (mean, word) in [(means.higher, "higher"), (means.lower, "lower")] {
                if let Some((mean, n)) = mean {
                    let first = &self.names[0];
                    let ratios = if n == 1 { "ratio" } else { "ratios" };
                    text += &plain(&format!(
                        "{name} / {first}: x {}, geometric mean of {n} {ratios}, {word} is better",
                        short(mean)
                    ));
                    text.push('\n');
                }
            }
        }
        text
    }
}

impl Cell {
    /// As it stands in the table.
    fn text(&self, unit: &str) -> String {
        match self {
            Cell::Absent => "not run".into(),
            Cell::NoValue => "-".into(),
            Cell::NoResult { status, reason } => format!("{}: {reason}", status.word()),
            Cell::Near { value: Some(value), difference } => {
                format!("{} (not compared: {difference})", short(in_unit(*value, unit)))
            }
            Cell::Near { value: None, difference } => format!("- (not compared: {difference})"),
            Cell::Value { value, summary, ratio, outcome, .. } => {
                let mut text = short(in_unit(*value, unit));
                if let Some(summary) = summary {
                    if let Some(spread) = terminal::spread(*summary) {
                        text += &format!(" ± {spread}");
                    }
                    text += &format!(" (n {})", summary.n);
                }
                if let Some(ratio) = ratio {
                    text += &format!(", x {}", short(*ratio));
                }
                if let Some(outcome) = outcome {
                    text += &format!(", {}", outcome.text());
                }
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Case, Declared, NoResult, Reason, sample};

    const MIB: f64 = 1_048_576.0;

    /// `a` on both and clearly different, `b` failed on the second, `c` near, `d` only on the first.
    fn records() -> Vec<Record> {
        let row = |case: &str, rates: &[f64]| {
            sample::measured("mixed", case, &rates.iter().map(|r| r * MIB).collect::<Vec<_>>())
        };
        let mut failed = row("b", &[1.0]);
        failed.no_result(NoResult::Unsupported, Reason::new("direct I/O is refused"));
        let mut near = row("c", &[5.0]);
        near.plan_hash = "other".into();
        near.params.insert("block".into(), 8192.into());
        vec![
            sample::record(
                "ssd",
                vec![row("a", &[96.0, 97.0, 98.0]), row("b", &[7.0]), row("c", &[4.0]), row("d", &[3.0])],
            ),
            sample::record("mirror", vec![row("a", &[43.0, 43.5, 44.0]), failed, near]),
        ]
    }

    #[test]
    fn pairs_are_ranked_and_the_rest_says_why_not() {
        let both = compare(&records());
        assert_eq!(both.coverage_text(), "1 of 4 rows on both");
        let rate =
            |case: &str| &both.lines.iter().find(|l| l.case == case && l.metric == "Rate").unwrap().cells[1];
        match rate("a") {
            Cell::Value { ratio: Some(ratio), outcome, difference: Some((low, high)), .. } => {
                assert!((ratio - 43.5 / 97.0).abs() < 1e-12);
                assert_eq!(*outcome, Some(Outcome::Slower));
                assert!(*low < -53.5 * MIB && *high > -53.5 * MIB && *high < 0.0);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(rate("b"), Cell::NoResult { reason, .. } if reason == "direct I/O is refused"));
        assert!(matches!(rate("c"), Cell::Near { difference, .. } if difference == "block 4096 and 8192"));
        assert_eq!(rate("d"), &Cell::Absent);
        let (mean, n) = both.means[0].higher.unwrap();
        assert!(n == 1 && (mean - 43.5 / 97.0).abs() < 1e-12, "only the row both have counts");
        insta::assert_snapshot!(both.table(None), @r"
        case    metric   unit   ssd                 mirror
        Case a  Rate     MiB/s  97.0 ± 1.0 % (n 3)  43.5 ± 1.1 % (n 3), x 0.448, slower
                Latency  us     5.50 ± 0.0 % (n 3)  5.50 ± 0.0 % (n 3), x 1.00, no difference shown
        Case b  Rate     MiB/s  7.00 (n 1)          unsupported: direct I/O is refused
                Latency  us     5.50 (n 1)          unsupported: direct I/O is refused
        Case c  Rate     MiB/s  4.00 (n 1)          5.00 (not compared: block 4096 and 8192)
                Latency  us     5.50 (n 1)          5.50 (not compared: block 4096 and 8192)
        Case d  Rate     MiB/s  3.00 (n 1)          not run
                Latency  us     5.50 (n 1)          not run

        1 of 4 rows on both
        mirror / ssd: x 0.448, geometric mean of 1 ratio, higher is better
        ");
    }

    #[test]
    fn lower_is_faster_where_lower_is_better() {
        let mut records = records();
        records.swap(0, 1);
        let latency = |records: &[Record], seconds: f64| {
            let mut row = records[0].rows[0].clone();
            let mut runs = row.runs().to_vec();
            for (i, run) in runs.iter_mut().enumerate() {
                run.values.insert("Latency".into(), seconds * (1.0 + i as f64 / 1000.0));
            }
            row.measured(crate::record::Measured { runs, ..Default::default() });
            row
        };
        records[0].rows = vec![latency(&records, 2e-6)];
        records[1].rows = vec![latency(&records, 1e-6)];
        let line = compare(&records).lines.remove(1);
        assert!(matches!(line.cells[1], Cell::Value { outcome: Some(Outcome::Faster), .. }), "{line:?}");
    }

    #[test]
    fn one_repeat_shows_nothing_and_noise_no_difference() {
        let with = |rates: &[f64]| sample::record("r", vec![sample::measured("mixed", "a", rates)]);
        let outcome = |a: &[f64], b: &[f64]| match &compare(&[with(a), with(b)]).lines[0].cells[1] {
            Cell::Value { outcome, .. } => *outcome,
            other => panic!("{other:?}"),
        };
        assert_eq!(outcome(&[1.0], &[2.0]), None);
        assert_eq!(outcome(&[10.0, 12.0, 9.0], &[11.0, 10.0, 12.0]), Some(Outcome::NoDifferenceShown));
        assert_eq!(outcome(&[10.0, 10.1, 9.9], &[20.0, 20.1, 19.9]), Some(Outcome::Faster));
    }

    #[test]
    fn a_case_counts_once_however_many_numbers_it_reports() {
        let of = |rates: [f64; 2]| {
            let row = |case: &str, rate: f64| {
                // The same number once more under another name, as a profile may report it.
                let number = |name: &str, primary| Declared {
                    name: name.into(),
                    unit: "MiB/s".into(),
                    better: Better::Higher,
                    primary,
                };
                let mut row = Row::planned(Case {
                    profile: "mixed".into(),
                    case: case.into(),
                    plan_hash: case.into(),
                    metrics: vec![number("Again", false), number("Rate", true)],
                    ..Case::default()
                });
                let mut run = sample::measured("mixed", case, &[rate]).runs()[0].clone();
                run.values.insert("Again".into(), rate);
                row.measured(crate::record::Measured { runs: vec![run], ..Default::default() });
                row
            };
            sample::record("r", vec![row("a", rates[0]), row("b", rates[1])])
        };
        let both = compare(&[of([1.0, 1.0]), of([2.0, 8.0])]);
        assert_eq!(both.lines.len(), 4);
        let (mean, n) = both.means[0].higher.unwrap();
        assert!(n == 2 && (mean - 4.0).abs() < 1e-12, "{mean} of {n}");
        assert_eq!(both.means[0].lower, None);
    }

    #[test]
    fn nothing_and_one_record() {
        assert_eq!(compare(&[]).coverage_text(), "0 of 0 rows with a result");
        let one = compare(&records()[..1]);
        assert_eq!((one.coverage, one.means.len()), ((4, 4), 0));
    }
}
