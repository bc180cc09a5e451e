//! One suite of meanings, held against every machine: Linux, Linux without its newer calls, and
//! the simulation.

/// Each test runs on each machine.
macro_rules! everywhere {
    ($($test:ident)*) => {
        mod on_linux {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                super::$test(&mut super::super::linux_in(dir.path(), true));
            })*
        }
        mod on_linux_without_newer_calls {
            $(#[test] fn $test() {
                let dir = tempfile::tempdir().unwrap();
                super::$test(&mut super::super::linux_in(dir.path(), false));
            })*
        }
        mod on_the_simulation {
            $(#[test] fn $test() { super::$test(&mut super::super::simulated()) })*
        }
    };
}

/// The call fails with this error.
macro_rules! fails {
    ($call:expr, $errno:ident) => {
        assert_eq!($call.err(), Some(Errno(libc::$errno)), "{}", stringify!($call))
    };
}

/// The call fails with the first error where the condition holds, else with the second.
macro_rules! fails_either {
    ($call:expr, $first:ident, $second:ident, $which:expr) => {
        assert_eq!($call.err(), Some(Errno(if $which { libc::$first } else { libc::$second })))
    };
}

mod differential;
mod escape;
mod files;
mod names;
mod real;
mod simulation;

use super::linux::{Clock, Context, Linux};
use super::sim::{Options, Sim, SimFs};
use super::{Call, Errno, Fd, Os, Recipe};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

/// Linux in `dir`, with all of the kernel's calls or without the newer ones.
fn linux_in(dir: &Path, newer_calls: bool) -> Linux {
    let root = OwnedFd::from(std::fs::File::open(dir).unwrap());
    let clock = Arc::new(Clock::monotonic());
    let context = match newer_calls {
        true => Context::new(root, clock),
        false => Context::with_fallbacks(root, clock),
    };
    Linux::new(&context)
}

fn simulated() -> Sim {
    SimFs::new(Options::default()).worker(0)
}

fn write(os: &mut impl Os, fd: Fd, offset: Option<u64>, len: usize) -> Call<usize> {
    os.write(fd, offset, &vec![b'x'; len], Recipe::Byte(b'x'))
}

fn read(os: &mut impl Os, fd: Fd, offset: Option<u64>, len: usize) -> Call<usize> {
    os.read(fd, offset, &mut vec![0; len])
}

/// A file of so many bytes.
fn file(os: &mut impl Os, path: &std::ffi::CStr, len: usize) -> Fd {
    let root = os.root();
    let fd = os.open(root, path, libc::O_RDWR | libc::O_CREAT, 0o644).unwrap();
    assert_eq!(write(os, fd, Some(0), len), Ok(len));
    fd
}
