//! Any one of the engines as a value: which one it is costs a transfer a comparison, not a call through a table.

use super::{io_uring::IoUring, libaio::Libaio, mmap::Mmap};
use crate::os::linux::engine::{Engine, Null, Sync};
use crate::os::machine::{Call, Capabilities, Completion, Fd, QueueState, Transfer};

/// One of the engines. (A number of its own says which: one hidden in a field takes six instructions to
/// read.)
#[repr(u8)]
pub enum Any {
    /// One call a transfer.
    Sync(Sync),
    /// Does nothing.
    Null(Null),
    /// Copies to and from mappings.
    Mmap(Mmap),
    /// The kernel's older queue.
    Libaio(Box<Libaio>),
    /// The kernel's newer queue.
    IoUring(Box<IoUring>),
}

/// The same expression for whichever engine it is.
macro_rules! each {
    ($any:expr, $engine:ident => $does:expr) => {
        match $any {
            Any::Sync($engine) => $does,
            Any::Null($engine) => $does,
            Any::Mmap($engine) => $does,
            Any::Libaio($engine) => $does,
            Any::IoUring($engine) => $does,
        }
    };
}

impl Any {
    /// An engine of that name; its queue is made later, by the thread that uses it.
    pub fn new(name: &str) -> Any {
        match name {
            "libaio" => Any::Libaio(Box::new(Libaio::new())),
            "io_uring" => Any::IoUring(Box::new(IoUring::new())),
            "mmap" => Any::Mmap(Mmap::new()),
            "nop" => Any::Null(Null),
            _ => Any::Sync(Sync),
        }
    }
}

impl Engine for Any {
    #[inline(always)]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        each!(self, engine => engine.read(fd, offset, buffer))
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        each!(self, engine => engine.write(fd, offset, data))
    }

    fn capabilities(&self) -> Capabilities {
        each!(self, engine => engine.capabilities())
    }

    fn closing(&mut self, fd: Fd) {
        each!(self, engine => engine.closing(fd));
    }

    fn resized(&mut self, fd: Fd) {
        each!(self, engine => engine.resized(fd));
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        each!(self, engine => engine.open_queue(depth, slots, len))
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        each!(self, engine => engine.slot(slot))
    }

    #[inline(always)]
    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        each!(self, engine => engine.exchange(batch, at_least, into))
    }

    #[inline]
    fn ended(&self) -> u32 {
        each!(self, engine => engine.ended())
    }

    #[inline(always)]
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        each!(self, engine => engine.transfer_one(transfer))
    }

    fn queue_state(&self) -> QueueState {
        each!(self, engine => engine.queue_state())
    }
}
