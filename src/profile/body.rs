//! The part of a profile that describes the work, with every expression replaced by its value for
//! one case: decisions made, nulls gone, nested lists of steps spliced.
//!
//! It knows which keys hold steps and phases, and nothing of what verbs mean.

use std::collections::BTreeSet;

use super::diagnostic::Diagnostic;
use super::expression::{Scope, all, bare};
use super::node::{Node, Value};

/// The keys of a profile that make the work.
pub const KEYS: [&str; 8] =
    ["engine", "workers", "random", "files", "datasets", "trees", "phases", "results"];

type Rendered<T> = Result<T, Vec<Diagnostic>>;

/// Renders the body for the values in a scope.
pub fn render(profile: &Node, scope: &mut Scope, verbs: &BTreeSet<String>) -> Rendered<Node> {
    let mut renderer = Renderer { scope, verbs };
    let entries =
        all(profile.entries().iter().filter(|(key, _)| KEYS.contains(&key.as_str())).map(|(key, value)| {
            let rendered = match key.as_str() {
                "phases" => renderer.list(value),
                "results" => renderer.results(value),
                _ => renderer.plain(value),
            };
            rendered.map(|node| (key.clone(), node))
        }))?;
    Ok(Node { value: Value::Map(written(entries)), ..profile.clone() })
}

struct Renderer<'a> {
    scope: &'a mut Scope,
    verbs: &'a BTreeSet<String>,
}

impl Renderer<'_> {
    /// A value without steps in it.
    fn plain(&mut self, node: &Node) -> Rendered<Node> {
        self.scope.render(node).map(|node| without_nulls(&node))
    }

    /// A list of steps, of phases, or of the alternatives of a mix: decided and spliced.
    fn list(&mut self, node: &Node) -> Rendered<Node> {
        let mut items = Vec::new();
        let mut problems = Vec::new();
        for item in node.items() {
            match self.item(item) {
                Ok(more) => items.extend(more),
                Err(more) => problems.extend(more),
            }
        }
        match problems.is_empty() {
            true => Ok(Node { value: Value::List(items), ..node.clone() }),
            false => Err(problems),
        }
    }

    /// One entry of such a list: none where `when` says no, several where a list is spliced.
    fn item(&mut self, node: &Node) -> Rendered<Vec<Node>> {
        match &node.value {
            Value::Null => Ok(Vec::new()),
            Value::List(items) => all(items.iter().map(|item| self.item(item)))
                .map(|lists| lists.into_iter().flatten().collect()),
            Value::Map(_) => Ok(self.decided(node)?.into_iter().collect()),
            Value::Text(_) => {
                let rendered = self.scope.render(node)?;
                match rendered.value {
                    Value::Text(_) => Ok(vec![rendered]),
                    // What an expression gives is spliced like what is written.
                    _ => self.item(&rendered),
                }
            }
            _ => Ok(vec![node.clone()]),
        }
    }

    /// A step, block, phase, loop or group; `None` where its `when` says no.
    fn decided(&mut self, node: &Node) -> Rendered<Option<Node>> {
        if let Some(when) = node.get("when")
            && !self.scope.decide(when)?
        {
            // Its names are checked all the same: a mistake should not wait for another case.
            let problems = self.scope.check(node);
            return if problems.is_empty() { Ok(None) } else { Err(problems) };
        }
        let is_step =
            !node.entries().iter().any(|(key, _)| matches!(key.as_str(), "phase" | "phases" | "groups"));
        let entries = all(node.entries().iter().filter(|(key, _)| key != "when").map(|(key, value)| {
            let rendered = match key.as_str() {
                "steps" | "phases" | "mix" => self.list(value)?,
                "groups" => self.groups(value)?,
                _ => self.plain(value)?,
            };
            // A verb without object is written as null; it stays, or the step would be gone.
            let stays = rendered.value != Value::Null || (is_step && self.verbs.contains(key));
            Ok(stays.then(|| (key.clone(), rendered)))
        }))?;
        Ok(Some(Node { value: Value::Map(entries.into_iter().flatten().collect()), ..node.clone() }))
    }

    fn groups(&mut self, node: &Node) -> Rendered<Node> {
        let entries = all(node
            .entries()
            .iter()
            .map(|(name, group)| Ok(self.decided(group)?.map(|group| (name.clone(), group)))))?;
        Ok(Node { value: Value::Map(entries.into_iter().flatten().collect()), ..node.clone() })
    }

    /// `results:`, where `value` stays text, and `when` too if it needs what was measured.
    fn results(&mut self, node: &Node) -> Rendered<Node> {
        let items = all(node.items().iter().map(|item| self.result(item)))?;
        Ok(Node { value: Value::List(items.into_iter().flatten().collect()), ..node.clone() })
    }

    fn result(&mut self, node: &Node) -> Rendered<Option<Node>> {
        let when = node.get("when");
        let measured = when.is_some_and(|when| self.needs_measurements(when));
        if let Some(when) = when
            && !measured
            && !self.scope.decide(when)?
        {
            return Ok(None);
        }
        let entries =
            all(node.entries().iter().filter(|(key, _)| key != "when" || measured).map(|(key, value)| {
                let rendered = match (key.as_str(), value.text()) {
                    ("value" | "when", Some(text)) => bare(value, text).map(|_| value.clone())?,
                    _ => self.plain(value)?,
                };
                Ok((key.clone(), rendered))
            }))?;
        Ok(Some(Node { value: Value::Map(written(entries)), ..node.clone() }))
    }

    /// Whether an expression says a name that only the run has.
    fn needs_measurements(&self, when: &Node) -> bool {
        let Some(text) = when.text() else { return false };
        super::calculator::Formula::compile(text)
            .is_ok_and(|formula| formula.names().iter().any(|name| !self.scope.knows(name)))
    }
}

/// Without the entries that are null: they are as if not written.
fn written(entries: Vec<(String, Node)>) -> Vec<(String, Node)> {
    entries.into_iter().filter(|(_, value)| value.value != Value::Null).collect()
}

fn without_nulls(node: &Node) -> Node {
    let value = match &node.value {
        Value::List(items) => {
            Value::List(items.iter().filter(|item| item.value != Value::Null).map(without_nulls).collect())
        }
        Value::Map(entries) => Value::Map(written(
            entries.iter().map(|(key, value)| (key.clone(), without_nulls(value))).collect(),
        )),
        scalar => scalar.clone(),
    };
    Node { value, ..node.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::expression::Facts;
    use crate::profile::params::{Given, Params};
    use crate::profile::yaml;

    const FACTS: Facts =
        Facts { cpus: 4, memory: 1 << 30, free_space: 1 << 40, page_size: 4096, target_block: 512 };

    fn rendered(text: &str) -> Rendered<Node> {
        let node = yaml::node(text);
        let params = yaml::node(
            "{files: {type: count, default: 50}, rate: {type: size, default: null}, flush: {type: text, default: first},
              deep: {type: bool, default: true}}",
        );
        let params = Params::from_nodes(Some(&params), None).unwrap();
        let mut scope = params.resolve(&FACTS, &Given::new()).unwrap().scope;
        let verbs = ["create", "write", "fsync", "close", "sync", "mix"].map(String::from).into();
        render(&node, &mut scope, &verbs)
    }

    fn same(text: &str, expected: &str) {
        assert_eq!(rendered(text).unwrap(), yaml::node(expected), "{text}");
    }

    #[test]
    fn only_the_body_is_left() {
        same("{profile: x, title: '{{ nonsense }}', params: {}, workers: '{{ files }}'}", "{workers: 50}");
    }

    #[test]
    fn what_is_null_is_not_written() {
        same(
            "{engine: {name: sync, depth: null}, random: null, files: {a: {size: '{{ rate }}', dirs: {count: null}}}}",
            "{engine: {name: sync}, files: {a: {dirs: {}}}}",
        );
        same(
            "phases: [{phase: p, rate: {bytes: '{{ rate }}', debt: false}}]",
            "phases: [{phase: p, rate: {debt: false}}]",
        );
    }

    #[test]
    fn when_is_decided_everywhere() {
        same(
            "phases:
               - {phase: a, when: flush == 'never', steps: [{write: '{{ 1 // 0 }}'}]}
               - {repeat: '{{ files }}', when: deep, phases: [{phase: b, when: not deep}, {phase: c, when: }]}
               - phase: d
                 groups: {x: {when: not deep, steps: [sync]}, y: {steps: [{when: deep, sync: }]}}
               - phase: e
                 steps:
                   - {fsync: '{{ rate }}', when: flush == 'first'}
                   - {when: not deep, steps: [sync]}
                   - {when: deep, repeat: 2, steps: [{close: , when: not deep}, close]}
                   - mix: [{weight: 1, when: not deep, write: 1}, {weight: 2, write: 2}]",
            "phases:
               - {repeat: 50, phases: [{phase: c}]}
               - {phase: d, groups: {y: {steps: [{sync: }]}}}
               - phase: e
                 steps: [{fsync: }, {repeat: 2, steps: [close]}, {mix: [{weight: 2, write: 2}]}]",
        );
    }

    #[test]
    fn lists_of_steps_are_spliced() {
        same(
            "phases: [{phase: a, steps: [[sync, [close, {write: 1}]], \"{{ ['sync'] if deep else [] }}\", \"{{ none }}\", fsync]}]",
            "phases: [{phase: a, steps: [sync, close, {write: 1}, sync, fsync]}]",
        );
        same("phases: {phase: a, steps: sync}", "phases: [{phase: a, steps: [sync]}]");
        same(
            "phases: [{phase: a, steps: [{write: {uniform: [[1], 2]}}]}]",
            "phases: [{phase: a, steps: [{write: {uniform: [[1], 2]}}]}]",
        );
    }

    #[test]
    fn results_keep_what_is_measured() {
        same(
            "results:
               - {name: 'R {{ files }}', value: a.ops.rate / files, unit: null, when: deep}
               - {name: S, value: a.ops.rate, when: not deep}
               - {name: T, value: a.ops.rate, when: a.ops.total > files}",
            "results:
               - {name: R 50, value: a.ops.rate / files}
               - {name: T, value: a.ops.rate, when: a.ops.total > files}",
        );
        let problems =
            rendered("results: [{name: a, value: '{{ a.b }}'}, {name: b, value: a, when: '{{ deep }}'}]")
                .unwrap_err();
        assert!(
            problems.len() == 2 && problems.iter().all(|p| p.code == "braces-in-expression"),
            "{problems:?}"
        );
    }

    #[test]
    fn all_mistakes_at_once_also_in_what_is_left_out() {
        let problems = rendered(
            "{workers: '{{ filse }}', phases: [{phase: a, when: not deep, steps: [{write: '{{ a }}'}, {when: b, write: 1}]},
              {phase: b, when: c}, {phase: d, steps: [{write: '{{ d }}'}, [{mix: [{write: '{{ e }}'}]}]]}]}",
        )
        .unwrap_err();
        let messages: Vec<&str> = problems.iter().map(|p| p.message.as_str()).collect();
        let expected = ["filse", "a", "b", "c", "d", "e"].map(|name| format!("unknown name {name}"));
        assert_eq!(messages, expected);
    }

    #[test]
    fn places_are_kept() {
        let body = rendered("phases: [{phase: a, steps: [[sync], {write: '{{ files }}'}]}]").unwrap();
        let steps = body.get("phases").unwrap().items()[0].get("steps").unwrap().items();
        assert_eq!(&*steps[0].place.pointer, "/phases/0/steps/0/0");
        let write = steps[1].get("write").unwrap();
        assert_eq!((&*write.place.pointer, write.computed), ("/phases/0/steps/1/write", true));
    }
}
