//! docs/fidelity.md says what the comparisons compare: its numbers are theirs, and its tables leave out
//! nothing that the benchmark measures.

use crate::common::places::KINDS;
use crate::report::{Line, NOT_MEASURED, Outcome, figures, markdown, parts};
use crate::rows::ROWS;
use crate::{dbench, dd, fio, fs_mark, sqlite};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/fidelity.md");
    std::fs::read_to_string(path).expect("the page is there")
}

/// The line of the first table that begins with this name.
fn line<'a>(page: &'a str, original: &str) -> &'a str {
    let begins = format!("| {original} |");
    page.lines().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("no line of {original}"))
}

#[test]
fn the_page_has_every_original_on_every_file_system() {
    let page = page();
    let (_, tables, _) = parts(&page).expect("the page has figures");
    let figures = figures(tables);
    for row in ROWS {
        assert!(
            tables.contains(&format!("\n{}, in {}:\n", row.work, row.unit)),
            "{}: {}",
            row.tool,
            row.work
        );
        for kind in KINDS {
            let key = (row.tool.to_owned(), row.work.to_owned(), kind.to_owned());
            let cells = figures.get(&key).unwrap_or_else(|| panic!("no line for {key:?}"));
            assert!(!cells.contains(NOT_MEASURED), "{key:?}: {cells}");
            // A number, or why there is none.
            let second = cells.split(" | ").nth(1).unwrap_or_default();
            let number = second.starts_with(|c: char| c.is_ascii_digit());
            let reason = ["failed: ", "not to be had: "]
                .iter()
                .any(|begin| second.len() > begin.len() && second.starts_with(begin));
            assert!(number || reason, "{key:?}: {cells}");
        }
    }
    assert_eq!(figures.len(), ROWS.len() * KINDS.len(), "no line of what is not measured");
}

#[test]
fn the_page_names_every_original() {
    let page = page();
    for (original, tool) in [
        ("fs_mark", "fs_mark"),
        ("PostMark", "postmark"),
        ("dd", "dd"),
        ("fio", "fio"),
        ("sqlite3", "sqlite"),
        ("dbench", "dbench"),
    ] {
        line(&page, original);
        assert!(ROWS.iter().any(|row| row.tool == tool), "{tool} has rates");
    }
    line(&page, "compilebench");
    let tools: std::collections::BTreeSet<_> = ROWS.iter().map(|row| row.tool).collect();
    assert_eq!(tools.len(), 6, "{tools:?}");
}

#[test]
fn the_numbers_of_the_page_are_those_of_the_tests() {
    let page = page();
    let calls: u64 = dbench::PASS.iter().map(|(_, count)| count).sum();
    let thousands = |n: u64| {
        let digits = n.to_string();
        let groups = digits.as_bytes().rchunks(3).rev();
        groups.map(|group| String::from_utf8_lossy(group)).collect::<Vec<_>>().join(" ")
    };
    let said = [
        ("fs_mark", format!("in {} sets of options", fs_mark::NUMBER)),
        ("dd", format!("in {} sets of options", dd::NUMBER)),
        ("fio", format!("{} jobs", fio::NUMBER)),
        ("sqlite3", format!("in {} modes", sqlite::NUMBER)),
        ("dbench", format!("up to {} lines", thousands(dbench::LINES as u64))),
        ("dbench", format!("{} calls", thousands(calls))),
        ("dbench", format!("{} directories", dbench::KEPT_DIRECTORIES)),
    ];
    for (original, text) in said {
        let line = line(&page, original);
        assert!(line.contains(&text), "{original}: `{text}` is not in: {line}");
    }
    // Each kind of call that may differ has its name there.
    for (class, most, _) in sqlite::TOLERATED {
        let line = line(&page, "sqlite3");
        let name = class.split(' ').next().unwrap_or_default();
        assert!(line.contains(&format!("`{name}` {most}")), "`{name}` {most} is not in: {line}");
    }
}

#[test]
fn what_failed_is_told_and_what_was_not_measured_stays_or_says_so() {
    let failed = |why: &str| Outcome::Failed(why.into());
    let line = |at: usize, outcome| Line {
        row: &ROWS[at],
        kind: "zfs",
        outcome,
        when: "9, 2026-01-02, 0.50".into(),
    };
    let key =
        |at: usize, kind: &str| (ROWS[at].tool.to_string(), ROWS[at].work.to_string(), kind.to_string());
    let first = figures(&markdown(&[line(2, failed("it | broke\nand more"))], None));
    assert_eq!(first.len(), 1, "only what was measured: {first:?}");
    assert_eq!(first[&key(2, "zfs")], "zfs | failed: it / broke | | | | 9, 2026-01-02, 0.50");

    let whole = figures(&markdown(&[line(0, Outcome::NotHad("no daemon".into()))], Some(&first)));
    assert_eq!(whole.len(), ROWS.len() * KINDS.len());
    assert_eq!(whole[&key(2, "zfs")], first[&key(2, "zfs")], "it stays");
    assert_eq!(whole[&key(0, "zfs")], "zfs | not to be had: no daemon | | | | 9, 2026-01-02, 0.50");
    assert_eq!(whole[&key(0, "xfs")], "xfs | not measured | | | |");
}
