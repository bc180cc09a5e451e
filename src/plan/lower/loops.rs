//! The one loop of the language, wherever it stands: `repeat`, `for`, `until`, with `ramp` and
//! `rate`.

use super::context::{Lower, Program};
use crate::ops::row::Counts;
use crate::os::Nanos;
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::units;

/// What a loop over steps or phases says.
#[derive(Clone, Debug)]
pub struct LoopWords {
    /// When it ends.
    pub until: Until,
    /// Uncounted time in front, nanoseconds.
    pub ramp: Nanos,
    /// The rate it keeps; `None` where it goes as fast as it can.
    pub pace: Option<PacePlan>,
    /// The budget that several programs count into; `None` gives each its own.
    pub budget: Option<u16>,
}

impl Lower {
    /// The loop a map describes; `None` where it describes none.
    pub fn loop_words(&mut self, node: &Node) -> Option<LoopWords> {
        self.loop_words_within(node, None)
    }

    /// The loop a map describes. One without an end of its own has the outer one's, with the rate
    /// it says itself.
    pub fn loop_words_within(&mut self, node: &Node, outer: Option<LoopWords>) -> Option<LoopWords> {
        let ends: Vec<&str> =
            ["repeat", "for", "until"].into_iter().filter(|key| node.get(key).is_some()).collect();
        if ends.len() > 1 {
            let message = format!("a loop ends in one way; found {}", ends.join(" and "));
            self.problem(Diagnostic::error("two-ends", &node.place, message));
        }
        let ramp = self.optional(node, "ramp", units::duration).unwrap_or(0);
        let pace = node.get("rate").and_then(|n| self.pace(n));
        let until = match ends.first() {
            Some(&"repeat") => Until::Times(self.optional(node, "repeat", units::count).unwrap_or(1)),
            Some(&"for") => Until::Time(self.optional(node, "for", units::duration).unwrap_or(0)),
            Some(_) => match node.get("until") {
                Some(n) => self.until(n),
                None => Until::Times(1),
            },
            None => {
                if let Some(outer) = outer {
                    return Some(LoopWords { pace: pace.or(outer.pace), ..outer });
                }
                for key in ["ramp", "rate"] {
                    if let Some(n) = node.get(key)
                        && (key == "ramp" || pace.is_some())
                    {
                        self.problem(
                            Diagnostic::error("no-loop", &n.place, format!("{key} needs a loop"))
                                .at_key()
                                .help("add `repeat`, `for` or `until`"),
                        );
                    }
                }
                return None;
            }
        };
        Some(LoopWords { until, ramp, pace, budget: None })
    }

    fn until(&mut self, node: &Node) -> Until {
        if node.text() == Some("exhausted") {
            return Until::Exhausted;
        }
        let each = node.get("each").is_some_and(|n| n.value == Value::Bool(true));
        let mut ends = Vec::new();
        for (key, value) in node.entries() {
            ends.push(match key.as_str() {
                "bytes" => Until::Bytes { total: self.or(units::size(value), 0), each },
                "ops" => Until::Ops { total: self.or(units::count(value), 0), each, data: true },
                // No pass is over before its first transfer: none are none at all.
                "passes" => match self.or(units::count(value), 1) {
                    0 => Until::Times(0),
                    n => Until::Passes(n),
                },
                "exhausted" => Until::Exhausted,
                "steady" => self.steady(value),
                _ => continue,
            });
        }
        match ends.as_slice() {
            [one] => *one,
            _ => {
                let message = format!("`until` names one end; found {}", ends.len());
                self.problem(
                    Diagnostic::error("two-ends", &node.place, message)
                        .help("one of bytes, ops, passes, exhausted, steady"),
                );
                Until::Times(1)
            }
        }
    }

    fn steady(&mut self, node: &Node) -> Until {
        let within = self.optional(node, "within", units::percent).unwrap_or(0.1);
        let window = self.optional(node, "window", units::duration).unwrap_or(5_000_000_000);
        let at_most = self.optional(node, "at_most", units::duration).unwrap_or(FOR_EVER);
        Until::Steady {
            windows: (window / 1_000_000_000).clamp(2, 3600) as u32,
            within: (within * 1000.0).round() as u32,
            at_most,
        }
    }

    fn pace(&mut self, node: &Node) -> Option<PacePlan> {
        let ops = self.optional(node, "ops", units::count);
        let bytes = self.optional(node, "bytes", units::size);
        // A rate whose amount is null is no rate.
        if ops.is_none() && bytes.is_none() {
            return None;
        }
        if ops.is_some() && bytes.is_some() {
            self.problem(Diagnostic::error("two-rates", &node.place, "a rate counts ops or bytes, not both"));
        }
        if ops == Some(0) || bytes == Some(0) {
            self.problem(
                Diagnostic::error("invalid-rate", &node.place, "at a rate of 0 nothing ever happens")
                    .help("leave the rate out for as fast as it goes"),
            );
        }
        Some(PacePlan {
            ops: ops.unwrap_or(0) as f64,
            bytes: bytes.unwrap_or(0) as f64,
            poisson: node.get("spacing").and_then(Node::text) == Some("poisson"),
            debt: node.get("debt").is_none_or(|n| n.value != Value::Bool(false)),
        })
    }

    /// Emits a loop around what `body` emits; without words, the body once. Guards that skip
    /// leave one iteration.
    pub fn around(
        &mut self,
        program: &mut Program,
        words: Option<LoopWords>,
        node: &Node,
        phase: bool,
        body: impl FnOnce(&mut Lower, &mut Program),
    ) {
        let Some(words) = words else {
            self.leavable(program, body);
            return;
        };
        let budget = self.budget_of(&words).unwrap_or(0);
        let id = self.plan.loops.len() as u16;
        self.plan.loops.push(LoopPlan { until: words.until, ramp: words.ramp, budget, phase });
        let start = program.emit(Instr::LoopStart { id, exit: 0 });
        let head = program.here();
        let pace = words.pace.map(|pace| {
            self.plan.paces.push(pace);
            (self.plan.paces.len() - 1) as u16
        });
        if let Some(id) = pace {
            program.emit(Instr::Pace { id });
        }
        self.leavable(program, body);
        if let Some(pace) = pace {
            self.pace_replays(&program.code[head as usize..], pace);
        }
        program.emit(Instr::LoopNext { id, head });
        let exit = program.emit(Instr::LoopEnd { id });
        program.code[start as usize] = Instr::LoopStart { id, exit };
        self.note_what_counts(id, &program.code[head as usize..], node);
    }

    /// The budget of an end that workers share; given out once for each loop that is written.
    pub fn budget_of(&mut self, words: &LoopWords) -> Option<u16> {
        match words.until {
            Until::Ops { each: false, .. } | Until::Bytes { each: false, .. } => {
                Some(words.budget.unwrap_or_else(|| {
                    self.plan.budgets += 1;
                    self.plan.budgets - 1
                }))
            }
            _ => None,
        }
    }

    /// Where no data moves, operations of any kind count; something has to.
    fn note_what_counts(&mut self, id: u16, code: &[Instr], node: &Node) {
        let counts = |instr: &Instr| match instr {
            _ if self.replay_of(instr).is_some() => Some(Counts::Data),
            Instr::Op { op, .. } => crate::ops::rows().nth(usize::from(*op)).map(|row| row.counts),
            _ => None,
        };
        let moves = code.iter().any(|instr| counts(instr) == Some(Counts::Data));
        let does = moves || code.iter().any(|instr| counts(instr) == Some(Counts::Operation));
        let Some(lp) = self.plan.loops.get_mut(usize::from(id)) else { return };
        let (what, comes) = match &mut lp.until {
            Until::Ops { data, .. } => {
                *data = moves;
                ("operation", does)
            }
            Until::Bytes { .. } => ("byte", moves),
            Until::Passes(_) => ("pass", moves),
            Until::Exhausted => ("exhaustion", does),
            _ => return,
        };
        if !comes {
            let message = format!("this loop never ends: nothing in it brings one {what} more");
            self.problem(Diagnostic::error("endless", &node.place, message));
        }
    }

    /// Emits what guards of the steps directly in it may leave.
    pub fn leavable(&mut self, program: &mut Program, body: impl FnOnce(&mut Lower, &mut Program)) {
        program.leaving.push(Vec::new());
        body(self, program);
        let end = program.here();
        for index in program.leaving.pop().unwrap_or_default() {
            if let Some(args) = self.plan.args.get_mut(index as usize) {
                args.skip_to = end;
            }
        }
    }
}
