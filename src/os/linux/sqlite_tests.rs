use super::*;
use std::os::fd::AsRawFd;

/// A directory with `db` in it, and the directory's descriptor.
fn place() -> (tempfile::TempDir, std::fs::File) {
    let dir = tempfile::tempdir().unwrap();
    let open = std::fs::File::open(dir.path()).unwrap();
    (dir, open)
}

fn opened(dir: &std::fs::File, pragmas: &[(&str, &str)]) -> SqlCall<Connection> {
    let pragmas: Vec<_> = pragmas.iter().map(|(a, b)| ((*a).to_string(), (*b).to_string())).collect();
    Connection::open(dir.as_raw_fd(), c"db", &pragmas)
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The first value a statement gives.
fn answer(db: &mut Connection, statement: &str) -> String {
    let mut text = None;
    db.run(statement, &mut |value| text = text.take().or(Some(value))).unwrap();
    text.unwrap_or_default()
}

#[test]
fn statements_are_performed_and_their_errors_have_names() {
    let (_dir, open) = place();
    let mut db = opened(&open, &[]).unwrap();
    db.exec("CREATE TABLE a(x INTEGER PRIMARY KEY, y TEXT NOT NULL)", Nanos::MAX).unwrap();
    db.exec("INSERT INTO a VALUES (1, 'one'), (2, 'two')", Nanos::MAX).unwrap();
    assert_eq!(answer(&mut db, "SELECT count(*) FROM a"), "2");
    let failed = |db: &mut Connection, text| db.exec(text, Nanos::MAX).unwrap_err().to_string();
    assert_eq!(
        failed(&mut db, "INSERT INTO a VALUES (1, 'again')"),
        "SQLITE_CONSTRAINT_PRIMARYKEY (1555): UNIQUE constraint failed: a.x"
    );
    assert_eq!(
        failed(&mut db, "INSERT INTO a VALUES (3, NULL)"),
        "SQLITE_CONSTRAINT_NOTNULL (1299): NOT NULL constraint failed: a.y"
    );
    assert_eq!(failed(&mut db, "INSRT INTO a"), "SQLITE_ERROR (1): near \"INSRT\": syntax error");
    assert_eq!(failed(&mut db, "SELECT * FROM b"), "SQLITE_ERROR (1): no such table: b");
    // It goes on after an error.
    assert_eq!(answer(&mut db, "SELECT y FROM a WHERE x = 2"), "two");
    db.close().unwrap();
    let mut again = opened(&open, &[]).unwrap();
    assert_eq!(answer(&mut again, "SELECT count(*) FROM a"), "2");
}

#[test]
fn nothing_outside_can_be_reached() {
    let (dir, open) = place();
    let mut db = opened(&open, &[]).unwrap();
    db.exec("CREATE TABLE a(x)", Nanos::MAX).unwrap();
    db.exec("INSERT INTO a VALUES ('VACUUM')", Nanos::MAX).unwrap();
    let outside = tempfile::tempdir().unwrap();
    let other = outside.path().join("other").display().to_string();
    let hostile = [
        (format!("ATTACH '{other}' AS o"), "ATTACH is denied"),
        ("ATTACH '' AS o".into(), "ATTACH is denied"),
        ("ATTACH ':memory:' AS o".into(), "ATTACH is denied"),
        ("attach database 'file:other?mode=rwc' as o".into(), "ATTACH is denied"),
        (format!("ATTACH '{}' || 'x' AS o", outside.path().display()), "ATTACH is denied"),
        (format!("/* VACUUM */ ATTACH '{other}' AS vacuum"), "ATTACH is denied"),
        ("DETACH main".into(), "DETACH is denied"),
        (format!("VACUUM INTO '{other}'"), "VACUUM INTO is denied"),
        (format!("vacuum main into '{other}'"), "VACUUM INTO is denied"),
        (format!("VACUUM INTO (SELECT '{other}')"), "VACUUM INTO is denied"),
        (format!("SELECT load_extension('{other}')"), "load_extension is denied"),
        (format!("SELECT LOAD_EXTENSION('{other}', 'f')"), "load_extension is denied"),
        (format!("PRAGMA temp_store_directory = '{}'", outside.path().display()), "denied"),
        ("PRAGMA temp_store_directory".into(), "denied"),
        (format!("PRAGMA data_store_directory = '{}'", outside.path().display()), "denied"),
        ("PRAGMA Temp_Store = FILE".into(), "denied"),
        ("PRAGMA main.temp_store = 1".into(), "denied"),
        ("PRAGMA trusted_schema = ON".into(), "denied"),
        ("PRAGMA hard_heap_limit = 1000".into(), "denied"),
        (format!("SELECT writefile('{other}', 'x')"), "no such function"),
        ("SELECT readfile('/etc/passwd')".into(), "no such function"),
        ("SELECT edit('x')".into(), "no such function"),
        (format!("CREATE VIRTUAL TABLE v USING csv(filename='{other}')"), "no such module"),
        ("SELECT fts3_tokenizer('simple', x'0000000000000000')".into(), "disabled"),
        (format!(".backup {other}"), "syntax error"),
    ];
    for (statement, why) in hostile {
        let error = db.exec(&statement, Nanos::MAX).expect_err(&statement).to_string();
        assert!(error.to_lowercase().contains(&why.to_lowercase()), "{statement}: {error}");
    }
    assert_eq!(names(&outside), [""; 0]);
    assert_eq!(names(&dir), ["db"]);
    // What they look like is allowed.
    db.exec("VACUUM", Nanos::MAX).unwrap();
    db.exec("INSERT INTO a VALUES ('ATTACH ''x'' AS y')", Nanos::MAX).unwrap();
    assert_eq!(answer(&mut db, "PRAGMA temp_store"), "2");
    assert_eq!(answer(&mut db, "SELECT count(*) FROM a"), "2");
    // The schema is not to be written by hand.
    db.exec("PRAGMA writable_schema = ON", Nanos::MAX).unwrap();
    assert!(db.exec("UPDATE sqlite_schema SET sql = 'x'", Nanos::MAX).is_err());
}

#[test]
fn temporary_files_stay_in_memory() {
    let (dir, open) = place();
    let mut db = opened(&open, &[("cache_size", "10")]).unwrap();
    db.exec("CREATE TEMP TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 20000) SELECT i, hex(randomblob(50)) AS h FROM n", Nanos::MAX).unwrap();
    db.exec("SELECT * FROM t ORDER BY h", Nanos::MAX).unwrap();
    assert_eq!(names(&dir), ["db"]);
    // Temporary files have no name while they are open: a descriptor would show.
    let files = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .flatten()
        .filter_map(|e| std::fs::read_link(e.path()).ok());
    assert!(!files.into_iter().any(|path| path.to_string_lossy().contains("etilqs_")));
}

/// The build in this directory sets it; tests of calls would fail without.
#[test]
fn it_is_compiled_with_fdatasync() {
    const { assert!(FDATASYNC) };
}

#[test]
fn pragmas_are_in_force_or_an_error() {
    let (dir, open) = place();
    for (mode, synchronous) in [
        ("delete", "full"),
        ("truncate", "normal"),
        ("persist", "extra"),
        ("memory", "off"),
        ("off", "2"),
        ("WAL", "FULL"),
    ] {
        let mut db = opened(&open, &[("journal_mode", mode), ("synchronous", synchronous)]).unwrap();
        assert_eq!(answer(&mut db, "PRAGMA journal_mode"), mode.to_lowercase());
    }
    let mut db =
        opened(&open, &[("busy_timeout", "100"), ("foreign_keys", "yes"), ("cache_size", "-4000")]).unwrap();
    assert_eq!(answer(&mut db, "PRAGMA foreign_keys"), "1");
    db.exec("CREATE TABLE a(x)", Nanos::MAX).unwrap();
    drop(db);
    let refused = |pragmas: &[(&str, &str)]| opened(&open, pragmas).err().expect("it is refused").to_string();
    // The log is no mode of a database in which pages have a size already.
    assert_eq!(
        refused(&[("page_size", "8192")]),
        "SQLITE_ERROR (1): the pragma page_size=8192 did not take effect: page_size is 4096"
    );
    assert_eq!(
        refused(&[("journal_mode", "sideways")]),
        "SQLITE_ERROR (1): the pragma journal_mode=sideways did not take effect: journal_mode is wal"
    );
    assert_eq!(
        refused(&[("no_such_thing", "1")]),
        "SQLITE_ERROR (1): this SQLite has no pragma no_such_thing"
    );
    assert!(refused(&[("temp_store", "file")]).contains("denied"));
    assert!(refused(&[("cache_size", "1; ATTACH 'x' AS y")]).contains("not one word"));
    assert_eq!(names(&dir), ["db"]);
}

#[test]
fn symbolic_links_and_moved_directories_are_refused() {
    let (dir, open) = place();
    let outside = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path().join("there"), dir.path().join("db")).unwrap();
    let error = opened(&open, &[]).err().expect("a link is refused");
    assert_eq!(error.name(), "SQLITE_CANTOPEN_SYMLINK", "{error}");
    assert_eq!(names(&outside), [""; 0]);
    std::fs::remove_file(dir.path().join("db")).unwrap();

    // The directory is moved away and a link to another one put in its place: what is opened is in
    // the directory that was meant.
    let inner = dir.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let held = std::fs::File::open(&inner).unwrap();
    std::fs::rename(&inner, dir.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), &inner).unwrap();
    let mut db = opened(&held, &[]).unwrap();
    db.exec("CREATE TABLE a(x)", Nanos::MAX).unwrap();
    drop(db);
    assert!(dir.path().join("moved/db").is_file());
    assert_eq!(names(&outside), [""; 0]);

    // One that is gone has no path.
    std::fs::remove_file(dir.path().join("moved/db")).unwrap();
    std::fs::remove_dir(dir.path().join("moved")).unwrap();
    let error = opened(&held, &[]).err().expect("it is gone");
    assert_eq!((error.name(), error.errno), ("SQLITE_CANTOPEN", Some(Errno(libc::ENOENT))));
}

#[test]
fn what_cannot_be_opened_says_why() {
    let (dir, open) = place();
    std::fs::create_dir(dir.path().join("db")).unwrap();
    let error = opened(&open, &[]).err().expect("a directory is no database");
    assert!(error.name().starts_with("SQLITE_CANTOPEN"), "{error}");
    std::fs::remove_dir(dir.path().join("db")).unwrap();
    std::fs::write(
        dir.path().join("db"),
        "this is no database, however long it is, and it is longer than a header of one hundred bytes",
    )
    .unwrap();
    let mut db = opened(&open, &[]).unwrap();
    let error = db.exec("SELECT * FROM sqlite_schema", Nanos::MAX).unwrap_err();
    assert_eq!(error.to_string(), "SQLITE_NOTADB (26): file is not a database");

    let mut deep = dir.path().to_path_buf();
    for _ in 0..3 {
        deep.push("d".repeat(200));
        std::fs::create_dir(&deep).unwrap();
    }
    let held = std::fs::File::open(&deep).unwrap();
    let error = opened(&held, &[]).err().expect("its path is too long").to_string();
    assert!(error.contains("SQLite takes 503"), "{error}");
}

#[test]
fn connections_have_numbers_that_are_no_descriptors() {
    let (_dir, open) = place();
    let mut all = Connections::default();
    let first = all.put(opened(&open, &[]).unwrap());
    let second = all.put(opened(&open, &[]).unwrap());
    assert_eq!((first, second), (-2, -3));
    all.take(first).unwrap().close().unwrap();
    assert!(all.get(first).is_err() && all.take(first).is_err());
    assert_eq!(all.put(opened(&open, &[]).unwrap()), first);
    for number in [0, 3, -1, -4, i32::MIN, i32::MAX] {
        assert!(all.get(number).is_err(), "{number}");
    }
    all.get(second).unwrap().exec("SELECT 1", Nanos::MAX).unwrap();
}

#[test]
fn a_watched_statement_stops_at_its_deadline_or_when_it_is_told_to() {
    use std::sync::atomic::AtomicU32;
    const ENDLESS: &str =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
    let (_dir, open) = place();
    let mut db = opened(&open, &[]).unwrap();
    let asked = Arc::new(AtomicU32::new(0));
    let stopping: Stopping = {
        let asked = Arc::clone(&asked);
        Arc::new(move || asked.fetch_add(1, Ordering::SeqCst) >= 10)
    };
    let clock = Clock::new();
    db.watch(clock, stopping).unwrap();
    // Short ones are not even looked at.
    db.exec("CREATE TABLE a(x)", 0).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    let error = db.exec(ENDLESS, clock.now()).unwrap_err();
    assert!(error.is_interrupt() && asked.load(Ordering::SeqCst) == 1, "{error}");
    let error = db.exec(&format!("INSERT INTO a {ENDLESS}"), Nanos::MAX).unwrap_err();
    assert!(error.is_interrupt() && asked.load(Ordering::SeqCst) == 11, "{error}");
    assert_eq!(answer(&mut db, "SELECT count(*) FROM a"), "0");
}
