//! Databases: statements, their files, settings of connections, and what may be done with a set
//! whose files are databases.

use std::io::Read;

use super::context::{Lower, Program};
use super::statements::cut;
use super::values::segment;
use crate::ops::row::Row;
use crate::plan::instr::*;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::Node;
use crate::profile::{template, units};

/// The engine that has databases.
const ENGINE: &str = "sqlite";
/// Bytes of the longest file of statements: the plan holds them.
const LONGEST_FILE: u64 = 64 << 20;
/// What can be done with a set whose files are databases.
const WITH_DATABASES: [&str; 8] = ["open", "close", "sql", "sql_file", "stat", "unlink", "list", "fsync_dir"];

impl Lower {
    /// The object of `sql`: statements in which placeholders are filled at run time.
    pub fn sql(&mut self, program: &Program, row: &Row, node: &Node) -> Detail {
        self.needs_sqlite(program, row, node);
        let compiled = template::compile(node, template::Purpose::Sql);
        let pieces = self.or(compiled, Vec::new()).into_iter().map(segment).collect();
        self.script(cut(pieces, 0), node)
    }

    /// The object of `sql_file`: a file of statements, read now.
    pub fn sql_file(&mut self, program: &Program, row: &Row, node: &Node) -> Detail {
        self.needs_sqlite(program, row, node);
        let path = units::text(node);
        let path = self.or(path, String::new());
        match read(&path) {
            Ok(text) => self.script(cut(vec![Segment::Literal(text.into_bytes())], 1), node),
            Err(why) => {
                let message = format!("the file of statements {path:?} cannot be read: {why}");
                self.problem(Diagnostic::error("unreadable-file", &node.place, message));
                Detail::Nothing
            }
        }
    }

    fn script(&mut self, statements: Vec<Statement>, node: &Node) -> Detail {
        if statements.is_empty() {
            self.problem(Diagnostic::error("no-statement", &node.place, "there is no statement in it"));
        }
        for statement in &statements {
            let Some(word) = denied(statement) else { continue };
            let place = match statement.line {
                0 => String::new(),
                line => format!(" (line {line})"),
            };
            let message =
                format!("{word} is denied: a test works in its own database and nowhere else{place}");
            self.problem(Diagnostic::error("denied-statement", &node.place, message).help("leave it out"));
        }
        self.plan.sql.scripts.push(statements);
        Detail::Script((self.plan.sql.scripts.len() - 1) as u32)
    }

    fn needs_sqlite(&mut self, program: &Program, row: &Row, node: &Node) {
        let engine = self.plan.engines.get(usize::from(program.engine)).map_or("sync", |e| &e.name);
        if engine != ENGINE {
            let message = format!("{} needs the engine {ENGINE}, here the engine is {engine}", row.verb.name);
            self.problem(
                Diagnostic::error("wrong-engine", &node.place, message)
                    .help(format!("write `engine: {ENGINE}` in the profile or the phase")),
            );
        }
    }

    /// `pragmas:` of an engine.
    pub fn pragmas(&mut self, node: &Node, engine: &str) {
        if engine != ENGINE {
            let message = format!("the engine {engine} has no databases that pragmas could be set for");
            self.problem(
                Diagnostic::error("useless-key", &node.place, message)
                    .at_key()
                    .help(format!("they belong to `name: {ENGINE}`")),
            );
            return;
        }
        let mut pragmas = Vec::new();
        for (name, value) in node.entries() {
            let text = units::text(value);
            let text = self.or(text, String::new());
            let word = |text: &str, more: &[u8]| {
                !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
            };
            if !word(name, b"_") || !word(&text, b"_-+.") {
                let message =
                    format!("{name}: {text:?} is no setting: a pragma is one word, its value another");
                self.problem(
                    Diagnostic::error("invalid-pragma", &value.place, message)
                        .help("for example `journal_mode: wal`"),
                );
            }
            pragmas.push((name.clone(), text));
        }
        if !self.plan.sql.pragmas.is_empty() && self.plan.sql.pragmas != pragmas {
            let message = "two engines of one case set different pragmas";
            self.problem(Diagnostic::error("two-settings", &node.place, message).help("set them once"));
        }
        self.plan.sql.pragmas = pragmas;
    }

    /// Finds the sets whose files are databases, and holds every step on them against what can be
    /// done with one.
    pub fn databases(&mut self) {
        let sql = |verb: &str| matches!(verb, "sql" | "sql_file");
        let mut found: Vec<SetId> = self.on_sets.iter().filter(|s| sql(s.verb)).map(|s| s.set).collect();
        found.sort_unstable();
        found.dedup();
        let mut problems = Vec::new();
        for step in self.on_sets.iter().filter(|step| found.contains(&step.set)) {
            let Some(set) = self.plan.sets.get(usize::from(step.set)) else { continue };
            let mut problem = |code, message: String, help: &str| {
                problems.push(Diagnostic::error(code, &step.place, message).help(help.to_string()));
            };
            let workers = set.used_by.iter().map(|(a, b)| b - a).sum::<u32>();
            let name = &set.name;
            if sql(step.verb) && set.memory {
                problem(
                    "no-database",
                    format!("{name} is in memory, a database is a file"),
                    "leave out `where`",
                );
            } else if sql(step.verb) && !set.per_worker && workers > 1 {
                problem(
                    "shared-database",
                    format!("{workers} workers share {name}, a database is one worker's own"),
                    "write `per: worker` in the set",
                );
            } else if sql(step.verb) && !self.opened.contains(&step.set) {
                problem(
                    "nothing-open",
                    format!("{} needs a connection, and no step opens {name}", step.verb),
                    "put `open: SET` before it",
                );
            } else if !WITH_DATABASES.contains(&step.verb) {
                problem(
                    "not-on-a-database",
                    format!("the files of {name} are databases: {} works on plain files", step.verb),
                    "take another set, or say it with `sql`",
                );
            } else if step.verb == "open"
                && let Some(args) = self.plan.args.get(step.args as usize)
                && (args.opening.flags & !libc::O_DIRECT != 0 || args.opening.stdio || args.name != NO_NAME)
            {
                problem(
                    "not-on-a-database",
                    format!(
                        "the files of {name} are databases: SQLite itself opens them, reading and writing"
                    ),
                    "leave out `mode`, `flags`, `buffer` and `name`",
                );
            }
        }
        problems.into_iter().for_each(|problem| self.problem(problem));
        self.plan.sql.databases = found;
    }
}

/// A statement that would be denied when it is performed, as far as its first word tells.
fn denied(statement: &Statement) -> Option<&'static str> {
    let Some(Segment::Literal(text)) = statement.pieces.first() else { return None };
    let first: Vec<u8> =
        text.iter().take_while(|b| b.is_ascii_alphabetic()).take(7).map(u8::to_ascii_uppercase).collect();
    ["ATTACH", "DETACH"].into_iter().find(|word| word.as_bytes() == first)
}

fn read(path: &str) -> Result<String, String> {
    let error = |error: std::io::Error| match error.raw_os_error() {
        Some(number) => crate::os::Errno(number).to_string(),
        None => error.to_string(),
    };
    // A pipe would be waited for, a device never ends.
    let about = std::fs::metadata(path).map_err(error)?;
    if !about.is_file() {
        return Err("it is no regular file".into());
    }
    let file = std::fs::File::open(path).map_err(error)?;
    let mut text = Vec::new();
    file.take(LONGEST_FILE + 1).read_to_end(&mut text).map_err(error)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(format!("it is longer than {}", units::format_size(LONGEST_FILE)));
    }
    if text.contains(&0) {
        return Err("it holds a zero byte: it is no text".into());
    }
    String::from_utf8(text).map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to()))
}
