//! The corpus of the loader and the checker: each file of `ok/` passes, each of `err/` gets just
//! the messages that stand in the `.txt` beside it. A new test is a new file; with `BLESS=1` in
//! the environment the texts are written anew.

use std::fs;
use std::path::{Path, PathBuf};

use ioscore::profile::check::{check_structure, what_of};
use ioscore::profile::diagnostic::{Diagnostic, Severity};
use ioscore::profile::load::load_file;
use ioscore::profile::render::{render, render_lines};
use ioscore::profile::schema::{schema, to_json};
use ioscore::profile::source::Sources;
use schema_check::Checker;

mod mutations;
mod reference;
mod verbs;

/// Everything that is found in one file, as `check` does it.
fn judge(name: &str, bytes: &[u8]) -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::new();
    let found = match load_file(&mut sources, name, bytes) {
        Ok((node, mut found)) => {
            found.extend(check_structure(&node, what_of(&node), verbs::VERBS));
            found
        }
        Err(found) => found,
    };
    (sources, found)
}

fn has_error(found: &[Diagnostic]) -> bool {
    found.iter().any(|found| found.severity == Severity::Error)
}

fn corpus(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/yaml").join(folder);
    let entries = fs::read_dir(folder).expect("the corpus is there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// Compares with the text beside the file, where none stands for an empty one.
fn compare(path: &Path, shown: &str, failures: &mut Vec<String>) {
    let beside = path.with_extension("txt");
    let expected = fs::read_to_string(&beside).unwrap_or_default();
    if expected == shown {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&beside, shown).expect("the text can be written");
    } else {
        failures.push(format!("{}:\n--- expected\n{expected}--- found\n{shown}", path.display()));
    }
}

#[test]
fn valid_files_pass_and_warnings_are_as_written() {
    let files = corpus("ok");
    assert!(files.len() >= 15, "{} files", files.len());
    let mut failures = Vec::new();
    for path in files {
        let (sources, found) = judge(&name(&path), &fs::read(&path).expect("readable"));
        let shown = render(&found, &sources, false);
        if has_error(&found) {
            failures.push(format!("{}:\n{shown}", path.display()));
            continue;
        }
        compare(&path, &shown, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn each_mistake_gets_its_message() {
    let files = corpus("err");
    assert!(files.len() >= 90, "{} files", files.len());
    let mut failures = Vec::new();
    for path in files {
        let (sources, found) = judge(&name(&path), &fs::read(&path).expect("readable"));
        let shown = render(&found, &sources, false);
        if !has_error(&found) {
            failures.push(format!("{}: no error\n{shown}", path.display()));
        }
        for one in &found {
            assert!(one.place.is_some() && sources.locate_diagnostic(one).is_some(), "{shown}");
            assert!(one.code != "schema", "{}: only the schema saw it\n{shown}", path.display());
        }
        assert!(render_lines(&found, &sources).lines().count() <= found.len());
        compare(&path, &shown, &mut failures);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_message_is_given_once_for_a_place() {
    for path in corpus("err") {
        let (sources, found) = judge(&name(&path), &fs::read(&path).expect("readable"));
        let mut places: Vec<_> =
            found.iter().map(|one| (one.place.clone(), one.on_key, one.message.clone())).collect();
        places.sort_by_key(|place| format!("{place:?}"));
        let all = places.len();
        places.dedup();
        assert_eq!(places.len(), all, "{}", render(&found, &sources, false));
    }
}

/// The published schema agrees with the checker: what passes here is valid there, and most of
/// what does not is invalid there too.
#[test]
fn the_schema_agrees_with_the_checker() {
    let mut refused = 0;
    let mut only_here = Vec::new();
    for (folder, valid) in [("ok", true), ("err", false)] {
        for path in corpus(folder) {
            let mut sources = Sources::new();
            let bytes = fs::read(&path).expect("readable");
            let Ok((node, _)) = load_file(&mut sources, "x", &bytes) else { continue };
            let checker = Checker::new(&schema(what_of(&node), verbs::VERBS)).expect("a valid schema");
            let issues = checker.check(&to_json(&node));
            if valid {
                assert!(issues.is_empty(), "{}: {issues:?}", path.display());
            } else if issues.is_empty() {
                only_here.push(name(&path));
            } else {
                refused += 1;
            }
        }
    }
    // What a schema cannot say: two ends, names of sets, defaults against types, units.
    assert!(refused >= 40 && only_here.len() <= 12, "{refused} refused, accepted: {only_here:?}");
}
