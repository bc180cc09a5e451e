//! Nothing outside the root is reached, whatever lies in the way and whoever swaps it meanwhile.

use super::*;
use std::ffi::{CStr, CString};
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// A root for tests beside a directory that must stay as it is.
struct Place {
    _dir: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
    before: Vec<String>,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("root"), dir.path().join("outside"));
        fs::create_dir_all(root.join("inside")).unwrap();
        fs::create_dir_all(outside.join("sub")).unwrap();
        fs::write(outside.join("file"), "precious").unwrap();
        fs::write(outside.join("sub/file"), "precious").unwrap();
        let before = photograph(&outside);
        Place { _dir: dir, root, outside, before }
    }

    fn unchanged(&self) {
        assert_eq!(photograph(&self.outside), self.before);
    }
}

/// Everything there is to know of a small tree but access times.
fn photograph(dir: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(path) = todo.pop() {
        let m = fs::symlink_metadata(&path).unwrap();
        let content = if m.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
        let (mode, links, time, nanos) = (m.mode(), m.nlink(), m.mtime(), m.mtime_nsec());
        lines.push(format!("{path:?} {mode:o} {links} {time}.{nanos} {} {content}", m.ctime_nsec()));
        if m.is_dir() {
            todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    lines.sort();
    lines
}

/// Every call that takes a name, on one path; none may do anything outside. Returns how many
/// succeeded, which they may where the path stays inside.
fn try_everything(os: &mut Linux, path: &CStr) -> usize {
    let root = os.root();
    let mut done = 0;
    let mut count = |ok: bool| done += usize::from(ok);
    let create = libc::O_RDWR | libc::O_CREAT;
    for flags in [libc::O_RDONLY, create, create | libc::O_TRUNC, libc::O_WRONLY | libc::O_APPEND] {
        if let Ok(fd) = os.open(root, path, flags, 0o644) {
            let _ = write(os, fd, Some(0), 1);
            let _ = os.truncate(fd, 0);
            os.close(fd).unwrap();
            count(true);
        }
    }
    count(os.chmod(root, path, 0o777).is_ok());
    count(os.utimes(root, path).is_ok());
    count(os.mkdir(root, path, 0o777).is_ok());
    count(os.link(root, path, root, c"linked").is_ok());
    let _ = os.unlink(root, c"linked");
    let fd = os.open(root, c"own", create, 0o644).unwrap();
    os.close(fd).unwrap();
    count(os.link(root, c"own", root, path).is_ok());
    count(os.symlink(c"x", root, path).is_ok());
    count(os.rename(root, path, root, c"taken").is_ok());
    count(os.rename(root, c"own", root, path).is_ok());
    count(os.unlink(root, path).is_ok());
    count(os.rmdir(root, path).is_ok());
    done
}

fn both(test: impl Fn(&Place, &mut Linux)) {
    for newer_calls in [true, false] {
        let place = Place::new();
        let mut os = linux_in(&place.root, newer_calls);
        test(&place, &mut os);
        place.unchanged();
    }
}

#[test]
fn the_kernel_resolves_where_it_can() {
    let place = Place::new();
    let context = |newer| {
        let root = OwnedFd::from(fs::File::open(&place.root).unwrap());
        let clock = Arc::new(Clock::monotonic());
        if newer { Context::new(root, clock) } else { Context::with_fallbacks(root, clock) }
    };
    assert_eq!(context(false).resolver().name(), "walk");
    // An older kernel or a sandbox makes this the walk too.
    assert!(["openat2", "walk"].contains(&context(true).resolver().name()));
}

#[test]
fn no_absolute_path_and_no_way_up() {
    both(|place, os| {
        let absolute = CString::new(place.outside.join("file").to_str().unwrap()).unwrap();
        assert_eq!(try_everything(os, &absolute), 0);
        for path in [
            c"../outside/file",
            c"inside/../../outside/file",
            c"..",
            c"inside/../../outside",
            c"./../outside/file",
        ] {
            assert_eq!(try_everything(os, path), 0, "{path:?}");
        }
    });
}

#[test]
fn no_symbolic_link_on_the_way() {
    both(|place, os| {
        symlink(&place.outside, place.root.join("out")).unwrap();
        symlink("../../outside", place.root.join("inside/out")).unwrap();
        for path in [
            c"out/file",
            c"out/new",
            c"out/sub/file",
            c"out/./file",
            c"inside/out/file",
            c"inside/out/sub/new",
        ] {
            assert_eq!(try_everything(os, path), 0, "{path:?}");
        }
    });
}

#[test]
fn no_symbolic_link_at_the_end() {
    both(|place, os| {
        for (name, target) in [("a", "file"), ("b", "sub"), ("c", "new"), ("d", "sub/file")] {
            for (suffix, base) in [("", place.outside.clone()), ("-relative", "../outside".into())] {
                symlink(base.join(target), place.root.join(format!("{name}{suffix}"))).unwrap();
                for slash in ["", "/", "//", "/."] {
                    let path = CString::new(format!("{name}{suffix}{slash}")).unwrap();
                    try_everything(os, &path);
                    place.unchanged();
                    // The calls may have moved the link away.
                    let _ = fs::remove_file(place.root.join("taken"));
                    let _ = fs::remove_file(place.root.join(format!("{name}{suffix}")));
                    let _ = symlink(base.join(target), place.root.join(format!("{name}{suffix}")));
                }
            }
        }
    });
}

#[test]
fn no_link_of_the_kernel_either() {
    both(|place, os| {
        symlink("/proc/self/cwd", place.root.join("cwd")).unwrap();
        symlink("/proc/self/root", place.root.join("all")).unwrap();
        let path = CString::new(format!("all{}", place.outside.join("file").display())).unwrap();
        assert_eq!(try_everything(os, &path), 0);
        assert_eq!(try_everything(os, c"cwd/Cargo.toml"), 0);
        let proc = fs::File::open("/proc/self").unwrap();
        use std::os::fd::AsRawFd;
        let fd = proc.as_raw_fd();
        assert_eq!(os.open(fd, c"cwd/Cargo.toml", libc::O_RDONLY, 0), Err(Errno(libc::ELOOP)));
        assert_eq!(os.open(fd, c"cwd", libc::O_RDONLY, 0), Err(Errno(libc::ELOOP)));
    });
}

/// Somebody swaps a directory for a symbolic link to the outside and back, as fast as they can.
#[test]
fn no_swap_in_between() {
    both(|place, os| {
        let (real, link) = (place.root.join("real"), place.root.join("link"));
        let stop = AtomicBool::new(false);
        let swaps = std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let mut swaps = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    let _ = fs::create_dir(&real);
                    let _ = fs::write(real.join("file"), "own");
                    let _ = symlink(&place.outside, &link);
                    swaps += u32::from(exchange(&real, &link));
                }
                swaps
            });
            let (mut inside, mut tries) = (0, 0);
            while tries < 300 || inside == 0 {
                inside += try_everything(os, c"real/file");
                inside += try_everything(os, c"real/new");
                tries += 1;
                assert!(tries < 100_000, "the calls never met the real directory");
            }
            stop.store(true, Ordering::Relaxed);
            swapper.join().unwrap()
        });
        assert!(swaps > 0);
    });
}

/// Puts the link in the place of the directory, and the directory back.
fn exchange(real: &Path, link: &Path) -> bool {
    let aside = real.with_extension("aside");
    let swapped = fs::rename(real, &aside).is_ok() && fs::rename(link, real).is_ok();
    // What stands there now may be the link, or what a call has put in its place.
    let _ = fs::remove_file(real);
    let _ = fs::rename(&aside, real);
    swapped
}
