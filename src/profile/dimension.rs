//! Whether the unit of a result fits the number it prints.
//!
//! Knows what the quantities and reductions of measured numbers are made of; only a value that is
//! one plain name is judged, since any other expression may be anything.

use super::diagnostic::Diagnostic;
use super::language::either;
use super::node::Node;
use super::results::Unit;

/// What a measured number is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dimension {
    Seconds,
    Bytes,
    BytesPerSecond,
    PerSecond,
    Count,
}

impl Dimension {
    /// Of `phase.step.quantity.reduction` and the shorter forms; `None` for any other text.
    fn of(text: &str) -> Option<Dimension> {
        let word =
            |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let parts: Vec<&str> = text.trim().split('.').collect();
        let [before @ .., quantity, reduction] = &parts[..] else { return None };
        if !parts.iter().all(|part| word(part)) {
            return None;
        }
        match *reduction {
            "seconds" | "whole_seconds" => return Some(Dimension::Seconds),
            "decks" => return Some(Dimension::Count),
            _ => {}
        }
        // Without a phase in front it is no measured number.
        before.first()?;
        let rate = reduction.starts_with("rate") || *reduction == "busy_rate";
        match (*quantity, rate) {
            ("latency" | "step_latency", _) => Some(Dimension::Seconds),
            ("bytes" | "requested", false) => Some(Dimension::Bytes),
            ("bytes" | "requested", true) => Some(Dimension::BytesPerSecond),
            ("ops" | "steps" | "errors", false) => Some(Dimension::Count),
            ("ops" | "steps" | "errors", true) => Some(Dimension::PerSecond),
            _ => None,
        }
    }

    fn allows(self, unit: &str) -> bool {
        match self {
            Dimension::Seconds => matches!(unit, "s" | "ms" | "us" | "ns"),
            Dimension::Bytes => unit.ends_with('B'),
            Dimension::BytesPerSecond => unit.ends_with("B/s"),
            Dimension::PerSecond => matches!(unit, "ops/s" | "files/s" | "rows/s"),
            Dimension::Count => false,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Dimension::Seconds => "a time",
            Dimension::Bytes => "an amount of bytes",
            Dimension::BytesPerSecond => "bytes a second",
            Dimension::PerSecond => "so many a second",
            Dimension::Count => "a count",
        }
    }
}

/// Complains of a unit that the result's value cannot have. No unit at all is always right.
///
/// # Errors
/// At the unit: what the value is, and the units it may have.
pub fn check(result: &Node, written: &Node, unit: Unit) -> Result<(), Diagnostic> {
    let value = result.get("value").and_then(Node::text).unwrap_or_default();
    let Some(dimension) = Dimension::of(value).filter(|_| unit != Unit::NONE) else { return Ok(()) };
    if dimension.allows(unit.name()) {
        return Ok(());
    }
    let units = Unit::ALL.iter().map(|unit| unit.name()).filter(|name| dimension.allows(name));
    let help = match units.map(String::from).collect::<Vec<_>>() {
        none if none.is_empty() => "leave the unit out".to_string(),
        units => format!("write {}", either(units)),
    };
    let message = format!("{} is {}, which {unit} does not measure", value.trim(), dimension.words());
    Err(Diagnostic::error("invalid-result", &written.place, message).help(help))
}

#[cfg(test)]
mod tests {
    use crate::profile::{results, yaml};

    fn read(value: &str, unit: &str) -> Result<(), String> {
        let text = format!("[{{name: x, value: '{value}', unit: '{unit}', better: lower}}]");
        match results::read(&yaml::node(&text)) {
            Ok(_) => Ok(()),
            Err(problems) => {
                assert!(problems.len() == 1 && problems[0].place.is_some(), "{problems:?}");
                Err(format!("{}: {}", problems[0].message, problems[0].help.join(" ")))
            }
        }
    }

    #[test]
    fn units_that_fit_pass() {
        for (value, units) in [
            ("work.read.latency.p99", &["s", "us", ""][..]),
            ("work.read.step_latency.mean", &["ms"]),
            ("work.seconds", &["s", "ms", ""]),
            ("work.read.bytes.total", &["B", "MB", "KiB", ""]),
            ("work.read.bytes.mean", &["KiB"]),
            ("work.bytes.rate_last_second", &["MiB/s", "B/s"]),
            ("work.group.read.requested.busy_rate", &["MB/s"]),
            ("work.ops.rate_mean", &["ops/s", "files/s", "rows/s", ""]),
            ("work.ops.total", &[""]),
            // Anything else may be anything.
            ("100 * work.read.latency.p99", &["%", "MiB"]),
            ("work.read.errors.total / work.read.ops.total", &["%"]),
            ("share", &["%"]),
        ] {
            for unit in units {
                assert_eq!(read(value, unit), Ok(()), "{value} {unit}");
            }
        }
    }

    #[test]
    fn units_that_cannot_be_are_named() {
        for (value, unit, message) in [
            (
                "work.read.latency.p99",
                "MiB",
                "work.read.latency.p99 is a time, which MiB does not measure: write s, ms, us or ns",
            ),
            (
                "work.read.latency.p99",
                "files/s",
                "work.read.latency.p99 is a time, which files/s does not measure: write s, ms, us or ns",
            ),
            (
                "work.ops.rate",
                "MiB/s",
                "work.ops.rate is so many a second, which MiB/s does not measure: write ops/s, files/s or rows/s",
            ),
            (
                "work.mix.decks",
                "s",
                "work.mix.decks is a count, which s does not measure: leave the unit out",
            ),
        ] {
            assert_eq!(read(value, unit), Err(message.into()));
        }
        for (value, unit) in [
            ("work.read.bytes.total", "MiB/s"),
            ("work.read.bytes.rate", "MiB"),
            ("work.whole_seconds", "B"),
            ("work.read.ops.total", "ops/s"),
            ("work.errors.total", "%"),
        ] {
            assert!(read(value, unit).is_err(), "{value} {unit}");
        }
    }
}
