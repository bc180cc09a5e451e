//! Engines: the ways in which a read or a write reaches the kernel.
//!
//! The trait, the plain one-call engine, and the one that does nothing at all. An engine knows
//! descriptors, offsets and buffers; names, flags and time are not its business.

use super::data;
use crate::os::machine::{Call, Capabilities, Completion, Errno, Fd, QueueState, Transfer};

/// What moves data for a [`super::Linux`]. Without a queue of its own an engine leaves the second
/// half as it is.
pub trait Engine: Send + 'static {
    /// Reads at an offset, or at the file's own position; over when it returns.
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize>;
    /// Writes at an offset, or at the file's own position; over when it returns.
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize>;
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// The descriptor is about to be closed, and its number may come back for another file.
    #[inline]
    fn closing(&mut self, _fd: Fd) {}
    /// The file's size was changed by other means than a write.
    #[inline]
    fn resized(&mut self, _fd: Fd) {}
    /// The engine that further transfers go through, where this one holds several.
    #[inline]
    fn use_engine(&mut self, _engine: u8) {}

    /// Makes a queue of so many transfers in flight, with so many slots of `len` bytes each.
    fn open_queue(&mut self, _depth: u32, _slots: u32, _len: usize) -> Call<()> {
        Err(Errno(libc::EOPNOTSUPP))
    }
    /// The memory of a slot that is not in flight.
    fn slot(&mut self, _slot: u32) -> &mut [u8] {
        &mut []
    }
    /// Hands these over, waits until at least `at_least` of those in flight have ended, takes all
    /// that have; with 0 it only hands over.
    fn exchange(&mut self, batch: &[Transfer], _at_least: u32, _into: &mut Vec<Completion>) -> Call<()> {
        if batch.is_empty() { Ok(()) } else { Err(Errno(libc::EOPNOTSUPP)) }
    }
    /// How many of those in flight have ended and were not taken, as far as can be told without a
    /// call.
    fn ended(&self) -> u32 {
        0
    }
    /// One transfer to its end, with nothing else in flight.
    fn transfer_one(&mut self, _transfer: Transfer) -> Call<usize> {
        Err(Errno(libc::EOPNOTSUPP))
    }
    /// What became of the queue so far.
    fn queue_state(&self) -> QueueState {
        QueueState::default()
    }
}

/// One call a transfer: `pread` and `pwrite`, or `read` and `write` at the file's position.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sync;

impl Engine for Sync {
    #[inline(always)]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        match offset {
            Some(offset) => data::pread(fd, buffer, offset),
            None => data::read(fd, buffer),
        }
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        match offset {
            Some(offset) => data::pwrite(fd, data, offset),
            None => data::write(fd, data),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "sync", max_depth: 1, direct: true }
    }
}

/// Says of every transfer that it is done and moves nothing: what is left is our own overhead.
#[derive(Clone, Copy, Default, Debug)]
pub struct Null;

impl Engine for Null {
    #[inline(always)]
    fn read(&mut self, _fd: Fd, _offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        Ok(buffer.len())
    }

    #[inline(always)]
    fn write(&mut self, _fd: Fd, _offset: Option<u64>, data: &[u8]) -> Call<usize> {
        Ok(data.len())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "nop", max_depth: 1, direct: true }
    }
}

impl<E: Engine + ?Sized> Engine for Box<E> {
    #[inline]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        (**self).read(fd, offset, buffer)
    }

    #[inline]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        (**self).write(fd, offset, data)
    }

    fn capabilities(&self) -> Capabilities {
        (**self).capabilities()
    }

    #[inline]
    fn closing(&mut self, fd: Fd) {
        (**self).closing(fd);
    }

    fn resized(&mut self, fd: Fd) {
        (**self).resized(fd);
    }

    fn use_engine(&mut self, engine: u8) {
        (**self).use_engine(engine);
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        (**self).open_queue(depth, slots, len)
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        (**self).slot(slot)
    }

    #[inline]
    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        (**self).exchange(batch, at_least, into)
    }

    fn ended(&self) -> u32 {
        (**self).ended()
    }

    #[inline]
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        (**self).transfer_one(transfer)
    }

    fn queue_state(&self) -> QueueState {
        (**self).queue_state()
    }
}
