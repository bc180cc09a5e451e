//! The engines beyond the plain call, one file each, and how one comes to be by its name.

pub mod any;
pub mod io_uring;
pub mod libaio;
pub mod mmap;
mod ring;
pub mod several;
mod slots;
#[cfg(test)]
mod tests;

use crate::os::machine::{Call, Errno};

/// An engine that the machine will not give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The engine's name.
    pub engine: String,
    /// The call that was refused.
    pub call: &'static str,
    /// Why.
    pub errno: Errno,
    /// What can be done about it.
    pub help: String,
}

/// Whether the machine gives so many workers each a queue of that depth right now: asks for them
/// all, and gives them back.
pub fn probe(name: &str, workers: u32, depth: u32) -> Result<(), Refused> {
    let answer: Call<()> = match name {
        "libaio" => libaio::probe(workers, depth),
        "io_uring" => io_uring::probe(depth),
        _ => return Ok(()),
    };
    answer.map_err(|errno| refused(name, errno))
}

/// What is to be said of an engine whose queue could not be made.
pub fn refused(name: &str, errno: Errno) -> Refused {
    let call = match name {
        "libaio" => "io_setup",
        "io_uring" => "io_uring_setup",
        _ => "queue",
    };
    Refused { engine: name.into(), call, errno, help: help(name, errno) }
}

fn help(name: &str, errno: Errno) -> String {
    let why = match (name, errno.0) {
        ("libaio", libc::EAGAIN) => return aio_help(),
        (_, libc::ENOSYS) => "this kernel, or the sandbox it runs in, does not have the call",
        ("io_uring", libc::EPERM) => {
            "kernel.io_uring_disabled or the sandbox (seccomp, as in containers) forbids it: allow it there"
        }
        (_, libc::EPERM | libc::EACCES) => {
            "the sandbox (seccomp, as in containers) forbids it: allow it there"
        }
        (_, libc::ENOMEM) => "raise the limit of locked memory (ulimit -l), or use a smaller depth",
        (_, libc::EMFILE | libc::ENFILE) => "raise the limit of open files (ulimit -n)",
        _ => "use another engine",
    };
    format!("{why}; or name engines to take instead: `fallback: [libaio, sync]`")
}

fn aio_help() -> String {
    let number = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/fs/{name}")).unwrap_or_default();
        text.trim().to_string()
    };
    format!(
        "fs.aio-nr is {} of fs.aio-max-nr {}: raise it (sysctl fs.aio-max-nr=1048576), use a smaller depth or \
         fewer workers, or name engines to take instead: `fallback: [io_uring, sync]`",
        number("aio-nr"),
        number("aio-max-nr")
    )
}
