//! Commands that run no test, and command lines that are wrong.

mod program;

use program::{FILES, MIXED, Place};

#[test]
fn shipped_files_pass_check_and_what_is_wrong_is_shown_with_its_place() {
    let place = Place::with(&[FILES]);
    let ids = place.call(&["list"]).expect(0).out;
    assert!(ids.lines().count() >= 3, "{ids}");
    for id in ids.lines().filter_map(|line| line.split_whitespace().next()) {
        place.call(&["check", id]).expect(0);
        place.call(&["show", id]).expect(0);
    }
    assert_eq!(place.call(&["check", "files.yaml"]).expect(0).out, "files.yaml: ok\n");

    place.write(
        "wrong.yaml",
        &FILES.replace("fsync, close", "fsnyc, close").replace("title: Files", "titel: Files"),
    );
    let answer = place.call(&["check", "files.yaml", "wrong.yaml"]).expect(2);
    let answer = answer.says(&["wrong.yaml:3", "titel", "title", "wrong.yaml:16", "fsnyc", "fsync"]);
    assert_eq!(answer.out, "files.yaml: ok\n");
    let lines = place.call(&["check", "--lines", "wrong.yaml"]).expect(2).out;
    assert!(lines.lines().all(|line| line.starts_with("wrong.yaml:")), "{lines}");
    assert!(lines.lines().count() >= 2, "{lines}");
}

#[test]
fn a_number_that_no_run_will_have_is_a_mistake() {
    let place = Place::new();
    place.write("wrong.yaml", &FILES.replace("write.bytes.total", "write.byte.total"));
    place.call(&["check", "wrong.yaml"]).expect(2).says(&[
        "wrong.yaml",
        "byte",
        "did you mean",
        "write.bytes",
    ]);
    place.call(&["run", "wrong.yaml", "--target", "t"]).expect(2).says(&["did you mean"]);
    assert!(place.left().is_empty() && !place.path().join("results").exists());
}

#[test]
fn explain_shows_parameters_plan_needs_numbers_and_operations() {
    let place = Place::with(&[FILES]);
    let text = place.call(&["explain", "files.yaml:small", "--target", "t", "--trace", "6"]).expect(0).out;
    for part in
        ["files:small", "size = 4KiB", "phase write", "space", "write.create", "open 0/0001", "fsync 0/0001"]
    {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert!(!text.contains("files:large"));
    let again = place.call(&["explain", "files.yaml:small", "--target", "t", "--trace", "6"]).expect(0).out;
    assert_eq!(text, again, "the same seed gives the same operations");
    let set = place.call(&["explain", "files.yaml", "--set", "size=8KiB", "--cases", "sm*"]).expect(0).out;
    assert!(set.contains("size = 8KiB  (changed)") && set.contains("[size=8KiB]"), "{set}");
    assert!(place.left().is_empty() && !place.path().join("results").exists());
}

#[test]
fn wrong_command_lines_say_what_would_be_right() {
    let place = Place::with(&[FILES, MIXED]);
    let wrong: &[(&[&str], &[&str])] = &[
        (&["rum"], &["rum", "run"]),
        (&["run"], &["required"]),
        (&["run", "ddd", "--target", "t"], &["ddd", "did you mean dd"]),
        (&["run", "./none.yaml", "--target", "t"], &["no file ./none.yaml"]),
        (&["run", "files.yaml:smal", "--target", "t"], &["smal", "small"]),
        (&["run", "files.yaml", "--target", "t", "--cases", "x*"], &["x*"]),
        (&["run", "files.yaml", "--target", "t", "--preset", "quik"], &["quik"]),
        (&["run", "files.yaml", "--target", "t", "--set", "siz=4k"], &["siz", "did you mean size"]),
        (&["run", "files.yaml", "--target", "t", "--set", "size"], &["name=value"]),
        (&["run", "files.yaml", "--target", "t", "--set", "size=4x"], &["4x"]),
        (&["run", "files.yaml", "--target", "t", "--budget", "12:30"], &["12:30"]),
        (&["run", "files.yaml", "--target", "t", "--runs", "0"], &["0"]),
        (&["run", "files.yaml", "--target", "t", "--allow", "spcae"], &["spcae", "space"]),
        (&["run", "files.yaml", "--target", "t", "--resume"], &["--name"]),
        (&["run", "files.yaml", "--target", "t", "--name", "../x"], &["../x"]),
        (&["run", "files.yaml", "--target", "t", "--out"], &["--out"]),
        (&["show", "nothing-of-that-name"], &["nothing-of-that-name"]),
        (&["export", "csv", "nothing"], &["nothing"]),
        (&["new", "profile", "My Test"], &["my-test"]),
        (&["schema", "profil"], &["profile"]),
    ];
    for (arguments, texts) in wrong {
        let answer = place.call(arguments);
        assert_eq!(answer.code, Some(2), "{arguments:?}\n{}", answer.err);
        assert!(answer.out.is_empty(), "{arguments:?}: {}", answer.out);
        answer.says(texts);
    }
    assert!(place.left().is_empty());
}

#[test]
fn targets_that_are_none_give_exit_code_3_and_nothing_is_written() {
    let place = Place::with(&[FILES]);
    place.write("file", "x");
    let wrong = [
        ("none", "ENOENT"),
        ("file", "no directory"),
        ("/dev", "no storage"),
        ("/proc", "no storage"),
        ("/sys", "no storage"),
        ("/dev/none", "ENOENT"),
        ("/dev/null", "no directory"),
    ];
    for (target, text) in wrong {
        place.call(&["run", "files.yaml", "--target", target]).expect(3).says(&[target, text]);
        // Nor is another target touched that is fine.
        place.call(&["run", "files.yaml", "--target", "t", "--target", target]).expect(3).says(&[text]);
    }
    place.call(&["target", "none"]).expect(3).says(&["ENOENT"]);
    place.call(&["clean", "none"]).expect(3).says(&["ENOENT"]);
    assert!(place.left().is_empty() && !place.path().join("results").exists());
}

#[test]
fn new_files_pass_check_and_run() {
    let place = Place::new();
    for kind in ["profile", "suite"] {
        let text = place.call(&["new", kind, "my-own"]).expect(0).out;
        assert!(text.contains("my-own") && !text.contains("my-test"), "{text}");
        let file = format!("{kind}s/my-own.yaml");
        place.write(&file, &text);
        place.call(&["check", &file]).expect(0);
        place.run(kind, &["--preset", "quick", "-q", &file]).expect(0);
        assert!(place.statuses(kind).len() >= 2);
    }
    assert!(place.left().is_empty());
}

#[test]
fn a_suite_finds_profiles_beside_it() {
    let place = Place::new();
    place.write("profiles/files.yaml", FILES);
    place.write(
        "suites/own.yaml",
        "suite: own\ntitle: Own\nruns: 1\ntests:\n  - {profile: files, cases: [small]}\n",
    );
    place.call(&["check", "suites/own.yaml"]).expect(0);
    place.call(&["run", "suites/own.yaml", "--target", "t", "--name", "x"]).expect(0);
    assert_eq!(place.statuses("x"), ["small: ok"]);
    assert_eq!(place.record("x")["run"]["suite"]["id"], "own");
    place.write("suites/bad.yaml", "suite: bad\ntitle: Bad\ntests: [{profile: file}]\n");
    place
        .call(&["run", "suites/bad.yaml", "--target", "t"])
        .expect(2)
        .says(&["bad.yaml:3", "did you mean files"]);
}

#[test]
fn schemas_completions_and_the_manual_are_printed() {
    let place = Place::new();
    for kind in ["profile", "suite", "record"] {
        let text = place.call(&["schema", kind]).expect(0).out;
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert!(value["$schema"].is_string());
    }
    for shell in ["bash", "zsh", "fish"] {
        assert!(place.call(&["completions", shell]).expect(0).out.contains("ioscore"));
    }
    assert!(place.call(&["man"]).expect(0).out.contains(".TH"));
    assert!(place.call(&["--version"]).expect(0).out.contains(env!("CARGO_PKG_VERSION")));
    // With what is compiled in, and as the record has it.
    let long = place.call(&["--version"]).expect(0).out;
    let sqlite = long.lines().nth(1).and_then(|line| line.strip_prefix("SQLite ")).expect("its version");
    assert!(sqlite.starts_with("3."), "{long}");
    assert!(!place.call(&["-V"]).expect(0).out.contains("SQLite"));
    let system = place.call(&["system"]).expect(0).out;
    assert!(system.lines().any(|line| line == format!("sqlite: {sqlite}")), "{system}");
    assert!(place.call(&["help", "run"]).expect(0).out.contains("--target"));
    assert!(place.call(&["system"]).expect(0).out.contains("kernel:"));
    let target = place.call(&["target", "name=t", "--json"]).expect(0).out;
    let target: serde_json::Value = serde_json::from_str(&target).expect("JSON");
    assert_eq!(target["name"], "name");
}

#[test]
fn a_reader_that_stops_reading_is_no_error() {
    let place = Place::new();
    for command in [&["schema", "profile"][..], &["man"], &["explain", "fs-mark", "postmark"]] {
        let mut child = place.command(command).spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!err.contains("panicked") && output.status.code() == Some(0), "{command:?}: {err}");
    }
}

/// What has an id of its own is reached by it, from anywhere.
#[test]
fn every_suite_is_reached_by_its_id() {
    let place = Place::new();
    let listed = place.call(&["list", "suites"]).expect(0).out;
    let ids: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(ids.contains(&"slog") && ids.len() >= 4, "{listed}");
    assert!(listed.lines().all(|line| line.contains(" suite  ")), "{listed}");
    let profiles = place.call(&["list", "profiles"]).expect(0).out;
    for id in &ids {
        assert!(profiles.lines().all(|line| !line.starts_with(&format!("{id} "))), "{id}\n{profiles}");
    }
    for command in ["explain", "show"] {
        let text = place.call(&[command, "slog"]).expect(0).out;
        assert!(text.contains("log-writes") && text.contains("dd-method"), "{command}: {text}");
    }
    let run = place.call(&["run", "slog", "--preset", "quick", "--target", "t", "--dry-run"]).expect(0);
    let text = run.out + &run.err;
    assert!(text.contains("log-writes:131072") && text.contains("dd-method:10m-blocks"), "{text}");
}

#[test]
fn a_suite_and_a_profile_of_one_id_are_refused() {
    let place = Place::new();
    place.write("profiles/files.yaml", FILES);
    let suite = |id: &str| format!("suite: {id}\ntitle: T\nruns: 1\ntests:\n  - {{profile: files}}\n");
    place.write("suites/own.yaml", &suite("own"));
    place.call(&["run", "suites/own.yaml", "--target", "t", "--dry-run"]).expect(0);
    place.write("suites/own.yaml", &suite("files"));
    for command in [&["check"][..], &["run", "--target", "t"]] {
        let mut arguments = command.to_vec();
        arguments.push("suites/own.yaml");
        place.call(&arguments).expect(2).says(&["files.yaml", "have the same id files", "another id"]);
    }
    place.call(&["run", "--target", "t", "suites/own.yaml", "profiles/files.yaml"]).expect(2);
    assert!(!place.path().join("results").exists());
}
