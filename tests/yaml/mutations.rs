//! Whatever stands in a file, the loader, the checker and the renderer answer and do not panic.

use proptest::prelude::*;

use super::{corpus, judge};
use ioscore::profile::render::{render, render_lines};

fn survives(bytes: &[u8]) {
    let (sources, found) = judge("x.yaml", bytes);
    let shown = render(&found, &sources, false);
    assert_eq!(shown.is_empty(), found.is_empty());
    assert!(render_lines(&found, &sources).lines().count() <= found.len());
}

/// What people's hands and editors do to a file.
const SNIPPETS: &[&str] = &[
    "{{",
    "}}",
    "\"",
    "'",
    "\t",
    "\u{a0}",
    "- ",
    ": ",
    "&a ",
    "*a",
    "<<: ",
    "!x ",
    "{",
    "}",
    "[",
    "]",
    "\n---\n",
    "|\n",
    "#",
    "? ",
    "\u{feff}",
    "\r",
    "null",
    "-1",
    "1e999",
    ".inf",
    "é",
    "\u{2028}",
    "%YAML 1.1\n",
    "~",
    "99999999999999999999",
    "steps",
    "write: 4k",
    "  ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        survives(&bytes);
    }

    #[test]
    fn any_yaml_like_text(parts in proptest::collection::vec(proptest::sample::select(SNIPPETS), 0..40)) {
        survives(parts.concat().as_bytes());
    }

    #[test]
    fn valid_profiles_with_a_few_changes(
        edits in proptest::collection::vec((any::<u16>(), 0usize..30, proptest::sample::select(SNIPPETS)), 1..4),
        which in 0usize..2,
    ) {
        let files = corpus("ok");
        let wanted = ["everything.yaml", "suite.yaml"][which];
        let path = files.iter().find(|path| path.ends_with(wanted)).expect("it is there");
        let mut text: Vec<char> = std::fs::read_to_string(path).expect("readable").chars().collect();
        for (at, removed, inserted) in edits {
            let at = usize::from(at) % text.len();
            let end = (at + removed).min(text.len());
            text.splice(at..end, inserted.chars());
        }
        survives(text.into_iter().collect::<String>().as_bytes());
    }
}
