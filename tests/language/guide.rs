//! The guide to writing profiles: every profile in it is one that the program takes.

use crate::common::cases::profile;
use crate::common::pipeline::plans;

const GUIDE: &str = include_str!("../../docs/writing-profiles.md");

/// The fenced blocks of YAML.
fn blocks() -> Vec<&'static str> {
    GUIDE.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A piece of a profile made whole: steps, phases or sets get what is missing around them.
fn whole(block: &str) -> String {
    let has = |key: &str| block.lines().any(|line| line.starts_with(key));
    if has("profile:") {
        return block.to_string();
    }
    let sets = "files: {data: {count: 4, slots: 8, size: 64KiB, max_size: 1MiB, name: \"d{n}\"}, log: {name: \"l{n}\", dir: logs}, shared_log: {count: 1, size: 1MiB, name: shared}}\n";
    let block = match block.trim_start().starts_with('-') {
        true => format!("{sets}phases:\n  - phase: p\n    repeat: 2\n    steps:\n{}", indented(block)),
        false => block.to_string(),
    };
    let phases = match block.lines().any(|line| line.starts_with("phases:")) {
        true => "",
        false => "phases: [{phase: p, steps: [statfs]}]\n",
    };
    let sets = if block.lines().any(|line| line.starts_with("files:")) { "" } else { sets };
    let text = profile(&format!("{sets}{phases}{block}"));
    match block.lines().any(|line| line.starts_with("results:")) {
        true => {
            text.lines().filter(|line| !line.starts_with("results: [{name: N")).collect::<Vec<_>>().join("\n")
        }
        false => text,
    }
}

fn indented(block: &str) -> String {
    block.lines().map(|line| format!("      {line}\n")).collect()
}

#[test]
fn every_profile_of_the_guide_compiles() {
    let blocks = blocks();
    assert!(blocks.len() >= 9, "{}", blocks.len());
    assert_eq!(GUIDE.matches("```").count() % 2, 0);
    for block in blocks {
        let text = whole(block);
        if let Err(problems) = plans("guide.yaml", &text, &[]) {
            panic!("{problems}\n{text}");
        }
    }
}
