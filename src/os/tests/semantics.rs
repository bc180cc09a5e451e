//! What every call means and which errors it gives, the same on all machines.

use super::*;
use crate::os::{Advice, Lock, Space, Whence};
use std::ffi::CString;

/// Each test runs on each machine.
macro_rules! everywhere {
    ($($test:ident)*) => {
        mod on_linux {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                super::$test(&mut super::linux_in(dir.path(), true));
            })*
        }
        mod on_linux_without_newer_calls {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                super::$test(&mut super::linux_in(dir.path(), false));
            })*
        }
        mod on_the_simulation {
            $(#[test] fn $test() { super::$test(&mut super::simulated()) })*
        }
    };
}

everywhere! {
    opening creating directories paths symbolic_links removing renaming renaming_directories
    linking reading_and_writing positions appending sizes space_in_files punching copying
    metadata attributes durability_and_advice locks listing bad_descriptors unlinked_but_open
    removed_but_open time
}

const RW: i32 = libc::O_RDWR;
const CREATE: i32 = libc::O_RDWR | libc::O_CREAT;

macro_rules! fails {
    ($call:expr, $errno:ident) => {
        assert_eq!($call.err(), Some(Errno(libc::$errno)), "{}", stringify!($call))
    };
}

macro_rules! fails_either {
    ($call:expr, $first:ident, $second:ident, $which:expr) => {
        assert_eq!($call.err(), Some(Errno(if $which { libc::$first } else { libc::$second })))
    };
}

/// A file of so many bytes.
fn file(os: &mut impl Os, path: &std::ffi::CStr, len: usize) -> Fd {
    let root = os.root();
    let fd = os.open(root, path, CREATE, 0o644).unwrap();
    assert_eq!(super::write(os, fd, Some(0), len), Ok(len));
    fd
}

fn exists(os: &mut impl Os, path: &std::ffi::CStr) -> bool {
    let root = os.root();
    os.stat(root, path).is_ok()
}

fn opening<M: Os>(os: &mut M) {
    let root = os.root();
    fails!(os.open(root, c"a", RW, 0), ENOENT);
    let fd = file(os, c"a", 10);
    os.close(fd).unwrap();
    for flags in [libc::O_RDONLY, libc::O_WRONLY, RW, RW | libc::O_NOFOLLOW, libc::O_PATH] {
        let fd = os.open(root, c"a", flags, 0).unwrap();
        assert_eq!(os.fstat(fd).unwrap().size, 10);
        os.close(fd).unwrap();
    }
    fails!(os.open(root, c"a", libc::O_RDONLY | libc::O_DIRECTORY, 0), ENOTDIR);
    fails!(os.open(root, c"a/", libc::O_RDONLY, 0), ENOTDIR);
    fails!(os.open(root, c"a/b", CREATE, 0o644), ENOTDIR);
    fails!(os.open(root, c"missing/b", CREATE, 0o644), ENOENT);
    fails!(os.open(root, c"", RW, 0), ENOENT);
    let fd = os.open(root, c"a", libc::O_WRONLY, 0).unwrap();
    fails!(super::read(os, fd, Some(0), 1), EBADF);
    let fd = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    fails!(super::write(os, fd, Some(0), 1), EBADF);
    let fd = os.open(root, c"a", libc::O_PATH, 0).unwrap();
    fails!(super::read(os, fd, Some(0), 1), EBADF);
    // O_TRUNC acts whatever the access mode.
    let fd = os.open(root, c"a", libc::O_RDONLY | libc::O_TRUNC, 0).unwrap();
    assert_eq!(os.fstat(fd).unwrap().size, 0);
}

fn creating<M: Os>(os: &mut M) {
    let root = os.root();
    let excl = CREATE | libc::O_EXCL;
    let fd = os.open(root, c"a", excl, 0o600).unwrap();
    super::write(os, fd, None, 100).unwrap();
    fails!(os.open(root, c"a", excl, 0o600), EEXIST);
    let again = os.open(root, c"a", CREATE, 0o600).unwrap();
    assert_eq!(os.fstat(again).unwrap().size, 100);
    let again = os.open(root, c"a", CREATE | libc::O_TRUNC, 0o600).unwrap();
    assert_eq!(os.fstat(again).unwrap().size, 0);
    assert_eq!(os.fstat(fd).unwrap().size, 0, "it is one file");
    fails!(os.open(root, c"b/", CREATE, 0o600), EISDIR);
    fails!(os.open(root, c"b", CREATE | libc::O_DIRECTORY, 0o600), EINVAL);
    assert!(!exists(os, c"b"));
    fails!(os.open(root, c".", CREATE, 0o600), EISDIR);
    fails!(os.open(root, c".", excl, 0o600), EEXIST);
}

fn directories<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    fails!(os.mkdir(root, c"d", 0o755), EEXIST);
    fails!(os.mkdir(root, c"d/", 0o755), EEXIST);
    fails!(os.mkdir(root, c".", 0o755), EEXIST);
    fails!(os.mkdir(root, c"d/.", 0o755), EEXIST);
    fails!(os.mkdir(root, c"", 0o755), ENOENT);
    fails!(os.mkdir(root, c"x/y", 0o755), ENOENT);
    os.mkdir(root, c"e/", 0o755).unwrap();
    os.mkdir(root, c"d//e", 0o755).unwrap();
    let stat = os.stat(root, c"d").unwrap();
    assert!(stat.directory && !stat.symlink);
    let fd = file(os, c"d/f", 0);
    fails!(os.mkdir(root, c"d/f", 0o755), EEXIST);
    fails!(os.mkdir(root, c"d/f/g", 0o755), ENOTDIR);
    // A directory is opened for reading only, and calls start from it.
    fails!(os.open(root, c"d", RW, 0), EISDIR);
    fails!(os.open(root, c"d", libc::O_RDONLY | libc::O_TRUNC, 0), EISDIR);
    fails!(os.open(root, c"d", CREATE, 0o644), EISDIR);
    fails!(os.open(root, c"d", libc::O_RDONLY | libc::O_CREAT, 0o644), EISDIR);
    fails!(os.open(root, c"d", CREATE | libc::O_EXCL, 0o644), EEXIST);
    for flags in [libc::O_RDONLY | libc::O_DIRECTORY, libc::O_PATH | libc::O_DIRECTORY] {
        let dir = os.open(root, c"d/", flags, 0).unwrap();
        assert!(os.fstat(dir).unwrap().directory);
        assert!(os.stat(dir, c"f").is_ok());
        let fd = os.open(dir, c"f", RW, 0).unwrap();
        fails_either!(super::read(os, dir, Some(0), 1), EBADF, EISDIR, flags & libc::O_PATH != 0);
        os.close(fd).unwrap();
        os.close(dir).unwrap();
    }
    fails!(os.mkdir(fd, c"x", 0o755), ENOTDIR);
    fails!(os.open(fd, c"x", RW, 0), ENOTDIR);
}

fn paths<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let fd = file(os, c"d/f", 1);
    for path in
        [c"/", c"/etc/passwd", c"..", c"../x", c"d/..", c"d/../d/f", c"./..", c"missing/../d", c"d/f/.."]
    {
        fails!(os.open(root, path, libc::O_RDONLY, 0), EXDEV);
        fails!(os.stat(root, path), EXDEV);
        fails!(os.mkdir(root, path, 0o755), EXDEV);
        fails!(os.rmdir(root, path), EXDEV);
        fails!(os.unlink(root, path), EXDEV);
        fails!(os.rename(root, c"d", root, path), EXDEV);
        fails!(os.rename(root, path, root, c"d"), EXDEV);
        fails!(os.link(root, c"d/f", root, path), EXDEV);
        fails!(os.link(root, path, root, c"x"), EXDEV);
        fails!(os.symlink(c"x", root, path), EXDEV);
        fails!(os.readlink(root, path), EXDEV);
        fails!(os.chmod(root, path, 0o777), EXDEV);
        fails!(os.utimes(root, path), EXDEV);
    }
    for path in [c"d/f", c"./d/f", c"d//f", c"d/./f", c".//d///./f"] {
        assert_eq!(os.stat(root, path).unwrap().size, 1, "{path:?}");
        let fd = os.open(root, path, RW, 0).unwrap();
        os.close(fd).unwrap();
        os.chmod(root, path, 0o600).unwrap();
    }
    for path in [c"d/f/", c"d/f//", c"d/f/.", c"d/f/x"] {
        fails!(os.open(root, path, libc::O_RDONLY, 0), ENOTDIR);
        fails!(os.stat(root, path), ENOTDIR);
        fails!(os.unlink(root, path), ENOTDIR);
        fails!(os.rmdir(root, path), ENOTDIR);
        fails!(os.chmod(root, path, 0o777), ENOTDIR);
        fails!(os.utimes(root, path), ENOTDIR);
        fails!(os.readlink(root, path), ENOTDIR);
        fails!(os.link(root, path, root, c"x"), ENOTDIR);
        fails!(os.rename(root, path, root, c"x"), ENOTDIR);
    }
    for path in [c"d", c"d/", c"d/.", c".", c"./"] {
        assert!(os.stat(root, path).unwrap().directory, "{path:?}");
        os.chmod(root, path, 0o755).unwrap();
        os.utimes(root, path).unwrap();
        fails!(os.readlink(root, path), EINVAL);
    }
    let long = |len: usize| CString::new("n".repeat(len)).unwrap();
    let made = os.open(root, &long(255), CREATE, 0o644).unwrap();
    os.close(made).unwrap();
    fails!(os.open(root, &long(256), CREATE, 0o644), ENAMETOOLONG);
    fails!(os.mkdir(root, &long(256), 0o755), ENAMETOOLONG);
    fails!(os.stat(root, &CString::new(format!("d/{}", "n".repeat(256))).unwrap()), ENAMETOOLONG);
    fails!(os.stat(root, &CString::new(format!("{}/d", "n".repeat(256))).unwrap()), ENAMETOOLONG);
    let at_limit = |len: usize| CString::new("./".repeat(len) + "d").unwrap();
    assert!(os.stat(root, &at_limit(2047)).unwrap().directory, "4095 bytes");
    let fd2 = os.open(root, &at_limit(2047), libc::O_RDONLY, 0).unwrap();
    os.close(fd2).unwrap();
    fails!(os.stat(root, &at_limit(2048)), ENAMETOOLONG);
    fails!(os.open(root, &at_limit(2048), libc::O_RDONLY, 0), ENAMETOOLONG);
    fails!(os.mkdir(root, &at_limit(2048), 0o755), ENAMETOOLONG);
    os.close(fd).unwrap();
}

fn symbolic_links<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let fd = file(os, c"d/f", 5);
    os.symlink(c"d", root, c"to-d").unwrap();
    os.symlink(c"d/f", root, c"to-f").unwrap();
    os.symlink(c"nowhere", root, c"to-nothing").unwrap();
    fails!(os.symlink(c"x", root, c"to-d"), EEXIST);
    fails!(os.symlink(c"x", root, c"d"), EEXIST);
    fails!(os.symlink(c"x", root, c"missing/l"), ENOENT);
    fails!(os.symlink(c"x", root, c"new/"), ENOENT);
    fails!(os.symlink(c"", root, c"new"), ENOENT);
    assert_eq!(os.readlink(root, c"to-f"), Ok(3));
    let stat = os.stat(root, c"to-nothing").unwrap();
    assert!(stat.symlink && !stat.directory && stat.size == 7);
    fails!(os.readlink(root, c"d/f"), EINVAL);
    fails!(os.readlink(root, c"d"), EINVAL);
    fails!(os.readlink(root, c"missing"), ENOENT);
    // Never followed, neither at the end nor on the way.
    for flags in
        [libc::O_RDONLY, RW, CREATE, RW | libc::O_NOFOLLOW, libc::O_PATH, libc::O_RDONLY | libc::O_TRUNC]
    {
        for path in [c"to-f", c"to-d", c"to-nothing"] {
            fails!(os.open(root, path, flags, 0o644), ELOOP);
        }
        fails!(os.open(root, c"to-d/f", flags, 0o644), ELOOP);
    }
    for path in [c"to-d", c"to-f", c"to-d/"] {
        fails!(os.open(root, path, libc::O_RDONLY | libc::O_DIRECTORY, 0), ELOOP);
    }
    fails!(os.open(root, c"to-f", CREATE | libc::O_EXCL, 0o644), EEXIST);
    fails!(os.stat(root, c"to-d/f"), ELOOP);
    fails!(os.stat(root, c"to-d/"), ELOOP);
    fails!(os.stat(root, c"to-d/."), ELOOP);
    fails!(os.chmod(root, c"to-d/f", 0o777), ELOOP);
    fails!(os.chmod(root, c"to-d/", 0o777), ELOOP);
    fails!(os.chmod(root, c"to-d", 0o777), EOPNOTSUPP);
    fails!(os.utimes(root, c"to-d/f"), ELOOP);
    os.utimes(root, c"to-nothing").unwrap();
    fails!(os.readlink(root, c"to-d/"), ELOOP);
    fails!(os.mkdir(root, c"to-d/x", 0o755), ELOOP);
    fails!(os.mkdir(root, c"to-nothing", 0o755), EEXIST);
    fails!(os.mkdir(root, c"to-nothing/", 0o755), EEXIST);
    fails!(os.unlink(root, c"to-d/f"), ELOOP);
    fails!(os.unlink(root, c"to-d/"), ENOTDIR);
    fails!(os.rmdir(root, c"to-d"), ENOTDIR);
    fails!(os.rmdir(root, c"to-d/"), ENOTDIR);
    fails!(os.rmdir(root, c"to-d/."), ELOOP);
    fails!(os.rename(root, c"to-d/f", root, c"x"), ELOOP);
    fails!(os.rename(root, c"d/f", root, c"to-d/x"), ELOOP);
    fails!(os.link(root, c"to-d/f", root, c"x"), ELOOP);
    fails!(os.link(root, c"d/f", root, c"to-d/x"), ELOOP);
    fails!(os.symlink(c"x", root, c"to-d/x"), ELOOP);
    assert!(!exists(os, c"d/x") && !exists(os, c"x"));
    // A link is renamed, linked and removed itself.
    os.rename(root, c"to-f", root, c"d/moved").unwrap();
    os.link(root, c"d/moved", root, c"second").unwrap();
    assert!(os.stat(root, c"second").unwrap().symlink);
    os.unlink(root, c"second").unwrap();
    os.rename(root, c"d/f", root, c"to-d").unwrap();
    assert_eq!(os.stat(root, c"to-d").unwrap().size, 5);
    os.close(fd).unwrap();
}

fn removing<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let fd = file(os, c"d/f", 1);
    os.close(fd).unwrap();
    fails!(os.unlink(root, c"missing"), ENOENT);
    fails!(os.unlink(root, c"missing/"), ENOENT);
    fails!(os.unlink(root, c""), ENOENT);
    fails!(os.unlink(root, c"d"), EISDIR);
    fails!(os.unlink(root, c"d/"), EISDIR);
    fails!(os.unlink(root, c"."), EISDIR);
    fails!(os.rmdir(root, c"missing"), ENOENT);
    fails!(os.rmdir(root, c"d"), ENOTEMPTY);
    fails!(os.rmdir(root, c"d/f"), ENOTDIR);
    fails!(os.rmdir(root, c"."), EINVAL);
    fails!(os.rmdir(root, c"d/."), EINVAL);
    os.unlink(root, c"d/f").unwrap();
    fails!(os.unlink(root, c"d/f"), ENOENT);
    os.rmdir(root, c"d/").unwrap();
    assert!(!exists(os, c"d"));
}

fn renaming<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    for (path, len) in [(c"a", 1), (c"b", 2)] {
        let fd = file(os, path, len);
        os.close(fd).unwrap();
    }
    fails!(os.rename(root, c"missing", root, c"x"), ENOENT);
    fails!(os.rename(root, c"a", root, c"missing/x"), ENOENT);
    fails!(os.rename(root, c"a", root, c"b/x"), ENOTDIR);
    fails!(os.rename(root, c"a", root, c"x/"), ENOTDIR);
    fails!(os.rename(root, c"a/", root, c"x"), ENOTDIR);
    fails!(os.rename(root, c"a", root, c"d"), EISDIR);
    fails!(os.rename(root, c".", root, c"x"), EBUSY);
    fails!(os.rename(root, c"a", root, c"."), EBUSY);
    os.rename(root, c"a", root, c"a").unwrap();
    os.rename(root, c"a", root, c"b").unwrap();
    assert!(!exists(os, c"a"));
    assert_eq!(os.stat(root, c"b").unwrap().size, 1);
    let dir = os.open(root, c"d", libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
    os.rename(root, c"b", dir, c"c").unwrap();
    assert_eq!(os.stat(root, c"d/c").unwrap().size, 1);
    os.rename(dir, c"c", root, c"back").unwrap();
    // Two names of one file: nothing to do.
    os.link(root, c"back", root, c"second").unwrap();
    os.rename(root, c"back", root, c"second").unwrap();
    assert!(exists(os, c"back") && exists(os, c"second"));
}

fn renaming_directories<M: Os>(os: &mut M) {
    let root = os.root();
    for path in [c"a", c"a/b", c"a/b/c", c"e", c"full"] {
        os.mkdir(root, path, 0o755).unwrap();
    }
    for path in [c"f", c"full/x"] {
        let fd = file(os, path, 0);
        os.close(fd).unwrap();
    }
    fails!(os.rename(root, c"a", root, c"f"), ENOTDIR);
    fails!(os.rename(root, c"a", root, c"full"), ENOTEMPTY);
    fails!(os.rename(root, c"a", root, c"a/b/new"), EINVAL);
    fails!(os.rename(root, c"a", root, c"a/new"), EINVAL);
    fails!(os.rename(root, c"a/b/c", root, c"a"), ENOTEMPTY);
    os.rename(root, c"a", root, c"e").unwrap();
    assert!(exists(os, c"e/b/c") && !exists(os, c"a"));
    os.rename(root, c"e/b/", root, c"new/").unwrap();
    assert!(exists(os, c"new/c"));
    os.rmdir(root, c"e").unwrap();
    // A directory that moved out can take its old parent in.
    os.mkdir(root, c"new/c/d", 0o755).unwrap();
    os.rename(root, c"new/c", root, c"top").unwrap();
    os.rename(root, c"new", root, c"top/d/new").unwrap();
    fails!(os.rename(root, c"top", root, c"top/d/new/x"), EINVAL);
}

fn linking<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let fd = file(os, c"a", 3);
    os.link(root, c"a", root, c"d/b").unwrap();
    super::write(os, fd, Some(3), 3).unwrap();
    assert_eq!(os.stat(root, c"d/b").unwrap().size, 6);
    fails!(os.link(root, c"missing", root, c"x"), ENOENT);
    fails!(os.link(root, c"a", root, c"d/b"), EEXIST);
    fails!(os.link(root, c"a", root, c"x/"), ENOENT);
    fails!(os.link(root, c"a", root, c"x/y"), ENOENT);
    fails!(os.link(root, c"d", root, c"x"), EPERM);
    fails!(os.link(root, c"d/", root, c"x"), EPERM);
    fails!(os.link(root, c"d", root, c"a"), EEXIST);
    fails!(os.link(root, c"a", root, c"."), EEXIST);
    fails!(os.link(root, c"a/", root, c"x"), ENOTDIR);
    os.unlink(root, c"a").unwrap();
    assert_eq!(os.stat(root, c"d/b").unwrap().size, 6);
    fails!(os.rmdir(root, c"d"), ENOTEMPTY);
    os.unlink(root, c"d/b").unwrap();
    os.rmdir(root, c"d").unwrap();
}

fn reading_and_writing<M: Os>(os: &mut M) {
    let fd = file(os, c"a", 10_000);
    assert_eq!(super::read(os, fd, Some(0), 4096), Ok(4096));
    assert_eq!(super::read(os, fd, Some(9_000), 4096), Ok(1000));
    assert_eq!(super::read(os, fd, Some(10_000), 4096), Ok(0));
    assert_eq!(super::read(os, fd, Some(1 << 40), 4096), Ok(0));
    assert_eq!(super::read(os, fd, Some(0), 0), Ok(0));
    assert_eq!(super::write(os, fd, Some(0), 0), Ok(0));
    assert_eq!(super::write(os, fd, Some(20_000), 0), Ok(0));
    assert_eq!(os.fstat(fd).unwrap().size, 10_000);
    assert_eq!(super::write(os, fd, Some(1 << 30), 10), Ok(10));
    let stat = os.fstat(fd).unwrap();
    assert_eq!(stat.size, (1 << 30) + 10);
    assert!(stat.allocated < 1 << 20, "the hole takes no space");
    assert_eq!(super::read(os, fd, Some(1 << 29), 4096), Ok(4096), "a hole is read");
    fails!(super::read(os, fd, Some(u64::MAX), 1), EINVAL);
    fails!(super::write(os, fd, Some(u64::MAX), 1), EINVAL);
    fails!(super::read(os, fd, Some(i64::MAX as u64), 1), EINVAL);
    fails!(super::write(os, fd, Some(i64::MAX as u64), 1), EINVAL);
}

fn positions<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 0);
    assert_eq!(super::write(os, fd, None, 100), Ok(100));
    assert_eq!(super::write(os, fd, None, 50), Ok(50));
    assert_eq!(os.seek(fd, 0, Whence::Current), Ok(150));
    assert_eq!(super::read(os, fd, None, 10), Ok(0));
    assert_eq!(os.seek(fd, 30, Whence::Start), Ok(30));
    assert_eq!(super::read(os, fd, Some(0), 10), Ok(10), "moves no position");
    assert_eq!(super::read(os, fd, None, 200), Ok(120));
    assert_eq!(os.seek(fd, -20, Whence::Current), Ok(130));
    assert_eq!(os.seek(fd, -150, Whence::End), Ok(0));
    fails!(os.seek(fd, -151, Whence::End), EINVAL);
    fails!(os.seek(fd, -1, Whence::Start), EINVAL);
    assert_eq!(os.seek(fd, 1000, Whence::End), Ok(1150));
    assert_eq!(super::write(os, fd, None, 1), Ok(1));
    assert_eq!(os.fstat(fd).unwrap().size, 1151);
    // Every opening has its own position.
    let other = os.open(root, c"a", RW, 0).unwrap();
    assert_eq!(os.seek(other, 0, Whence::Current), Ok(0));
}

fn appending<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 100);
    let end = os.open(root, c"a", libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND, 0o666).unwrap();
    assert_eq!(os.seek(end, 0, Whence::Current), Ok(0));
    assert_eq!(super::write(os, end, None, 10), Ok(10));
    assert_eq!(os.seek(end, 0, Whence::Current), Ok(110));
    assert_eq!(super::write(os, fd, Some(200), 10), Ok(10));
    assert_eq!(os.seek(end, 0, Whence::Start), Ok(0));
    assert_eq!(super::write(os, end, None, 5), Ok(5));
    assert_eq!(super::write(os, end, Some(0), 5), Ok(5), "the offset is ignored, as in the kernel");
    assert_eq!(os.fstat(fd).unwrap().size, 220);
}

fn sizes<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 10_000);
    os.truncate(fd, 5_000).unwrap();
    assert_eq!(os.fstat(fd).unwrap().size, 5_000);
    assert_eq!(super::read(os, fd, Some(4_000), 4_096), Ok(1_000));
    os.truncate(fd, 1 << 30).unwrap();
    let stat = os.fstat(fd).unwrap();
    assert!(stat.size == 1 << 30 && stat.allocated < 1 << 20);
    os.truncate(fd, 0).unwrap();
    assert_eq!(os.fstat(fd).unwrap().allocated, 0);
    fails!(os.truncate(fd, u64::MAX), EINVAL);
    let read_only = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    fails!(os.truncate(read_only, 0), EINVAL);
    fails!(os.truncate(root, 0), EINVAL);
}

fn space_in_files<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 0);
    os.allocate(fd, Space::KeepSize, 0, 1 << 20).unwrap();
    let stat = os.fstat(fd).unwrap();
    assert!(stat.size == 0 && stat.allocated >= 1 << 20);
    os.allocate(fd, Space::Allocate, 0, 1 << 21).unwrap();
    let stat = os.fstat(fd).unwrap();
    assert!(stat.size == 1 << 21 && stat.allocated >= 1 << 21);
    fails!(os.allocate(fd, Space::Allocate, 0, 0), EINVAL);
    fails!(os.allocate(fd, Space::Allocate, u64::MAX, 1), EINVAL);
    fails!(os.allocate(fd, Space::Allocate, 0, u64::MAX), EINVAL);
    fails!(os.allocate(fd, Space::Allocate, i64::MAX as u64, 2), EFBIG);
    let read_only = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    fails!(os.allocate(read_only, Space::Allocate, 0, 1), EBADF);
    fails!(os.allocate(root, Space::Allocate, 0, 1), EBADF);
}

fn punching<M: Os>(os: &mut M) {
    let fd = file(os, c"a", 64 * 4096);
    os.fsync(fd).unwrap();
    let before = os.fstat(fd).unwrap();
    match os.allocate(fd, Space::Punch, 4096 + 100, 16 * 4096) {
        Err(Errno(libc::EOPNOTSUPP)) => return eprintln!("skipped: no holes on this file system"),
        result => result.unwrap(),
    }
    let after = os.fstat(fd).unwrap();
    assert_eq!(after.size, before.size);
    assert_eq!(before.allocated - after.allocated, 15 * 4096, "whole blocks only");
    assert_eq!(super::read(os, fd, Some(0), 64 * 4096), Ok(64 * 4096));
    match os.allocate(fd, Space::Zero, 0, 65 * 4096) {
        // tmpfs punches but does not zero.
        Err(Errno(libc::EOPNOTSUPP)) => {}
        result => {
            result.unwrap();
            let after = os.fstat(fd).unwrap();
            assert!(after.size == 65 * 4096 && after.allocated >= 65 * 4096);
        }
    }
}

fn copying<M: Os>(os: &mut M) {
    let root = os.root();
    let (from, to) = (file(os, c"a", 10_000), file(os, c"b", 0));
    assert_eq!(os.copy_range(from, 1_000, to, 500, 4_000), Ok(4_000));
    assert_eq!(os.fstat(to).unwrap().size, 4_500);
    assert_eq!(os.copy_range(from, 8_000, to, 0, 1 << 20), Ok(2_000));
    assert_eq!(os.copy_range(from, 10_000, to, 0, 10), Ok(0));
    assert_eq!(os.copy_range(from, 0, to, 0, 0), Ok(0));
    fails!(os.copy_range(from, 0, from, 100, 1_000), EINVAL);
    assert_eq!(os.copy_range(from, 0, from, 5_000, 1_000), Ok(1_000));
    let read_only = os.open(root, c"b", libc::O_RDONLY, 0).unwrap();
    let write_only = os.open(root, c"a", libc::O_WRONLY, 0).unwrap();
    let append = os.open(root, c"b", libc::O_WRONLY | libc::O_APPEND, 0).unwrap();
    fails!(os.copy_range(from, 0, read_only, 0, 10), EBADF);
    fails!(os.copy_range(write_only, 0, to, 0, 10), EBADF);
    fails!(os.copy_range(from, 0, append, 0, 10), EBADF);
    fails!(os.copy_range(root, 0, to, 0, 10), EISDIR);
}

fn metadata<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 5_000);
    os.fsync(fd).unwrap();
    let stat = os.fstat(fd).unwrap();
    assert_eq!(stat, os.stat(root, c"a").unwrap());
    assert_eq!((stat.size, stat.allocated, stat.directory, stat.symlink), (5_000, 8_192, false, false));
    assert!(stat.block >= 512 && stat.block.is_power_of_two());
    fails!(os.stat(root, c"missing"), ENOENT);
    fails!(os.stat(root, c"missing/a"), ENOENT);
    fails!(os.stat(root, c"a/b"), ENOTDIR);
    os.chmod(root, c"a", 0o600).unwrap();
    os.utimes(root, c"a").unwrap();
    fails!(os.chmod(root, c"missing", 0o600), ENOENT);
    fails!(os.utimes(root, c"missing"), ENOENT);
    let fs = os.statfs(root).unwrap();
    assert!(fs.block > 0 && fs.blocks > 0 && fs.available > 0 && fs.magic != 0);
    assert_eq!(os.statfs(fd).unwrap().magic, fs.magic);
}

fn attributes<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 0);
    match os.set_xattr(fd, c"user.test", b"hello") {
        Err(Errno(libc::EOPNOTSUPP)) => return eprintln!("skipped: no attributes on this file system"),
        result => result.unwrap(),
    }
    assert_eq!(os.get_xattr(fd, c"user.test"), Ok(5));
    os.set_xattr(fd, c"user.test", b"").unwrap();
    assert_eq!(os.get_xattr(fd, c"user.test"), Ok(0));
    fails!(os.get_xattr(fd, c"user.other"), ENODATA);
    fails!(os.set_xattr(fd, c"user.", b"x"), EINVAL);
    fails!(os.set_xattr(fd, c"nothing", b"x"), EOPNOTSUPP);
    fails!(os.set_xattr(fd, c"", b"x"), ERANGE);
    let path_only = os.open(root, c"a", libc::O_PATH, 0).unwrap();
    fails!(os.get_xattr(path_only, c"user.test"), EBADF);
    let read_only = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    assert_eq!(os.get_xattr(read_only, c"user.test"), Ok(0));
}

fn durability_and_advice<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 5_000);
    os.fsync(fd).unwrap();
    os.fdatasync(fd).unwrap();
    os.sync_range(fd, 0, 4096).unwrap();
    os.fsync(root).unwrap();
    let path_only = os.open(root, c"a", libc::O_PATH, 0).unwrap();
    fails!(os.fsync(path_only), EBADF);
    fails!(os.fdatasync(path_only), EBADF);
    for advice in [
        Advice::Normal,
        Advice::Sequential,
        Advice::Random,
        Advice::WillNeed,
        Advice::DontNeed,
        Advice::NoReuse,
    ] {
        os.advise(fd, 0, 0, advice).unwrap();
    }
    os.mark(c"ioscore: a mark");
}

fn locks<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 0);
    for kind in [Lock::Write, Lock::Read, Lock::Unlock] {
        os.lock(fd, kind, 0, 100).unwrap();
    }
    let read_only = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    fails!(os.lock(read_only, Lock::Write, 0, 0), EBADF);
    os.lock(read_only, Lock::Read, 0, 0).unwrap();
    let write_only = os.open(root, c"a", libc::O_WRONLY, 0).unwrap();
    fails!(os.lock(write_only, Lock::Read, 0, 0), EBADF);
}

fn listing<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let dir = os.open(root, c"d", libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
    assert_eq!(os.getdents(dir), Ok(48), "itself and the one above");
    assert_eq!(os.getdents(dir), Ok(0));
    for n in 0..10 {
        let fd = file(os, &CString::new(format!("d/{n}")).unwrap(), 0);
        os.close(fd).unwrap();
    }
    os.seek(dir, 0, Whence::Start).unwrap();
    assert_eq!(os.getdents(dir), Ok(12 * 24));
    assert_eq!(os.getdents(dir), Ok(0));
    let fd = file(os, c"a", 0);
    fails!(os.getdents(fd), ENOTDIR);
    let path_only = os.open(root, c"d", libc::O_PATH | libc::O_DIRECTORY, 0).unwrap();
    fails!(os.getdents(path_only), EBADF);
}

fn bad_descriptors<M: Os>(os: &mut M) {
    let root = os.root();
    let closed = file(os, c"a", 0);
    os.close(closed).unwrap();
    // Of Linux the number may belong to another test's file by now; nobody has these two.
    for fd in [-1, 1 << 29] {
        fails!(os.close(fd), EBADF);
        fails!(super::read(os, fd, None, 1), EBADF);
        fails!(super::write(os, fd, Some(0), 1), EBADF);
        fails!(os.seek(fd, 0, Whence::Start), EBADF);
        fails!(os.truncate(fd, 0), EBADF);
        fails!(os.allocate(fd, Space::Allocate, 0, 1), EBADF);
        fails!(os.advise(fd, 0, 1, Advice::Normal), EBADF);
        fails!(os.copy_range(fd, 0, fd, 10, 1), EBADF);
        fails!(os.fstat(fd), EBADF);
        fails!(os.fsync(fd), EBADF);
        fails!(os.fdatasync(fd), EBADF);
        fails!(os.sync_range(fd, 0, 1), EBADF);
        fails!(os.syncfs(fd), EBADF);
        fails!(os.statfs(fd), EBADF);
        fails!(os.getdents(fd), EBADF);
        fails!(os.lock(fd, Lock::Write, 0, 1), EBADF);
        fails!(os.set_xattr(fd, c"user.x", b""), EBADF);
        fails!(os.get_xattr(fd, c"user.x"), EBADF);
        for path in [c"a", c"d/a"] {
            fails!(os.open(fd, path, RW, 0), EBADF);
            fails!(os.stat(fd, path), EBADF);
            fails!(os.mkdir(fd, path, 0o755), EBADF);
            fails!(os.unlink(fd, path), EBADF);
            fails!(os.rmdir(fd, path), EBADF);
            fails!(os.chmod(fd, path, 0o755), EBADF);
            fails!(os.rename(fd, path, root, c"x"), EBADF);
            fails!(os.link(fd, path, root, c"x"), EBADF);
        }
    }
}

fn unlinked_but_open<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 100);
    os.unlink(root, c"a").unwrap();
    fails!(os.stat(root, c"a"), ENOENT);
    assert_eq!(super::read(os, fd, Some(0), 200), Ok(100));
    assert_eq!(super::write(os, fd, Some(100), 100), Ok(100));
    let new = file(os, c"a", 7);
    assert_eq!(os.fstat(fd).unwrap().size, 200);
    assert_eq!(os.fstat(new).unwrap().size, 7);
    // Replaced while open.
    let over = file(os, c"b", 3);
    os.rename(root, c"b", root, c"a").unwrap();
    assert_eq!(super::read(os, new, Some(0), 200), Ok(7));
    for fd in [fd, new, over] {
        os.close(fd).unwrap();
    }
    assert_eq!(os.stat(root, c"a").unwrap().size, 3);
}

fn removed_but_open<M: Os>(os: &mut M) {
    let root = os.root();
    os.mkdir(root, c"d", 0o755).unwrap();
    let dir = os.open(root, c"d", libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
    os.rmdir(root, c"d").unwrap();
    fails!(os.open(dir, c"a", CREATE, 0o644), ENOENT);
    fails!(os.mkdir(dir, c"a", 0o755), ENOENT);
    fails!(os.symlink(c"x", dir, c"a"), ENOENT);
    fails!(os.stat(dir, c"a"), ENOENT);
    assert!(os.stat(dir, c".").unwrap().directory);
    let fd = file(os, c"f", 0);
    fails!(os.rename(root, c"f", dir, c"f"), ENOENT);
    fails!(os.link(root, c"f", dir, c"f"), ENOENT);
    os.close(dir).unwrap();
    os.close(fd).unwrap();
}

fn time<M: Os>(os: &mut M) {
    let start = os.now();
    os.sleep_until(start + 1_000_000);
    assert!(os.now() >= start + 1_000_000);
    os.sleep_until(0);
    let mut none = Vec::new();
    assert_eq!(os.reap(0, &mut none), Ok(()));
    assert_eq!(os.reap(1, &mut none), Ok(()), "nothing in flight, nothing to wait for");
    assert!(none.is_empty());
    assert_eq!(os.capabilities().max_depth, 1);
}
