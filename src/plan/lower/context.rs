//! What the compiler knows while it walks a case: the plan so far, the sets by name, the program
//! being emitted, and every mistake found.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::names::did_you_mean;
use crate::profile::node::{Node, Place};

/// State of one compilation.
pub struct Lower {
    /// The plan so far.
    pub plan: Plan,
    /// Mistakes found, each once.
    pub problems: Vec<Diagnostic>,
    /// Sets that some step opens; the others that data steps name are kept open.
    pub opened: BTreeSet<SetId>,
    /// What data steps do with each set: read, write.
    pub data_use: Vec<(bool, bool)>,
    /// Whether the data steps of each set want its files open for direct I/O, and where they say so.
    pub direct_use: Vec<Vec<(Direct, Place)>>,
    /// Sets whose files a step opens without direct I/O.
    pub opened_buffered: BTreeSet<SetId>,
    /// The engine of the phase that is being compiled, where it names one.
    pub phase_engine: Option<Node>,
    /// Steps that work on a set, for what can only be said when all of them are known.
    pub on_sets: Vec<OnSet>,
    /// Sets whose own directory, or subdirectories, a step makes.
    pub made_dir: BTreeSet<SetId>,
    /// The same of their subdirectories.
    pub made_subdirs: BTreeSet<SetId>,
    /// Lists of files that were read from a file, by their index in the plan, and its path.
    pub own_lists: BTreeMap<u16, String>,
}

/// One step on a set.
pub struct OnSet {
    /// The set.
    pub set: SetId,
    /// Its verb.
    pub verb: &'static str,
    /// Its operands.
    pub args: u32,
    /// Where it stands.
    pub place: Place,
}

/// The program of one group of workers in one phase.
pub struct Program {
    /// Instructions so far.
    pub code: Vec<Instr>,
    /// Index of the phase.
    pub phase: u16,
    /// Name of the group; empty without groups.
    pub group: String,
    /// Its workers.
    pub workers: (u32, u32),
    /// Steps count.
    pub measured: bool,
    /// The engine of its transfers, unless a step names another.
    pub engine: u8,
    /// The set of the file opened last, as the steps are written.
    pub current: Option<SetId>,
    /// For each enclosing block the operands whose guards may leave it.
    pub leaving: Vec<Vec<u32>>,
}

impl Program {
    /// Where the next instruction will stand.
    pub fn here(&self) -> Pc {
        self.code.len() as Pc
    }

    /// Adds an instruction; returns where it stands.
    pub fn emit(&mut self, instr: Instr) -> Pc {
        let at = self.here();
        self.code.push(instr);
        at
    }
}

impl Lower {
    /// Notes a mistake, once.
    pub fn problem(&mut self, diagnostic: Diagnostic) {
        if !self.problems.contains(&diagnostic) {
            self.problems.push(diagnostic);
        }
    }

    /// The value, or a note of the mistake and a stand-in so that the walk can go on.
    pub fn or<T>(&mut self, result: Result<T, Diagnostic>, stand_in: T) -> T {
        match result {
            Ok(value) => value,
            Err(diagnostic) => {
                self.problem(diagnostic);
                stand_in
            }
        }
    }

    /// The same where there may be several mistakes.
    pub fn or_all<T>(&mut self, result: Result<T, Vec<Diagnostic>>, stand_in: T) -> T {
        match result {
            Ok(value) => value,
            Err(diagnostics) => {
                diagnostics.into_iter().for_each(|d| self.problem(d));
                stand_in
            }
        }
    }

    /// The set a node names.
    pub fn set_named(&mut self, node: &Node) -> Option<SetId> {
        let name = node.text().unwrap_or_default();
        let found = self.plan.sets.iter().position(|s| s.name == name);
        if found.is_none() {
            let known: Vec<&str> = self.plan.sets.iter().map(|s| s.name.as_str()).collect();
            let message = match node.text() {
                Some(name) => format!("no file set is called {name}"),
                None => format!("{} where a file set's name is expected", node.value.described()),
            };
            let help = did_you_mean(name, &known);
            self.problem(Diagnostic::error("unknown-set", &node.place, message).help(help));
        }
        found.map(|i| i as SetId)
    }

    /// Statistics under a key; the same key, the same statistics.
    pub fn stat(&mut self, program: &Program, key: &str, kind: StatKind, measured: bool) -> StatId {
        if !measured || !program.measured {
            return NO_STAT;
        }
        let stats = &mut self.plan.phases[usize::from(program.phase)].stats;
        let same = |s: &StatPlan| s.key == key && s.group == program.group && s.kind == kind;
        match stats.iter().position(same) {
            Some(i) => i as StatId,
            None => {
                stats.push(StatPlan { key: key.into(), group: program.group.clone(), kind, measured });
                (stats.len() - 1) as StatId
            }
        }
    }

    /// Keeps operands and where they stand.
    pub fn keep_args(&mut self, args: Args, node: &Node) -> u32 {
        self.plan.args.push(args);
        self.plan.places.push(place_text(&node.place.pointer));
        (self.plan.args.len() - 1) as u32
    }

    /// Index of a table, added where it is new.
    pub fn table(&mut self, table: Table) -> u32 {
        if let Some(i) = self.plan.tables.iter().position(|t| *t == table) {
            return i as u32;
        }
        self.plan.tables.push(table);
        (self.plan.tables.len() - 1) as u32
    }

    /// Index of a name, added where it is new.
    pub fn name(&mut self, segments: Vec<Segment>) -> NameId {
        if let Some(i) = self.plan.names.iter().position(|n| *n == segments) {
            return i as NameId;
        }
        self.plan.names.push(segments);
        (self.plan.names.len() - 1) as NameId
    }

    /// Notes that the workers of a program use a set.
    pub fn uses(&mut self, program: &Program, set: SetId) {
        let used_by = &mut self.plan.sets[usize::from(set)].used_by;
        if !used_by.contains(&program.workers) {
            used_by.push(program.workers);
        }
    }
}

/// `/phases/0/steps/1` as `phases[0].steps[1]`.
fn place_text(pointer: &str) -> String {
    let mut text = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty() {
            text.push_str(&format!("[{part}]"));
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    text
}
