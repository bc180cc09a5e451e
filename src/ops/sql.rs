//! Databases: a member of a set as a database, opened, told statements, closed.

use super::row::*;
use super::table::family;
use crate::os::sql_error::SqlError;
use crate::os::{Os, Stopping};
use crate::plan::instr::*;
use crate::profile::shape::{Kind, Verb};
use crate::vm::claims::ClaimUnit;
use crate::vm::fault::Flow;
use crate::vm::hand::CLOSED;
use crate::vm::worker::Worker;

/// Characters of a statement that a message shows.
const SHOWN: usize = 80;

family! {
    {
        verb: Verb {
            name: "sql",
            group: "databases",
            doc: "Has the database in hand perform a statement, or several with `;` between them, each one operation: {n} is the iteration of the innermost loop. With `engine: sqlite`, `open` and `close` are a connection.",
            object: Some(Kind::Text),
            bare: false,
            args: &[IN],
        },
        object: Object::Sql, counts: Counts::Operation, run: sql, needs_open: true,
    },
    {
        verb: Verb {
            name: "sql_file",
            group: "databases",
            doc: "Has the database in hand perform the statements of a file one after the other, each one operation. The file is read before the run.",
            object: Some(Kind::Text),
            bare: false,
            args: &[IN],
        },
        object: Object::SqlFile, counts: Counts::Operation, run: sql, needs_open: true,
    },
}

fn sql<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let Detail::Script(script) = args.detail else { return Flow::Next };
    let statements = plan.sql.scripts.get(script as usize).map_or(&[][..], Vec::as_slice);
    let db = worker.hands[usize::from(args.set)].file.fd;
    if db == CLOSED {
        return worker.fail("sql", None, None, None, Some("no database is open".into()));
    }
    let mut text = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        // The first one was allowed when the step began.
        if at > 0 && (worker.is_over() || !worker.may_go_on(ClaimUnit::Operations, 0)) {
            return Flow::Over;
        }
        text.clear();
        worker.render(&statement.pieces, &mut text);
        let result = match std::str::from_utf8(&text) {
            Ok(text) => worker.os.db_exec(db, text, worker.deadline.0),
            Err(_) => Err(SqlError::new(1, "the statement is not UTF-8")),
        };
        let flow = match result {
            Ok(()) => worker.settle(args, Ok(()), "sql"),
            // Undone, and no operation: what was looked at within it is looked at again.
            Err(error) if error.is_interrupt() => {
                worker.restart_clock();
                return Flow::Over;
            }
            Err(error) => failed(worker, args, "sql", *error, Some((&text, statement.line))),
        };
        if flow != Flow::Next {
            return flow;
        }
    }
    Flow::Next
}

/// An error of a database: one the step expects, or the end.
fn failed<O: Os>(
    worker: &mut Worker<O>,
    args: &Args,
    call: &'static str,
    error: SqlError,
    statement: Option<(&[u8], u32)>,
) -> Flow {
    if let Some(errno) = error.errno.filter(|errno| Worker::<O>::expects(args, *errno)) {
        return worker.settle(args, Err(errno), call);
    }
    worker.member_path(args.set);
    let mut message = error.to_string();
    if let Some((text, line)) = statement {
        let text = String::from_utf8_lossy(text);
        let cut: String = text.chars().take(SHOWN).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        let place = if line > 0 { format!(", line {line}") } else { String::new() };
        message.push_str(&format!(", in {cut:?}{more}{place}"));
    }
    let flow = worker.fail(call, None, None, error.errno, Some(message));
    if let Some(fault) = &mut worker.fault {
        fault.what_to_do = error.next_step();
    }
    flow
}

/// Makes a connection to a member of a set.
pub fn open<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let set = &plan.sets[usize::from(args.set)];
    if worker.pick(args.set, args.pick).is_none() {
        return worker.guarded(set.empty, "open", "the set has no database to open");
    }
    worker.lay_down(args.set);
    let dir = worker.member_path(args.set);
    let shared = std::sync::Arc::clone(&worker.shared);
    let stopping: Stopping = std::sync::Arc::new(move || shared.stopping());
    match worker.with_path(|os, path| os.db_open(dir, path, &plan.sql.pragmas, stopping)) {
        Ok(db) => {
            worker.hands[usize::from(args.set)].file.fd = db;
            worker.settle(args, Ok(()), "open")
        }
        Err(error) => failed(worker, args, "open", *error, None),
    }
}

/// Ends the connection in hand.
pub fn close<O: Os>(worker: &mut Worker<O>, args: &Args) -> Flow {
    let file = &mut worker.hands[usize::from(args.set)].file;
    let db = std::mem::replace(&mut file.fd, CLOSED);
    if db == CLOSED {
        return worker.settle(args, Err(crate::os::Errno(libc::EBADF)), "close");
    }
    match worker.os.db_close(db) {
        Ok(()) => worker.settle(args, Ok(()), "close"),
        Err(error) => failed(worker, args, "close", *error, None),
    }
}
