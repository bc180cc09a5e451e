//! The reference page and its examples.

use ioscore::profile::reference::{example, reference};

use super::{has_error, judge, verbs::VERBS};

#[test]
fn every_example_of_the_page_passes_the_check() {
    for verb in VERBS.iter().chain(ioscore::profile::language::BLOCKS) {
        let step = example(verb, "fsync");
        let profile = format!(
            "profile: x\nversion: 1.0.0\ntitle: X\nsummary: x\nfiles: {{mail: {{count: 1}}}}\nphases:\n- phase: go\n  \
             steps:\n  {step}\nresults: [{{name: Time, value: go.seconds, better: lower}}]\n"
        );
        let (_, found) = judge("x", profile.as_bytes());
        assert!(!has_error(&found), "{step}: {found:?}");
    }
}

#[test]
fn the_page_names_every_verb_and_argument() {
    let page = reference(VERBS);
    for verb in VERBS {
        assert!(page.contains(&format!("\n### {}\n", verb.name)), "{}", verb.name);
        for field in verb.args {
            assert!(page.contains(&format!("| `{}`", field.name)), "{}", field.name);
        }
    }
    assert!(
        page.contains("\n## Flow\n") && page.contains("\n### mix\n") && page.contains("\n## Modifiers\n")
    );
    assert!(page.contains("- {replay: text, format: loadfile}"), "{page}");
}
