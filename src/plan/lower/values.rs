//! Values of steps: numbers to draw, places, contents, flags, names.

use super::context::Lower;
use super::quantiles;
use crate::os::{Errno, Recipe, errno};
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::distribution::{self, Distribution};
use crate::profile::names::did_you_mean;
use crate::profile::node::{Node, Value};
use crate::profile::{template, units};

/// Longest table of a weighted choice: one entry a unit of weight.
const LONGEST_LOOKUP: u64 = 65536;

/// A share of one as a share of 2^32.
fn share(fraction: f64) -> u32 {
    (fraction.clamp(0.0, 1.0) * 4_294_967_295.0).round() as u32
}

impl Lower {
    /// A number to draw: a size, a count or a distribution of them.
    pub fn draw(&mut self, node: &Node) -> Draw {
        match distribution::parse(node) {
            Ok(distribution) => self.draw_of(&distribution, node),
            Err(problems) => self.or_all(Err(problems), Draw::Const(0)),
        }
    }

    fn draw_of(&mut self, distribution: &Distribution, node: &Node) -> Draw {
        let bound = |b: distribution::Bound| match b {
            distribution::Bound::Number(n) => Bound::Number(n),
            distribution::Bound::FileSize => Bound::FileSize,
            distribution::Bound::FileRoom => Bound::FileRoom,
        };
        let table = match distribution {
            Distribution::Constant(distribution::Bound::Number(n)) => return Draw::Const(*n),
            // A bound of the file is no choice, but only the run knows it.
            Distribution::Constant(b) => return Draw::Uniform { lo: bound(*b), hi: bound(*b), step: 1 },
            Distribution::Uniform { lo, hi, step } => {
                return Draw::Uniform { lo: bound(*lo), hi: bound(*hi), step: *step };
            }
            Distribution::Weighted(choices) => {
                let mut values = Vec::new();
                for (value, _) in choices {
                    match value {
                        distribution::Bound::Number(n) => values.push(*n),
                        _ => self.problem(Diagnostic::error(
                            "invalid-distribution",
                            &node.place,
                            "a weighted choice holds numbers, not bounds of the file",
                        )),
                    }
                }
                let weights: Vec<f64> = choices.iter().map(|(_, w)| *w).collect();
                Table::Lookup { values, index: lookup(&weights) }
            }
            Distribution::Gamma { mean, shape } => quantiles::gamma(*mean as f64, *shape),
            Distribution::Normal { mean, sd } => quantiles::normal(*mean as f64, *sd as f64),
            Distribution::Exponential { mean } => quantiles::exponential(*mean as f64),
            Distribution::Quantiles(points) => quantiles::points(points),
            Distribution::Zipf(_) | Distribution::Hot { .. } => {
                self.problem(
                    Diagnostic::error(
                        "invalid-distribution",
                        &node.place,
                        "zipf and hot choose among ranks; here a number of bytes is needed",
                    )
                    .help("they have their place in `at:` and `pick:`"),
                );
                return Draw::Const(0);
            }
        };
        Draw::Table(self.table(table))
    }

    /// Largest number a draw can give; `u64::MAX` where nothing bounds it.
    pub fn upper(&self, draw: Draw, set: Option<&SetPlan>) -> u64 {
        match draw {
            Draw::Const(n) => n,
            Draw::Uniform { hi: Bound::Number(n), .. } => n,
            Draw::Uniform { .. } => set.and_then(|s| s.max_size).unwrap_or(u64::MAX),
            Draw::Table(id) => match self.plan.tables.get(id as usize) {
                Some(Table::Lookup { values, .. }) => values.iter().copied().max().unwrap_or(0),
                Some(Table::Quantiles { values, tail }) => {
                    values.last().copied().max(tail.last().copied()).unwrap_or(0)
                }
                _ => 0,
            },
        }
    }

    /// The object of a data step.
    pub fn amount(&mut self, node: &Node) -> Amount {
        match node.text() {
            Some("whole") => Amount::Whole,
            _ => Amount::Bytes(self.draw(node)),
        }
    }

    /// A span of time, or a distribution of spans.
    pub fn pause(&mut self, node: &Node) -> Draw {
        match &node.value {
            Value::Map(_) => {
                let in_nanoseconds = self.spans(node);
                self.draw(&in_nanoseconds)
            }
            _ => {
                let span = units::duration(node);
                Draw::Const(self.or(span, 0))
            }
        }
    }

    /// The same value with every duration as a number of nanoseconds.
    fn spans(&mut self, node: &Node) -> Node {
        let value = match &node.value {
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|(key, value)| match key.as_str() {
                        // The shape of a gamma distribution and weights are no times.
                        "shape" => (key.clone(), value.clone()),
                        _ => (key.clone(), self.spans(value)),
                    })
                    .collect(),
            ),
            Value::List(items) => Value::List(items.iter().map(|item| self.spans(item)).collect()),
            _ => {
                let span = units::duration(node);
                Value::Int(i128::from(self.or(span, 0)))
            }
        };
        Node { value, ..node.clone() }
    }

    /// Where a transfer goes.
    pub fn at(&mut self, node: &Node) -> At {
        if let Some(at) = node.text().and_then(at_word) {
            return at;
        }
        if let Value::Map(entries) = &node.value {
            match entries.as_slice() {
                [(key, stride)] if key == "stride" => {
                    let stride = units::size(stride);
                    return At::Stride(self.or(stride, 0));
                }
                [(key, choices)]
                    if key == "weighted" && choices.entries().iter().any(|(k, _)| at_word(k).is_some()) =>
                {
                    return self.weighted_at(choices);
                }
                _ => {}
            }
        }
        match distribution::parse(node) {
            Ok(Distribution::Zipf(exponent)) => At::Ranked(self.table(Table::Zipf { exponent })),
            Ok(Distribution::Hot { share: s, of }) => At::Hot { share: share(s), of: share(of) },
            Ok(other) => At::Offset(self.draw_of(&other, node)),
            Err(problems) => self.or_all(Err(problems), At::Next),
        }
    }

    fn weighted_at(&mut self, choices: &Node) -> At {
        let mut ats = Vec::new();
        for (key, weight) in choices.entries() {
            let at = match at_word(key) {
                Some(at) => at,
                None => match units::parse_size(key) {
                    Ok(offset) => At::Offset(Draw::Const(offset)),
                    Err(_) => {
                        let words = ["next", "each_way", "random", "permuted", "start", "end"];
                        self.problem(
                            Diagnostic::error(
                                "invalid-place",
                                &weight.place,
                                format!("{key} is no place in a file"),
                            )
                            .at_key()
                            .help(did_you_mean(key, &words)),
                        );
                        continue;
                    }
                },
            };
            let weight = units::count(weight);
            ats.push((at, self.or(weight, 1) as u32));
        }
        if ats.iter().all(|(_, weight)| *weight == 0) {
            self.problem(Diagnostic::error("invalid-place", &choices.place, "all weights are 0"));
        }
        self.plan.ats.push(ats);
        At::Weighted((self.plan.ats.len() - 1) as u16)
    }

    /// Contents.
    pub fn data(&mut self, node: &Node) -> Recipe {
        match node.text() {
            Some("random") => return Recipe::Random,
            Some("zero") => return Recipe::Zero,
            Some("text") => return Recipe::Text,
            Some("read") => return Recipe::Read,
            _ => {}
        }
        if let Some(byte) = node.get("byte") {
            let text = byte.value.to_string();
            return match (&byte.value, text.as_bytes()) {
                (Value::Int(n), _) if (0..256).contains(n) && text.len() > 1 => Recipe::Byte(*n as u8),
                (_, [byte]) => Recipe::Byte(*byte),
                _ => {
                    self.problem(
                        Diagnostic::error("invalid-data", &byte.place, format!("{text:?} is not one byte"))
                            .help("write one ASCII character, or a number from 10 to 255"),
                    );
                    Recipe::Zero
                }
            };
        }
        if node.get("compressible").is_some() || node.get("duplicate").is_some() {
            let mut part = |key: &str| {
                let fraction = node.get(key).map_or(Ok(0.0), units::percent);
                (self.or(fraction, 0.0) * 100.0).round().clamp(0.0, 100.0) as u8
            };
            let (compressible, duplicate) = (part("compressible"), part("duplicate"));
            return Recipe::Mixed { compressible, duplicate };
        }
        let message = format!("{} is no kind of data", node.value.described());
        self.problem(
            Diagnostic::error("invalid-data", &node.place, message).help(
                "there are random, zero, text, read, {byte: a} and {compressible: 50%, duplicate: 20%}",
            ),
        );
        Recipe::Random
    }

    /// Which member is taken in hand.
    pub fn pick(&mut self, node: &Node) -> Pick {
        match node.text() {
            Some("same") => return Pick::Same,
            Some("random") => return Pick::Random,
            Some("next") => return Pick::Next,
            Some("oldest") => return Pick::Oldest,
            Some("newest") => return Pick::Newest,
            _ => {}
        }
        match distribution::parse(node) {
            Ok(Distribution::Zipf(exponent)) => Pick::Ranked(self.table(Table::Zipf { exponent })),
            Ok(Distribution::Hot { share: s, of }) => {
                Pick::Ranked(self.table(Table::Hot { share: share(s), of: share(of) }))
            }
            Ok(_) => {
                let message = "a file is picked by rank: zipf or hot";
                self.problem(Diagnostic::error("invalid-pick", &node.place, message));
                Pick::Random
            }
            Err(problems) => self.or_all(Err(problems), Pick::Random),
        }
    }

    /// A name of one component.
    pub fn file_name(&mut self, node: &Node) -> NameId {
        let compiled = template::compile(node, template::Purpose::Name);
        let segments = self.or(compiled, Vec::new());
        self.name(segments.into_iter().map(segment).collect())
    }

    /// Permission bits: `"0644"`, or the number YAML makes of 0o644.
    pub fn permissions(&mut self, node: &Node) -> u32 {
        let bits = match &node.value {
            Value::Text(text) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
            Value::Int(n) => u32::try_from(*n).ok(),
            _ => None,
        };
        match bits.filter(|b| *b <= 0o7777) {
            Some(bits) => bits,
            None => {
                let message = format!("{} is no set of permission bits", node.value.described());
                self.problem(
                    Diagnostic::error("invalid-permissions", &node.place, message)
                        .help("write four octal digits in quotes: \"0644\""),
                );
                0o644
            }
        }
    }

    /// Error numbers by name.
    pub fn errnos(&mut self, node: &Node) -> Vec<Errno> {
        let mut found = Vec::new();
        for item in node.items() {
            match item.text().and_then(errno::parse) {
                Some(errno) => found.push(errno),
                None => {
                    let message = format!("{} is no error of this system", item.value.described());
                    self.problem(
                        Diagnostic::error("unknown-error", &item.place, message)
                            .help("for example ENOENT or EEXIST"),
                    );
                }
            }
        }
        found
    }
}

fn at_word(word: &str) -> Option<At> {
    Some(match word {
        "next" => At::Next,
        "each_way" => At::EachWay,
        "random" => At::Random,
        "permuted" => At::Permuted,
        "start" => At::Start,
        "end" => At::End,
        _ => return None,
    })
}

/// One open flag by its word.
pub fn flag(word: &str) -> i32 {
    match word {
        "direct" => libc::O_DIRECT,
        "dsync" => libc::O_DSYNC,
        "sync" => libc::O_SYNC,
        "trunc" => libc::O_TRUNC,
        "excl" => libc::O_EXCL,
        "noatime" => libc::O_NOATIME,
        "append" => libc::O_APPEND,
        _ => 0,
    }
}

/// A table with one entry a unit of weight. Whole weights are kept as they are.
pub fn lookup(weights: &[f64]) -> Vec<u16> {
    let total: f64 = weights.iter().sum();
    let whole = weights.iter().all(|w| w.fract() == 0.0) && total <= LONGEST_LOOKUP as f64;
    let scale = if whole || total <= 0.0 { 1.0 } else { LONGEST_LOOKUP as f64 / 2.0 / total };
    let mut index = Vec::new();
    for (i, weight) in weights.iter().enumerate() {
        let scaled = (weight * scale).round() as usize;
        // A weight above 0 must not vanish by rounding.
        let entries = if *weight > 0.0 { scaled.max(1) } else { 0 };
        index.extend(std::iter::repeat_n(i as u16, entries));
    }
    index
}

/// A piece of a name as the interpreter renders it.
pub fn segment(segment: template::Segment) -> Segment {
    let spec = |format: template::Format| Spec {
        radix: if format.radix == template::Radix::Decimal { 10 } else { 16 },
        upper: format.radix == template::Radix::UpperHex,
        fill: u8::try_from(format.fill).unwrap_or(b' '),
        align: match format.align {
            template::Align::Left => Align::Left,
            template::Align::Center => Align::Center,
            template::Align::Right => Align::Right,
        },
        width: format.width as u16,
    };
    match segment {
        template::Segment::Literal(text) => Segment::Literal(text),
        template::Segment::Number(format) => Segment::Number(spec(format)),
        template::Segment::Worker(format) => Segment::Worker(spec(format)),
        template::Segment::Clock(format) => Segment::Clock(spec(format)),
        template::Segment::Random(n) => Segment::Random(n as u32),
        template::Segment::Digits(n) => Segment::Digits(n as u32),
    }
}
