//! Fresh file systems to run on: images in a file mounted through a loop device, memory, and a ZFS
//! mirror of two files. All that was made is unmounted and removed when a place is dropped.
//!
//! Knows nothing of what is run there. Needs the right to mount.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The kinds there are, in the order of every report. All but [`OPTIONAL`] are there on any Debian.
pub const KINDS: [&str; 5] = ["tmpfs", "ext4", "xfs", "btrfs", "zfs"];

/// The kind that needs a package of its own, a daemon and `/dev/fuse`.
pub const OPTIONAL: &str = "zfs";

/// Bytes of an image; sparse, so that only what is written takes space.
const IMAGE: u64 = 3 << 30;

/// How long a daemon may take until it answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who has locked this file has the ZFS daemon to itself.
const ALONE: &str = "/tmp/ioscore-zfs.lock";

/// What the daemon mounts of its own accord and leaves behind when it is killed.
const STATISTICS: &str = "/zfs-kstat";

/// A mounted file system.
pub struct Place {
    point: PathBuf,
    /// Holds the images and the mount point; removed after all else.
    _dir: tempfile::TempDir,
    mounted: bool,
    pool: Option<String>,
    daemon: Option<Child>,
    /// Held as long as the daemon is used.
    _alone: Option<File>,
}

impl Place {
    /// Where it is mounted.
    pub fn point(&self) -> &Path {
        &self.point
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let quietly = |program: &str, args: &[&str]| run(program, args).is_ok();
        let point = text(&self.point);
        // Whatever still sits in it (after a panic) does not keep the images.
        let _ = self.mounted && (quietly("umount", &[point]) || quietly("umount", &["-l", point]));
        if let Some(pool) = &self.pool {
            let _ = quietly("zpool", &["destroy", "-f", pool]);
        }
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
            let _ = quietly("umount", &["-l", STATISTICS]);
        }
    }
}

/// A fresh, empty file system of a kind. `Err`: why there can be none here.
pub fn fresh(kind: &str) -> Result<Place, String> {
    let dir = tempfile::Builder::new().prefix("io-").tempdir_in("/tmp").map_err(|e| e.to_string())?;
    let point = dir.path().join("m");
    fs::create_dir(&point).map_err(|e| e.to_string())?;
    let images = ["a", "b"].map(|name| dir.path().join(name));
    let mut place = Place { point, _dir: dir, mounted: false, pool: None, daemon: None, _alone: None };
    match kind {
        "tmpfs" => run("mount", &["-t", "tmpfs", "-o", "size=2g", "tmpfs", text(&place.point)])?,
        "zfs" => mirror(&mut place, &images)?,
        _ => {
            let image = text(&images[0]);
            sparse(&images[0])?;
            let quiet: &[&str] = if kind == "ext4" { &["-q", "-F"] } else { &["-q"] };
            run(&format!("mkfs.{kind}"), &[quiet, &[image]].concat())?;
            run("mount", &["-o", "loop", image, text(&place.point)])?;
        }
    }
    place.mounted = true;
    Ok(place)
}

/// A pool that mirrors two files, by a daemon of its own where none is there.
fn mirror(place: &mut Place, images: &[PathBuf; 2]) -> Result<(), String> {
    for image in images {
        sparse(image)?;
    }
    // A machine has one daemon. Whoever started it ends it, so that nobody else may use it until then.
    let alone = File::create(ALONE).map_err(|e| format!("{ALONE}: {e}"))?;
    alone.lock().map_err(|e| format!("{ALONE}: {e}"))?;
    place._alone = Some(alone);
    if run("zpool", &["list"]).is_err() {
        let mut daemon = Command::new("zfs-fuse");
        daemon.arg("--no-daemon").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        place.daemon = Some(daemon.spawn().map_err(|e| format!("zfs-fuse does not start: {e}"))?);
        let begin = Instant::now();
        while let Err(why) = run("zpool", &["list"]) {
            if begin.elapsed() > PATIENCE {
                return Err(format!("zfs-fuse does not answer: {why}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    let name = format!("ioscore-test-{}", std::process::id());
    let at = format!("mountpoint={}", text(&place.point));
    let [a, b] = images.each_ref().map(|image| text(image));
    // No cache file: the next daemon must not look for a pool that is gone.
    run("zpool", &["create", "-o", "cachefile=none", "-O", &at, &name, "mirror", a, b])?;
    place.pool = Some(name);
    Ok(())
}

fn sparse(image: &Path) -> Result<(), String> {
    File::create(image).and_then(|file| file.set_len(IMAGE)).map_err(|e| format!("{}: {e}", image.display()))
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    // Administrators' programs are often left out of a user's `PATH`.
    command.args(args).env("PATH", format!("{path}:/usr/sbin:/sbin")).stdin(Stdio::null());
    let done = command.output().map_err(|e| format!("{program}: {e}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{program} {}: {}", args.join(" "), said.trim())),
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("paths of temporary directories are text")
}
