//! Sizes, durations, percents and counts: how they are written, read and shown.
//!
//! Inside the program sizes are bytes, durations nanoseconds (seconds as a float in expressions)
//! and percents fractions of one. This module knows nothing of parameters or fields.

use std::fmt;

use super::diagnostic::Diagnostic;
use super::node::{Node, Value};

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Why a text is no size, duration or percent; shows what was read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UnitError {
    /// What is wrong, with the text that was read.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

/// The part of a number that was written, as `digits / 10^places`: no rounding happens in it.
struct Decimal {
    digits: u128,
    places: u32,
}

impl Decimal {
    /// The value times `factor` when that is whole and fits in 64 bits.
    fn times(&self, factor: u128) -> Result<u64, Inexact> {
        let scaled = self.digits.checked_mul(factor).ok_or(Inexact::TooLarge)?;
        let scale = 10u128.pow(self.places);
        if scaled % scale != 0 {
            return Err(Inexact::Fraction);
        }
        u64::try_from(scaled / scale).map_err(|_| Inexact::TooLarge)
    }
}

enum Inexact {
    Fraction,
    TooLarge,
}

/// Reads a size in bytes: `4096`, `4k` = `4K` = `4Ki` = `4KiB` = 4096, `4kB` = `4KB` = 4000,
/// likewise M, G and T; fractions where they give whole bytes (`1.5GiB`).
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    const HELP: &str =
        "write for example 4096, 4KiB (4096 bytes) or 4kB (4000 bytes); the letters are k, M, G and T";
    let fail = |why: &str| error(text, "a size", why, HELP);
    let (number, unit) = split_number(text).map_err(|why| fail(&why))?;
    let factor = size_factor(unit).ok_or_else(|| fail(&format!("{} is no unit of size", shown(unit))))?;
    number.times(factor).map_err(|inexact| match inexact {
        Inexact::Fraction => fail("it is no whole number of bytes"),
        Inexact::TooLarge => fail("it is larger than 16 EiB"),
    })
}

/// Bytes that one unit stands for. A bare `b` (512 to dd) and `kb` (bits to many) are not guessed.
fn size_factor(unit: &str) -> Option<u128> {
    if matches!(unit, "" | "B") {
        return Some(1);
    }
    let mut chars = unit.chars();
    let power = match chars.next()?.to_ascii_lowercase() {
        'k' => 1,
        'm' => 2,
        'g' => 3,
        't' => 4,
        _ => return None,
    };
    match chars.as_str() {
        "" | "i" | "iB" => Some(1024u128.pow(power)),
        "B" => Some(1000u128.pow(power)),
        _ => None,
    }
}

/// Whether a written size uses a decimal unit but gives no whole 512-byte sectors; then the
/// size someone probably meant is named, for a warning.
pub fn decimal_size_hint(text: &str) -> Option<String> {
    let bytes = parse_size(text).ok()?;
    let (_, unit) = split_number(text).ok()?;
    let decimal = unit.len() == 2 && unit.ends_with('B');
    (decimal && bytes % 512 != 0).then(|| {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
        format!("{number}{}iB", unit[..1].to_ascii_uppercase())
    })
}

/// Reads a duration in nanoseconds: `20s`, `500ms`, `1m30s`, `2h`; units h, m, s, ms, us, ns, each
/// at most once and in this order. A bare number and `12:30` are errors.
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    const HELP: &str = "write for example 20s, 500ms, 1m30s or 2h; the units are h, m, s, ms, us and ns";
    let fail = |why: &str| error(text, "a duration", why, HELP);
    let mut rest = text;
    let mut total = 0u64;
    let mut smallest = u128::MAX;
    loop {
        let end = part_end(rest);
        let (number, unit) = split_number(&rest[..end]).map_err(|why| fail(&why))?;
        let factor = match unit {
            "h" => 3600 * NANOS_PER_SECOND,
            "m" => 60 * NANOS_PER_SECOND,
            "s" => NANOS_PER_SECOND,
            "ms" => 1_000_000,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1000,
            "ns" => 1,
            "" => return Err(fail("the unit is missing")),
            _ => return Err(fail(&format!("{} is no unit of time", shown(unit)))),
        };
        if factor >= smallest {
            return Err(fail("its units must go from large to small, each once"));
        }
        smallest = factor;
        let part = number.times(factor).map_err(|inexact| match inexact {
            Inexact::Fraction => fail("it is no whole number of nanoseconds"),
            Inexact::TooLarge => fail("it is too long"),
        })?;
        total = total.checked_add(part).ok_or_else(|| fail("it is too long"))?;
        rest = &rest[end..];
        if rest.is_empty() {
            return Ok(total);
        }
    }
}

/// Where the first number with its unit ends: before the first digit after a letter.
fn part_end(text: &str) -> usize {
    let mut unit_seen = false;
    for (at, c) in text.char_indices() {
        if c.is_alphabetic() {
            unit_seen = true;
        } else if unit_seen && c.is_ascii_digit() {
            return at;
        }
    }
    text.len()
}

/// Reads a percent as a fraction of one: `75%` is 0.75. Above 100 % is left to each field.
pub fn parse_percent(text: &str) -> Result<f64, UnitError> {
    const HELP: &str = "write for example 75%";
    let fail = |why: &str| error(text, "a percent", why, HELP);
    let (number, unit) = split_number(text).map_err(|why| fail(&why))?;
    match unit {
        // One division of two exact numbers gives the nearest fraction there is.
        "%" => Ok(number.digits as f64 / 10f64.powi(number.places as i32 + 2)),
        "" => Err(fail("the sign % is missing")),
        _ => Err(fail(&format!("{} stands where % should", shown(unit)))),
    }
}

/// Splits `1.5 GiB` into the number and the unit; one blank may stand between them.
fn split_number(text: &str) -> Result<(Decimal, &str), String> {
    if text.is_empty() {
        return Err("it is empty".into());
    }
    if text.starts_with('-') {
        return Err("it is negative".into());
    }
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if whole.is_empty() && fraction == "0" {
        return Err("it must begin with a digit".into());
    }
    if whole.is_empty() || fraction.is_empty() || fraction.contains('.') {
        return Err(format!("{} is no number", shown(number)));
    }
    if whole.len() > 1 && whole.starts_with('0') {
        return Err("a leading zero could mean octal".into());
    }
    let fraction = fraction.trim_end_matches('0');
    // More digits than this cannot give a whole number that fits in 64 bits.
    if whole.len() > 20 || fraction.len() > 12 {
        return Err("it has too many digits".into());
    }
    let digits =
        format!("{whole}{fraction}").parse().map_err(|_| format!("{} is no number", shown(number)))?;
    let bare = unit.strip_prefix(' ').filter(|unit| !unit.is_empty()).unwrap_or(unit);
    Ok((Decimal { digits, places: fraction.len() as u32 }, bare))
}

fn error(text: &str, what: &str, why: &str, help: &str) -> UnitError {
    UnitError { message: format!("{} is not {what}: {why}", shown(text)), help: Some(help.into()) }
}

/// A text in quotes, with the code points of what is not plain ASCII (typographic quotes and
/// no-break spaces look like others).
pub fn shown(text: &str) -> String {
    let odd: Vec<String> = text
        .chars()
        .filter(|c| !c.is_ascii_graphic() && *c != ' ')
        .map(|c| format!("U+{:04X}", u32::from(c)))
        .collect();
    match odd.is_empty() {
        true => format!("\"{text}\""),
        false => format!("{text:?} (contains {})", odd.join(", ")),
    }
}

/// The shortest exact spelling of a size: `4KiB`, `1536MiB`, `1000`.
pub fn format_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        if bytes != 0 && bytes.trailing_zeros() >= shift {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// An exact spelling of a duration: `1m30s`, `2h`, `1500ms`.
pub fn format_duration(nanos: u64) -> String {
    const SECOND: u64 = NANOS_PER_SECOND as u64;
    if !nanos.is_multiple_of(SECOND) {
        let (unit, name) = [(1_000_000, "ms"), (1000, "us")]
            .into_iter()
            .find(|(unit, _)| nanos.is_multiple_of(*unit))
            .unwrap_or((1, "ns"));
        return format!("{}{name}", nanos / unit);
    }
    let seconds = nanos / SECOND;
    let mut text = String::new();
    for (value, unit) in [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')] {
        if value > 0 {
            text.push_str(&format!("{value}{unit}"));
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

/// A percent as it is written, from a fraction of one.
pub fn format_percent(fraction: f64) -> String {
    // Twelve places are more than anybody writes and hide the rounding of the multiplication.
    let percent = (fraction * 100.0 * 1e12).round() / 1e12;
    format!("{percent}%")
}

/// A size in bytes from a value.
pub fn size(node: &Node) -> Result<u64, Diagnostic> {
    match &node.value {
        Value::Text(text) => parse_size(text).map_err(|e| at(node, "invalid-size", e)),
        value => whole(value).ok_or_else(|| wrong(node, "invalid-size", "a size", "4096, 4KiB or 4kB")),
    }
}

/// A whole number from 0; an integral float such as `4096.0` or `1e3` is taken as the integer.
pub fn count(node: &Node) -> Result<u64, Diagnostic> {
    whole(&node.value).ok_or_else(|| {
        wrong(node, "invalid-count", "a count", "a whole number from 0, without quotes or a unit")
    })
}

/// A duration in nanoseconds; a bare number (of seconds) only where an expression gave it.
pub fn duration(node: &Node) -> Result<u64, Diagnostic> {
    const EXAMPLE: &str = "20s, 500ms or 1m30s";
    let seconds = match &node.value {
        Value::Text(text) => return parse_duration(text).map_err(|e| at(node, "invalid-duration", e)),
        Value::Int(i) if node.computed => *i as f64,
        Value::Float(f) if node.computed => *f,
        _ => return Err(wrong(node, "invalid-duration", "a duration", EXAMPLE)),
    };
    let nanos = (seconds * 1e9).round();
    if !(0.0..1.8e19).contains(&nanos) {
        return Err(wrong(node, "invalid-duration", "a duration", EXAMPLE));
    }
    Ok(nanos as u64)
}

/// A percent as a fraction of one; a bare number (a fraction) only where an expression gave it.
pub fn percent(node: &Node) -> Result<f64, Diagnostic> {
    let fraction = match &node.value {
        Value::Text(text) => return parse_percent(text).map_err(|e| at(node, "invalid-percent", e)),
        Value::Int(i) if node.computed => *i as f64,
        Value::Float(f) if node.computed => *f,
        _ => -1.0,
    };
    if !(fraction.is_finite() && fraction >= 0.0) {
        return Err(wrong(node, "invalid-percent", "a percent", "75%"));
    }
    Ok(fraction)
}

/// `true` or `false`.
pub fn boolean(node: &Node) -> Result<bool, Diagnostic> {
    match &node.value {
        Value::Bool(b) => Ok(*b),
        _ => Err(wrong(node, "invalid-bool", "a yes or no", "true or false")),
    }
}

/// A text; numbers and booleans are taken as they are written.
pub fn text(node: &Node) -> Result<String, Diagnostic> {
    match &node.value {
        Value::Null | Value::List(_) | Value::Map(_) => {
            Err(wrong(node, "invalid-text", "a text", "one word or line"))
        }
        value => Ok(value.to_string()),
    }
}

/// The whole number from 0 that a number is, if it is one that fits.
fn whole(value: &Value) -> Option<u64> {
    match value {
        Value::Int(i) => u64::try_from(*i).ok(),
        // Up to 2^64; floats at that height are whole but no longer exact, as their writer knows.
        Value::Float(f) if f.fract() == 0.0 && (0.0..1.8446744073709552e19).contains(f) => Some(*f as u64),
        _ => None,
    }
}

fn at(node: &Node, code: &'static str, error: UnitError) -> Diagnostic {
    let diagnostic = Diagnostic::error(code, &node.place, error.message);
    match error.help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

fn wrong(node: &Node, code: &'static str, what: impl fmt::Display, example: &str) -> Diagnostic {
    Diagnostic::error(code, &node.place, format!("{} is not {what}", node.value.described()))
        .help(format!("write {example}"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::node::Place;

    fn node(value: Value, computed: bool) -> Node {
        Node { place: Place { file: 0, pointer: "".into() }, value, computed }
    }

    #[test]
    fn every_spelling_of_a_size_has_one_meaning() {
        let (k, m, g, t) = (1u64 << 10, 1 << 20, 1 << 30, 1 << 40);
        let table = [
            ("0", 0),
            ("512", 512),
            ("9B", 9),
            ("4k", 4 * k),
            ("4K", 4 * k),
            ("4Ki", 4 * k),
            ("4ki", 4 * k),
            ("4KiB", 4 * k),
            ("4kB", 4000),
            ("4KB", 4000),
            ("1m", m),
            ("1M", m),
            ("1Mi", m),
            ("1MiB", m),
            ("1MB", 1_000_000),
            ("1g", g),
            ("1 g", g),
            ("4 KiB", 4 * k),
            ("1GB", 1_000_000_000),
            ("0.5g", g / 2),
            ("1.5GiB", 3 * g / 2),
            ("1.50GiB", 3 * g / 2),
            ("1T", t),
            ("1TB", 1_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in table {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_shown() {
        let table = [
            ("", "empty"),
            (" ", "digit"),
            ("-1", "negative"),
            ("1e3", "\"e3\" is no unit"),
            ("10%", "\"%\" is no unit"),
            ("4k#c", "\"k#c\" is no unit"),
            ("4kb", "\"kb\""),
            ("8b", "\"b\""),
            ("0.3", "whole number of bytes"),
            ("0.1k", "whole number of bytes"),
            ("12:30", "\":30\""),
            ("1_000", "\"_000\""),
            ("1,000", "\",000\""),
            ("0644", "octal"),
            (".5k", "no number"),
            ("5.", "no number"),
            ("1.2.3", "no number"),
            ("4  KiB", "\" KiB\""),
            ("4k ", "\"k \""),
            ("1P", "\"P\""),
            ("99999999999999999999", "16 EiB"),
            ("999999999999999999999999", "too many digits"),
            ("17592186044416T", "16 EiB"),
            ("\u{201c}4k\u{201d}", "U+201C, U+201D"),
            ("4\u{a0}k", "U+00A0"),
        ];
        for (text, part) in table {
            let error = parse_size(text).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
            assert!(error.help.is_some());
        }
    }

    #[test]
    fn durations_need_units() {
        let table = [
            ("0s", 0),
            ("20s", 20_000_000_000),
            ("500ms", 500_000_000),
            ("1m30s", 90_000_000_000),
            ("2h", 7_200_000_000_000),
            ("1h0m1s", 3_601_000_000_000),
            ("1.5s", 1_500_000_000),
            ("10us", 10_000),
            ("10\u{b5}s", 10_000),
            ("7ns", 7),
            ("5 s", 5_000_000_000),
        ];
        for (text, nanos) in table {
            assert_eq!(parse_duration(text), Ok(nanos), "{text}");
        }
        for text in [
            "",
            "20",
            "12:30",
            "1:30:00",
            "-5s",
            "5x",
            "30s1m",
            "1s1s",
            "0.5ns",
            "s",
            "1m30",
            "9999999999h",
            "5e3s",
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(error.message.starts_with(&shown(text)), "{error}");
        }
    }

    #[test]
    fn percents_are_fractions() {
        assert_eq!(parse_percent("75%"), Ok(0.75));
        assert_eq!(parse_percent("0%"), Ok(0.0));
        assert_eq!(parse_percent("99.9%"), Ok(0.999));
        for text in ["75", "%", "-1%", "7%%", "", "0.75x"] {
            assert!(parse_percent(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_from_nodes() {
        assert_eq!(count(&node(Value::Float(1e3), false)), Ok(1000));
        assert_eq!(size(&node(Value::Float(4096.0), false)), Ok(4096));
        assert_eq!(size(&node(Value::Text("4k".into()), false)), Ok(4096));
        assert!(count(&node(Value::Float(1.5), false)).is_err());
        assert!(count(&node(Value::Int(-1), false)).is_err());
        assert!(count(&node(Value::Text("5".into()), false)).is_err());
        assert!(count(&node(Value::Float(1e30), false)).is_err());
        assert_eq!(duration(&node(Value::Float(0.5), true)), Ok(500_000_000));
        assert_eq!(duration(&node(Value::Int(2), true)), Ok(2_000_000_000));
        assert!(duration(&node(Value::Int(2), false)).is_err());
        assert!(duration(&node(Value::Float(-2.0), true)).is_err());
        assert!(duration(&node(Value::Float(1e12), true)).is_err());
        assert_eq!(percent(&node(Value::Float(0.5), true)), Ok(0.5));
        assert!(percent(&node(Value::Float(0.5), false)).is_err());
        assert_eq!(text(&node(Value::Int(5), false)), Ok("5".into()));
        assert!(boolean(&node(Value::Text("yes".into()), false)).is_err());
    }

    #[test]
    fn spellings() {
        assert_eq!(format_size(4096), "4KiB");
        assert_eq!(format_size(1 << 20), "1MiB");
        assert_eq!(format_size(3 << 29), "1536MiB");
        assert_eq!(format_size(1000), "1000");
        assert_eq!(format_size(0), "0");
        assert_eq!(format_duration(90_000_000_000), "1m30s");
        assert_eq!(format_duration(1_500_000_000), "1500ms");
        assert_eq!(format_duration(0), "0s");
        assert_eq!(format_percent(0.07), "7%");
        assert_eq!(decimal_size_hint("1MB").as_deref(), Some("1MiB"));
        assert_eq!(decimal_size_hint("4kB").as_deref(), Some("4KiB"));
        assert_eq!(decimal_size_hint("512kB"), None);
        assert_eq!(decimal_size_hint("4KiB"), None);
    }

    proptest! {
        #[test]
        fn parsers_never_panic(text in ".{0,12}") {
            let _ = (parse_size(&text), parse_duration(&text), parse_percent(&text), decimal_size_hint(&text));
        }

        #[test]
        fn nearly_right_texts_never_panic(text in "[0-9.]{0,24}[ -]?[kKmMgGtThsun%iBe]{0,3}[0-9.]{0,3}[smuh]{0,2}") {
            let _ = (parse_size(&text), parse_duration(&text), parse_percent(&text), decimal_size_hint(&text));
        }

        #[test]
        fn what_is_shown_is_read_back(bytes: u64, shift in 0u32..50) {
            let bytes = bytes >> shift << (shift / 2);
            prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
            prop_assert_eq!(parse_duration(&format_duration(bytes)), Ok(bytes));
            let percent = f64::from(shift) / 50.0;
            prop_assert!((parse_percent(&format_percent(percent)).unwrap() - percent).abs() < 1e-12);
        }
    }
}
