//! The rooms import one way only, `unsafe` stays in its room, and no tool under test is named in
//! the code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn sources(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|e| e == "rs") {
            into.push(path);
        }
    }
}

fn all() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    assert!(files.len() > 60, "{}", files.len());
    let named = |f: &PathBuf| f.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
    files.iter().map(|f| (named(f), std::fs::read_to_string(f).unwrap())).collect()
}

/// Every file below `src`, templates included.
fn every_file() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut found, mut dirs) = (Vec::new(), vec![src.clone()]);
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => {
                    let name = path.strip_prefix(&src).unwrap().to_string_lossy().into_owned();
                    found.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
    }
    assert!(found.iter().any(|(name, _)| name.ends_with(".yaml")));
    found
}

/// The part of a file outside its tests.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

/// What each room may use. `a::b` is a room inside a room.
const DOORS: &[(&str, &[&str])] = &[
    ("profile", &["os::errno"]),
    ("plan::instr", &["os"]),
    // A recorded load is part of what a profile says: the compiler reads it through its format.
    ("plan::lower", &["profile", "ops", "os", "plan", "import"]),
    ("plan", &["profile", "ops", "os", "plan"]),
    ("os", &[]),
    ("measure", &[]),
    ("stats", &[]),
    ("ops", &["plan::instr", "plan::stream", "os", "profile::shape", "profile::language", "vm"]),
    ("vm", &["plan::instr", "plan::stream", "ops", "os", "measure"]),
    ("system", &["os"]),
    ("record", &["measure", "stats", "system"]),
    ("judge", &["os", "plan", "record", "system"]),
    ("report", &["record", "stats", "measure"]),
    ("import", &["record", "stats", "plan::dataset", "plan::stream"]),
    ("run", &["plan", "vm", "os", "profile", "measure", "stats", "record", "judge", "system", "report"]),
];

#[test]
fn rooms_import_one_way() {
    let mut wrong = Vec::new();
    for (file, text) in all() {
        if file.contains("test") || !file.contains('/') || file.starts_with("cli/") {
            continue;
        }
        let room = file.trim_end_matches(".rs").replace('/', "::");
        let Some((_, doors)) =
            DOORS.iter().find(|(name, _)| room == *name || room.starts_with(&format!("{name}::")))
        else {
            wrong.push(format!("{file}: its room is not in the list"));
            continue;
        };
        let own = room.split("::").next().unwrap_or_default();
        for (number, line) in code(&text).lines().enumerate() {
            let line = line.split("//").next().unwrap_or_default();
            for used in line.split("crate::").skip(1) {
                let used: String =
                    used.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect();
                let fine = used.split("::").next() == Some(own)
                    || doors.iter().any(|d| used == *d || used.starts_with(&format!("{d}::")));
                if !fine {
                    wrong.push(format!("{file}:{}: {used}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "imports against the doors:\n{}", wrong.join("\n"));
}

#[test]
fn unsafe_stays_in_its_room_and_gives_its_reason() {
    for (file, text) in all() {
        let mut reason_above = false;
        for (number, line) in text.lines().enumerate() {
            let statement = line.split("//").next().unwrap_or_default();
            if statement.contains("unsafe {")
                || statement.contains("unsafe fn")
                || statement.contains("unsafe impl")
            {
                assert!(file.starts_with("os/linux/"), "{file}:{}", number + 1);
                assert!(reason_above, "{file}:{}: no SAFETY comment above", number + 1);
            }
            let is_comment = line.trim_start().starts_with("//");
            // A comment may run over several lines; code between it and the block ends it.
            reason_above = line.contains("SAFETY:")
                || line.contains("# Safety")
                || reason_above && (is_comment || !line.trim().ends_with(';'));
        }
    }
}

#[test]
fn no_tool_under_test_is_named_in_the_code() {
    for (file, text) in every_file() {
        if file.starts_with("import/") || file == "profile/embedded.rs" {
            continue;
        }
        let lower = text.to_lowercase();
        for name in ["postmark", "fs_mark", "fs-mark", "fsmark", "dbench", "compilebench"] {
            assert!(!lower.contains(name), "{file} names {name}");
        }
    }
}

#[test]
fn files_stay_small_enough_to_hold_in_the_head() {
    let long: BTreeMap<String, usize> = all()
        .into_iter()
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines > 700)
        .collect();
    assert!(long.is_empty(), "{long:?}");
}
