//! What `data: random` really puts on the target: nothing that a disk could compress or has seen.

mod common;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::tools::find;
use common::{scratch, skip};

const BLOCK: usize = 4096;
const SECTOR: usize = 512;
const SIZE: usize = 64 << 20;
const PART: usize = 1 << 20;
/// Percent that zstd may save of any part.
const SAVED: f64 = 2.0;

const PROFILE: &str = "
profile: filled
version: 1.0.0
title: Filled
summary: Writes one file in blocks.
files:
  data: {name: data, dir: .}
phases:
  - phase: fill
    steps:
      - {create: data}
      - {write: 64MiB, block: 4KiB, data: random}
      - close
results:
  - {name: Written, value: fill.write.bytes.total, unit: MiB, better: higher, primary: true}
";

fn file_named(name: &str, under: &Path) -> Option<PathBuf> {
    for entry in std::fs::read_dir(under).ok()?.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if let Some(found) = file_named(name, &path) {
                return Some(found);
            }
        } else if entry.file_name() == name {
            return Some(path);
        }
    }
    None
}

#[test]
fn random_data_neither_compresses_nor_repeats() {
    let dir = scratch();
    let (profile, target, out) = (dir.path().join("filled.yaml"), dir.path().join("t"), dir.path().join("o"));
    std::fs::write(&profile, PROFILE).expect("the profile is written");
    std::fs::create_dir(&target).expect("the target is made");
    let run = Command::new(env!("CARGO_BIN_EXE_ioscore"))
        .arg("run")
        .arg(&profile)
        .arg("--target")
        .arg(&target)
        .arg("--out")
        .arg(&out)
        .args(["--runs", "1", "--quiet", "--keep"])
        .output()
        .expect("it starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let file = file_named("data", &target).expect("the file was kept");
    let data = std::fs::read(file).expect("the file can be read");
    assert_eq!(data.len(), SIZE);

    let beginnings: HashSet<&[u8]> = data.chunks(SECTOR).map(|sector| &sector[..8]).collect();
    assert_eq!(beginnings.len(), SIZE / SECTOR, "sectors that begin with eight bytes seen before");
    let blocks: HashSet<&[u8]> = data.chunks(BLOCK).collect();
    assert_eq!(blocks.len(), SIZE / BLOCK, "blocks that were written before");

    let Some(zstd) = find("zstd") else {
        return skip("written_data::random_data (its compression)", "zstd is not installed");
    };
    let part = dir.path().join("part");
    for (number, bytes) in data.chunks(PART).enumerate() {
        std::fs::write(&part, bytes).expect("the part is written");
        let packed = Command::new(&zstd).args(["-3", "-q", "-c"]).arg(&part).output().expect("zstd starts");
        assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
        let saved = 100.0 - packed.stdout.len() as f64 / bytes.len() as f64 * 100.0;
        assert!(saved < SAVED, "zstd saves {saved:.1} % of MiB {number}");
    }
}
