//! What calls on open files mean and which errors they give, the same on all machines.

use super::*;
use crate::os::{Advice, Lock, Space, Whence};

everywhere! {
    reading_and_writing positions appending sizes space_in_files punching copying attributes durability_and_advice locks bad_descriptors unlinked_but_open time
}

const RW: i32 = libc::O_RDWR;

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
        Err(Errno(libc::EOPNOTSUPP)) => return crate::os::skipped::skipped("no holes on this file system"),
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

fn attributes<M: Os>(os: &mut M) {
    let root = os.root();
    let fd = file(os, c"a", 0);
    match os.set_xattr(fd, c"user.test", b"hello") {
        Err(Errno(libc::EOPNOTSUPP)) => {
            return crate::os::skipped::skipped("no attributes on this file system");
        }
        result => result.unwrap(),
    }
    assert_eq!(os.get_xattr(fd, c"user.test", 64), Ok(5));
    os.set_xattr(fd, c"user.test", b"").unwrap();
    assert_eq!(os.get_xattr(fd, c"user.test", 64), Ok(0));
    fails!(os.get_xattr(fd, c"user.other", 64), ENODATA);
    fails!(os.set_xattr(fd, c"user.", b"x"), EINVAL);
    fails!(os.set_xattr(fd, c"nothing", b"x"), EOPNOTSUPP);
    fails!(os.set_xattr(fd, c"", b"x"), ERANGE);
    let path_only = os.open(root, c"a", libc::O_PATH, 0).unwrap();
    fails!(os.get_xattr(path_only, c"user.test", 64), EBADF);
    let read_only = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    assert_eq!(os.get_xattr(read_only, c"user.test", 64), Ok(0));
    os.set_xattr(fd, c"user.test", b"hello").unwrap();
    fails!(os.get_xattr(fd, c"user.test", 4), ERANGE);
    assert_eq!(os.get_xattr(fd, c"user.test", 5), Ok(5));
    // By name, also below a directory that is a mere place.
    let place = os.open(root, c".", libc::O_PATH | libc::O_DIRECTORY, 0).unwrap();
    for dir in [root, place] {
        assert_eq!(os.get_xattr_at(dir, c"a", c"user.test", 44), Ok(5));
        fails!(os.get_xattr_at(dir, c"a", c"user.test", 4), ERANGE);
        fails!(os.get_xattr_at(dir, c"a", c"user.other", 44), ENODATA);
        fails!(os.get_xattr_at(dir, c".", c"user.test", 44), ENODATA);
        fails!(os.get_xattr_at(dir, c"none", c"user.test", 44), ENOENT);
    }
    os.symlink(c"a", root, c"l").unwrap();
    fails!(os.get_xattr_at(root, c"l", c"user.test", 44), ENODATA);
    fails!(os.get_xattr_at(root, c"../a", c"user.test", 44), EXDEV);
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
        fails!(os.get_xattr(fd, c"user.x", 64), EBADF);
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

fn time<M: Os>(os: &mut M) {
    let start = os.now();
    os.sleep_until(start + 1_000_000);
    assert!(os.now() >= start + 1_000_000);
    os.sleep_until(0);
    let mut none = Vec::new();
    assert_eq!(os.exchange(&[], 0, &mut none), Ok(()));
    assert_eq!(os.exchange(&[], 1, &mut none), Ok(()), "nothing in flight, nothing to wait for");
    assert!(none.is_empty());
    assert!(os.capabilities().max_depth >= 1);
}
