//! What the README shows works: its YAML loads, compiles and runs.

mod common;

use common::pipeline::{plans, simulate};
use ioscore::os::sim::Options;
use ioscore::vm::random::StreamKey;

fn blocks(kind: &str) -> Vec<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let fence = format!("```{kind}\n");
    text.split(&fence).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect()
}

#[test]
fn the_profile_in_the_readme_runs() {
    let profiles: Vec<String> = blocks("yaml").into_iter().filter(|b| b.starts_with("profile:")).collect();
    assert_eq!(profiles.len(), 1);
    let planned = plans("README.yaml", &profiles[0], &[("time", "1s")]).unwrap();
    let (run, _) = simulate(&planned[0].1, Options::default(), StreamKey::default());
    assert_eq!(run.fault, None);
    assert!(run.phases[0].workers.iter().all(|w| w.stats.iter().any(|s| s.ops > 10)));
}

#[test]
fn the_first_two_commands_are_the_ones_promised() {
    let shell = blocks("sh");
    let lines: Vec<&str> = shell[0].lines().collect();
    assert_eq!(
        lines,
        ["cargo run --release -- run suites/nas-filesystems.yaml --preset quick", "cargo test"]
    );
}
