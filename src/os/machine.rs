//! The trait [`Os`]: all that the interpreter asks of a machine.
//!
//! `linux` answers with system calls, `sim` with a file system in memory and a virtual clock.
//! Nothing here knows plans, profiles or how results are shown.

use crate::os::sql_error::SqlCall;
use std::ffi::CStr;
use std::fmt;

/// A time or a span in nanoseconds. Times count from an arbitrary start that is the same for
/// every worker of a run.
pub type Nanos = u64;

/// An open file or directory. On Linux a descriptor, in the simulation an index.
pub type Fd = i32;

/// An error number of the operating system (`errno`).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(pub i32);

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match crate::os::errno::name(*self) {
            Some(name) => write!(f, "{name} ({})", crate::os::errno::text(*self)),
            None => write!(f, "errno {} ({})", self.0, crate::os::errno::text(*self)),
        }
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What one call gives: a value or the error number.
pub type Call<T> = Result<T, Errno>;

/// What a write holds, said without its bytes, so that the simulation can remember it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Recipe {
    /// Zero bytes.
    #[default]
    Zero,
    /// One repeated byte.
    Byte(u8),
    /// Printable text from the start of the worker's text buffer.
    Text,
    /// Incompressible data, fresh in every 512-byte sector.
    Random,
    /// Data of which a share (percent) can be removed by compression and a share repeats.
    Mixed { compressible: u8, duplicate: u8 },
    /// What the last read brought.
    Read,
}

/// What the machine knows of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Size in bytes.
    pub size: u64,
    /// Preferred block size of its file system in bytes (`st_blksize`).
    pub block: u32,
    /// Bytes the file system has allocated.
    pub allocated: u64,
    /// Whether it is a directory.
    pub directory: bool,
    /// Whether it is a symbolic link.
    pub symlink: bool,
}

/// What the machine knows of the file system of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FsStat {
    /// Bytes of one block.
    pub block: u64,
    /// Blocks the file system has, in use or not.
    pub blocks: u64,
    /// Bytes an ordinary user may still write.
    pub available: u64,
    /// Inodes it can hold; 0 where it sets no number.
    pub files: u64,
    /// Inodes not in use.
    pub files_free: u64,
    /// The file system's magic number (`statfs.f_type`).
    pub magic: i64,
}

/// What an entry of a directory stands for, as far as the directory itself knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// Anything else, or the file system does not say.
    Unknown,
}

/// Where a seek counts from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whence {
    /// From the start of the file.
    Start,
    /// From the file's position.
    Current,
    /// From the end of the file.
    End,
}

/// A record lock of `fcntl`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lock {
    /// Exclusive (`F_WRLCK`).
    Write,
    /// Shared (`F_RDLCK`).
    Read,
    /// Given back (`F_UNLCK`).
    Unlock,
}

/// `posix_fadvise` in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advice {
    /// No special pattern.
    Normal,
    /// From front to back: more is read ahead.
    Sequential,
    /// In no order: nothing is read ahead.
    Random,
    /// Needed soon: is read into the cache.
    WillNeed,
    /// Not needed again: may leave the cache.
    DontNeed,
    /// Used once.
    NoReuse,
}

/// `fallocate` in words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// Gives the range space; the file grows with it.
    Allocate,
    /// Gives the range space beyond the end too; the size stays.
    KeepSize,
    /// Takes the range's space away; the size stays.
    Punch,
    /// Makes the range read as zeros.
    Zero,
}

/// One transfer in a queue. Its memory is a slot of the queue's own, so that nobody else holds it
/// while it is in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The file to transfer from or to.
    pub fd: Fd,
    /// Byte offset.
    pub offset: u64,
    /// Bytes wanted; at most those of a slot.
    pub len: u32,
    /// Which slot's memory is read into or written from; comes back with the completion.
    pub slot: u32,
    /// Writes instead of reading.
    pub write: bool,
    /// What a write holds.
    pub data: Recipe,
}

/// Asked now and then by a call that may take long: whether it has to give up.
pub type Stopping = std::sync::Arc<dyn Fn() -> bool + Send + Sync>;

/// The end of one queued transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// That of the transfer ([`Transfer::slot`]).
    pub slot: u32,
    /// Bytes moved, or the negative error number, as kernels say it.
    pub result: i32,
}

impl Completion {
    /// One that ended like this.
    pub fn new(slot: u32, result: Call<usize>) -> Completion {
        let result = result.map_or_else(|errno| -errno.0, |moved| i32::try_from(moved).unwrap_or(i32::MAX));
        Completion { slot, result }
    }

    /// Bytes moved, or the error.
    #[inline]
    pub fn result(self) -> Call<usize> {
        usize::try_from(self.result).map_err(|_| Errno(-self.result))
    }
}

/// What became of a queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QueueState {
    /// Whether files are registered with the kernel.
    pub registered_files: bool,
    /// Whether the slots' memory is registered with the kernel.
    pub registered_buffers: bool,
    /// Calls repeated because of `EAGAIN`, `EBUSY` or `EINTR`. Transfers that end with one of them
    /// are the interpreter's to repeat.
    pub retries: u64,
    /// Calls that handed transfers to the kernel.
    pub submissions: u64,
    /// What could not be had, in words.
    pub notes: Vec<String>,
}

/// One engine that can be asked for, and what it can do whatever the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineFacts {
    /// As profiles and records say it.
    pub name: &'static str,
    /// Most transfers in flight for each worker; 1 for an engine without a queue.
    pub max_depth: u32,
    /// Whether its files may be opened with direct I/O.
    pub direct: bool,
    /// Whether it reads and writes files at offsets.
    pub transfers: bool,
}

/// Every engine, the plain one first.
///
/// The depths: `io_setup` takes as many as `fs.aio-max-nr` leaves (65536 by default), a ring at
/// most 32768 entries (`IORING_MAX_ENTRIES`).
pub const ENGINES: &[EngineFacts] = &[
    EngineFacts { name: "sync", max_depth: 1, direct: true, transfers: true },
    EngineFacts { name: "libaio", max_depth: 65536, direct: true, transfers: true },
    EngineFacts { name: "io_uring", max_depth: 32768, direct: true, transfers: true },
    EngineFacts { name: "mmap", max_depth: 1, direct: false, transfers: true },
    EngineFacts { name: "sqlite", max_depth: 1, direct: false, transfers: true },
    EngineFacts { name: "nop", max_depth: 1, direct: true, transfers: true },
];

/// What is known of the engine of that name.
pub fn engine_facts(name: &str) -> Option<&'static EngineFacts> {
    ENGINES.iter().find(|engine| engine.name == name)
}

/// Number of the engine that is always there, one plain call a transfer, beside those of the plan:
/// files are laid out with it ([`Os::use_engine`]).
pub const PLAIN: u8 = u8::MAX;

/// What an engine can do; the planner reads it, the interpreter does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capabilities {
    /// The engine's name, as profiles and records say it.
    pub name: &'static str,
    /// Largest number of transfers in flight; 1 for an engine without a queue.
    pub max_depth: u32,
    /// Whether files may be opened with direct I/O.
    pub direct: bool,
}

/// The machine as one worker sees it. Every worker owns one value of it.
///
/// Paths are relative to an open directory. Implementations must never leave that directory:
/// no absolute path, no `..`, no symbolic link on the way is followed, by whatever the platform
/// offers (`openat2`, or a walk with `O_NOFOLLOW`). Flags are those of `open(2)` (`libc::O_*`).
pub trait Os: Send + 'static {
    /// Whether the bytes of a write matter. Where they do not, buffers are left unfilled.
    const BYTES: bool;

    // --- time -----------------------------------------------------------------------------
    /// Nanoseconds since the run's arbitrary start.
    fn now(&mut self) -> Nanos;
    /// Sleeps until `time`; returns at once when it has passed.
    fn sleep_until(&mut self, time: Nanos);

    // --- the run directory ----------------------------------------------------------------
    /// The directory everything happens in.
    fn root(&self) -> Fd;
    /// Called once by the thread that will use this value, before its first operation (on Linux:
    /// a descriptor table of its own). False where the platform refused.
    fn enter_worker(&mut self) -> bool;

    // --- files ----------------------------------------------------------------------------
    /// Opens the name as `openat(2)` does; `mode` holds the permission bits of a created file.
    fn open(&mut self, dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd>;
    /// Takes direct I/O from an open file: further transfers go through the page cache. False where
    /// it was not open for direct I/O.
    fn make_buffered(&mut self, fd: Fd) -> Call<bool>;
    /// Closes the descriptor. The number may be given out again at once.
    fn close(&mut self, fd: Fd) -> Call<()>;
    /// Reads as much as fits into `buffer` at `offset`, or at the file's own position, which
    /// moves. Over when it returns.
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize>;
    /// Writes `data` at `offset`, or at the file's own position, which moves. Over when it returns.
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8], recipe: Recipe) -> Call<usize>;
    /// Gives the engine a queue: at most `depth` transfers in flight, and so many slots of `len`
    /// bytes of page-aligned memory each. By the worker's own thread, before its first transfer.
    /// `EOPNOTSUPP` for an engine without a queue.
    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()>;
    /// The memory of a slot that is not in flight; empty where the machine moves no bytes, or has
    /// no such slot.
    fn slot(&mut self, slot: u32) -> &mut [u8];
    /// Hands these transfers over, waits until at least `at_least` of those in flight have ended,
    /// and takes all that have; with 0 it only hands over. Never more in flight than the queue's depth, and no slot twice
    /// (`EBUSY`, `EINVAL`). An engine without a queue never has any.
    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()>;
    /// How many of those in flight have ended and were not taken, as far as can be told without a
    /// call.
    fn ended(&mut self) -> u32;
    /// One transfer from its beginning to its end, with nothing else in flight: what
    /// [`Os::exchange`] does for a queue of depth 1, in less.
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize>;
    /// What became of the queue so far.
    fn queue_state(&self) -> QueueState;
    /// The engine that further transfers go through, where the machine has several; [`PLAIN`] is
    /// among them.
    fn use_engine(&mut self, engine: u8);
    /// What the engine in use can do.
    fn capabilities(&self) -> Capabilities;
    /// Moves the file's own position; returns its new place in bytes from the start.
    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Call<u64>;
    /// Sets the file's size in bytes.
    fn truncate(&mut self, fd: Fd, size: u64) -> Call<()>;
    /// Changes the space of `len` bytes from `offset` (`fallocate`).
    fn allocate(&mut self, fd: Fd, how: Space, offset: u64, len: u64) -> Call<()>;
    /// Says how `len` bytes from `offset` will be used; 0 is up to the end.
    fn advise(&mut self, fd: Fd, offset: u64, len: u64, advice: Advice) -> Call<()>;
    /// Copies inside the kernel; returns bytes copied, 0 at the end of the source.
    fn copy_range(&mut self, from: Fd, at: u64, to: Fd, to_at: u64, len: usize) -> Call<usize>;
    /// What is known of an open file.
    fn fstat(&mut self, fd: Fd) -> Call<Stat>;

    // --- durability -----------------------------------------------------------------------
    /// Makes the file's data and metadata durable.
    fn fsync(&mut self, fd: Fd) -> Call<()>;
    /// Makes the file's data durable, and as much metadata as reading it back needs.
    fn fdatasync(&mut self, fd: Fd) -> Call<()>;
    /// Writes back `len` bytes from `offset` and waits; promises nothing about metadata or device caches.
    fn sync_range(&mut self, fd: Fd, offset: u64, len: u64) -> Call<()>;
    /// Makes all of the file system that holds `fd` durable.
    fn syncfs(&mut self, fd: Fd) -> Call<()>;
    /// Makes all file systems durable.
    fn sync(&mut self) -> Call<()>;
    /// Drops the clean page cache of the whole machine (root only).
    fn drop_caches(&mut self) -> Call<()>;

    // --- names ----------------------------------------------------------------------------
    /// Removes a name of a file or of a symbolic link.
    fn unlink(&mut self, dir: Fd, path: &CStr) -> Call<()>;
    /// Removes an empty directory; `ENOTEMPTY` where it is not.
    fn rmdir(&mut self, dir: Fd, path: &CStr) -> Call<()>;
    /// Makes a directory with these permission bits; `EEXIST` where the name is taken.
    fn mkdir(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()>;
    /// Moves a name; what had the new one is replaced.
    fn rename(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()>;
    /// Gives a file a second name; `EEXIST` where that is taken.
    fn link(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()>;
    /// Makes a symbolic link that holds `target`; `EEXIST` where the name is taken.
    fn symlink(&mut self, target: &CStr, dir: Fd, path: &CStr) -> Call<()>;
    /// Length of the link's text.
    fn readlink(&mut self, dir: Fd, path: &CStr) -> Call<usize>;
    /// What is known of the name itself: a symbolic link is not followed.
    fn stat(&mut self, dir: Fd, path: &CStr) -> Call<Stat>;
    /// What is known of the file system that holds `fd`.
    fn statfs(&mut self, fd: Fd) -> Call<FsStat>;
    /// Sets permission bits; `EOPNOTSUPP` for a symbolic link.
    fn chmod(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()>;
    /// Sets access and modification time to now.
    fn utimes(&mut self, dir: Fd, path: &CStr) -> Call<()>;
    /// Sets an extended attribute, new or not.
    fn set_xattr(&mut self, fd: Fd, name: &CStr, value: &[u8]) -> Call<()>;
    /// Reads an extended attribute into `room` bytes and gives its length in bytes; `ENODATA` where
    /// there is none, `ERANGE` where it is longer.
    fn get_xattr(&mut self, fd: Fd, name: &CStr, room: usize) -> Call<usize>;
    /// The same of a name: a symbolic link is not followed.
    fn get_xattr_at(&mut self, dir: Fd, path: &CStr, name: &CStr, room: usize) -> Call<usize>;
    /// Waits for the lock (`F_SETLKW`).
    fn lock(&mut self, fd: Fd, kind: Lock, offset: u64, len: u64) -> Call<()>;
    /// Bytes of entries read from an open directory; 0 at its end.
    fn getdents(&mut self, fd: Fd) -> Call<usize> {
        self.read_directory(fd, &mut |_, _| {})
    }
    /// [`Os::getdents`] that shows each entry it read, in the order of the file system, with
    /// itself and the one above (`.` and `..`) among them.
    fn read_directory(&mut self, fd: Fd, seen: &mut dyn FnMut(&CStr, Kind)) -> Call<usize>;

    // --- databases ------------------------------------------------------------------------
    /// Opens the database `path`, made where it is not there, with these settings in this order.
    /// What it returns is only for the other two. Statements give up where `stopping` says so.
    fn db_open(
        &mut self,
        dir: Fd,
        path: &CStr,
        pragmas: &[(String, String)],
        stopping: Stopping,
    ) -> SqlCall<Fd>;
    /// Performs one statement to its end, or until `deadline`: one that takes longer, or is to stop,
    /// is undone and ends with the code [`INTERRUPT`](crate::os::sql_error::INTERRUPT).
    fn db_exec(&mut self, db: Fd, statement: &str, deadline: Nanos) -> SqlCall<()>;
    /// Ends a connection.
    fn db_close(&mut self, db: Fd) -> SqlCall<()>;

    // --- seen from outside ----------------------------------------------------------------
    /// A call that does nothing but show `text` to a tracer such as strace.
    fn mark(&mut self, text: &CStr);
}
