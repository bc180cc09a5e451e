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
    files: Files,
    state: QueueState,
}

/// Which files are registered.
struct Files {
    /// Index among the registered files, by descriptor.
    known: Vec<i32>,
    /// Indices not in use; none where no file can be registered.
    free: Vec<u32>,
}

impl Files {
    /// How an entry names the file: by its index where it is registered, which is done now where it
    /// can be and is worth it.
    #[inline(always)]
    fn name(&mut self, fd: Fd, ring: &Ring) -> (u8, i32) {
        match self.known.get(fd as usize) {
            Some(index) if *index >= 0 => (FIXED_FILE, *index),
            _ => self.count(fd, ring).map_or((0, fd), |index| (FIXED_FILE, index as i32)),
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&mut self, fd: Fd, ring: &Ring) -> Option<u32> {
        let at = usize::try_from(fd).ok()?;
        if self.known.len() <= at {
            self.known.resize(at + 1, UNKNOWN);
        }
        let known = self.known.get_mut(at)?;
        if *known < -1 {
            *known += 1;
            return None;
        }
        *known = UNKNOWN;
        let index = self.free.pop()?;
        if ring.register_file(index, fd).is_err() {
            self.free.push(index);
            return None;
        }
        *known = index as i32;
        Some(index)
    }

    /// The descriptor is about to be closed.
    fn closing(&mut self, fd: Fd, ring: Option<&Ring>) {
        let Some(known) = self.known.get_mut(fd as usize) else { return };
        let Ok(index) = u32::try_from(std::mem::replace(known, UNKNOWN)) else { return };
        if let Some(ring) = ring {
            let _ = ring.register_file(index, -1);
        }
        self.free.push(index);
    }
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
            files: Files { known: Vec::new(), free: Vec::new() },
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
                self.files.free = (0..FILES).rev().collect();
            }
            Err(errno) => self.state.notes.push(format!("files are not registered ({errno})")),
        }
    }

    /// More in the batch than the ring has entries: hands over what there is first.
    #[cold]
    #[inline(never)]
    fn lay_in_rest(&mut self, batch: &[Transfer], mut done: usize) -> Call<()> {
        while done < batch.len() {
            self.enter(0)?;
            let IoUring { ring: Some(ring), memory, files, opcodes, .. } = self else { break };
            match lay_in(batch.get(done..).unwrap_or_default(), ring, memory, files, *opcodes)? {
                0 => return Err(Errno(libc::EBUSY)),
                more => done += more,
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.ring.as_ref().map_or(0, Ring::in_flight)
    }

    /// Hands over what was laid in and waits for so many ends.
    #[inline]
    fn enter(&mut self, wanted: u32) -> Call<()> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        match ring.enter(wanted) {
            Ok(taken) => {
                self.state.submissions += u64::from(taken > 0);
                Ok(())
            }
            Err(errno) => self.enter_again(wanted, errno),
        }
    }

    #[cold]
    #[inline(never)]
    fn enter_again(&mut self, wanted: u32, mut errno: Errno) -> Call<()> {
        let Some(ring) = &mut self.ring else { return Ok(()) };
        for _ in 0..PATIENCE {
            if !matches!(errno, Errno(libc::EINTR | libc::EAGAIN | libc::EBUSY)) {
                break;
            }
            self.state.retries += 1;
            match ring.enter(wanted) {
                Ok(taken) => {
                    self.state.submissions += u64::from(taken > 0);
                    return Ok(());
                }
                Err(another) => errno = another,
            }
        }
        Err(errno)
    }
}

/// Takes what has ended; returns how many.
#[inline]
fn take_ends(ring: &mut Ring, memory: &mut Slots, into: &mut Vec<Completion>) -> u32 {
    let count = ring.ended();
    into.extend((0..count).map(|at| {
        let end = ring.end(at);
        let slot = end.user_data as u32;
        memory.release(slot);
        Completion { slot, result: end.result }
    }));
    ring.taken(count);
    count
}

/// Lays the transfers into the ring, as many as it has room for; returns how many.
#[inline]
fn lay_in(
    batch: &[Transfer],
    ring: &mut Ring,
    memory: &mut Slots,
    files: &mut Files,
    opcodes: (u8, u8),
) -> Call<usize> {
    let count = batch.len().min(ring.room() as usize);
    for transfer in batch.iter().take(count) {
        lay_in_one(transfer, ring, memory, files, opcodes)?;
    }
    Ok(count)
}

/// Lays one transfer into the ring, which has room.
#[inline(always)]
fn lay_in_one(
    transfer: &Transfer,
    ring: &mut Ring,
    memory: &mut Slots,
    files: &mut Files,
    (read, write): (u8, u8),
) -> Call<()> {
    let (flags, fd) = files.name(transfer.fd, ring);
    let address = memory.claim(transfer.slot, transfer.len)? as u64;
    let entry = Entry {
        opcode: if transfer.write { write } else { read },
        flags,
        fd,
        offset: transfer.offset,
        address,
        len: transfer.len,
        user_data: u64::from(transfer.slot),
        ..Entry::default()
    };
    // SAFETY: there is room, and the memory is a slot that is in flight from now on and stays until
    // its end has been taken.
    unsafe { ring.push(entry) };
    Ok(())
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
        self.files.closing(fd, self.ring.as_ref());
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

    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        let IoUring { ring: Some(ring), memory, files, opcodes, .. } = self else {
            return if batch.is_empty() { Ok(()) } else { Err(Errno(libc::EOPNOTSUPP)) };
        };
        let done = lay_in(batch, ring, memory, files, *opcodes)?;
        if done < batch.len() {
            self.lay_in_rest(batch, done)?;
        }
        if at_least == 0 {
            let waiting = self.ring.as_ref().is_some_and(Ring::has_waiting);
            return if waiting { self.enter(0) } else { Ok(()) };
        }
        let mut wanted = at_least.min(self.in_flight());
        loop {
            // What is there already takes no call.
            if self.ended() < wanted || self.ring.as_ref().is_some_and(Ring::has_waiting) {
                self.enter(wanted)?;
            }
            let IoUring { ring: Some(ring), memory, .. } = self else { return Ok(()) };
            let ended = take_ends(ring, memory, into);
            wanted = wanted.saturating_sub(ended);
            if wanted == 0 {
                return Ok(());
            }
        }
    }

    #[inline]
    fn ended(&self) -> u32 {
        self.ring.as_ref().map_or(0, Ring::ended)
    }

    #[inline]
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        let IoUring { ring: Some(ring), memory, files, opcodes, .. } = self else {
            return Err(Errno(libc::EOPNOTSUPP));
        };
        if ring.in_flight() > 0 {
            return Err(Errno(libc::EBUSY));
        }
        lay_in_one(&transfer, ring, memory, files, *opcodes)?;
        loop {
            self.enter(1)?;
            let Some(ring) = &mut self.ring else { return Err(Errno(libc::EOPNOTSUPP)) };
            if ring.ended() > 0 {
                let end = ring.end(0);
                ring.taken(1);
                self.memory.release(transfer.slot);
                return Completion { slot: transfer.slot, result: end.result }.result();
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
            if self.exchange(&[], 1, &mut ended).is_err() || ended.is_empty() {
                // The kernel may still write to it.
                self.memory.leak();
                return;
            }
        }
    }
}
