//! One suite of meanings, held against every machine: Linux, Linux without its newer calls, and
//! the simulation.

mod differential;
mod escape;
mod semantics;
mod simulation;

use super::linux::{Clock, Context, Linux};
use super::sim::{Options, Sim, SimFs};
use super::{Call, Errno, Fd, Os, Recipe, Submitted, Transfer};
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

fn done(submitted: Submitted) -> Call<usize> {
    match submitted {
        Submitted::Done(result) => result,
        other => panic!("no queue here, but {other:?}"),
    }
}

fn write(os: &mut impl Os, fd: Fd, offset: Option<u64>, len: usize) -> Call<usize> {
    done(os.submit_write(Transfer { fd, offset, len, token: 0 }, &vec![b'x'; len], Recipe::Byte(b'x')))
}

fn read(os: &mut impl Os, fd: Fd, offset: Option<u64>, len: usize) -> Call<usize> {
    done(os.submit_read(Transfer { fd, offset, len, token: 0 }, &mut vec![0; len]))
}
