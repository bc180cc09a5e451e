//! Phases, their groups and the order they are run in.

use super::case::workers;
use super::context::{Lower, Program};
use super::loops::LoopWords;
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};

fn is_false(node: &Node, key: &str) -> bool {
    node.get(key).is_some_and(|n| n.value == Value::Bool(false))
}

impl Lower {
    /// A list of phases and of loops over phases.
    pub fn phases(&mut self, node: &Node, all: u32, measured: bool) -> Vec<Schedule> {
        let mut schedule = Vec::new();
        for entry in node.items() {
            let measured = measured && !is_false(entry, "measured");
            if let Some(inner) = entry.get("phases") {
                let words = self.loop_words(entry);
                let body = self.phases(inner, all, measured);
                match words {
                    None => schedule.extend(body),
                    Some(words) => {
                        self.plain_loop(&words, entry);
                        schedule.push(Schedule::Loop { until: words.until, body });
                    }
                }
            } else {
                self.phase(entry, all, measured);
                schedule.push(Schedule::Phase((self.plan.phases.len() - 1) as u16));
            }
        }
        schedule
    }

    /// A loop over phases knows repeats and a time.
    fn plain_loop(&mut self, words: &LoopWords, node: &Node) {
        if words.ramp > 0 || words.pace.is_some() {
            self.problem(
                Diagnostic::error(
                    "invalid-loop",
                    &node.place,
                    "a loop over phases has neither ramp nor rate",
                )
                .help("give them to a phase inside"),
            );
        }
        if !matches!(words.until, Until::Times(_) | Until::Time(_)) {
            self.problem(Diagnostic::error(
                "invalid-loop",
                &node.place,
                "a loop over phases ends by `repeat` or `for`",
            ));
        }
    }

    fn phase(&mut self, node: &Node, all: u32, measured: bool) {
        let name = node.get("phase").and_then(Node::text).unwrap_or_default().to_string();
        self.plan.phases.push(PhasePlan {
            name,
            measured,
            groups: Vec::new(),
            stats: Vec::new(),
            expected: Expected::Unknown,
        });
        let id = self.plan.phases.len() - 1;
        self.phase_engine = node.get("engine").cloned();
        let words = self.loop_words(node);
        self.plan.phases[id].expected = expected(&words);
        match (node.get("groups"), node.get("steps")) {
            (Some(groups), None) => self.groups(groups, id, words, all, measured),
            (None, Some(steps)) => {
                let group = self.group("", (0, all), steps, id, words, measured);
                self.plan.phases[id].groups.push(group);
            }
            (Some(_), Some(_)) => self.problem(
                Diagnostic::error("steps-and-groups", &node.place, "a phase has steps or groups, not both")
                    .help("make a group of the steps"),
            ),
            (None, None) => {
                self.problem(Diagnostic::error("no-steps", &node.place, "a phase needs `steps` or `groups`"));
            }
        }
    }

    fn groups(&mut self, node: &Node, phase: usize, outer: Option<LoopWords>, all: u32, measured: bool) {
        let ends = |n: &Node| n.get("ends_phase").is_some_and(|e| e.value == Value::Bool(true));
        // The phase's own end is one for all groups.
        let outer = outer.map(|words| LoopWords { budget: self.budget_of(&words), ..words });
        let one_ends = node.entries().iter().any(|(_, n)| ends(n));
        let mut first = 0u32;
        for (name, group_node) in node.entries() {
            let count = match group_node.get("workers") {
                Some(n) => workers(self, n),
                None if node.entries().len() == 1 => all,
                None => 1,
            };
            let words = if one_ends && !ends(group_node) && outer.is_none() {
                // It goes on until the group that ends the phase is done.
                Some(LoopWords { until: Until::Time(FOR_EVER), ramp: 0, pace: None, budget: None })
            } else {
                outer.clone()
            };
            let words = self.loop_words_within(group_node, words);
            let measured = measured && !is_false(group_node, "measured");
            let range = (first, first.saturating_add(count));
            first = range.1;
            let Some(steps) = group_node.get("steps") else { continue };
            let mut group = self.group(name, range, steps, phase, words, measured);
            group.ends_phase = ends(group_node);
            self.plan.phases[phase].groups.push(group);
        }
        // Every phase's groups are ranges of the same threads.
        self.plan.workers = self.plan.workers.max(first);
    }

    fn group(
        &mut self,
        name: &str,
        range: (u32, u32),
        steps: &Node,
        phase: usize,
        words: Option<LoopWords>,
        measured: bool,
    ) -> GroupPlan {
        let engine = match self.phase_engine.clone() {
            Some(node) => self.engine_of(&node),
            None => 0,
        };
        let mut program = Program {
            engine,
            code: Vec::new(),
            phase: phase as u16,
            group: name.into(),
            workers: range,
            measured,
            current: None,
            leaving: Vec::new(),
        };
        self.around(&mut program, words, steps, true, |lower, program| lower.steps(program, steps));
        program.emit(Instr::End);
        GroupPlan { name: name.into(), workers: range, code: program.code, ends_phase: false, measured }
    }
}

fn expected(words: &Option<LoopWords>) -> Expected {
    match words.as_ref().map(|w| (w.until, w.ramp)) {
        Some((Until::Time(span), ramp)) => Expected::Time(span.saturating_add(ramp)),
        Some((Until::Times(n), _)) => Expected::Iterations(n),
        None => Expected::Iterations(1),
        _ => Expected::Unknown,
    }
}
