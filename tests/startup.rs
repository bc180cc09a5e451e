//! Two thousand workers start, work and finish. How fast, `cargo bench --bench startup` says.

mod common;

use std::process::Command;

use common::scratch;

const WORKERS: u64 = 2_000;

/// Its `workers` are 2000 unless told otherwise.
const PROFILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/profiles/crowd.yaml");

#[test]
fn two_thousand_workers_start_and_finish() {
    let dir = scratch();
    let (target, out) = (dir.path().join("t"), dir.path().join("o"));
    std::fs::create_dir(&target).expect("the target is made");
    let run = Command::new(env!("CARGO_BIN_EXE_ioscore"))
        .arg("run")
        .arg(PROFILE)
        .arg("--target")
        .arg(&target)
        .arg("--out")
        .arg(&out)
        .args(["--runs", "1", "--quiet", "--name", "crowd"])
        .output()
        .expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let text = std::fs::read(out.join("crowd/record.json")).expect("the record is there");
    let record: serde_json::Value = serde_json::from_slice(&text).expect("the record is JSON");
    let values = &record["rows"][0]["runs"][0]["values"];
    assert_eq!(values["Created"].as_f64(), Some(WORKERS as f64), "{record:#}");
    assert_eq!(values["Written"].as_f64(), Some(WORKERS as f64 * 4096.0));
    assert_eq!(std::fs::read_dir(&target).expect("the target is there").count(), 0, "nothing is left");
}
