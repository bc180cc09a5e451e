//! The names of phases, labels, groups and sets: spelled so that expressions can say them, and
//! never with two meanings.
//!
//! At the top of an expression stand parameters, `let` values, facts and phases; below a phase its
//! labels, groups, verbs and quantities; sets, data sets and trees are named by steps.

use std::collections::BTreeSet;

use super::diagnostic::Diagnostic;
use super::node::{Node, Value};
use super::params::{Params, name_fault, spelling_fault};

/// What stands below a phase in expressions besides its steps.
const QUANTITIES: [&str; 8] =
    ["ops", "bytes", "requested", "errors", "seconds", "whole_seconds", "latency", "decks"];

/// Every clash of names in a profile.
pub fn check(profile: &Node, params: &Params, verbs: &BTreeSet<String>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut sets = BTreeSet::new();
    for (kind, what) in [("files", "set"), ("datasets", "data set"), ("trees", "tree set")] {
        for (name, node) in profile.get(kind).map(Node::entries).unwrap_or_default() {
            problems.extend(spelling_fault(name, node, what));
            if !sets.insert(name) {
                problems.push(clash(node, format!("there is another set called {name}")).at_key());
            }
        }
    }
    let mut phases = BTreeSet::new();
    if let Some(list) = profile.get("phases") {
        check_phases(list, params, verbs, &mut phases, &mut problems);
    }
    problems
}

fn check_phases(
    list: &Node,
    params: &Params,
    verbs: &BTreeSet<String>,
    seen: &mut BTreeSet<String>,
    problems: &mut Vec<Diagnostic>,
) {
    for item in list.items() {
        if matches!(item.value, Value::List(_)) {
            check_phases(item, params, verbs, seen, problems);
        } else if let Some(inner) = item.get("phases") {
            check_phases(inner, params, verbs, seen, problems);
        } else if let Some(node) = item.get("phase") {
            let name = node.value.to_string();
            problems.extend(name_fault(&name, node, "phase").map(on_value));
            if params.get(&name).is_some() || params.lets.iter().any(|(other, _)| *other == name) {
                problems.push(clash(node, format!("the phase {name} is called like a parameter")));
            }
            if !seen.insert(name.clone()) {
                problems.push(clash(node, format!("there is another phase {name}")));
            }
            let mut inside = Inside::default();
            inside.walk(item, verbs);
            inside.check(&name, problems);
        }
    }
}

/// What one phase says.
#[derive(Default)]
struct Inside<'a> {
    verbs: BTreeSet<&'a str>,
    labels: Vec<&'a Node>,
    groups: Vec<(&'a str, &'a Node)>,
}

impl<'a> Inside<'a> {
    /// Collects from a phase, a group, a block, a step or a list of these.
    fn walk(&mut self, node: &'a Node, verbs: &BTreeSet<String>) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|item| self.walk(item, verbs)),
            Value::Text(text) if verbs.contains(text) => {
                self.verbs.insert(text);
            }
            Value::Map(entries) => {
                for (key, value) in entries {
                    if verbs.contains(key) {
                        self.verbs.insert(key);
                    }
                    match key.as_str() {
                        "label" => self.labels.push(value),
                        "steps" | "mix" => self.walk(value, verbs),
                        "groups" => {
                            for (name, group) in value.entries() {
                                self.groups.push((name, group));
                                self.walk(group, verbs);
                            }
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }

    fn check(&self, phase: &str, problems: &mut Vec<Diagnostic>) {
        for (name, node) in &self.groups {
            problems.extend(spelling_fault(name, node, "group"));
            problems.extend(self.below_phase(phase, name, node, "group").map(Diagnostic::at_key));
        }
        for node in &self.labels {
            let name = node.value.to_string();
            problems.extend(spelling_fault(&name, node, "label").map(on_value));
            problems.extend(self.below_phase(phase, &name, node, "label"));
            if self.groups.iter().any(|(group, _)| *group == name) {
                problems.push(clash(
                    node,
                    format!("the label {name} is called like a group of the phase {phase}"),
                ));
            }
        }
    }

    fn below_phase(&self, phase: &str, name: &str, node: &Node, what: &str) -> Option<Diagnostic> {
        if self.verbs.contains(name) {
            let message = format!("the {what} {name} is called like a verb that the phase {phase} uses");
            return Some(clash(node, message).help(format!(
                "{phase}.{name} would mean both: choose another name, for example {name}_file"
            )));
        }
        QUANTITIES
            .contains(&name)
            .then(|| clash(node, format!("the {what} {name} is called like a measured quantity")))
            .map(|problem| problem.help(format!("not allowed are {}", QUANTITIES.join(", "))))
    }
}

/// For names that are values rather than keys.
fn on_value(problem: Diagnostic) -> Diagnostic {
    Diagnostic { on_key: false, ..problem }
}

fn clash(node: &Node, message: String) -> Diagnostic {
    Diagnostic::error("name-clash", &node.place, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::yaml;

    fn messages(text: &str) -> Vec<String> {
        let node = yaml::node(text);
        let params = Params::from_nodes(node.get("params"), node.get("let")).unwrap();
        let verbs = ["read", "write", "create", "fsync", "close", "mix"].map(String::from).into();
        check(&node, &params, &verbs).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn names_with_one_meaning_each_are_fine() {
        let text = "
            params: {data: {type: count, default: 1}}
            files: {data: {}}
            phases:
              - {phase: create, steps: [{create: data}, {label: new_file, steps: [close]}]}
              - repeat: 2
                phases:
                  - {phase: work, steps: [{mix: [{label: free_space, steps: [close]}, {label: new_file, steps: [{write: 1}]}, {label: new_file, read: 1}]}]}
                  - {phase: serve, groups: {readers: {steps: [{read: 1}]}, log: {steps: [{write: 1, label: entry}]}}}";
        assert_eq!(messages(text), Vec::<String>::new());
    }

    #[test]
    fn clashes_are_found_wherever_they_stand() {
        let table = [
            ("files: {a-b: {}}", "\"a-b\" is no name for a set"),
            ("{files: {a: {}}, trees: {a: {}}}", "another set called a"),
            ("phases: [{phase: Read}]", "\"Read\" is no name for a phase"),
            ("phases: [{phase: cpus}]", "is a fact"),
            ("{params: {a: {type: count}}, phases: [{phase: a}]}", "called like a parameter"),
            ("{let: {a: 1}, phases: [{repeat: 1, phases: [{phase: a}]}]}", "called like a parameter"),
            ("phases: [{phase: a}, [{phase: a}]]", "another phase a"),
            (
                "phases: [{phase: a, steps: [{label: fsync, steps: [[fsync]]}]}]",
                "label fsync is called like a verb",
            ),
            (
                "phases: [{phase: a, steps: [{mix: [{label: read, steps: [{read: 1}]}]}]}]",
                "label read is called like a verb",
            ),
            (
                "phases: [{phase: a, steps: [{label: ops, read: 1}]}]",
                "label ops is called like a measured quantity",
            ),
            ("phases: [{phase: a, steps: [{label: '{{ x }}', read: 1}]}]", "is no name for a label"),
            (
                "phases: [{phase: a, groups: {read: {steps: [{read: 1}]}}}]",
                "group read is called like a verb",
            ),
            ("phases: [{phase: a, groups: {b: {steps: [{label: b, read: 1}]}}}]", "called like a group"),
        ];
        for (text, message) in table {
            let found = messages(text);
            assert!(found.len() == 1 && found[0].contains(message), "{text}: {found:?}");
        }
    }
}
