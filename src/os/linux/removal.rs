//! Empties a directory, whatever is in it, without ever leaving it.
//!
//! Everything goes by descriptors and bare names: symbolic links are removed, never followed;
//! other file systems mounted below stay untouched and are reported. Directories without
//! permissions get them back first. What appears or vanishes meanwhile is coped with. Nothing
//! here knows which directories may be emptied.

use super::{calls, probe};
use crate::os::machine::{Call, Errno, Fd, Whence};
use std::ffi::CStr;
use std::fmt;
use std::os::fd::AsRawFd;

/// Directories held open at once. What lies deeper is first moved up.
const DEEPEST: usize = 64;
/// Times a directory is gone through while somebody keeps adding to it.
const PASSES: usize = 100;
/// Failures kept; more of them say nothing new.
const KEPT: usize = 20;

/// Something that could not be removed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    /// Its path below the emptied directory.
    pub path: String,
    /// `EXDEV` for another file system, which was not touched.
    pub errno: Errno,
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.errno {
            Errno(libc::EXDEV) => write!(f, "{}: another file system, not touched", self.path),
            errno => write!(f, "{}: {errno}", self.path),
        }
    }
}

/// Removes everything in the open directory `top`, itself not. Returns what is left of it.
#[cfg(test)]
pub fn empty(top: Fd) -> Vec<Left> {
    // No file is called so.
    empty_but(top, c"")
}

/// Removes everything in the open directory `top` but the entry `spared`. Returns what is left
/// besides.
pub fn empty_but(top: Fd, spared: &CStr) -> Vec<Left> {
    let mut left = Vec::new();
    match Place::of(top) {
        Ok(place) => {
            let mut removal = Removal { top, place, path: Vec::new(), left, moved: 0, spared };
            removal.empty(top);
            left = removal.left;
        }
        Err(errno) => left.push(Left { path: ".".to_string(), errno }),
    }
    left
}

/// The file system and the mount of a directory. The number of the mount tells bind mounts of
/// the same file system apart, on kernels that have it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    device: libc::dev_t,
    mount: Option<u64>,
}

impl Place {
    fn of(dir: Fd) -> Call<Place> {
        Ok(Place { device: calls::raw_fstat(dir)?.st_dev, mount: probe::mount_id(dir) })
    }
}

struct Removal<'a> {
    top: Fd,
    place: Place,
    /// Names from the top down to the directory in hand.
    path: Vec<String>,
    left: Vec<Left>,
    /// Directories moved up so far.
    moved: u32,
    /// The entry of the top that stays.
    spared: &'a CStr,
}

impl Removal<'_> {
    fn empty(&mut self, dir: Fd) {
        let mut buffer = vec![0; 32 * 1024];
        for _ in 0..PASSES {
            // What failed in an earlier pass is tried again and then reported once.
            let known = self.left.len();
            match self.pass(dir, &mut buffer) {
                Ok(0) => return,
                Ok(_) => self.left.truncate(known),
                Err(errno) => return self.keep(None, errno),
            }
        }
        self.keep(None, Errno(libc::ENOTEMPTY));
    }

    /// Goes through a directory once and says how many entries went away.
    fn pass(&mut self, dir: Fd, buffer: &mut [u8]) -> Call<usize> {
        let mut removed = 0;
        calls::seek(dir, 0, Whence::Start)?;
        loop {
            let len = calls::getdents(dir, buffer)?;
            if len == 0 {
                return Ok(removed);
            }
            for (name, kind) in entries(buffer.get(..len).unwrap_or_default()) {
                if name == c"." || name == c".." || (self.path.is_empty() && name == self.spared) {
                    continue;
                }
                match self.entry(dir, name, kind) {
                    Ok(()) | Err(Errno(libc::ENOENT)) => removed += 1,
                    // What is in it has been reported already.
                    Err(Errno(libc::ENOTEMPTY)) if !self.left.is_empty() => {}
                    Err(errno) => self.keep(Some(name), errno),
                }
            }
        }
    }

    fn entry(&mut self, dir: Fd, name: &CStr, kind: u8) -> Call<()> {
        if kind != libc::DT_DIR {
            match permitted(dir, || calls::unlinkat(dir, name, 0)) {
                // The file system does not say what its entries are: this one is a directory.
                Err(Errno(libc::EISDIR)) => {}
                answer => return answer,
            }
        }
        if self.path.len() >= DEEPEST {
            return self.move_up(dir, name);
        }
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        let child = match calls::openat(dir, name, flags, 0) {
            Err(Errno(libc::EACCES)) => {
                permitted(dir, || calls::chmod_through_proc(dir, name, 0o700))?;
                calls::openat(dir, name, flags, 0)
            }
            answer => answer,
        };
        let child = calls::owned(child?);
        if Place::of(child.as_raw_fd())? != self.place {
            return Err(Errno(libc::EXDEV));
        }
        self.path.push(name.to_string_lossy().into_owned());
        self.empty(child.as_raw_fd());
        self.path.pop();
        permitted(dir, || calls::unlinkat(dir, name, libc::AT_REMOVEDIR))
    }

    /// Moves a directory to the top, whose next pass finds it there: any depth is removed with
    /// a limited number of descriptors.
    fn move_up(&mut self, dir: Fd, name: &CStr) -> Call<()> {
        loop {
            self.moved += 1;
            let text = format!(".ioscore-removing-{}", self.moved);
            let up = std::ffi::CString::new(text).map_err(|_| Errno(libc::EINVAL))?;
            match permitted(dir, || calls::renameat(dir, name, self.top, &up)) {
                Err(Errno(libc::ENOTEMPTY | libc::EEXIST | libc::ENOTDIR)) => {}
                // To get another parent a directory must be writable itself.
                Err(Errno(libc::EACCES)) => {
                    calls::chmod_through_proc(dir, name, 0o700)?;
                    return calls::renameat(dir, name, self.top, &up);
                }
                answer => return answer,
            }
        }
    }

    fn keep(&mut self, name: Option<&CStr>, errno: Errno) {
        if self.left.len() < KEPT {
            let mut path = self.path.clone();
            path.extend(name.map(|name| name.to_string_lossy().into_owned()));
            let path = if path.is_empty() { ".".to_string() } else { path.join("/") };
            self.left.push(Left { path, errno });
        }
    }
}

/// Tries again after giving `dir` its permissions back, where these were missing.
fn permitted(dir: Fd, call: impl Fn() -> Call<()>) -> Call<()> {
    match call() {
        Err(Errno(libc::EACCES)) => {
            calls::fchmod(dir, 0o700)?;
            call()
        }
        answer => answer,
    }
}

/// Names and kinds (`DT_*`) of the entries that `getdents64` returned.
///
/// Layout of `struct linux_dirent64`: inode 8 bytes, offset 8, length of the entry 2, kind 1,
/// the name and its NUL.
pub fn entries(mut bytes: &[u8]) -> impl Iterator<Item = (&CStr, u8)> {
    std::iter::from_fn(move || {
        let len = u16::from_ne_bytes(bytes.get(16..18)?.try_into().ok()?);
        let (entry, rest) = bytes.split_at_checked(usize::from(len))?;
        bytes = rest;
        Some((CStr::from_bytes_until_nul(entry.get(19..)?).ok()?, *entry.get(18)?))
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Mounted;
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    fn empty_path(path: &Path) -> Vec<Left> {
        let dir = fs::File::open(path).unwrap();
        empty(dir.as_raw_fd())
    }

    fn count(path: &Path) -> usize {
        fs::read_dir(path).unwrap().count()
    }

    #[test]
    fn removes_everything_and_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (inside, outside) = (dir.path().join("in"), dir.path().join("out"));
        fs::create_dir_all(inside.join("a/b/c")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        fs::write(inside.join("a/b/file"), "x").unwrap();
        symlink(&outside, inside.join("a/link")).unwrap();
        symlink("../../out/precious", inside.join("a/file-link")).unwrap();
        symlink("nowhere", inside.join("dangling")).unwrap();
        for n in 0..3000 {
            fs::write(inside.join(format!("a/a rather long name to fill the buffer {n}")), "").unwrap();
        }
        assert_eq!(empty_path(&inside), []);
        assert_eq!(count(&inside), 0);
        assert_eq!(fs::read_to_string(outside.join("precious")).unwrap(), "x");
    }

    #[test]
    fn removes_trees_deeper_than_a_path_can_say() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::File::open(dir.path()).unwrap();
        let mut at =
            calls::owned(calls::openat(root.as_raw_fd(), c".", libc::O_PATH | libc::O_DIRECTORY, 0).unwrap());
        // 3000 times 20 bytes: far beyond the 4096 bytes of a path.
        for _ in 0..3000 {
            calls::mkdirat(at.as_raw_fd(), c"a-directory-in-there", 0o700).unwrap();
            let flags = libc::O_PATH | libc::O_DIRECTORY;
            at = calls::owned(calls::openat(at.as_raw_fd(), c"a-directory-in-there", flags, 0).unwrap());
        }
        drop(at);
        assert_eq!(empty(root.as_raw_fd()), []);
        assert_eq!(count(dir.path()), 0);
    }

    #[test]
    fn gives_directories_their_permissions_back() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("locked/inner");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("file"), "x").unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o000)).unwrap();
        fs::set_permissions(dir.path().join("locked"), fs::Permissions::from_mode(0o500)).unwrap();
        // For root permissions mean nothing; as anybody else the directories must be opened up.
        let path = dir.path().to_path_buf();
        as_ordinary_user(&path, move |path| assert_eq!(empty_path(path), []));
        assert_eq!(count(dir.path()), 0);
    }

    /// Runs `test` in a thread without root's rights over files. The raw call changes the one
    /// thread's user for files only.
    fn as_ordinary_user(path: &Path, test: impl FnOnce(&Path) + Send + 'static) {
        if super::super::is_root() {
            give(path);
        }
        let path = path.to_path_buf();
        let work = move || {
            if super::super::is_root() {
                // SAFETY: takes a number only; the thread ends with the test.
                unsafe { libc::syscall(libc::SYS_setfsuid, 65534) };
            }
            test(&path);
        };
        std::thread::spawn(work).join().unwrap();
    }

    fn give(path: &Path) {
        std::os::unix::fs::lchown(path, Some(65534), Some(65534)).unwrap();
        if path.symlink_metadata().unwrap().is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                give(&entry.unwrap().path());
            }
        }
    }

    #[test]
    fn copes_with_a_directory_that_keeps_changing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().to_path_buf();
        let open = fs::File::create(path.join("still-open")).unwrap();
        let writer = std::thread::spawn(move || {
            for n in 0..500 {
                let _ = fs::create_dir(path.join("d"));
                let _ = fs::write(path.join(format!("d/{n}")), "x");
            }
        });
        while !writer.is_finished() {
            empty_path(dir.path());
        }
        writer.join().unwrap();
        assert_eq!(empty_path(dir.path()), []);
        assert_eq!(count(dir.path()), 0);
        drop(open);
    }

    #[test]
    fn reads_entries_of_the_kernel_and_stops_at_nonsense() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("file"), "").unwrap();
        let open = fs::File::open(dir.path()).unwrap();
        let mut buffer = vec![0; 4096];
        let len = calls::getdents(open.as_raw_fd(), &mut buffer).unwrap();
        let mut names: Vec<_> = entries(&buffer[..len]).map(|(name, _)| name.to_owned()).collect();
        names.sort();
        assert_eq!(names, [c".".to_owned(), c"..".to_owned(), c"file".to_owned()]);
        assert_eq!(entries(&[0; 30]).count(), 0);
        assert_eq!(entries(&[255; 10]).count(), 0);
    }

    #[test]
    fn leaves_another_file_system_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mount = dir.path().join("a/mount");
        fs::create_dir_all(&mount).unwrap();
        fs::write(dir.path().join("a/file"), "").unwrap();
        let Some(mounted) = Mounted::tmpfs(&mount, c"size=64k") else {
            crate::os::skipped::skipped("mounting a file system is not permitted here");
            return;
        };
        fs::write(mount.join("precious"), "x").unwrap();
        let left = empty_path(dir.path());
        assert_eq!(left, [Left { path: "a/mount".into(), errno: Errno(libc::EXDEV) }]);
        assert_eq!(left[0].to_string(), "a/mount: another file system, not touched");
        assert!(mount.join("precious").exists() && !dir.path().join("a/file").exists());
        drop(mounted);
        assert_eq!(empty_path(dir.path()), []);
    }
}
