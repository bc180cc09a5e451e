//! The run directory: the one place under a target where a run writes, gone when it ends.
//!
//! ```text
//! TARGET/ioscore-run-NAME-PID/.ioscore-run   the marker, locked while the run lives
//! TARGET/ioscore-run-NAME-PID/work/          the root of everything a test does
//! ```
//! It is opened once and used by descriptor. [`clean`] finds what dead runs left behind by the
//! marker and touches nothing else. What is done in the directory is not known here.

use super::calls;
use super::marker::{LONGEST, Marker};
use super::probe;
use super::removal::{self, Left};
use crate::os::machine::{Call, Errno, Fd, Whence};
use std::ffi::{CStr, CString};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

const PREFIX: &str = "ioscore-run-";
const MARKER: &CStr = c".ioscore-run";
/// What the marker is called in a directory that was kept on purpose.
const KEPT: &CStr = c".ioscore-kept";
const WORK: &CStr = c"work";
/// Longest name of a run in bytes: with prefix and process number well below 255.
const NAME: usize = 128;
/// A directory, itself and not what a symbolic link of its name points to.
const DIRECTORY: i32 = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;

/// A marked directory under the target. Dropping it removes it as far as that is possible.
#[derive(Debug)]
pub struct RunDir {
    given: PathBuf,
    real: PathBuf,
    name: CString,
    target: OwnedFd,
    dir: OwnedFd,
    work: OwnedFd,
    /// Holds the lock.
    _marker: File,
    /// Whether dropping has nothing more to do.
    settled: bool,
}

impl RunDir {
    /// Makes the run directory under `target`, whose symbolic links are resolved once, now.
    ///
    /// # Errors
    /// `InvalidInput` for a run name that cannot be part of a file name; `ENOENT`, `ENOTDIR`,
    /// `EACCES`, `EROFS`, `ENOSPC` … from the target.
    pub fn create(target: &Path, name: &str) -> io::Result<RunDir> {
        if name.is_empty() || name.len() > NAME || name.chars().any(|c| c == '/' || c.is_control()) {
            let text =
                format!("run name {name:?}: must be 1 to {NAME} bytes without / and control characters");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let target_fd = open_target(target)?;
        let real = std::fs::read_link(format!("/proc/thread-self/fd/{}", target_fd.as_raw_fd()))
            .or_else(|_| std::fs::canonicalize(target))?;
        let name = make(target_fd.as_raw_fd(), name)?;
        match furnish(target_fd.as_raw_fd(), &name) {
            Ok((dir, work, marker)) => Ok(RunDir {
                given: target.to_path_buf(),
                real,
                name,
                target: target_fd,
                dir,
                work,
                _marker: marker,
                settled: false,
            }),
            Err(error) => {
                let _ = calls::unlinkat(target_fd.as_raw_fd(), &name, libc::AT_REMOVEDIR);
                Err(error)
            }
        }
    }

    /// The directory that workers use as their root; valid as long as this value lives.
    pub fn root(&self) -> Fd {
        self.work.as_raw_fd()
    }

    /// A descriptor of the root that is the caller's own.
    pub fn root_owned(&self) -> io::Result<OwnedFd> {
        self.work.try_clone()
    }

    /// The target as the user wrote it.
    pub fn given(&self) -> &Path {
        &self.given
    }

    /// The target without symbolic links.
    pub fn real(&self) -> &Path {
        &self.real
    }

    /// The run directory's own name.
    pub fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// The path of the root, to show it and for libraries that open by path.
    pub fn path(&self) -> PathBuf {
        self.real.join(self.name()).join("work")
    }

    /// Removes the directory and everything in it.
    ///
    /// # Errors
    /// What is left, up to some twenty entries; their paths are relative to the run directory.
    pub fn remove(mut self) -> Result<(), Vec<Left>> {
        self.settled = true;
        remove_at(self.target.as_raw_fd(), &self.name, self.dir.as_raw_fd())
    }

    /// Leaves the directory where it is, marked as kept: [`clean`] will not take it.
    pub fn keep(mut self) -> io::Result<PathBuf> {
        self.settled = true;
        let dir = self.dir.as_raw_fd();
        calls::renameat(dir, MARKER, dir, KEPT).map_err(io_error)?;
        Ok(self.real.join(self.name()))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        if !self.settled {
            // Nobody is left to hear of a failure; `clean` will find what remains.
            let _ = remove_at(self.target.as_raw_fd(), &self.name, self.dir.as_raw_fd());
        }
    }
}

fn io_error(errno: Errno) -> io::Error {
    io::Error::from_raw_os_error(errno.0)
}

fn open_target(target: &Path) -> io::Result<OwnedFd> {
    use std::os::unix::ffi::OsStrExt;
    let path = CString::new(target.as_os_str().as_bytes())?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    calls::openat(libc::AT_FDCWD, &path, flags, 0).map(calls::owned).map_err(io_error)
}

/// Makes a directory of a name that is not taken: an earlier process may have had our number.
fn make(target: Fd, name: &str) -> io::Result<CString> {
    let pid = std::process::id();
    let mut last = Errno(libc::EEXIST);
    for turn in 1..=100 {
        let suffix = if turn == 1 { String::new() } else { format!(".{turn}") };
        let name = CString::new(format!("{PREFIX}{name}-{pid}{suffix}"))?;
        match calls::mkdirat(target, &name, 0o700) {
            Ok(()) => return Ok(name),
            Err(errno) if errno.0 == libc::EEXIST => last = errno,
            Err(errno) => return Err(io_error(errno)),
        }
    }
    Err(io_error(last))
}

/// Opens the new directory and puts the locked marker and the working directory into it. Where
/// that fails, the directory is empty again.
fn furnish(target: Fd, name: &CStr) -> io::Result<(OwnedFd, OwnedFd, File)> {
    let dir = calls::owned(calls::openat(target, name, DIRECTORY, 0).map_err(io_error)?);
    match fill(dir.as_raw_fd()) {
        Ok((work, marker)) => Ok((dir, work, marker)),
        Err(error) => {
            // Nobody but us has been in there. By name: descriptors may be what there is none of.
            let _ = calls::unlinkat(dir.as_raw_fd(), WORK, libc::AT_REMOVEDIR);
            let _ = calls::unlinkat(dir.as_raw_fd(), MARKER, 0);
            Err(error)
        }
    }
}

fn fill(fd: Fd) -> io::Result<(OwnedFd, File)> {
    // Whatever the umask took away.
    calls::fchmod(fd, 0o700).map_err(io_error)?;
    let marker = mark(fd, &Marker::of_this_process())?;
    calls::mkdirat(fd, WORK, 0o700).map_err(io_error)?;
    let work = calls::owned(calls::openat(fd, WORK, DIRECTORY, 0).map_err(io_error)?);
    calls::fchmod(work.as_raw_fd(), 0o700).map_err(io_error)?;
    // The marker's name must outlive a crash as well.
    let _ = calls::fsync(fd);
    Ok((work, marker))
}

/// Puts a locked marker into a directory that has none.
fn mark(dir: Fd, marker: &Marker) -> io::Result<File> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let mut file = File::from(calls::owned(calls::openat(dir, MARKER, flags, 0o600).map_err(io_error)?));
    // Locked before it says whose it is. Where locks do not exist the process number must do.
    let _ = file.try_lock();
    file.write_all(marker.to_text().as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

/// Removes an open run directory, the marker last: whatever remains after a removal that failed
/// or was cut short is still known as ours and can be taken up again.
fn remove_at(target: Fd, name: &CStr, dir: Fd) -> Result<(), Vec<Left>> {
    let failed = |path: &str, errno| vec![Left { path: path.to_string(), errno }];
    let left = removal::empty_but(dir, MARKER);
    if !left.is_empty() {
        return Err(left);
    }
    let marker = read_marker(dir).map(|(marker, _)| marker);
    let unmarked = calls::unlinkat(dir, MARKER, 0);
    if let Err(errno) = unmarked
        && errno.0 != libc::ENOENT
    {
        return Err(failed(&MARKER.to_string_lossy(), errno));
    }
    // The name may have been given to another directory meanwhile.
    let same = |a: libc::stat64, b: libc::stat64| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino);
    match (calls::raw_statat(target, name), calls::raw_fstat(dir)) {
        (Ok(named), Ok(open)) if same(named, open) => {}
        (Err(Errno(libc::ENOENT)), _) => return Ok(()),
        _ => return Err(failed(".", Errno(libc::ESTALE))),
    }
    match calls::unlinkat(target, name, libc::AT_REMOVEDIR) {
        Ok(()) | Err(Errno(libc::ENOENT)) => Ok(()),
        Err(errno) => {
            // It stays, and so it is marked again as far as that is possible.
            if let Some(marker) = marker {
                let _ = mark(dir, &marker);
            }
            Err(failed(".", errno))
        }
    }
}

/// What [`clean`] did with one directory that has the name of a run directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cleaned {
    /// Name below the target.
    pub name: String,
    /// What became of it.
    pub state: CleanedState,
    /// Where removing failed: what is left of it.
    pub left: Vec<Left>,
}

/// What became of one run directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CleanedState {
    /// It is gone.
    Removed,
    /// Its run lives, here or on another machine that uses the same file system.
    StillRunning,
    /// No marker of this program in it, or another user's: not touched.
    NotOurs,
    /// Its user wanted it to stay: not touched.
    Kept,
    /// It could not be removed or looked at, with the error.
    Failed(Errno),
}

/// Removes what dead runs left under `target`. Sorted by name.
///
/// # Errors
/// Where the target cannot be opened or read; single leftovers report for themselves.
pub fn clean(target: &Path) -> io::Result<Vec<Cleaned>> {
    let target = open_target(target)?;
    let mut names = leftovers(target.as_raw_fd()).map_err(io_error)?;
    names.sort();
    let each = |name: CString| {
        let (state, left) = clean_one(target.as_raw_fd(), &name);
        Cleaned { name: name.to_string_lossy().into_owned(), state, left }
    };
    Ok(names.into_iter().map(each).collect())
}

/// Names in an open directory that could be run directories.
fn leftovers(target: Fd) -> Call<Vec<CString>> {
    let mut names = Vec::new();
    let mut buffer = vec![0; 32 * 1024];
    calls::seek(target, 0, Whence::Start)?;
    loop {
        let len = calls::getdents(target, &mut buffer)?;
        if len == 0 {
            return Ok(names);
        }
        let entries = removal::entries(buffer.get(..len).unwrap_or_default());
        names.extend(
            entries
                .map(|(name, _)| name)
                .filter(|name| name.to_bytes().starts_with(PREFIX.as_bytes()))
                .map(CStr::to_owned),
        );
    }
}

fn clean_one(target: Fd, name: &CStr) -> (CleanedState, Vec<Left>) {
    let nothing = |state| (state, Vec::new());
    // A symbolic link or a file of that name, or a directory of somebody else.
    let Ok(dir) = calls::openat(target, name, DIRECTORY, 0).map(calls::owned) else {
        return nothing(CleanedState::NotOurs);
    };
    let Some((marker, file)) = read_marker(dir.as_raw_fd()) else {
        let kept = calls::raw_statat(dir.as_raw_fd(), KEPT).is_ok();
        return nothing(if kept { CleanedState::Kept } else { CleanedState::NotOurs });
    };
    // Ours until this function ends, so that two cleaners do not meet in there.
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return nothing(CleanedState::StillRunning);
    }
    let shared = match calls::fstatfs(dir.as_raw_fd()) {
        Ok(stat) => probe::may_be_shared(stat.magic),
        Err(errno) => return nothing(CleanedState::Failed(errno)),
    };
    if marker.may_be_alive(shared) {
        return nothing(CleanedState::StillRunning);
    }
    match remove_at(target, name, dir.as_raw_fd()) {
        Ok(()) => nothing(CleanedState::Removed),
        Err(left) => {
            let errno = left.first().map_or(Errno(libc::ENOTEMPTY), |left| left.errno);
            (CleanedState::Failed(errno), left)
        }
    }
}

fn read_marker(dir: Fd) -> Option<(Marker, File)> {
    // Some network file systems lock only what is open for writing. Not blocking: it might be
    // anything, a pipe too.
    let common = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC;
    let fd = calls::openat(dir, MARKER, libc::O_RDWR | common, 0)
        .or_else(|_| calls::openat(dir, MARKER, libc::O_RDONLY | common, 0))
        .ok()?;
    let mut file = File::from(calls::owned(fd));
    let about = file.metadata().ok()?;
    if !about.is_file() || about.len() > LONGEST {
        return None;
    }
    let mut text = String::new();
    (&mut file).take(LONGEST).read_to_string(&mut text).ok()?;
    Some((Marker::parse(&text)?, file))
}

#[cfg(test)]
#[path = "rundir_tests.rs"]
mod tests;
