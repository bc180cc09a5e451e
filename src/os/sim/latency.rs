//! How long simulated calls take, in virtual time.
//!
//! The same call always takes as long: what a test expects can be computed. Faults and slow
//! workers are on top of it, in `script`.

use super::script::Op;
use crate::os::machine::Nanos;

/// Nanoseconds of each kind of call. The defaults are those of a middling flash drive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latency {
    /// Reading the clock. Not 0, so that a loop that only waits ends.
    pub clock: Nanos,
    /// Calls that move no data and change no names, and submitting to a queue.
    pub call: Nanos,
    /// Calls that look up or change names.
    pub name: Nanos,
    /// A read or a write, however small.
    pub data: Nanos,
    /// What every KiB adds to it.
    pub kib: Nanos,
    /// Making data durable.
    pub flush: Nanos,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { clock: 20, call: 1_000, name: 20_000, data: 80_000, kib: 1_000, flush: 1_000_000 }
    }
}

impl Latency {
    /// Every call takes no time.
    pub const NONE: Latency = Latency { clock: 0, call: 0, name: 0, data: 0, kib: 0, flush: 0 };

    /// Nanoseconds of a call that moves `bytes`.
    #[inline]
    pub fn of(&self, op: Op, bytes: u64) -> Nanos {
        match op {
            Op::Read | Op::Pread | Op::Write | Op::Pwrite | Op::CopyRange => {
                self.data.saturating_add(bytes.saturating_mul(self.kib) >> 10)
            }
            Op::Fsync | Op::Fdatasync | Op::SyncRange | Op::Syncfs | Op::Sync | Op::DropCaches | Op::Sql => {
                self.flush
            }
            Op::Open
            | Op::Unlink
            | Op::Rmdir
            | Op::Mkdir
            | Op::Rename
            | Op::Link
            | Op::Symlink
            | Op::Readlink
            | Op::Stat
            | Op::Chmod
            | Op::Utimes
            | Op::Getdents => self.name,
            _ => self.call,
        }
    }
}
