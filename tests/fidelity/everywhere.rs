//! The comparisons of this program on fresh file systems of each kind: images in a file, mounted
//! through a loop device, and memory. Each runs this very program again with its temporary directory
//! there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{need, skip};

/// Bytes of an image; sparse, so that only what is written takes space.
const IMAGE: u64 = 3 << 30;

/// What makes and mounts each kind; `zfs` needs a daemon and a pool.
const KINDS: [&str; 5] = ["tmpfs", "ext4", "xfs", "btrfs", "zfs"];

/// Comparisons that choose their own place, or need none: once is enough.
const ELSEWHERE: &[&str] =
    &["everywhere", "compilebench", "the_whole_load", "on_the_simulation", "is_a_mistake", "exact_counts"];

/// A mounted file system; unmounted when dropped, also by a panic.
struct Mounted {
    point: PathBuf,
    dir: tempfile::TempDir,
    pool: Option<String>,
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            let _ = Command::new("zpool").args(["destroy", "-f", pool]).status();
            return;
        }
        let done = Command::new("umount").arg(&self.point).status();
        if !done.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.point).status();
        }
    }
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let done = Command::new(program).args(args).output().map_err(|error| format!("{program}: {error}"))?;
    match done.status.success() {
        true => Ok(()),
        false => {
            Err(format!("{program} {}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr).trim()))
        }
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths here are text")
}

/// A fresh file system of a kind. `Err`: why there is none.
fn mount(kind: &str) -> Result<Mounted, String> {
    let dir = tempfile::Builder::new().prefix("io-").tempdir_in("/tmp").map_err(|error| error.to_string())?;
    let (point, image) = (dir.path().join("m"), dir.path().join("image"));
    fs::create_dir(&point).map_err(|error| error.to_string())?;
    if kind == "tmpfs" {
        run("mount", &["-t", "tmpfs", "-o", "size=2g", "tmpfs", text(&point)])?;
        return Ok(Mounted { point, dir, pool: None });
    }
    if kind == "zfs" {
        return pool(dir, point);
    }
    let file = fs::File::create(&image).map_err(|error| error.to_string())?;
    file.set_len(IMAGE).map_err(|error| error.to_string())?;
    let quiet: &[&str] = if kind == "ext4" { &["-q", "-F"] } else { &["-q"] };
    run(&format!("mkfs.{kind}"), &[quiet, &[text(&image)]].concat())?;
    run("mount", &["-o", "loop", text(&image), text(&point)])?;
    Ok(Mounted { point, dir, pool: None })
}

/// A mirror of two files.
fn pool(dir: tempfile::TempDir, point: PathBuf) -> Result<Mounted, String> {
    run("zpool", &["list"])?;
    let halves = ["a", "b"].map(|name| dir.path().join(name));
    for half in &halves {
        let file = fs::File::create(half).map_err(|error| error.to_string())?;
        file.set_len(IMAGE).map_err(|error| error.to_string())?;
    }
    let name = format!("ioscore-test-{}", std::process::id());
    let at = format!("mountpoint={}", text(&point));
    run("zpool", &["create", "-O", &at, &name, "mirror", text(&halves[0]), text(&halves[1])])?;
    Ok(Mounted { point, dir, pool: Some(name) })
}

#[test]
fn everywhere_the_same_calls() {
    let test = "fidelity::everywhere_the_same_calls";
    if need(test, ["strace", "mkfs.xfs", "mkfs.btrfs"]).is_none() {
        return;
    }
    // The program itself must not be run by its own child.
    if std::env::var_os("IOSCORE_EVERYWHERE").is_some() {
        return;
    }
    let program = std::env::current_exe().expect("this program has a path");
    let (mut failures, mut done) = (Vec::new(), 0);
    for kind in KINDS {
        let mounted = match mount(kind) {
            Ok(mounted) => mounted,
            // Where it can be had: an ordinary Debian does not have it.
            Err(why) if kind == "zfs" => {
                eprintln!("no ZFS here: {why}");
                continue;
            }
            Err(why) => {
                skip(test, &format!("no {kind} can be mounted: {why}"));
                continue;
            }
        };
        let skips = ELSEWHERE.iter().flat_map(|name| ["--skip", name]);
        let mut child = Command::new(&program);
        child.args(skips).env("TMPDIR", &mounted.point).env("IOSCORE_EVERYWHERE", kind);
        let ran = child.output().expect("this program runs");
        let said = String::from_utf8_lossy(&ran.stdout).into_owned();
        let passed = said.lines().filter(|line| line.starts_with("test ") && line.ends_with(" ok")).count();
        assert!(mounted.dir.path().exists());
        eprintln!("{kind}: {passed} comparisons with the same calls");
        if !ran.status.success() || passed < 6 {
            failures.push(format!("{kind}:\n{said}\n{}", String::from_utf8_lossy(&ran.stderr)));
        }
        done += 1;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(done >= 4 || std::env::var_os("IOSCORE_NO_SKIP").is_none(), "{done} of four file systems");
}
