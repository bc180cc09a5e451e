//! `run` and what it leaves behind: records, exit codes, an empty target.

mod program;

use std::os::unix::fs::PermissionsExt;

use program::{ENDLESS, FILES, MIXED, Place, rows, word};

#[test]
fn a_run_leaves_a_record_a_table_and_an_empty_target() {
    let place = Place::with(&[FILES]);
    let answer = place.run("one", &["files.yaml", "--title", "A title", "--seed", "7"]).expect(0);
    let answer = answer.says(&["target t", "free", "2 cases", "files:small: ok", "results/one/record.json"]);
    for part in ["Small files", "Large files", "Files", "files/s", "Bytes"] {
        assert!(answer.out.contains(part), "{}", answer.out);
    }
    assert!(place.left().is_empty());
    let record = place.record("one");
    assert_eq!((&record["run"]["state"], &record["run"]["title"]), (&"complete".into(), &"A title".into()));
    assert_eq!(record["run"]["seed"], 7);
    assert_eq!(place.statuses("one"), ["small: ok", "large: ok"]);
    let [small, large] = rows(&record) else { panic!("two rows") };
    assert_eq!(small["metrics"][1]["value"], 8.0 * 4096.0);
    assert_eq!(large["metrics"][1]["value"], 8.0 * 65536.0);
    assert!(small["metrics"][0]["value"].as_f64().is_some_and(|rate| rate > 0.0));
    assert_eq!(small["steps"]["write.fsync"]["ops"], 8);
    assert_eq!(small["steps"]["read.read"]["bytes"], 8 * 4096);
    assert_eq!((&small["engine"]["used"], &small["effective"]["cache"]), (&"sync".into(), &"kept".into()));
    assert_ne!(small["plan_hash"], large["plan_hash"]);
    assert!(!word(small, "plan_hash").is_empty());
}

#[test]
fn targets_of_one_name_are_refused_before_anything_is_written() {
    let place = Place::with(&[FILES]);
    for dir in ["a/data", "b/data"] {
        std::fs::create_dir_all(place.path().join(dir)).expect("a directory");
    }
    let call = |targets: [&str; 2]| {
        place.call(&[
            "run",
            "files.yaml",
            "--cases",
            "small",
            "--runs",
            "1",
            "--name",
            "two",
            "--target",
            targets[0],
            "--target",
            targets[1],
        ])
    };
    call(["a/data", "b/data"])
        .expect(2)
        .says(&["two targets are called data: a/data and b/data", "--target NAME=b/data"]);
    call(["a/data", "a/data"]).expect(2).says(&["two targets are called data"]);
    call(["A=a/data", "A=b/data"]).expect(2).says(&["two targets are called A"]);
    assert!(!place.path().join("results/two").exists());
    // With names, even one directory may be compared with itself.
    call(["A=a/data", "B=a/data"]).expect(0);
}

#[test]
fn json_alone_stands_on_the_standard_output() {
    let place = Place::with(&[MIXED]);
    let answer = place.run("one", &["mixed.yaml", "--json"]).expect(1);
    let records: serde_json::Value = serde_json::from_str(&answer.out).expect("JSON");
    assert!(answer.out.contains("\"second\"") && !records.is_null());
    let quiet = place.run("two", &["mixed.yaml", "--quiet", "--cases", "first"]).expect(0);
    assert!(quiet.err.is_empty(), "{}", quiet.err);
}

#[test]
fn a_case_that_fails_has_a_row_without_numbers_everywhere_and_the_rest_goes_on() {
    let place = Place::with(&[MIXED]);
    let answer = place.run("one", &["mixed.yaml"]).expect(1).says(&["mixed:second: failed", "ENOENT"]);
    assert_eq!(place.statuses("one"), ["first: ok", "second: failed", "third: ok"]);
    let failed: Vec<&str> = answer.out.lines().filter(|line| line.contains("failed")).collect();
    assert!(!failed.is_empty(), "{}", answer.out);
    let record = place.record("one");
    let row = &rows(&record)[1];
    assert_eq!(row["reason"]["errno"], "ENOENT");
    assert!(row["reason"]["step"].as_str().is_some_and(|step| step.starts_with("work.stat (")), "{row}");
    assert!(row["metrics"].as_array().expect("metrics").iter().all(|metric| metric["value"].is_null()));
    assert!(row["runs"].as_array().expect("runs").is_empty());
    assert!(place.left().is_empty());

    let csv = place.call(&["export", "csv", "one"]).expect(0).out;
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let head = reader.headers().expect("a header").clone();
    let at = |name: &str| head.iter().position(|h| h == name).expect("a column");
    let (case, status, value) = (at("case"), at("status"), at("value"));
    let lines: Vec<csv::StringRecord> = reader.records().map(|line| line.expect("a line")).collect();
    // A line per declared metric of every case.
    assert_eq!(lines.len(), 6);
    for line in lines {
        assert_eq!(&line[case] == "second", &line[status] == "failed");
        assert_eq!(&line[case] == "second", line[value].is_empty(), "{line:?}");
    }
}

#[test]
fn an_engine_that_cannot_do_it_is_a_row_and_not_the_end() {
    let place = Place::with(&[MIXED]);
    let text = MIXED.replace("profile: mixed", "profile: engines").replace("broken", "other");
    let text = text.replace(
        "files:\n",
        "engine: \"{{ {'name': 'mmap', 'direct': 'require'} if other else 'sync' }}\"\nfiles:\n",
    );
    let text = text.replace("      - {stat: data, name: missing, when: other}\n", "");
    place.write("engines.yaml", &text);
    place.run("one", &["engines.yaml"]).expect(1).says(&["unsupported", "engine mmap"]);
    assert_eq!(place.statuses("one"), ["first: ok", "second: unsupported", "third: ok"]);
    let record = place.record("one");
    assert_eq!(rows(&record)[1]["engine"]["asked"], "mmap");
}

#[test]
fn what_the_target_has_no_room_for_is_refused_before_it_is_written() {
    let place = Place::with(&[FILES]);
    let answer =
        place.run("one", &["files.yaml", "--set", "count=1000000000", "--set", "size=1MiB"]).expect(1);
    answer.says(&["unsupported", "needs", "free on the target", "--allow space"]);
    assert_eq!(place.statuses("one"), ["small: unsupported", "large: unsupported"]);
    assert!(place.left().is_empty());
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Place::with(&[FILES]);
    let answer = place.run("one", &["files.yaml", "--dry-run"]).expect(0);
    assert!(answer.out.contains("files:small") && answer.out.contains("files:large"), "{}", answer.out);
    assert!(place.left().is_empty() && !place.path().join("results").exists());
}

#[test]
fn without_a_target_it_works_under_the_current_directory_and_says_so() {
    let place = Place::with(&[FILES]);
    let answer = place.call(&["run", "files.yaml:small", "--runs", "1", "--name", "x"]).expect(0);
    answer.says(&["no --target", "free"]);
    let left = std::fs::read_dir(place.path()).expect("a directory").count();
    assert_eq!(left, 3, "the target, the profile and the results");
}

#[test]
fn runs_get_names_of_their_own_and_never_replace_another() {
    let place = Place::with(&[FILES]);
    place.run("one", &["files.yaml:small"]).expect(0);
    let before = place.record("one");
    place.run("one", &["files.yaml:small"]).expect(2).says(&["one", "exists", "--resume"]);
    assert_eq!(place.record("one"), before);
    for _ in 0..3 {
        place.call(&["run", "files.yaml:small", "--runs", "1", "--target", "t"]).expect(0);
    }
    let list = place.call(&["list", "results"]).expect(0).out;
    assert_eq!(list.lines().count(), 4, "{list}");
}

#[test]
fn several_targets_take_turns_and_have_a_record_each() {
    let place = Place::with(&[FILES]);
    std::fs::create_dir(place.path().join("u")).expect("a directory");
    let arguments =
        ["run", "files.yaml", "--target", "a=t", "--target", "b=u", "--runs", "2", "--name", "both"];
    let answer = place.call(&arguments).expect(0);
    assert_eq!(place.statuses("both-a"), ["small: ok", "large: ok"]);
    assert_eq!(place.statuses("both-b"), ["small: ok", "large: ok"]);
    let (a, b) = (place.record("both-a"), place.record("both-b"));
    assert_eq!((&a["target"]["name"], &b["target"]["name"]), (&"a".into(), &"b".into()));
    assert_eq!(a["run"]["seed"], b["run"]["seed"]);
    assert_eq!(rows(&a)[0]["plan_hash"], rows(&b)[0]["plan_hash"]);
    assert_eq!(rows(&a)[0]["runs"].as_array().map(Vec::len), Some(2));
    assert!(answer.out.contains("a") && answer.out.lines().count() > 8, "{}", answer.out);
    let compared = place.call(&["compare", "both-a", "both-b"]).expect(0).out;
    assert!(compared.contains("Small files"), "{compared}");
    place.call(&arguments).expect(2).says(&["exists"]);
}

#[test]
fn two_targets_of_one_name_must_be_told_apart() {
    let place = Place::with(&[FILES]);
    std::fs::create_dir_all(place.path().join("u/t")).expect("a directory");
    let arguments =
        ["run", "files.yaml:small", "--target", "t", "--target", "u/t", "--runs", "1", "--name", "x"];
    place.call(&arguments).expect(2).says(&["two targets are called t", "NAME=u/t"]);
    let named =
        ["run", "files.yaml:small", "--target", "t", "--target", "v=u/t", "--runs", "1", "--name", "x"];
    place.call(&named).expect(0);
    assert_eq!((place.statuses("x-t").len(), place.statuses("x-v").len()), (1, 1));
}

#[test]
fn two_targets_of_almost_one_name_are_kept_apart() {
    let place = Place::with(&[FILES]);
    std::fs::create_dir_all(place.path().join("u/t")).expect("a directory");
    let arguments =
        ["run", "files.yaml:small", "--target", "T 1=t", "--target", "T-1=u/t", "--runs", "1", "--name", "x"];
    place.call(&arguments).expect(0);
    assert_eq!((place.statuses("x-T-1").len(), place.statuses("x-T-1-2").len()), (1, 1));
}

#[test]
fn kept_files_stay_and_are_named() {
    let place = Place::with(&[FILES]);
    let answer = place.run("one", &["files.yaml:small", "--keep"]).expect(0).says(&["kept: "]);
    let line = answer.err.lines().find_map(|line| line.strip_prefix("kept: ")).expect("a path");
    let files = std::fs::read_dir(format!("{line}/work/data/0"))
        .or_else(|_| std::fs::read_dir(format!("{line}/work")));
    assert!(files.expect("the files").count() > 0);
    assert_eq!(place.left().len(), 1);
    // They are the user's now.
    place.call(&["clean", "t"]).expect(0);
    assert_eq!(place.left().len(), 1);
}

/// The run "one" has finished its first case and is in the endless one.
fn the_endless_case_runs(place: &Place) -> bool {
    place.record_path("one").exists() && place.statuses("one")[0] == "quick: ok" && !place.left().is_empty()
}

#[test]
fn an_interrupt_keeps_what_is_finished_and_cleans_the_target() {
    // A hang-up that was ignored when the tests were started (`nohup`) stays ignored by design.
    let status = std::fs::read_to_string("/proc/self/status").expect("what this process ignores");
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("a mask");
    let hang_up_ignored = u64::from_str_radix(ignored.trim(), 16).expect("a mask") & 1 == 1;
    let signals = if hang_up_ignored { &["INT", "TERM"][..] } else { &["INT", "TERM", "HUP"][..] };
    for signal in signals {
        let place = Place::with(&[ENDLESS]);
        let arguments = ["run", "endless.yaml", "--target", "t", "--runs", "1", "--name", "one"];
        let running = place.start(&arguments, the_endless_case_runs);
        running.signal(signal);
        let answer = running.wait().expect(130);
        assert!(answer.out.contains("Quick"), "{}", answer.out);
        assert_eq!(place.statuses("one"), ["quick: ok", "endless: interrupted", "after: interrupted"]);
        let record = place.record("one");
        assert_eq!(record["run"]["state"], "interrupted");
        assert!(rows(&record)[0]["metrics"][0]["value"].as_f64().is_some_and(|writes| writes > 0.0));
        assert!(rows(&record)[1]["metrics"][0]["value"].is_null());
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

#[test]
fn a_signal_that_is_delivered_twice_is_one() {
    let place = Place::with(&[ENDLESS]);
    let arguments = ["run", "endless.yaml", "--target", "t", "--runs", "1", "--name", "one"];
    let finished = |place: &Place| place.record_path("one").exists() && !place.left().is_empty();
    let running = place.start(&arguments, finished);
    // Two different ones, as the kernel makes one of two alike that wait.
    let pid = running.pid().to_string();
    let both = format!("kill -s TERM {pid}; kill -s INT {pid}");
    assert!(std::process::Command::new("sh").args(["-c", &both]).status().expect("sh").success());
    running.wait().expect(130);
    assert_eq!(place.record("one")["run"]["state"], "interrupted");
    assert!(place.left().is_empty(), "{:?}", place.left());
}

#[test]
fn a_record_that_cannot_be_written_still_gives_its_table() {
    let place = Place::with(&[ENDLESS]);
    let arguments = ["run", "endless.yaml", "--target", "t", "--runs", "1", "--name", "one"];
    let running = place.start(&arguments, the_endless_case_runs);
    // In the way of every further save, for root too.
    place.write("results/one/record.json.new/in-the-way", "");
    running.signal("INT");
    let answer = running.wait().expect(3).says(&["the record could not be written"]);
    assert!(answer.out.contains("Quick"), "{}", answer.out);
    assert_eq!(place.record("one")["run"]["state"], "incomplete");
}

#[test]
fn after_a_kill_the_record_is_valid_and_clean_finds_the_rest() {
    let place = Place::with(&[ENDLESS]);
    let arguments = ["run", "endless.yaml", "--target", "t", "--runs", "1", "--name", "one"];
    let running = place.start(&arguments, the_endless_case_runs);
    // While it lives, its files are not taken.
    let alive = place.call(&["clean", "t"]).expect(0).out;
    assert!(alive.contains("alive") && !place.left().is_empty(), "{alive}");
    running.signal("KILL");
    running.wait();
    let record = place.record("one");
    assert_eq!(record["run"]["state"], "incomplete");
    assert_eq!(place.statuses("one"), ["quick: ok", "endless: interrupted", "after: interrupted"]);
    assert_eq!(place.left().len(), 1);
    place.write("t/other/file", "not ours");
    place.write("t/ioscore-run-looks-alike/file", "not ours");
    let cleaned = place.call(&["clean", "t"]).expect(0).out;
    assert!(cleaned.contains("removed") && cleaned.contains("not marked"), "{cleaned}");
    let mut left = place.left();
    left.sort();
    assert_eq!(left, ["ioscore-run-looks-alike", "other"]);

    // And the run goes on where it was: the second case is left out this time by its values.
    let text = ENDLESS.replace("1000h", "2ms");
    place.write("endless.yaml", &text);
    place.run("one", &["endless.yaml", "--resume"]).expect(2).says(&["cannot be resumed"]);
}

#[test]
fn a_run_is_resumed_and_finished_cases_stay() {
    let place = Place::with(&[MIXED]);
    place.run("one", &["mixed.yaml", "--seed", "11"]).expect(1);
    let before = place.record("one");
    place.run("one", &["mixed.yaml", "--resume"]).expect(1).says(&["mixed:second"]);
    let after = place.record("one");
    assert_eq!(rows(&before)[0], rows(&after)[0]);
    assert_eq!(after["run"]["seed"], 11);
    assert_eq!(after["run"]["state"], "complete");
    place.run("none", &["mixed.yaml", "--resume"]).expect(2).says(&["none"]);
    place.run("one", &["mixed.yaml", "--resume", "--cases", "first"]).expect(2).says(&["cannot be resumed"]);
}

#[test]
fn a_spent_budget_skips_the_rest_and_says_so() {
    let place = Place::with(&[ENDLESS]);
    let text = ENDLESS.replace("1000h", "300ms");
    place.write("endless.yaml", &text);
    place.run("one", &["endless.yaml", "--budget", "100ms"]).expect(0).says(&["skipped", "budget"]);
    let statuses = place.statuses("one");
    assert_eq!(statuses.len(), 3);
    assert_eq!(statuses[2], "after: skipped");
}

#[test]
fn the_same_seed_does_the_same() {
    let place = Place::new();
    let text = FILES.replace("size, default: 4KiB", "distribution, default: {uniform: [1, 64KiB]}");
    place.write("files.yaml", &text.replace("with: {size: 64KiB}", "with: {count: 9}"));
    let bytes = |name: &str| rows(&place.record(name))[0]["metrics"][1]["value"].clone();
    for (name, seed) in [("a", "5"), ("b", "5"), ("c", "6")] {
        place.run(name, &["files.yaml", "--seed", seed]).expect(0);
    }
    assert_eq!(bytes("a"), bytes("b"));
    assert_ne!(bytes("a"), bytes("c"));
}

#[test]
fn a_target_that_may_not_be_written_gives_exit_code_3() {
    let place = Place::with(&[FILES]);
    let target = place.path().join("t");
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o555)).expect("the mode can be set");
    if std::fs::write(target.join("probe"), "x").is_ok() {
        // Root writes everywhere; `/proc/1` and friends are refused for another reason.
        std::fs::remove_file(target.join("probe")).expect("the probe can be removed");
        return;
    }
    place.run("one", &["files.yaml"]).expect(3).says(&["EACCES"]);
    assert!(!place.path().join("results").exists());
}

#[test]
fn results_are_shown_exported_and_shared() {
    let place = Place::with(&[FILES]);
    place.run("one", &["files.yaml"]).expect(0);
    let shown = place.call(&["show", "one"]).expect(0).out;
    assert!(shown.contains("seed") && shown.contains("Large files"), "{shown}");
    let shared = place.call(&["show", "one", "--shared"]).expect(0).out;
    assert!(serde_json::from_str::<serde_json::Value>(&shared).is_ok());
    for arguments in [
        &["export", "csv", "one", "--shape", "wide"][..],
        &["export", "csv", "one", "--shape", "raw", "--dialect", "excel-eu"],
        &["export", "json", "one"],
    ] {
        assert!(place.call(arguments).expect(0).out.contains("Files"));
    }
    place.call(&["export", "csv", "one", "-o", "out.csv"]).expect(0);
    let written = std::fs::read_to_string(place.path().join("out.csv")).expect("a file");
    assert_eq!(written, place.call(&["export", "csv", "results/one/record.json"]).expect(0).out);
}

#[test]
fn the_rows_of_a_result_are_run_again_with_their_values() {
    let place = Place::new();
    // A profile that comes with the program is found by its id alone.
    place.run("dd", &["dd:fsync", "--set", "count=2", "--set", "block=64KiB"]).expect(0);
    place.run("dd-again", &["results/dd"]).expect(0);
    let (first, second) = (place.record("dd"), place.record("dd-again"));
    assert_eq!(rows(&first)[0]["plan_hash"], rows(&second)[0]["plan_hash"]);
    assert_eq!(rows(&first)[0]["params"], rows(&second)[0]["params"]);
    assert!(place.call(&["explain", "results/dd/record.json"]).expect(0).out.contains("count = 2"));
}

#[test]
fn a_suite_that_drops_caches_says_what_came_of_it() {
    let place = Place::with(&[FILES]);
    place.write(
        "s.yaml",
        "suite: s\ntitle: S\nruns: 1\ncache: drop\ntests: [{profile: files, cases: [small]}]\n",
    );
    place.call(&["run", "s.yaml", "--target", "t", "--name", "one"]).expect(0);
    let record = place.record("one");
    let cache = rows(&record)[0]["effective"]["cache"].as_str().unwrap_or_default().to_string();
    assert!(cache.contains("dropped"), "{cache}");
    assert!(!cache.starts_with("not") || cache.contains("root"), "{cache}");
    assert!(record["system"]["null_op_ns"].as_f64().is_some_and(|ns| ns > 1.0));
}

#[test]
fn a_target_behind_a_link_shows_both_names() {
    let place = Place::with(&[FILES]);
    std::os::unix::fs::symlink("t", place.path().join("link")).expect("a link");
    place.call(&["run", "files.yaml:small", "--target", "link", "--runs", "1", "--name", "x"]).expect(0);
    let record = place.record("x");
    assert_eq!(record["target"]["path"], "link");
    assert!(
        record["target"]["resolved"].as_str().is_some_and(|path| path.ends_with("/t")),
        "{}",
        record["target"]
    );
    assert!(place.left().is_empty());
}

#[test]
fn a_target_may_lie_as_deep_as_paths_go() {
    let place = Place::with(&[FILES]);
    let mut deep = place.path().join("t");
    while deep.as_os_str().len() < 3800 {
        deep.push("d".repeat(200));
    }
    std::fs::create_dir_all(&deep).expect("a deep directory");
    let target = deep.to_str().expect("a path");
    place.call(&["run", "files.yaml:small", "--target", target, "--runs", "1", "--name", "x"]).expect(0);
    assert_eq!(place.statuses("x"), ["small: ok"]);
    assert_eq!(std::fs::read_dir(&deep).expect("it is there").count(), 0);
}

#[test]
fn a_seed_that_a_profile_fixes_is_not_changed_silently() {
    let place = Place::new();
    place.write("files.yaml", &FILES.replace("files:\n", "random: {seed: 42}\nfiles:\n"));
    place.run("one", &["files.yaml:small", "--seed", "7"]).expect(0).says(&["fixes its seed, 42"]);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    // One of two workers waits in the kernel for a lock that the other never gives back: the first
    // signal cannot end that.
    let stuck = ENDLESS.replace("per: worker, ", "").replace(
        "[{write: 4KiB, in: data, at: random}]",
        "[{lock: 4KiB, in: data, at: start}, {think: 1000h}, {write: 4KiB, in: data}]",
    );
    let place = Place::with(&[&stuck.replace("phases:", "workers: 2\nphases:")]);
    let arguments = ["run", "endless.yaml:endless", "--target", "t", "--runs", "1", "--name", "one"];
    let running =
        place.start(&arguments, |place| place.record_path("one").exists() && !place.left().is_empty());
    // The first ones come as one; the first that comes later ends it.
    let again = format!("while kill -s TERM {} 2>/dev/null; do sleep 0.05; done", running.pid());
    let mut signals = std::process::Command::new("sh").args(["-c", &again]).spawn().expect("a shell");
    running.wait().expect(130);
    signals.wait().expect("the shell ends");
    assert_eq!(place.record("one")["run"]["state"], "incomplete");
    assert!(!place.left().is_empty(), "nothing was cleaned any more");
    place.call(&["clean", "t"]).expect(0);
    assert!(place.left().is_empty());
}
