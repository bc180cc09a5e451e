//! The trait [`Os`] on Linux: one value a worker, cheap to make from what all workers share.
//!
//! Every method is one system call (several only where a path of several components must be
//! resolved first); nothing here counts, measures or retries on its own account.

use super::calls;
use super::clock::Clock;
use super::engine::{Engine, Sync};
use super::resolve::Resolver;
use super::sqlite::{Connection, Connections};
use crate::os::machine::{
    Advice, Call, Capabilities, Completion, Errno, Fd, FsStat, Kind, Lock, Nanos, Os, QueueState, Recipe,
    Space, Stat, Stopping, Transfer, Whence,
};
use crate::os::sql_error::{CANTOPEN, SqlCall, SqlError};
use std::ffi::CStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

/// Bytes a directory is read in, as the C library does.
const DIRECTORY_BUFFER: usize = 32 * 1024;
/// Largest value of an extended attribute (`XATTR_SIZE_MAX`), the largest answer of any call here.
const SCRATCH: usize = 64 * 1024;

/// What the workers of a run share.
pub struct Context {
    root: OwnedFd,
    clock: Arc<Clock>,
    resolver: Resolver,
    /// Whether the kernel has `fchmodat2`.
    chmod_by_name: bool,
}

impl Context {
    /// `root` is the directory everything happens in. Finds out which calls the kernel has.
    pub fn new(root: OwnedFd, clock: Arc<Clock>) -> Arc<Context> {
        let resolver = Resolver::probe(root.as_raw_fd());
        // An empty name is refused (ENOENT) by a kernel that has the call.
        let missing = calls::fchmodat2(root.as_raw_fd(), c"", 0) != Err(Errno(libc::ENOENT));
        Arc::new(Context { root, clock, resolver, chmod_by_name: !missing })
    }

    /// The same without the newer calls, as on a kernel that has none of them.
    pub fn with_fallbacks(root: OwnedFd, clock: Arc<Clock>) -> Arc<Context> {
        Arc::new(Context { root, clock, resolver: Resolver::Walk, chmod_by_name: false })
    }

    /// How paths are resolved, for the record.
    pub fn resolver(&self) -> Resolver {
        self.resolver
    }

    /// The clock all workers read.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The machine as one worker sees it.
pub struct Linux<E: Engine = Sync> {
    context: Arc<Context>,
    /// The context's, without the way there: it is read at the end of every operation.
    clock: Clock,
    engine: E,
    /// Connections this worker has open.
    databases: Connections,
    /// Takes what calls return that nobody looks at; made at its first use.
    scratch: Vec<u8>,
}

impl Linux<Sync> {
    /// A worker with the plain engine.
    pub fn new(context: &Arc<Context>) -> Self {
        Linux::with_engine(context, Sync)
    }
}

impl<E: Engine> Linux<E> {
    /// A worker whose transfers go through `engine`.
    pub fn with_engine(context: &Arc<Context>, engine: E) -> Self {
        Linux {
            context: Arc::clone(context),
            clock: *context.clock,
            engine,
            databases: Connections::default(),
            scratch: Vec::new(),
        }
    }

    fn scratch(&mut self, len: usize) -> &mut [u8] {
        if self.scratch.is_empty() {
            self.scratch.resize(SCRATCH, 0);
        }
        self.scratch.get_mut(..len).unwrap_or_default()
    }
}

impl<E: Engine> Os for Linux<E> {
    const BYTES: bool = true;

    #[inline(always)]
    fn now(&mut self) -> Nanos {
        self.clock.now()
    }

    fn sleep_until(&mut self, time: Nanos) {
        self.context.clock.sleep_until(time);
    }

    #[inline]
    fn root(&self) -> Fd {
        self.context.root.as_raw_fd()
    }

    fn enter_worker(&mut self) -> bool {
        super::limits::sharpen_sleep();
        calls::unshare_files().is_ok()
    }

    #[inline]
    fn open(&mut self, dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd> {
        self.context.resolver.open(dir, path, flags, mode)
    }

    fn make_buffered(&mut self, fd: Fd) -> Call<bool> {
        calls::make_buffered(fd)
    }

    #[inline]
    fn close(&mut self, fd: Fd) -> Call<()> {
        self.engine.closing(fd);
        calls::close(fd)
    }

    #[inline(always)]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        self.engine.read(fd, offset, buffer)
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8], _recipe: Recipe) -> Call<usize> {
        self.engine.write(fd, offset, data)
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        self.engine.open_queue(depth, slots, len)
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.engine.slot(slot)
    }

    #[inline]
    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        self.engine.exchange(batch, at_least, into)
    }

    #[inline]
    fn ended(&mut self) -> u32 {
        self.engine.ended()
    }

    #[inline]
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        self.engine.transfer_one(transfer)
    }

    fn queue_state(&self) -> QueueState {
        self.engine.queue_state()
    }

    fn use_engine(&mut self, engine: u8) {
        self.engine.use_engine(engine);
    }

    fn capabilities(&self) -> Capabilities {
        self.engine.capabilities()
    }

    #[inline]
    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Call<u64> {
        calls::seek(fd, offset, whence)
    }

    fn truncate(&mut self, fd: Fd, size: u64) -> Call<()> {
        calls::truncate(fd, size)?;
        self.engine.resized(fd);
        Ok(())
    }

    fn allocate(&mut self, fd: Fd, how: Space, offset: u64, len: u64) -> Call<()> {
        calls::allocate(fd, how, offset, len)
    }

    fn advise(&mut self, fd: Fd, offset: u64, len: u64, advice: Advice) -> Call<()> {
        calls::advise(fd, offset, len, advice)
    }

    fn copy_range(&mut self, from: Fd, at: u64, to: Fd, to_at: u64, len: usize) -> Call<usize> {
        calls::copy_range(from, at, to, to_at, len)
    }

    #[inline]
    fn fstat(&mut self, fd: Fd) -> Call<Stat> {
        calls::fstat(fd)
    }

    fn fsync(&mut self, fd: Fd) -> Call<()> {
        calls::fsync(fd)
    }

    fn fdatasync(&mut self, fd: Fd) -> Call<()> {
        calls::fdatasync(fd)
    }

    fn sync_range(&mut self, fd: Fd, offset: u64, len: u64) -> Call<()> {
        calls::sync_range(fd, offset, len)
    }

    fn syncfs(&mut self, fd: Fd) -> Call<()> {
        calls::syncfs(fd)
    }

    fn sync(&mut self) -> Call<()> {
        calls::sync();
        Ok(())
    }

    fn drop_caches(&mut self) -> Call<()> {
        calls::drop_caches()
    }

    fn unlink(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        self.context.resolver.at(dir, path, |dir, name| calls::unlinkat(dir, name, 0))
    }

    fn rmdir(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        self.context.resolver.at(dir, path, |dir, name| calls::unlinkat(dir, name, libc::AT_REMOVEDIR))
    }

    fn mkdir(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()> {
        self.context.resolver.at(dir, path, |dir, name| calls::mkdirat(dir, name, mode))
    }

    fn rename(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
        let resolver = self.context.resolver;
        resolver.at(dir, from, |dir, from| {
            resolver.at(to_dir, to, |to_dir, to| calls::renameat(dir, from, to_dir, to))
        })
    }

    fn link(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
        let resolver = self.context.resolver;
        resolver.at_object(dir, from, |dir, from| {
            resolver.at(to_dir, to, |to_dir, to| calls::linkat(dir, from, to_dir, to))
        })
    }

    fn symlink(&mut self, target: &CStr, dir: Fd, path: &CStr) -> Call<()> {
        self.context.resolver.at(dir, path, |dir, name| calls::symlinkat(target, dir, name))
    }

    fn readlink(&mut self, dir: Fd, path: &CStr) -> Call<usize> {
        let resolver = self.context.resolver;
        let scratch = self.scratch(crate::os::path::PATH_MAX);
        resolver.at_object(dir, path, |dir, name| calls::readlinkat(dir, name, scratch))
    }

    #[inline]
    fn stat(&mut self, dir: Fd, path: &CStr) -> Call<Stat> {
        self.context.resolver.at_object(dir, path, calls::statat)
    }

    fn statfs(&mut self, fd: Fd) -> Call<FsStat> {
        calls::fstatfs(fd)
    }

    fn chmod(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()> {
        let by_name = self.context.chmod_by_name;
        self.context.resolver.at_object(dir, path, |dir, name| match by_name {
            true => calls::fchmodat2(dir, name, mode),
            false => calls::chmod_through_proc(dir, name, mode),
        })
    }

    fn utimes(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        self.context.resolver.at_object(dir, path, calls::utimes)
    }

    fn set_xattr(&mut self, fd: Fd, name: &CStr, value: &[u8]) -> Call<()> {
        calls::set_xattr(fd, name, value)
    }

    fn get_xattr(&mut self, fd: Fd, name: &CStr, room: usize) -> Call<usize> {
        calls::get_xattr(fd, name, self.scratch(room))
    }

    fn get_xattr_at(&mut self, dir: Fd, path: &CStr, name: &CStr, room: usize) -> Call<usize> {
        let resolver = self.context.resolver;
        let into = self.scratch(room);
        resolver.at_object(dir, path, |dir, last| calls::get_xattr_at(dir, last, name, into))
    }

    fn lock(&mut self, fd: Fd, kind: Lock, offset: u64, len: u64) -> Call<()> {
        calls::lock(fd, kind, offset, len)
    }

    fn read_directory(&mut self, fd: Fd, seen: &mut dyn FnMut(&CStr, Kind)) -> Call<usize> {
        let buffer = self.scratch(DIRECTORY_BUFFER);
        let read = calls::getdents(fd, buffer)?;
        for (name, kind) in super::removal::entries(buffer.get(..read).unwrap_or_default()) {
            let kind = match kind {
                libc::DT_REG => Kind::File,
                libc::DT_DIR => Kind::Directory,
                libc::DT_LNK => Kind::Symlink,
                _ => Kind::Unknown,
            };
            seen(name, kind);
        }
        Ok(read)
    }

    fn db_open(
        &mut self,
        dir: Fd,
        path: &CStr,
        pragmas: &[(String, String)],
        stopping: Stopping,
    ) -> SqlCall<Fd> {
        let resolver = self.context.resolver;
        let mut answer = None;
        let found = resolver.at(dir, path, |dir, name| {
            answer = Some(Connection::open(dir, name, pragmas));
            Ok(())
        });
        if let Err(errno) = found {
            let message = "its directory cannot be opened".into();
            return Err(Box::new(SqlError { code: CANTOPEN, message, errno: Some(errno) }));
        }
        let mut connection = answer.unwrap_or_else(|| Err(SqlError::new(CANTOPEN, "it has no name")))?;
        connection.watch(self.clock, stopping)?;
        Ok(self.databases.put(connection))
    }

    fn db_exec(&mut self, db: Fd, statement: &str, deadline: Nanos) -> SqlCall<()> {
        self.databases.get(db)?.exec(statement, deadline)
    }

    fn db_close(&mut self, db: Fd) -> SqlCall<()> {
        self.databases.take(db)?.close()
    }

    fn mark(&mut self, text: &CStr) {
        calls::show(text);
    }
}
