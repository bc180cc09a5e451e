//! `system` and `target`: what is seen of this machine and of a directory.

use serde::Serialize;

use super::output::{Failure, Outcome, data};
use crate::run::target;
use crate::system::files::Root;
use crate::system::machine;

#[derive(Debug, clap::Args)]
pub struct SystemArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    /// A directory
    #[arg(value_name = "[NAME=]PATH")]
    path: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Shows what is known of the machine.
pub fn machine(args: &SystemArgs) -> Outcome {
    show(&machine::describe(&Root::default()), args.json)
}

/// Shows what is known of a target.
pub fn target(args: &TargetArgs) -> Outcome {
    let (name, path) = target::parse(&args.path);
    let place = target::look(name.as_deref(), &path, false).map_err(Failure::target)?;
    show(&place.about, args.json)
}

/// A description as JSON, or a line a field that is known.
fn show(about: &impl Serialize, json: bool) -> Outcome {
    let value = serde_json::to_value(about).map_err(|error| Failure::target(error.to_string()))?;
    if json {
        let text = serde_json::to_string_pretty(&value).unwrap_or_default();
        data(text + "\n")?;
    } else {
        let mut out = String::new();
        lines(&mut out, "", &value);
        data(out)?;
    }
    Ok(0)
}

fn lines(out: &mut String, name: &str, value: &serde_json::Value) {
    use serde_json::Value;
    let inner = |key: &str| if name.is_empty() { key.to_string() } else { format!("{name}.{key}") };
    match value {
        Value::Null => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| lines(out, &inner(key), value)),
        Value::Array(items) if items.iter().all(Value::is_string) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            if !words.is_empty() {
                out.push_str(&format!("{name}: {}\n", words.join(", ")));
            }
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, value)| lines(out, &inner(&i.to_string()), value));
        }
        Value::String(text) => out.push_str(&format!("{name}: {text}\n")),
        other => out.push_str(&format!("{name}: {other}\n")),
    }
}
