//! Every structural mistake of a profile or suite at once: keys, types, literal values.
//!
//! Walks the value along the tables of [`super::language`]; what the walk lets pass is held
//! against the JSON Schema made from the same tables. Knows no parameter's value: expressions
//! are judged when they are evaluated.

use super::diagnostic::{self, Diagnostic, Severity};
use super::language::{self, What};
use super::literal;
use super::names;
use super::node::{Node, Place, Value};
use super::schema;
use super::shape::{Field, Kind, Verb};

/// Which kind of file a value is, by its first key: a suite has `suite`, all else is a profile.
pub fn what_of(node: &Node) -> What {
    let has = |key: &str| node.entries().iter().any(|(name, _)| name == key);
    if has("suite") && !has("profile") || has("tests") && !has("profile") {
        What::Suite
    } else {
        What::Profile
    }
}

/// Everything that is wrong with the structure; warnings are among it. The table of verbs is a
/// static one, so that its schema is compiled once.
pub fn check_structure(node: &Node, what: What, verbs: &'static [Verb]) -> Vec<Diagnostic> {
    let not_yet = language::NOT_YET.iter().any(|(key, _)| node.get(key).is_some());
    let sets: Vec<&str> = ["files", "trees"]
        .iter()
        .filter_map(|key| node.get(key))
        .flat_map(|sets| sets.entries().iter().map(|(name, _)| name.as_str()))
        .collect();
    let mut walk = Walk { verbs, sets: (!not_yet).then_some(sets), found: Vec::new(), listed: false };
    walk.file(node, what);
    let mut found = walk.found;
    if found.iter().all(|found| found.severity != Severity::Error) {
        found.extend(schema::issues(node, what, verbs));
    }
    diagnostic::cut(&mut found);
    found
}

/// The walk along the tables.
pub(super) struct Walk<'a> {
    pub(super) verbs: &'a [Verb],
    /// Names of the sets of files; `None` where other keys may bring more of them.
    sets: Option<Vec<&'a str>>,
    pub(super) found: Vec<Diagnostic>,
    /// Whether a message has listed all verbs already.
    pub(super) listed: bool,
}

impl Walk<'_> {
    fn file(&mut self, node: &Node, what: What) {
        if !matches!(node.value, Value::Map(_)) {
            let expected = format!("a {} with its keys", what.word());
            self.push(literal::wrong(node, "not-a-map", &expected));
            return;
        }
        let other = if what == What::Profile { What::Suite } else { What::Profile };
        if node.get(what.word()).is_none()
            && let Some(name) = node.get(other.word())
        {
            let message = format!("this is a {}, and a {} is expected", other.word(), what.word());
            self.push(
                Diagnostic::error("other-file", &name.place, message)
                    .at_key()
                    .help(format!("a {0} begins with `{0}: its-name`", what.word())),
            );
            return;
        }
        self.map(node, what.fields());
        match what {
            What::Profile => self.profile(node),
            What::Suite => self.suite(node),
        }
    }

    /// What the tables cannot say about a profile.
    fn profile(&mut self, node: &Node) {
        if let Some(version) = node.get("version").filter(|version| !literal::is_template(version)) {
            let parts = version.text().map(|text| text.split('.').map(|part| part.parse::<u32>()).collect());
            let parts: Vec<Result<u32, _>> = parts.unwrap_or_default();
            if version.text().is_some() && (parts.len() != 3 || parts.iter().any(Result::is_err)) {
                self.push(
                    literal::wrong(version, "invalid-version", "a version")
                        .help("a version is three numbers: 1.0.0"),
                );
            }
        }
        for (_, param) in node.get("params").map(Node::entries).unwrap_or_default() {
            self.param(param);
        }
    }

    fn suite(&mut self, node: &Node) {
        for test in node.get("tests").map(Node::items).unwrap_or_default() {
            match (test.get("profile"), test.get("suite")) {
                (Some(_), Some(suite)) => self.push(
                    Diagnostic::error(
                        "two-tests",
                        &suite.place,
                        "a test is a profile or a suite; found both",
                    )
                    .at_key()
                    .help("write them as two items, one below the other"),
                ),
                (None, None) if matches!(test.value, Value::Map(_)) => self.push(
                    Diagnostic::error("missing-key", &test.place, "the test names no profile and no suite")
                        .help("write `- profile: its-name`, perhaps with `cases:` and `with:`"),
                ),
                _ => {}
            }
        }
    }

    /// A parameter's default against its own type.
    fn param(&mut self, param: &Node) {
        let Some(types) = param.get("type").filter(|types| !literal::is_template(types)) else { return };
        let words: Vec<&str> = types.items().iter().filter_map(Node::text).collect();
        let choice = words.iter().any(|word| word.starts_with("choice"));
        let of = param.get("of");
        match of {
            None if choice => self.push(
                Diagnostic::error("missing-key", &param.place, "a choice needs its words")
                    .at_key()
                    .help("write them beside the type: `of: [first, second]`"),
            ),
            Some(of) if !choice && !words.is_empty() => self.push(
                Diagnostic::error("unknown-key", &of.place, "`of` lists the words of a choice only")
                    .at_key()
                    .help("write `type: choice`, or remove it"),
            ),
            _ => {}
        }
        for option in of.map(Node::items).unwrap_or_default() {
            if let Value::Bool(value) = option.value {
                self.push(
                    literal::wrong(option, "invalid-choice", "a word")
                        .help(format!("write it in quotes, \"{value}\"; or make the type bool")),
                );
            }
        }
        let Some(default) = param.get("default").filter(|default| !literal::is_template(default)) else {
            return;
        };
        let [word] = words.as_slice() else { return };
        let found = match *word {
            "choice" | "choices" => {
                let Some(of) = of else { return };
                let options: Vec<String> = of.items().iter().map(|option| option.value.to_string()).collect();
                let many = *word == "choices";
                let values = if many { default.items() } else { std::slice::from_ref(default) };
                let unfit = |value: &&Node| {
                    !literal::is_template(value) && !options.contains(&value.value.to_string())
                };
                values
                    .iter()
                    .filter(unfit)
                    .map(|value| {
                        let found = literal::wrong(value, "invalid-choice", "one of the parameter's words");
                        let found = match names::nearest(&value.value.to_string(), &options) {
                            Some(near) => found.help(format!("did you mean `{near}`?")),
                            None => found,
                        };
                        found.help(format!("the words are {}", options.join(", ")))
                    })
                    .collect()
            }
            word => match kind_of(word) {
                Some(kind) => literal::check(default, &kind, None),
                None => return,
            },
        };
        self.extend(found);
    }

    pub(super) fn push(&mut self, found: Diagnostic) {
        if self.found.len() <= diagnostic::MOST_LISTED {
            self.found.push(found);
        }
    }

    fn extend(&mut self, found: Vec<Diagnostic>) {
        for found in found {
            self.push(found);
        }
    }

    /// A map with these keys and no others.
    pub(super) fn map(&mut self, node: &Node, fields: &[Field]) {
        let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
        for (key, value) in node.entries() {
            match fields.iter().find(|field| field.name == key) {
                Some(field) => self.field(value, field),
                None => self.unknown_key(node, key, value, &known),
            }
        }
        self.required(node, fields, None);
        self.ends(node);
    }

    /// What must be there and is not; of a step, its verb needs it. A misspelt key is not missing.
    pub(super) fn required(&mut self, node: &Node, fields: &[Field], verb: Option<(&str, &Place)>) {
        let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let meant: Vec<&str> = node
            .entries()
            .iter()
            .filter(|(key, _)| !known.contains(&key.as_str()))
            .filter_map(|(key, _)| names::nearest(key, &known))
            .collect();
        for field in fields.iter().filter(|field| field.required && node.get(field.name).is_none()) {
            if meant.contains(&field.name) {
                continue;
            }
            let written = node.entries().iter().find(|(key, _)| key == field.name);
            let (place, message) = match (written, verb) {
                (Some((_, empty)), _) => (&empty.place, format!("`{}` has no value", field.name)),
                (None, Some((verb, place))) => (place, format!("`{verb}` needs `{}`", field.name)),
                (None, None) => (&node.place, format!("`{}` is missing{}", field.name, inside(&node.place))),
            };
            self.push(
                Diagnostic::error("missing-key", place, message)
                    .at_key()
                    .help(format!("{}: {}", field.name, field.doc))
                    .help(format!("it is {}", language::words(&field.kind))),
            );
        }
    }

    /// A loop has one end, and a ramp stands in front of one.
    pub(super) fn ends(&mut self, node: &Node) {
        let ends: Vec<&(String, Node)> = node
            .entries()
            .iter()
            .filter(|(key, value)| language::ENDS.contains(&key.as_str()) && value.value != Value::Null)
            .collect();
        if let [(first, _), (second, value), ..] = ends.as_slice() {
            self.push(
                Diagnostic::error(
                    "two-ends",
                    &value.place,
                    format!("a loop has one end; found `{first}` and `{second}`"),
                )
                .at_key()
                .help("keep one of them, or put one loop inside the other"),
            );
        }
    }

    fn unknown_key(&mut self, node: &Node, key: &str, value: &Node, known: &[&str]) {
        if let Some((_, why)) =
            language::NOT_YET.iter().find(|(name, _)| *name == key).filter(|_| node.place.pointer.is_empty())
        {
            self.push(Diagnostic::error("not-yet", &value.place, *why).at_key());
            return;
        }
        let mut found = literal::unknown(value, key, "key", known);
        found.message += &inside(&node.place);
        self.push(found);
    }

    pub(super) fn field(&mut self, value: &Node, field: &Field) {
        if language::NAMED.contains(&field.name) && matches!(field.kind, Kind::MapOf(_)) {
            for (key, inner) in value.entries().iter().filter(|(key, _)| !names::is_name(key)) {
                self.push(literal::not_a_name(&inner.place, key).at_key());
            }
        }
        // `version: 1.10` is the number 1.1 to YAML.
        if field.name == "version" && matches!(value.value, Value::Int(_) | Value::Float(_)) {
            let message = format!("the version is a number to YAML, and is read as {}", value.value);
            self.push(
                Diagnostic::error("invalid-version", &value.place, message)
                    .help("a version of two parts is written in quotes; a profile's has three: 1.0.0"),
            );
            return;
        }
        self.kind(value, &field.kind);
    }

    pub(super) fn kind(&mut self, node: &Node, kind: &Kind) {
        if node.value == Value::Null {
            return;
        }
        match kind {
            Kind::Any => {}
            Kind::Steps => self.steps(node),
            Kind::Phases => self.phases(node),
            _ if literal::is_template(node) && *kind != Kind::Expression => {}
            Kind::Map(fields) => match &node.value {
                Value::Map(_) => self.map(node, fields),
                _ => self.not_a_map(node, kind),
            },
            Kind::MapOf(inner) => match &node.value {
                Value::Map(entries) => entries.iter().for_each(|(_, value)| self.kind(value, inner)),
                _ => self.not_a_map(node, kind),
            },
            Kind::ListOf(inner) => node.items().iter().for_each(|item| self.kind(item, inner)),
            Kind::OneOf(kinds) => self.one_of(node, kind, kinds),
            kind => {
                let found = literal::check(node, kind, self.sets.as_deref());
                self.extend(found);
            }
        }
    }

    fn not_a_map(&mut self, node: &Node, kind: &Kind) {
        let mut found = literal::wrong(node, "wrong-type", &language::words(kind));
        if let Value::List(items) = &node.value
            && items.iter().all(|item| matches!(&item.value, Value::Map(entries) if entries.len() == 1))
        {
            found = found.help("write the keys without `- ` in front");
        }
        self.push(found);
    }

    /// The first kind that fits; otherwise the mistakes of the one that was probably meant.
    fn one_of(&mut self, node: &Node, whole: &Kind, kinds: &[Kind]) {
        let before = self.found.len();
        let mut attempts: Vec<(&Kind, Vec<Diagnostic>)> = Vec::new();
        for kind in kinds {
            self.kind(node, kind);
            let tail = before.min(self.found.len());
            if self.found.get(tail..).is_some_and(|new| new.iter().all(|new| new.severity != Severity::Error))
            {
                return;
            }
            attempts.push((kind, self.found.split_off(tail)));
        }
        let numeric = node.text().is_some_and(|text| {
            text.starts_with(|c: char| c.is_ascii_digit() || "+-.{".contains(c) || !c.is_ascii())
        });
        let mut fitting: Vec<(&Kind, Vec<Diagnostic>)> = attempts
            .into_iter()
            .filter(|(kind, _)| fits(&node.value, kind) && !(numeric && matches!(kind, Kind::Choice(_))))
            .collect();
        let measures =
            fitting.iter().filter(|(kind, _)| !matches!(kind, Kind::Choice(_) | Kind::Set)).count();
        match fitting.len() {
            1 => {
                let mut found = fitting.pop().map(|(_, found)| found).unwrap_or_default();
                if let (1, Some(one), false) = (found.len(), found.first_mut(), numeric)
                    && one.place.as_ref() == Some(&node.place)
                {
                    let others: Vec<String> =
                        kinds.iter().filter(|kind| !fits(&node.value, kind)).map(language::words).collect();
                    if !others.is_empty() {
                        one.help.push(format!("or {}", language::either(others)));
                    }
                }
                self.extend(found);
            }
            // A number with a bad unit: what is wrong with it says more than what it could be.
            2.. if numeric && measures == 1 => {
                self.extend(fitting.swap_remove(0).1);
            }
            _ => {
                let mut found = literal::wrong(node, "wrong-type", &language::words(whole));
                let options: Vec<&str> = kinds
                    .iter()
                    .flat_map(|kind| match kind {
                        Kind::Choice(options) | Kind::Choices(options) => *options,
                        _ => &[],
                    })
                    .copied()
                    .collect();
                if let Some(near) = node.text().and_then(|text| names::nearest(text, &options)) {
                    found = found.help(format!("did you mean `{near}`?"));
                }
                self.push(found);
            }
        }
    }
}

/// Whether a value has the outer form of a kind, so that its mistakes are worth telling.
fn fits(value: &Value, kind: &Kind) -> bool {
    match value {
        Value::Map(_) => {
            matches!(kind, Kind::Map(_) | Kind::MapOf(_) | Kind::Distribution | Kind::At | Kind::Data)
        }
        Value::List(_) => {
            matches!(
                kind,
                Kind::ListOf(_)
                    | Kind::Choices(_)
                    | Kind::Steps
                    | Kind::Phases
                    | Kind::Errnos
                    | Kind::Distribution
                    | Kind::At
            )
        }
        _ => !matches!(kind, Kind::Map(_) | Kind::MapOf(_) | Kind::Steps | Kind::Phases),
    }
}

/// The kind of a parameter's literal default.
fn kind_of(word: &str) -> Option<Kind> {
    Some(match word {
        "count" => Kind::Count,
        "size" => Kind::Size,
        "duration" => Kind::Duration,
        "percent" => Kind::Percent,
        "bool" => Kind::Bool,
        "text" | "file" => Kind::Text,
        "distribution" => Kind::Distribution,
        _ => return None,
    })
}

/// ` in `files.mail``, or nothing at the top of the file.
fn inside(place: &Place) -> String {
    let words: Vec<String> = place
        .pointer
        .split('/')
        .skip(1)
        .map(|word| match word.parse::<usize>() {
            Ok(index) => format!("[{}]", index.saturating_add(1)),
            Err(_) => format!(".{}", word.replace("~1", "/").replace("~0", "~")),
        })
        .collect();
    match words.is_empty() {
        true => String::new(),
        false => format!(" in `{}`", words.concat().trim_start_matches('.')),
    }
}
