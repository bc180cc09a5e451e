//! Which rows of several records may be compared, and what keeps others apart.
//!
//! Rows pair when they did the same: by the hash of their plan, imported ones by the published
//! test they follow. Everything else is at best a near match, which is shown and never ranked.

use serde_json::{Map, Value};

use crate::record::{Metric, Record, Row};

/// How two rows stand to each other.
#[derive(Clone, Debug, PartialEq)]
pub enum Match {
    /// The same case, run in the same way.
    Same,
    /// The same case, but something differs: what.
    Near(String),
    /// Different cases.
    No,
}

/// What a row did, as a text that is equal for rows that did the same.
fn identity(row: &Row) -> String {
    match &row.reproduces {
        _ if !row.plan_hash.is_empty() => row.plan_hash.clone(),
        Some(test) => format!("{} {} {}", test.test, comparable(&test.version), test.case),
        None => format!("{}:{} {}", row.profile, row.case, comparable(&row.profile_version)),
    }
}

/// The X.Y of a version: changes after it leave numbers comparable.
fn comparable(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// Holds two rows against each other.
pub fn compare(a: &Row, b: &Row) -> Match {
    if a.plan_hash.is_empty() || b.plan_hash.is_empty() {
        return match (&a.reproduces, &b.reproduces) {
            (Some(x), Some(y)) if x.test == y.test && x.case == y.case => {
                versions("test", &x.version, &y.version).map_or(Match::Same, Match::Near)
            }
            _ if a.reproduces.is_none() && b.reproduces.is_none() && identity(a) == identity(b) => {
                Match::Same
            }
            _ => Match::No,
        };
    }
    let same_case = a.profile == b.profile && a.case == b.case;
    if a.plan_hash != b.plan_hash && !same_case {
        return Match::No;
    }
    match difference(a, b) {
        None if a.plan_hash == b.plan_hash => Match::Same,
        None => Match::Near("the plan differs".into()),
        Some(difference) => Match::Near(difference),
    }
}

/// The first thing that differs between two rows of one case.
fn difference(a: &Row, b: &Row) -> Option<String> {
    let modes = || {
        let (x, y) = (a.effective().direct?, b.effective().direct?);
        (x != y).then(|| format!("direct I/O was {} and {}", word(&x), word(&y)))
    };
    let engines = || {
        let (x, y) = (a.engine.used.as_ref()?, b.engine.used.as_ref()?);
        (x != y).then(|| format!("engine {x} and {y}"))
    };
    let plans = || {
        if a.plan_hash == b.plan_hash {
            return None;
        }
        versions("profile", &a.profile_version, &b.profile_version)
            .or_else(|| maps(&a.params, &b.params))
            .or_else(|| maps(&a.facts, &b.facts).map(|text| format!("{text} (of the machine)")))
    };
    plans().or_else(engines).or_else(modes)
}

fn versions(of: &str, a: &str, b: &str) -> Option<String> {
    (comparable(a) != comparable(b)).then(|| format!("{of} version {a} and {b}"))
}

/// `block 4096 and 8192` for the first key whose values differ.
fn maps(a: &Map<String, Value>, b: &Map<String, Value>) -> Option<String> {
    let text = |value: Option<&Value>| match value {
        None => "none".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    a.keys()
        .chain(b.keys().filter(|key| !a.contains_key(*key)))
        .find(|key| a.get(*key) != b.get(*key))
        .map(|key| format!("{key} {} and {}", text(a.get(key)), text(b.get(key))))
}

/// A mode as it is stored.
fn word(mode: &impl serde::Serialize) -> String {
    serde_json::to_value(mode).ok().and_then(|v| v.as_str().map(str::to_string)).unwrap_or_default()
}

/// A name for each record: the run's, with the target where two runs share it, and a number
/// where that does not tell them apart either.
pub fn names(records: &[Record]) -> Vec<String> {
    let shared = |name: &str| records.iter().filter(|record| record.run.name == name).count() > 1;
    let mut names: Vec<String> = Vec::with_capacity(records.len());
    for record in records {
        let name = &record.run.name;
        let base = if shared(name) { format!("{name}/{}", record.target.name) } else { name.clone() };
        let mut unique = base.clone();
        let mut number = 2;
        while names.contains(&unique) {
            unique = format!("{base} ({number})");
            number += 1;
        }
        names.push(unique);
    }
    names
}

/// The rows of several records that stand on one line, at most one a record.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// By record: the row, and what keeps it from being compared with the first.
    pub rows: Vec<Option<(&'a Row, Option<String>)>>,
}

impl<'a> Group<'a> {
    /// Nothing but one row of one record.
    fn alone(records: usize, record: usize, row: &'a Row) -> Group<'a> {
        let mut rows: Vec<Option<(&Row, Option<String>)>> = vec![None; records];
        rows[record] = Some((row, None));
        Group { rows }
    }

    /// The first row there is, with its record's number.
    pub fn lead(&self) -> Option<(usize, &'a Row)> {
        self.rows.iter().enumerate().find_map(|(i, row)| row.as_ref().map(|(row, _)| (i, *row)))
    }

    /// Whether two metrics are the same number. Imported rows name theirs otherwise than we do;
    /// there the unit decides.
    pub fn same(&self, a: &Metric, b: &Metric) -> bool {
        let imported = self.rows.iter().flatten().any(|(row, _)| row.plan_hash.is_empty());
        a.unit == b.unit && (imported || a.name == b.name)
    }

    /// Every metric of the group once, in the order of the first row that has it.
    pub fn metrics(&self) -> Vec<&'a Metric> {
        let mut metrics: Vec<&Metric> = Vec::new();
        for metric in self.rows.iter().flatten().flat_map(|(row, _)| row.metrics()) {
            if !metrics.iter().any(|known| self.same(known, metric)) {
                metrics.push(metric);
            }
        }
        metrics
    }

    /// The one number that stands for the case, as the first row that has one says.
    pub fn primary(&self) -> Option<&'a Metric> {
        self.rows.iter().flatten().flat_map(|(row, _)| row.metrics()).find(|metric| metric.primary)
    }

    /// The row's own form of a metric of the group.
    pub fn metric<'r>(&self, row: &'r Row, metric: &Metric) -> Option<&'r Metric> {
        row.metrics().iter().find(|own| self.same(metric, own))
    }
}

/// Puts the rows of all records together, in the order of the first record that has them. A row
/// that did the same is taken before one that is only near.
pub fn groups(records: &[Record]) -> Vec<Group<'_>> {
    grouped(records, true)
}

/// As [`groups`], with near matches apart: all rows of a group did the same.
pub fn exact_groups(records: &[Record]) -> Vec<Group<'_>> {
    grouped(records, false)
}

fn grouped(records: &[Record], near_together: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    for (i, record) in records.iter().enumerate() {
        let mut left: Vec<&Row> = Vec::new();
        for row in &record.rows {
            let same = groups.iter_mut().find(|group| {
                group.rows[i].is_none()
                    && group.lead().is_some_and(|(_, lead)| compare(lead, row) == Match::Same)
            });
            match same {
                Some(group) => group.rows[i] = Some((row, None)),
                None => left.push(row),
            }
        }
        for row in left {
            let near = groups.iter_mut().filter(|_| near_together).find_map(|group| {
                let lead = group.lead().filter(|_| group.rows[i].is_none())?;
                match compare(lead.1, row) {
                    Match::Near(difference) => Some((group, difference)),
                    _ => None,
                }
            });
            match near {
                Some((group, difference)) => group.rows[i] = Some((row, Some(difference))),
                None => groups.push(Group::alone(records.len(), i, row)),
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Case, Reproduces, sample};

    fn row() -> Row {
        sample::measured("mixed", "a", &[1.0])
    }

    fn near(change: impl Fn(&mut Row)) -> String {
        let mut other = row();
        change(&mut other);
        match compare(&row(), &other) {
            Match::Near(difference) => difference,
            other => panic!("{other:?} is no near match"),
        }
    }

    #[test]
    fn the_same_plan_pairs_and_a_difference_is_named() {
        assert_eq!(compare(&row(), &row()), Match::Same);
        let hash = |row: &mut Row| row.plan_hash = "other".into();
        assert_eq!(near(hash), "the plan differs");
        let with = |key: &'static str, value: Value| {
            near(move |row| {
                hash(row);
                row.params.insert(key.into(), value.clone());
            })
        };
        assert_eq!(with("block", 8192.into()), "block 4096 and 8192");
        assert_eq!(with("new", "y".into()), "new none and y");
        assert_eq!(
            near(|row| {
                hash(row);
                row.profile_version = "1.1.0".into();
            }),
            "profile version 1.0.0 and 1.1.0"
        );
        assert_eq!(
            near(|row| {
                hash(row);
                row.facts.insert("cpus".into(), 8.into());
            }),
            "cpus none and 8 (of the machine)"
        );
        assert_eq!(near(|row| row.engine.used = Some("io_uring".into())), "engine sync and io_uring");
        assert_eq!(compare(&row(), &sample::measured("mixed", "b", &[1.0])), Match::No);
    }

    #[test]
    fn an_effective_mode_keeps_rows_apart() {
        let mut ignored = row();
        let runs = ignored.runs().to_vec();
        ignored.measured(crate::record::Measured {
            engine: Some("sync".into()),
            effective: crate::record::Effective {
                direct: Some(crate::record::Directness::Ignored),
                ..Default::default()
            },
            verdict: None,
            runs,
        });
        assert_eq!(compare(&row(), &ignored), Match::Near("direct I/O was direct and ignored".into()));
    }

    #[test]
    fn imported_rows_pair_by_the_published_test() {
        let test = |version: &str| {
            Some(Reproduces { test: "pts/fio".into(), version: version.into(), case: "x".into() })
        };
        let imported = Row::planned(Case { reproduces: test("1.1.2"), ..Case::default() });
        let mut ours = row();
        assert_eq!(compare(&ours, &imported), Match::No);
        ours.reproduces = test("1.1.0");
        assert_eq!(compare(&ours, &imported), Match::Same);
        ours.reproduces = test("1.2.0");
        assert_eq!(compare(&ours, &imported), Match::Near("test version 1.2.0 and 1.1.2".into()));
    }

    #[test]
    fn groups_keep_the_order_and_prefer_the_same_plan() {
        let mut other = row();
        other.plan_hash = "other".into();
        let b = sample::measured("mixed", "b", &[1.0]);
        let records = [
            sample::record("r", vec![row(), b.clone()]),
            sample::record("r", vec![other, row(), sample::measured("x", "c", &[1.0])]),
        ];
        let groups = groups(&records);
        let shape: Vec<Vec<bool>> =
            groups.iter().map(|group| group.rows.iter().map(Option::is_some).collect()).collect();
        assert_eq!(shape, [vec![true, true], vec![true, false], vec![false, true], vec![false, true]]);
        assert!(groups[0].rows[1].as_ref().is_some_and(|(_, difference)| difference.is_none()));
        assert_eq!(names(&records), ["r/disk", "r/disk (2)"]);
    }
}
