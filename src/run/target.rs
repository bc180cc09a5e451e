//! The directories a session works under: named, looked at, refused where a test has no business.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::reason;
use crate::os::linux::{RunDir, calls, probe};
use crate::os::{Errno, FsStat};
use crate::profile::expression::Facts;
use crate::system::files::Root;
use crate::system::{self, Space, Target};

/// File systems in which files are made by the kernel and mean something to it.
const KERNEL: [&str; 8] = ["proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs"];

/// A target that was found fit to work under.
#[derive(Clone, Debug)]
pub struct Place {
    /// As given; resolved anew by nobody but the run directory.
    pub path: PathBuf,
    /// What is known of it, for the record.
    pub about: Target,
    /// What expressions may ask of it.
    pub facts: Facts,
}

/// `NAME=PATH` or `PATH`.
pub fn parse(argument: &str) -> (Option<String>, PathBuf) {
    match argument.split_once('=') {
        Some((name, path))
            if !name.is_empty()
                && !path.is_empty()
                && !name.contains('/')
                && !Path::new(argument).exists() =>
        {
            (Some(name.to_string()), PathBuf::from(path))
        }
        _ => (None, PathBuf::from(argument)),
    }
}

/// Looks at a target. `write` makes and removes a run directory there to see that it can be done.
///
/// # Errors
/// One line that says why it cannot be used.
pub fn look(name: Option<&str>, path: &Path, write: bool) -> Result<Place, String> {
    let shown = path.display();
    let about =
        fs::metadata(path).map_err(|error| format!("target {shown}: {}", reason::of_target(&error)))?;
    if about.file_type().is_block_device() {
        return Err(format!("target {shown} is a block device: name a directory on it instead"));
    }
    if !about.is_dir() {
        return Err(format!("target {shown} is no directory: name a directory"));
    }
    let real =
        fs::canonicalize(path).map_err(|error| format!("target {shown}: {}", reason::of_target(&error)))?;
    refuse_kernel(path, &real)?;
    let mut target = system::target::describe(&Root::default(), name, path);
    let stat = stat(path).map_err(|errno| format!("target {shown}: {errno}"))?;
    target.space_before = Some(space(&stat));
    if write {
        let directory = RunDir::create(path, "check")
            .map_err(|error| format!("target {shown}: {}", reason::of_target(&error)))?;
        target.direct_alignment_bytes = alignment(&directory);
        directory.remove().map_err(|left| {
            let first = left.first().map(|l| format!("{}: {}", l.path, l.errno)).unwrap_or_default();
            format!("target {shown}: what was made there cannot be removed again: {first}")
        })?;
    }
    Ok(Place { path: path.to_path_buf(), facts: facts(Some(&stat)), about: target })
}

/// `/proc`, `/sys` and `/dev` are no storage; a file made in `/dev` by mistake fills the memory.
fn refuse_kernel(given: &Path, real: &Path) -> Result<(), String> {
    let kind = probe::mount_of(real).map(|mount| mount.file_system).unwrap_or_default();
    let inside = ["/proc", "/sys", "/dev"].iter().find(|top| real.starts_with(top));
    let memory = real.starts_with("/dev/shm");
    if (inside.is_some() && !memory) || KERNEL.contains(&kind.as_str()) {
        let top = inside.copied().unwrap_or(&kind);
        return Err(format!(
            "target {} lies in {top}, which is no storage: name another directory",
            given.display()
        ));
    }
    Ok(())
}

fn stat(path: &Path) -> Result<FsStat, Errno> {
    let io = |error: std::io::Error| Errno(error.raw_os_error().unwrap_or(libc::EIO));
    let directory = fs::File::open(path).map_err(io)?;
    calls::fstatfs(directory.as_raw_fd())
}

fn space(stat: &FsStat) -> Space {
    Space::of_statfs(stat.block, stat.blocks, stat.available, stat.files, stat.files_free)
}

/// The room there is now.
pub fn space_now(path: &Path) -> Option<Space> {
    stat(path).ok().map(|stat| space(&stat))
}

/// What direct I/O must be aligned to, from a file in an empty run directory.
fn alignment(directory: &RunDir) -> Option<u64> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
    let file = calls::owned(calls::openat(directory.root(), c"alignment", flags, 0o600).ok()?);
    let found = probe::direct_alignment(file.as_raw_fd())?;
    (found.offset > 0).then_some(u64::from(found.offset))
}

/// What expressions may ask: of this machine, and of a target where there is one.
pub fn facts(target: Option<&FsStat>) -> Facts {
    let machine = system::machine::describe(&Root::default());
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    Facts {
        cpus,
        memory: machine.memory_bytes.unwrap_or(1 << 30),
        free_space: target.map_or(1 << 40, |stat| stat.available),
        page_size: page_size(),
        target_block: target.map_or(4096, |stat| stat.block),
    }
}

/// The kernel's page size in bytes, from what it tells every program at its start.
fn page_size() -> u64 {
    const AT_PAGESZ: u64 = 6;
    const WORD: usize = size_of::<usize>();
    let words = fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
    let little = cfg!(target_endian = "little");
    let pairs = words.chunks_exact(2 * WORD).filter(|_| little);
    let found = pairs.map(|pair| pair.split_at(WORD)).find(|(key, _)| word(key) == AT_PAGESZ);
    found.map(|(_, value)| word(value)).filter(|size| size.is_power_of_two()).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_before_the_path() {
        let parsed = |text| parse(text);
        assert_eq!(parsed("ssd=/mnt/a"), (Some("ssd".into()), PathBuf::from("/mnt/a")));
        assert_eq!(parsed("/mnt/a=b"), (None, PathBuf::from("/mnt/a=b")));
        assert_eq!(parsed("./x"), (None, PathBuf::from("./x")));
        assert_eq!(parsed("=x"), (None, PathBuf::from("=x")));
    }

    #[test]
    fn what_is_no_storage_is_refused() {
        for path in ["/proc", "/proc/self", "/sys", "/dev"] {
            let error = look(None, Path::new(path), true).expect_err(path);
            assert!(error.contains("no storage"), "{error}");
        }
        let error = look(None, Path::new("/nowhere/at/all"), true).unwrap_err();
        assert!(error.contains("ENOENT") && error.contains("/nowhere/at/all"), "{error}");
        let error = look(None, Path::new("/etc/passwd"), true).unwrap_err();
        assert!(error.contains("no directory"), "{error}");
        let error = look(None, Path::new("/dev/null"), true).unwrap_err();
        assert!(error.contains("no directory"), "{error}");
    }

    #[test]
    fn looking_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        let place = look(Some("here"), directory.path(), true).unwrap();
        assert_eq!(place.about.name, "here");
        assert!(place.about.space_before.is_some() && place.facts.free_space > 0);
        assert!(place.facts.page_size >= 4096 && place.facts.cpus > 0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
