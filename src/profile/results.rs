//! `results:`: the numbers a profile reports, their units, and their values after a run.
//!
//! Numbers come in by dotted name in base units (bytes, seconds, fractions of one); units matter
//! only when a number is printed. How anything was measured is not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::calculator::{self, Computed, Formula};
use super::diagnostic::Diagnostic;
use super::dimension;
use super::expression::{self, Scope};
use super::names::{did_you_mean, nearest};
use super::node::{Node, Value};
use super::units;

/// Which of two values is the better one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// The unit a number is printed in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Unit {
    name: &'static str,
    /// How many base units one of it is.
    base: f64,
}

impl Unit {
    /// No unit: the name of the number says what is counted.
    pub const NONE: Unit = Unit::of("", 1.0);

    /// Every unit that can be written.
    pub const ALL: [Unit; 22] = [
        Unit::of("s", 1.0),
        Unit::of("ms", 1e-3),
        Unit::of("us", 1e-6),
        Unit::of("ns", 1e-9),
        Unit::of("B", 1.0),
        Unit::of("kB", 1e3),
        Unit::of("MB", 1e6),
        Unit::of("GB", 1e9),
        Unit::of("KiB", 1024.0),
        Unit::of("MiB", 1048576.0),
        Unit::of("GiB", 1073741824.0),
        Unit::of("B/s", 1.0),
        Unit::of("kB/s", 1e3),
        Unit::of("MB/s", 1e6),
        Unit::of("GB/s", 1e9),
        Unit::of("KiB/s", 1024.0),
        Unit::of("MiB/s", 1048576.0),
        Unit::of("GiB/s", 1073741824.0),
        Unit::of("ops/s", 1.0),
        Unit::of("files/s", 1.0),
        Unit::of("rows/s", 1.0),
        Unit::of("%", 0.01),
    ];

    const fn of(name: &'static str, base: f64) -> Unit {
        Unit { name, base }
    }

    /// The unit of this name; the empty name is [`Unit::NONE`].
    pub fn parse(name: &str) -> Option<Unit> {
        match name {
            "" => Some(Unit::NONE),
            name => Unit::ALL.into_iter().find(|unit| unit.name == name),
        }
    }

    /// As written in profiles and reports.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// A number of base units in this unit.
    pub fn from_base(self, number: f64) -> f64 {
        // Division by a whole number is exact where multiplication by its inverse is not.
        if self.base >= 1.0 { number / self.base } else { number * (1.0 / self.base).round() }
    }

    /// A number of this unit in base units.
    pub fn to_base(self, number: f64) -> f64 {
        if self.base >= 1.0 { number * self.base } else { number / (1.0 / self.base).round() }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// One number a profile reports.
#[derive(Clone, Debug)]
pub struct MetricSpec {
    /// Name within the case.
    pub name: String,
    /// A bare expression.
    pub value: Node,
    /// Unit it is printed in.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// The one that stands for the whole case; exactly one of a case.
    pub primary: bool,
    /// A condition that only the run can decide.
    pub when: Option<Node>,
    /// Whether it is left out where the recorded load has no request of the kind it names.
    pub optional: bool,
}

/// One number after a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Metric {
    /// Name within the case.
    pub name: String,
    /// In base units; `None` where something it needs never ran. Never NaN.
    pub value: Option<f64>,
    /// Unit it is printed in.
    pub unit: Unit,
    /// Which direction is an improvement.
    pub better: Better,
    /// Whether it stands for the whole case.
    pub primary: bool,
}

/// What was measured, in base units: `phase.step.quantity.reduction` and `phase.quantity.reduction`
/// with their numbers.
pub type Numbers = BTreeMap<String, f64>;

/// Reads the rendered `results:` of a case. Where none is called primary, the first one is.
pub fn read(results: &Node) -> Result<Vec<MetricSpec>, Vec<Diagnostic>> {
    let mut specs = expression::all(results.items().iter().map(metric))?;
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    let mut primaries = 0;
    for (spec, node) in specs.iter().zip(results.items()) {
        if !names.insert(spec.name.clone()) {
            problems.push(fault(
                node.get("name").unwrap_or(node),
                format!("two numbers are called {}", spec.name),
            ));
        }
        primaries += usize::from(spec.primary);
        if spec.primary && primaries == 2 {
            problems.push(
                fault(node.get("primary").unwrap_or(node), "more than one number is primary".into())
                    .help("one number stands for the whole case"),
            );
        }
    }
    if let (0, Some(first)) = (primaries, specs.first_mut()) {
        first.primary = true;
    }
    if problems.is_empty() { Ok(specs) } else { Err(problems) }
}

fn metric(node: &Node) -> Result<MetricSpec, Vec<Diagnostic>> {
    let needed = |key: &str| {
        node.get(key).ok_or_else(|| {
            vec![fault(node, format!("{key} is missing")).help("a number needs name, value and better")]
        })
    };
    let one = |problem: Diagnostic| vec![problem];
    let unit = match node.get("unit") {
        None => Unit::NONE,
        Some(written) => {
            let name = units::text(written).map_err(one)?;
            let known: Vec<&str> = Unit::ALL.iter().map(|unit| unit.name).collect();
            let unknown = || {
                fault(written, format!("{} is no unit", units::shown(&name)))
                    .help(did_you_mean(&name, &known))
            };
            let unit = Unit::parse(&name).ok_or_else(unknown).map_err(one)?;
            dimension::check(node, written, unit).map_err(one)?;
            unit
        }
    };
    let written = needed("better")?;
    let better = match written.text() {
        Some("higher") => Better::Higher,
        Some("lower") => Better::Lower,
        _ => {
            return Err(one(fault(
                written,
                format!("{} is neither higher nor lower", written.value.described()),
            )));
        }
    };
    let value = needed("value")?;
    let value = Node { value: Value::Text(units::text(value).map_err(one)?), ..value.clone() };
    for expression in std::iter::once(&value).chain(node.get("when")) {
        if let Some(text) = expression.text() {
            expression::bare(expression, text)?;
            Formula::compile(text).map_err(|fault| one(expression::diagnostic(expression, 0, fault)))?;
        }
    }
    Ok(MetricSpec {
        name: units::text(needed("name")?).map_err(one)?,
        value,
        unit,
        better,
        primary: node.get("primary").map(units::boolean).transpose().map_err(one)?.unwrap_or(false),
        when: node.get("when").cloned(),
        optional: node.get("optional").map(units::boolean).transpose().map_err(one)?.unwrap_or(false),
    })
}

/// The numbers without those optional ones that name what this run will not have, though another
/// recorded load would: `known` are all dotted names that it can have, `others` those of such loads.
pub fn offered(
    specs: Vec<MetricSpec>,
    known: &[String],
    others: &[String],
    scope: &Scope,
) -> Vec<MetricSpec> {
    let absent = |path: &String| {
        let root = path.split('.').next().unwrap_or_default();
        !scope.knows(root) && !known.contains(path) && others.contains(path)
    };
    let left_out = |spec: &MetricSpec| {
        let text = spec.value.text().filter(|_| spec.optional);
        let formula = text.and_then(|text| Formula::compile(text).ok());
        formula.is_some_and(|formula| formula.paths().iter().any(absent))
    };
    specs.into_iter().filter(|spec| !left_out(spec)).collect()
}

/// Complains of every name in the expressions that the run will not have. `known` are all dotted
/// names that it can have.
pub fn check_names(specs: &[MetricSpec], known: &[String], scope: &Scope) -> Vec<Diagnostic> {
    let known: Vec<Vec<&str>> = known.iter().map(|name| name.split('.').collect()).collect();
    let expressions = specs.iter().flat_map(|spec| std::iter::once(&spec.value).chain(&spec.when));
    expressions
        .filter_map(|node| Some((node, node.text()?)))
        .flat_map(|(node, text)| {
            let paths = Formula::compile(text).map(|formula| formula.paths()).unwrap_or_default();
            paths
                .into_iter()
                .filter_map(|path| unknown_part(node, text, &path, &known, scope))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Finds the first part of a path that no known name has.
fn unknown_part(
    node: &Node,
    text: &str,
    path: &str,
    known: &[Vec<&str>],
    scope: &Scope,
) -> Option<Diagnostic> {
    let parts: Vec<&str> = path.split('.').collect();
    if scope.knows(parts[0]) || known.contains(&parts) {
        return None;
    }
    let good = (0..=parts.len())
        .rev()
        .find(|n| known.iter().any(|name| name.starts_with(&parts[..*n])))
        .unwrap_or(0);
    // A whole known name can be the beginning of a wrong one.
    let next: BTreeSet<&str> = known
        .iter()
        .filter(|name| name.starts_with(&parts[..good]))
        .filter_map(|name| name.get(good).copied())
        .collect();
    let before = parts[..good].join(".");
    let start = calculator::find_name(text, parts[0]);
    let message = match (parts.get(good), good) {
        (None, _) => format!("{path} is no number yet"),
        (Some(part), 0) => format!("there is no phase {part}"),
        (Some(part), _) => format!("{before} has no {part}"),
    };
    let help = match parts.get(good).and_then(|part| nearest(part, &next)) {
        Some(near) if good > 0 => format!("did you mean {before}.{near}?"),
        Some(near) => format!("did you mean {near}?"),
        None if next.is_empty() => format!("{before} is a number"),
        None => format!("there are: {}", next.into_iter().collect::<Vec<_>>().join(", ")),
    };
    let mut problem = Diagnostic::error("unknown-number", &node.place, message).help(help);
    // The path as it is written, if it is written without blanks.
    problem.part = start.map(|start| {
        let whole = start.start..start.start + path.len();
        if text.get(whole.clone()) == Some(path) { whole } else { start }
    });
    Some(problem)
}

/// The numbers of a case after a run. Those whose `when` says no are left out; those that need
/// something that was not measured have no value.
pub fn evaluate(specs: &[MetricSpec], numbers: &Numbers, scope: &Scope) -> Vec<Metric> {
    let measured = Measured::new(numbers);
    specs
        .iter()
        .filter(|spec| match &spec.when {
            None => true,
            // A condition that cannot be decided leaves the line, which then mostly has no value.
            Some(when) => {
                !matches!(when.text().and_then(|text| measured.eval(text, scope)), Some(Value::Bool(false)))
            }
        })
        .map(|spec| Metric {
            name: spec.name.clone(),
            value: spec.value.text().and_then(|text| measured.number(text, scope)),
            unit: spec.unit,
            better: spec.better,
            primary: spec.primary,
        })
        .collect()
}

/// The finite ones of the measured numbers, as expressions see them.
struct Measured<'a> {
    numbers: &'a Numbers,
    /// The phases, each a map of what it measured.
    phases: Vec<(String, Computed)>,
}

impl<'a> Measured<'a> {
    fn new(numbers: &'a Numbers) -> Measured<'a> {
        let rows: Vec<(Vec<&str>, f64)> = numbers
            .iter()
            .filter(|(_, number)| number.is_finite())
            .map(|(name, number)| (name.split('.').collect(), *number))
            .collect();
        Measured { numbers, phases: level(&rows, 0) }
    }

    /// The value of an expression; `None` where it cannot be had.
    fn eval(&self, text: &str, scope: &Scope) -> Option<Value> {
        let formula = Formula::compile(text).ok()?;
        // Asked for by name, so that nothing missing can slip through a comparison or a list.
        let there = |path: &String| {
            let root = path.split('.').next().unwrap_or_default();
            scope.knows(root) || self.numbers.get(path).is_some_and(|number| number.is_finite())
        };
        if !formula.paths().iter().all(there) {
            return None;
        }
        let mut context = self.phases.clone();
        context.extend(
            formula.names().into_iter().filter_map(|name| Some((name.clone(), scope.computed(&name)?))),
        );
        let place = super::node::Place { file: 0, pointer: "".into() };
        formula
            .eval(Computed::from_pairs(context))
            .ok()
            .and_then(|value| calculator::to_node(&value, &place).ok())
            .map(|node| node.value)
    }

    fn number(&self, text: &str, scope: &Scope) -> Option<f64> {
        match self.eval(text, scope)? {
            Value::Int(i) => Some(i as f64),
            Value::Float(f) => Some(f),
            _ => None,
        }
    }
}

/// The maps at one depth of sorted dotted names; a name that others continue is a map.
fn level(rows: &[(Vec<&str>, f64)], depth: usize) -> Vec<(String, Computed)> {
    let rows: Vec<&(Vec<&str>, f64)> = rows.iter().filter(|(name, _)| name.len() > depth).collect();
    let names: BTreeSet<&str> = rows.iter().map(|(name, _)| name[depth]).collect();
    names
        .into_iter()
        .map(|part| {
            let below: Vec<(Vec<&str>, f64)> =
                rows.iter().filter(|(name, _)| name[depth] == part).map(|row| (*row).clone()).collect();
            let value = match &below[..] {
                [(name, number)] if name.len() == depth + 1 => Computed::from(*number),
                _ => Computed::from_pairs(level(&below, depth + 1)),
            };
            (part.to_string(), value)
        })
        .collect()
}

fn fault(node: &Node, message: String) -> Diagnostic {
    Diagnostic::error("invalid-result", &node.place, message)
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
