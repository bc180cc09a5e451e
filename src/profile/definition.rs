//! A profile as a whole: its head, its parameters, presets and cases, and the body still to be
//! rendered for each case.
//!
//! The structure of the file has been checked before; what is read here is what needs knowledge
//! of several places at once.

use std::collections::BTreeSet;

use super::clashes;
use super::diagnostic::{Checked, Diagnostic};
use super::names::is_id;
use super::node::{Node, Value};
use super::params::Params;
use super::shape::Verb;
use super::units;

/// The original that a profile follows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reproduces {
    /// Name of the original program.
    pub tool: String,
    /// Its version as the original writes it.
    pub version: String,
    /// The published results that rows of this profile may be compared with: `pts/fio-1.11.5`.
    pub comparable_with: Option<String>,
}

/// One entry of `cases:`, or one combination of its matrix.
#[derive(Clone, Debug)]
pub struct Case {
    /// The text of its id, perhaps with expressions.
    pub id: Node,
    /// The text of its title, perhaps with expressions; the id where there is none.
    pub title: Option<Node>,
    /// The values of the matrix at this combination.
    pub point: Vec<(String, Node)>,
    /// Its own values, which may use those of the matrix.
    pub with: Vec<(String, Node)>,
    /// The entry.
    pub node: Node,
}

/// A profile whose parameters have no values yet.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The name it is found by.
    pub id: String,
    /// Version as written.
    pub version: String,
    /// One line for people.
    pub title: String,
    /// One sentence about it.
    pub summary: Option<String>,
    /// A longer text about it.
    pub description: Option<String>,
    /// The original it follows; `None` without one.
    pub reproduces: Option<Reproduces>,
    /// Declared parameters and the names made from them.
    pub params: Params,
    /// In the order written.
    pub presets: Vec<(String, Node)>,
    /// In the order written, matrices unfolded.
    pub cases: Vec<Case>,
    /// The whole file.
    pub node: Node,
    /// The verbs of the step vocabulary.
    pub verbs: BTreeSet<String>,
}

/// The most combinations one matrix may make.
const MATRIX_MAX: usize = 4096;

impl Profile {
    /// Reads a profile whose structure is sound. `verbs` is the operation table; blocks are known.
    pub fn from_node(node: Node, verbs: &[Verb]) -> Checked<Profile> {
        let all = verbs.iter().chain(super::language::BLOCKS);
        let verbs: BTreeSet<String> = all.map(|verb| verb.name.to_string()).collect();
        let mut problems = Vec::new();
        let id = head(&node, "profile", &mut problems);
        if let Some(node) = node.get("profile").filter(|_| !is_id(&id)) {
            problems.push(
                Diagnostic::error("invalid-id", &node.place, format!("{} is no id", units::shown(&id)))
                    .help("an id is lower-case words of letters and digits joined by single dashes"),
            );
        }
        let version = head(&node, "version", &mut problems);
        if let Some(node) = node.get("version").filter(|_| !is_version(&version)) {
            problems.push(
                Diagnostic::error(
                    "invalid-version",
                    &node.place,
                    format!("{} is no version", units::shown(&version)),
                )
                .help(
                    "write three numbers, 1.0.0: a change of the first two means numbers are not comparable",
                ),
            );
        }
        let title = head(&node, "title", &mut problems);
        let optional = |key: &str| node.get(key).map(|value| value.value.to_string());
        let reproduces = node.get("reproduces").map(|original| Reproduces {
            tool: head(original, "tool", &mut problems),
            version: head(original, "version", &mut problems),
            comparable_with: original.get("comparable_with").map(|value| value.value.to_string()),
        });
        let params = Params::from_nodes(node.get("params"), node.get("let")).unwrap_or_else(|more| {
            problems.extend(more);
            Params::default()
        });
        problems.extend(clashes::check(&node, &params, &verbs));
        let presets = node.get("presets").map(Node::entries).unwrap_or_default().to_vec();
        let cases = cases(&node).unwrap_or_else(|more| {
            problems.extend(more);
            Vec::new()
        });
        if !problems.is_empty() {
            return Err(problems);
        }
        let (summary, description) = (optional("summary"), optional("description"));
        let profile = Profile {
            id,
            version,
            title,
            summary,
            description,
            reproduces,
            params,
            presets,
            cases,
            node,
            verbs,
        };
        Ok((profile, Vec::new()))
    }

    /// The values of a preset, if this profile has it.
    pub fn preset(&self, name: &str) -> Option<&Node> {
        self.presets.iter().find(|(preset, _)| preset == name).map(|(_, node)| node)
    }
}

/// A text of the head that must be there.
fn head(node: &Node, key: &'static str, problems: &mut Vec<Diagnostic>) -> String {
    match node.get(key) {
        Some(value) => units::text(value).unwrap_or_else(|problem| {
            problems.push(problem);
            String::new()
        }),
        None => {
            problems.push(Diagnostic::error("missing-key", &node.place, format!("{key} is missing")));
            String::new()
        }
    }
}

fn is_version(text: &str) -> bool {
    let number = |part: &str| !part.is_empty() && part.len() < 10 && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(number)
}

/// Reads `cases:`; without it, there is one case with the defaults.
fn cases(profile: &Node) -> Result<Vec<Case>, Vec<Diagnostic>> {
    let text = |text: &str| Node { value: Value::Text(text.into()), ..profile.clone() };
    let Some(list) = profile.get("cases").filter(|list| !list.items().is_empty()) else {
        let title = profile.get("title").cloned();
        return Ok(vec![Case {
            id: text("default"),
            title,
            point: Vec::new(),
            with: Vec::new(),
            node: profile.clone(),
        }]);
    };
    let mut cases = Vec::new();
    let mut problems = Vec::new();
    for node in list.items() {
        let Some(id) = node.get("id") else {
            problems.push(
                Diagnostic::error("missing-key", &node.place, "a case needs an id")
                    .help("a short word in lower case, for example id: default"),
            );
            continue;
        };
        let points = combinations(node.get("matrix")).unwrap_or_else(|problem| {
            problems.push(problem);
            Vec::new()
        });
        cases.extend(points.into_iter().map(|point| Case {
            id: id.clone(),
            title: node.get("title").cloned(),
            point,
            with: node.get("with").map(Node::entries).unwrap_or_default().to_vec(),
            node: node.clone(),
        }));
    }
    if problems.is_empty() { Ok(cases) } else { Err(problems) }
}

/// Every combination of a matrix, the last axis changing fastest; one empty one without a matrix.
fn combinations(matrix: Option<&Node>) -> Result<Vec<Vec<(String, Node)>>, Diagnostic> {
    let mut points = vec![Vec::new()];
    let Some(matrix) = matrix else { return Ok(points) };
    for (name, axis) in matrix.entries() {
        let values = axis.items();
        let fault = |message: String, help: &str| {
            Diagnostic::error("invalid-matrix", &axis.place, message).at_key().help(help)
        };
        if values.is_empty() {
            return Err(fault(format!("the axis {name} has no values"), "list some, or leave the axis out"));
        }
        if points.len() * values.len() > MATRIX_MAX {
            let message = format!("the matrix makes more than {MATRIX_MAX} cases");
            return Err(fault(message, "choose fewer values"));
        }
        points = points
            .iter()
            .flat_map(|point: &Vec<(String, Node)>| {
                values.iter().map(|value| {
                    let mut longer = point.clone();
                    longer.push((name.clone(), value.clone()));
                    longer
                })
            })
            .collect();
    }
    Ok(points)
}
