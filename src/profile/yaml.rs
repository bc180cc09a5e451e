//! Nodes from small pieces of YAML that stand in no file: the command line's `--set`, and tests.
//!
//! Whole files go through the loader, which checks far more.

use serde_yaml::Value as Yaml;

use super::node::{Node, Place, Value};

/// The place of what was typed and stands in no file.
fn nowhere() -> Place {
    Place { file: 0, pointer: "".into() }
}

/// The value of a text that a person typed; what is no YAML is taken as text.
pub fn typed(text: &str) -> Node {
    let value = serde_yaml::from_str(text).ok().and_then(|yaml| node_of(&yaml, ""));
    value.unwrap_or_else(|| Node { place: nowhere(), value: Value::Text(text.into()), computed: false })
}

/// Converts a YAML value; `None` for what the language does not know (tags, odd keys, `.nan`).
fn node_of(yaml: &Yaml, pointer: &str) -> Option<Node> {
    let value = match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(b) => Value::Bool(*b),
        Yaml::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(i), _, _) => Value::Int(i.into()),
            (_, Some(u), _) => Value::Int(u.into()),
            (_, _, Some(f)) if f.is_finite() => Value::Float(f),
            _ => return None,
        },
        Yaml::String(text) => Value::Text(text.clone()),
        Yaml::Sequence(items) => Value::List(
            items
                .iter()
                .enumerate()
                .map(|(i, item)| node_of(item, &format!("{pointer}/{i}")))
                .collect::<Option<_>>()?,
        ),
        Yaml::Mapping(entries) => {
            let mut map = Vec::new();
            for (key, value) in entries {
                let key = match key {
                    Yaml::String(key) => key.clone(),
                    Yaml::Number(number) => number.to_string(),
                    _ => return None,
                };
                let pointer = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
                let value = node_of(value, &pointer)?;
                map.push((key, value));
            }
            Value::Map(map)
        }
        Yaml::Tagged(_) => return None,
    };
    Some(Node { place: Place { file: 0, pointer: pointer.into() }, value, computed: false })
}

/// A node from the text of a test.
#[cfg(test)]
pub fn node(text: &str) -> Node {
    let mut yaml: Yaml = serde_yaml::from_str(text).expect("the YAML of a test");
    yaml.apply_merge().expect("the merges of a test");
    node_of(&yaml, "").expect("the values of a test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed() {
        assert_eq!(typed("50").value, Value::Int(50));
        assert_eq!(typed("4KiB").value, Value::Text("4KiB".into()));
        assert_eq!(typed("off").value, Value::Text("off".into()));
        assert_eq!(typed("true").value, Value::Bool(true));
        assert_eq!(typed("").value, Value::Null);
        assert_eq!(typed("@x").value, Value::Text("@x".into()));
        assert_eq!(typed("!x 1").value, Value::Text("!x 1".into()));
        assert_eq!(typed(".nan").value, Value::Text(".nan".into()));
        assert_eq!(typed("[a, 1]").items().len(), 2);
        assert_eq!(&*typed("{a/b: [1]}").entries()[0].1.items()[0].place.pointer, "/a~1b/0");
    }
}
