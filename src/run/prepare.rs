//! From a planned case to one that can be run: its plan, its numbers, and its row.

use std::sync::Arc;

use serde_json::{Map, Value as Json};
use sha2::{Digest, Sha256};

use super::engines;
use super::numbers::{self, Numbers};
use crate::plan::hash::plan_hash;
use crate::plan::instr::Plan;
use crate::plan::lower::{lower, replay};
use crate::profile::case::{BoundCase, each_once};
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::params::ParamValue;
use crate::profile::results::{self, MetricSpec};
use crate::profile::suite::{Cache, PlannedCase, Runs};
use crate::record;

/// A case with everything that is needed to run it.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The case with its values.
    pub bound: BoundCase,
    /// How often it is run.
    pub runs: Runs,
    /// What is done to caches before each run.
    pub cache: Cache,
    /// The numbers it reports.
    pub specs: Vec<MetricSpec>,
    /// What will happen; or what is wrong with a file of the user's that it is about.
    pub plan: Result<Arc<Plan>, Vec<Diagnostic>>,
    /// What its row says before it has run.
    pub about: record::Case,
}

/// Compiles every case. `Err` holds every mistake of all of them, each once.
pub fn prepare(planned: Vec<PlannedCase>) -> Result<Vec<Prepared>, Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut prepared = Vec::new();
    for case in planned {
        match one(case) {
            Ok(case) => prepared.push(case),
            Err(more) => problems.extend(more),
        }
    }
    if problems.is_empty() { Ok(prepared) } else { Err(each_once(problems)) }
}

/// Compiles one case.
pub fn one(planned: PlannedCase) -> Result<Prepared, Vec<Diagnostic>> {
    let PlannedCase { bound, runs, cache } = planned;
    let specs = match bound.body.get("results") {
        Some(results) => results::read(results)?,
        None => Vec::new(),
    };
    let mut specs = live(specs, &bound);
    let engine = engine(&bound.body);
    let plan = match lower(&bound) {
        Ok(plan) => Ok(Arc::new(plan)),
        Err(problems) if problems.iter().all(|problem| problem.code == replay::UNUSABLE) => Err(problems),
        Err(problems) => return Err(problems),
    };
    if let Ok(plan) = &plan {
        let known = numbers::known(plan);
        specs = results::offered(specs, &known, &numbers::of_other_loads(plan), &bound.scope);
        name_primary(&mut specs);
        let problems = results::check_names(&specs, &known, &bound.scope);
        if !problems.is_empty() {
            return Err(problems);
        }
    }
    let engine = plan.as_deref().map_or(engine, engines::names);
    let about = about(&bound, &specs, plan.as_deref().ok(), engine);
    Ok(Prepared { bound, runs, cache, specs, plan, about })
}

/// Why a case cannot be run whose file of the user's is wrong.
pub fn unusable(problems: &[Diagnostic]) -> record::Reason {
    let Some(first) = problems.first() else { return record::Reason::new("it cannot be compiled") };
    let what_to_do = Some(first.help.join("; ")).filter(|help| !help.is_empty());
    record::Reason { what_to_do, ..record::Reason::new(first.message.clone()) }
}

/// The numbers that are reported with these values: those whose condition is already decided
/// against them go, and one of the rest is the primary one.
fn live(specs: Vec<MetricSpec>, bound: &BoundCase) -> Vec<MetricSpec> {
    let kept = results::evaluate(&specs, &Numbers::new(), &bound.scope);
    let mut specs: Vec<MetricSpec> =
        specs.into_iter().filter(|spec| kept.iter().any(|metric| metric.name == spec.name)).collect();
    name_primary(&mut specs);
    specs
}

/// Where the primary number was left out, the first of the rest stands for the case.
fn name_primary(specs: &mut [MetricSpec]) {
    if let (false, Some(first)) = (specs.iter().any(|spec| spec.primary), specs.first_mut()) {
        first.primary = true;
    }
}

/// Name of the engine asked for.
fn engine(body: &Node) -> String {
    let written = body.get("engine");
    let name = written.and_then(|node| node.get("name")).or(written).and_then(Node::text);
    name.unwrap_or("sync").to_string()
}

fn about(bound: &BoundCase, specs: &[MetricSpec], plan: Option<&Plan>, engine: String) -> record::Case {
    let published = |text: &String| {
        let (test, version) = text.rsplit_once('-').unwrap_or((text, ""));
        record::Reproduces { test: test.into(), version: version.into(), case: bound.title.clone() }
    };
    record::Case {
        profile: bound.profile_id.clone(),
        profile_version: bound.profile_version.clone(),
        case: bound.case_id.clone(),
        title: bound.title.clone(),
        params: bound.params.iter().map(|param| (param.name.clone(), json(&param.value))).collect(),
        facts: bound.facts_used.iter().map(|(name, value)| (name.to_string(), Json::from(*value))).collect(),
        plan_hash: plan.map(plan_hash).unwrap_or_default(),
        engine: Some(engine),
        reproduces: bound.comparable_with.as_ref().map(published),
        metrics: specs.iter().map(declared).collect(),
    }
}

fn declared(spec: &MetricSpec) -> record::Declared {
    record::Declared {
        name: spec.name.clone(),
        unit: spec.unit.name().to_string(),
        better: match spec.better {
            results::Better::Higher => record::Better::Higher,
            results::Better::Lower => record::Better::Lower,
        },
        primary: spec.primary,
    }
}

/// A parameter as JSON: numbers and lists as such, everything with a unit as it is written.
fn json(value: &ParamValue) -> Json {
    match value {
        ParamValue::Null => Json::Null,
        ParamValue::Count(n) => Json::from(*n),
        ParamValue::Bool(b) => Json::from(*b),
        ParamValue::Choices(words) => Json::from(words.clone()),
        ParamValue::Distribution(node) => node_json(node),
        other => Json::from(other.to_string()),
    }
}

fn node_json(node: &Node) -> Json {
    match &node.value {
        Value::Null => Json::Null,
        Value::Bool(b) => Json::from(*b),
        Value::Int(i) => u64::try_from(*i).map(Json::from).unwrap_or_else(|_| Json::from(i.to_string())),
        Value::Float(f) => Json::from(*f),
        Value::Text(text) => Json::from(text.clone()),
        Value::List(items) => items.iter().map(node_json).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(k, v)| (k.clone(), node_json(v))).collect::<Map<_, _>>())
        }
    }
}

struct HexDigest<T>(T);

impl<T: AsRef<[u8]>> std::fmt::LowerHex for HexDigest<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Hash of texts, as lower-case hexadecimal digits.
pub fn hash_texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    format!("{:x}", HexDigest(hasher.finalize()))
}

/// A number that tells a case from every other, for its random streams.
pub fn case_number(bound: &BoundCase) -> u64 {
    let digest = Sha256::digest(format!("{}\0{}", bound.profile_id, bound.case_id));
    digest.iter().take(8).fold(0, |n, byte| n << 8 | u64::from(*byte))
}
