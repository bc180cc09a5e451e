//! One step with a verb: its operands follow from the verb's row.

use super::context::{Lower, Program};
use super::values::flag;
use crate::ops::row::{Counts, Object, Row};
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::units;

/// Permission bits of new files before the process's mask, as C's `fopen` has them.
const FILE_PERMISSIONS: u32 = 0o666;

impl Lower {
    /// Emits the step `node`, whose verb is `row` (number `op`) and has this object.
    pub fn verb(&mut self, program: &mut Program, node: &Node, op: u16, row: &Row, object: Option<&Node>) {
        let mut args = Args { detail: row.detail, ..Args::default() };
        self.object(program, &mut args, row, object);
        self.choose_set(program, &mut args, node, row, object);
        self.arguments(&mut args, node, row);
        self.engine(program, &mut args, node, row);
        self.modifiers(&mut args, node);
        if args.set != NO_SET {
            self.fits_trees(&args, node, row.verb.name);
        }
        if row.verb.group == "trees" {
            self.tree_step(program, &mut args, node);
        }
        if let (Object::Replay, Some(object)) = (&row.object, object) {
            self.replay(program, &mut args, node, object);
        }
        self.opening(program, &mut args, node, row);
        self.limits(&args, node, row);
        self.note_use(&args, row);
        self.count(program, &mut args, node, row);
        if let (Amount::Bytes(Draw::Const(bytes)), None) = (args.amount, args.block) {
            args.fixed = bytes;
        }
        let set = args.set;
        let index = self.keep_args(args, node);
        if set != NO_SET {
            let place = node.place.clone();
            self.on_sets.push(super::context::OnSet { set, verb: row.verb.name, args: index, place });
        }
        if let Some(leaving) = program.leaving.last_mut() {
            leaving.push(index);
        }
        program.emit(Instr::Op { op, args: index });
    }

    fn object(&mut self, program: &Program, args: &mut Args, row: &Row, object: Option<&Node>) {
        let Some(object) = object else { return };
        match row.object {
            Object::None | Object::Set | Object::Replay => {}
            Object::Amount => args.amount = self.amount(object),
            Object::Value => args.value = self.draw(object),
            Object::Pause => {
                args.value = self.pause(object);
                args.detail = Detail::Pause;
            }
            Object::Name => args.name = self.file_name(object),
            Object::Sql => args.detail = self.sql(program, row, object),
            Object::SqlFile => args.detail = self.sql_file(program, row, object),
            Object::Word(detail) => match object.text().and_then(detail) {
                Some(detail) => args.detail = detail,
                None => {
                    let message =
                        format!("{} is not one of the words of {}", object.value.described(), row.verb.name);
                    self.problem(Diagnostic::error("unknown-word", &object.place, message));
                }
            },
        }
    }

    /// Which set the step works on: its object, `in:`, or the set of the file opened last.
    fn choose_set(
        &mut self,
        program: &mut Program,
        args: &mut Args,
        node: &Node,
        row: &Row,
        object: Option<&Node>,
    ) {
        let by_object = object.filter(|_| matches!(row.object, Object::Set));
        let named = by_object.or_else(|| node.get("in"));
        let takes_set = matches!(row.object, Object::Set | Object::Replay) || row.needs_open;
        if !takes_set {
            return;
        }
        if by_object.is_none() && row.verb.name == "stat" {
            args.detail = Detail::OpenFile;
        }
        let set = match named {
            Some(name) => self.set_named(name),
            None => match (program.current, self.plan.sets.len()) {
                (Some(set), _) => Some(set),
                // The only set there is needs no name.
                (None, 1) => Some(0),
                _ => {
                    let message = format!("{} needs to know which set's file is meant", row.verb.name);
                    let how = match row.object {
                        Object::Set => format!("write `{}: SET`", row.verb.name),
                        _ => "add `in: SET`, or open a file first".into(),
                    };
                    self.problem(Diagnostic::error("no-set", &node.place, message).help(how));
                    None
                }
            },
        };
        let Some(set) = set else { return };
        args.set = set;
        self.uses(program, set);
        if row.opens {
            program.current = Some(set);
            self.opened.insert(set);
        }
        if let Some(from) = node.get("from").and_then(|n| self.set_named(n)) {
            args.other = from;
            self.uses(program, from);
        }
    }

    /// The arguments that verbs share, by name.
    fn arguments(&mut self, args: &mut Args, node: &Node, row: &Row) {
        args.data = match node.get("data") {
            Some(data) => self.data(data),
            // Nothing is written: nothing needs to be made ready.
            None if row.verb.name == "read" && node.get("verify").is_none() => Default::default(),
            None => self.plan.sets.get(usize::from(args.set)).map_or(Default::default(), |s| s.data),
        };
        if let Some(n) = node.get("pick") {
            args.pick = self.pick(n);
        }
        if let Some(n) = node.get("block") {
            args.block = Some(self.draw(n));
            if args.block == Some(Draw::Const(0)) {
                self.problem(Diagnostic::error(
                    "invalid-block",
                    &n.place,
                    "a block of no bytes moves nothing",
                ));
            }
        }
        if let Some(n) = node.get("at") {
            args.at = self.at(n);
        }
        if let Some(n) = node.get("size") {
            args.value = self.draw(n);
        }
        if let Some(n) = node.get("name") {
            args.name = self.file_name(n);
        }
        args.remainder = match node.get("remainder").and_then(Node::text) {
            Some("always") => Remainder::Always,
            Some("if_alone") => Remainder::IfAlone,
            _ => Remainder::IfAny,
        };
        if let Some(n) = node.get("verify") {
            args.verify = self.or(units::boolean(n), false);
            if args.verify && !matches!(args.data, crate::os::Recipe::Zero | crate::os::Recipe::Byte(_)) {
                self.problem(
                    Diagnostic::error("invalid-verify", &n.place, "verify needs to know what must be there")
                        .help("say so with `data: zero` or `data: {byte: a}`"),
                );
            }
        }
        for (key, words) in
            [("order", crate::ops::names::order as fn(&str) -> _), ("how", crate::ops::space::space)]
        {
            if let Some(detail) = node.get(key).and_then(Node::text).and_then(words) {
                args.detail = detail;
            }
        }
        if let Some(n) = node.get("subdirs")
            && self.or(units::boolean(n), false)
        {
            args.detail = Detail::Subdirs;
        }
        if let Some(n) = node.get("relative")
            && self.or(units::boolean(n), false)
        {
            args.detail = Detail::Relative;
        }
        args.limit = self.optional(node, "limit", units::count).or(self.optional(node, "last", units::size));
        if row.verb.name == "barrier" {
            args.detail = Detail::Barrier((self.plan.phases.len() - 1) as u16);
            self.plan.barriers = self.plan.phases.len() as u16;
        }
    }

    /// What every step may have.
    fn modifiers(&mut self, args: &mut Args, node: &Node) {
        if let Some(n) = node.get("every") {
            args.every = self.or(units::count(n), 1).clamp(0, u64::from(u32::MAX)) as u32;
            if args.every == 0 {
                self.problem(
                    Diagnostic::error("invalid-every", &n.place, "every 0 times is never")
                        .help("1 is always; leave the step out with `when: false`"),
                );
            }
        }
        if let Some(n) = node.get("expect") {
            args.expect = self.errnos(n);
        }
        if let Some(n) = node.get("must_fail") {
            let errnos = self.errnos(n);
            args.must_fail = errnos.first().copied();
        }
    }

    /// Which way a data step moves data, and through which engine.
    fn engine(&mut self, program: &Program, args: &mut Args, node: &Node, row: &Row) {
        if row.counts != Counts::Data {
            return;
        }
        args.moves = if row.verb.name.starts_with("read") { Moves::Reads } else { Moves::Writes };
        args.engine = match node.get("engine") {
            Some(node) => self.engine_of(node),
            None => program.engine,
        };
        let direct = self.plan.engine_of(args).wants_direct();
        if let Some(uses) = self.direct_use.get_mut(usize::from(args.set)) {
            uses.push((direct, node.get("engine").unwrap_or(node).place.clone()));
        }
        if args.data == crate::os::Recipe::Read && self.plan.engine_of(args).has_queue() {
            let place = node.get("data").map_or(&node.place, |data| &data.place);
            self.problem(
                Diagnostic::error(
                    "read-in-a-queue",
                    place,
                    "what was read last is not known while transfers are in flight",
                )
                .help("give the step `engine: sync`"),
            );
        }
    }

    /// How `open` and `create` open.
    fn opening(&mut self, program: &Program, args: &mut Args, node: &Node, row: &Row) {
        if let Some(n) = node.get("permissions") {
            args.opening.permissions = self.permissions(n);
        }
        if !row.opens {
            return;
        }
        if node.get("permissions").is_none() {
            args.opening.permissions = FILE_PERMISSIONS;
        }
        let creates = row.verb.name == "create";
        let stdio = node.get("buffer").and_then(Node::text) == Some("stdio");
        let mode = node.get("mode").and_then(Node::text).unwrap_or(if creates { "write" } else { "read" });
        let mut flags = match mode {
            "write" => libc::O_WRONLY,
            "append" => libc::O_WRONLY | libc::O_APPEND,
            "rw" => libc::O_RDWR,
            "append_rw" => libc::O_RDWR | libc::O_APPEND,
            _ => libc::O_RDONLY,
        };
        // C's "a" creates, as its "w" does.
        if creates || stdio && mode == "append" {
            flags |= libc::O_CREAT;
        }
        match node.entries().iter().find(|(key, _)| key == "flags") {
            Some((_, words)) => {
                flags |= words.items().iter().filter_map(Node::text).fold(0, |all, word| all | flag(word));
            }
            None if creates => flags |= libc::O_TRUNC,
            None => {}
        }
        let direct = self
            .plan
            .engines
            .get(usize::from(program.engine))
            .map_or(Direct::Never, EnginePlan::wants_direct);
        if direct == Direct::Require && !stdio {
            flags |= libc::O_DIRECT;
        }
        args.opening.prefer_direct = direct == Direct::Prefer && !stdio && flags & libc::O_DIRECT == 0;
        args.opening.flags = flags;
        args.opening.stdio = stdio;
        if flags & libc::O_DIRECT == 0 {
            self.opened_buffered.insert(args.set);
        }
        args.opening.parents = match node.get("parents").and_then(Node::text) {
            Some("missing") => Parents::Missing,
            Some("always") => Parents::Always,
            _ => Parents::Ahead,
        };
    }

    /// What the step means for its set as a whole.
    fn note_use(&mut self, args: &Args, row: &Row) {
        let Some(set) = self.plan.sets.get_mut(usize::from(args.set)) else { return };
        let id = args.set;
        if row.by_age && matches!(args.detail, Detail::Order(Order::Oldest | Order::Newest))
            || matches!(args.pick, Pick::Oldest | Pick::Newest)
        {
            set.by_age = true;
        }
        let has_subdirs = set.dirs.is_some();
        if args.opening.parents != Parents::Ahead && row.opens {
            match has_subdirs {
                true => self.made_subdirs.insert(id),
                false => self.made_dir.insert(id),
            };
        }
        if row.verb.name == "mkdir" && args.name == NO_NAME {
            match args.detail {
                Detail::Subdirs => self.made_subdirs.insert(id),
                _ => self.made_dir.insert(id),
            };
        }
        if row.needs_open
            && let Some(data_use) = self.data_use.get_mut(usize::from(id))
        {
            match row.verb.name {
                "read" | "fsync" | "fdatasync" | "advise" | "seek" | "get_xattr" | "stat" => {
                    data_use.0 = true
                }
                "close" => {}
                _ => data_use.1 = true,
            }
        }
    }

    /// Under which key the step counts.
    fn count(&mut self, program: &Program, args: &mut Args, node: &Node, row: &Row) {
        if row.counts == Counts::Nothing {
            return;
        }
        let measured = node.get("measured").is_none_or(|n| n.value != Value::Bool(false));
        let key = node.get("label").and_then(Node::text).unwrap_or(row.verb.name).to_string();
        let kind = if row.counts == Counts::Data { StatKind::Data } else { StatKind::Operation };
        args.stat = self.stat(program, &key, kind, measured);
        let several = args.block.is_some() || args.amount == Amount::Whole;
        if row.counts == Counts::Data && several {
            args.step_stat = self.stat(program, &key, StatKind::Step, measured);
        }
    }
}
