//! The trait [`Os`] on the simulation: what each call asks of the disk.
//!
//! A call is decided at once, by the script or by the disk, and takes virtual time; with a queue
//! the worker goes on meanwhile. Locks are always granted, as nobody could be waited for.

use super::disk::{Body, Disk};
use super::script::{Direct, Op};
use super::trace::Detail;
use super::transfer::{Open, Span};
use super::worker::{About, EBADF, EINVAL, ROOT_FD, Sim};
use crate::os::machine::{
    Advice, Call, Capabilities, Completion, Errno, Fd, FsStat, Kind, Lock, Nanos, Os, QueueState, Recipe,
    Space, Stat, Stopping, Transfer, Whence,
};
use crate::os::sql_error::{CANTOPEN, FULL, IOERR, SqlCall, SqlError};
use std::ffi::{CStr, CString};

/// What a directory is read by: as many entries of this size as fit 32 KiB.
const ENTRY: u64 = 24;
const ENTRIES: u64 = 32 * 1024 / ENTRY;

/// A database of the simulation fails as a call does.
fn failed(code: i32, errno: Errno) -> Box<SqlError> {
    Box::new(SqlError { code, message: "simulated".into(), errno: Some(errno) })
}

impl Os for Sim {
    const BYTES: bool = false;

    #[inline]
    fn now(&mut self) -> Nanos {
        self.clock += self.shared.options.latency.clock;
        self.clock
    }

    fn sleep_until(&mut self, time: Nanos) {
        self.advance_to(time);
    }

    fn root(&self) -> Fd {
        ROOT_FD
    }

    fn enter_worker(&mut self) -> bool {
        true
    }

    fn open(&mut self, dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd> {
        let name = if self.tracing { self.name(About::Path(dir, path)).into() } else { Box::default() };
        let direct = self.shared.options.script.direct;
        self.call(
            Op::Open,
            About::Path(dir, path),
            || Detail::Open { flags, mode },
            |sim| {
                crate::os::path::is_bare(path)?;
                let dir = sim.file(dir)?.ino;
                let used = sim.files.len() - ROOT_FD as usize - sim.closed.len();
                if used >= sim.shared.options.descriptors as usize {
                    return Err(Errno(libc::EMFILE));
                }
                let ino = sim.shared.disk().open(dir, path, flags, direct)?;
                let align = match direct {
                    Direct::Aligned(align) if flags & libc::O_DIRECT != 0 => align.max(1),
                    _ => 1,
                };
                Ok(sim.number(Open { ino, flags, align, position: 0, name }))
            },
        )
    }

    fn make_buffered(&mut self, fd: Fd) -> Call<bool> {
        let open = self.file_mut(fd)?;
        let direct = open.flags & libc::O_DIRECT != 0;
        open.flags &= !libc::O_DIRECT;
        open.align = 1;
        Ok(direct)
    }

    fn close(&mut self, fd: Fd) -> Call<()> {
        self.call(
            Op::Close,
            About::File(fd),
            || Detail::None,
            |sim| {
                sim.release(fd)?;
                sim.closed.push(fd);
                Ok(())
            },
        )
    }

    #[inline]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        let op = if offset.is_some() { Op::Pread } else { Op::Read };
        self.transfer(op, Span { fd, offset, len: buffer.len() as u64 }, None)
    }

    #[inline]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8], recipe: Recipe) -> Call<usize> {
        let op = if offset.is_some() { Op::Pwrite } else { Op::Write };
        self.transfer(op, Span { fd, offset, len: data.len() as u64 }, Some(recipe))
    }

    fn open_queue(&mut self, depth: u32, _slots: u32, _len: usize) -> Call<()> {
        self.slots = self.slots.max(depth as usize);
        Ok(())
    }

    fn slot(&mut self, _slot: u32) -> &mut [u8] {
        &mut []
    }

    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        for transfer in batch {
            self.enqueue(*transfer)?;
        }
        if at_least == 0 {
            return Ok(());
        }
        // In the order of their ends; equal ends in the order of submission.
        self.in_flight.sort_by_key(|flight| flight.0);
        let wanted = (at_least as usize).min(self.in_flight.len());
        if let Some(last) = wanted.checked_sub(1).and_then(|at| self.in_flight.get(at)) {
            self.clock = self.clock.max(last.0);
        }
        let ended = self.in_flight.partition_point(|flight| flight.0 <= self.clock);
        into.extend(self.in_flight.drain(..ended).map(|flight| flight.1));
        Ok(())
    }

    fn ended(&mut self) -> u32 {
        self.in_flight.iter().filter(|flight| flight.0 <= self.clock).count() as u32
    }

    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        let mut ended = Vec::new();
        self.exchange(&[transfer], 1, &mut ended)?;
        ended.pop().map_or(Err(Errno(libc::EBUSY)), Completion::result)
    }

    fn queue_state(&self) -> QueueState {
        QueueState::default()
    }

    fn use_engine(&mut self, _engine: u8) {}

    fn capabilities(&self) -> Capabilities {
        let direct = self.shared.options.script.direct != Direct::Refused;
        Capabilities { name: "simulated", max_depth: u32::MAX, direct }
    }

    fn seek(&mut self, fd: Fd, offset: i64, whence: Whence) -> Call<u64> {
        let detail = || Detail::Seek(offset, whence);
        self.call(Op::Seek, About::File(fd), detail, |sim| {
            let open = sim.real(fd)?;
            let from = match whence {
                Whence::Start => 0,
                Whence::Current => open.position,
                Whence::End => sim.shared.disk().inode(open.ino)?.size,
            };
            let at = from.checked_add_signed(offset).filter(|at| *at <= i64::MAX as u64).ok_or(EINVAL)?;
            sim.file_mut(fd)?.position = at;
            Ok(at)
        })
    }

    fn truncate(&mut self, fd: Fd, size: u64) -> Call<()> {
        self.call(
            Op::Truncate,
            About::File(fd),
            || Detail::Size(size),
            |sim| {
                if size > i64::MAX as u64 {
                    return Err(EINVAL);
                }
                let open = sim.real(fd)?;
                if !open.writable() {
                    return Err(EINVAL);
                }
                sim.shared.disk().truncate(open.ino, size)
            },
        )
    }

    fn allocate(&mut self, fd: Fd, how: Space, offset: u64, len: u64) -> Call<()> {
        let detail = || Detail::Allocate(how, offset, len);
        self.call(Op::Allocate, About::File(fd), detail, |sim| {
            let open = sim.real(fd)?;
            if offset > i64::MAX as u64 || len == 0 || len > i64::MAX as u64 {
                return Err(EINVAL);
            }
            if !open.writable() {
                return Err(EBADF);
            }
            sim.shared.disk().allocate(open.ino, how, offset, len)
        })
    }

    fn advise(&mut self, fd: Fd, offset: u64, len: u64, advice: Advice) -> Call<()> {
        self.on(Op::Advise, fd, Detail::Advise(advice, offset, len))
    }

    fn copy_range(&mut self, from: Fd, at: u64, to: Fd, to_at: u64, len: usize) -> Call<usize> {
        let detail = || Detail::Copy(at, to_at, len as u64);
        self.call(Op::CopyRange, About::Files(from, to), detail, |sim| {
            let (source, target) = (sim.real(from)?, sim.real(to)?);
            let mut disk = sim.shared.disk();
            for ino in [source.ino, target.ino] {
                if matches!(disk.inode(ino)?.body, Body::Directory(_)) {
                    return Err(Errno(libc::EISDIR));
                }
            }
            if !source.readable() || !target.writable() || target.flags & libc::O_APPEND != 0 {
                return Err(EBADF);
            }
            if at > i64::MAX as u64 || to_at > i64::MAX as u64 {
                return Err(EINVAL);
            }
            disk.copy(source.ino, at, target.ino, to_at, len as u64).map(|bytes| bytes as usize)
        })
    }

    fn fstat(&mut self, fd: Fd) -> Call<Stat> {
        self.call(
            Op::Fstat,
            About::File(fd),
            || Detail::None,
            |sim| {
                let ino = sim.file(fd)?.ino;
                sim.shared.disk().stat(ino)
            },
        )
    }

    fn fsync(&mut self, fd: Fd) -> Call<()> {
        self.on(Op::Fsync, fd, Detail::None)
    }

    fn fdatasync(&mut self, fd: Fd) -> Call<()> {
        self.on(Op::Fdatasync, fd, Detail::None)
    }

    fn sync_range(&mut self, fd: Fd, offset: u64, len: u64) -> Call<()> {
        self.on(Op::SyncRange, fd, Detail::Range(Some(offset), len))
    }

    fn syncfs(&mut self, fd: Fd) -> Call<()> {
        self.on(Op::Syncfs, fd, Detail::None)
    }

    fn sync(&mut self) -> Call<()> {
        self.call(Op::Sync, About::Nothing, || Detail::None, |_| Ok(()))
    }

    fn drop_caches(&mut self) -> Call<()> {
        self.call(Op::DropCaches, About::Nothing, || Detail::None, |_| Ok(()))
    }

    fn unlink(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        self.at(Op::Unlink, (dir, path), || Detail::None, |disk, dir| disk.unlink(dir, path))
    }

    fn rmdir(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        self.at(Op::Rmdir, (dir, path), || Detail::None, |disk, dir| disk.rmdir(dir, path))
    }

    fn mkdir(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()> {
        self.at(Op::Mkdir, (dir, path), || Detail::Mode(mode), |disk, dir| disk.mkdir(dir, path))
    }

    fn rename(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
        let about = About::Paths(dir, from, to_dir, to);
        self.call(
            Op::Rename,
            about,
            || Detail::None,
            |sim| {
                let (dir, to_dir) = (sim.file(dir)?.ino, sim.file(to_dir)?.ino);
                sim.shared.disk().rename(dir, from, to_dir, to)
            },
        )
    }

    fn link(&mut self, dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
        let about = About::Paths(dir, from, to_dir, to);
        self.call(
            Op::Link,
            about,
            || Detail::None,
            |sim| {
                let (dir, to_dir) = (sim.file(dir)?.ino, sim.file(to_dir)?.ino);
                sim.shared.disk().link(dir, from, to_dir, to)
            },
        )
    }

    fn symlink(&mut self, target: &CStr, dir: Fd, path: &CStr) -> Call<()> {
        let detail = || Detail::Text(target.to_string_lossy().into_owned());
        self.at(Op::Symlink, (dir, path), detail, |disk, dir| disk.symlink(target, dir, path))
    }

    fn readlink(&mut self, dir: Fd, path: &CStr) -> Call<usize> {
        let read = |disk: &mut Disk, dir| disk.readlink(dir, path).map(|len| len as usize);
        self.at(Op::Readlink, (dir, path), || Detail::None, read)
    }

    fn stat(&mut self, dir: Fd, path: &CStr) -> Call<Stat> {
        let stat = |disk: &mut Disk, dir| disk.stat(disk.object(dir, path)?);
        self.at(Op::Stat, (dir, path), || Detail::None, stat)
    }

    fn statfs(&mut self, fd: Fd) -> Call<FsStat> {
        self.call(
            Op::Statfs,
            About::File(fd),
            || Detail::None,
            |sim| {
                sim.file(fd)?;
                Ok(sim.shared.disk().statfs())
            },
        )
    }

    fn chmod(&mut self, dir: Fd, path: &CStr, mode: u32) -> Call<()> {
        self.at(Op::Chmod, (dir, path), || Detail::Mode(mode), |disk, dir| disk.chmod(dir, path))
    }

    fn utimes(&mut self, dir: Fd, path: &CStr) -> Call<()> {
        let touch = |disk: &mut Disk, dir| disk.object(dir, path).map(|_| ());
        self.at(Op::Utimes, (dir, path), || Detail::None, touch)
    }

    fn set_xattr(&mut self, fd: Fd, name: &CStr, value: &[u8]) -> Call<()> {
        let detail = || Detail::Text(name.to_string_lossy().into_owned());
        self.call(Op::SetXattr, About::File(fd), detail, |sim| {
            let ino = sim.real(fd)?.ino;
            user_attribute(name)?;
            if value.len() > 64 * 1024 {
                return Err(Errno(libc::E2BIG));
            }
            let mut disk = sim.shared.disk();
            disk.xattrs.entry(ino).or_default().insert(name.to_bytes().to_vec(), value.len());
            Ok(())
        })
    }

    fn get_xattr(&mut self, fd: Fd, name: &CStr, room: usize) -> Call<usize> {
        let detail = || Detail::Text(name.to_string_lossy().into_owned());
        self.call(Op::GetXattr, About::File(fd), detail, |sim| {
            let ino = sim.real(fd)?.ino;
            user_attribute(name)?;
            sim.shared.disk().attribute(ino, name, room)
        })
    }

    fn get_xattr_at(&mut self, dir: Fd, path: &CStr, name: &CStr, room: usize) -> Call<usize> {
        let detail = || Detail::Text(name.to_string_lossy().into_owned());
        self.at(Op::GetXattrAt, (dir, path), detail, |disk, dir| {
            let ino = disk.object(dir, path)?;
            user_attribute(name)?;
            disk.attribute(ino, name, room)
        })
    }

    fn lock(&mut self, fd: Fd, kind: Lock, offset: u64, len: u64) -> Call<()> {
        let detail = || Detail::Lock(kind, offset, len);
        self.call(Op::Lock, About::File(fd), detail, |sim| {
            let open = sim.real(fd)?;
            match kind {
                Lock::Write if !open.writable() => Err(EBADF),
                Lock::Read if !open.readable() => Err(EBADF),
                _ => Ok(()),
            }
        })
    }

    fn read_directory(&mut self, fd: Fd, seen: &mut dyn FnMut(&CStr, Kind)) -> Call<usize> {
        self.call(
            Op::Getdents,
            About::File(fd),
            || Detail::None,
            |sim| {
                let open = sim.real(fd)?;
                let disk = sim.shared.disk();
                // The directory itself and the one above are listed too.
                let entries = disk.directory(open.ino)?.entries + 2;
                if disk.inode(open.ino)?.links == 0 {
                    return Err(Errno(libc::ENOENT));
                }
                let read = entries.saturating_sub(open.position).min(ENTRIES);
                if sim.shared.options.names {
                    show(&disk, open, read, seen);
                }
                drop(disk);
                sim.file_mut(fd)?.position += read;
                Ok((read * ENTRY) as usize)
            },
        )
    }

    fn db_open(&mut self, dir: Fd, path: &CStr, pragmas: &[(String, String)], _: Stopping) -> SqlCall<Fd> {
        let settings: Vec<String> = pragmas.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let name = if self.tracing { self.name(About::Path(dir, path)).into() } else { Box::default() };
        let about = About::Path(dir, path);
        let opened = self.call(
            Op::DbOpen,
            about,
            || Detail::Text(settings.join(" ")),
            |sim| {
                let dir = sim.file(dir)?.ino;
                let flags = libc::O_RDWR | libc::O_CREAT;
                let ino = sim.shared.disk().open(dir, path, flags, Direct::Ignored)?;
                Ok(sim.number(Open { ino, flags, align: 1, position: 0, name }))
            },
        );
        opened.map_err(|errno| failed(CANTOPEN, errno))
    }

    fn db_exec(&mut self, db: Fd, statement: &str, _: Nanos) -> SqlCall<()> {
        let detail = || Detail::Text(statement.to_string());
        let done = self.call(Op::Sql, About::File(db), detail, |sim| sim.real(db).map(|_| ()));
        // What SQLite makes of a disk without room, and of everything else.
        done.map_err(|errno| failed(if errno.0 == libc::ENOSPC { FULL } else { IOERR }, errno))
    }

    fn db_close(&mut self, db: Fd) -> SqlCall<()> {
        let close = |sim: &mut Self| {
            sim.release(db)?;
            sim.closed.push(db);
            Ok(())
        };
        let closed = self.call(Op::DbClose, About::File(db), || Detail::None, close);
        closed.map_err(|errno| failed(IOERR, errno))
    }

    fn mark(&mut self, text: &CStr) {
        let detail = || Detail::Text(text.to_string_lossy().into_owned());
        let _ = self.call(Op::Mark, About::Nothing, detail, |_| Ok(()));
    }
}

/// Shows `count` entries of a directory from where it stands: itself and the one above come first.
fn show(disk: &Disk, open: &Open, count: u64, seen: &mut dyn FnMut(&CStr, Kind)) {
    let end = open.position + count;
    for (at, name) in [c".", c".."].into_iter().enumerate() {
        if (open.position..end).contains(&(at as u64)) {
            seen(name, Kind::Directory);
        }
    }
    let from = open.position.saturating_sub(2);
    for name in disk.shown(open.ino, from, end.saturating_sub(2).saturating_sub(from)) {
        let kind = disk.lookup(open.ino, &name).and_then(|ino| disk.inode(ino).ok());
        let kind = match kind.map(|inode| &inode.body) {
            Some(Body::File(_)) => Kind::File,
            Some(Body::Directory(_)) => Kind::Directory,
            Some(Body::Symlink) => Kind::Symlink,
            _ => Kind::Unknown,
        };
        if let Ok(name) = CString::new(name) {
            seen(&name, kind);
        }
    }
}

/// Users may set attributes whose names start with `user.`.
fn user_attribute(name: &CStr) -> Call<()> {
    match name.to_bytes() {
        b"" => Err(Errno(libc::ERANGE)),
        b"user." => Err(EINVAL),
        bytes if bytes.len() > crate::os::path::NAME_MAX => Err(Errno(libc::ERANGE)),
        bytes if bytes.starts_with(b"user.") => Ok(()),
        _ => Err(Errno(libc::EOPNOTSUPP)),
    }
}
