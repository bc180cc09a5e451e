//! What simulated workers did, call by call: for `explain` and for golden tests.
//!
//! Each worker's calls stand in its own order, so a trace does not depend on how threads met.

use super::script::Op;
use crate::os::machine::{Advice, Call, Errno, Lock, Space, Whence};
use std::fmt;

/// One call of one worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Number of the worker.
    pub worker: u32,
    /// Which call.
    pub op: Op,
    /// Path below the root, `.` for the root itself; two with ` -> ` between where a call has
    /// two; empty where it has none.
    pub name: String,
    /// Its other arguments.
    pub detail: Detail,
    /// What it returned, for calls that return a number one would want to see.
    pub result: Result<Option<u64>, Errno>,
}

/// The arguments of a call that are not names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Detail {
    /// There are none.
    None,
    /// Offset (none: the file's own position) and length in bytes.
    Range(Option<u64>, u64),
    /// Flags and permission bits of an `open`.
    Open {
        /// Flags of `open(2)`.
        flags: i32,
        /// Permission bits.
        mode: u32,
    },
    /// Permission bits.
    Mode(u32),
    /// In bytes.
    Size(u64),
    /// Offset in bytes and what it counts from.
    Seek(i64, Whence),
    /// What is done, offset and length in bytes.
    Allocate(Space, u64, u64),
    /// The hint, offset and length in bytes.
    Advise(Advice, u64, u64),
    /// The lock, offset and length in bytes.
    Lock(Lock, u64, u64),
    /// Offsets in source and destination, length.
    Copy(u64, u64, u64),
    /// Words: a link's target, an attribute's name, what a mark shows.
    Text(String),
}

/// Flags of `open` in the order they are written.
const FLAGS: &[(i32, &str)] = &[
    (libc::O_CREAT, "creat"),
    (libc::O_EXCL, "excl"),
    (libc::O_TRUNC, "trunc"),
    (libc::O_APPEND, "append"),
    (libc::O_DIRECT, "direct"),
    (libc::O_SYNC, "sync"),
    (libc::O_DSYNC, "dsync"),
    (libc::O_NOATIME, "noatime"),
    (libc::O_DIRECTORY, "directory"),
    (libc::O_PATH, "path"),
    (libc::O_NOFOLLOW, "nofollow"),
];

fn flags(mut value: i32) -> String {
    let mut text = match value & libc::O_ACCMODE {
        libc::O_RDONLY => "read",
        libc::O_WRONLY => "write",
        _ => "rw",
    }
    .to_string();
    value &= !(libc::O_ACCMODE | libc::O_CLOEXEC);
    for (flag, name) in FLAGS {
        if value & flag == *flag {
            // O_SYNC holds the bit of O_DSYNC.
            value &= !flag;
            text.push(',');
            text.push_str(name);
        }
    }
    if value != 0 {
        text.push_str(&format!(",{value:#x}"));
    }
    text
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::None => Ok(()),
            Detail::Range(Some(offset), len) => write!(f, " {offset}+{len}"),
            Detail::Range(None, len) => write!(f, " +{len}"),
            Detail::Open { flags: value, mode } => {
                write!(f, " {}", flags(*value))?;
                if value & libc::O_CREAT != 0 { write!(f, " {mode:04o}") } else { Ok(()) }
            }
            Detail::Mode(mode) => write!(f, " {mode:04o}"),
            Detail::Size(size) => write!(f, " {size}"),
            Detail::Seek(offset, whence) => write!(f, " {offset} {}", lower(whence)),
            Detail::Allocate(how, offset, len) => write!(f, " {} {offset}+{len}", lower(how)),
            Detail::Advise(advice, offset, len) => write!(f, " {} {offset}+{len}", lower(advice)),
            Detail::Lock(kind, offset, len) => write!(f, " {} {offset}+{len}", lower(kind)),
            Detail::Copy(from, to, len) => write!(f, " {from}+{len} -> {to}"),
            Detail::Text(text) => write!(f, " {text:?}"),
        }
    }
}

fn lower(value: impl fmt::Debug) -> String {
    format!("{value:?}").to_lowercase()
}

/// `0 pwrite mail/00000001 4096+16384 = 16384`
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.worker, self.op.name())?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        write!(f, "{}", self.detail)?;
        match self.result {
            Ok(Some(value)) => write!(f, " = {value}"),
            Ok(None) => write!(f, " = ok"),
            Err(errno) => match crate::os::errno::name(errno) {
                Some(name) => write!(f, " = {name}"),
                None => write!(f, " = errno {}", errno.0),
            },
        }
    }
}

/// What a trace shows of a call's value.
pub(super) trait Shown {
    fn shown(&self) -> Option<u64>;
}

macro_rules! shown {
    ($($kind:ty: $value:expr,)*) => {
        $(impl Shown for $kind {
            fn shown(&self) -> Option<u64> {
                let show: fn(&$kind) -> Option<u64> = $value;
                show(self)
            }
        })*
    };
}

shown! {
    (): |_| None,
    // A descriptor: its number says nothing about the test.
    crate::os::Fd: |_| None,
    usize: |n| Some(*n as u64),
    u64: |n| Some(*n),
    crate::os::Stat: |stat| Some(stat.size),
    crate::os::FsStat: |stat| Some(stat.available),
}

pub(super) fn shown<T: Shown>(result: &Call<T>) -> Result<Option<u64>, Errno> {
    result.as_ref().map(Shown::shown).map_err(|errno| *errno)
}
