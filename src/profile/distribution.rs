//! Distributions as a profile writes them: a constant, or a map such as `{uniform: [1, 16KiB]}`.
//!
//! Values are sizes in bytes or counts. How a value is drawn is not known here.

use super::diagnostic::Diagnostic;
use super::names::did_you_mean;
use super::node::{Node, Value};
use super::units;

/// A value that is a number, or that only the run knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Bytes or a count.
    Number(u64),
    /// `{file.size}`: the current size of the file in hand.
    FileSize,
    /// `{file.room}`: how much the file in hand may still grow (`max_size` of its set).
    FileRoom,
}

/// What is drawn at run time; bounded whole numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Always this value.
    Constant(Bound),
    /// Every `step`-th number from `lo` to `hi`, both included.
    Uniform {
        /// Smallest value.
        lo: Bound,
        /// Largest value.
        hi: Bound,
        /// Distance of neighbouring values.
        step: u64,
    },
    /// Values with their weights; weights are finite, from 0, and not all 0. As written, in order.
    Weighted(Vec<(Bound, f64)>),
    /// Gamma distribution.
    Gamma {
        /// Mean of what is drawn.
        mean: u64,
        /// Shape parameter.
        shape: f64,
    },
    /// Normal distribution.
    Normal {
        /// Mean of what is drawn.
        mean: u64,
        /// Standard deviation.
        sd: u64,
    },
    /// Exponential distribution.
    Exponential {
        /// Mean of what is drawn.
        mean: u64,
    },
    /// (fraction of one, value), both rising, from 0 to 1; linear in between.
    Quantiles(Vec<(f64, u64)>),
    /// The exponent, above 0.
    Zipf(f64),
    /// The fraction `share` of the draws falls into the fraction `of` of the range.
    Hot {
        /// Fraction of the draws, from 0 to 1.
        share: f64,
        /// Fraction of the range, from 0 to 1.
        of: f64,
    },
}

const KINDS: [&str; 8] =
    ["uniform", "weighted", "gamma", "normal", "exponential", "quantiles", "zipf", "hot"];

/// Reads a distribution; gives every mistake found in it.
pub fn parse(node: &Node) -> Result<Distribution, Vec<Diagnostic>> {
    let Value::Map(entries) = &node.value else {
        return bound(node).map(Distribution::Constant).map_err(|d| vec![d]);
    };
    let mut problems = Vec::new();
    let kinds: Vec<&(String, Node)> =
        entries.iter().filter(|(key, _)| KINDS.contains(&key.as_str())).collect();
    for (key, value) in entries {
        if !KINDS.contains(&key.as_str()) && key != "step" {
            problems.push(
                fault(value, format!("unknown kind of distribution {key}"))
                    .at_key()
                    .help(did_you_mean(key, KINDS.iter())),
            );
        }
    }
    if kinds.len() != 1 && problems.is_empty() {
        let found = match kinds.len() {
            0 => "no kind of distribution".to_string(),
            _ => format!("{} kinds of distribution", kinds.len()),
        };
        problems.push(fault(node, format!("{found} where there must be one")).help(kinds_help()));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let (kind, value) = kinds[0];
    let step = node.get("step");
    if let (Some(step), true) = (step, kind != "uniform") {
        return Err(vec![
            fault(step, format!("step has no meaning with {kind}")).at_key().help("only uniform has steps"),
        ]);
    }
    match kind.as_str() {
        "uniform" => uniform(value, step),
        "weighted" => weighted(value),
        "gamma" => map_of_two(value, "mean", "shape").and_then(|(mean, shape)| {
            Ok(Distribution::Gamma { mean: positive_size(mean)?, shape: positive(shape)? })
        }),
        "normal" => map_of_two(value, "mean", "sd")
            .and_then(|(mean, sd)| Ok(Distribution::Normal { mean: size(mean)?, sd: size(sd)? })),
        "exponential" => positive_size(value).map(|mean| Distribution::Exponential { mean }),
        "quantiles" => quantiles(value),
        "zipf" => positive(value).map(Distribution::Zipf),
        _ => map_of_two(value, "share", "of")
            .and_then(|(share, of)| Ok(Distribution::Hot { share: fraction(share)?, of: fraction(of)? })),
    }
}

/// Reads a number or one of the bounds that only the run knows.
pub fn bound(node: &Node) -> Result<Bound, Diagnostic> {
    match node.text() {
        Some(text) if text.starts_with('{') => run_time_bound(node, text),
        _ => units::size(node).map(Bound::Number),
    }
}

fn run_time_bound(node: &Node, text: &str) -> Result<Bound, Diagnostic> {
    const KNOWN: [&str; 2] = ["{file.size}", "{file.room}"];
    match text {
        "{file.size}" => Ok(Bound::FileSize),
        "{file.room}" => Ok(Bound::FileRoom),
        _ => {
            Err(fault(node, format!("{} is no size", units::shown(text)))
                .help(did_you_mean(text, KNOWN.iter())))
        }
    }
}

fn uniform(node: &Node, step: Option<&Node>) -> Result<Distribution, Vec<Diagnostic>> {
    let [lo, hi] = node.items() else {
        let message = format!("uniform needs its two ends, not {}", node.value.described());
        return Err(vec![
            fault(node, message).help("write for example {uniform: [1, 16KiB]}; both ends are included"),
        ]);
    };
    let mut problems = Vec::new();
    let mut take = |result: Result<Bound, Diagnostic>| result.map_err(|d| problems.push(d)).ok();
    let ends = (take(bound(lo)), take(bound(hi)));
    let step = match step.map(units::size) {
        None => 1,
        Some(Ok(0)) => {
            problems.extend(step.map(|step| {
                fault(step, "a step of 0 never gets anywhere".into()).help("leave step out for every number")
            }));
            1
        }
        Some(Ok(step)) => step,
        Some(Err(problem)) => {
            problems.push(problem);
            1
        }
    };
    if let (Some(Bound::Number(a)), Some(Bound::Number(b))) = ends
        && a > b
    {
        problems.push(
            fault(node, format!("the lower end {a} is above the upper end {b}"))
                .help("the smaller one comes first"),
        );
    }
    match ends {
        (Some(lo), Some(hi)) if problems.is_empty() => Ok(Distribution::Uniform { lo, hi, step }),
        _ => Err(problems),
    }
}

fn weighted(node: &Node) -> Result<Distribution, Vec<Diagnostic>> {
    let entries = some_entries(node, "weighted", "{weighted: {4KiB: 50, 8KiB: 30}}")?;
    let mut problems = Vec::new();
    let mut values = Vec::new();
    for (key, weight) in entries {
        match (key_bound(key, weight), weight_of(weight)) {
            (Ok(value), Ok(weight)) => values.push((value, weight)),
            (value, weight) => problems.extend(value.err().into_iter().chain(weight.err())),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    weights_add_up(node, entries.iter().map(|(_, weight)| weight))?;
    Ok(Distribution::Weighted(values))
}

/// One weight: a number from 0, or a percent as a fraction.
pub fn weight_of(node: &Node) -> Result<f64, Diagnostic> {
    let weight = match &node.value {
        Value::Int(i) => *i as f64,
        Value::Float(f) => *f,
        Value::Text(_) => return units::percent(node),
        _ => -1.0,
    };
    match weight.is_finite() && weight >= 0.0 {
        true => Ok(weight),
        false => Err(fault(node, format!("{} is no weight", node.value.described()))
            .help("a weight is a number from 0, or a percent")),
    }
}

/// Checks what weights make together: not all 0; percents all or none, and 100 % of them.
pub fn weights_add_up<'a>(
    of: &Node,
    weights: impl Iterator<Item = &'a Node> + Clone,
) -> Result<(), Vec<Diagnostic>> {
    let percents = weights.clone().filter(|weight| weight.text().is_some()).count();
    let sum: f64 = weights.clone().filter_map(|weight| weight_of(weight).ok()).sum();
    if percents != 0 && percents != weights.count() {
        return Err(vec![
            fault(of, "some weights are percents and some are not".into()).help("write all of them one way"),
        ]);
    }
    if percents != 0 && (sum - 1.0).abs() > 1e-9 {
        let message = format!("the percents add up to {}, not to 100%", units::format_percent(sum));
        return Err(vec![fault(of, message).help("plain weights need no particular sum")]);
    }
    match sum > 0.0 && sum.is_finite() {
        true => Ok(()),
        false => Err(vec![
            fault(of, "all weights are 0: there is nothing to draw".into())
                .help("give at least one a weight"),
        ]),
    }
}

fn quantiles(node: &Node) -> Result<Distribution, Vec<Diagnostic>> {
    let entries = some_entries(node, "quantiles", "{quantiles: {0%: 0, 50%: 4055, 100%: 1MiB}}")?;
    let mut problems = Vec::new();
    let mut points: Vec<(f64, u64, &Node)> = Vec::new();
    for (key, value) in entries {
        let at = units::parse_percent(key).map_err(|e| fault(value, e.message).at_key());
        match (at, units::size(value)) {
            (Ok(at), Ok(size)) => points.push((at, size, value)),
            (at, size) => problems.extend(at.err().into_iter().chain(size.err())),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in points.windows(2) {
        let ((p, low, _), (q, high, node)) = (pair[0], pair[1]);
        let (p, q) = (units::format_percent(p), units::format_percent(q));
        if p == q {
            problems.push(fault(node, format!("{q} stands there twice")).at_key());
        } else if low > high {
            problems.push(
                fault(node, format!("the value at {q}, {high}, is below the one at {p}, {low}"))
                    .help("values rise with their percents"),
            );
        }
    }
    let ends = (points.first().map(|p| p.0), points.last().map(|p| p.0));
    if ends != (Some(0.0), Some(1.0)) {
        problems.push(
            fault(node, "quantiles must begin at 0% and end at 100%".into())
                .help("they are the smallest and the largest value"),
        );
    }
    match problems.is_empty() {
        true => Ok(Distribution::Quantiles(points.into_iter().map(|(at, size, _)| (at, size)).collect())),
        false => Err(problems),
    }
}

/// The entries of a map that must have some.
fn some_entries<'a>(
    node: &'a Node,
    kind: &str,
    example: &str,
) -> Result<&'a [(String, Node)], Vec<Diagnostic>> {
    match node.entries() {
        [] => {
            let message = format!("{kind} needs a map with values, not {}", node.value.described());
            Err(vec![fault(node, message).help(format!("write for example {example}"))])
        }
        entries => Ok(entries),
    }
}

/// A map with exactly these two keys.
fn map_of_two<'a>(
    node: &'a Node,
    first: &str,
    second: &str,
) -> Result<(&'a Node, &'a Node), Vec<Diagnostic>> {
    let mut problems: Vec<Diagnostic> = node
        .entries()
        .iter()
        .filter(|(key, _)| key != first && key != second)
        .map(|(key, value)| {
            fault(value, format!("unknown key {key}"))
                .at_key()
                .help(did_you_mean(key, [first, second].iter()))
        })
        .collect();
    match (node.get(first), node.get(second)) {
        (Some(a), Some(b)) if problems.is_empty() => Ok((a, b)),
        (a, b) => {
            let missing: Vec<&str> = [(a, first), (b, second)]
                .iter()
                .filter(|(value, _)| value.is_none())
                .map(|(_, key)| *key)
                .collect();
            if !missing.is_empty() {
                let message = format!("{} is missing", missing.join(" and "));
                problems.push(fault(node, message).help(format!("it is a map with {first} and {second}")));
            }
            Err(problems)
        }
    }
}

/// A key of a weighted map; the key has no node of its own.
fn key_bound(key: &str, value: &Node) -> Result<Bound, Diagnostic> {
    if key.starts_with('{') {
        return run_time_bound(value, key).map_err(Diagnostic::at_key);
    }
    units::parse_size(key)
        .map(Bound::Number)
        .map_err(|e| fault(value, e.message).at_key().help(e.help.unwrap_or_default()))
}

fn size(node: &Node) -> Result<u64, Vec<Diagnostic>> {
    units::size(node).map_err(|d| vec![d])
}

fn positive_size(node: &Node) -> Result<u64, Vec<Diagnostic>> {
    match size(node)? {
        0 => Err(vec![
            fault(node, "a mean of 0 leaves nothing to draw".into()).help("write a size or number above 0"),
        ]),
        size => Ok(size),
    }
}

fn positive(node: &Node) -> Result<f64, Vec<Diagnostic>> {
    let number = match &node.value {
        Value::Int(i) => *i as f64,
        Value::Float(f) => *f,
        _ => 0.0,
    };
    match number.is_finite() && number > 0.0 {
        true => Ok(number),
        false => Err(vec![
            fault(node, format!("{} is no number above 0", node.value.described()))
                .help("write for example 1.5"),
        ]),
    }
}

fn fraction(node: &Node) -> Result<f64, Vec<Diagnostic>> {
    match units::percent(node) {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        Ok(share) => Err(vec![
            fault(node, format!("{} is out of range", units::format_percent(share)))
                .help("above 0%, up to 100%"),
        ]),
        Err(problem) => Err(vec![problem]),
    }
}

fn kinds_help() -> String {
    format!("write a size or number, or a map with one of {}", KINDS.join(", "))
}

fn fault(node: &Node, message: String) -> Diagnostic {
    Diagnostic::error("invalid-distribution", &node.place, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::yaml;

    fn read(text: &str) -> Result<Distribution, Vec<Diagnostic>> {
        parse(&yaml::node(text))
    }

    #[test]
    fn every_kind_is_read() {
        use Bound::{FileRoom, FileSize, Number};
        let table = [
            ("16k", Distribution::Constant(Number(16384))),
            ("'{file.size}'", Distribution::Constant(FileSize)),
            ("{uniform: [1, 16KiB]}", Distribution::Uniform { lo: Number(1), hi: Number(16384), step: 1 }),
            ("{uniform: [1, '{file.room}']}", Distribution::Uniform { lo: Number(1), hi: FileRoom, step: 1 }),
            (
                "{uniform: [0, 8k], step: 4k}",
                Distribution::Uniform { lo: Number(0), hi: Number(8192), step: 4096 },
            ),
            ("{uniform: [5, 5]}", Distribution::Uniform { lo: Number(5), hi: Number(5), step: 1 }),
            (
                "{weighted: {4k: 50, 512: 0}}",
                Distribution::Weighted(vec![(Number(4096), 50.0), (Number(512), 0.0)]),
            ),
            (
                "{weighted: {4k: 75%, 8k: 25%}}",
                Distribution::Weighted(vec![(Number(4096), 0.75), (Number(8192), 0.25)]),
            ),
            ("{gamma: {mean: 16KiB, shape: 1.5}}", Distribution::Gamma { mean: 16384, shape: 1.5 }),
            ("{normal: {mean: 100, sd: 10}}", Distribution::Normal { mean: 100, sd: 10 }),
            ("{exponential: 4k}", Distribution::Exponential { mean: 4096 }),
            (
                "{quantiles: {0%: 1, 100%: 1MiB, 50%: 4055}}",
                Distribution::Quantiles(vec![(0.0, 1), (0.5, 4055), (1.0, 1 << 20)]),
            ),
            ("{zipf: 1.1}", Distribution::Zipf(1.1)),
            ("{hot: {share: 80%, of: 20%}}", Distribution::Hot { share: 0.8, of: 0.2 }),
        ];
        for (text, distribution) in table {
            assert_eq!(read(text), Ok(distribution), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_is_wrong() {
        let table = [
            ("4x", "\"x\" is no unit"),
            ("'{file.rom}'", "is no size"),
            ("{unifrom: [1, 2]}", "unknown kind of distribution unifrom"),
            ("{}", "no kind of distribution"),
            ("{step: 5}", "no kind of distribution"),
            ("{zipf: 1, exponential: 5}", "2 kinds"),
            ("{zipf: 1, step: 5}", "step has no meaning with zipf"),
            ("{uniform: 5}", "two ends"),
            ("{uniform: [1, 2, 3]}", "two ends"),
            ("{uniform: [2, 1]}", "lower end 2 is above the upper end 1"),
            ("{uniform: [1, 2], step: 0}", "never gets anywhere"),
            ("{weighted: {}}", "needs a map"),
            ("{weighted: {4k: 0}}", "all weights are 0"),
            ("{weighted: {4k: -1}}", "is no weight"),
            ("{weighted: {4x: 1}}", "no unit"),
            ("{weighted: {4k: 50%, 8k: 30%}}", "add up to 80%"),
            ("{weighted: {4k: 50%, 8k: 30}}", "some weights are percents"),
            ("{gamma: {mean: 4k}}", "shape is missing"),
            ("{gamma: {mean: 4k, shpe: 1, shape: 1}}", "unknown key shpe"),
            ("{gamma: {mean: 0, shape: 1}}", "mean of 0"),
            ("{gamma: {mean: 4k, shape: 0}}", "no number above 0"),
            ("{normal: 5}", "mean and sd is missing"),
            ("{quantiles: {0%: 5, 50%: 4, 100%: 9}}", "the value at 50%, 4, is below the one at 0%, 5"),
            ("{quantiles: {0%: 5, 50%: 6}}", "end at 100%"),
            ("{quantiles: {0%: 5, 0.0%: 5, 100%: 6}}", "twice"),
            ("{quantiles: {0: 5, 100%: 6}}", "% is missing"),
            ("{zipf: fast}", "no number above 0"),
            ("{hot: {share: 0%, of: 20%}}", "out of range"),
            ("{hot: {share: 80, of: 20%}}", "not a percent"),
            ("[1, 2]", "is not a size"),
        ];
        for (text, message) in table {
            let problems = read(text).expect_err(text);
            assert!(problems.iter().any(|p| p.message.contains(message)), "{text}: {problems:?}");
        }
        let both = read("{uniform: [x, y], step: 0}").unwrap_err();
        assert_eq!(both.len(), 3, "every mistake at once");
    }
}
