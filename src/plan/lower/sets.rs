//! File sets.

use super::context::Lower;
use super::values::{flag, segment};
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::{template, units};

/// Bits of a directory's permissions before the process's mask, as programs make them.
const DIR_PERMISSIONS: u32 = 0o777;

impl Lower {
    /// Adds the set `name` to the plan.
    pub fn set(&mut self, name: &str, node: &Node) {
        let per_worker = node.get("per").and_then(Node::text) == Some("worker");
        let memory = node.get("where").and_then(Node::text) == Some("memory");
        let count = self.optional(node, "count", units::count).unwrap_or(0);
        let slots = self.optional(node, "slots", units::count);
        let size = node.get("size").map_or(Draw::Const(0), |n| self.draw(n));
        let max_size = self.optional(node, "max_size", units::size);
        if max_size.is_none() && super::limits::has_room(size) {
            self.no_room_known(name, node.get("size").unwrap_or(node));
        }
        let file_name = match node.get("name") {
            Some(n) => self.file_name(n),
            None => self.name(vec![Segment::Number(PLAIN)]),
        };
        let dir = match node.get("dir") {
            Some(n) => self.dir(n),
            None if per_worker => vec![self.name(vec![Segment::Worker(PLAIN)])],
            None => vec![self.name(vec![Segment::Literal(name.as_bytes().to_vec())])],
        };
        let dirs = node.get("dirs").and_then(|n| self.dirs(n));
        let flags = node
            .get("flags")
            .map(|n| n.items().iter().filter_map(Node::text).fold(0, |all, word| all | flag(word)));
        if let (Some(slots), true) = (slots, count > 0)
            && slots < count
        {
            let message = format!("{count} files are laid out where {slots} fit");
            let place = node.get("slots").unwrap_or(node);
            self.problem(Diagnostic::error("too-few-slots", &place.place, message));
        }
        if !self.numbered(file_name) && (count > 1 || slots.is_some_and(|s| s > 1)) {
            let place = node.get("name").unwrap_or(node);
            self.problem(
                Diagnostic::error(
                    "same-names",
                    &place.place,
                    format!("every file of {name} would have the same name"),
                )
                .help("put {n} into it, for example \"{n:04}\""),
            );
        }
        let guards = node.get("guards");
        let guard = |key: &str| match guards.and_then(|g| g.get(key)).and_then(Node::text) {
            Some("skip") => Guard::Skip,
            Some("end_phase") => Guard::EndPhase,
            _ => Guard::Error,
        };
        let (empty, full, no_room) = (guard("empty"), guard("full"), guard("no_room"));
        let data = node.get("data").map_or(crate::os::Recipe::Random, |n| self.data(n));
        self.plan.sets.push(SetPlan {
            name: name.into(),
            per_worker,
            dir,
            dirs,
            file_name,
            count: if memory { count.max(1) } else { count },
            slots,
            insert: match node.get("insert").and_then(Node::text) {
                Some("lowest_free") => Insert::LowestFree,
                Some("bump_then_lowest_free") => Insert::BumpThenLowestFree,
                _ => Insert::Next,
            },
            size,
            max_size,
            data,
            layout: match node.get("layout").and_then(Node::text) {
                Some("fallocated") => Layout::Fallocated,
                Some("none") => Layout::None,
                _ => Layout::Written,
            },
            memory,
            kept_open: flags,
            prefer_direct: false,
            empty,
            full,
            no_room,
            dir_ahead: true,
            subdirs_ahead: true,
            used_by: Vec::new(),
            by_age: false,
            dir_permissions: DIR_PERMISSIONS,
            trees: None,
        });
    }

    /// The value of a key, if it is written.
    pub fn optional<T: Default>(
        &mut self,
        node: &Node,
        key: &str,
        read: fn(&Node) -> Result<T, Diagnostic>,
    ) -> Option<T> {
        let found = node.get(key)?;
        Some(self.or(read(found), T::default()))
    }

    /// Whether a name differs from file to file.
    fn numbered(&self, name: NameId) -> bool {
        self.plan.names.get(usize::from(name)).is_some_and(|segments| {
            segments.iter().any(|s| matches!(s, Segment::Number(_) | Segment::Random(_) | Segment::Digits(_)))
        })
    }

    /// The components of a directory.
    fn dir(&mut self, node: &Node) -> Vec<NameId> {
        let compiled = template::compile(node, template::Purpose::Path);
        let segments = self.or(compiled, Vec::new());
        let mut parts: Vec<Vec<Segment>> = vec![Vec::new()];
        for s in segments {
            match s {
                template::Segment::Literal(text) => {
                    for (i, piece) in text.split(|b| *b == b'/').enumerate() {
                        if i > 0 {
                            parts.push(Vec::new());
                        }
                        if let (Some(last), false) = (parts.last_mut(), piece.is_empty()) {
                            last.push(Segment::Literal(piece.to_vec()));
                        }
                    }
                }
                other => {
                    if let Some(last) = parts.last_mut() {
                        last.push(segment(other));
                    }
                }
            }
        }
        let itself = |part: &Vec<Segment>| part.is_empty() || *part == [Segment::Literal(b".".to_vec())];
        parts.into_iter().filter(|part| !itself(part)).map(|part| self.name(part)).collect()
    }

    fn dirs(&mut self, node: &Node) -> Option<DirsPlan> {
        let count = self.optional(node, "count", units::count)?;
        // One directory, or none, is the set's own.
        if count == 0 {
            return None;
        }
        let name = match node.get("name") {
            Some(n) => self.file_name(n),
            None => self.name(vec![Segment::Number(PLAIN)]),
        };
        if count > 1 && !self.numbered(name) {
            let place = node.get("name").unwrap_or(node);
            self.problem(
                Diagnostic::error("same-names", &place.place, "every directory would have the same name")
                    .help("put {n} into it"),
            );
        }
        let rotate = match node.get("rotate") {
            Some(n) if matches!(n.value, Value::Text(_)) => Rotate::Time(self.or(units::duration(n), 1)),
            // A number that an expression made of a duration is one of seconds; only a duration is
            // not whole, or was one where the type says so.
            Some(n) => match n.value {
                Value::Float(_) => Rotate::Time(self.or(units::duration(n), 1)),
                _ => Rotate::Files(self.or(units::count(n), 1).max(1)),
            },
            None if node.get("pick").and_then(Node::text) == Some("random") => Rotate::Random,
            None => Rotate::Files(1),
        };
        Some(DirsPlan { count: count.min(u64::from(u32::MAX)) as u32, name, rotate })
    }
}

/// A number as short as it can be.
pub const PLAIN: Spec = Spec { radix: 10, upper: false, fill: b' ', align: Align::Right, width: 0 };
