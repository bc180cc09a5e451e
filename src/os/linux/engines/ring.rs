//! One ring shared with the kernel: made, mapped, filled and emptied. What a library would do for
//! each entry costs more than all the rest of a transfer, so the entries are written in place.
//!
//! Knows the kernel's layout (`linux/io_uring.h`), not slots, files or plans.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::os::linux::calls::{last, owned};
use crate::os::machine::{Call, Errno, Fd};

/// `IORING_OP_*`: with registered memory, and without.
pub const READ_FIXED: u8 = 4;
pub const WRITE_FIXED: u8 = 5;
pub const READ: u8 = 22;
pub const WRITE: u8 = 23;
/// `IOSQE_FIXED_FILE`: the entry names a registered file.
pub const FIXED_FILE: u8 = 1;

/// `IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN`: nothing
/// interrupts the one thread that uses the ring; ends are noted when it asks.
const ONE_THREAD: u32 = 1 << 8 | 1 << 12 | 1 << 13;
/// `IORING_ENTER_GETEVENTS`.
const GET_EVENTS: u32 = 1;
/// `IORING_OFF_SQ_RING`, `IORING_OFF_CQ_RING`, `IORING_OFF_SQES`.
const OF_SUBMISSIONS: i64 = 0;
const OF_COMPLETIONS: i64 = 0x800_0000;
const OF_ENTRIES: i64 = 0x1000_0000;
/// `IORING_REGISTER_BUFFERS`, `IORING_REGISTER_FILES_UPDATE`, `IORING_REGISTER_FILES2`.
const BUFFERS: u32 = 0;
const FILES_UPDATE: u32 = 6;
const FILES2: u32 = 13;
/// `IORING_RSRC_REGISTER_SPARSE`.
const SPARSE: u32 = 1;

/// `struct io_sqring_offsets`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct SubmissionOffsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    address: u64,
}

/// `struct io_cqring_offsets`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CompletionOffsets {
    head: u32,
    tail: u32,
    mask: u32,
    entries: u32,
    overflow: u32,
    ends: u32,
    flags: u32,
    reserved: u32,
    address: u64,
}

/// `struct io_uring_params`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Parameters {
    sq_entries: u32,
    cq_entries: u32,
    flags: u32,
    thread_cpu: u32,
    thread_idle: u32,
    features: u32,
    wq_fd: u32,
    reserved: [u32; 3],
    submissions: SubmissionOffsets,
    completions: CompletionOffsets,
}

/// `struct io_uring_sqe`, as reads and writes use it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Entry {
    /// `READ`, `WRITE` or one of those with registered memory.
    pub opcode: u8,
    /// 0, or `FIXED_FILE`.
    pub flags: u8,
    /// 0.
    pub priority: u16,
    /// A descriptor, or the index of a registered file.
    pub fd: i32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Where in memory.
    pub address: u64,
    /// Bytes.
    pub len: u32,
    /// 0.
    pub rw_flags: u32,
    /// Comes back with the end.
    pub user_data: u64,
    /// Zeros: registered memory is one piece, number 0, and the rest is for other operations.
    pub rest: [u64; 3],
}

/// `struct io_uring_cqe`: the end of one transfer.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct End {
    /// That of the entry.
    pub user_data: u64,
    /// Bytes moved, or the negative error number.
    pub result: i32,
    flags: u32,
}

/// `struct io_uring_rsrc_register` and `struct io_uring_files_update`.
#[repr(C)]
struct RegisterFiles {
    count: u32,
    flags: u32,
    reserved: u64,
    data: u64,
    tags: u64,
}

#[repr(C)]
struct UpdateFiles {
    first: u32,
    reserved: u32,
    descriptors: u64,
}

/// A piece of the ring's memory, unmapped with this value.
struct Mapping {
    base: *mut u8,
    bytes: usize,
}

impl Mapping {
    fn new(ring: &OwnedFd, what: i64, bytes: usize) -> Call<Mapping> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, ring.as_raw_fd(), what) };
        if base == libc::MAP_FAILED { Err(last()) } else { Ok(Mapping { base: base.cast(), bytes }) }
    }

    /// The address of what lies so many bytes from the start; `EINVAL` where `count` of it would
    /// reach beyond the end.
    fn at<T>(&self, offset: u32, count: u32) -> Call<*mut T> {
        let bytes = size_of::<T>() * count as usize;
        let fits = (offset as usize).checked_add(bytes).is_some_and(|end| end <= self.bytes);
        if fits { Ok(self.base.wrapping_add(offset as usize).cast()) } else { Err(Errno(libc::EINVAL)) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}

/// The ring. Used by one thread at a time; what its entries point to is its user's to keep.
pub struct Ring {
    fd: OwnedFd,
    // The three mappings hold what the pointers below point to.
    _submissions: Mapping,
    _completions: Mapping,
    _entries: Mapping,
    entries: *mut Entry,
    mask: u32,
    /// Entries written since the ring was made; the kernel is told when it is entered. (Counts go
    /// around at 2^32.)
    tail: u32,
    /// Entries that the kernel took.
    handed: u32,
    kernel_tail: *const AtomicU32,
    ends: *const End,
    ends_mask: u32,
    /// Ends taken.
    head: u32,
    ends_head: *const AtomicU32,
    ends_tail: *const AtomicU32,
}

// SAFETY: the mappings belong to this value and move with it. (`ONE_THREAD`: the kernel takes the
// thread that enters the ring first for its only one, and refuses others with an error.)
unsafe impl Send for Ring {}

fn setup(depth: u32, flags: u32) -> Call<(OwnedFd, Parameters)> {
    let mut parameters = Parameters { flags, ..Parameters::default() };
    // SAFETY: the kernel reads and writes the one structure.
    match unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &mut parameters) } {
        fd @ 0.. => Ok((owned(fd as Fd), parameters)),
        _ => Err(last()),
    }
}

impl Ring {
    /// A ring for so many transfers in flight, with the flags that suit one thread, or without on
    /// kernels that have none.
    ///
    /// # Errors
    /// Those of `io_uring_setup` and `mmap`.
    pub fn new(depth: u32) -> Call<Ring> {
        let (fd, parameters) = match setup(depth, ONE_THREAD) {
            Err(Errno(libc::EINVAL)) => setup(depth, 0)?,
            other => other?,
        };
        let Parameters { sq_entries, cq_entries, submissions, completions, .. } = parameters;
        let array_end = submissions.array as usize + sq_entries as usize * size_of::<u32>();
        let ends_end = completions.ends as usize + cq_entries as usize * size_of::<End>();
        let to_kernel = Mapping::new(&fd, OF_SUBMISSIONS, array_end)?;
        let from_kernel = Mapping::new(&fd, OF_COMPLETIONS, ends_end)?;
        let entries = Mapping::new(&fd, OF_ENTRIES, sq_entries as usize * size_of::<Entry>())?;
        let array = to_kernel.at::<u32>(submissions.array, sq_entries)?;
        for place in 0..sq_entries {
            // SAFETY: `at` has seen that so many fit. Every place of the ring names the entry of the
            // same number, for good.
            unsafe { array.add(place as usize).write(place) };
        }
        let ring = Ring {
            entries: entries.at(0, sq_entries)?,
            mask: sq_entries - 1,
            tail: 0,
            handed: 0,
            kernel_tail: to_kernel.at(submissions.tail, 1)?,
            ends: from_kernel.at(completions.ends, cq_entries)?,
            ends_mask: cq_entries - 1,
            head: 0,
            ends_head: from_kernel.at(completions.head, 1)?,
            ends_tail: from_kernel.at(completions.tail, 1)?,
            fd,
            _submissions: to_kernel,
            _completions: from_kernel,
            _entries: entries,
        };
        Ok(ring)
    }

    /// How many more entries fit before the kernel is entered.
    #[inline]
    pub fn room(&self) -> u32 {
        self.handed.wrapping_add(self.mask).wrapping_add(1).wrapping_sub(self.tail)
    }

    /// Whether entries wait to be handed over.
    #[inline]
    pub fn has_waiting(&self) -> bool {
        self.tail != self.handed
    }

    /// Entries whose ends have not been taken.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    /// Writes an entry.
    ///
    /// # Safety
    /// The ring has room, and the memory that the entry names is the kernel's alone until the
    /// entry's end has been taken.
    #[inline]
    pub unsafe fn push(&mut self, entry: Entry) {
        // SAFETY: the mask keeps the index below the number of entries, and the kernel is done with
        // this one: it reads entries only while it is entered.
        unsafe {
            let place = &mut *self.entries.add((self.tail & self.mask) as usize);
            // The rest of an entry is zero and stays so.
            place.opcode = entry.opcode;
            place.flags = entry.flags;
            place.fd = entry.fd;
            place.offset = entry.offset;
            place.address = entry.address;
            place.len = entry.len;
            place.user_data = entry.user_data;
        }
        self.tail = self.tail.wrapping_add(1);
    }

    /// Hands over what was written, and waits until so many ends are there to be taken. Returns how
    /// many entries the kernel took.
    ///
    /// # Errors
    /// Those of `io_uring_enter`; no entry is lost.
    #[inline]
    pub fn enter(&mut self, wanted: u32) -> Call<u32> {
        // SAFETY: the mapping lives as long as `self`, and nobody else writes to it but the kernel,
        // to which it is atomic.
        unsafe { (*self.kernel_tail).store(self.tail, Ordering::Release) };
        let (no_signals, none) = (std::ptr::null::<u8>(), 0_usize);
        // SAFETY: reads entries, whose memory `push` has made its own, and no other memory.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.fd.as_raw_fd(),
                self.tail.wrapping_sub(self.handed),
                wanted,
                if wanted > 0 { GET_EVENTS } else { 0 },
                no_signals,
                none,
            )
        };
        if taken < 0 {
            return Err(last());
        }
        self.handed = self.handed.wrapping_add(taken as u32);
        Ok(taken as u32)
    }

    /// How many ends are there and not taken yet.
    #[inline]
    pub fn ended(&self) -> u32 {
        // SAFETY: as in `enter`.
        unsafe { (*self.ends_tail).load(Ordering::Acquire) }.wrapping_sub(self.head)
    }

    /// One of them, counted from 0; only those that [`Ring::ended`] has counted mean anything.
    #[inline]
    pub fn end(&self, at: u32) -> End {
        let place = self.head.wrapping_add(at) & self.ends_mask;
        // SAFETY: the mask keeps the index below the number of ends, and every value is valid.
        unsafe { self.ends.add(place as usize).read() }
    }

    /// So many have been taken: their places are the kernel's again.
    #[inline]
    pub fn taken(&mut self, count: u32) {
        self.head = self.head.wrapping_add(count);
        // SAFETY: as in `enter`.
        unsafe { (*self.ends_head).store(self.head, Ordering::Release) };
    }

    fn register<T>(&self, what: u32, argument: &T, count: u32) -> Call<()> {
        // SAFETY: the kernel reads `count` structures of the kind that `what` takes; the callers
        // below give it those.
        let done = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.fd.as_raw_fd(),
                what,
                std::ptr::from_ref(argument),
                count,
            )
        };
        if done < 0 { Err(last()) } else { Ok(()) }
    }

    /// Registers one piece of memory, as number 0. It must stay until the ring is gone, or until
    /// nothing is in flight any more.
    ///
    /// # Errors
    /// `ENOMEM` or `EPERM` where it is more than may be locked; `EFAULT` or `EINVAL` above 1 GiB.
    pub fn register_memory(&self, base: *mut u8, bytes: usize) -> Call<()> {
        self.register(BUFFERS, &libc::iovec { iov_base: base.cast(), iov_len: bytes }, 1)
    }

    /// Makes room for so many registered files.
    ///
    /// # Errors
    /// `EINVAL` before Linux 5.19; `EMFILE` above the limit of open files.
    pub fn register_no_files(&self, count: u32) -> Call<()> {
        let files = RegisterFiles { count, flags: SPARSE, reserved: 0, data: 0, tags: 0 };
        self.register(FILES2, &files, size_of::<RegisterFiles>() as u32)
    }

    /// Puts a descriptor into a place among the registered files, or takes out what is there (-1).
    ///
    /// # Errors
    /// `EBADF` where it is not open.
    pub fn register_file(&self, index: u32, fd: Fd) -> Call<()> {
        let descriptors = std::ptr::from_ref(&fd) as u64;
        self.register(FILES_UPDATE, &UpdateFiles { first: index, reserved: 0, descriptors }, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_sizes_that_the_kernel_knows() {
        assert_eq!(size_of::<Entry>(), 64);
        assert_eq!(size_of::<End>(), 16);
        assert_eq!(size_of::<Parameters>(), 120);
        assert_eq!(size_of::<RegisterFiles>(), 32);
        assert_eq!(size_of::<UpdateFiles>(), 16);
        assert_eq!(std::mem::offset_of!(Entry, user_data), 32);
    }

    #[test]
    fn entries_go_around_the_ring_many_times() {
        let mut ring = Ring::new(4).unwrap();
        let file = tempfile::tempfile().unwrap();
        let data = b"ring";
        for round in 0..50_u64 {
            let count = 1 + round % 4;
            for n in 0..count {
                let entry = Entry {
                    opcode: WRITE,
                    fd: file.as_raw_fd(),
                    offset: round * 4,
                    address: data.as_ptr() as u64,
                    len: 4,
                    user_data: round * 10 + n,
                    ..Entry::default()
                };
                assert!(ring.room() > 0);
                // SAFETY: there is room, and the data is constant.
                unsafe { ring.push(entry) };
            }
            assert_eq!(u64::from(ring.room()), 4 - count);
            assert_eq!(ring.enter(count as u32), Ok(count as u32));
            assert_eq!(ring.room(), 4);
            assert_eq!(u64::from(ring.ended()), count);
            assert!((0..ring.ended()).all(|at| ring.end(at).result == 4));
            let mut seen: Vec<u64> = (0..ring.ended()).map(|at| ring.end(at).user_data).collect();
            ring.taken(ring.ended());
            seen.sort_unstable();
            assert_eq!(seen, (0..count).map(|n| round * 10 + n).collect::<Vec<_>>());
            assert_eq!(ring.in_flight(), 0);
        }
        assert_eq!(file.metadata().unwrap().len(), 200);
    }

    #[test]
    fn a_ring_is_full_until_it_is_handed_over() {
        let mut ring = Ring::new(2).unwrap();
        let entry = Entry { opcode: READ, fd: -1, ..Entry::default() };
        for _ in 0..2 {
            assert!(ring.room() > 0);
            // SAFETY: there is room; a bad descriptor is refused before any memory is touched.
            unsafe { ring.push(entry) };
        }
        assert_eq!(ring.room(), 0);
        ring.enter(0).unwrap();
        assert_eq!(ring.room(), 2);
        assert_eq!(ring.in_flight(), 2);
    }
}
