//! Reads and writes of a simulated worker: nearly all of its calls, so the ones that must be quick.
//!
//! A transfer is decided at once; with a queue only its end lies later. No name is looked up.

use super::disk::Ino;
use super::script::Op;
use super::trace::{Detail, Event, shown};
use super::worker::{About, EBADF, EINVAL, Sim};
use crate::os::machine::{Call, Completion, Errno, Fd, Nanos, Recipe, Transfer};

/// An open file.
pub(super) struct Open {
    /// What is open.
    pub ino: Ino,
    /// Flags of `open(2)` it was opened with.
    pub flags: i32,
    /// Multiple that offset and length must be of; 1 without direct I/O.
    pub align: u64,
    /// Byte position; of a directory the entries read.
    pub position: u64,
    /// For the trace; empty without one.
    pub name: Box<str>,
}

impl Open {
    /// Whether it was opened for reading.
    pub fn readable(&self) -> bool {
        self.flags & libc::O_PATH == 0 && self.flags & libc::O_ACCMODE != libc::O_WRONLY
    }

    /// Whether it was opened for writing.
    pub fn writable(&self) -> bool {
        self.flags & libc::O_PATH == 0 && self.flags & libc::O_ACCMODE != libc::O_RDONLY
    }
}

/// Which bytes of which file.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub fd: Fd,
    pub offset: Option<u64>,
    pub len: u64,
}

impl Sim {
    /// A read or, with a recipe, a write; the clock goes on to its end.
    #[inline]
    pub(super) fn transfer(&mut self, op: Op, span: Span, recipe: Option<Recipe>) -> Call<usize> {
        let (result, time) = self.decide(op, span, recipe);
        self.clock = self.clock.saturating_add(time);
        result
    }

    /// A transfer whose end lies later; `EBUSY` where every slot is in flight.
    pub(super) fn enqueue(&mut self, transfer: Transfer) -> Call<()> {
        let Transfer { fd, offset, len, slot, write, data } = transfer;
        if self.in_flight.len() >= self.slots {
            return Err(Errno(libc::EBUSY));
        }
        let span = Span { fd, offset: Some(offset), len: u64::from(len) };
        let (op, recipe) = if write { (Op::Pwrite, Some(data)) } else { (Op::Pread, None) };
        let (result, time) = self.decide(op, span, recipe);
        self.clock = self.clock.saturating_add(self.shared.options.latency.call);
        self.in_flight.push((self.clock.saturating_add(time), Completion::new(slot, result)));
        Ok(())
    }

    /// What becomes of a transfer, and how long it takes.
    #[inline]
    fn decide(&mut self, op: Op, span: Span, recipe: Option<Recipe>) -> (Call<usize>, Nanos) {
        let len = span.len;
        let fate = self.faults.of(op);
        let short = fate.short.map_or(len, |most| len.min(most));
        let moved = match fate.errno {
            Some(errno) => Err(errno),
            None => self.move_data(span, short, recipe),
        };
        let bytes = *moved.as_ref().unwrap_or(&0);
        let mut time = self.time(op, bytes, fate.stall);
        if recipe.is_some()
            && let Some((limit, factor)) = self.shared.options.script.slow_after
            && self.shared.disk().written > limit
        {
            time = time.saturating_mul(u64::from(factor));
        }
        let result = moved.map(|bytes| bytes as usize);
        if self.recording() {
            let (worker, name) = (self.worker, self.name(About::File(span.fd)));
            let detail = Detail::Range(span.offset, len);
            self.shared.record(Event { worker, op, name, detail, result: shown(&result) });
        }
        (result, time)
    }

    #[inline]
    fn move_data(&mut self, span: Span, len: u64, recipe: Option<Recipe>) -> Call<u64> {
        let Some(open) = self.files.get_mut(span.fd as usize).and_then(Option::as_mut) else {
            return Err(EBADF);
        };
        if !(if recipe.is_some() { open.writable() } else { open.readable() }) {
            return Err(EBADF);
        }
        let mut at = span.offset.unwrap_or(open.position);
        if at.saturating_add(span.len) > i64::MAX as u64 || (at | span.len) & (open.align - 1) != 0 {
            return Err(EINVAL);
        }
        let mut disk = self.shared.disk();
        let moved = match recipe {
            None => disk.read(open.ino, at, len)?,
            Some(recipe) => {
                if open.flags & libc::O_APPEND != 0 {
                    at = disk.inode(open.ino)?.size;
                }
                disk.write(open.ino, at, len, recipe)?
            }
        };
        if span.offset.is_none() {
            open.position = at + moved;
        }
        Ok(moved)
    }
}
