//! Engines: the ways in which a read or a write reaches the kernel.
//!
//! The trait, the plain one-call engine, and the one that does nothing at all. An engine knows
//! descriptors, offsets and buffers; names, flags and time are not its business.

use super::data;
use crate::os::machine::{Call, Capabilities, Completion, Submitted, Transfer};

/// What moves data for a [`super::Linux`].
pub trait Engine: Send + 'static {
    /// Begins a read, or does it; `buffer.len()` is `transfer.len`.
    fn submit_read(&mut self, transfer: Transfer, buffer: &mut [u8]) -> Submitted;
    /// Begins a write, or does it; `data.len()` is `transfer.len`.
    fn submit_write(&mut self, transfer: Transfer, data: &[u8]) -> Submitted;
    /// Takes finished transfers, waiting for at least `at_least` of those in flight.
    fn reap(&mut self, at_least: u32, into: &mut Vec<Completion>) -> Call<()>;
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
}

/// One call a transfer: `pread` and `pwrite`, or `read` and `write` at the file's position.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sync;

impl Engine for Sync {
    #[inline(always)]
    fn submit_read(&mut self, transfer: Transfer, buffer: &mut [u8]) -> Submitted {
        Submitted::Done(match transfer.offset {
            Some(offset) => data::pread(transfer.fd, buffer, offset),
            None => data::read(transfer.fd, buffer),
        })
    }

    #[inline(always)]
    fn submit_write(&mut self, transfer: Transfer, data: &[u8]) -> Submitted {
        Submitted::Done(match transfer.offset {
            Some(offset) => data::pwrite(transfer.fd, data, offset),
            None => data::write(transfer.fd, data),
        })
    }

    #[inline]
    fn reap(&mut self, _at_least: u32, _into: &mut Vec<Completion>) -> Call<()> {
        Ok(())
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
    fn submit_read(&mut self, transfer: Transfer, _buffer: &mut [u8]) -> Submitted {
        Submitted::Done(Ok(transfer.len))
    }

    #[inline(always)]
    fn submit_write(&mut self, transfer: Transfer, _data: &[u8]) -> Submitted {
        Submitted::Done(Ok(transfer.len))
    }

    #[inline]
    fn reap(&mut self, _at_least: u32, _into: &mut Vec<Completion>) -> Call<()> {
        Ok(())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "nop", max_depth: 1, direct: true }
    }
}
