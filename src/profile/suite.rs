//! Suites: which cases of which profiles are run, how often, and in which order.
//!
//! A suite finds profiles and other suites through a [`Resolver`]; where these come from is not
//! known here, nor how a case is run.

use std::collections::BTreeSet;

use super::case::{BoundCase, PresetUse, Selection, each_once};
use super::definition::Profile;
use super::diagnostic::{Checked, Diagnostic};
use super::expression::Facts;
use super::names::{did_you_mean, glob, is_id};
use super::node::{Node, Place, Value};
use super::shape::Verb;
use super::units;

/// Finds profiles and suites by id; what it gives is structurally sound.
pub trait Resolver {
    /// `Ok(None)`: there is none of this id. `Err`: there is one and it is wrong.
    fn profile(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>>;
    /// As [`Resolver::profile`].
    fn suite(&self, id: &str) -> Result<Option<Node>, Vec<Diagnostic>>;
    /// All ids, for did-you-mean.
    fn profile_ids(&self) -> Vec<String>;
    /// All ids, for did-you-mean.
    fn suite_ids(&self) -> Vec<String>;
}

/// When a case has been run often enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// So often, whatever the results say.
    Exactly(u64),
    /// At least so often, and until the spread is small enough by the rule of Phoronix.
    Pts { min: u64 },
    /// At least so often, and until the confidence interval is narrow enough.
    Ci { min: u64 },
}

/// How often a case is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Runs {
    /// When there are enough runs.
    pub policy: Policy,
    /// No more than this, in any case.
    pub max: Option<u64>,
    /// No longer than this for one case, in nanoseconds.
    pub budget: Option<u64>,
}

impl Runs {
    /// What is done when nobody says anything.
    pub const DEFAULT: Runs = Runs { policy: Policy::Pts { min: 3 }, max: None, budget: None };

    /// So many runs, without a limit of time.
    pub const fn exactly(runs: u64) -> Runs {
        Runs { policy: Policy::Exactly(runs), max: None, budget: None }
    }
}

/// What is done to caches before each run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cache {
    /// Leaves caches as they are.
    Keep,
    /// Empties caches before each run.
    Drop,
}

/// One entry of `tests:`.
#[derive(Clone, Debug)]
pub enum Test {
    /// Cases of a profile; no names of cases mean all of them.
    Profile { id: String, cases: Vec<String>, with: Vec<(String, Node)>, node: Node },
    /// All tests of another suite.
    Suite { id: String, node: Node },
}

/// What a suite's preset sets.
#[derive(Clone, Debug)]
pub struct SuitePreset {
    /// As `--preset` says it.
    pub name: String,
    /// How often cases are run; `None` leaves the suite's rule.
    pub runs: Option<Runs>,
    /// What is done to caches; `None` leaves the suite's rule.
    pub cache: Option<Cache>,
    /// Parameters of the profiles that know them.
    pub params: Vec<(String, Node)>,
}

/// A suite as written.
#[derive(Clone, Debug)]
pub struct Suite {
    /// The name it is found by.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// One sentence about it.
    pub summary: Option<String>,
    /// A longer text about it.
    pub description: Option<String>,
    /// How often each case is run, unless a preset or an outer suite says otherwise.
    pub runs: Option<Runs>,
    /// What is done to caches, unless a preset or an outer suite says otherwise.
    pub cache: Option<Cache>,
    /// In the order written.
    pub presets: Vec<SuitePreset>,
    /// In the order written.
    pub tests: Vec<Test>,
    /// The whole file.
    pub node: Node,
}

/// What the command line adds to a suite.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Patterns of `case` or `profile:case`; none means all.
    pub cases: Vec<String>,
    /// From left to right.
    pub presets: Vec<String>,
    /// `--set name=text`, from left to right.
    pub sets: Vec<(String, String)>,
    /// Has the last word.
    pub runs: Option<Runs>,
}

/// One case to be run, in the order of the suite.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// The case with its values.
    pub bound: BoundCase,
    /// How often it is run.
    pub runs: Runs,
    /// What is done to caches before each run.
    pub cache: Cache,
}

impl Suite {
    /// Reads a suite whose structure is sound.
    pub fn from_node(node: Node) -> Checked<Suite> {
        let mut problems = Vec::new();
        let text = |key: &str| node.get(key).map(|value| value.value.to_string());
        let id = text("suite").unwrap_or_default();
        if !is_id(&id) {
            let at = node.get("suite").unwrap_or(&node);
            problems.push(
                Diagnostic::error("invalid-id", &at.place, format!("{} is no id", units::shown(&id)))
                    .help("an id is lower-case words of letters and digits joined by single dashes"),
            );
        }
        let runs =
            node.get("runs").map(runs).transpose().map_err(|problem| problems.push(problem)).ok().flatten();
        let cache =
            node.get("cache").map(cache).transpose().map_err(|problem| problems.push(problem)).ok().flatten();
        let mut presets = Vec::new();
        for (name, preset) in node.get("presets").map(Node::entries).unwrap_or_default() {
            match suite_preset(name, preset) {
                Ok(preset) => presets.push(preset),
                Err(problem) => problems.push(problem),
            }
        }
        let mut tests = Vec::new();
        for entry in node.get("tests").map(Node::items).unwrap_or_default() {
            match test(entry) {
                Ok(test) => tests.push(test),
                Err(problem) => problems.push(problem),
            }
        }
        if tests.is_empty() && problems.is_empty() {
            problems.push(
                Diagnostic::error("empty-suite", &node.place, format!("the suite {id} has no tests"))
                    .help("list some: tests: [{profile: …}]"),
            );
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let title = text("title").unwrap_or_else(|| id.clone());
        let (summary, description) = (text("summary"), text("description"));
        Ok((Suite { id, title, summary, description, runs, cache, presets, tests, node }, Vec::new()))
    }

    /// A suite of one profile, so that profiles are run the same way.
    pub fn of_profile(profile: &str, cases: Vec<String>, node: Node) -> Suite {
        Suite {
            id: profile.to_string(),
            title: profile.to_string(),
            summary: None,
            description: None,
            runs: None,
            cache: None,
            presets: Vec::new(),
            tests: vec![Test::Profile {
                id: profile.to_string(),
                cases,
                with: Vec::new(),
                node: node.clone(),
            }],
            node,
        }
    }

    /// Every case in order, each with its values. A preset or `--set` that only some profiles know
    /// is a note, one that none knows an error.
    pub fn plan(
        &self,
        resolver: &dyn Resolver,
        verbs: &[Verb],
        request: &Request,
        facts: &Facts,
    ) -> Checked<Vec<PlannedCase>> {
        let mut planner = Planner::new(resolver, verbs, request, facts);
        planner.suite(self, &Settings { runs: None, cache: None, presets: Vec::new() });
        planner.finish()
    }
}

/// What an outer suite hands to an inner one.
#[derive(Clone)]
struct Settings {
    runs: Option<Runs>,
    cache: Option<Cache>,
    /// The presets that were asked for, with what the suites so far add to them.
    presets: Vec<PresetUse>,
}

struct Planner<'a> {
    resolver: &'a dyn Resolver,
    verbs: &'a [Verb],
    request: &'a Request,
    facts: &'a Facts,
    planned: Vec<PlannedCase>,
    problems: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
    /// What profiles do without, as `preset quick`, and who they are: one note each.
    without: Vec<(String, Vec<String>)>,
    /// Whether every profile and suite could be read.
    all_read: bool,
    /// The parameters of suites' presets that some profile knows; and those that one does not.
    preset_known: Vec<Place>,
    preset_unknown: Vec<(String, String, Node)>,
    /// The suites being entered, outermost first.
    inside: Vec<String>,
    /// Presets and parameters that somebody knows; and all there are, for did-you-mean.
    known: BTreeSet<String>,
    all_presets: BTreeSet<String>,
    all_params: BTreeSet<String>,
}

impl<'a> Planner<'a> {
    fn new(
        resolver: &'a dyn Resolver,
        verbs: &'a [Verb],
        request: &'a Request,
        facts: &'a Facts,
    ) -> Planner<'a> {
        Planner {
            resolver,
            verbs,
            request,
            facts,
            planned: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            without: Vec::new(),
            all_read: true,
            preset_known: Vec::new(),
            preset_unknown: Vec::new(),
            inside: Vec::new(),
            known: BTreeSet::new(),
            all_presets: BTreeSet::new(),
            all_params: BTreeSet::new(),
        }
    }

    fn suite(&mut self, suite: &Suite, outer: &Settings) {
        let mut settings = outer.clone();
        settings.runs = outer.runs.or(suite.runs);
        settings.cache = outer.cache.or(suite.cache);
        if settings.presets.is_empty() {
            settings.presets =
                self.request.presets.iter().map(|name| PresetUse::from(name.as_str())).collect();
        }
        self.all_presets.extend(suite.presets.iter().map(|preset| preset.name.clone()));
        // The outer suite speaks after the inner one, so its word on runs and cache stays.
        for usage in &mut settings.presets {
            let Some(preset) = suite.presets.iter().find(|preset| preset.name == usage.name) else {
                continue;
            };
            self.known.insert(format!("preset {}", usage.name));
            usage.in_suite = true;
            let mut params = preset.params.clone();
            params.append(&mut usage.extra);
            usage.extra = params;
            settings.runs = outer.runs.or(preset.runs).or(settings.runs);
            settings.cache = outer.cache.or(preset.cache).or(settings.cache);
        }
        self.inside.push(suite.id.clone());
        for test in &suite.tests {
            match test {
                Test::Profile { id, cases, with, node } => self.profile(id, cases, with, node, &settings),
                Test::Suite { id, node } => self.nested(id, node, &settings),
            }
        }
        self.inside.pop();
    }

    fn nested(&mut self, id: &str, node: &Node, settings: &Settings) {
        let at = node.get("suite").unwrap_or(node);
        if self.inside.iter().any(|outer| outer == id) {
            let message = format!("the suite {id} contains itself: {} → {id}", self.inside.join(" → "));
            self.problems
                .push(Diagnostic::error("suite-cycle", &at.place, message).help("leave one of these out"));
            return;
        }
        let found = self.resolver.suite(id).and_then(|found| found.map(Suite::from_node).transpose());
        self.all_read &= matches!(found, Ok(Some(_)));
        match found {
            Ok(Some((suite, notes))) => {
                self.notes.extend(notes);
                self.suite(&suite, settings);
            }
            Ok(None) => self.problems.push(
                Diagnostic::error("unknown-suite", &at.place, format!("there is no suite {id}"))
                    .help(did_you_mean(id, &self.resolver.suite_ids())),
            ),
            Err(more) => self.problems.extend(more),
        }
    }

    fn profile(
        &mut self,
        id: &str,
        cases: &[String],
        with: &[(String, Node)],
        node: &Node,
        settings: &Settings,
    ) {
        let found = self.resolver.profile(id);
        let found =
            found.and_then(|found| found.map(|node| Profile::from_node(node, self.verbs)).transpose());
        self.all_read &= matches!(found, Ok(Some(_)));
        let profile = match found {
            Ok(Some((profile, notes))) => {
                self.notes.extend(notes);
                profile
            }
            Ok(None) => {
                let at = node.get("profile").unwrap_or(node);
                self.problems.push(
                    Diagnostic::error("unknown-profile", &at.place, format!("there is no profile {id}"))
                        .help(did_you_mean(id, &self.resolver.profile_ids())),
                );
                return;
            }
            Err(more) => return self.problems.extend(more),
        };
        let selection = Selection {
            cases: cases.to_vec(),
            only: self.request.cases.clone(),
            with: with.to_vec(),
            presets: self.presets(&profile, settings),
            sets: self.sets(&profile),
        };
        match profile.bind(&selection, self.facts) {
            Ok((bound, notes)) => {
                self.notes.extend(notes);
                let runs = self.request.runs.or(settings.runs).unwrap_or(Runs::DEFAULT);
                let cache = settings.cache.unwrap_or(Cache::Keep);
                self.planned.extend(bound.into_iter().map(|bound| PlannedCase { bound, runs, cache }));
            }
            Err(more) => self.problems.extend(more.into_iter().map(|problem| match problem.code {
                // A pattern of this entry; it stands here and not on the command line.
                "unknown-case" => {
                    Diagnostic { place: Some(node.get("cases").unwrap_or(node).place.clone()), ..problem }
                }
                _ => problem,
            })),
        }
    }

    /// The presets that a profile or a suite around it knows.
    fn presets(&mut self, profile: &Profile, settings: &Settings) -> Vec<PresetUse> {
        self.all_presets.extend(profile.presets.iter().map(|(name, _)| name.clone()));
        let mut presets = settings.presets.clone();
        for usage in &mut presets {
            if profile.preset(&usage.name).is_some() {
                self.known.insert(format!("preset {}", usage.name));
            } else if !usage.in_suite {
                lacks(&mut self.without, format!("preset {}", usage.name), &profile.id);
            }
            let (known, unknown): (Vec<_>, Vec<_>) = std::mem::take(&mut usage.extra)
                .into_iter()
                .partition(|(name, _)| profile.params.get(name).is_some());
            self.preset_known.extend(known.iter().map(|(_, node)| node.place.clone()));
            usage.extra = known;
            for (name, node) in unknown {
                lacks(
                    &mut self.without,
                    format!("parameter {name}, which the preset {} sets,", usage.name),
                    &profile.id,
                );
                self.preset_unknown.push((usage.name.clone(), name, node));
            }
        }
        presets.retain(|usage| usage.in_suite || profile.preset(&usage.name).is_some());
        presets
    }

    /// The `--set` that a profile knows.
    fn sets(&mut self, profile: &Profile) -> Vec<(String, String)> {
        self.all_params.extend(profile.params.names().into_iter().map(String::from));
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.request.sets.iter().cloned().partition(|(name, _)| profile.params.get(name).is_some());
        self.known.extend(known.iter().map(|(name, _)| format!("parameter {name}")));
        for (name, _) in unknown {
            lacks(&mut self.without, format!("parameter {name}"), &profile.id);
        }
        known
    }

    fn finish(mut self) -> Checked<Vec<PlannedCase>> {
        for name in &self.request.presets {
            if !self.known.contains(&format!("preset {name}")) {
                self.problems.push(
                    Diagnostic::general("unknown-preset", format!("nothing that is run has a preset {name}"))
                        .help(did_you_mean(name, &self.all_presets)),
                );
            }
        }
        for (name, _) in &self.request.sets {
            if !self.known.contains(&format!("parameter {name}")) {
                self.problems.push(
                    Diagnostic::general(
                        "unknown-parameter",
                        format!("--set {name}: nothing that is run has a parameter {name}"),
                    )
                    .help(did_you_mean(name, &self.all_params)),
                );
            }
        }
        // A profile that cannot be read might know it.
        for (preset, name, node) in self.preset_unknown.iter().filter(|_| self.all_read) {
            if !self.preset_known.contains(&node.place) {
                let message =
                    format!("the preset {preset} sets {name}, a parameter that no profile of the suite has");
                self.problems.push(
                    Diagnostic::error("unknown-parameter", &node.place, message)
                        .at_key()
                        .help(did_you_mean(name, &self.all_params)),
                );
            }
        }
        let fits = |pattern: &str, case: &BoundCase| {
            glob(pattern, &case.case_id) || glob(pattern, &format!("{}:{}", case.profile_id, case.case_id))
        };
        if self.problems.is_empty() {
            for pattern in &self.request.cases {
                if !self.planned.iter().any(|planned| fits(pattern, &planned.bound)) {
                    let message = format!("--cases {pattern}: no case of what is run is called so");
                    self.problems.push(
                        Diagnostic::general("unknown-case", message)
                            .help("list shows the cases; * stands for anything"),
                    );
                }
            }
        }
        self.notes.extend(self.without.iter().map(|(what, who)| {
            let (has, runs) = if who.len() == 1 { ("has", "runs") } else { ("have", "run") };
            let message = format!("{} {has} no {what} and {runs} without it", who.join(", "));
            let code = if what.starts_with("preset") { "unknown-preset" } else { "unknown-parameter" };
            note(code, message)
        }));
        match self.problems.is_empty() {
            true => Ok((self.planned, each_once(self.notes))),
            false => Err(each_once(self.problems)),
        }
    }
}

/// Adds a profile to those that do without something.
fn lacks(without: &mut Vec<(String, Vec<String>)>, what: String, profile: &str) {
    let at = without.iter().position(|(known, _)| *known == what).unwrap_or_else(|| {
        without.push((what, Vec::new()));
        without.len() - 1
    });
    if let Some((_, who)) = without.get_mut(at)
        && !who.iter().any(|known| known == profile)
    {
        who.push(profile.to_string());
    }
}

fn note(code: &'static str, message: String) -> Diagnostic {
    Diagnostic { severity: super::diagnostic::Severity::Note, ..Diagnostic::general(code, message) }
}

fn test(node: &Node) -> Result<Test, Diagnostic> {
    let texts = |node: &Node| node.items().iter().map(units::text).collect::<Result<Vec<_>, _>>();
    match (node.get("profile"), node.get("suite")) {
        (Some(profile), None) => Ok(Test::Profile {
            id: units::text(profile)?,
            cases: node.get("cases").map(texts).transpose()?.unwrap_or_default(),
            with: node.get("with").map(Node::entries).unwrap_or_default().to_vec(),
            node: node.clone(),
        }),
        (None, Some(suite)) => {
            if let Some((key, extra)) = node.entries().iter().find(|(key, _)| key == "cases" || key == "with")
            {
                return Err(Diagnostic::error(
                    "invalid-test",
                    &extra.place,
                    format!("{key} has no meaning with suite"),
                )
                .at_key()
                .help("name the profile instead"));
            }
            Ok(Test::Suite { id: units::text(suite)?, node: node.clone() })
        }
        _ => Err(Diagnostic::error("invalid-test", &node.place, "a test names one profile or one suite")
            .help("write for example {profile: fio, cases: [\"randread-*\"]}")),
    }
}

fn suite_preset(name: &str, node: &Node) -> Result<SuitePreset, Diagnostic> {
    Ok(SuitePreset {
        name: name.to_string(),
        runs: node.get("runs").map(runs).transpose()?,
        cache: node.get("cache").map(cache).transpose()?,
        params: node.entries().iter().filter(|(key, _)| key != "runs" && key != "cache").cloned().collect(),
    })
}

/// Reads `3`, `{exactly: 5}` or `{min: 3, rule: pts}`.
fn runs(node: &Node) -> Result<Runs, Diagnostic> {
    const HELP: &str = "write {exactly: 5}, or {min: 3, rule: pts}; the rules are pts and ci";
    let fault = |at: &Node, message: String| Diagnostic::error("invalid-runs", &at.place, message).help(HELP);
    let number = |node: &Node| match units::count(node)? {
        0 => Err(fault(node, "no run at all gives no number".into())),
        runs => Ok(runs),
    };
    if !matches!(node.value, Value::Map(_)) {
        return number(node).map(Runs::exactly);
    }
    if let Some((key, value)) = node
        .entries()
        .iter()
        .find(|(key, _)| !["exactly", "min", "max", "rule", "budget"].contains(&key.as_str()))
    {
        return Err(fault(value, format!("unknown key {key}")).at_key());
    }
    let policy = match (node.get("exactly"), node.get("rule"), node.get("min")) {
        (Some(exactly), None, None) => Policy::Exactly(number(exactly)?),
        (Some(exactly), _, _) => return Err(fault(exactly, "exactly leaves nothing to a rule".into())),
        (None, rule, min) => {
            let min = min.map(number).transpose()?.unwrap_or(3);
            match rule.map(|rule| (rule, rule.text())) {
                None | Some((_, Some("pts"))) => Policy::Pts { min },
                Some((_, Some("ci"))) => Policy::Ci { min },
                Some((rule, _)) => return Err(fault(rule, format!("{} is no rule", rule.value.described()))),
            }
        }
    };
    let max = node.get("max").map(number).transpose()?;
    Ok(Runs { policy, max, budget: node.get("budget").map(units::duration).transpose()? })
}

fn cache(node: &Node) -> Result<Cache, Diagnostic> {
    match node.text() {
        Some("keep") => Ok(Cache::Keep),
        Some("drop") => Ok(Cache::Drop),
        _ => Err(Diagnostic::error(
            "invalid-cache",
            &node.place,
            format!("{} is not in this version of the language", node.value.described()),
        )
        .help("write keep or drop")),
    }
}

#[cfg(test)]
#[path = "suite_tests.rs"]
mod tests;
