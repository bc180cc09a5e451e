//! The reference page of all steps, made from the tables of the language.
//!
//! Knows Markdown; what it says comes from the tables alone.

use std::fmt::Write as _;

use super::language;
use super::shape::{Field, Kind, Verb};

/// Examples by verb or key, where its kind alone does not tell what works.
const EXAMPLES: [(&str, &str); 4] =
    [("permissions", "\"0644\""), ("think", "5ms"), ("set_xattr", "user.note"), ("get_xattr", "user.note")];

/// The page `docs/operations.md`: every verb under its group, in the order of the table.
pub fn reference(verbs: &[Verb]) -> String {
    let mut out = String::from(
        "<!-- Made from the operation table: change the table, not this page. -->\n\n# Operations\n\n\
         A step is one map with exactly one verb. The verb's value is its object, every other key an argument of\n\
         that verb or a modifier that every step may have. A verb without a value may stand alone: `- fsync`.\n",
    );
    let all: Vec<&Verb> = verbs.iter().chain(language::BLOCKS).collect();
    let mut groups: Vec<&str> = Vec::new();
    for verb in &all {
        if !groups.contains(&verb.group) {
            groups.push(verb.group);
        }
    }
    let bare = verbs.iter().find(|verb| verb.bare).map_or("fsync", |verb| verb.name);
    for group in groups {
        let _ = write!(out, "\n## {}\n", capital(group));
        for verb in all.iter().filter(|verb| verb.group == group) {
            let _ = write!(out, "\n### {}\n\n{}\n\n", verb.name, verb.doc);
            let _ = write!(out, "```yaml\n{}\n```\n", example(verb, bare));
            if let Some(object) = &verb.object {
                let optional = if verb.bare { ", or nothing" } else { "" };
                let _ = write!(out, "\nValue: {}{optional}.\n", cell(&language::words(object)));
            }
            table(&mut out, verb.args);
        }
    }
    out.push_str("\n## Modifiers\n\nEvery step may have these; blocks have only ");
    let names: Vec<String> =
        language::BLOCK_MODIFIERS.iter().map(|field| format!("`{}`", field.name)).collect();
    let _ = writeln!(out, "{}.", language::either(names).replace(" or ", " and "));
    table(&mut out, language::MODIFIERS);
    out
}

/// One line that a profile could hold.
pub fn example(verb: &Verb, bare: &str) -> String {
    let required: Vec<&Field> = verb.args.iter().filter(|field| field.required).collect();
    match (&verb.object, required.is_empty()) {
        (None, true) => format!("- {}", verb.name),
        (Some(kind), true) => format!("- {}: {}", verb.name, named(verb.name, kind, bare)),
        (object, false) => {
            let object = object.map_or_else(String::new, |kind| named(verb.name, &kind, bare));
            let rest: Vec<String> = required
                .iter()
                .map(|field| format!("{}: {}", field.name, named(field.name, &field.kind, bare)))
                .collect();
            format!("- {{{}: {object}, {}}}", verb.name, rest.join(", "))
        }
    }
}

/// What may stand behind a verb or key.
fn named(name: &str, kind: &Kind, bare: &str) -> String {
    let example = EXAMPLES.iter().find(|(known, _)| *known == name);
    example.map_or_else(|| sample(kind, bare), |(_, text)| text.to_string())
}

fn sample(kind: &Kind, bare: &str) -> String {
    match kind {
        Kind::Any | Kind::Text => "text".into(),
        Kind::Count => "8".into(),
        Kind::Size => "64KiB".into(),
        Kind::Duration => "20s".into(),
        Kind::Percent => "75%".into(),
        Kind::Bool => "true".into(),
        Kind::Name => "name".into(),
        Kind::Id => "an-id".into(),
        Kind::Choice(options) => options.first().copied().unwrap_or("").into(),
        Kind::Choices(options) => format!("[{}]", options.first().copied().unwrap_or("")),
        Kind::Distribution => "64KiB".into(),
        Kind::At => "random".into(),
        Kind::Data => "random".into(),
        Kind::Expression => "size > 0".into(),
        Kind::Set => "mail".into(),
        Kind::Errnos => "ENOENT".into(),
        Kind::Steps => format!("[{bare}]"),
        Kind::Phases => format!("[{{phase: name, steps: [{bare}]}}]"),
        Kind::Map(fields) => {
            let chosen = fields.iter().find(|field| field.required).or(fields.first());
            chosen.map_or("{}".into(), |field| format!("{{{}: {}}}", field.name, sample(&field.kind, bare)))
        }
        Kind::MapOf(inner) => format!("{{key: {}}}", sample(inner, bare)),
        Kind::ListOf(inner) => format!("[{}]", sample(inner, bare)),
        // The last one is the general one: words such as `whole` come first.
        Kind::OneOf(kinds) => kinds.last().map_or_else(String::new, |kind| sample(kind, bare)),
    }
}

fn table(out: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    out.push_str("\n| key | what | written |\n| --- | --- | --- |\n");
    for field in fields {
        let needed = if field.required { " (required)" } else { "" };
        let _ = writeln!(
            out,
            "| `{}`{needed} | {} | {} |",
            field.name,
            cell(field.doc),
            cell(&language::words(&field.kind))
        );
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
