//! Tests of the store, with a child process that is killed among them.

use std::env;
use std::process::{Command, Stdio};

use super::*;
use crate::record::{NoResult, Reason, Status, sample};

fn planned(name: &str) -> Record {
    let mut record = sample::record(name, Vec::new());
    record.run.state = RunState::Incomplete;
    record.run.finished = None;
    record.rows = ["a", "b", "c"].map(|case| Row::planned(sample::case("mixed", case))).to_vec();
    record
}

fn on_disk(results: &Path, name: &str) -> Record {
    load(&find(results, name).unwrap()).unwrap()
}

#[test]
fn a_run_is_whole_at_every_step() {
    let results = tempfile::tempdir().unwrap();
    let mut store = Store::create(results.path(), planned("r"), Scrubber::off()).unwrap();
    let skeleton = on_disk(results.path(), "r");
    assert_eq!(skeleton.run.state, RunState::Incomplete);
    assert!(skeleton.rows.iter().all(|row| row.status() == Status::Interrupted));
    assert_eq!(skeleton.rows.len(), 3);

    store.set_row(1, sample::measured("mixed", "b", &[7.0])).unwrap();
    let after = on_disk(results.path(), "r");
    assert_eq!(after.rows[1].metrics()[0].value, Some(7.0));
    assert_eq!(after.rows[2].reason().unwrap().message, "not started");
    store.set_row(9, sample::measured("mixed", "z", &[7.0])).unwrap();
    assert_eq!(on_disk(results.path(), "r"), after);

    store.finish(RunState::Complete).unwrap();
    let done = on_disk(results.path(), "r");
    assert_eq!(done.run.state, RunState::Complete);
    assert!(done.run.finished.is_some_and(|time| time.ends_with('Z')));
    assert_eq!(fs::read_dir(results.path().join("r")).unwrap().count(), 1, "nothing else is left");
    assert_eq!(fs::read_dir(results.path()).unwrap().count(), 1, "no draft is left");
}

#[test]
fn an_existing_run_is_refused_and_untouched() {
    let results = tempfile::tempdir().unwrap();
    Store::create(results.path(), planned("r"), Scrubber::off()).unwrap();
    let before = fs::read(results.path().join("r").join(FILE)).unwrap();
    let error = Store::create(results.path(), planned("r"), Scrubber::off()).unwrap_err();
    assert!(matches!(error, StoreError::Exists { .. }), "{error}");
    assert!(error.to_string().contains("--resume"));
    assert_eq!(fs::read(results.path().join("r").join(FILE)).unwrap(), before);
    assert_eq!(fs::read_dir(results.path()).unwrap().count(), 1);

    fs::write(results.path().join("file"), "mine").unwrap();
    assert!(Store::create(results.path(), planned("file"), Scrubber::off()).is_err());
    assert_eq!(fs::read_to_string(results.path().join("file")).unwrap(), "mine");
}

#[test]
fn two_targets_of_one_name_are_both_kept() {
    let results = tempfile::tempdir().unwrap();
    for name in ["r-ssd", "r-hdd"] {
        Store::create(results.path(), planned(name), Scrubber::off()).unwrap();
    }
    let names: Vec<_> = list(results.path()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["r-hdd", "r-ssd"]);
}

#[test]
fn names_that_leave_the_directory_or_hide_are_refused() {
    let results = tempfile::tempdir().unwrap();
    for name in ["", "..", ".", "a/b", "../x", "-x", ".x", "x\n", "/etc", "x "] {
        let error = Store::create(results.path(), planned(name), Scrubber::off()).unwrap_err();
        assert!(matches!(error, StoreError::BadName(_)), "{name:?}: {error}");
    }
    assert_eq!(fs::read_dir(results.path()).unwrap().count(), 0);
}

#[test]
fn resuming_keeps_finished_rows_and_checks_the_plans() {
    let results = tempfile::tempdir().unwrap();
    let mut store = Store::create(results.path(), planned("r"), Scrubber::off()).unwrap();
    store.set_row(0, sample::measured("mixed", "a", &[7.0])).unwrap();
    let busy = Store::resume(results.path(), &planned("r"), Scrubber::off()).unwrap_err();
    assert!(matches!(busy, StoreError::Busy(_)), "{busy}");
    store.finish(RunState::Interrupted).unwrap();

    let store = Store::resume(results.path(), &planned("r"), Scrubber::off()).unwrap();
    assert!(store.record().rows[0].is_ok() && !store.record().rows[1].is_ok());
    assert_eq!(on_disk(results.path(), "r").run.state, RunState::Incomplete);
    drop(store);

    let refuses = |change: &dyn Fn(&mut Record), part: &str| {
        let mut other = planned("r");
        change(&mut other);
        let error = Store::resume(results.path(), &other, Scrubber::off()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuses(&|r| r.rows[2].plan_hash = "other".into(), "the plan of mixed:c has changed");
    refuses(&|r| r.rows[2].case = "x".into(), "it has mixed:c where mixed:x is planned");
    refuses(&|r| r.rows.truncate(2), "it has 3 cases, not 2");
    refuses(&|r| r.run.suite = None, "suite");
    refuses(&|r| r.target.path = "/mnt/other".into(), "its target was /mnt/disk");
    refuses(&|r| r.run.seed = 1, "its seed was 42");
    refuses(&|r| r.run.name = "rr".into(), "did you mean \"r\"");
}

#[test]
fn a_result_is_a_file_a_directory_or_a_name() {
    let results = tempfile::tempdir().unwrap();
    Store::create(results.path(), planned("night"), Scrubber::off()).unwrap();
    let dir = results.path().join("night");
    let file = dir.join(FILE);
    for what in ["night", dir.to_str().unwrap(), file.to_str().unwrap()] {
        assert_eq!(find(results.path(), what).unwrap(), file, "{what}");
    }
    let error = find(results.path(), "nigth").unwrap_err().to_string();
    assert!(error.ends_with("did you mean \"night\"?"), "{error}");
    fs::create_dir(results.path().join("broken")).unwrap();
    fs::write(results.path().join("broken").join(FILE), "{").unwrap();
    let all = list(results.path());
    assert_eq!(
        all.iter().map(|(name, r)| (name.as_str(), r.is_ok())).collect::<Vec<_>>(),
        [("broken", false), ("night", true)]
    );
    assert!(list(&results.path().join("none")).is_empty());
}

#[test]
fn identity_does_not_reach_the_disk() {
    let results = tempfile::tempdir().unwrap();
    let scrubber = || {
        Scrubber::new(crate::record::Identity {
            homes: vec!["/home/bob".into()],
            users: vec!["bob".into()],
            hosts: vec!["secret".into()],
        })
    };
    let mut plan = planned("r");
    plan.run.command_line = vec!["run".into(), "/home/bob/x".into()];
    plan.target.path = "/home/bob/x".into();
    let mut store = Store::create(results.path(), plan.clone(), scrubber()).unwrap();
    let mut row = Row::planned(sample::case("mixed", "a"));
    row.no_result(NoResult::Failed, Reason::new("secret:/home/bob"));
    store.set_row(0, row).unwrap();
    store.update(|record| record.target.resolved = Some("/home/bob/y".into())).unwrap();
    let text = fs::read_to_string(results.path().join("r").join(FILE)).unwrap();
    assert!(!text.contains("bob") && !text.contains("secret"), "{text}");
    drop(store);
    plan.target.resolved = Some("/home/bob/y".into());
    Store::resume(results.path(), &plan, scrubber()).expect("the same target, scrubbed alike");
}

/// Not a test of its own: the child of the next test, which writes until it is killed.
#[test]
fn child_that_writes_until_killed() {
    let Some(results) = env::var_os("STORE_TEST_RESULTS") else { return };
    let results = PathBuf::from(results);
    for run in 0.. {
        let mut store = Store::create(&results, planned(&format!("run{run}")), Scrubber::off()).unwrap();
        for (i, case) in ["a", "b", "c"].iter().enumerate() {
            store.set_row(i, sample::measured("mixed", case, &[i as f64 + 1.0])).unwrap();
        }
        store.finish(RunState::Complete).unwrap();
    }
}

#[test]
fn killed_at_any_moment_every_record_is_valid() {
    let mut seen = 0;
    for round in 0..8 {
        let results = tempfile::tempdir().unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "record::store::tests::child_that_writes_until_killed"])
            .env("STORE_TEST_RESULTS", results.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed as soon as run number `round` is seen, wherever it is in writing it.
        let awaited = results.path().join(format!("run{round}"));
        while !awaited.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for (name, record) in list(results.path()) {
            let record = record.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(record.rows.len(), 3);
            for row in &record.rows {
                assert_eq!(row.is_ok(), row.metrics()[0].value.is_some());
            }
            seen += 1;
        }
    }
    assert!(seen >= 8, "only {seen} runs were seen");
}

#[test]
fn a_record_that_cannot_be_written_is_given_back_and_leaves_nothing_half() {
    let results = tempfile::tempdir().unwrap();
    let mut store = Store::create(results.path(), planned("r"), Scrubber::off()).unwrap();
    let before = on_disk(results.path(), "r");
    let fresh = store.dir().join("record.json.new");
    let full = || std::os::unix::fs::symlink("/dev/full", &fresh).unwrap();
    full();
    let error = store.set_row(1, sample::measured("mixed", "b", &[7.0])).unwrap_err();
    assert!(error.to_string().contains("os error 28"), "{error}");
    assert!(fresh.symlink_metadata().is_err(), "the half written one is gone");
    assert_eq!(on_disk(results.path(), "r"), before);
    full();
    let (record, failed) = store.close(RunState::Complete);
    assert!(failed.is_some() && fresh.symlink_metadata().is_err());
    assert_eq!(record.rows[1].metrics()[0].value, Some(7.0));
    assert_eq!(on_disk(results.path(), "r"), before);
}
