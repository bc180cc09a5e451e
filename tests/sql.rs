//! Databases as a user meets them: what a profile may say of them, what is counted, what an error
//! leaves behind.

mod common;
mod program;

use common::pipeline::{facts, plans, simulate, total};
use common::skip;
use ioscore::os::sim::{Effect, Op, Options, Rule, Script, When};
use ioscore::vm::random::StreamKey;
use program::{Place, rows};

/// A profile with these files and steps.
fn profile(files: &str, steps: &str) -> String {
    format!(
        "profile: p\nversion: 1.0.0\ntitle: P\nsummary: A test of tests.\n\
         params: {{file: {{type: file, default: tests/language/statements.sql}}}}\n\
         engine: {{name: sqlite, pragmas: {{journal_mode: wal}}}}\nworkers: 2\nfiles: {{{files}}}\n\
         phases: [{{phase: work, steps: [{steps}]}}]\n\
         results: [{{name: Rate, value: work.ops.rate, better: higher}}]\n"
    )
}

const DB: &str = "db: {per: worker, count: 1, name: db}";

fn mistakes(files: &str, steps: &str) -> String {
    plans("p.yaml", &profile(files, steps), &[]).expect_err(steps)
}

#[test]
fn mistakes_are_told_before_anything_is_run() {
    assert_eq!(facts().cpus, 4);
    let other = "db: {per: worker, count: 1, name: db}, a: {per: worker, count: 1, size: 4KiB}";
    let cases = [
        (DB, "{sql: SELECT 1}", "no step opens db"),
        (DB, "{open: db}, {sql: SELECT 1}, {write: 4KiB}", "write works on plain files"),
        (DB, "{open: db}, {sql: SELECT 1}, fsync", "fsync works on plain files"),
        (DB, "{open: db}, {sql: SELECT 1}, {link: db}", "link works on plain files"),
        (DB, "{create: db}, {sql: SELECT 1}, {open: db}", "create works on plain files"),
        (DB, "{open: db, mode: rw}, {sql: SELECT 1}", "SQLite itself opens them"),
        (DB, "{open: db, buffer: stdio}, {sql: SELECT 1}", "SQLite itself opens them"),
        (DB, "{open: db, name: other}, {sql: SELECT 1}", "SQLite itself opens them"),
        (DB, "{open: db}, {sql: '; -- nothing'}", "there is no statement in it"),
        (DB, "{open: db}, {sql: \"SELECT '{m}'\"}", "unknown placeholder {m}"),
        (DB, "{open: db}, {sql: ' attach ''x'' as y'}", "ATTACH is denied"),
        (DB, "{open: db}, {sql: 'SELECT 1; DETACH x'}", "DETACH is denied"),
        (DB, "{open: db}, {sql_file: /no/such/file}", "ENOENT"),
        (DB, "{open: db}, {sql_file: /dev/zero}", "it is no regular file"),
        (DB, "{open: db}, {sql_file: /}", "it is no regular file"),
        ("db: {count: 1, name: db}", "{open: db}, {sql: SELECT 1}", "2 workers share db"),
        ("db: {where: memory, per: worker}", "{open: db}, {sql: SELECT 1}", "a database is a file"),
        (other, "{open: a}, {sql: SELECT 1}, {open: db}, {read: 4KiB, in: a}", "read works on plain files"),
    ];
    for (files, steps, message) in cases {
        let said = mistakes(files, steps);
        assert!(said.contains(message), "{steps}:\n{said}");
    }
    let text = profile(DB, "{open: db}, {sql: SELECT 1}");
    let elsewhere = text.replace("{name: sqlite, pragmas: {journal_mode: wal}}", "sync");
    let said = plans("p.yaml", &elsewhere, &[]).unwrap_err();
    assert!(said.contains("sql needs the engine sqlite, here the engine is sync"), "{said}");
    let said = plans("p.yaml", &text.replace("name: sqlite", "name: sync"), &[]).unwrap_err();
    assert!(said.contains("has no databases that pragmas"), "{said}");
    let said =
        plans("p.yaml", &text.replace("journal_mode: wal", "journal_mode: 'wal; x'"), &[]).unwrap_err();
    assert!(said.contains("is no setting"), "{said}");
}

#[test]
fn other_sets_of_the_case_hold_plain_files() {
    let files = "db: {per: worker, count: 1, name: db}, a: {per: worker, count: 1, size: 4KiB}";
    let steps = "{open: db}, {sql: CREATE TABLE t(x)}, {close: db}, {open: a}, {read: 4KiB}, {close: a}";
    let plan = plans("p.yaml", &profile(files, steps), &[]).unwrap().remove(0).1;
    let (run, _) = simulate(&plan, Options::default(), StreamKey::default());
    assert_eq!(run.fault, None);
    assert_eq!(total(&plan, &run, "work", "read", |stat| stat.bytes), 8192);
}

#[test]
fn each_statement_is_one_operation() {
    let steps = "{open: db}, {sql_file: '{{ file }}', label: load}, \
                 {repeat: 3, steps: [{sql: \"INSERT INTO t VALUES ('{n}', {worker}); SELECT 1\", label: insert}]}, close";
    let plan = plans("p.yaml", &profile(DB, steps), &[]).unwrap().remove(0).1;
    let options = Options { trace: 100, ..Options::default() };
    let (run, disk) = simulate(&plan, options, StreamKey::default());
    assert_eq!(run.fault, None);
    let count = |key| total(&plan, &run, "work", key, |stat| stat.ops);
    assert_eq!((count("load"), count("insert"), count("open"), count("close")), (2 * 4, 2 * 6, 2, 2));
    let latencies = total(&plan, &run, "work", "insert", |stat| stat.latency.count());
    assert_eq!(latencies, 12);
    let second: Vec<String> =
        disk.trace().iter().filter(|event| event.worker == 1).map(ToString::to_string).collect();
    let inserts: Vec<&String> =
        second.iter().filter(|text| text.contains("INSERT INTO t VALUES ('")).collect();
    assert_eq!(inserts.len(), 3, "{second:#?}");
    assert_eq!(*inserts[2], "1 sql 1/db \"INSERT INTO t VALUES ('3', 1)\" = ok");
    assert!(second.iter().any(|text| text == "1 db_open 1/db \"journal_mode=wal\" = ok"), "{second:#?}");
}

#[test]
fn a_simulated_disk_without_room_ends_the_case() {
    let plan = plans("p.yaml", &profile(DB, "{open: db}, {repeat: 9, steps: [{sql: SELECT 1}]}"), &[]);
    let plan = plan.unwrap().remove(0).1;
    let full = Rule {
        op: Op::Sql,
        when: When::Nth(5),
        effect: Effect::Errno(ioscore::os::Errno(libc::ENOSPC)),
        worker: Some(0),
    };
    let script = Script { rules: vec![full], ..Script::default() };
    let (run, _) = simulate(&plan, Options { script, ..Options::default() }, StreamKey::default());
    let (_, fault) = run.fault.expect("it fails");
    assert!(fault.message.is_some_and(|text| text.starts_with("SQLITE_FULL (13)")), "{:?}", fault.errno);
    assert!(fault.what_to_do.is_some_and(|text| text.contains("make room")));
}

const ERRORS: &str = "\
profile: errors
version: 1.0.0
title: Errors
summary: A test of tests.
params: {statement: {type: text, default: SELECT 1}, journal: {type: text, default: delete}}
cases:
  - {id: fine, title: Fine}
  - {id: syntax, title: Syntax, with: {statement: INSRT INTO t VALUES (1)}}
  - {id: constraint, title: Constraint, with: {statement: INSERT INTO t VALUES (1)}}
  - {id: denied, title: Denied, with: {statement: VACUUM INTO 'other'}}
  - {id: mode, title: Mode, with: {journal: sideways}}
  - {id: after, title: After}
engine: {name: sqlite, pragmas: {journal_mode: \"{{ journal }}\"}}
files:
  db: {per: worker, count: 1, name: db}
phases:
  - phase: work
    steps:
      - {open: db}
      - {sql: CREATE TABLE t(x UNIQUE); INSERT INTO t VALUES (1)}
      - {sql: \"{{ statement }}\", label: tested}
      - close
results:
  - {name: Rate, value: work.tested.ops.rate, better: higher, primary: true}
";

#[test]
fn an_error_ends_its_own_row_and_the_next_one_runs() {
    let place = Place::with(&[ERRORS]);
    place.run("one", &["errors.yaml"]).expect(1);
    assert_eq!(
        place.statuses("one"),
        ["fine: ok", "syntax: failed", "constraint: failed", "denied: failed", "mode: failed", "after: ok"]
    );
    let record = place.record("one");
    let rows = rows(&record);
    let used = rows[0]["engine"]["used"].as_str().expect("the engine is told");
    assert!(used.starts_with("sqlite 3."), "{used}");
    let expected = [
        (
            1,
            "work.tested",
            "SQLITE_ERROR (1): near \"INSRT\": syntax error, in \"INSRT INTO t VALUES (1)\"",
            "correct",
        ),
        (2, "work.tested", "SQLITE_CONSTRAINT_UNIQUE (2067): UNIQUE constraint failed: t.x", "a row breaks"),
        (3, "work.tested", "SQLITE_AUTH (23): VACUUM INTO is denied", "leave the statement out"),
        (
            4,
            "work.open",
            "the pragma journal_mode=sideways did not take effect: journal_mode is delete",
            "correct",
        ),
    ];
    for (row, step, message, todo) in expected {
        let reason = &rows[row]["reason"];
        let text = |key: &str| reason[key].as_str().unwrap_or_default().to_string();
        assert!(text("step").starts_with(step), "{reason}");
        assert!(text("message").contains(message), "{reason}");
        assert!(text("what_to_do").contains(todo), "{reason}");
        assert_eq!(text("path"), "db", "{reason}");
    }
    assert_eq!(place.left(), [""; 0]);
}

const FULL: &str = "\
profile: full
version: 1.0.0
title: Full
summary: A test of tests.
params: {rows: {type: count, default: 1}}
cases:
  - {id: big, title: Big, with: {rows: 400}}
  - {id: little, title: Little}
engine: sqlite
files:
  db: {per: worker, count: 1, name: db}
phases:
  - phase: work
    steps:
      - {open: db}
      - {sql: CREATE TABLE t(x)}
      - {repeat: \"{{ rows }}\", steps: [{sql: INSERT INTO t VALUES (zeroblob(10000)), label: insert}]}
      - close
results:
  - {name: Rate, value: work.insert.ops.rate, better: higher, primary: true}
";

#[test]
fn a_full_disk_fails_the_case_and_the_next_one_runs() {
    let place = Place::with(&[FULL]);
    let script = "mount -t tmpfs -o size=1m none t && \"$0\" run full.yaml --target t --runs 1 --name one";
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_ioscore")]).current_dir(place.path());
    let output = command.output().expect("the shell starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare") || said.contains("mount:") {
        skip("sql::a_full_disk_fails_the_case_and_the_next_one_runs", "mounting needs root");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(place.statuses("one"), ["big: failed", "little: ok"]);
    let record = place.record("one");
    let reason = &rows(&record)[0]["reason"];
    let message = reason["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("sql: SQLITE_FULL (13): database or disk is full, in"), "{reason}");
    assert_eq!(reason["errno"], "ENOSPC");
    assert!(reason["step"].as_str().is_some_and(|step| step.starts_with("work.insert")), "{reason}");
    assert!(reason["what_to_do"].as_str().is_some_and(|text| text.contains("make room")), "{reason}");
}

#[test]
fn a_file_that_the_user_names_is_checked_when_it_is_named() {
    let text = "profile: own\nversion: 1.0.0\ntitle: Own\nsummary: A test of tests.\n\
                params: {statements: {type: file}}\nengine: sqlite\nfiles: {db: {per: worker, count: 1, name: db}}\n\
                phases: [{phase: work, steps: [{open: db}, {sql_file: '{{ statements }}', label: load}, close]}]\n\
                results: [{name: Rate, value: work.load.ops.rate, better: higher}]\n";
    let place = Place::with(&[text]);
    place.call(&["check", "own.yaml"]).expect(0);
    place.run("one", &["own.yaml", "--set", "statements=none.sql"]).expect(2).says(&["none.sql", "ENOENT"]);
    place.write("some.sql", "CREATE TABLE t(x);\nINSERT INTO t VALUES (1);\nINSERT INTO u VALUES (1);\n");
    place.run("two", &["own.yaml", "--set", "statements=some.sql"]).expect(1);
    let record = place.record("two");
    let message = rows(&record)[0]["reason"]["message"].as_str().unwrap_or_default();
    assert_eq!(message, "sql: SQLITE_ERROR (1): no such table: u, in \"INSERT INTO u VALUES (1)\", line 3");
    place.write("some.sql", "CREATE TABLE t(x);\nINSERT INTO t VALUES (1);\n");
    place.run("three", &["own.yaml", "--set", "statements=some.sql"]).expect(0);
}

/// Statements that would run for ever: with a time limit, and until somebody stops the program.
const ENDLESS: &str = "\
profile: endless
version: 1.0.0
title: Endless
summary: A test of tests.
params: {time: {type: duration, default: 100ms}}
cases:
  - {id: limited, title: Limited}
  - {id: endless, title: Endless, with: {time: 1000h}}
  - {id: after, title: After}
engine: sqlite
files:
  db: {per: worker, count: 1, name: db}
phases:
  - phase: make
    steps: [{open: db}, {sql: CREATE TABLE t(x)}]
  - phase: work
    for: \"{{ time }}\"
    steps:
      - {sql: INSERT INTO t VALUES (1), label: insert}
      - label: long
        sql: >-
          INSERT INTO t WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)
          SELECT max(x) FROM c
  - phase: look
    steps: [{sql: SELECT count(*) FROM t}, close]
results:
  - {name: Inserts, value: work.insert.ops.total, better: higher, primary: true}
  - {name: Long, value: work.long.ops.total, better: higher}
  - {name: Looks, value: look.sql.ops.total, better: higher}
";

#[test]
fn a_statement_that_runs_for_ever_ends_with_its_phase_and_with_the_program() {
    let place = Place::with(&[ENDLESS]);
    let runs = |place: &Place| {
        let first = place.record_path("one").exists() && place.statuses("one")[0] == "limited: ok";
        // The database of the case that is never done.
        first && place.left().iter().any(|dir| place.path().join("t").join(dir).join("work/0/db").exists())
    };
    let arguments = ["run", "endless.yaml", "--target", "t", "--runs", "1", "--name", "one"];
    let running = place.start(&arguments, runs);
    running.signal("INT");
    running.wait().expect(130);
    assert_eq!(place.statuses("one"), ["limited: ok", "endless: interrupted", "after: interrupted"]);
    let record = place.record("one");
    let values: Vec<_> = rows(&record)[0]["metrics"]
        .as_array()
        .expect("metrics")
        .iter()
        .map(|m| m["value"].as_f64())
        .collect();
    // What the limit cut short is no operation, and the connection goes on after it.
    assert_eq!(values, [Some(1.0), None, Some(1.0)]);
    assert_eq!(place.left(), [""; 0]);
}
