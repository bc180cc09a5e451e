//! The report: the machine, the versions, and a table for each work of each tool. Knows nothing of how
//! a rate comes about.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::places::KINDS;
use crate::rows::{ROWS, Row};
use crate::support::paired::Ratio;

/// The figures of a page stand between these lines.
const BEGIN: &str = "<!-- figures: written by the command above -->";
const END: &str = "<!-- end of figures -->";

pub enum Outcome {
    /// Medians, and the ratio over pairs.
    Rates { ours: f64, theirs: f64, ratio: Ratio },
    /// This kind of file system cannot be had here, and why.
    NotHad(String),
    /// A command failed.
    Failed(String),
}

/// A row on one kind of file system.
pub struct Line<'a> {
    pub row: &'a Row,
    pub kind: &'a str,
    pub outcome: Outcome,
    /// How many pairs, which day, and the load of the machine before the first.
    pub when: String,
}

impl Line<'_> {
    fn is(&self, row: &Row, kind: &str) -> bool {
        (self.row.tool, self.row.work, self.kind) == (row.tool, row.work, kind)
    }

    /// From the file system's name on, without the outer bars.
    pub fn cells(&self) -> String {
        let (kind, when) = (self.kind, &self.when);
        let one_line = |why: &str| why.lines().next().unwrap_or_default().replace('|', "/");
        match &self.outcome {
            Outcome::Rates { ours, theirs, ratio: Ratio { ratio, low, high } } => {
                let (ours, theirs) = (number(*ours), number(*theirs));
                format!("{kind} | {ours} | {theirs} | {ratio:.2} | {low:.2} to {high:.2} | {when}")
            }
            Outcome::NotHad(why) => format!("{kind} | not to be had: {} | | | | {when}", one_line(why)),
            Outcome::Failed(why) => format!("{kind} | failed: {} | | | | {when}", one_line(why)),
        }
    }
}

/// The cells of a page's lines, by tool, work and kind of file system.
pub type Figures = BTreeMap<(String, String, String), String>;

/// All lines of the tables in figures written before.
pub fn figures(text: &str) -> Figures {
    let (mut tool, mut work, mut found) = ("", "", Figures::new());
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix("### ") {
            tool = heading.split(' ').next().unwrap_or_default();
        } else if let Some((title, _)) = line.strip_suffix(':').and_then(|line| line.rsplit_once(", in ")) {
            work = title;
        } else if let Some(cells) = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |")) {
            let kind = cells.split(' ').next().unwrap_or_default();
            if KINDS.contains(&kind) {
                found.insert((tool.to_owned(), work.to_owned(), kind.to_owned()), cells.to_owned());
            }
        }
    }
    found
}

/// The tables: only of what was measured, or the whole with what was there `before` in all other lines.
pub fn markdown(lines: &[Line], before: Option<&Figures>) -> String {
    let mut text = format!("{}\n", machine());
    let mut tool = "";
    for row in ROWS {
        let cells = |kind: &&str| {
            let measured = lines.iter().find(|line| line.is(row, kind));
            let earlier = |before: &Figures| {
                let key = (row.tool.to_owned(), row.work.to_owned(), (*kind).to_owned());
                before.get(&key).cloned().unwrap_or_else(|| format!("{kind} | {NOT_MEASURED} | | | |"))
            };
            measured.map(Line::cells).or_else(|| before.map(earlier))
        };
        let all: Vec<String> = KINDS.iter().filter_map(cells).collect();
        if all.is_empty() {
            continue;
        }
        if tool != row.tool {
            tool = row.tool;
            let version = version(row.package).map(|version| format!(" {version}")).unwrap_or_default();
            let _ = write!(text, "\n### {tool}{version}\n");
        }
        let _ = write!(text, "\n{}, in {}:\n\n{HEADER}\n", row.work, row.unit);
        all.iter().for_each(|cells| {
            let _ = writeln!(text, "| {cells} |");
        });
    }
    text
}

const HEADER: &str =
    "| file system | ours | theirs | ratio | 95 % interval | pairs, day, load |\n|---|--:|--:|--:|---|---|";

/// Stands in a line that has never been written, so that nothing is left out silently.
pub const NOT_MEASURED: &str = "not measured";

/// Replaces those figures of a page that were measured, and keeps the others.
pub fn put_into(page: &Path, lines: &[Line]) -> Result<(), String> {
    let name = page.display();
    let text = std::fs::read_to_string(page).map_err(|e| format!("{name}: {e}"))?;
    let (before, figures, after) =
        parts(&text).ok_or_else(|| format!("{name} has no lines `{BEGIN}` and `{END}`"))?;
    let tables = markdown(lines, Some(&self::figures(figures)));
    let whole = format!("{before}{BEGIN}\n\n{tables}\n{END}{after}");
    std::fs::write(page, whole).map_err(|e| format!("{name}: {e}"))
}

/// A page before its figures, the figures, and after.
pub fn parts(page: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (figures, after) = rest.split_once(END)?;
    Some((before, figures, after))
}

/// Today in UTC, as `2026-12-01`.
pub fn day() -> String {
    jiff::Timestamp::now().to_string().chars().take(10).collect()
}

/// The load of the last minute: whatever else ran took its share.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

/// Three significant digits, thousands apart.
fn number(value: f64) -> String {
    if value < 100.0 {
        let decimals = if value < 1.0 {
            3
        } else if value < 10.0 {
            2
        } else {
            1
        };
        return format!("{value:.decimals$}");
    }
    let step = 10f64.powf(value.log10().floor() - 2.0);
    let digits = format!("{:.0}", (value / step).round() * step);
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let all: Vec<String> =
        [head.to_owned()].into_iter().filter(|head| !head.is_empty()).chain(groups).collect();
    all.join("\u{a0}")
}

/// What a reader needs to know of the machine, and no more.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel: Vec<&str> = kernel.split(['.', '-']).take(2).collect();
    let kind = if read("/proc/cpuinfo").contains(" hypervisor") { "virtual machine" } else { "machine" };
    let day = day();
    let load = load();
    format!("Written on {day}: {cores} cores, {kind}, Linux {}, load {load}.", kernel.join("."))
}

/// The version of a Debian package, where there is one.
fn version(package: &str) -> Option<String> {
    let asked =
        Command::new("dpkg-query").args(["--show", "--showformat=${Version}", package]).output().ok()?;
    let text = String::from_utf8(asked.stdout).ok()?;
    (asked.status.success() && !text.is_empty()).then_some(text)
}
