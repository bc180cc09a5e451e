//! The report: the machine, the versions, and a table for each tool.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

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
}

impl Line<'_> {
    /// From the file system's name on, without the outer bars.
    pub fn cells(&self) -> String {
        let one_line = |why: &str| why.lines().next().unwrap_or_default().replace('|', "/");
        match &self.outcome {
            Outcome::Rates { ours, theirs, ratio: Ratio { ratio, low, high } } => {
                let (ours, theirs) = (number(*ours), number(*theirs));
                format!("{} | {ours} | {theirs} | {ratio:.2} | {low:.2} to {high:.2}", self.kind)
            }
            Outcome::NotHad(why) => format!("{} | not to be had: {} | | |", self.kind, one_line(why)),
            Outcome::Failed(why) => format!("{} | failed: {} | | |", self.kind, one_line(why)),
        }
    }
}

pub fn markdown(lines: &[Line], pairs: usize) -> String {
    let mut text = format!("{}\n\n{pairs} pairs of each row.\n", machine());
    let mut tools: Vec<&str> = lines.iter().map(|line| line.row.tool).collect();
    tools.dedup();
    for tool in tools {
        let version = ROWS.iter().find(|row| row.tool == tool).and_then(|row| version(row.package));
        let version = version.map(|version| format!(" {version}")).unwrap_or_default();
        let _ = write!(text, "\n### {tool}{version}\n");
        let mut work = "";
        for line in lines.iter().filter(|line| line.row.tool == tool) {
            if line.row.work != work {
                work = line.row.work;
                let _ = write!(
                    text,
                    "\n{work}, in {}:\n\n| file system | ours | theirs | ratio | 95 % interval |\n|---|--:|--:|--:|---|\n",
                    line.row.unit
                );
            }
            let _ = writeln!(text, "| {} |", line.cells());
        }
    }
    text
}

/// Replaces the figures of a page.
pub fn put_into(page: &Path, figures: &str) -> Result<(), String> {
    let name = page.display();
    let text = std::fs::read_to_string(page).map_err(|e| format!("{name}: {e}"))?;
    let missing = || format!("{name} has no lines `{BEGIN}` and `{END}`");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    let whole = format!("{before}{BEGIN}\n\n{figures}\n{END}{after}");
    std::fs::write(page, whole).map_err(|e| format!("{name}: {e}"))
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
    let load = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
    format!("{cores} cores, {kind}, Linux {}; load when this was written: {load}.", kernel.join("."))
}

/// The version of a Debian package, where there is one.
fn version(package: &str) -> Option<String> {
    let asked =
        Command::new("dpkg-query").args(["--show", "--showformat=${Version}", package]).output().ok()?;
    let text = String::from_utf8(asked.stdout).ok()?;
    (asked.status.success() && !text.is_empty()).then_some(text)
}
