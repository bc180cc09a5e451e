//! Transfers as copies to and from a mapping of the file: the page cache itself, without a call.
//!
//! What a call would answer with an error arrives as a signal (SIGBUS): a hole that cannot be
//! filled because the disk is full, a page that cannot be read, a file that has become shorter.
//! The handler puts an empty page in the place and notes it; the transfer is then made once more by
//! a plain call, which knows the error. `fsync` of the descriptor makes durable what was copied into
//! a shared mapping: on Linux both are the same pages.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence};

use crate::os::linux::engine::Engine;
use crate::os::linux::{calls, data};
use crate::os::machine::{Call, Capabilities, Errno, Fd};

/// A mapping of a whole file.
struct Mapping {
    base: *mut u8,
    len: usize,
    writable: bool,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Mapping {}

impl Mapping {
    fn of(fd: Fd, len: usize) -> Call<Mapping> {
        let map = |access| {
            // SAFETY: a new mapping at an address of the kernel's choice.
            let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, libc::MAP_SHARED, fd, 0) };
            if base == libc::MAP_FAILED { Err(calls::last()) } else { Ok(base.cast()) }
        };
        match map(libc::PROT_READ | libc::PROT_WRITE) {
            Ok(base) => Ok(Mapping { base, len, writable: true }),
            // Open for reading only.
            Err(Errno(libc::EACCES)) => Ok(Mapping { base: map(libc::PROT_READ)?, len, writable: false }),
            Err(errno) => Err(errno),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nobody has an address in it any more.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// A copy that may meet a page that is not to be had.
struct Copying {
    /// First address in the mapping.
    from: Cell<usize>,
    /// The address after the last one; 0 while nothing is copied.
    to: Cell<usize>,
    /// Whether a page of them was not to be had.
    faulted: Cell<bool>,
}

thread_local! {
    /// What this thread copies just now.
    static COPY: Copying = const { Copying { from: Cell::new(0), to: Cell::new(0), faulted: Cell::new(false) } };
}

/// What was done about SIGBUS before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// Called by the kernel in the thread whose copy met a page that is not to be had.
extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo for a handler with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() } as usize;
    // A number above zero: the kernel's own, not sent by a program.
    // SAFETY: as above.
    let sent = unsafe { (*info).si_code } <= 0;
    let (from, to) = COPY.with(|copy| (copy.from.get(), copy.to.get()));
    if !sent && (from..to).contains(&address) {
        // SAFETY: sysconf is safe in a handler on Linux: it reads a constant.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
        let at = (address & !(page - 1)) as *mut libc::c_void;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: replaces one page inside the mapping that this thread owns and copies from or to;
        // mmap is a bare call and safe in a handler.
        if unsafe { libc::mmap(at, page, access, flags, -1, 0) } == at {
            COPY.with(|copy| copy.faulted.set(true));
            return;
        }
    }
    // Not ours: as it was before, and once more.
    // SAFETY: restores a disposition that was in force before; the faulting instruction is repeated.
    unsafe {
        match BEFORE.get() {
            Some(before) => libc::sigaction(signal, before, std::ptr::null_mut()),
            None => libc::signal(signal, libc::SIG_DFL) as libc::c_int,
        };
        // No instruction is repeated that would raise it again.
        if sent {
            libc::raise(signal);
        }
    }
}

/// Installs the handler, once in a process.
fn handle_bus_errors() {
    BEFORE.get_or_init(|| {
        // SAFETY: zeros are a valid sigaction; the handler is of the form SA_SIGINFO asks for.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            let mut before: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_bus_error as *const () as usize;
            ours.sa_flags = libc::SA_SIGINFO;
            libc::sigaction(libc::SIGBUS, &ours, &mut before);
            before
        }
    });
}

/// The engine.
pub struct Mmap {
    /// By descriptor.
    maps: Vec<Option<Mapping>>,
}

impl Mmap {
    /// Without any mapping: a file's is made by its first transfer.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Mmap {
        handle_bus_errors();
        Mmap { maps: Vec::new() }
    }

    /// The mapping of a file, of at least `end` bytes where the file has them.
    #[inline]
    fn map(&mut self, fd: Fd, end: u64) -> Call<Option<&Mapping>> {
        let known = self
            .maps
            .get(fd as usize)
            .is_some_and(|map| map.as_ref().is_some_and(|map| map.len as u64 >= end));
        if !known {
            self.map_anew(fd)?;
        }
        Ok(self.maps.get(fd as usize).and_then(Option::as_ref))
    }

    #[cold]
    fn map_anew(&mut self, fd: Fd) -> Call<()> {
        let at = usize::try_from(fd).map_err(|_| Errno(libc::EBADF))?;
        let len = usize::try_from(calls::fstat(fd)?.size).map_err(|_| Errno(libc::EFBIG))?;
        if self.maps.len() <= at {
            self.maps.resize_with(at + 1, || None);
        }
        if let Some(place) = self.maps.get_mut(at)
            && place.as_ref().is_none_or(|map| map.len != len)
        {
            *place = None;
            // A mapping has at least one byte.
            *place = if len == 0 { None } else { Some(Mapping::of(fd, len)?) };
        }
        Ok(())
    }

    /// The mapping of a file that is known to have `len` bytes at `offset`; most transfers are there.
    #[inline(always)]
    fn known(&self, fd: Fd, offset: u64, len: usize) -> Option<&Mapping> {
        let map = self.maps.get(fd as usize)?.as_ref()?;
        let last = map.len.checked_sub(len)? as u64;
        (offset <= last).then_some(map)
    }

    /// A read of what no mapping is known to have.
    #[cold]
    #[inline(never)]
    fn read_anew(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        // At the file's own position only the kernel knows where that is.
        let Some(offset) = offset else { return data::read(fd, buffer) };
        let end = offset.saturating_add(buffer.len() as u64);
        let Some(map) = self.map(fd, end)? else { return Ok(0) };
        let len = Mmap::part(map, offset, buffer.len());
        let from = map.base.wrapping_add(offset as usize);
        // SAFETY: `len` bytes from `offset` are inside the mapping, and inside the buffer.
        let whole = len == 0 || unsafe { copy(from, buffer.as_mut_ptr(), from as usize, len) };
        if whole { Ok(len) } else { self.read_once_more(fd, offset, len, buffer) }
    }

    /// A read of `len` bytes that met a page that was not to be had.
    #[cold]
    #[inline(never)]
    fn read_once_more(&mut self, fd: Fd, offset: u64, len: usize, buffer: &mut [u8]) -> Call<usize> {
        self.once_more(fd, offset + len as u64, || data::pread(fd, buffer, offset))
    }

    /// A write to what no mapping is known to have.
    #[cold]
    #[inline(never)]
    fn write_anew(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        let Some(offset) = offset else { return data::write(fd, data) };
        let end = offset.saturating_add(data.len() as u64);
        let map = self.map(fd, end)?;
        let Some(map) = map.filter(|map| map.len as u64 >= end) else {
            // Beyond its end a file grows by calls only.
            return data::pwrite(fd, data, offset);
        };
        if !map.writable {
            return Err(Errno(libc::EBADF));
        }
        let to = map.base.wrapping_add(offset as usize);
        // SAFETY: the bytes are inside the mapping, which may be written.
        match unsafe { copy(data.as_ptr(), to, to as usize, data.len()) } {
            true => Ok(data.len()),
            false => self.write_once_more(fd, offset, data),
        }
    }

    /// A write that met a page that was not to be had.
    #[cold]
    #[inline(never)]
    fn write_once_more(&mut self, fd: Fd, offset: u64, data: &[u8]) -> Call<usize> {
        self.once_more(fd, offset + data.len() as u64, || data::pwrite(fd, data, offset))
    }

    /// Bytes at `offset` that the mapping has of `len`.
    fn part(map: &Mapping, offset: u64, len: usize) -> usize {
        (map.len as u64).saturating_sub(offset).min(len as u64) as usize
    }

    /// A transfer that met a page that was not to be had, once more by a plain call, for its answer.
    /// `EIO` where the file has become shorter than it was when it was mapped.
    #[cold]
    fn once_more(&mut self, fd: Fd, end: u64, call: impl FnOnce() -> Call<usize>) -> Call<usize> {
        COPY.with(|copy| copy.faulted.set(false));
        // What the handler put in the mapping's place must go.
        if let Some(map) = self.maps.get_mut(fd as usize) {
            *map = None;
        }
        if calls::fstat(fd)?.size < end { Err(Errno(libc::EIO)) } else { call() }
    }
}

/// Copies with the handler's knowledge of where a page may be missing. False: one was.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`]; `mapped` is the start of the `len` bytes that are in a mapping
/// of this thread.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, mapped: usize, len: usize) -> bool {
    COPY.with(|copy| {
        copy.from.set(mapped);
        copy.to.set(mapped + len);
        compiler_fence(Ordering::SeqCst);
        // SAFETY: the caller vouches for both sides.
        unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
        compiler_fence(Ordering::SeqCst);
        copy.to.set(0);
        !copy.faulted.get()
    })
}

impl Engine for Mmap {
    #[inline(always)]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        let len = buffer.len();
        let Some((at, map)) = offset.and_then(|at| Some((at, self.known(fd, at, len)?))) else {
            return self.read_anew(fd, offset, buffer);
        };
        let from = map.base.wrapping_add(at as usize);
        // SAFETY: `len` bytes from there are inside the mapping, and inside the buffer.
        match unsafe { copy(from, buffer.as_mut_ptr(), from as usize, len) } {
            true => Ok(len),
            false => self.read_once_more(fd, at, len, buffer),
        }
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        let len = data.len();
        let known = offset.and_then(|at| Some((at, self.known(fd, at, len)?)));
        let Some((at, map)) = known.filter(|(_, map)| map.writable) else {
            return self.write_anew(fd, offset, data);
        };
        let to = map.base.wrapping_add(at as usize);
        // SAFETY: `len` bytes from there are inside the mapping, which may be written.
        match unsafe { copy(data.as_ptr(), to, to as usize, len) } {
            true => Ok(len),
            false => self.write_once_more(fd, at, data),
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "mmap", max_depth: 1, direct: false }
    }

    fn closing(&mut self, fd: Fd) {
        if let Some(map) = self.maps.get_mut(fd as usize) {
            *map = None;
        }
    }

    fn resized(&mut self, fd: Fd) {
        self.closing(fd);
    }
}
