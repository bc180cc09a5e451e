//! Random sequences of calls: Linux and the simulation must answer alike, and leave the same files.

use super::*;
use crate::os::{Space, Whence};
use proptest::prelude::*;
use std::ffi::CStr;
use std::fmt::Debug;

/// Few names, so that calls meet; short ones, so that a directory entry has 24 bytes.
const PATHS: &[&CStr] = &[
    c"a", c"b", c"d", c"e", c"l", c"d/a", c"d/b", c"d/e", c"d/l", c"e/a", c"l/a", c"d/e/a", c"d/e/f", c"a/b",
    c"a/", c"d/", c"l/", c"d/.", c".", c"d//a", c"./b", c"../x", c"/x", c"d/../a", c"",
];

const FLAGS: &[i32] = &[
    libc::O_RDONLY,
    libc::O_RDWR,
    libc::O_RDWR | libc::O_CREAT,
    libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL,
    libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
    libc::O_WRONLY | libc::O_APPEND,
    libc::O_RDONLY | libc::O_TRUNC,
    libc::O_RDONLY | libc::O_DIRECTORY,
    libc::O_PATH,
    libc::O_PATH | libc::O_DIRECTORY,
    libc::O_RDWR | libc::O_NOFOLLOW,
    libc::O_CREAT | libc::O_DIRECTORY,
];

/// Indices into what is there at the time; they wrap around.
#[derive(Clone, Debug)]
enum Step {
    Open { dir: usize, path: usize, flags: usize },
    Close(usize),
    Write { file: usize, at: Option<u64>, len: usize, byte: u8 },
    Read { file: usize, at: Option<u64>, len: usize },
    Seek { file: usize, offset: i64, whence: Whence },
    Truncate { file: usize, size: u64 },
    Allocate { file: usize, how: Space, offset: u64, len: u64 },
    Copy { from: usize, at: u64, to: usize, to_at: u64, len: usize },
    Fstat(usize),
    List(usize),
    Unlink { dir: usize, path: usize },
    Rmdir { dir: usize, path: usize },
    Mkdir { dir: usize, path: usize },
    Symlink { dir: usize, path: usize, target: usize },
    Rename { dir: usize, from: usize, to_dir: usize, to: usize },
    Link { dir: usize, from: usize, to_dir: usize, to: usize },
    Stat { dir: usize, path: usize },
    Readlink { dir: usize, path: usize },
    Chmod { dir: usize, path: usize },
    Utimes { dir: usize, path: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let path = || 0..PATHS.len();
    // Mostly the root, else something that was opened, a directory or not.
    let dir = || prop_oneof![3 => Just(0_usize), 1 => 0..8_usize];
    let file = || 0..8_usize;
    let at = || prop::option::of(0..20_000_u64);
    let whence = prop_oneof![Just(Whence::Start), Just(Whence::Current), Just(Whence::End)];
    let how = prop_oneof![Just(Space::Allocate), Just(Space::KeepSize), Just(Space::Punch)];
    prop_oneof![
        8 => (dir(), path(), 0..FLAGS.len()).prop_map(|(dir, path, flags)| Step::Open { dir, path, flags }),
        1 => file().prop_map(Step::Close),
        4 => (file(), at(), 0..10_000_usize, 1..250_u8)
            .prop_map(|(file, at, len, byte)| Step::Write { file, at, len, byte }),
        2 => (file(), at(), 0..10_000_usize).prop_map(|(file, at, len)| Step::Read { file, at, len }),
        1 => (file(), -5_000..20_000_i64, whence)
            .prop_map(|(file, offset, whence)| Step::Seek { file, offset, whence }),
        1 => (file(), 0..20_000_u64).prop_map(|(file, size)| Step::Truncate { file, size }),
        2 => (file(), how, 0..20_000_u64, 0..20_000_u64)
            .prop_map(|(file, how, offset, len)| Step::Allocate { file, how, offset, len }),
        1 => (file(), 0..20_000_u64, file(), 0..20_000_u64, 0..20_000_usize)
            .prop_map(|(from, at, to, to_at, len)| Step::Copy { from, at, to, to_at, len }),
        2 => file().prop_map(Step::Fstat),
        1 => file().prop_map(Step::List),
        2 => (dir(), path()).prop_map(|(dir, path)| Step::Unlink { dir, path }),
        2 => (dir(), path()).prop_map(|(dir, path)| Step::Rmdir { dir, path }),
        4 => (dir(), path()).prop_map(|(dir, path)| Step::Mkdir { dir, path }),
        2 => (dir(), path(), path()).prop_map(|(dir, path, target)| Step::Symlink { dir, path, target }),
        4 => (dir(), path(), dir(), path())
            .prop_map(|(dir, from, to_dir, to)| Step::Rename { dir, from, to_dir, to }),
        2 => (dir(), path(), dir(), path())
            .prop_map(|(dir, from, to_dir, to)| Step::Link { dir, from, to_dir, to }),
        2 => (dir(), path()).prop_map(|(dir, path)| Step::Stat { dir, path }),
        1 => (dir(), path()).prop_map(|(dir, path)| Step::Readlink { dir, path }),
        1 => (dir(), path()).prop_map(|(dir, path)| Step::Chmod { dir, path }),
        1 => (dir(), path()).prop_map(|(dir, path)| Step::Utimes { dir, path }),
    ]
}

/// A machine with what has been opened on it.
struct Run<M: Os> {
    os: M,
    /// The root first.
    open: Vec<Fd>,
}

impl<M: Os> Run<M> {
    fn new(os: M) -> Self {
        let open = vec![os.root()];
        Run { os, open }
    }

    fn fd(&self, at: usize) -> Fd {
        self.open[at % self.open.len()]
    }

    fn is_directory(&mut self, fd: Fd) -> bool {
        self.os.fstat(fd).is_ok_and(|stat| stat.directory)
    }

    /// What is comparable of a call's answer. Sizes of directories and blocks of files are each
    /// file system's own.
    fn step(&mut self, step: &Step) -> String {
        fn show<T: Debug>(result: Call<T>) -> String {
            format!("{result:?}")
        }
        let stat = |stat: crate::os::Stat| (!stat.directory).then_some((stat.size, stat.symlink));
        let path = |at: usize| PATHS[at];
        match *step {
            Step::Open { dir, path: at, flags } => {
                let dir = self.fd(dir);
                let opened = self.os.open(dir, path(at), FLAGS[flags], 0o644);
                if let Ok(fd) = opened {
                    self.open.push(fd);
                }
                show(opened.map(|_| ()))
            }
            Step::Close(file) => {
                if self.open.len() < 2 {
                    return String::new();
                }
                let fd = self.open.remove(1 + file % (self.open.len() - 1));
                show(self.os.close(fd))
            }
            Step::Write { file, at, len, byte } => {
                let data = vec![byte; len];
                show(self.os.write(self.fd(file), at, &data, Recipe::Byte(byte)))
            }
            Step::Read { file, at, len } => {
                let fd = self.fd(file);
                // Positions in directories are their file system's secret.
                let at = if self.is_directory(fd) { Some(0) } else { at };
                show(read(&mut self.os, fd, at, len))
            }
            Step::Seek { file, offset, whence } => {
                let fd = self.fd(file);
                if self.is_directory(fd) {
                    return String::new();
                }
                show(self.os.seek(fd, offset, whence))
            }
            Step::Truncate { file, size } => show(self.os.truncate(self.fd(file), size)),
            Step::Allocate { file, how, offset, len } => {
                show(self.os.allocate(self.fd(file), how, offset, len))
            }
            Step::Copy { from, at, to, to_at, len } => {
                show(self.os.copy_range(self.fd(from), at, self.fd(to), to_at, len))
            }
            Step::Fstat(file) => show(self.os.fstat(self.fd(file)).map(stat)),
            Step::List(file) => {
                let fd = self.fd(file);
                if self.is_directory(fd) {
                    // From an O_PATH descriptor this fails as the listing does.
                    let _ = self.os.seek(fd, 0, Whence::Start);
                }
                let mut bytes = 0;
                show(loop {
                    match self.os.getdents(fd) {
                        Ok(0) => break Ok(bytes),
                        Ok(more) => bytes += more,
                        Err(errno) => break Err(errno),
                    }
                })
            }
            Step::Unlink { dir, path: at } => show(self.os.unlink(self.fd(dir), path(at))),
            Step::Rmdir { dir, path: at } => show(self.os.rmdir(self.fd(dir), path(at))),
            Step::Mkdir { dir, path: at } => show(self.os.mkdir(self.fd(dir), path(at), 0o755)),
            Step::Symlink { dir, path: at, target } => {
                show(self.os.symlink(path(target), self.fd(dir), path(at)))
            }
            Step::Rename { dir, from, to_dir, to } => {
                show(self.os.rename(self.fd(dir), path(from), self.fd(to_dir), path(to)))
            }
            Step::Link { dir, from, to_dir, to } => {
                show(self.os.link(self.fd(dir), path(from), self.fd(to_dir), path(to)))
            }
            Step::Stat { dir, path: at } => show(self.os.stat(self.fd(dir), path(at)).map(stat)),
            Step::Readlink { dir, path: at } => show(self.os.readlink(self.fd(dir), path(at))),
            Step::Chmod { dir, path: at } => show(self.os.chmod(self.fd(dir), path(at), 0o755)),
            Step::Utimes { dir, path: at } => show(self.os.utimes(self.fd(dir), path(at))),
        }
    }
}

impl<M: Os> Drop for Run<M> {
    fn drop(&mut self) {
        for fd in self.open.drain(1..) {
            let _ = self.os.close(fd);
        }
    }
}

/// The bytes that the recipes of a simulated file stand for.
fn bytes(fs: &SimFs, path: &str) -> Vec<u8> {
    let mut bytes = vec![0; fs.stat(path).unwrap().size as usize];
    for extent in fs.extents(path).unwrap() {
        let byte = match extent.recipe {
            Recipe::Byte(byte) => byte,
            Recipe::Zero => 0,
            other => panic!("nobody wrote {other:?}"),
        };
        bytes[extent.start as usize..extent.end as usize].fill(byte);
    }
    bytes
}

fn compare(parent: &Path, newer_calls: bool, steps: &[Step]) -> Result<usize, TestCaseError> {
    let dir = tempfile::tempdir_in(parent).unwrap();
    let fs = SimFs::new(Options::default());
    let mut linux = Run::new(linux_in(dir.path(), newer_calls));
    let mut sim = Run::new(fs.worker(0));
    let mut succeeded = 0;
    // Something to begin with, else most calls find nothing.
    for path in [c"d", c"d/e"] {
        for result in [linux.os.mkdir(linux.open[0], path, 0o755), sim.os.mkdir(sim.open[0], path, 0o755)] {
            prop_assert_eq!(result, Ok(()));
        }
    }
    for (at, step) in steps.iter().enumerate() {
        let (real, simulated) = (linux.step(step), sim.step(step));
        // A file system without holes cannot be compared in this.
        if matches!(step, Step::Allocate { .. }) && real.contains("EOPNOTSUPP") {
            return Ok(succeeded);
        }
        succeeded += usize::from(real.starts_with("Ok"));
        prop_assert_eq!(real, simulated, "step {} of {:#?}", at, &steps[..=at]);
    }
    for path in PATHS {
        let path = path.to_str().unwrap();
        if path.starts_with(['/', '.']) || path.is_empty() || path.contains("..") {
            continue;
        }
        let (real, simulated) = (linux.step_stat(path), fs.stat(path));
        prop_assert_eq!(real.map(|s| s.directory), simulated.map(|s| s.directory), "{}", path);
        if real.is_ok_and(|stat| !stat.directory && !stat.symlink) {
            prop_assert!(std::fs::read(dir.path().join(path)).unwrap() == bytes(&fs, path), "{}", path);
        }
    }
    Ok(succeeded)
}

impl Run<Linux> {
    fn step_stat(&mut self, path: &str) -> Call<crate::os::Stat> {
        let path = std::ffi::CString::new(path).unwrap();
        let root = self.os.root();
        self.os.stat(root, &path)
    }
}

fn compare_many(parent: &Path, newer_calls: bool) {
    let cases = 120;
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let succeeded = std::cell::Cell::new(0);
    let sequences = prop::collection::vec(step(), 1..60);
    let result = runner.run(&sequences, |steps| {
        succeeded.set(succeeded.get() + compare(parent, newer_calls, &steps)?);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(succeeded.get() > cases as usize * 5, "only {} calls succeeded", succeeded.get());
}

#[test]
fn with_the_newer_calls() {
    compare_many(&std::env::temp_dir(), true);
}

#[test]
fn without_the_newer_calls() {
    compare_many(&std::env::temp_dir(), false);
}

#[test]
fn on_a_file_system_in_memory() {
    let memory = Path::new("/dev/shm");
    if tempfile::tempdir_in(memory).is_err() {
        return crate::os::skipped::skipped("no /dev/shm to write to");
    }
    compare_many(memory, true);
}
