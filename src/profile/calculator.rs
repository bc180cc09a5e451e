//! Expressions: compiling and evaluating them within limits, and values in and out.
//!
//! The only module that knows the expression engine. It knows nothing of parameters, nor of where
//! an expression stands.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use minijinja::value::{Enumerator, Object, ObjectExt, ObjectRepr, Rest, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Expression, UndefinedBehavior, filters, functions, tests};

use super::names::did_you_mean;
use super::node::{Node, Place, Value};

pub use minijinja::value::Value as Computed;

/// Steps one expression may take; far more than any sensible one, and a few milliseconds.
const FUEL: u64 = 100_000;

/// Values that one expression may give, lists and maps counted with all they hold. Repeated lists
/// are not built before they are read, so the steps above do not bound them.
const VALUES_MAX: usize = 10_000;

/// Bytes of one expression. Its parser calls itself for each sign of `- - - 1`, so that length is
/// what bounds the stack.
const SOURCE_MAX: usize = 2048;

/// The functions an expression may call.
pub const FUNCTIONS: [&str; 3] = ["range", "min", "max"];

const FILTERS: [&str; 25] = [
    "abs",
    "bool",
    "capitalize",
    "count",
    "first",
    "float",
    "format",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "max",
    "min",
    "replace",
    "reverse",
    "round",
    "sort",
    "string",
    "sum",
    "title",
    "unique",
    "upper",
];

/// A mistake in an expression, with the bytes of the expression it is in.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Stable kebab-case name of the kind of mistake.
    pub code: &'static str,
    /// Bytes of the expression that are meant; `None` means all of it.
    pub part: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

/// A compiled expression.
pub struct Formula<'a> {
    source: &'a str,
    expression: Expression<'static, 'static>,
}

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

/// No loader, no files, no statements; only what is named here can be called.
fn environment() -> Environment<'static> {
    let mut env = Environment::empty();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(FUEL));
    env.set_debug(true);
    env.add_filter("abs", filters::abs);
    env.add_filter("bool", filters::bool);
    env.add_filter("capitalize", filters::capitalize);
    env.add_filter("count", filters::length);
    env.add_filter("first", filters::first);
    env.add_filter("float", filters::float);
    env.add_filter("format", filters::format);
    env.add_filter("int", filters::int);
    env.add_filter("items", filters::items);
    env.add_filter("join", filters::join);
    env.add_filter("last", filters::last);
    env.add_filter("length", filters::length);
    env.add_filter("list", filters::list);
    env.add_filter("lower", filters::lower);
    env.add_filter("max", filters::max);
    env.add_filter("min", filters::min);
    env.add_filter("replace", filters::replace);
    env.add_filter("reverse", filters::reverse);
    env.add_filter("round", filters::round);
    env.add_filter("sort", filters::sort);
    env.add_filter("string", filters::string);
    env.add_filter("sum", filters::sum);
    env.add_filter("title", filters::title);
    env.add_filter("unique", filters::unique);
    env.add_filter("upper", filters::upper);
    env.add_test("none", tests::is_none);
    env.add_test("boolean", tests::is_boolean);
    env.add_test("number", tests::is_number);
    env.add_test("string", tests::is_string);
    env.add_test("sequence", tests::is_sequence);
    env.add_test("mapping", tests::is_mapping);
    env.add_test("odd", tests::is_odd);
    env.add_test("even", tests::is_even);
    env.add_test("divisibleby", tests::is_divisibleby);
    env.add_test("startingwith", tests::is_startingwith);
    env.add_test("endingwith", tests::is_endingwith);
    env.add_test("in", tests::is_in);
    env.add_function("range", functions::range);
    env.add_function("min", |values: Rest<Computed>| extreme("min", &values, |a, b| a < b));
    env.add_function("max", |values: Rest<Computed>| extreme("max", &values, |a, b| a > b));
    env
}

/// `max(a, b, …)`; also of one list, so that it reads like the filter.
fn extreme(
    name: &str,
    values: &[Computed],
    better: fn(&Computed, &Computed) -> bool,
) -> Result<Computed, Error> {
    let items: Vec<Computed> = match values {
        [list] if list.kind() == ValueKind::Seq => list.try_iter()?.collect(),
        values => values.to_vec(),
    };
    if let Some(odd) = items.iter().find(|item| !item.is_number()) {
        let message = format!("{name}() compares numbers, not {}", odd.kind());
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    items
        .into_iter()
        .reduce(|best, item| if better(&item, &best) { item } else { best })
        .ok_or_else(|| Error::new(ErrorKind::MissingArgument, format!("{name}() of nothing")))
}

impl<'a> Formula<'a> {
    /// Compiles an expression without braces.
    pub fn compile(source: &'a str) -> Result<Formula<'a>, Fault> {
        if source.trim().is_empty() {
            return Err(Fault {
                code: "invalid-expression",
                part: None,
                message: "the expression is empty".into(),
                help: Some("write for example {{ 2 * files }}".into()),
            });
        }
        if source.len() > SOURCE_MAX {
            return Err(Fault {
                code: "expression-too-long",
                part: None,
                message: format!("the expression is {} bytes long, {SOURCE_MAX} are allowed", source.len()),
                help: Some("give parts of it names under let:".into()),
            });
        }
        match ENVIRONMENT.compile_expression_owned(source.to_string()) {
            Ok(expression) => Ok(Formula { source, expression }),
            Err(error) => Err(fault_of(&error, source)),
        }
    }

    /// The names it needs from outside, functions not among them.
    pub fn names(&self) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = self.expression.undeclared_variables(false).into_iter().collect();
        names.retain(|name| !FUNCTIONS.contains(&name.as_str()));
        names
    }

    /// As [`Formula::names`], with the attributes taken from them: `run.read.bytes.rate`.
    pub fn paths(&self) -> BTreeSet<String> {
        let mut paths: BTreeSet<String> = self.expression.undeclared_variables(true).into_iter().collect();
        paths.retain(|path| !FUNCTIONS.contains(&path.as_str()));
        paths
    }

    /// The value; `names` is a map with a value for each of [`Formula::names`].
    pub fn eval(&self, names: Computed) -> Result<Computed, Fault> {
        self.expression.eval(names).map_err(|error| fault_of(&error, self.source))
    }
}

/// Where a name stands in an expression: outside quotes, not an attribute of another.
pub fn find_name(source: &str, name: &str) -> Option<Range<usize>> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut quote = None;
    let mut before = ' ';
    let mut at = 0;
    while let Some(c) = source[at..].chars().next() {
        let rest = &source[at..];
        if let Some(q) = quote {
            if c == '\\' {
                at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            if c == q {
                quote = None;
            }
        } else if c == '\'' || c == '"' {
            quote = Some(c);
        } else if word(c) {
            let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
            if &rest[..length] == name && before != '.' {
                return Some(at..at + length);
            }
            at += length;
            before = 'x';
            continue;
        }
        if !c.is_whitespace() {
            before = c;
        }
        at += c.len_utf8();
    }
    None
}

fn fault_of(error: &Error, source: &str) -> Fault {
    let detail = error.detail().unwrap_or_default().to_string();
    let quoted = detail
        .split(['"', '`', '\''])
        .nth(1)
        .or_else(|| detail.split_whitespace().nth(1))
        .unwrap_or_default();
    let (code, message, help) = match error.kind() {
        ErrorKind::OutOfFuel => (
            "expression-too-long",
            format!("the expression takes more than {FUEL} steps"),
            Some("compute less; expressions are for a few numbers".to_string()),
        ),
        ErrorKind::UnknownFilter => {
            ("unknown-filter", detail.clone(), Some(did_you_mean(quoted, FILTERS.iter())))
        }
        ErrorKind::UnknownFunction => {
            ("unknown-function", detail.clone(), Some(did_you_mean(quoted, FUNCTIONS.iter())))
        }
        kind if detail.is_empty() => ("invalid-expression", kind.to_string(), None),
        _ => ("invalid-expression", detail.clone(), None),
    };
    let part = error.range().filter(|part| source.get(part.clone()).is_some());
    Fault { code, part, message, help }
}

/// A map of a profile inside an expression; keeps the order of its keys and what it was.
#[derive(Debug)]
struct NodeMap(Vec<(String, Node)>);

impl Object for NodeMap {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Map
    }

    fn get_value(self: &Arc<Self>, key: &Computed) -> Option<Computed> {
        // A key of YAML is a text here even where it was written as a number.
        let key = key.to_string();
        self.0.iter().find(|(k, _)| *k == key).map(|(_, node)| from_node(node))
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|map| Box::new(map.0.iter().map(|(key, _)| Computed::from(key.as_str()))))
    }
}

/// A value of a profile as expressions see it.
pub fn from_node(node: &Node) -> Computed {
    match &node.value {
        Value::Null => Computed::from(()),
        Value::Bool(b) => Computed::from(*b),
        Value::Int(i) => match i64::try_from(*i) {
            Ok(small) => Computed::from(small),
            Err(_) => Computed::from(*i),
        },
        Value::Float(f) => Computed::from(*f),
        Value::Text(text) => Computed::from(text.as_str()),
        Value::List(items) => items.iter().map(from_node).collect(),
        Value::Map(entries) => Computed::from_object(NodeMap(entries.clone())),
    }
}

/// What an expression gave, as a value of the profile at one place; `Err` says why it is none.
pub fn to_node(computed: &Computed, place: &Place) -> Result<Node, String> {
    let mut left = VALUES_MAX;
    convert(computed, place, &mut left)
}

fn convert(computed: &Computed, place: &Place, left: &mut usize) -> Result<Node, String> {
    *left =
        left.checked_sub(1).ok_or_else(|| format!("the expression gives more than {VALUES_MAX} values"))?;
    let value = match computed.kind() {
        ValueKind::None => Value::Null,
        ValueKind::Bool => Value::Bool(computed.is_true()),
        ValueKind::Number if computed.is_integer() => Value::Int(
            i128::try_from(computed.clone()).map_err(|_| format!("the number {computed} is too large"))?,
        ),
        ValueKind::Number => match f64::try_from(computed.clone()) {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err("the result is no finite number".into()),
        },
        ValueKind::String => Value::Text(computed.to_string()),
        ValueKind::Seq | ValueKind::Iterable => {
            let items = computed.try_iter().map_err(|error| error.to_string())?;
            Value::List(items.map(|item| convert(&item, place, left)).collect::<Result<_, _>>()?)
        }
        ValueKind::Map => match computed.downcast_object_ref::<NodeMap>() {
            Some(NodeMap(entries)) => {
                // It is as large as what was written; whoever repeats it pays for each again.
                *left = left.saturating_sub(entries.len());
                Value::Map(entries.iter().map(|(k, v)| (k.clone(), moved(v, place))).collect())
            }
            None => {
                let mut entries = Vec::new();
                for key in computed.try_iter().map_err(|error| error.to_string())? {
                    let value = computed.get_item(&key).map_err(|error| error.to_string())?;
                    entries.push((key.to_string(), convert(&value, place, left)?));
                }
                Value::Map(entries)
            }
        },
        ValueKind::Undefined => {
            return Err("the expression gives nothing: what it looks up is not there".into());
        }
        kind => return Err(format!("the expression gives no value of a profile ({kind})")),
    };
    Ok(Node { place: place.clone(), value, computed: true })
}

/// The same value as if it had been computed at another place.
pub fn moved(node: &Node, place: &Place) -> Node {
    let value = match &node.value {
        Value::List(items) => Value::List(items.iter().map(|item| moved(item, place)).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(k, v)| (k.clone(), moved(v, place))).collect())
        }
        scalar => scalar.clone(),
    };
    Node { place: place.clone(), value, computed: true }
}
