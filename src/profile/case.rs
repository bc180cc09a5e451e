//! Binding: one case of a profile with all its values, the text of its title and its rendered body.
//!
//! Order of values: default, case, suite, presets left to right, `--set`.

use std::collections::{BTreeMap, BTreeSet};

use super::body;
use super::definition::{Case, Profile};
use super::diagnostic::{Checked, Diagnostic};
use super::expression::{Facts, Scope};
use super::names::{did_you_mean, glob, to_id};
use super::node::Node;
use super::params::{Given, ParamValue, Resolved};

/// Which cases are wanted, with which values.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns of case ids with `*` and `?`; none means all. One that fits nothing is a mistake.
    pub cases: Vec<String>,
    /// Further patterns, of case ids or of `profile:case`; where there are some, one must fit.
    pub only: Vec<String>,
    /// The `with:` of a suite.
    pub with: Vec<(String, Node)>,
    /// From left to right.
    pub presets: Vec<PresetUse>,
    /// `--set name=text`, from left to right.
    pub sets: Vec<(String, String)>,
}

/// A preset that was asked for.
#[derive(Clone, Debug, Default)]
pub struct PresetUse {
    /// Name as asked for.
    pub name: String,
    /// Values that a suite's preset of this name adds after the profile's own.
    pub extra: Vec<(String, Node)>,
    /// Whether a suite defines it, so that the profile need not.
    pub in_suite: bool,
}

impl From<&str> for PresetUse {
    fn from(name: &str) -> PresetUse {
        PresetUse { name: name.into(), ..PresetUse::default() }
    }
}

/// One parameter of a case.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    /// Name as declared.
    pub name: String,
    /// Value in force.
    pub value: ParamValue,
    /// Whether it differs from what the profile publishes for this case.
    pub changed: bool,
}

/// One case with everything decided that can be before the target is looked at.
#[derive(Clone, Debug)]
pub struct BoundCase {
    /// Id of its profile.
    pub profile_id: String,
    /// Version of its profile.
    pub profile_version: String,
    /// Title of its profile.
    pub profile_title: String,
    /// Kebab-case, made from the published values: a preset does not change it.
    pub case_id: String,
    /// Made from the values in force; those that were changed are added: ` [files=50]`.
    pub title: String,
    /// In the order declared.
    pub params: Vec<Param>,
    /// `None` too where a value differs from the published ones.
    pub comparable_with: Option<String>,
    /// The facts of the machine that went into this case, with their values.
    pub facts_used: BTreeMap<&'static str, u64>,
    /// Engine, workers, random, files, datasets, trees, phases, results without any expression.
    /// Nothing in it is null but the object of a verb that has none.
    pub body: Node,
    /// The values that the expressions of `results:` see.
    pub scope: Scope,
    /// Where the case stands.
    pub node: Node,
}

impl Profile {
    /// Binds the selected cases. All mistakes of all cases at once, each mistake once.
    pub fn bind(&self, selection: &Selection, facts: &Facts) -> Checked<Vec<BoundCase>> {
        let mut problems = Vec::new();
        for preset in &selection.presets {
            if !preset.in_suite && self.preset(&preset.name).is_none() {
                problems.push(self.unknown_preset(&preset.name));
            }
        }
        let (mut bound, mut ids) = (Vec::new(), Vec::new());
        for case in &self.cases {
            let started = Binding::start(self, case, facts);
            let (binding, id) = match started {
                Ok(started) => started,
                Err(more) => {
                    problems.extend(more);
                    continue;
                }
            };
            if ids.contains(&id) {
                problems.push(
                    Diagnostic::error("duplicate-case", &case.id.place, format!("two cases are called {id}"))
                        .help("name every axis of the matrix in the id"),
                );
            }
            ids.push(id.clone());
            let full = format!("{}:{id}", self.id);
            let named = |patterns: &[String], names: &[&str]| {
                patterns.is_empty()
                    || patterns.iter().any(|pattern| names.iter().any(|name| glob(pattern, name)))
            };
            if named(&selection.cases, &[&id]) && named(&selection.only, &[&id, &full]) {
                match binding.finish(id, selection) {
                    Ok(case) => bound.push(case),
                    Err(more) => problems.extend(more),
                }
            }
        }
        // A mistake of one case hides how many there are: complain only where all were read.
        if ids.len() == self.cases.len() {
            for pattern in selection.cases.iter().filter(|pattern| !ids.iter().any(|id| glob(pattern, id))) {
                let message = format!("no case of {} is called {pattern}", self.id);
                problems.push(Diagnostic::general("unknown-case", message).help(did_you_mean(pattern, &ids)));
            }
        }
        if !problems.is_empty() {
            return Err(each_once(problems));
        }
        let warnings = self.same_cases(&bound);
        Ok((bound, warnings))
    }

    /// Binds every case, alone and with each preset, with stand-ins for what the user must give.
    pub fn check(&self, facts: &Facts) -> Vec<Diagnostic> {
        let mut complete = self.clone();
        for decl in &mut complete.params.decls {
            if decl.default.is_none() {
                decl.default = Some(decl.stand_in().to_node(&decl.node.place));
            }
        }
        let alone = std::iter::once(Selection::default());
        let presets = self
            .presets
            .iter()
            .map(|(name, _)| Selection { presets: vec![name.as_str().into()], ..Selection::default() });
        let problems = alone.chain(presets).flat_map(|selection| match complete.bind(&selection, facts) {
            // That a preset makes cases equal is no mistake of the profile.
            Ok((_, warnings)) if selection.presets.is_empty() => warnings,
            Ok(_) => Vec::new(),
            Err(problems) => problems,
        });
        each_once(problems.collect())
    }

    fn unknown_preset(&self, name: &str) -> Diagnostic {
        let known: Vec<&str> = self.presets.iter().map(|(preset, _)| preset.as_str()).collect();
        Diagnostic::general("unknown-preset", format!("{} has no preset {name}", self.id))
            .help(did_you_mean(name, &known))
    }

    /// Warns of cases that have become the same by values that were given.
    fn same_cases(&self, bound: &[BoundCase]) -> Vec<Diagnostic> {
        let values =
            |case: &BoundCase| case.params.iter().map(|param| param.value.clone()).collect::<Vec<_>>();
        let mut warnings = Vec::new();
        for (at, case) in bound.iter().enumerate() {
            if let Some(first) = bound[..at].iter().find(|other| values(other) == values(case)) {
                let message = format!(
                    "the cases {} and {} are the same with these values",
                    first.case_id, case.case_id
                );
                warnings.push(Diagnostic::warning("same-cases", &case.node.place, message));
            }
        }
        warnings
    }
}

/// A case on its way to its values.
struct Binding<'a> {
    profile: &'a Profile,
    case: &'a Case,
    facts: &'a Facts,
    given: Given,
    /// What the profile publishes for this case.
    published: Resolved,
}

impl<'a> Binding<'a> {
    /// The published values of a case, and its id.
    fn start(
        profile: &'a Profile,
        case: &'a Case,
        facts: &'a Facts,
    ) -> Result<(Binding<'a>, String), Vec<Diagnostic>> {
        let params = &profile.params;
        let mut given = Given::new();
        let mut published = params.resolve(facts, &given)?;
        for layer in [&case.point, &case.with] {
            params.overlay(layer, &published, &mut given)?;
            published = params.resolve(facts, &given)?;
        }
        let written = published.scope.render(&case.id)?.value.to_string();
        let id = to_id(&written);
        if id.is_empty() {
            return Err(vec![
                Diagnostic::error("invalid-id", &case.id.place, format!("{written:?} makes no id"))
                    .help("an id is lower-case words of letters and digits joined by single dashes"),
            ]);
        }
        Ok((Binding { profile, case, facts, given, published }, id))
    }

    fn finish(mut self, case_id: String, selection: &Selection) -> Result<BoundCase, Vec<Diagnostic>> {
        let profile = self.profile;
        let mut set = BTreeSet::new();
        let mut resolved = self.published.clone();
        let mut layers: Vec<&[(String, Node)]> = vec![&selection.with];
        for preset in &selection.presets {
            layers.extend(profile.preset(&preset.name).map(Node::entries));
            layers.push(&preset.extra);
        }
        for layer in layers.into_iter().filter(|layer| !layer.is_empty()) {
            set.extend(profile.params.overlay(layer, &resolved, &mut self.given)?);
            resolved = profile.params.resolve(self.facts, &self.given)?;
        }
        for (name, text) in &selection.sets {
            profile.params.set(name, text, &mut self.given)?;
            set.insert(name.clone());
        }
        let mut resolved = profile.params.resolve(self.facts, &self.given)?;
        profile.params.require_all(&resolved)?;
        let params = self.compare(&resolved);
        let changed = params.iter().filter(|param| param.changed);
        let named: Vec<String> = changed
            .clone()
            .filter(|param| set.contains(&param.name))
            .map(|param| format!("{}={}", param.name, param.value))
            .collect();
        let comparable = changed.count() == 0;
        let scope = &mut resolved.scope;
        scope.take_used();
        let body = body::render(&profile.node, scope, &profile.verbs)?;
        let mut title = match &self.case.title {
            Some(title) => scope.render(title)?.value.to_string(),
            None => case_id.clone(),
        };
        if !named.is_empty() {
            title.push_str(&format!(" [{}]", named.join(", ")));
        }
        let original = profile.reproduces.as_ref().and_then(|original| original.comparable_with.clone());
        Ok(BoundCase {
            profile_id: profile.id.clone(),
            profile_version: profile.version.clone(),
            profile_title: profile.title.clone(),
            case_id,
            title,
            params,
            comparable_with: original.filter(|_| comparable),
            facts_used: scope.take_used().into_iter().filter_map(|name| self.facts.get(name)).collect(),
            body,
            scope: resolved.scope,
            node: self.case.node.clone(),
        })
    }

    /// The parameters, each held against what is published. What the user must give and a missing
    /// value are no change.
    fn compare(&self, resolved: &Resolved) -> Vec<Param> {
        let pairs = resolved.values.iter().zip(&self.published.values);
        pairs
            .filter_map(|((name, value), (_, published))| {
                let value = value.clone()?;
                let changed = published.as_ref().is_some_and(|published| *published != value);
                Some(Param { name: name.clone(), value, changed })
            })
            .collect()
    }
}

/// The same mistake found in several cases is said once.
pub fn each_once(problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut once: Vec<Diagnostic> = Vec::new();
    for problem in problems {
        if !once.contains(&problem) {
            once.push(problem);
        }
    }
    once
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
