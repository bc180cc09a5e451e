//! Parameters: what a profile declares, the values they get, and in which order.
//!
//! Defaults are computed anew whenever an earlier parameter changes; given values stay. This
//! module knows nothing of cases or suites, which only bring overlays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::calculator::{self, Computed};
use super::diagnostic::Diagnostic;
use super::distribution::{self, Bound, Distribution};
use super::expression::{self, Binding, Facts, Scope};
use super::language::TYPES;
use super::names::{did_you_mean, is_name};
use super::node::{Node, Place, Value};
use super::{units, yaml};

/// What a parameter may be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParamType {
    /// A whole number from 0.
    Count,
    /// Bytes, with or without a unit.
    Size,
    /// A length of time.
    Duration,
    /// A part of a whole.
    Percent,
    /// `true` or `false`.
    Bool,
    /// Any text.
    Text,
    /// One of these words.
    Choice(Vec<String>),
    /// Any of these words.
    Choices(Vec<String>),
    /// The path of a file.
    File,
    /// A number drawn at run time.
    Distribution,
}

/// The value of a parameter in base units.
#[derive(Clone, PartialEq, Debug)]
pub enum ParamValue {
    /// As if not written, wherever it ends up.
    Null,
    /// A whole number.
    Count(u64),
    /// Bytes.
    Size(u64),
    /// Nanoseconds.
    Duration(u64),
    /// Fraction of one.
    Percent(f64),
    /// `true` or `false`.
    Bool(bool),
    /// A text or a choice.
    Text(String),
    /// Any number of the words allowed.
    Choices(Vec<String>),
    /// The path as given.
    File(String),
    /// As written, and known to be a distribution.
    Distribution(Node),
}

/// One declared parameter.
#[derive(Clone, Debug)]
pub struct ParamDecl {
    /// Name in expressions and on the command line.
    pub name: String,
    /// One type, or several of which the value has either.
    pub types: Vec<ParamType>,
    /// `None`: the user must give a value. A written null is a default.
    pub default: Option<Node>,
    /// One line for people.
    pub help: Option<String>,
    /// The declaration.
    pub node: Node,
}

/// The parameters of a profile and the names made from them.
#[derive(Clone, Debug, Default)]
pub struct Params {
    /// In the order declared.
    pub decls: Vec<ParamDecl>,
    /// `let:` in the order written.
    pub lets: Vec<(String, Node)>,
}

/// Values given so far, each with the facts that went into it.
pub type Given = BTreeMap<String, (ParamValue, BTreeSet<&'static str>)>;

/// All parameters with their values, ready for expressions.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Names with their values.
    pub scope: Scope,
    /// In the order declared; `None` where nobody gave one.
    pub values: Vec<(String, Option<ParamValue>)>,
}

impl Params {
    /// Reads `params:` and `let:`.
    pub fn from_nodes(params: Option<&Node>, lets: Option<&Node>) -> Result<Params, Vec<Diagnostic>> {
        let mut problems = Vec::new();
        let mut decls = Vec::new();
        for (name, node) in params.map(Node::entries).unwrap_or_default() {
            problems.extend(name_fault(name, node, "parameter"));
            match declaration(name, node) {
                Ok(decl) => decls.push(decl),
                Err(more) => problems.extend(more),
            }
        }
        let lets: Vec<(String, Node)> = lets.map(Node::entries).unwrap_or_default().to_vec();
        for (name, node) in &lets {
            problems.extend(name_fault(name, node, "let"));
            if decls.iter().any(|decl| decl.name == *name) {
                problems.push(
                    Diagnostic::error("name-clash", &node.place, format!("{name} is a parameter already"))
                        .at_key()
                        .help("names in expressions must differ"),
                );
            }
        }
        if problems.is_empty() { Ok(Params { decls, lets }) } else { Err(problems) }
    }

    /// A declaration by its name.
    pub fn get(&self, name: &str) -> Option<&ParamDecl> {
        self.decls.iter().find(|decl| decl.name == name)
    }

    /// Gives every parameter its value: the given one, or its default.
    pub fn resolve(&self, facts: &Facts, given: &Given) -> Result<Resolved, Vec<Diagnostic>> {
        let mut scope = Scope::new(facts);
        let mut values = Vec::new();
        let mut problems = Vec::new();
        for decl in &self.decls {
            let value = match (given.get(&decl.name), &decl.default) {
                (Some((value, facts)), _) => Ok(Some((value.clone(), facts.clone()))),
                (None, None) => Ok(None),
                (None, Some(default)) => evaluate(decl, default, &mut scope).map(Some),
            };
            match value {
                Ok(Some((value, facts))) => {
                    scope.define(&decl.name, value.binding(&decl.node.place, facts));
                    values.push((decl.name.clone(), Some(value)));
                }
                Ok(None) => {
                    scope.declare_missing(&decl.name);
                    values.push((decl.name.clone(), None));
                }
                Err(more) => {
                    scope.declare_missing(&decl.name);
                    values.push((decl.name.clone(), None));
                    problems.extend(more.into_iter().filter(|problem| problem.code != "missing-parameter"));
                }
            }
        }
        for (name, node) in &self.lets {
            match scope.bind(node) {
                Ok(binding) => scope.define(name, binding),
                Err(more) => {
                    scope.declare_missing(name);
                    problems.extend(more.into_iter().filter(|problem| problem.code != "missing-parameter"));
                }
            }
        }
        if problems.is_empty() { Ok(Resolved { scope, values }) } else { Err(problems) }
    }

    /// Lays a map of values over the given ones; its expressions see the values before it.
    /// Returns the names it sets. Unknown names are errors.
    pub fn overlay(
        &self,
        entries: &[(String, Node)],
        before: &Resolved,
        given: &mut Given,
    ) -> Result<Vec<String>, Vec<Diagnostic>> {
        let mut scope = before.scope.clone();
        let mut problems = Vec::new();
        let mut set = Vec::new();
        let mut fresh = Vec::new();
        for (name, node) in entries {
            let Some(decl) = self.get(name) else {
                problems.push(
                    Diagnostic::error("unknown-parameter", &node.place, format!("unknown parameter {name}"))
                        .at_key()
                        .help(did_you_mean(name, &self.names())),
                );
                continue;
            };
            match evaluate(decl, node, &mut scope) {
                // Null is as if not written, where the parameter knows no null.
                Ok((ParamValue::Null, _)) if !decl.takes_null() => {}
                Ok(value) => fresh.push((name.clone(), value)),
                Err(more) => problems.extend(more),
            }
        }
        for (name, value) in fresh {
            set.push(name.clone());
            given.insert(name, value);
        }
        if problems.is_empty() { Ok(set) } else { Err(problems) }
    }

    /// One `--set name=text` of the command line.
    pub fn set(&self, name: &str, text: &str, given: &mut Given) -> Result<(), Vec<Diagnostic>> {
        let Some(decl) = self.get(name) else {
            return Err(vec![
                Diagnostic::general(
                    "unknown-parameter",
                    format!("--set {name}: there is no parameter {name}"),
                )
                .help(did_you_mean(name, &self.names())),
            ]);
        };
        let value = decl.typed(text).map_err(|problems| {
            let general = |problem: Diagnostic| Diagnostic {
                place: None,
                part: None,
                on_key: false,
                message: format!("--set {name}: {}", problem.message),
                ..problem
            };
            problems.into_iter().map(general).collect::<Vec<_>>()
        })?;
        if value != ParamValue::Null || decl.takes_null() {
            given.insert(name.to_string(), (value, BTreeSet::new()));
        }
        Ok(())
    }

    /// Names in the order declared.
    pub fn names(&self) -> Vec<&str> {
        self.decls.iter().map(|decl| decl.name.as_str()).collect()
    }

    /// Complains of every parameter that has no value.
    pub fn require_all(&self, resolved: &Resolved) -> Result<(), Vec<Diagnostic>> {
        let problems: Vec<Diagnostic> = self
            .decls
            .iter()
            .zip(&resolved.values)
            .filter(|(decl, (_, value))| decl.default.is_none() && value.is_none())
            .map(|(decl, _)| expression::diagnostic(&decl.node, 0, expression::missing(&decl.name)).at_key())
            .collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

impl ParamDecl {
    /// Whether null is one of its values and not only "as if not written".
    fn takes_null(&self) -> bool {
        self.default.as_ref().is_some_and(|default| default.value == Value::Null)
    }

    /// The value of a text typed on the command line.
    fn typed(&self, text: &str) -> Result<ParamValue, Vec<Diagnostic>> {
        // Words are taken as they are typed, not as YAML would read them.
        let words = |t: &ParamType| matches!(t, ParamType::Text | ParamType::File | ParamType::Choice(_));
        let mut node = yaml::typed(text);
        if self.types.iter().all(words) && text != "null" {
            node.value = Value::Text(text.into());
        }
        if let (true, Some(list)) =
            (self.types.iter().any(|t| matches!(t, ParamType::Choices(_))), node.text())
            && list.contains(',')
        {
            let item = |word: &str| Node { value: Value::Text(word.trim().into()), ..node.clone() };
            node.value = Value::List(list.split(',').map(item).collect());
        }
        value_of(self, &node)
    }

    /// A value that stands for one the user has still to give, so that a profile can be checked.
    pub fn stand_in(&self) -> ParamValue {
        match self.types.first() {
            Some(ParamType::Count) => ParamValue::Count(1),
            Some(ParamType::Size) => ParamValue::Size(4096),
            Some(ParamType::Duration) => ParamValue::Duration(1_000_000_000),
            Some(ParamType::Percent) => ParamValue::Percent(0.5),
            Some(ParamType::Bool) => ParamValue::Bool(false),
            Some(ParamType::Choice(of)) => ParamValue::Text(of.first().cloned().unwrap_or_default()),
            Some(ParamType::Choices(_)) => ParamValue::Choices(Vec::new()),
            Some(ParamType::File) => ParamValue::File(self.name.clone()),
            Some(ParamType::Distribution) => {
                ParamValue::Distribution(Node { value: Value::Int(4096), ..self.node.clone() })
            }
            Some(ParamType::Text) | None => ParamValue::Text(self.name.clone()),
        }
    }
}

/// Renders a value and reads it by the parameter's type.
fn evaluate(
    decl: &ParamDecl,
    node: &Node,
    scope: &mut Scope,
) -> Result<(ParamValue, BTreeSet<&'static str>), Vec<Diagnostic>> {
    scope.take_used();
    let rendered = scope.render(node)?;
    let facts = scope.take_used();
    Ok((value_of(decl, &rendered)?, facts))
}

/// The value of a rendered node, by the first type that takes it.
fn value_of(decl: &ParamDecl, node: &Node) -> Result<ParamValue, Vec<Diagnostic>> {
    if node.value == Value::Null {
        return Ok(ParamValue::Null);
    }
    if let [one] = &decl.types[..] {
        return one.read(node);
    }
    // A computed whole number is rather a count than seconds, where both would do.
    let plain = Node { computed: false, ..node.clone() };
    let order: &[&Node] = if matches!(node.value, Value::Int(_)) { &[&plain, node] } else { &[node] };
    for node in order {
        if let Some(value) = decl.types.iter().find_map(|one| one.read(node).ok()) {
            return Ok(value);
        }
    }
    let names: Vec<&str> = decl.types.iter().map(ParamType::described).collect();
    let message = format!("{} is neither {}", node.value.described(), names.join(" nor "));
    let mut diagnostic = Diagnostic::error("invalid-value", &node.place, message);
    for problem in decl.types.iter().filter_map(|one| one.read(node).err()).flatten() {
        diagnostic.help.extend(problem.help);
    }
    Err(vec![diagnostic])
}

impl ParamType {
    fn described(&self) -> &'static str {
        match self {
            ParamType::Count => "a count",
            ParamType::Size => "a size",
            ParamType::Duration => "a duration",
            ParamType::Percent => "a percent",
            ParamType::Bool => "true or false",
            ParamType::Text => "a text",
            ParamType::Choice(_) => "one of the choices",
            ParamType::Choices(_) => "some of the choices",
            ParamType::File => "a file",
            ParamType::Distribution => "a distribution",
        }
    }

    fn read(&self, node: &Node) -> Result<ParamValue, Vec<Diagnostic>> {
        let word = |node: &Node, of: &[String]| {
            let text = units::text(node)?;
            if of.contains(&text) {
                return Ok(text);
            }
            let message = format!("{} is none of the choices", units::shown(&text));
            Err(Diagnostic::error("unknown-choice", &node.place, message).help(did_you_mean(&text, of)))
        };
        let one = |result: Result<ParamValue, Diagnostic>| result.map_err(|problem| vec![problem]);
        match self {
            ParamType::Count => one(units::count(node).map(ParamValue::Count)),
            ParamType::Size => one(units::size(node).map(ParamValue::Size)),
            ParamType::Duration => one(units::duration(node).map(ParamValue::Duration)),
            ParamType::Percent => one(units::percent(node).map(ParamValue::Percent)),
            ParamType::Bool => one(units::boolean(node).map(ParamValue::Bool)),
            ParamType::Text => one(units::text(node).map(ParamValue::Text)),
            ParamType::File => one(units::text(node).map(ParamValue::File)),
            ParamType::Choice(of) => one(word(node, of).map(ParamValue::Text)),
            ParamType::Choices(of) => {
                let words = node.items().iter().map(|item| word(item, of).map_err(|problem| vec![problem]));
                expression::all(words).map(ParamValue::Choices)
            }
            ParamType::Distribution => {
                distribution::parse(node).map(|_| ParamValue::Distribution(node.clone()))
            }
        }
    }
}

impl ParamValue {
    /// The value as it stands in place of a scalar that is only `{{ name }}`.
    pub fn to_node(&self, place: &Place) -> Node {
        let at_place = |value| Node { place: place.clone(), value, computed: true };
        at_place(match self {
            ParamValue::Null => Value::Null,
            ParamValue::Count(number) | ParamValue::Size(number) => Value::Int((*number).into()),
            // With its unit, so that a field that takes a time or a count knows which it is.
            ParamValue::Duration(nanos) => Value::Text(units::format_duration(*nanos)),
            ParamValue::Percent(fraction) => Value::Text(units::format_percent(*fraction)),
            ParamValue::Bool(b) => Value::Bool(*b),
            ParamValue::Text(text) | ParamValue::File(text) => Value::Text(text.clone()),
            ParamValue::Choices(words) => {
                Value::List(words.iter().map(|word| at_place(Value::Text(word.clone()))).collect())
            }
            ParamValue::Distribution(node) => return calculator::moved(node, place),
        })
    }

    fn binding(&self, place: &Place, facts: BTreeSet<&'static str>) -> Binding {
        let node = self.to_node(place);
        let computed = match self {
            ParamValue::Duration(nanos) => Computed::from(*nanos as f64 / 1e9),
            ParamValue::Percent(fraction) => Computed::from(*fraction),
            ParamValue::Distribution(written) => match distribution::parse(written) {
                Ok(Distribution::Constant(Bound::Number(number))) => Computed::from(number),
                _ => calculator::from_node(&node),
            },
            _ => calculator::from_node(&node),
        };
        Binding { node, computed, shown: self.to_string(), facts }
    }
}

impl fmt::Display for ParamValue {
    /// As a person would write it: `4KiB`, `1m30s`, `[trunc, direct]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Null => f.write_str("null"),
            ParamValue::Count(number) => write!(f, "{number}"),
            ParamValue::Size(bytes) => f.write_str(&units::format_size(*bytes)),
            ParamValue::Duration(nanos) => f.write_str(&units::format_duration(*nanos)),
            ParamValue::Percent(fraction) => f.write_str(&units::format_percent(*fraction)),
            ParamValue::Bool(b) => write!(f, "{b}"),
            ParamValue::Text(text) | ParamValue::File(text) => f.write_str(text),
            ParamValue::Choices(words) => write!(f, "[{}]", words.join(", ")),
            ParamValue::Distribution(node) => write!(f, "{}", node.value),
        }
    }
}

/// Why a name cannot be said, if so, wherever it stands in an expression.
pub fn spelling_fault(name: &str, node: &Node, what: &str) -> Option<Diagnostic> {
    let help = "a name is lower-case letters, digits and _, beginning with a letter: expressions say it";
    let message = format!("{} is no name for a {what}", units::shown(name));
    (!is_name(name)).then(|| Diagnostic::error("invalid-name", &node.place, message).at_key().help(help))
}

/// As [`spelling_fault`], for names that stand at the top of expressions beside what is there
/// already.
pub fn name_fault(name: &str, node: &Node, what: &str) -> Option<Diagnostic> {
    const KEYWORDS: [&str; 14] =
        ["and", "or", "not", "in", "is", "if", "else", "for", "true", "false", "none", "range", "min", "max"];
    let taken = match name {
        name if KEYWORDS.contains(&name) => "means something else in expressions",
        name if Facts::NAMES.contains(&name) => "is a fact of the machine in expressions",
        _ => return spelling_fault(name, node, what),
    };
    let message = format!("{name} {taken}");
    Some(Diagnostic::error("invalid-name", &node.place, message).at_key().help("choose another name"))
}

fn declaration(name: &str, node: &Node) -> Result<ParamDecl, Vec<Diagnostic>> {
    let fault = |node: &Node, message: String| Diagnostic::error("invalid-parameter", &node.place, message);
    let Some(written) = node.get("type") else {
        return Err(vec![
            fault(node, format!("the parameter {name} has no type"))
                .help(format!("one of {}", TYPES.join(", "))),
        ]);
    };
    let of = node.get("of").map(Node::items).unwrap_or_default();
    let of = expression::all(of.iter().map(|item| units::text(item).map_err(|problem| vec![problem])))?;
    let types = expression::all(written.items().iter().map(|item| {
        let word = item.text().unwrap_or_default();
        let choices = || match of.is_empty() {
            true => Err(vec![
                fault(node, format!("the parameter {name} has no choices"))
                    .help("list them: of: [first, second]"),
            ]),
            false => Ok(of.clone()),
        };
        Ok(match word {
            "count" => ParamType::Count,
            "size" => ParamType::Size,
            "duration" => ParamType::Duration,
            "percent" => ParamType::Percent,
            "bool" => ParamType::Bool,
            "text" => ParamType::Text,
            "choice" => ParamType::Choice(choices()?),
            "choices" => ParamType::Choices(choices()?),
            "file" => ParamType::File,
            "distribution" => ParamType::Distribution,
            _ => {
                let message = format!("{} is no type of parameter", item.value.described());
                return Err(vec![fault(item, message).help(did_you_mean(word, TYPES))]);
            }
        })
    }))?;
    if types.is_empty() {
        return Err(vec![fault(written, format!("the parameter {name} has no type"))]);
    }
    let default = node.entries().iter().find(|(key, _)| key == "default").map(|(_, value)| value.clone());
    let help = node.get("help").map(|help| help.value.to_string());
    Ok(ParamDecl { name: name.to_string(), types, default, help, node: node.clone() })
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
