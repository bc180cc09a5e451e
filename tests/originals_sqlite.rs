//! The original `sqlite3`: what one insert costs in calls, seen by the exactness harness.

mod common;

use common::calls::difference;
use common::{Multiset, Run, need, scratch};

const TABLE: &str = "CREATE TABLE pts1 ('I' SMALLINT NOT NULL, 'DT' TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, \
                     'F1' VARCHAR(4) NOT NULL, 'F2' VARCHAR(16) NOT NULL);\n";

fn insert(n: u64) -> String {
    format!(
        "INSERT INTO 'pts1' ('I', 'DT', 'F1', 'F2') VALUES ('{n:05}', CURRENT_TIMESTAMP, '{:04}', '{:016}');\n",
        n * 7,
        n * 7_919
    )
}

/// 50 inserts in a rollback journal with full syncing: four fdatasync, eight writes to the journal
/// and two to the database each, and what opening and closing the database costs once.
const FIFTY: &[(u64, &str)] = &[
    (200, "fdatasync"),
    (200, "pwrite64 4"),
    (50, "pwrite64 12"),
    (50, "pwrite64 512"),
    (200, "pwrite64 4096"),
    (50, "unlink"),
];

/// What sqlite3 does with each of `scripts`, one process after another, in the directory of one database.
fn sqlite(test: &str, scripts: &[String]) -> Option<Vec<Multiset>> {
    let [sqlite3, strace] = need(test, ["sqlite3", "strace"])?;
    let dir = scratch();
    let (work, script) = (dir.path().join("w"), dir.path().join("script"));
    std::fs::create_dir(&work).expect("the work directory is made");
    let database = work.join("benchmark.db");
    let run = |text: &String| {
        std::fs::write(&script, text).expect("the script is written");
        // The settings of whoever runs this must not be read.
        let args = ["-batch".as_ref(), "-init".as_ref(), "/dev/null".as_ref(), database.as_os_str()];
        let trace = Run::new(&sqlite3, args, dir.path()).stdin(&script).trace(&strace);
        Multiset::of(trace.under(&work))
    };
    Some(scripts.iter().map(run).collect())
}

#[test]
fn fifty_inserts() {
    let scripts = [TABLE.to_owned(), (1..=50).map(insert).collect()];
    let Some(seen) = sqlite("originals_sqlite::fifty_inserts", &scripts) else { return };
    let (created, seen) = (&seen[0], &seen[1]);
    assert_eq!((created.class("pwrite64"), created.class("fdatasync"), created.class("unlink")), (4, 4, 1));

    let exact =
        seen.table().into_iter().filter(|(key, _)| FIFTY.iter().any(|(_, known)| key.starts_with(known)));
    let exact: std::collections::BTreeMap<_, _> = exact.collect();
    let expected = FIFTY.iter().map(|(n, key)| ((*key).to_owned(), *n)).collect();
    assert_eq!(difference(("seen", &exact), ("expected", &expected)), None);
    assert_eq!((seen.class("pwrite64"), seen.bytes("pwrite64")), (500, 846_200));
    let locks = |kind: &str| seen.count(|key| key.detail.starts_with(&format!("F_SETLK {kind} ")));
    assert_eq!((locks("F_RDLCK"), locks("F_UNLCK"), locks("F_WRLCK")), (152, 152, 150));
    // The journal of each insert, and the database itself once.
    let opens =
        |flags: &str| seen.count(|key| key.class == "open" && key.detail == flags && key.errno.is_none());
    assert_eq!((opens("O_RDWR|O_CREAT|O_NOFOLLOW"), opens("O_RDONLY")), (51, 51));
    assert_eq!(seen.count(|key| key.class == "stat" && key.errno.as_deref() == Some("ENOENT")), 102);
    // It reads nothing back but the start of the file, the first leaf and the end of each journal.
    assert_eq!(seen.class("pread64"), 103);
}

#[test]
fn without_syncing() {
    let inserts: String = (1..=10).map(insert).collect();
    let scripts = [format!("PRAGMA synchronous=OFF;\n{TABLE}{inserts}")];
    let Some(seen) = sqlite("originals_sqlite::without_syncing", &scripts) else { return };
    assert_eq!((seen[0].class("fdatasync"), seen[0].class("fsync"), seen[0].class("unlink")), (0, 0, 11));
}
