//! The part of the check that finds the verb of each step, and walks phases.
//!
//! A step's verb is found first and the step is then held against that verb's own arguments, so
//! that every message points at the one key that is wrong.

use super::check::Walk;
use super::diagnostic::Diagnostic;
use super::language;
use super::literal;
use super::names;
use super::node::{Node, Value};
use super::shape::{Field, Verb};

impl<'a> Walk<'a> {
    pub(super) fn phases(&mut self, node: &Node) {
        let Value::List(items) = &node.value else {
            let found = literal::wrong(node, "wrong-type", "a list of phases");
            self.push(found.help("put `- ` in front: `- phase: write`, its other keys below it"));
            return;
        };
        if items.is_empty() {
            self.push(
                Diagnostic::error("empty-list", &node.place, "there are no phases")
                    .help("write at least one: `- phase: write`, with `steps:`"),
            );
        }
        for item in items {
            self.phase(item);
        }
    }

    fn phase(&mut self, node: &Node) {
        if !matches!(node.value, Value::Map(_)) {
            let found = literal::wrong(node, "wrong-type", "a phase");
            self.push(found.help("a phase is a map: `- phase: write`, with `steps:` below it"));
            return;
        }
        let has = |key: &str| node.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value);
        match (has("phase"), has("phases")) {
            (Some(_), Some(list)) => self.push(
                Diagnostic::error("two-phases", &list.place, "a phase has `steps`, not `phases`")
                    .at_key()
                    .help("a list of phases has no name: write `- repeat: 3` with `phases:` below it"),
            ),
            (None, Some(_)) => self.map(node, language::PHASE_LIST),
            (None, None) if has("steps").is_none() && has("groups").is_none() => self.push(
                Diagnostic::error(
                    "missing-key",
                    &node.place,
                    "this is no phase: it has no name and no steps",
                )
                .help("write `- phase: write`, with `steps:` below it"),
            ),
            _ => {
                self.map(node, language::PHASE);
                match (has("steps"), has("groups")) {
                    (Some(_), Some(groups)) => self.push(
                        Diagnostic::error(
                            "two-phases",
                            &groups.place,
                            "a phase has `steps` or `groups`; found both",
                        )
                        .at_key()
                        .help("put the steps into a group of their own"),
                    ),
                    (None, None) => self.push(
                        Diagnostic::error("missing-key", &node.place, "the phase has no steps")
                            .at_key()
                            .help("write `steps:` with a list of what each worker does"),
                    ),
                    _ => {}
                }
            }
        }
    }

    pub(super) fn steps(&mut self, node: &Node) {
        let Value::List(items) = &node.value else {
            let found = literal::wrong(node, "wrong-type", "a list of steps");
            self.push(match &node.value {
                Value::Text(text) if text.contains("{{") => {
                    found.help("steps cannot come out of an expression; `when:` on a step chooses it")
                }
                Value::Text(text) => found.help(format!("write it as a list: [{text}]")),
                _ => found.help("put `- ` in front of each step"),
            });
            return;
        };
        if items.is_empty() {
            self.push(
                Diagnostic::error("empty-list", &node.place, "there are no steps")
                    .help("write at least one step, or leave the whole part out"),
            );
        }
        for item in items {
            self.step(item);
        }
    }

    fn step(&mut self, node: &Node) {
        match &node.value {
            Value::Map(entries) => self.flat(node, entries),
            Value::List(_) => self.steps(node),
            Value::Text(text) => self.bare(node, text),
            Value::Null => self.push(
                Diagnostic::error("no-verb", &node.place, "an empty step")
                    .help("write a verb after the `-`, or remove the line"),
            ),
            _ => self.push(
                literal::wrong(node, "wrong-type", "a step")
                    .help("a step is a verb with its value: `- write: 4KiB`"),
            ),
        }
    }

    /// `- fsync`.
    fn bare(&mut self, node: &Node, text: &str) {
        if text.contains("{{") {
            self.push(
                Diagnostic::error("no-verb", &node.place, "a step cannot come out of an expression")
                    .help("write each step with its own `when:`"),
            );
            return;
        }
        match self.verb(text) {
            Some(verb) if verb.bare => {}
            Some(verb) => {
                let wanted = verb.object.map_or_else(String::new, |kind| language::words(&kind));
                self.push(
                    Diagnostic::error("no-object", &node.place, format!("`{text}` needs a value"))
                        .help(format!("write `{text}: …` with {wanted}")),
                );
            }
            None => {
                let word = text.split([' ', ':', '=']).next().unwrap_or("");
                let rest = text.get(word.len()..).unwrap_or("").trim_start_matches([' ', ':', '=']);
                let mut found = self.unknown_verb(node, text);
                if !rest.is_empty() && self.verb(word).is_some() {
                    found.message = format!("{text:?} is one text to YAML, not a verb with its value");
                    found.help = vec![format!("write `{word}: {rest}`, with a colon and a blank")];
                }
                self.push(found);
            }
        }
    }

    /// A step written as a map.
    fn flat(&mut self, node: &Node, entries: &[(String, Node)]) {
        let present: Vec<(&Verb, &Node)> =
            entries.iter().filter_map(|(key, value)| Some((self.verb(key)?, value))).collect();
        // A verb's name may also be an argument of the other verb: `each` has `steps`.
        let argument = |of: &Verb, name: &str| of.args.iter().any(|field| field.name == name);
        let verbs: Vec<(&Verb, &Node)> = present
            .iter()
            .filter(|(verb, _)| {
                !present.iter().any(|(other, _)| argument(other, verb.name) && !argument(verb, other.name))
            })
            .copied()
            .collect();
        match verbs.as_slice() {
            [] => self.no_verb(node, entries),
            [(verb, object)] => self.with_verb(node, entries, verb, object),
            [(first, _), (second, place), ..] => {
                let names: Vec<String> = verbs.iter().map(|(verb, _)| format!("`{}`", verb.name)).collect();
                let block = [first.name, second.name].contains(&"steps");
                self.push(
                    Diagnostic::error(
                        "two-verbs",
                        &place.place,
                        format!("a step has exactly one verb; found {}", names.join(" and ")),
                    )
                    .at_key()
                    .help(match block {
                        true => "a block of `steps` is a step of its own, with its own `- `",
                        false => "write them as two steps, each with its own `- `",
                    }),
                );
            }
        }
    }

    fn with_verb(&mut self, node: &Node, entries: &[(String, Node)], verb: &Verb, object: &Node) {
        let block = language::BLOCKS.iter().any(|block| block.name == verb.name);
        let modifiers = if block { language::BLOCK_MODIFIERS } else { language::MODIFIERS };
        match (&verb.object, &object.value) {
            (None, Value::Null) => {}
            (None, _) => self.push(
                Diagnostic::error("no-object", &object.place, format!("`{}` takes no value", verb.name))
                    .help(format!(
                        "write it alone: `- {}`, or `{}:` with other keys beside it",
                        verb.name, verb.name
                    )),
            ),
            (Some(kind), Value::Null) if !verb.bare => self.push(
                Diagnostic::error("no-object", &object.place, format!("`{}` needs a value", verb.name))
                    .at_key()
                    .help(format!("it is {}", language::words(kind))),
            ),
            (Some(kind), _) => self.kind(object, kind),
        }
        let fields: Vec<Field> = verb.args.iter().chain(modifiers).copied().collect();
        for (key, value) in entries.iter().filter(|(key, _)| key != verb.name) {
            match fields.iter().find(|field| field.name == key) {
                Some(field) => self.field(value, field),
                None => self.unknown_argument(key, value, verb, &fields),
            }
        }
        self.required(node, verb.args, Some((verb.name, &object.place)));
        if verb.args.iter().any(|field| field.name == "repeat") {
            self.ends(node);
        }
    }

    fn unknown_argument(&mut self, key: &str, value: &Node, verb: &Verb, fields: &[Field]) {
        let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let found = Diagnostic::error(
            "unknown-key",
            &value.place,
            format!("`{key}` does not go with `{}`", verb.name),
        )
        .at_key();
        if language::LOOP.iter().any(|field| field.name == key) {
            let name = verb.name;
            self.push(found.help(format!(
                "loops stand on blocks: `{{{key}: {}, steps: [{{{name}: …}}]}}`",
                short(&value.value)
            )));
            return;
        }
        let owners: Vec<String> = self
            .all()
            .filter(|other| other.args.iter().any(|field| field.name == key))
            .map(|other| format!("`{}`", other.name))
            .collect();
        let near = names::nearest(key, &known);
        let found = match near {
            Some(near) => found.help(format!("did you mean `{near}`?")),
            None if !owners.is_empty() => found.help(format!("it is an argument of {}", owners.join(", "))),
            None => found,
        };
        let own: Vec<&str> = verb.args.iter().map(|field| field.name).collect();
        let others = known.get(own.len()..).unwrap_or_default().join(", ");
        self.push(match own.is_empty() {
            true => found
                .help(format!("`{}` has no arguments of its own; every step may have {others}", verb.name)),
            false => {
                found.help(format!("`{}` takes {}; every step may have {others}", verb.name, own.join(", ")))
            }
        });
    }

    fn no_verb(&mut self, node: &Node, entries: &[(String, Node)]) {
        let known = |key: &str| {
            language::MODIFIERS.iter().chain(language::LOOP).any(|field| field.name == key)
                || self.all().any(|verb| verb.args.iter().any(|field| field.name == key))
        };
        let odd = entries.iter().find(|(key, _)| !known(key));
        if let Some((key, value)) = odd {
            let mut found = self.unknown_verb(value, key).at_key();
            if let Value::Map(inner) = &value.value
                && let Some((verb, _)) = inner.iter().find(|(key, _)| self.verb(key).is_some())
            {
                found.help = vec![format!(
                    "a name for a step is its `label:`; write `{verb}` and `label: {key}` side by side"
                )];
            }
            self.push(found);
            return;
        }
        let looped = entries.iter().find(|(key, _)| language::LOOP.iter().any(|field| field.name == key));
        let found = Diagnostic::error("no-verb", &node.place, "the step has no verb");
        let argument = entries.iter().find_map(|(key, _)| {
            let owners: Vec<&str> = self
                .all()
                .filter(|verb| verb.args.iter().any(|field| field.name == key))
                .map(|verb| verb.name)
                .collect();
            (!owners.is_empty() && looped.is_none())
                .then(|| format!("`{key}` goes with {}", owners.join(", ")))
        });
        self.push(match (looped, argument) {
            (Some((key, _)), _) => found.help(format!("`{key}` loops over `steps:`, which are missing")),
            (None, Some(argument)) => found.help(argument),
            (None, None) => found.help(format!("the verbs are {}", self.names().join(", "))),
        });
    }

    /// The verbs are listed once; the other messages of a file have the nearest one only.
    fn unknown_verb(&mut self, node: &Node, name: &str) -> Diagnostic {
        let found = Diagnostic::error("unknown-verb", &node.place, format!("unknown verb `{name}`"));
        if language::VERBS_NOT_YET.contains(&name) {
            let message = format!("`{name}` is not part of this version yet");
            return Diagnostic::error("not-yet", &node.place, message);
        }
        let known = self.names();
        match names::nearest(name, &known) {
            Some(near) => found.help(format!("did you mean `{near}`?")),
            None if !std::mem::replace(&mut self.listed, true) => {
                found.help(format!("the verbs are {}", known.join(", ")))
            }
            None => found,
        }
    }

    fn all(&self) -> impl Iterator<Item = &'a Verb> + use<'a> {
        self.verbs.iter().chain(language::BLOCKS)
    }

    fn verb(&self, name: &str) -> Option<&'a Verb> {
        self.all().find(|verb| verb.name == name)
    }

    fn names(&self) -> Vec<&'a str> {
        self.all().map(|verb| verb.name).collect()
    }
}

/// A value for a message, unless it is long.
fn short(value: &Value) -> String {
    let written = value.to_string();
    match value {
        Value::Map(_) | Value::List(_) => "…".into(),
        _ if written.chars().count() > 20 => "…".into(),
        _ => written,
    }
}
