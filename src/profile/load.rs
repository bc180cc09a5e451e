//! From the bytes of a file to a [`Node`]: everything that is wrong with the notation itself.
//!
//! Knows YAML, nothing of profiles and suites. Merge keys are applied here, tags and equal keys
//! refused; what comes by an alias gets the place at which it is used.

use std::sync::Arc;

use super::decode::{decode, named};
use super::diagnostic::{self, Checked, Diagnostic, Severity};
use super::locate;
use super::node::{Node, Place, Value};
use super::raw::{self, Raw};
use super::source::Sources;
use super::syntax;

/// Longest key, in bytes.
const LONGEST_KEY: usize = 200;
/// How many bytes the pointers of all values may have together; only hostile files reach it.
const LARGEST_POINTERS: usize = 64 << 20;

/// Reads one file. It is added to the sources also when it is refused, so that the messages can
/// be shown. The value is a map; warnings come beside it.
pub fn load_file(sources: &mut Sources, name: &str, bytes: &[u8]) -> Checked<Node> {
    let (file, mut found) = decode(sources, name, bytes)?;
    let text = sources.text(file);
    found.extend(syntax::version_warning(file, text));
    let raw = raw::read(text).map_err(|error| vec![syntax::explain(file, text, &error)])?;
    let root = Place { file, pointer: "".into() };
    match &raw {
        Raw::Null => return Err(vec![syntax::empty(file, text)]),
        Raw::Map(_) | Raw::Tagged(_) => {}
        other => {
            let found = match other {
                Raw::List(_) => "a list",
                Raw::Text(_) => "a text",
                _ => "a single value",
            };
            return Err(vec![
                Diagnostic::error("not-a-map", &root, format!("the file holds {found} and no keys"))
                    .help("a profile begins with `profile: its-name`, a suite with `suite: its-name`"),
            ]);
        }
    }
    let mut cook = Cook { file, text, found, pointers: LARGEST_POINTERS, full: false };
    let node = cook.node(&raw, "");
    diagnostic::cut(&mut cook.found);
    if cook.full {
        cook.found.push(
            Diagnostic::error("alias-bomb", &root, "the aliases of the file unfold to too many values")
                .help("write the repeated part once, with `repeat:`"),
        );
    }
    match cook.found.iter().any(|found| found.severity == Severity::Error) {
        true => Err(cook.found),
        false => Ok((node, cook.found)),
    }
}

/// Turns raw values into nodes and collects what is wrong with them.
struct Cook<'a> {
    file: u16,
    text: &'a str,
    found: Vec<Diagnostic>,
    pointers: usize,
    full: bool,
}

impl Cook<'_> {
    fn place(&self, pointer: &str) -> Place {
        Place { file: self.file, pointer: pointer.into() }
    }

    fn error(&mut self, code: &'static str, pointer: &str, message: String, help: String) {
        let place = self.place(pointer);
        self.found.push(Diagnostic::error(code, &place, message).help(help));
    }

    fn key_error(&mut self, code: &'static str, pointer: &str, message: String, help: String) {
        let place = self.place(pointer);
        self.found.push(Diagnostic::error(code, &place, message).at_key().help(help));
    }

    fn node(&mut self, raw: &Raw, pointer: &str) -> Node {
        self.full |= pointer.len() > self.pointers;
        self.pointers = self.pointers.saturating_sub(pointer.len());
        let place = Place { file: self.file, pointer: Arc::from(if self.full { "" } else { pointer }) };
        Node { place, value: self.value(raw, pointer), computed: false }
    }

    fn value(&mut self, raw: &Raw, pointer: &str) -> Value {
        match raw {
            Raw::Null => Value::Null,
            Raw::Bool(value) => Value::Bool(*value),
            Raw::Int(value) => Value::Int(*value),
            Raw::Huge(digits) => {
                let range = format!("numbers go from {} to {}", i64::MIN, u64::MAX);
                self.error("number-range", pointer, format!("the number {digits} is out of range"), range);
                Value::Null
            }
            Raw::Float(value) if value.is_finite() => Value::Float(*value),
            Raw::Float(value) => {
                let what = if value.is_nan() { "not a number (.nan)" } else { "infinite (.inf)" };
                let help = "write the number itself, or leave the key out".to_owned();
                self.error("not-finite", pointer, format!("the value is {what}"), help);
                Value::Null
            }
            Raw::Text(text) => {
                self.quotes(text, pointer);
                Value::Text(text.clone())
            }
            Raw::Tagged(tag) => {
                self.error(
                    "tag",
                    pointer,
                    format!("YAML tags such as `!{tag}` are not taken"),
                    "if the `!` belongs to a text, write the text in quotes; in an expression write `not`"
                        .into(),
                );
                Value::Null
            }
            Raw::List(items) => {
                let mut nodes = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    if self.full {
                        break;
                    }
                    nodes.push(self.node(item, &locate::item(pointer, index)));
                }
                Value::List(nodes)
            }
            Raw::Map(entries) => self.map(entries, pointer),
        }
    }

    fn map(&mut self, entries: &[(Raw, Raw)], pointer: &str) -> Value {
        if let [(Raw::Map(_) | Raw::List(_), Raw::Null)] = entries {
            self.unquoted(pointer);
            return Value::Null;
        }
        let mut nodes: Vec<(String, Node)> = Vec::new();
        let mut names: std::collections::HashSet<String> = std::collections::HashSet::new();
        for (key, value) in entries {
            if self.full {
                break;
            }
            let Some(name) = self.key(key, pointer) else { continue };
            let inner = locate::child(pointer, &name);
            if !names.insert(name.clone()) {
                let help = match name.as_str() {
                    "<<" => "merge several maps with a list: `<<: [*one, *other]`".to_owned(),
                    _ => "keep one of the two".to_owned(),
                };
                let message = format!("the key `{}` is written twice in one map", shown(&name));
                self.key_error("duplicate-key", &locate::second(&inner), message, help);
                continue;
            }
            if name != "<<" {
                nodes.push((name, self.node(value, &inner)));
            }
        }
        let merges: Vec<&Raw> =
            entries.iter().filter(|(key, _)| is_merge(key)).map(|(_, value)| value).take(1).collect();
        for merge in merges {
            for (key, value) in self.merged(merge, pointer) {
                if self.full {
                    break;
                }
                if let Some(name) = self.key(key, pointer)
                    && names.insert(name.clone())
                {
                    let node = self.node(value, &locate::child(pointer, &name));
                    nodes.push((name, node));
                }
            }
        }
        Value::Map(nodes)
    }

    /// The entries a merge key brings, the first of equal ones first.
    fn merged<'r>(&mut self, merge: &'r Raw, pointer: &str) -> Vec<(&'r Raw, &'r Raw)> {
        let maps = match merge {
            Raw::List(maps) => maps.as_slice(),
            one => std::slice::from_ref(one),
        };
        let mut all = Vec::new();
        for map in maps {
            let Raw::Map(entries) = map else {
                let found = match map {
                    Raw::Null => "nothing",
                    Raw::List(_) => "a list in a list",
                    Raw::Text(_) => "a text",
                    _ => "something else",
                };
                self.key_error(
                    "merge",
                    &locate::child(pointer, "<<"),
                    format!("`<<` merges maps; found {found}"),
                    "name a map that has an anchor: `<<: *defaults`, where `defaults` is written `&defaults {…}`".into(),
                );
                continue;
            };
            all.extend(entries.iter().filter(|(key, _)| !is_merge(key)).map(|(key, value)| (key, value)));
            for (_, inner) in entries.iter().filter(|(key, _)| is_merge(key)) {
                all.extend(self.merged(inner, pointer));
            }
        }
        all
    }

    /// A key as a text; numbers may be keys (of weighted maps), other types may not.
    fn key(&mut self, key: &Raw, pointer: &str) -> Option<String> {
        let (written, what) = match key {
            Raw::Text(name) => {
                if name.len() > LONGEST_KEY {
                    let message = format!("a key of {} bytes; the most is {LONGEST_KEY}", name.len());
                    let help = "a quote or a colon may be missing nearby".to_owned();
                    self.error("key-too-long", pointer, message, help);
                    return None;
                }
                self.blanks(name, pointer);
                return Some(name.clone());
            }
            Raw::Int(number) => return Some(number.to_string()),
            Raw::Huge(digits) => return Some(digits.clone()),
            Raw::Bool(value) => (value.to_string(), "a boolean"),
            Raw::Null => ("null".to_owned(), "null"),
            Raw::Float(number) => (number.to_string(), "a number with a fraction"),
            Raw::List(_) | Raw::Map(_) | Raw::Tagged(_) => {
                let mut message = "a key is a list, a map or tagged; keys are words".to_owned();
                let mut help = "write the key as one word, or in quotes".to_owned();
                if matches!(key, Raw::Map(_)) {
                    message = "a map stands where a key is expected".to_owned();
                    help = "keys cannot be expressions; a value that is one is written in quotes: \"{{ size }}\""
                        .to_owned();
                }
                self.error("key-not-text", pointer, message, help);
                return None;
            }
        };
        let message = format!("the key `{written}` is {what} to YAML, and keys are words");
        let help = format!("if it is meant as a word, write it in quotes: \"{written}\":");
        self.key_error("key-not-text", &locate::child(pointer, &written), message, help);
        None
    }

    /// `size: {{ size }}` without quotes is a map in a map.
    fn unquoted(&mut self, pointer: &str) {
        let written = locate::range(self.text, pointer, false).and_then(|range| self.text.get(range));
        match written.filter(|written| written.starts_with("{{") || written.starts_with("[[")) {
            Some(written) if written.starts_with("{{") => self.error(
                "unquoted-expression",
                pointer,
                "an expression without quotes is a map to YAML".into(),
                format!("write it in quotes: {}", syntax::in_quotes(written)),
            ),
            _ => self.error(
                "key-not-text",
                pointer,
                "a list or a map stands where a key is expected".into(),
                "keys are words; a value that is an expression is written in quotes: \"{{ size }}\"".into(),
            ),
        }
    }

    /// Blanks that are no indentation to YAML become part of the key.
    fn blanks(&mut self, name: &str, pointer: &str) {
        let odd = |c: &char| c.is_whitespace() && !c.is_ascii();
        let quote = |c: &char| matches!(c, '\u{2018}'..='\u{201e}');
        let first = name.chars().next().filter(|c| odd(c) || quote(c));
        let last = name.chars().last().filter(|c| odd(c) || quote(c));
        if let Some(c) = first.or(last) {
            let help = match odd(&c) {
                true => "indent with ordinary spaces; web pages and word processors put others in",
                false => "quotes in YAML are \" and '",
            };
            let message = format!("the key holds {}", named(c));
            self.key_error("odd-character", &locate::child(pointer, name), message, help.into());
        }
    }

    /// Typographic quotes are part of the text, which is hardly ever meant.
    fn quotes(&mut self, text: &str, pointer: &str) {
        let quote = |c: char| matches!(c, '\u{2018}'..='\u{201e}');
        let (Some(first), Some(last)) = (text.chars().next(), text.chars().last()) else { return };
        if text.chars().count() > 1 && quote(first) && quote(last) {
            let place = self.place(pointer);
            let message = format!("the {} {first} and {last} are part of the text", "quotes");
            self.found.push(
                Diagnostic::warning("odd-character", &place, message)
                    .help(format!("{} is not a quote to YAML; quotes are \" and '", named(first))),
            );
        }
    }
}

fn is_merge(key: &Raw) -> bool {
    matches!(key, Raw::Text(name) if name == "<<")
}

fn shown(name: &str) -> String {
    if name.is_empty() { "\"\"".into() } else { name.into() }
}
