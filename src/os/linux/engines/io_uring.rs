//! io_uring: transfers are laid into a ring shared with the kernel, and one call hands over all of
//! them and waits for some to end. Files and memory are registered where the kernel allows it.

use super::ring::{self, Entry, FIXED_FILE, Ring};
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
    // Dropped before the memory: nothing is in flight in a ring that is gone.
    ring: Option<Ring>,
    memory: Slots,
    /// The operations for reads and for writes.
    opcodes: (u8, u8),
    /// Index among the registered files, by descriptor.
    files: Vec<i32>,
    /// Indices not in use.
    free_files: Vec<u32>,
    state: QueueState,
}

/// Whether the kernel gives a ring of that depth.
pub fn probe(depth: u32) -> Call<()> {
    Ring::new(depth.max(1)).map(|_| ())
}

impl IoUring {
    /// Without a queue: transfers go one call each.
    #[allow(clippy::new_without_default)]
    pub fn new() -> IoUring {
        IoUring {
            ring: None,
            memory: Slots::none(),
            opcodes: (ring::READ, ring::WRITE),
            files: Vec::new(),
            free_files: Vec::new(),
            state: QueueState::default(),
        }
    }

    /// Registers what may be registered; what may not is noted.
    fn register(&mut self) {
        let Some(ring) = &self.ring else { return };
        let (base, bytes) = self.memory.region();
        match ring.register_memory(base, bytes) {
            Ok(()) => {
                self.state.registered_buffers = true;
                self.opcodes = (ring::READ_FIXED, ring::WRITE_FIXED);
            }
            Err(errno) => {
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
        match ring.register_no_files(FILES) {
            Ok(()) => {
                self.state.registered_files = true;
                self.free_files = (0..FILES).rev().collect();
            }
            Err(errno) => self.state.notes.push(format!("files are not registered ({errno})")),
        }
    }

    /// How an entry names the file: by its index where it is registered, which is done now where it
    /// can be and is worth it.
    #[inline]
    fn name(&mut self, fd: Fd) -> (u8, i32) {
        match self.files.get(fd as usize) {
            Some(index) if *index >= 0 => (FIXED_FILE, *index),
            _ => self.count_file(fd).map_or((0, fd), |index| (FIXED_FILE, index as i32)),
        }
    }

    #[cold]
    #[inline(never)]
    fn count_file(&mut self, fd: Fd) -> Option<u32> {
        let at = usize::try_from(fd).ok().filter(|_| self.state.registered_files)?;
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
        if self.ring.as_ref()?.register_file(index, fd).is_err() {
            self.free_files.push(index);
            return None;
        }
        *known = index as i32;
        Some(index)
    }

    /// More in the batch than the ring has entries: hands over what there is first.
    #[cold]
    #[inline(never)]
    fn queue_later(&mut self, transfer: Transfer) -> Call<()> {
        if self.ring.is_none() {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        self.enter(0)?;
        if self.ring.as_ref().is_some_and(Ring::is_full) {
            return Err(Errno(libc::EBUSY));
        }
        self.queue(transfer)
    }

    fn in_flight(&self) -> u32 {
        self.ring.as_ref().map_or(0, Ring::in_flight)
    }

    /// Hands the batch over and waits for so many ends.
    fn enter(&mut self, wanted: u32) -> Call<()> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        for _ in 0..PATIENCE {
            match ring.enter(wanted) {
                Ok(taken) => {
                    self.state.submissions += u64::from(taken > 0);
                    return Ok(());
                }
                Err(Errno(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => self.state.retries += 1,
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno(libc::EAGAIN))
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
            let _ = ring.register_file(index, -1);
        }
        self.free_files.push(index);
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        self.memory = Slots::new(slots, len)?;
        self.ring = Some(Ring::new(depth.max(1))?);
        self.register();
        Ok(())
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.memory.get(slot)
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) -> Call<()> {
        let Transfer { fd, offset, len, slot, write } = transfer;
        let (flags, fd) = self.name(fd);
        let ring = match &mut self.ring {
            Some(ring) if !ring.is_full() => ring,
            _ => return self.queue_later(transfer),
        };
        let address = self.memory.claim(slot, len)? as u64;
        let opcode = if write { self.opcodes.1 } else { self.opcodes.0 };
        let user_data = u64::from(slot);
        let entry = Entry { opcode, flags, fd, offset, address, len, user_data, ..Entry::default() };
        // SAFETY: there is room, and the memory is a slot that is in flight from now on and stays
        // until it is reaped.
        unsafe { ring.push(entry) };
        Ok(())
    }

    fn reap(&mut self, at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        let mut wanted = at_least.min(self.in_flight());
        loop {
            self.enter(wanted)?;
            let Some(ring) = &mut self.ring else { return Ok(()) };
            let (first, second) = ring.ends();
            let memory = &mut self.memory;
            for part in [first, second] {
                into.extend(part.iter().map(|end| {
                    let slot = end.user_data as u32;
                    memory.release(slot);
                    Completion { slot, result: end.result }
                }));
            }
            let ended = (first.len() + second.len()) as u32;
            ring.taken(ended);
            wanted = wanted.saturating_sub(ended);
            if wanted == 0 {
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
        while self.in_flight() > 0 {
            ended.clear();
            if self.reap(1, &mut ended).is_err() || ended.is_empty() {
                // The kernel may still write to it.
                self.memory.leak();
                return;
            }
        }
    }
}
