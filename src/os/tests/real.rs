//! What only the real Linux can show: descriptor tables, locks between workers, full and
//! read-only file systems.

use super::*;
use crate::os::Lock;
use crate::os::linux::resolve::Resolver;
use crate::os::linux::testing::{Mounted, refuse};
use std::sync::mpsc;

const CREATE: i32 = libc::O_RDWR | libc::O_CREAT;

#[test]
fn workers_have_descriptors_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let mut os = linux_in(dir.path(), true);
    let mut other = linux_in(dir.path(), true);
    let (send, receive) = mpsc::channel();
    let (go_on, wait) = mpsc::channel::<()>();
    let worker = std::thread::spawn(move || {
        let own_table = other.enter_worker();
        let root = other.root();
        // A number far from those that other tests get and give back meanwhile.
        let mut fds = Vec::new();
        while fds.last().is_none_or(|fd| *fd < 900) {
            fds.push(other.open(root, c"a", CREATE, 0o644).unwrap());
        }
        send.send((own_table, *fds.last().unwrap())).unwrap();
        wait.recv().unwrap();
        fds.into_iter().for_each(|fd| other.close(fd).unwrap());
    });
    let (own_table, fd) = receive.recv().unwrap();
    if own_table {
        assert_eq!(os.fstat(fd), Err(Errno(libc::EBADF)));
    } else {
        crate::os::skipped::skipped("no descriptor tables of their own here");
    }
    go_on.send(()).unwrap();
    worker.join().unwrap();
}

#[test]
fn chmod_through_proc_finds_the_descriptors_of_a_worker() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "").unwrap();
    let mut os = linux_in(dir.path(), false);
    let work = move || {
        os.enter_worker();
        let root = os.root();
        os.chmod(root, c"a", 0o640)
    };
    std::thread::spawn(work).join().unwrap().unwrap();
    assert_eq!(std::fs::metadata(dir.path().join("a")).unwrap().mode() & 0o7777, 0o640);
}

#[test]
fn record_locks_exclude_workers_as_they_do_processes() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "0").unwrap();
    let workers = (0..2).map(|_| {
        let mut os = linux_in(dir.path(), true);
        std::thread::spawn(move || {
            let own_table = os.enter_worker();
            let root = os.root();
            let fd = os.open(root, c"a", libc::O_RDWR, 0).unwrap();
            for _ in 0..200 {
                os.lock(fd, Lock::Write, 0, 1).unwrap();
                // Lost updates would show that both were in here.
                // (Through this descriptor: closing any other one of the file would unlock it.)
                let mut text = [0; 8];
                let len = os.read(fd, Some(0), &mut text).unwrap();
                let count: u32 = std::str::from_utf8(&text[..len]).unwrap().parse().unwrap();
                std::thread::yield_now();
                let text = (count + 1).to_string();
                os.write(fd, Some(0), text.as_bytes(), Recipe::Text).unwrap();
                os.lock(fd, Lock::Unlock, 0, 1).unwrap();
            }
            own_table
        })
    });
    let workers: Vec<_> = workers.collect();
    if workers.into_iter().all(|worker| worker.join().unwrap()) {
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "400");
    }
}

#[test]
fn a_full_file_system_and_a_read_only_one() {
    let dir = tempfile::tempdir().unwrap();
    let Some(mounted) = Mounted::tmpfs(dir.path(), c"size=1m,nr_inodes=20") else {
        return crate::os::skipped::skipped("mounting a file system is not permitted here");
    };
    let mut os = linux_in(dir.path(), true);
    let root = os.root();
    let fd = os.open(root, c"a", CREATE, 0o644).unwrap();
    assert_eq!(write(&mut os, fd, Some(0), 2 << 20), Ok(1 << 20), "as much as fits");
    assert_eq!(write(&mut os, fd, Some(1 << 20), 1), Err(Errno(libc::ENOSPC)));
    assert_eq!(os.statfs(fd).unwrap().available, 0);
    os.truncate(fd, 0).unwrap();
    let made = (0..30).map_while(|n| {
        let name = std::ffi::CString::new(format!("f{n}")).unwrap();
        os.open(root, &name, CREATE, 0o644).ok()
    });
    let made: Vec<Fd> = made.collect();
    assert!(made.len() < 20);
    assert_eq!(os.open(root, c"one-more", CREATE, 0o644), Err(Errno(libc::ENOSPC)));
    assert_eq!(os.statfs(root).unwrap().files_free, 0);
    for fd in made.into_iter().chain([fd]) {
        os.close(fd).unwrap();
    }
    mounted.freeze();
    assert_eq!(os.open(root, c"new", CREATE, 0o644), Err(Errno(libc::EROFS)));
    assert_eq!(os.open(root, c"a", libc::O_WRONLY, 0), Err(Errno(libc::EROFS)));
    assert_eq!(os.unlink(root, c"a"), Err(Errno(libc::EROFS)));
    assert_eq!(os.mkdir(root, c"d", 0o755), Err(Errno(libc::EROFS)));
    let fd = os.open(root, c"a", libc::O_RDONLY, 0).unwrap();
    os.close(fd).unwrap();
}

/// Runs `test` in a thread to which the kernel refuses a call; says so where it cannot.
fn without(call: libc::c_long, errno: i32, test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || match refuse(call, errno) {
        true => test(),
        false => crate::os::skipped::skipped("system calls cannot be refused here"),
    });
    thread.join().unwrap();
}

#[test]
fn an_old_kernel_or_a_sandbox_makes_paths_be_walked() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        without(libc::SYS_openat2, errno, || {
            let dir = tempfile::tempdir().unwrap();
            let root = OwnedFd::from(std::fs::File::open(dir.path()).unwrap());
            let context = Context::new(root, Arc::new(Clock::monotonic()));
            assert_eq!(context.resolver(), Resolver::Walk);
            let mut os = Linux::new(&context);
            let root = os.root();
            os.mkdir(root, c"d", 0o755).unwrap();
            os.symlink(c"d", root, c"l").unwrap();
            let fd = os.open(root, c"d/a", CREATE, 0o644).unwrap();
            os.close(fd).unwrap();
            os.unlink(root, c"d/a").unwrap();
            assert_eq!(os.open(root, c"l/a", CREATE, 0o644), Err(Errno(libc::ELOOP)));
        });
    }
}

#[test]
fn other_calls_that_are_missing_are_done_without() {
    // fchmodat2
    without(452, libc::ENOSYS, || {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "").unwrap();
        let mut os = linux_in(dir.path(), true);
        let root = os.root();
        os.chmod(root, c"a", 0o604).unwrap();
        assert_eq!(std::fs::metadata(dir.path().join("a")).unwrap().mode() & 0o7777, 0o604);
    });
    without(libc::SYS_unshare, libc::EPERM, || {
        let dir = tempfile::tempdir().unwrap();
        assert!(!linux_in(dir.path(), true).enter_worker());
    });
}
