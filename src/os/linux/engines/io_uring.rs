//! io_uring: transfers are laid into a ring shared with the kernel, and one call hands over all of
//! them and waits for some to end. Files and memory are registered where the kernel allows it.

use std::io;

use io_uring::{IoUring as Raw, opcode, squeue, types};

use super::slots::Slots;
use crate::os::linux::engine::{Engine, Sync};
use crate::os::machine::{Call, Capabilities, Completion, Errno, Fd, QueueState, Transfer};

/// Files that can be registered at one time; those beyond go by their descriptor.
const FILES: u32 = 1024;
/// Transfers of a file before it is registered: a file that is opened, read once and closed is not
/// worth the two calls.
const PROVEN: i32 = 8;
/// No registered file; counts up to -1 with each transfer.
const UNKNOWN: i32 = -PROVEN;
/// Refusals of the kernel in a row, with nothing moved in between, until they are an error.
const PATIENCE: u32 = 100_000;

/// The engine. It has no ring before [`Engine::open_queue`].
pub struct IoUring {
    ring: Option<Raw>,
    memory: Slots,
    /// The transfer in each slot, to be repeated where the kernel says so.
    transfers: Vec<Option<Transfer>>,
    /// Index among the registered files, by descriptor.
    files: Vec<i32>,
    /// Indices not in use.
    free_files: Vec<u32>,
    /// Slots whose transfers are to be repeated.
    again: Vec<u32>,
    in_flight: u32,
    state: QueueState,
}

fn errno(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(libc::EIO))
}

/// A ring of that depth with the flags that suit one thread, or without on kernels that have none.
fn ring(depth: u32) -> io::Result<Raw> {
    let fast = Raw::builder().setup_single_issuer().setup_defer_taskrun().setup_coop_taskrun().build(depth);
    match fast {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Raw::new(depth),
        other => other,
    }
}

/// Whether the kernel gives a ring of that depth.
pub fn probe(depth: u32) -> Call<()> {
    ring(depth.max(1)).map(|_| ()).map_err(|error| errno(&error))
}

impl IoUring {
    /// Without a queue: transfers go one call each.
    #[allow(clippy::new_without_default)]
    pub fn new() -> IoUring {
        IoUring {
            ring: None,
            memory: Slots::none(),
            transfers: Vec::new(),
            files: Vec::new(),
            free_files: Vec::new(),
            again: Vec::new(),
            in_flight: 0,
            state: QueueState::default(),
        }
    }

    /// Registers what may be registered; what may not is noted.
    fn register(&mut self) {
        let Some(ring) = &self.ring else { return };
        let (base, bytes) = self.memory.region();
        let region = [libc::iovec { iov_base: base.cast(), iov_len: bytes }];
        // SAFETY: the memory lives until the ring is gone, see `drop`.
        match unsafe { ring.submitter().register_buffers(&region) } {
            Ok(()) => self.state.registered_buffers = true,
            Err(error) => {
                let errno = errno(&error);
                let why = match errno.0 {
                    libc::ENOMEM | libc::EPERM => {
                        format!(": the limit of locked memory (ulimit -l) is too low for {} KiB", bytes >> 10)
                    }
                    // The kernel takes 1 GiB in one piece.
                    _ if bytes > 1 << 30 => format!(": {} MiB are more than the kernel takes", bytes >> 20),
                    _ => String::new(),
                };
                self.state.notes.push(format!("buffers are not registered ({errno}){why}"));
            }
        }
        match ring.submitter().register_files_sparse(FILES) {
            Ok(()) => {
                self.state.registered_files = true;
                self.free_files = (0..FILES).rev().collect();
            }
            Err(error) => self.state.notes.push(format!("files are not registered ({})", errno(&error))),
        }
    }

    /// The registered file of a descriptor; registered now where it can be and is worth it.
    #[inline]
    fn registered(&mut self, fd: Fd) -> Option<u32> {
        if !self.state.registered_files {
            return None;
        }
        match self.files.get(fd as usize) {
            Some(index) if *index >= 0 => Some(*index as u32),
            _ => self.count_file(fd),
        }
    }

    #[cold]
    fn count_file(&mut self, fd: Fd) -> Option<u32> {
        let at = usize::try_from(fd).ok()?;
        if self.files.len() <= at {
            self.files.resize(at + 1, UNKNOWN);
        }
        let known = self.files.get_mut(at)?;
        if *known < -1 {
            *known += 1;
            return None;
        }
        *known = UNKNOWN;
        let index = self.free_files.pop()?;
        if self.ring.as_ref()?.submitter().register_files_update(index, &[fd]).is_err() {
            self.free_files.push(index);
            return None;
        }
        *known = index as i32;
        Some(index)
    }

    #[inline]
    fn entry(&mut self, transfer: Transfer, address: *mut u8) -> squeue::Entry {
        let Transfer { fd, offset, len, slot, write } = transfer;
        let file = self.registered(fd);
        macro_rules! entry {
            ($fd:expr) => {
                match (write, self.state.registered_buffers) {
                    (false, true) => opcode::ReadFixed::new($fd, address, len, 0).offset(offset).build(),
                    (true, true) => opcode::WriteFixed::new($fd, address, len, 0).offset(offset).build(),
                    (false, false) => opcode::Read::new($fd, address, len).offset(offset).build(),
                    (true, false) => opcode::Write::new($fd, address, len).offset(offset).build(),
                }
            };
        }
        let entry = match file {
            Some(index) => entry!(types::Fixed(index)),
            None => entry!(types::Fd(fd)),
        };
        entry.user_data(u64::from(slot))
    }

    #[inline]
    fn push(&mut self, transfer: Transfer, address: *mut u8) -> Call<()> {
        let entry = self.entry(transfer, address);
        let ring = self.ring.as_mut().ok_or(Errno(libc::EOPNOTSUPP))?;
        // SAFETY: the memory is a slot that is in flight from now on, and stays until it is reaped;
        // one thread has the ring.
        let pushed = unsafe { ring.submission().push(&entry) };
        if pushed.is_ok() {
            return Ok(());
        }
        // More in the batch than the ring has entries: hand over what there is.
        ring.submit().map_err(|error| errno(&error))?;
        // SAFETY: as above.
        unsafe { ring.submission().push(&entry) }.map_err(|_| Errno(libc::EBUSY))
    }
}

impl Engine for IoUring {
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        Sync.read(fd, offset, buffer)
    }

    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        Sync.write(fd, offset, data)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "io_uring", max_depth: 32768, direct: true }
    }

    fn closing(&mut self, fd: Fd) {
        let Some(known) = self.files.get_mut(fd as usize) else { return };
        let Ok(index) = u32::try_from(std::mem::replace(known, UNKNOWN)) else { return };
        if let Some(ring) = &self.ring {
            let _ = ring.submitter().register_files_update(index, &[-1]);
        }
        self.free_files.push(index);
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        self.memory = Slots::new(slots, len)?;
        self.ring = Some(ring(depth.max(1)).map_err(|error| errno(&error))?);
        self.transfers = vec![None; slots as usize];
        self.register();
        Ok(())
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.memory.get(slot)
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) -> Call<()> {
        let address = self.memory.claim(transfer.slot, transfer.len)?;
        if let Some(kept) = self.transfers.get_mut(transfer.slot as usize) {
            *kept = Some(transfer);
        }
        self.push(transfer, address)?;
        self.in_flight += 1;
        Ok(())
    }

    fn reap(&mut self, at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        let mut wanted = at_least.min(self.in_flight);
        let mut patience = PATIENCE;
        loop {
            let Some(ring) = &mut self.ring else { return Ok(()) };
            match ring.submit_and_wait(wanted as usize) {
                Ok(submitted) => self.state.submissions += u64::from(submitted > 0),
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) if patience > 0 => {
                        patience -= 1;
                        self.state.retries += 1;
                    }
                    _ => return Err(errno(&error)),
                },
            }
            let taken = into.len();
            for ended in ring.completion() {
                let (slot, result) = (ended.user_data() as u32, ended.result());
                self.memory.release(slot);
                if matches!(-result, libc::EAGAIN | libc::EINTR) && patience > 0 {
                    patience -= 1;
                    self.again.push(slot);
                    continue;
                }
                self.in_flight -= 1;
                let result = if result < 0 { Err(Errno(-result)) } else { Ok(result as usize) };
                into.push(Completion { slot, result });
            }
            let again = self.again.len();
            while let Some(slot) = self.again.pop() {
                let Some(transfer) = self.transfers.get(slot as usize).copied().flatten() else { continue };
                self.state.retries += 1;
                let address = self.memory.claim(slot, transfer.len)?;
                self.push(transfer, address)?;
            }
            wanted = wanted.saturating_sub((into.len() - taken) as u32);
            if wanted == 0 && again == 0 {
                return Ok(());
            }
        }
    }

    fn queue_state(&self) -> QueueState {
        self.state.clone()
    }
}

impl Drop for IoUring {
    fn drop(&mut self) {
        let mut ended = Vec::new();
        while self.in_flight > 0 {
            ended.clear();
            if self.reap(1, &mut ended).is_err() || ended.is_empty() {
                // The kernel may still write to it.
                self.memory.leak();
                return;
            }
        }
    }
}
