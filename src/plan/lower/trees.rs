//! Lists of files and sets of trees: `datasets:`, `trees:`, and the steps that work on trees.

use std::fs;
use std::sync::Arc;

use super::context::{Lower, Program};
use crate::import::list;
use crate::plan::grow::{Arrange, Facts, arranged, grow};
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::distribution::{self, Distribution};
use crate::profile::names::did_you_mean;
use crate::profile::node::{Node, Value};
use crate::profile::units;

/// Most states a set of trees may name.
const MOST_STATES: usize = 32;
/// Bytes of one transfer where a set of trees does not say.
const BLOCK: u64 = 256 << 10;
/// Most files of a list that is grown.
const MOST_FILES: u64 = 5_000_000;
/// Most empty reads after the end of each file.
const MOST_PAST_END: u64 = 16;

impl Lower {
    /// Adds the list `name` to the plan.
    pub fn dataset(&mut self, name: &str, node: &Node) {
        let beside = node.get("beside").and_then(|other| self.dataset_named(other));
        let own = beside.and_then(|id| self.own_lists.get(&id).cloned());
        let beside = beside.and_then(|id| self.plan.datasets.get(usize::from(id)).cloned());
        let beside = beside.as_deref();
        let (order, arrange) = match node.get("order").and_then(Node::text) {
            Some("readdir") => (ListOrder::Readdir, Arrange::Grown),
            Some("sorted") => (ListOrder::AsIs, Arrange::Sorted),
            Some("shuffled") => (ListOrder::AsIs, Arrange::Shuffled),
            _ => (ListOrder::AsIs, Arrange::Grown),
        };
        let file = node.get("file").filter(|file| file.value != Value::Null);
        let made = match file {
            Some(file) => read_list(file, name, order, beside).map(|list| arranged(list, arrange)),
            None => self.grown(name, node, (order, arrange), beside.map(|list| (list, own.as_deref()))),
        };
        if let Some(path) = file.and_then(Node::text) {
            self.own_lists.insert(self.plan.datasets.len() as u16, path.into());
        }
        match made {
            Ok(list) => self.plan.datasets.push(Arc::new(list)),
            Err(problem) => {
                self.problem(problem);
                self.plan.datasets.push(Arc::new(Dataset::new(name, order)));
            }
        }
    }

    /// A list grown from its facts, beside another one, which may be read from a file.
    fn grown(
        &mut self,
        name: &str,
        node: &Node,
        (order, arrange): (ListOrder, Arrange),
        beside: Option<(&Dataset, Option<&str>)>,
    ) -> Result<Dataset, Diagnostic> {
        let wrong = |place: &Node, message: String, help: &str| {
            Diagnostic::error("invalid-list", &place.place, message).help(help.to_string())
        };
        let Some(size) = node.get("size") else {
            return Err(wrong(
                node,
                format!("{name} needs sizes"),
                "give it `size: {quantiles: {…}}`, or a `file`",
            ));
        };
        let points = match distribution::parse(size).map_err(|mut all| all.remove(0))? {
            Distribution::Quantiles(points) => points,
            Distribution::Constant(distribution::Bound::Number(n)) => vec![(0.0, n), (1.0, n)],
            _ => {
                let message =
                    format!("the sizes of {name} must be quantiles, so that its totals can be exact");
                return Err(wrong(
                    size,
                    message,
                    "write `size: {quantiles: {0%: 1, 50%: 4055, 100%: 1MiB}}`",
                ));
            }
        };
        let mut count = |key: &str| self.optional(node, key, units::count).unwrap_or(0);
        let (files, dirs, replaces) = (count("files"), count("dirs"), count("replaces"));
        let used = match beside {
            // Nobody knew how many directories the user's own list would have.
            Some((other, Some(_))) => count("used").min(other.dirs.len() as u64 - 1),
            _ => count("used"),
        };
        let bytes = self.optional(node, "bytes", units::size).unwrap_or(0);
        if files > MOST_FILES || dirs > MOST_FILES {
            return Err(wrong(node, format!("{name} has more than {MOST_FILES} files"), "use fewer"));
        }
        if replaces > files {
            let message = format!("{name} has {files} files, of which {replaces} replace others");
            return Err(wrong(node, message, "`replaces` is part of `files`"));
        }
        let facts = Facts { name, files, dirs, used, replaces, bytes, sizes: &points, order, arrange };
        grow(&facts, beside.map(|(other, _)| other)).map_err(|why| {
            let of = match beside {
                Some((other, Some(path))) => format!("; {} is read from {path}", other.name),
                _ => String::new(),
            };
            wrong(node, format!("{name}: {why}{of}"), "let files, dirs, bytes and sizes fit together")
        })
    }

    fn dataset_named(&mut self, node: &Node) -> Option<u16> {
        let name = node.text().unwrap_or_default();
        let found = self.plan.datasets.iter().position(|list| list.name == name);
        if found.is_none() {
            let known: Vec<&str> = self.plan.datasets.iter().map(|list| list.name.as_str()).collect();
            let message = format!("{} is no list of files that stands before", node.value.described());
            let help = did_you_mean(name, &known);
            self.problem(Diagnostic::error("unknown-list", &node.place, message).help(help));
        }
        found.map(|at| at as u16)
    }

    /// Adds the set of trees `name` to the plan's sets.
    pub fn tree_set(&mut self, name: &str, node: &Node) {
        let first = self.plan.sets.len();
        self.set(name, node);
        let block = self.optional(node, "block", units::size).unwrap_or(BLOCK);
        if block == 0 || block > crate::ops::stdio::LARGEST_BLOCK * 64 {
            let place = node.get("block").unwrap_or(node);
            self.problem(Diagnostic::error(
                "invalid-block",
                &place.place,
                format!("{block} bytes a transfer, where 1 to 64 MiB are possible"),
            ));
        }
        let stdio = node.get("buffer").and_then(Node::text) == Some("stdio");
        if let Some(set) = self.plan.sets.get_mut(first) {
            set.trees = Some(TreesPlan { block: block.clamp(1, 64 << 20), stdio, states: Vec::new() });
        }
    }

    /// Whether a step that works on trees has a set of them, and another one has none.
    pub fn fits_trees(&mut self, args: &Args, node: &Node, verb: &str) {
        let Some(set) = self.plan.sets.get(usize::from(args.set)) else { return };
        let (name, trees) = (set.name.clone(), set.trees.is_some());
        let works_on_trees = verb.ends_with("_tree");
        if trees == works_on_trees {
            return;
        }
        let (what, other) = if trees { ("trees", "files") } else { ("files", "trees") };
        let message = format!("{verb} works on {other}, {name} is a set of {what}");
        self.problem(Diagnostic::error("wrong-kind-of-set", &node.place, message).help(match trees {
            true => "write_tree, read_tree, stat_tree and remove_tree work on trees".to_string(),
            false => format!("sets of trees stand under `trees:`, {name} stands under `files:`"),
        }));
    }

    /// Operands of a step that works on trees.
    pub fn tree_step(&mut self, program: &Program, args: &mut Args, node: &Node) {
        let mut step = TreeStep { dataset: NO_DATASET, states: 0, becomes: NO_STATE, ..TreeStep::default() };
        if let Some(list) = node.get("files").and_then(|list| self.dataset_named(list)) {
            step.dataset = list;
            if let Some(list) = self.plan.datasets.get(usize::from(list)) {
                // Others are found out before the first phase by whoever uses them.
                let _ = (program, list);
            }
        }
        for state in node.get("state").map(listed).unwrap_or_default() {
            if let Some(state) = self.state(args.set, state) {
                step.states |= 1 << state;
            }
        }
        if let Some(state) = node.get("becomes").filter(|state| state.value != Value::Null) {
            step.becomes = self.state(args.set, state).unwrap_or(NO_STATE);
        }
        step.unlink = node.get("existing").and_then(Node::text) == Some("unlink");
        step.keep_top = node.get("keep_top").is_some_and(|keep| self.or(units::boolean(keep), false));
        step.past_end = self.optional(node, "past_end", units::count).unwrap_or(0).min(MOST_PAST_END) as u8;
        step.chosen = node.get("pick").is_some() || node.get("state").is_some();
        args.detail = Detail::Tree(step);
    }

    fn state(&mut self, set: SetId, node: &Node) -> Option<u8> {
        let name = node.text()?;
        let trees = self.plan.sets.get_mut(usize::from(set))?.trees.as_mut()?;
        if let Some(known) = trees.states.iter().position(|state| state == name) {
            return Some(known as u8);
        }
        if trees.states.len() >= MOST_STATES {
            let message = format!("more than {MOST_STATES} states");
            self.problem(Diagnostic::error("too-many-states", &node.place, message));
            return None;
        }
        trees.states.push(name.into());
        Some((trees.states.len() - 1) as u8)
    }
}

fn listed(node: &Node) -> Vec<&Node> {
    match node.value {
        Value::List(_) => node.items().iter().collect(),
        Value::Null => Vec::new(),
        _ => vec![node],
    }
}

/// Reads the user's own list.
fn read_list(
    file: &Node,
    name: &str,
    order: ListOrder,
    beside: Option<&Dataset>,
) -> Result<Dataset, Diagnostic> {
    let wrong = |message: String| {
        Diagnostic::error("unreadable-file", &file.place, message)
            .help("a line is a path and a size in bytes: find -type f -printf '%P %s\\n'")
    };
    let path = units::text(file)?;
    let about = fs::metadata(&path).map_err(|error| wrong(format!("{path}: {error}")))?;
    if !about.is_file() || about.len() > list::LARGEST {
        return Err(wrong(format!("{path} is no regular file of at most {} bytes", list::LARGEST)));
    }
    let text = fs::read_to_string(&path).map_err(|error| wrong(format!("{path}: {error}")))?;
    list::read(&text, name, order, beside).map_err(|mistakes| {
        let lines: Vec<String> = mistakes
            .iter()
            .map(|(line, column, message)| format!("{path}:{line}:{column}: {message}"))
            .collect();
        wrong(lines.join("\n"))
    })
}
