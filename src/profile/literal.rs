//! Values as they are written, held against their [`Kind`]: sizes, words, distributions.
//!
//! A scalar with `{{` in it is not judged here: its value is known only later. Knows nothing of
//! keys, steps and phases.

use super::diagnostic::{Diagnostic, Severity};
use super::distribution;
use super::language;
use super::names;
use super::node::{Node, Value};
use super::shape::Kind;
use super::units;

/// Whether a scalar holds an expression, so that its value is not known yet.
pub fn is_template(node: &Node) -> bool {
    node.text().is_some_and(|text| text.contains("{{"))
}

/// What is wrong with one value of a kind that holds no steps, phases, maps or lists of other
/// kinds. `sets` are the names a [`Kind::Set`] may be; `None` where they are not known.
pub fn check(node: &Node, kind: &Kind, sets: Option<&[&str]>) -> Vec<Diagnostic> {
    if node.value == Value::Null || is_template(node) && *kind != Kind::Expression {
        return Vec::new();
    }
    match kind {
        Kind::Count => count(node),
        Kind::Size => size(node),
        Kind::Duration => error(units::duration(node)),
        Kind::Percent => error(units::percent(node)),
        Kind::Bool => boolean(node),
        Kind::Text => error(units::text(node)),
        Kind::Name => name(node),
        Kind::Id => id(node),
        Kind::Choice(options) => choice(node, options, &[]),
        Kind::Choices(options) => {
            node.items().iter().flat_map(|item| check(item, &Kind::Choice(options), sets)).collect()
        }
        Kind::Distribution => distribution(node),
        Kind::At => at(node),
        Kind::Data => data(node),
        Kind::Expression => expression(node),
        Kind::Set => set(node, sets),
        Kind::Errnos => node.items().iter().flat_map(errno).collect(),
        _ => Vec::new(),
    }
}

/// `the text "x" is not a size (4KiB)`.
pub fn wrong(node: &Node, code: &'static str, expected: &str) -> Diagnostic {
    Diagnostic::error(code, &node.place, format!("{} is not {expected}", node.value.described()))
}

fn error<T>(result: Result<T, Diagnostic>) -> Vec<Diagnostic> {
    result.err().into_iter().collect()
}

fn count(node: &Node) -> Vec<Diagnostic> {
    let Err(found) = units::count(node) else { return Vec::new() };
    let text = node.text().unwrap_or("").trim();
    let digits: String = text.chars().filter(|c| !"_,' ".contains(*c)).collect();
    let number = digits.trim_start_matches('0');
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
        return vec![found];
    }
    vec![match text {
        _ if digits != text => found.help(format!("write {number}: digits are not grouped")),
        _ if digits != number => found.help(format!("write {number}, or 0o{number} if it is octal")),
        _ => found.help(format!("write {number} without quotes")),
    }]
}

fn size(node: &Node) -> Vec<Diagnostic> {
    if node.text().is_some_and(|text| language::FILE_BOUNDS.contains(&text)) {
        return Vec::new();
    }
    match (units::size(node), node.text()) {
        (Err(found), _) => vec![found],
        (Ok(bytes), Some(text)) => match units::decimal_size_hint(text) {
            Some(binary) => vec![
                Diagnostic::warning(
                    "decimal-size",
                    &node.place,
                    format!("{text} is {bytes} bytes, no multiple of the 512 bytes of a sector"),
                )
                .help(format!("if the binary unit is meant, write {binary}")),
            ],
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn boolean(node: &Node) -> Vec<Diagnostic> {
    let word = match &node.value {
        Value::Bool(_) => return Vec::new(),
        Value::Text(text) => text.to_ascii_lowercase(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    };
    let found = wrong(node, "invalid-bool", "true or false");
    vec![match word.as_str() {
        "yes" | "on" | "y" | "1" => found.help("write true (YAML 1.2 knows no other word for it)"),
        "no" | "off" | "n" | "0" => found.help("write false (YAML 1.2 knows no other word for it)"),
        "true" | "false" => found.help(format!("write {word} without quotes, in lower case")),
        _ => found.help("write true or false"),
    }]
}

fn name(node: &Node) -> Vec<Diagnostic> {
    match &node.value {
        Value::Text(text) if names::is_name(text) => Vec::new(),
        Value::Text(text) => vec![not_a_name(&node.place, text)],
        _ => vec![wrong(node, "invalid-name", "a name").help("a name is a word such as `read_back`")],
    }
}

/// A word that expressions could not say.
pub fn not_a_name(place: &super::node::Place, text: &str) -> Diagnostic {
    let found = Diagnostic::error("invalid-name", place, format!("{text:?} is not a name"));
    let better: String = text
        .trim()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
        .collect();
    let better = better.trim_matches('_');
    let found = found
        .help("names are lower-case letters, digits and _, a letter first, so that expressions can say them");
    if names::is_name(better) { found.help(format!("write {better}")) } else { found }
}

fn id(node: &Node) -> Vec<Diagnostic> {
    let text = match &node.value {
        Value::Text(text) if names::is_id(text) => return Vec::new(),
        // `id: 2024` is a number to YAML and a good id all the same.
        Value::Int(number) if *number >= 0 => return Vec::new(),
        Value::Text(text) => text,
        _ => return vec![wrong(node, "invalid-id", "an id").help("an id is a word such as `read-back`")],
    };
    let found = Diagnostic::error("invalid-id", &node.place, format!("{text:?} is not an id"))
        .help("ids are lower-case letters and digits in words joined by -");
    let better = names::to_id(text);
    vec![if names::is_id(&better) { found.help(format!("write {better}")) } else { found }]
}

fn choice(node: &Node, options: &[&str], also: &[&str]) -> Vec<Diagnostic> {
    let word = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        _ => String::new(),
    };
    if options.contains(&word.as_str()) {
        return Vec::new();
    }
    let all: Vec<String> = options.iter().chain(also).map(|option| (*option).to_owned()).collect();
    let mut found = wrong(node, "invalid-choice", "one of the words that can stand here");
    if let Value::Bool(value) = &node.value {
        let quoted = value.to_string();
        if options.contains(&quoted.as_str()) {
            return vec![found.help(format!("it is a word here: write it in quotes, \"{quoted}\""))];
        }
    }
    if let Some(near) = names::nearest(&word, options) {
        found = found.help(format!("did you mean `{near}`?"));
    }
    vec![found.help(format!("write {}", language::either(all)))]
}

fn expression(node: &Node) -> Vec<Diagnostic> {
    let Some(text) = node.text() else {
        return match &node.value {
            Value::List(_) | Value::Map(_) => {
                vec![
                    wrong(node, "invalid-expression", "an expression")
                        .help("an expression is one line such as `flush == 'first'`"),
                ]
            }
            _ => Vec::new(),
        };
    };
    if !text.contains("{{") {
        return Vec::new();
    }
    let found = Diagnostic::error(
        "braces-in-expression",
        &node.place,
        "this is an expression by nature and takes no braces",
    );
    let bare = text.trim().strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
    vec![match bare.filter(|bare| !bare.contains("{{")) {
        Some(bare) => found.help(format!("write {}", bare.trim())),
        None => found.help("write it without {{ and }}"),
    }]
}

fn set(node: &Node, sets: Option<&[&str]>) -> Vec<Diagnostic> {
    let Some(text) = node.text() else {
        return vec![wrong(node, "unknown-set", "the name of a set of files")];
    };
    let Some(sets) = sets.filter(|sets| !sets.contains(&text)) else { return Vec::new() };
    let found = Diagnostic::error("unknown-set", &node.place, format!("there is no set of files `{text}`"));
    vec![match (names::nearest(text, sets), sets.is_empty()) {
        (_, true) => found.help("sets of files are described under `files:`, and this profile has none"),
        (Some(near), _) => found.help(format!("did you mean `{near}`?")),
        (None, _) => found.help(format!("the sets under `files:` are {}", sets.join(", "))),
    }]
}

fn errno(node: &Node) -> Vec<Diagnostic> {
    let good = |text: &str| {
        text.len() > 2
            && text.starts_with('E')
            && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit())
    };
    match node.text() {
        Some(text) if good(text) || text.contains("{{") => Vec::new(),
        text => {
            let found = wrong(node, "invalid-errno", "the name of an error");
            let upper = text.map(str::to_ascii_uppercase).unwrap_or_default();
            vec![if good(&upper) {
                found.help(format!("write {upper}"))
            } else {
                found.help("write a name such as ENOENT, or a list of them: [ENOENT, EEXIST]")
            }]
        }
    }
}

/// A size or count, or one of the distributions. With expressions inside, what is plain is judged.
fn distribution(node: &Node) -> Vec<Diagnostic> {
    let found = match &node.value {
        Value::List(_) => vec![
            wrong(node, "invalid-distribution", "a size, a count or a distribution")
                .help("a range of sizes is {uniform: [4KiB, 64KiB]}, several sizes are {weighted: {4KiB: 50, 8KiB: 30}}"),
        ],
        Value::Map(entries) => match names_of(node, entries) {
            found if !found.is_empty() || holds_template(node) => found,
            _ => distribution::parse(node).err().unwrap_or_default(),
        },
        _ => distribution::parse(node).err().unwrap_or_default(),
    };
    if found.is_empty() { constants(node) } else { found }
}

/// The warnings about plain sizes in a distribution.
fn constants(node: &Node) -> Vec<Diagnostic> {
    match &node.value {
        Value::Map(entries) => entries.iter().flat_map(|(_, value)| constants(value)).collect(),
        Value::List(items) => items.iter().flat_map(constants).collect(),
        Value::Text(_) => size(node).into_iter().filter(|found| found.severity != Severity::Error).collect(),
        _ => Vec::new(),
    }
}

fn holds_template(node: &Node) -> bool {
    match &node.value {
        Value::Map(entries) => entries.iter().any(|(_, value)| holds_template(value)),
        Value::List(items) => items.iter().any(holds_template),
        _ => is_template(node),
    }
}

/// Whether the keys of a distribution are such, whatever stands beside them.
fn names_of(node: &Node, entries: &[(String, Node)]) -> Vec<Diagnostic> {
    let known: Vec<&str> = language::DISTRIBUTIONS.iter().map(|row| row.0).collect();
    let mut found: Vec<Diagnostic> = entries
        .iter()
        .filter(|(key, _)| key != "step" && !known.contains(&key.as_str()))
        .map(|(key, value)| unknown(value, key, "distribution", &known))
        .collect();
    let named: Vec<&(String, Node)> =
        entries.iter().filter(|(key, _)| known.contains(&key.as_str())).collect();
    match named.as_slice() {
        [] if found.is_empty() => found.push(
            Diagnostic::error("invalid-distribution", &node.place, "the map names no distribution")
                .help(format!("the distributions are {}", known.join(", "))),
        ),
        [(first, _), (second, value), ..] => found.push(
            Diagnostic::error(
                "two-distributions",
                &value.place,
                format!("a value has one distribution; found `{first}` and `{second}`"),
            )
            .at_key()
            .help("keep one of them"),
        ),
        _ => {}
    }
    found
}

/// Weights of words or sizes.
fn weights(node: &Node, entries: &[(String, Node)]) -> Vec<Diagnostic> {
    let all = || entries.iter().map(|(_, weight)| weight).filter(|weight| !is_template(weight));
    let found: Vec<Diagnostic> = all().filter_map(|weight| distribution::weight_of(weight).err()).collect();
    if !found.is_empty() || all().count() != entries.len() {
        return found;
    }
    distribution::weights_add_up(node, all()).err().unwrap_or_default()
}

fn at(node: &Node) -> Vec<Diagnostic> {
    let words = language::AT_WORDS;
    match &node.value {
        Value::Text(text) if words.contains(&text.as_str()) => Vec::new(),
        Value::Text(text) if text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with('{') => {
            distribution(node)
        }
        Value::Text(_) => choice(node, words, &["a size", "a distribution", "{stride: 8KiB}"]),
        Value::Map(entries) => match entries.as_slice() {
            [(key, value)] if key == "stride" => check(value, &Kind::Size, None),
            [(key, value)] if key == "weighted" => {
                let Value::Map(places) = &value.value else { return distribution(node) };
                let mut found = weights(value, places);
                for (place, weight) in places {
                    if !words.contains(&place.as_str()) && units::parse_size(place).is_err() {
                        found.push(unknown(weight, place, "place", words));
                    }
                }
                found
            }
            [(key, value)] if !language::DISTRIBUTIONS.iter().any(|row| row.0 == key) => {
                let rows = language::DISTRIBUTIONS.iter().map(|row| row.0);
                vec![unknown(value, key, "place", &["stride"].into_iter().chain(rows).collect::<Vec<_>>())]
            }
            _ => distribution(node),
        },
        _ => distribution(node),
    }
}

fn data(node: &Node) -> Vec<Diagnostic> {
    let words = language::DATA_WORDS;
    let also = ["{byte: a}", "{compressible: 50%}"];
    let Value::Map(entries) = &node.value else { return choice(node, words, &also) };
    let mut found = Vec::new();
    for (key, value) in entries {
        match key.as_str() {
            "byte" => {
                let good = match &value.value {
                    Value::Text(text) => text.len() == 1 || text.contains("{{"),
                    Value::Int(number) => (0..=255).contains(number),
                    _ => false,
                };
                if !good {
                    found.push(
                        wrong(value, "invalid-byte", "a byte")
                            .help("write one ASCII character, or a number up to 255 (a digit in quotes is the character)"),
                    );
                }
            }
            "compressible" | "duplicate" => found.extend(check(value, &Kind::Percent, None)),
            _ => found.push(unknown(value, key, "key", &["byte", "compressible", "duplicate"])),
        }
    }
    if entries.is_empty() {
        found.extend(choice(node, words, &also));
    }
    found
}

/// A key that is not among the known ones, with the nearest of them.
pub fn unknown(value: &Node, key: &str, what: &str, known: &[&str]) -> Diagnostic {
    let found = Diagnostic::error("unknown-key", &value.place, format!("unknown {what} `{key}`")).at_key();
    let found = match names::nearest(key, known) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found,
    };
    found.help(format!("allowed here: {}", known.join(", ")))
}
