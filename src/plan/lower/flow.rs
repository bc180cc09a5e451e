//! Steps that hold steps: blocks, mixes, walks.

use super::context::{Lower, Program};
use super::values::lookup;
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::units;

/// Largest sum of the weights of a mix.
const LARGEST_MIX: f64 = 65536.0;

impl Lower {
    /// Emits a list of steps.
    pub fn steps(&mut self, program: &mut Program, node: &Node) {
        for step in node.items() {
            self.step(program, step);
        }
    }

    fn step(&mut self, program: &mut Program, node: &Node) {
        match &node.value {
            Value::List(items) => items.iter().for_each(|step| self.step(program, step)),
            Value::Text(verb) => match crate::ops::table::find(verb) {
                Some((op, row)) if row.verb.bare => self.verb(program, node, op, row, None),
                Some(_) => {
                    let message = format!("{verb} needs to know what it works on");
                    self.problem(Diagnostic::error("no-object", &node.place, message));
                }
                None => self.unknown_step(node, verb),
            },
            Value::Map(entries) => {
                if node.get("mix").is_some() {
                    self.mix(program, node);
                } else if node.get("each").is_some() {
                    self.each(program, node);
                } else if let Some((verb, object)) =
                    entries.iter().find(|(key, _)| crate::ops::table::find(key).is_some())
                {
                    if let Some((op, row)) = crate::ops::table::find(verb) {
                        let object = Some(object).filter(|o| o.value != Value::Null);
                        if object.is_none() && !row.verb.bare {
                            let message = format!("{verb} needs to know what it works on");
                            self.problem(Diagnostic::error("no-object", &node.place, message));
                        }
                        self.verb(program, node, op, row, object);
                    }
                } else if node.get("steps").is_some() {
                    self.block(program, node);
                } else {
                    let first = entries.first().map_or("", |(key, _)| key.as_str());
                    self.unknown_step(node, first);
                }
            }
            _ => self.unknown_step(node, &node.value.to_string()),
        }
    }

    fn unknown_step(&mut self, node: &Node, word: &str) {
        let verbs: Vec<&str> = crate::ops::rows().map(|row| row.verb.name).collect();
        let help = crate::profile::names::did_you_mean(word, &verbs);
        self.problem(Diagnostic::error("unknown-verb", &node.place, format!("{word} is no step")).help(help));
    }

    /// A block: its loop, its label, its steps. With a label each iteration is one operation.
    fn block(&mut self, program: &mut Program, node: &Node) {
        let words = self.loop_words(node);
        self.no_inner_ramp(&words, node);
        let outer = self.set_measured(program, node);
        self.around(program, words, node, false, |lower, program| {
            lower.labelled(program, node, |lower, program| {
                if let Some(steps) = node.get("steps") {
                    lower.steps(program, steps);
                }
            });
        });
        program.measured = outer;
    }

    /// `measured: false` holds for everything inside. Returns what held outside.
    fn set_measured(&mut self, program: &mut Program, node: &Node) -> bool {
        let outer = program.measured;
        if node.get("measured").is_some_and(|n| n.value == Value::Bool(false)) {
            program.measured = false;
        }
        outer
    }

    /// Counts what `body` emits as one operation, if the node has a label.
    fn labelled(&mut self, program: &mut Program, node: &Node, body: impl FnOnce(&mut Lower, &mut Program)) {
        let Some(label) = node.get("label").and_then(Node::text) else {
            body(self, program);
            return;
        };
        let stat = self.stat(program, label, StatKind::Block, true);
        let block = self.plan.blocks;
        self.plan.blocks += 1;
        program.emit(Instr::BlockStart { block });
        body(self, program);
        // A guard inside leaves past this: what was skipped did not happen.
        program.emit(Instr::BlockEnd { block, stat });
    }

    fn no_inner_ramp(&mut self, words: &Option<super::loops::LoopWords>, node: &Node) {
        if words.as_ref().is_some_and(|w| w.ramp > 0)
            && let Some(ramp) = node.get("ramp")
        {
            self.problem(
                Diagnostic::error("inner-ramp", &ramp.place, "a ramp stands in front of a whole phase")
                    .at_key()
                    .help("move it to the phase's own loop"),
            );
        }
        if let Some(Until::Steady { .. }) = words.as_ref().map(|w| w.until) {
            self.problem(Diagnostic::error(
                "inner-steady",
                &node.place,
                "steadiness ends a whole phase, not a block",
            ));
        }
    }

    fn mix(&mut self, program: &mut Program, node: &Node) {
        let words = self.loop_words(node);
        self.no_inner_ramp(&words, node);
        let outer = self.set_measured(program, node);
        self.around(program, words, node, false, |lower, program| {
            lower.labelled(program, node, |lower, program| lower.draw_one(program, node));
        });
        program.measured = outer;
    }

    /// One draw among the alternatives.
    fn draw_one(&mut self, program: &mut Program, node: &Node) {
        let Some(list) = node.get("mix") else { return };
        let alternatives = list.items();
        let mut weights = Vec::new();
        for alternative in alternatives {
            weights.push(self.optional(alternative, "weight", units::count).unwrap_or(1) as f64);
        }
        let total: f64 = weights.iter().sum();
        if total == 0.0 || total > LARGEST_MIX {
            let message = format!("the weights of a mix add up to 1 to {LARGEST_MIX}, not {total}");
            self.problem(Diagnostic::error("invalid-mix", &list.place, message));
            return;
        }
        let exact = node.get("exact").is_some_and(|n| n.value == Value::Bool(true));
        let key = node.get("label").and_then(Node::text).unwrap_or("mix").to_string();
        let decks = if exact { self.stat(program, &key, StatKind::Decks, true) } else { NO_STAT };
        let id = self.plan.mixes.len() as u16;
        self.plan.mixes.push(MixPlan { table: lookup(&weights), targets: Vec::new(), exact, decks });
        program.emit(Instr::Mix { id });
        let before = program.current;
        let (mut targets, mut jumps, mut after) = (Vec::new(), Vec::new(), Vec::new());
        for alternative in alternatives {
            targets.push(program.here());
            program.current = before;
            self.leavable(program, |lower, program| lower.step(program, alternative));
            after.push(program.current);
            jumps.push(program.emit(Instr::Jump(0)));
        }
        let end = program.here();
        for jump in jumps {
            program.code[jump as usize] = Instr::Jump(end);
        }
        // After the mix it is known which set was opened last only if all alternatives agree.
        program.current = match after.first() {
            Some(first) if after.iter().all(|set| set == first) => *first,
            _ => before,
        };
        self.plan.mixes[usize::from(id)].targets = targets;
    }

    fn each(&mut self, program: &mut Program, node: &Node) {
        let Some(set) = node.get("each").and_then(|n| self.set_named(n)) else { return };
        self.uses(program, set);
        let order = match node.get("order").and_then(Node::text) {
            Some("newest") => Order::Newest,
            Some("slot" | "next") => Order::Slot,
            Some("random") => Order::Random,
            _ => Order::Oldest,
        };
        if matches!(order, Order::Oldest | Order::Newest) {
            self.plan.sets[usize::from(set)].by_age = true;
        }
        let limit = self.optional(node, "limit", units::count).unwrap_or(u64::MAX);
        let id = self.plan.eaches.len() as u16;
        self.plan.eaches.push(EachPlan { set, order, limit });
        let outer = self.set_measured(program, node);
        let start = program.emit(Instr::EachStart { id, exit: 0 });
        let head = program.here();
        // Steps without a set mean the file that is walked to.
        let before = program.current.replace(set);
        self.leavable(program, |lower, program| {
            lower.labelled(program, node, |lower, program| {
                if let Some(steps) = node.get("steps") {
                    lower.steps(program, steps);
                }
            });
        });
        program.current = before;
        let next = program.emit(Instr::EachNext { id, head });
        program.code[start as usize] = Instr::EachStart { id, exit: next };
        program.measured = outer;
    }
}
