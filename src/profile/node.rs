//! A YAML value together with the place it was written at.

use std::fmt;
use std::sync::Arc;

/// Which file and which value in it. Line and column are found only when a message is shown.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Index into [`crate::profile::source::Sources`].
    pub file: u16,
    /// JSON pointer of the value, `""` for the whole file.
    pub pointer: Arc<str>,
}

/// A value with its place. Values that come from a `{{ }}` expression keep the place of the
/// scalar that holds the expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub value: Value,
    /// Came out of an expression: a bare number is then taken in base units (bytes, seconds).
    pub computed: bool,
}

/// A YAML value after merge keys and tags are dealt with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing, or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Every integer of YAML that fits; larger ones are refused by the loader.
    Int(i128),
    /// Finite; `.inf` and `.nan` are refused by the loader.
    Float(f64),
    /// A scalar that is nothing else.
    Text(String),
    /// In the order written.
    List(Vec<Node>),
    /// In the order written; keys are unique.
    Map(Vec<(String, Node)>),
}

/// Two nodes are equal when their values are, wherever they stand.
impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        self.value == other.value
    }
}

impl Node {
    /// The value of a key, if this is a map that has it and it is not null.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|(k, v)| k == key && v.value != Value::Null).map(|(_, v)| v)
    }

    /// The entries of a map; empty for anything else.
    pub fn entries(&self) -> &[(String, Node)] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items of a list; a null is an empty list, anything else a list of itself.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => std::slice::from_ref(self),
        }
    }

    /// The text of a text; `None` for anything else.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl Value {
    /// What the value is, for messages: `a list`, `the text "4k"`, `null`.
    pub fn described(&self) -> String {
        match self {
            Value::Null => "null".into(),
            Value::Bool(b) => format!("the boolean {b}"),
            Value::Int(i) => format!("the number {i}"),
            Value::Float(f) => format!("the number {f}"),
            Value::Text(text) => format!("the text {text:?}"),
            Value::List(_) => "a list".into(),
            Value::Map(_) => "a map".into(),
        }
    }
}

impl fmt::Display for Value {
    /// As a reader would write it on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Int(i) => write!(f, "{i}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Text(text) => f.write_str(text),
            Value::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { ", " } else { "" }, item.value)?;
                }
                f.write_str("]")
            }
            Value::Map(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in entries.iter().enumerate() {
                    write!(f, "{}{key}: {}", if i > 0 { ", " } else { "" }, value.value)?;
                }
                f.write_str("}")
            }
        }
    }
}
