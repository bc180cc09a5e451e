//! The JSON Schemas of profiles and suites (draft 2020-12), made from the tables of the language.
//!
//! They are published for editors and other tools, and every checked file is held against them.
//! Any scalar may also be a text with `{{` in it, and null is the same as not written.

use std::cell::RefCell;
use std::rc::Rc;

use schema_check::{Checker, Issue, IssueKind};
use serde_json::{Map, Value as Json, json};

use super::diagnostic::Diagnostic;
use super::language::{self, Distribution, What};
use super::node::{Node, Place, Value};
use super::shape::{Field, Kind, Verb};

const TEMPLATE: &str = r"\{\{";
const NAME: &str = "^[a-z][a-z0-9_]*$";

/// The schema of a kind of file, with these verbs.
pub fn schema(what: What, verbs: &[Verb]) -> Json {
    let mut root = Map::new();
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("title".into(), json!(format!("ioscore {}", what.word())));
    root.extend(fields(what.fields(), None));
    root.insert("type".into(), json!("object"));
    root.remove("pattern");
    let mut defs = Map::new();
    for (name, kind) in SHARED {
        defs.insert((*name).into(), shared(kind));
    }
    if what == What::Profile {
        defs.insert(
            "steps".into(),
            json!({"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}),
        );
        defs.insert("step".into(), step(verbs));
        let phase = json!({
            "type": "object",
            "if": {"required": ["phases"]},
            "then": fields(language::PHASE_LIST, None),
            "else": fields(language::PHASE, None),
        });
        defs.insert("phases".into(), json!({"type": "array", "minItems": 1, "items": phase}));
    }
    root.insert("$defs".into(), Json::Object(defs));
    Json::Object(root)
}

/// A compiled schema, and what it was compiled for.
type Compiled = (What, *const [Verb], Rc<Checker>);

thread_local! {
    /// The schemas compiled so far: compiling one takes some 20 ms.
    static COMPILED: RefCell<Vec<Compiled>> = const { RefCell::new(Vec::new()) };
}

fn compiled(what: What, verbs: &'static [Verb]) -> Result<Rc<Checker>, String> {
    COMPILED.with_borrow_mut(|all| {
        let same =
            |entry: &&(What, *const [Verb], Rc<Checker>)| entry.0 == what && std::ptr::eq(entry.1, verbs);
        if let Some((_, _, checker)) = all.iter().find(same) {
            return Ok(Rc::clone(checker));
        }
        let checker = Rc::new(Checker::new(&schema(what, verbs))?);
        all.push((what, verbs, Rc::clone(&checker)));
        Ok(checker)
    })
}

/// How a file differs from its schema, in the validator's own words: the net under the walk,
/// which says the same better.
pub(super) fn issues(node: &Node, what: What, verbs: &'static [Verb]) -> Vec<Diagnostic> {
    let checker = match compiled(what, verbs) {
        Ok(checker) => checker,
        Err(error) => {
            return vec![Diagnostic::general("schema", format!("the schema itself is wrong: {error}"))];
        }
    };
    checker.check(&to_json(node)).into_iter().map(|issue| diagnostic(node.place.file, issue)).collect()
}

fn diagnostic(file: u16, issue: Issue) -> Diagnostic {
    let place = Place { file, pointer: issue.pointer.into() };
    let list = |words: &[String]| language::either(words.to_vec());
    let found = match &issue.kind {
        IssueKind::UnknownKeys(keys) => {
            Diagnostic::error("unknown-key", &place, format!("unknown here: `{}`", keys.join("`, `")))
                .at_key()
        }
        IssueKind::WrongType(types) => {
            Diagnostic::error("wrong-type", &place, format!("the value is not {}", list(types)))
        }
        IssueKind::NotOneOf(options) => {
            let options: Vec<String> = options.iter().map(Json::to_string).collect();
            Diagnostic::error("invalid-choice", &place, "the value is not one of those that can stand here")
                .help(format!("write {}", list(&options)))
        }
        IssueKind::Missing(key) => {
            Diagnostic::error("missing-key", &place, format!("`{key}` is missing")).at_key()
        }
        IssueKind::TooFew(least) => {
            Diagnostic::error("too-few", &place, format!("at least {least} must stand here"))
        }
        IssueKind::TooMany(most) => {
            Diagnostic::error("too-many", &place, format!("at most {most} may stand here"))
        }
        IssueKind::OutOfRange(limit) => {
            Diagnostic::error("out-of-range", &place, format!("the number is beyond {limit}"))
        }
        IssueKind::Form(_) | IssueKind::NoAlternative | IssueKind::Other(_) => {
            Diagnostic::error("schema", &place, "the value has not the form that is needed here")
        }
    };
    found.help(format!("the schema says: {}", issue.message))
}

/// A value as JSON. Numbers keep their exact value where JSON has one.
pub fn to_json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) => match (u64::try_from(*value), i64::try_from(*value)) {
            (Ok(value), _) => json!(value),
            (_, Ok(value)) => json!(value),
            _ => json!(*value as f64),
        },
        Value::Float(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => entries.iter().map(|(key, value)| (key.clone(), to_json(value))).collect(),
    }
}

/// Kinds with a definition of their own.
const SHARED: &[(&str, Kind)] = &[
    ("count", Kind::Count),
    ("size", Kind::Size),
    ("duration", Kind::Duration),
    ("percent", Kind::Percent),
    ("bool", Kind::Bool),
    ("text", Kind::Text),
    ("name", Kind::Name),
    ("id", Kind::Id),
    ("expression", Kind::Expression),
    ("errnos", Kind::Errnos),
    ("distribution", Kind::Distribution),
    ("at", Kind::At),
    ("data", Kind::Data),
];

fn shared(kind: &Kind) -> Json {
    match kind {
        Kind::Count => {
            json!({"type": ["integer", "string", "null"], "minimum": 0, "pattern": TEMPLATE})
        }
        Kind::Size => {
            json!({"type": ["integer", "string", "null"], "minimum": 0, "pattern": r"^[0-9][0-9.]* ?[A-Za-z]*$|\{"})
        }
        Kind::Duration => json!({"type": ["string", "null"], "pattern": r"^[0-9][0-9a-z. ]*$|\{\{"}),
        Kind::Percent => json!({"type": ["string", "null"], "pattern": r"^[0-9][0-9.]* ?%$|\{\{"}),
        Kind::Bool => json!({"type": ["boolean", "string", "null"], "pattern": TEMPLATE}),
        Kind::Name => json!({"type": ["string", "null"], "pattern": format!(r"{NAME}|\{{\{{")}),
        Kind::Id => {
            json!({"type": ["string", "integer", "null"], "pattern": r"^[a-z0-9]+([.-][a-z0-9]+)*$|\{\{"})
        }
        Kind::Expression => {
            json!({"type": ["string", "boolean", "number", "null"], "not": {"type": "string", "pattern": TEMPLATE}})
        }
        Kind::Errnos => {
            let name = json!({"type": ["string", "null"], "pattern": r"^E[A-Z0-9]+$|\{\{"});
            json!({"anyOf": [name, {"type": "array", "items": name}]})
        }
        Kind::Distribution => distribution(),
        Kind::At => json!({"anyOf": [
            {"enum": language::AT_WORDS},
            {"$ref": "#/$defs/distribution"},
            {"type": "object", "additionalProperties": false, "required": ["stride"],
             "properties": {"stride": {"$ref": "#/$defs/size"}}},
            {"type": "object", "additionalProperties": false, "required": ["weighted"],
             "properties": {"weighted": {"type": "object", "minProperties": 1,
                "additionalProperties": weight()}}},
        ]}),
        Kind::Data => json!({"anyOf": [
            {"enum": language::DATA_WORDS},
            {"type": ["string", "null"], "pattern": TEMPLATE},
            {"type": "object", "additionalProperties": false, "minProperties": 1, "properties": {
                "byte": {"type": ["string", "integer"], "maxLength": 100, "minimum": 0, "maximum": 255},
                "compressible": {"$ref": "#/$defs/percent"},
                "duplicate": {"$ref": "#/$defs/percent"},
            }},
        ]}),
        _ => json!({"type": ["string", "number", "boolean", "null"]}),
    }
}

/// A number from 0, or a percent.
fn weight() -> Json {
    json!({"type": ["number", "string"], "minimum": 0, "pattern": r"%$|\{\{"})
}

fn distribution() -> Json {
    let size = json!({"$ref": "#/$defs/size"});
    let number = json!({"type": ["number", "string"], "minimum": 0});
    let mut any = vec![size.clone()];
    for (name, form, example) in language::DISTRIBUTIONS {
        let value = match form {
            Distribution::Pair => {
                json!({"type": ["array", "string"], "minItems": 2, "maxItems": 2, "items": size})
            }
            Distribution::Weights => {
                json!({"type": ["object", "string"], "minProperties": 1, "additionalProperties": weight()})
            }
            Distribution::Quantiles => {
                json!({"type": ["object", "string"], "minProperties": 1, "additionalProperties": size})
            }
            Distribution::One => number.clone(),
            Distribution::Named(parts) => parts_of(parts, &number),
            Distribution::Shares => parts_of(&["share", "of"], &json!({"$ref": "#/$defs/percent"})),
        };
        let mut properties = Map::new();
        properties.insert((*name).into(), value);
        if *form == Distribution::Pair {
            properties.insert("step".into(), size.clone());
        }
        any.push(json!({
            "description": format!("for example {example}"), "type": "object",
            "required": [name], "properties": properties, "additionalProperties": false,
        }));
    }
    json!({ "anyOf": any })
}

fn parts_of(parts: &[&str], value: &Json) -> Json {
    let properties: Map<String, Json> =
        parts.iter().map(|part| ((*part).to_owned(), value.clone())).collect();
    json!({"type": ["object", "string"], "required": parts, "properties": properties, "additionalProperties": false})
}

/// A map with these fields; `verb` is the key of a step that stands in front of them.
fn fields(all: &[Field], verb: Option<(&str, Json)>) -> Map<String, Json> {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    if let Some((name, value)) = verb {
        properties.insert(name.into(), value);
        required.push(name);
    }
    for field in all {
        let mut value = of(&field.kind, language::NAMED.contains(&field.name));
        if let Json::Object(value) = &mut value {
            value.insert("description".into(), json!(field.doc));
        }
        properties.insert(field.name.into(), value);
        if field.required {
            required.push(field.name);
        }
    }
    let mut map = Map::new();
    map.insert("type".into(), json!(["object", "string", "null"]));
    map.insert("pattern".into(), json!(TEMPLATE));
    map.insert("properties".into(), Json::Object(properties));
    map.insert("additionalProperties".into(), json!(false));
    if !required.is_empty() {
        map.insert("required".into(), json!(required));
    }
    map
}

fn of(kind: &Kind, keys_are_names: bool) -> Json {
    if let Some((name, _)) = SHARED.iter().find(|(_, shared)| shared == kind) {
        return json!({"$ref": format!("#/$defs/{name}")});
    }
    match kind {
        Kind::Any => json!({}),
        Kind::Choice(options) => choice(options),
        Kind::Choices(options) => {
            let one = choice(options);
            json!({"anyOf": [one, {"type": "array", "items": one}]})
        }
        Kind::Set => json!({"type": ["string", "null"]}),
        Kind::Steps => json!({"$ref": "#/$defs/steps"}),
        Kind::Phases => json!({"$ref": "#/$defs/phases"}),
        Kind::Map(inner) => Json::Object(fields(inner, None)),
        Kind::MapOf(inner) => {
            let mut map = json!({
                "type": ["object", "string", "null"], "pattern": TEMPLATE, "additionalProperties": of(inner, false),
            });
            if keys_are_names && let Json::Object(map) = &mut map {
                map.insert("propertyNames".into(), json!({"pattern": NAME}));
            }
            map
        }
        Kind::ListOf(inner) => {
            let one = of(inner, false);
            json!({"anyOf": [{"type": "array", "items": one}, one]})
        }
        Kind::OneOf(kinds) => {
            json!({"anyOf": kinds.iter().map(|kind| of(kind, false)).collect::<Vec<_>>()})
        }
        // All others have a definition of their own.
        _ => json!({}),
    }
}

/// Words; those made of digits also as numbers, and an expression in their place.
fn choice(options: &[&str]) -> Json {
    let mut all: Vec<Json> = options.iter().map(|option| json!(option)).collect();
    all.extend(options.iter().filter_map(|option| option.parse::<u64>().ok()).map(|number| json!(number)));
    all.push(Json::Null);
    json!({"anyOf": [{"enum": all}, {"type": "string", "pattern": TEMPLATE}]})
}

/// A step: a bare verb, a list of steps, or a map with exactly one verb and what belongs to it.
fn step(verbs: &[Verb]) -> Json {
    let all: Vec<&Verb> = verbs.iter().chain(language::BLOCKS).collect();
    let bare: Vec<&str> = all.iter().filter(|verb| verb.bare).map(|verb| verb.name).collect();
    let any: Vec<Json> = all.iter().map(|verb| json!({"required": [verb.name]})).collect();
    let mut rules = vec![
        json!({"if": {"type": "string"}, "then": {"enum": bare}}),
        json!({"if": {"type": "array"}, "then": {"$ref": "#/$defs/steps"}}),
        json!({"if": {"type": "object"}, "then": {"anyOf": any}}),
    ];
    for verb in &all {
        let mut object = match &verb.object {
            Some(kind) => of(kind, false),
            None => json!({"type": "null"}),
        };
        if verb.object.is_some() && verb.bare {
            object = json!({"anyOf": [object, {"type": "null"}]});
        }
        if let Json::Object(object) = &mut object {
            object.insert("description".into(), json!(verb.doc));
        }
        let block = language::BLOCKS.iter().any(|block| block.name == verb.name);
        let modifiers = if block { language::BLOCK_MODIFIERS } else { language::MODIFIERS };
        let takes: Vec<Field> = verb.args.iter().chain(modifiers).copied().collect();
        let mut then = fields(&takes, Some((verb.name, object)));
        then.remove("type");
        then.remove("pattern");
        // Where another verb has an argument of this name, that other one is the verb.
        let others: Vec<Json> = all
            .iter()
            .filter(|other| other.args.iter().any(|field| field.name == verb.name))
            .map(|other| json!({"required": [other.name]}))
            .collect();
        let mut when = json!({"type": "object", "required": [verb.name]});
        if let (false, Json::Object(when)) = (others.is_empty(), &mut when) {
            when.insert("not".into(), json!({ "anyOf": others }));
        }
        rules.push(json!({"if": when, "then": then}));
    }
    json!({"type": ["string", "array", "object"], "allOf": rules})
}

#[cfg(test)]
mod tests {
    use super::super::load::load_file;
    use super::super::source::Sources;
    use super::*;

    const VERBS: &[Verb] = &[Verb {
        name: "write",
        group: "data",
        doc: "Writes.",
        object: Some(Kind::Size),
        bare: false,
        args: &[Field::new("block", Kind::Size, "bytes in one operation")],
    }];

    fn found(step: &str) -> Vec<String> {
        let text = format!(
            "profile: x\nversion: 1.0.0\ntitle: X\nsummary: x\nphases: [{{phase: go, steps: [{step}]}}]\n\
             results: [{{name: A, value: go.seconds, better: lower}}]\n"
        );
        let mut sources = Sources::new();
        let (node, _) = load_file(&mut sources, "x", text.as_bytes()).expect("it is YAML");
        issues(&node, What::Profile, VERBS)
            .iter()
            .map(|one| format!("{} {}", one.code, one.place.as_ref().map_or("", |place| &place.pointer)))
            .collect()
    }

    #[test]
    fn a_step_is_held_against_its_own_verb_and_errors_stand_at_their_place() {
        assert!(found("{write: 4k, block: 512, label: a}").is_empty());
        assert!(found("[{write: \"{{ a }}\"}, {steps: [{write: 1}], repeat: 3}]").is_empty());
        assert_eq!(found("{write: 4k, blok: 512}"), ["unknown-key /phases/0/steps/0"]);
        assert_eq!(found("{write: 4k, block: [1]}"), ["wrong-type /phases/0/steps/0/block"]);
        assert_eq!(found("{write: 4k, block: -1}"), ["out-of-range /phases/0/steps/0/block"]);
        assert_eq!(found("{steps: [{write: big}]}"), ["schema /phases/0/steps/0/steps/0/write"]);
        assert_eq!(found("{label: a}"), ["schema /phases/0/steps/0"]);
        assert_eq!(found("write"), ["invalid-choice /phases/0/steps/0"]);
        assert!(!found("{write: 4k, mix: [{write: 1}]}").is_empty());
    }
}
