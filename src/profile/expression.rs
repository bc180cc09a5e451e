//! `{{ }}` in scalars, and `when:`: what a text means once parameters have their values.
//!
//! A [`Scope`] holds the names an expression may say. This module knows the braces and the
//! places; it knows nothing of how parameters get their values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::calculator::{self, Computed, FUNCTIONS, Fault, Formula};
use super::diagnostic::Diagnostic;
use super::names::did_you_mean;
use super::node::{Node, Place, Value};

/// What expressions may know of the machine and the target; sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// Processors this process may run on.
    pub cpus: u64,
    /// Memory this process may use (the smaller of the machine's and the container's).
    pub memory: u64,
    /// Free space of the target's file system.
    pub free_space: u64,
    /// Page of memory of the machine.
    pub page_size: u64,
    /// The alignment that direct transfers need on the target.
    pub target_block: u64,
}

impl Facts {
    /// Names of the facts in expressions, in the order of the fields.
    pub const NAMES: [&str; 5] = ["cpus", "memory", "free_space", "page_size", "target_block"];

    /// A fact by its name.
    pub fn get(&self, name: &str) -> Option<(&'static str, u64)> {
        let values = [self.cpus, self.memory, self.free_space, self.page_size, self.target_block];
        Facts::NAMES.into_iter().zip(values).find(|(fact, _)| *fact == name)
    }
}

/// The value of a name.
#[derive(Clone, Debug)]
pub struct Binding {
    /// What stands in place of a scalar that is only `{{ name }}`.
    pub node: Node,
    /// What calculations see: bytes, seconds, fractions.
    pub computed: Computed,
    /// What stands in a longer text for `{{ name }}`: sizes and durations with their units.
    pub shown: String,
    /// The facts that went into it.
    pub facts: BTreeSet<&'static str>,
}

/// The names that expressions may say, and the facts that were used so far.
#[derive(Clone, Debug)]
pub struct Scope {
    facts: Facts,
    names: BTreeMap<String, Binding>,
    /// Parameters that have no value yet.
    missing: BTreeSet<String>,
    used: BTreeSet<&'static str>,
}

impl Scope {
    /// A scope that knows the facts only.
    pub fn new(facts: &Facts) -> Scope {
        Scope { facts: *facts, names: BTreeMap::new(), missing: BTreeSet::new(), used: BTreeSet::new() }
    }

    /// Gives a name its value, instead of an earlier one.
    pub fn define(&mut self, name: &str, binding: Binding) {
        self.missing.remove(name);
        self.names.insert(name.to_string(), binding);
    }

    /// Declares a parameter that nobody gave a value: expressions that need it say so.
    pub fn declare_missing(&mut self, name: &str) {
        self.missing.insert(name.to_string());
    }

    /// Whether an expression may say this name (a fact, a parameter, a `let`).
    pub fn knows(&self, name: &str) -> bool {
        self.names.contains_key(name) || Facts::NAMES.contains(&name)
    }

    /// Value of a parameter or `let`; `None` for facts and unknown names.
    pub fn binding(&self, name: &str) -> Option<&Binding> {
        self.names.get(name)
    }

    /// What calculations see of a name.
    pub fn computed(&self, name: &str) -> Option<Computed> {
        match self.names.get(name) {
            Some(binding) => Some(binding.computed.clone()),
            None => self.facts.get(name).map(|(_, value)| Computed::from(value)),
        }
    }

    /// The facts that what was rendered so far depends on.
    pub fn used(&self) -> &BTreeSet<&'static str> {
        &self.used
    }

    /// Forgets which facts were used, and says which they were.
    pub fn take_used(&mut self) -> BTreeSet<&'static str> {
        std::mem::take(&mut self.used)
    }

    /// Replaces every expression below a node by its value; all mistakes at once.
    pub fn render(&mut self, node: &Node) -> Result<Node, Vec<Diagnostic>> {
        let value = match &node.value {
            Value::Text(text) => return self.render_text(node, text),
            Value::List(items) => Value::List(all(items.iter().map(|item| self.render(item)))?),
            Value::Map(entries) => Value::Map(all(entries.iter().map(|(key, value)| {
                if key.contains("{{") && !node.computed {
                    return Err(vec![
                        Diagnostic::error("expression-in-key", &value.place, "a key is never an expression")
                            .at_key()
                            .help("let an expression give the whole map, or write two steps with when"),
                    ]);
                }
                Ok((key.clone(), self.render(value)?))
            }))?),
            scalar => scalar.clone(),
        };
        Ok(Node { value, ..node.clone() })
    }

    /// Renders a node as the value of a new name. A name given to a parameter as it is keeps the
    /// parameter's way of being shown.
    pub fn bind(&mut self, node: &Node) -> Result<Binding, Vec<Diagnostic>> {
        let before = self.take_used();
        let rendered = self.render(node);
        let facts = std::mem::replace(&mut self.used, before);
        let alias = node.text().and_then(|text| text.trim().strip_prefix("{{")?.strip_suffix("}}"));
        if let Some(binding) = alias.and_then(|name| self.names.get(name.trim())) {
            return Ok(binding.clone());
        }
        let node = rendered?;
        Ok(Binding { computed: calculator::from_node(&node), shown: node.value.to_string(), node, facts })
    }

    /// Decides a `when`: an expression without braces that gives true or false.
    pub fn decide(&mut self, when: &Node) -> Result<bool, Vec<Diagnostic>> {
        let text = match &when.value {
            Value::Bool(b) => return Ok(*b),
            Value::Null => return Ok(true),
            Value::Text(text) => bare(when, text)?,
            other => {
                let message = format!("when is an expression, not {}", other.described());
                return Err(vec![
                    Diagnostic::error("invalid-when", &when.place, message)
                        .help("write for example when: flush == 'first'"),
                ]);
            }
        };
        let value = self.evaluate(when, text, 0)?;
        match calculator::to_node(&value, &when.place).map(|node| node.value) {
            Ok(Value::Bool(b)) => Ok(b),
            Ok(other) => Err(vec![
                Diagnostic::error(
                    "invalid-when",
                    &when.place,
                    format!("the expression gives {}, not true or false", other.described()),
                )
                .help("compare it with something, for example > 0"),
            ]),
            Err(why) => Err(vec![Diagnostic::error("invalid-expression", &when.place, why)]),
        }
    }

    /// The names and the grammar of every expression below a node, without computing anything:
    /// for what this case leaves out.
    pub fn check(&self, node: &Node) -> Vec<Diagnostic> {
        match &node.value {
            Value::Text(text) => match pieces(text) {
                Ok(pieces) => pieces
                    .into_iter()
                    .filter_map(|piece| match piece {
                        Piece::Expression(part) => Some(part),
                        Piece::Text(_) => None,
                    })
                    .flat_map(|part| {
                        self.compile(node, &text[part.clone()], part.start).err().unwrap_or_default()
                    })
                    .collect(),
                Err(fault) => vec![diagnostic(node, 0, fault)],
            },
            Value::List(items) => items.iter().flat_map(|item| self.check(item)).collect(),
            Value::Map(entries) => entries
                .iter()
                .flat_map(|(key, value)| match value.text() {
                    Some(text) if key == "when" => self.compile(value, text, 0).err().unwrap_or_default(),
                    _ => self.check(value),
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn render_text(&mut self, node: &Node, text: &str) -> Result<Node, Vec<Diagnostic>> {
        if node.computed || !(text.contains("{{") || text.contains("{%")) {
            return Ok(node.clone());
        }
        let pieces = pieces(text).map_err(|fault| vec![diagnostic(node, 0, fault)])?;
        if let [Piece::Expression(part)] = &pieces[..] {
            let source = &text[part.clone()];
            let value = self.evaluate(node, source, part.start)?;
            if let Some(binding) = self.names.get(source) {
                return Ok(calculator::moved(&binding.node, &node.place));
            }
            return calculator::to_node(&value, &node.place).map_err(|why| {
                vec![Diagnostic::error("invalid-expression", &node.place, why).part(part.clone())]
            });
        }
        let rendered = all(pieces.into_iter().map(|piece| match piece {
            Piece::Text(part) => Ok(text[part].to_string()),
            Piece::Expression(part) => {
                let source = &text[part.clone()];
                let value = self.evaluate(node, source, part.start)?;
                if let Some(binding) =
                    self.names.get(source).filter(|binding| binding.node.value != Value::Null)
                {
                    return Ok(binding.shown.clone());
                }
                match calculator::to_node(&value, &node.place).map(|node| node.value) {
                    Ok(Value::Null) => Ok(String::new()),
                    Ok(value) => Ok(value.to_string()),
                    Err(why) => {
                        Err(vec![Diagnostic::error("invalid-expression", &node.place, why).part(part)])
                    }
                }
            }
        }))?;
        Ok(Node { place: node.place.clone(), value: Value::Text(rendered.concat()), computed: true })
    }

    /// Evaluates an expression that begins at byte `at` of a scalar.
    fn evaluate(&mut self, node: &Node, source: &str, at: usize) -> Result<Computed, Vec<Diagnostic>> {
        let formula = self.compile(node, source, at)?;
        let mut context = Vec::new();
        let mut used = BTreeSet::new();
        for name in formula.names() {
            if let Some(binding) = self.names.get(&name) {
                used.extend(&binding.facts);
                context.push((name, binding.computed.clone()));
            } else if let Some((fact, value)) = self.facts.get(&name) {
                used.insert(fact);
                context.push((name, Computed::from(value)));
            }
        }
        self.used.extend(used);
        formula.eval(Computed::from_pairs(context)).map_err(|fault| vec![diagnostic(node, at, fault)])
    }

    /// Compiles an expression and looks up its names.
    fn compile<'s>(&self, node: &Node, source: &'s str, at: usize) -> Result<Formula<'s>, Vec<Diagnostic>> {
        let formula = Formula::compile(source).map_err(|fault| vec![diagnostic(node, at, fault)])?;
        let problems: Vec<Diagnostic> = formula
            .names()
            .into_iter()
            .filter(|name| !self.knows(name))
            .map(|name| self.unknown(node, &name, source, at))
            .collect();
        if problems.is_empty() { Ok(formula) } else { Err(problems) }
    }

    fn unknown(&self, node: &Node, name: &str, source: &str, at: usize) -> Diagnostic {
        let fault = |code, message: String, help: String| Fault {
            code,
            part: calculator::find_name(source, name),
            message,
            help: Some(help),
        };
        if self.missing.contains(name) {
            return diagnostic(node, at, missing(name));
        }
        let known = self.names.keys().chain(&self.missing).map(String::as_str);
        let known: Vec<&str> = known.chain(Facts::NAMES).chain(FUNCTIONS).collect();
        diagnostic(
            node,
            at,
            fault("unknown-name", format!("unknown name {name}"), did_you_mean(name, &known)),
        )
    }
}

/// What to say of a parameter that has no default and was not given.
pub fn missing(name: &str) -> Fault {
    Fault {
        code: "missing-parameter",
        part: None,
        message: format!("the parameter {name} has no value"),
        help: Some(format!(
            "it has no default: give it one with --set {name}=…, or in a suite with: {{{name}: …}}"
        )),
    }
}

/// A text that is an expression by nature, without braces.
pub fn bare<'t>(node: &Node, text: &'t str) -> Result<&'t str, Vec<Diagnostic>> {
    match text.find("{{") {
        Some(at) => Err(vec![
            Diagnostic::error(
                "braces-in-expression",
                &node.place,
                "this is an expression by nature and takes no braces",
            )
            .part(at..at + 2)
            .help(format!("write {}", text.replace("{{", "").replace("}}", "").trim())),
        ]),
        None => Ok(text),
    }
}

/// Runs everything and keeps either all values or all mistakes.
pub fn all<T>(results: impl Iterator<Item = Result<T, Vec<Diagnostic>>>) -> Result<Vec<T>, Vec<Diagnostic>> {
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

/// A fault of an expression that begins at byte `at` of a scalar, as a diagnostic.
pub fn diagnostic(node: &Node, at: usize, fault: Fault) -> Diagnostic {
    placed(&node.place, at, fault)
}

fn placed(place: &Place, at: usize, fault: Fault) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(fault.code, place, fault.message);
    diagnostic.part = fault.part.map(|part| part.start + at..part.end + at);
    diagnostic.help.extend(fault.help);
    diagnostic
}

/// A stretch of a scalar.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(Range<usize>),
    /// What stands between the braces, without blanks at its ends.
    Expression(Range<usize>),
}

/// Splits a scalar at its `{{ }}`. Quotes and brackets inside an expression are respected.
fn pieces(text: &str) -> Result<Vec<Piece>, Fault> {
    let fault = |part, message: &str, help: &str| Fault {
        code: "invalid-expression",
        part: Some(part),
        message: message.into(),
        help: Some(help.into()),
    };
    if let Some(at) = text.find("{%") {
        return Err(fault(
            at..at + 2,
            "blocks {% %} are not part of the language",
            "write {{ a if b else c }}",
        ));
    }
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(open) = text[at..].find("{{").map(|found| at + found) {
        if open > at {
            pieces.push(Piece::Text(at..open));
        }
        let Some(close) = closing(text, open + 2) else {
            return Err(fault(open..text.len(), "a {{ without its }}", "write {{ expression }}"));
        };
        let inner = &text[open + 2..close];
        let start = open + 2 + (inner.len() - inner.trim_start().len());
        if inner.trim().is_empty() {
            return Err(fault(
                open..close + 2,
                "the expression is empty",
                "write for example {{ 2 * files }}",
            ));
        }
        pieces.push(Piece::Expression(start..start + inner.trim().len()));
        at = close + 2;
    }
    if at < text.len() {
        pieces.push(Piece::Text(at..text.len()));
    }
    Ok(pieces)
}

/// Where the `}}` stands that ends an expression.
fn closing(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut quote = None;
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(q), b) if q == b => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'}') if depth == 0 && bytes.get(at + 1) == Some(&b'}') => return Some(at),
            (None, b'(' | b'[' | b'{') => depth += 1,
            (None, b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    None
}

#[cfg(test)]
#[path = "expression_tests.rs"]
mod tests;
