//! What calls on names mean and which errors they give, the same on all machines.

use super::*;
use crate::os::Whence;
use std::ffi::CString;

everywhere! {
    opening creating directories paths symbolic_links removing renaming renaming_directories linking metadata listing removed_but_open
}

const RW: i32 = libc::O_RDWR;
const CREATE: i32 = libc::O_RDWR | libc::O_CREAT;

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
