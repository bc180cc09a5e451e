//! The CSV forms, read by programs that people read them with.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{need, scratch};
use ioscore::record::{
    Better, Case, Declared, Measured, NoResult, Reason, Record, RepeatResult, Run, RunState,
};
use ioscore::report::csv::{Dialect, Options, Shape, write};
use ioscore::system::{System, Target};

/// A title with everything that breaks careless readers.
const TITLE: &str = "=1+1; \"quoted\", ä\nsecond line";

fn case(id: &str) -> Case {
    Case {
        profile: "p".into(),
        profile_version: "1.0.0".into(),
        case: id.into(),
        title: TITLE.into(),
        plan_hash: format!("hash-{id}"),
        metrics: vec![Declared {
            name: "Rate".into(),
            unit: "MB/s".into(),
            better: Better::Higher,
            primary: true,
        }],
        ..Case::default()
    }
}

/// One case with three repeats, whose mean is 1/3 MB/s, and one that failed.
fn record() -> Record {
    let mut record = Record::planned(
        Run { name: "night".into(), state: RunState::Complete, ..Run::default() },
        System::default(),
        Target { name: "-5".into(), ..Target::default() },
        vec![case("a"), case("b")],
    );
    let run = |rate: f64| RepeatResult {
        values: BTreeMap::from([("Rate".to_string(), rate)]),
        elapsed_s: 0.25,
        ..RepeatResult::default()
    };
    let runs = vec![run(1e6 / 3.0 - 1.0), run(1e6 / 3.0), run(1e6 / 3.0 + 1.0)];
    record.rows[0].measured(Measured { runs, ..Measured::default() });
    record.rows[1].no_result(NoResult::Failed, Reason::new("no space left, \"ENOSPC\""));
    record
}

fn file(dir: &Path, shape: Shape, dialect: Dialect) -> String {
    let path = dir.join("out.csv");
    let bytes = write(&[record()], Options { shape, dialect, verbatim: false }).expect("CSV is written");
    fs::write(&path, bytes).expect("the file is written");
    path.to_str().expect("a plain path").to_string()
}

fn output(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "the program complains");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Prints the cells of some columns, line by line, as Python sees them.
const SCRIPT: &str = "import csv, sys
path, encoding, delimiter, *columns = sys.argv[1:]
with open(path, newline='', encoding=encoding) as f:
    for line in csv.DictReader(f, delimiter=delimiter, strict=True):
        assert None not in line and None not in line.values(), 'ragged'
        print(ascii([line[c] for c in columns]))
";

#[test]
fn python_reads_every_form_and_dialect() {
    let Some([python]) = need("csv_programs::python", ["python3"]) else { return };
    let dir = scratch();
    let read = |shape, dialect, encoding: &str, delimiter: &str, columns: &[&str]| {
        let path = file(dir.path(), shape, dialect);
        output(&python, &[&["-c", SCRIPT, &path, encoding, delimiter], columns].concat())
    };
    let columns = ["target", "title", "status", "reason", "n", "value"];
    let title = r#"'\'=1+1; "quoted", \xe4\nsecond line'"#;
    let long = |value: &str| {
        let failed = r#"'no space left, "ENOSPC"'"#;
        format!(
            "[\"'-5\", {title}, 'ok', '', '3', '{value}']\n[\"'-5\", {title}, 'failed', {failed}, '', '']\n"
        )
    };
    let third = "0.3333333333333333";
    assert_eq!(read(Shape::Long, Dialect::Rfc4180, "utf-8", ",", &columns), long(third));
    assert_eq!(read(Shape::Long, Dialect::Excel, "utf-8-sig", ",", &columns), long(third));
    assert_eq!(
        read(Shape::Long, Dialect::ExcelEu, "utf-8-sig", ";", &columns),
        long(&third.replace('.', ","))
    );
    assert_eq!(
        read(Shape::Wide, Dialect::Rfc4180, "utf-8", ",", &["case", "night", "night status"]),
        "['a', '0.3333333333333333', 'ok']\n['b', '', 'failed: no space left, \"ENOSPC\"']\n"
    );
    assert_eq!(
        read(Shape::Raw, Dialect::Rfc4180, "utf-8", ",", &["case", "repeat", "elapsed_s"]),
        "['a', '1', '0.25']\n['a', '2', '0.25']\n['a', '3', '0.25']\n['b', '', '']\n"
    );
}

#[test]
fn sqlite_imports_every_form() {
    let Some([sqlite]) = need("csv_programs::sqlite", ["sqlite3"]) else { return };
    let dir = scratch();
    let ask = |shape, question: &str| {
        let path = file(dir.path(), shape, Dialect::Rfc4180);
        let import = format!(".import {path} t");
        // Versions differ in the line end of what they print.
        output(&sqlite, &[":memory:", "-cmd", ".mode csv", "-cmd", &import, question]).replace("\r\n", "\n")
    };
    assert_eq!(
        ask(
            Shape::Long,
            "select count(*), sum(value = ''), round(sum(value + 0), 6), max(length(title)), \
             max(reason) from t"
        ),
        format!("2,1,0.333333,{},\"no space left, \"\"ENOSPC\"\"\"\n", TITLE.chars().count() + 1)
    );
    assert_eq!(ask(Shape::Wide, "select \"case\", night <> '' from t"), "a,1\nb,0\n");
    assert_eq!(ask(Shape::Raw, "select \"case\", count(*) from t group by 1"), "a,3\nb,1\n");
}

const SHAPES: [Shape; 3] = [Shape::Long, Shape::Wide, Shape::Raw];

/// The cells of a form as the csv crate reads them; decimal commas of numbers as points.
fn cells(path: &str, dialect: Dialect) -> Vec<Vec<String>> {
    let bytes = fs::read(path).expect("the file is read");
    let marked = bytes.strip_prefix(b"\xef\xbb\xbf");
    assert_eq!(marked.is_some(), dialect != Dialect::Rfc4180, "a mark for Excel and for nothing else");
    let european = dialect == Dialect::ExcelEu;
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(if european { b';' } else { b',' })
        .from_reader(marked.unwrap_or(&bytes));
    let cell = |text: &str| match text.replace(',', ".").parse::<f64>() {
        Ok(_) if european => text.replace(',', "."),
        _ => text.to_string(),
    };
    // A ragged line is an error of the reader.
    reader.records().map(|line| line.expect("a sound line").iter().map(cell).collect()).collect()
}

#[test]
fn every_shape_says_the_same_in_every_dialect() {
    let dir = scratch();
    for shape in SHAPES {
        let plain = cells(&file(dir.path(), shape, Dialect::Rfc4180), Dialect::Rfc4180);
        assert!(plain.len() >= 3 && plain[0].len() > 5, "{plain:?}");
        for dialect in [Dialect::Excel, Dialect::ExcelEu] {
            assert_eq!(cells(&file(dir.path(), shape, dialect), dialect), plain, "{shape:?} {dialect:?}");
        }
    }
}

#[test]
fn python_and_sqlite_find_every_line_of_every_shape_and_dialect() {
    let Some([python, sqlite]) = need("csv_programs::all", ["python3", "sqlite3"]) else { return };
    let dir = scratch();
    let count = "import csv, sys; f = open(sys.argv[1], newline='', encoding='utf-8-sig')
lines = list(csv.reader(f, delimiter=sys.argv[2], strict=True)); print(len(lines), len(lines[0]), len(set(map(len, lines))))";
    for shape in SHAPES {
        for dialect in [Dialect::Rfc4180, Dialect::Excel, Dialect::ExcelEu] {
            let path = file(dir.path(), shape, dialect);
            let expected = cells(&path, dialect);
            let separator = if dialect == Dialect::ExcelEu { ";" } else { "," };
            let seen = output(&python, &["-c", count, &path, separator]);
            assert_eq!(
                seen,
                format!("{} {} 1\n", expected.len(), expected[0].len()),
                "{shape:?} {dialect:?}"
            );
            let (set, import) = (format!(".separator {separator}"), format!(".import {path} t"));
            let commands = [":memory:", "-cmd", ".mode csv", "-cmd", &set, "-cmd", &import];
            let lines = output(&sqlite, &[&commands[..], &["select count(*) from t"]].concat());
            assert_eq!(lines.trim(), (expected.len() - 1).to_string(), "{shape:?} {dialect:?}");
        }
    }
}
