//! Reports of dd as its versions print them, in `tests/dd/`: each file beside what is read from it, a
//! line a report (bytes, seconds, bytes a second, whole blocks), or the mistake. `BLESS=1` writes that.

mod program;

use std::path::{Path, PathBuf};

use ioscore::import::dd;
use program::Place;

fn files() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dd");
    let entries =
        std::fs::read_dir(dir).expect("the directory is there").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|e| e == "txt")).collect();
    files.sort();
    assert!(files.len() >= 12, "{}", files.len());
    files
}

fn read(text: &str) -> String {
    match dd::reports(text) {
        Ok(reports) => reports
            .iter()
            .map(|report| {
                let blocks = report.blocks.map_or("-".to_string(), |blocks| blocks.to_string());
                format!("{} {} {:.0} {blocks}\n", report.bytes, report.seconds, report.rate)
            })
            .collect(),
        Err(problem) => format!("{problem}\n"),
    }
}

#[test]
fn every_report_is_read_as_it_was_meant() {
    for file in files() {
        let text = String::from_utf8(std::fs::read(&file).expect("it can be read")).expect("it is text");
        let expected = file.with_extension("read");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected, read(&text)).expect("it can be written");
        }
        let expected = std::fs::read_to_string(&expected).expect("what is read stands beside it");
        assert_eq!(read(&text), expected, "{}", file.display());
        // Lines may come with the ends of another system; what is progress stays progress.
        assert_eq!(read(&text.replace('\n', "\r\n")), expected, "{} with CRLF", file.display());
    }
}

#[test]
fn every_file_can_be_imported_and_shows_both_units() {
    let place = Place::new();
    for file in files() {
        let wrong = std::fs::read_to_string(file.with_extension("read")).expect("it is there");
        let wrong = !wrong.starts_with(|c: char| c.is_ascii_digit());
        let answer = place.call(&["import", "dd", file.to_str().expect("text")]);
        if wrong {
            answer.expect(2).says(&[wrong_words(&file)]);
        } else {
            let out = answer.expect(0).out;
            assert!(out.contains("MB/s") && out.contains("MiB/s"), "{}: {out}", file.display());
        }
    }
}

/// The beginning of what is said of a file that cannot be read.
fn wrong_words(file: &Path) -> &'static str {
    if file.ends_with("no-report.txt") { "no report of dd is in it" } else { "line " }
}
