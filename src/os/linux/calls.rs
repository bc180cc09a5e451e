//! Thin wrappers of system calls: one function, one call.
//!
//! Names here are bare, or their parent directory has been resolved: see `resolve` for what
//! keeps a path beneath its directory. Nothing here knows workers, plans or the run directory.

use crate::os::machine::{Advice, Call, Errno, Fd, FsStat, Lock, Space, Stat, Whence};
use std::ffi::{CStr, c_int};
use std::io::Write as _;
use std::os::fd::{FromRawFd, OwnedFd};

/// The error number of the last call of the C library in this thread.
#[cold]
pub fn last() -> Errno {
    Errno(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO))
}

/// The value of a call that answers -1 where it failed.
#[inline]
fn value<T: Into<i64> + Copy>(returned: T) -> Call<T> {
    if returned.into() == -1 { Err(last()) } else { Ok(returned) }
}

/// Success or the error of a call that answers -1 where it failed.
#[inline]
fn done<T: Into<i64> + Copy>(returned: T) -> Call<()> {
    value(returned).map(|_| ())
}

/// Repeats a call as long as a signal interrupts it.
#[inline]
fn retry<T>(mut call: impl FnMut() -> Call<T>) -> Call<T> {
    loop {
        match call() {
            Err(Errno(libc::EINTR)) => {}
            done => return done,
        }
    }
}

/// A descriptor that closes itself.
///
/// `fd` must have just come from an opening call and have no other owner.
pub fn owned(fd: Fd) -> OwnedFd {
    // SAFETY: the opening calls of this module hand out each descriptor once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A descriptor held for the length of one call, between `open` and `close` and nothing else:
/// an `OwnedFd` asks one question more before it closes, in builds with debug assertions.
pub struct Held(pub Fd);

impl Drop for Held {
    fn drop(&mut self) {
        let _ = close(self.0);
    }
}

// --- opening -------------------------------------------------------------------------------

/// Argument of `openat2` (`struct open_how` of linux/openat2.h, version 0, 24 bytes).
#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

/// `openat2` (Linux 5.6). `resolve` is `libc::RESOLVE_*`.
#[inline]
pub fn openat2(dir: Fd, path: &CStr, flags: i32, mode: u32, resolve: u64) -> Call<Fd> {
    // openat2 refuses a mode where nothing can be created; open and openat ignore it.
    let creates = flags & libc::O_CREAT != 0 || flags & libc::O_TMPFILE == libc::O_TMPFILE;
    let mode = if creates { u64::from(mode & 0o7777) } else { 0 };
    let how = OpenHow { flags: u64::from(flags as u32), mode, resolve };
    let size = size_of::<OpenHow>();
    // SAFETY: path ends in NUL, `how` lives through the call and `size` is its size.
    retry(|| value(unsafe { libc::syscall(libc::SYS_openat2, dir, path.as_ptr(), &how, size) }))
        .map(|fd| fd as Fd)
}

/// `openat`. Follows symbolic links unless `flags` forbids it.
#[inline]
pub fn openat(dir: Fd, path: &CStr, flags: i32, mode: u32) -> Call<Fd> {
    // SAFETY: path ends in NUL.
    retry(|| value(unsafe { libc::openat(dir, path.as_ptr(), flags, mode) }))
}

/// `close`. Never repeated: Linux has released the descriptor even where a signal interrupted.
#[inline]
pub fn close(fd: Fd) -> Call<()> {
    // SAFETY: takes a number; the worker owns the descriptors it opened.
    match done(unsafe { libc::close(fd) }) {
        Err(Errno(libc::EINTR)) => Ok(()),
        answer => answer,
    }
}

// --- open files ----------------------------------------------------------------------------

/// `lseek`: the new position in bytes from the start.
#[inline]
pub fn seek(fd: Fd, offset: i64, whence: Whence) -> Call<u64> {
    let whence = match whence {
        Whence::Start => libc::SEEK_SET,
        Whence::Current => libc::SEEK_CUR,
        Whence::End => libc::SEEK_END,
    };
    // SAFETY: takes numbers only.
    value(unsafe { libc::lseek64(fd, offset, whence) }).map(|at| at as u64)
}

/// `ftruncate` to `size` bytes; `EINVAL` beyond the largest `i64`.
pub fn truncate(fd: Fd, size: u64) -> Call<()> {
    // SAFETY: takes numbers only. A size beyond i64 is negative to the kernel: EINVAL.
    retry(|| done(unsafe { libc::ftruncate64(fd, size as i64) }))
}

/// `fallocate` of `len` bytes from `offset`.
pub fn allocate(fd: Fd, how: Space, offset: u64, len: u64) -> Call<()> {
    let mode = match how {
        Space::Allocate => 0,
        Space::KeepSize => libc::FALLOC_FL_KEEP_SIZE,
        Space::Punch => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        Space::Zero => libc::FALLOC_FL_ZERO_RANGE,
    };
    // SAFETY: takes numbers only.
    retry(|| done(unsafe { libc::fallocate64(fd, mode, offset as i64, len as i64) }))
}

/// `posix_fadvise` for `len` bytes from `offset`; 0 is up to the end.
pub fn advise(fd: Fd, offset: u64, len: u64, advice: Advice) -> Call<()> {
    let advice = match advice {
        Advice::Normal => libc::POSIX_FADV_NORMAL,
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::WillNeed => libc::POSIX_FADV_WILLNEED,
        Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
        Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
    };
    // SAFETY: takes numbers only. This one returns its error instead of setting errno.
    match unsafe { libc::posix_fadvise64(fd, offset as i64, len as i64, advice) } {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

/// `copy_file_range`: bytes copied, 0 at the end of the source.
pub fn copy_range(from: Fd, at: u64, to: Fd, to_at: u64, len: usize) -> Call<usize> {
    let (mut at, mut to_at) = (at as i64, to_at as i64);
    // SAFETY: both offsets live through the call.
    retry(|| value(unsafe { libc::copy_file_range(from, &mut at, to, &mut to_at, len, 0) } as i64))
        .map(|n| n as usize)
}

/// `fsync`.
pub fn fsync(fd: Fd) -> Call<()> {
    // SAFETY: takes a number only.
    retry(|| done(unsafe { libc::fsync(fd) }))
}

/// `fdatasync`.
pub fn fdatasync(fd: Fd) -> Call<()> {
    // SAFETY: takes a number only.
    retry(|| done(unsafe { libc::fdatasync(fd) }))
}

/// Starts and awaits the writing of a range; no promise about metadata or the device's cache.
pub fn sync_range(fd: Fd, offset: u64, len: u64) -> Call<()> {
    let flags =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: takes numbers only.
    retry(|| done(unsafe { libc::sync_file_range(fd, offset as i64, len as i64, flags) }))
}

/// `syncfs` of the file system that holds `fd`.
pub fn syncfs(fd: Fd) -> Call<()> {
    // SAFETY: takes a number only.
    retry(|| done(unsafe { libc::syncfs(fd) }))
}

/// `sync` of all file systems.
pub fn sync() {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::sync() }
}

/// Waits for a record lock. Its owner is the descriptor table, so workers that have their own
/// exclude each other as processes would.
pub fn lock(fd: Fd, kind: Lock, offset: u64, len: u64) -> Call<()> {
    let kind = match kind {
        Lock::Write => libc::F_WRLCK,
        Lock::Read => libc::F_RDLCK,
        Lock::Unlock => libc::F_UNLCK,
    };
    // SAFETY: all-zero is a valid flock structure.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as _;
    range.l_whence = libc::SEEK_SET as _;
    range.l_start = offset as libc::off_t;
    range.l_len = len as libc::off_t;
    // SAFETY: `range` lives through the call.
    retry(|| done(unsafe { libc::fcntl(fd, libc::F_SETLKW, &range) }))
}

/// Clears `O_DIRECT` of an open file; false where it is not set.
pub fn make_buffered(fd: Fd) -> Call<bool> {
    // SAFETY: the call reads flags of a descriptor and takes no address.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags < 0 {
        return Err(last());
    }
    if flags & libc::O_DIRECT == 0 {
        return Ok(false);
    }
    // SAFETY: the call sets flags of a descriptor and takes no address.
    done(unsafe { libc::fcntl(fd, libc::F_SETFL, flags & !libc::O_DIRECT) }).map(|()| true)
}

/// `fsetxattr`, whether the attribute is there or not.
pub fn set_xattr(fd: Fd, name: &CStr, data: &[u8]) -> Call<()> {
    // SAFETY: name ends in NUL, data is a borrowed slice of the length given.
    done(unsafe { libc::fsetxattr(fd, name.as_ptr(), data.as_ptr().cast(), data.len(), 0) })
}

/// Reads an attribute into `into` and returns its length.
pub fn get_xattr(fd: Fd, name: &CStr, into: &mut [u8]) -> Call<usize> {
    // SAFETY: name ends in NUL; the kernel writes at most `into.len()` bytes to the slice.
    value(unsafe { libc::fgetxattr(fd, name.as_ptr(), into.as_mut_ptr().cast(), into.len()) } as i64)
        .map(|n| n as usize)
}

/// The same of a name, which is not followed. Without `getxattrat` (Linux 6.13) only a path can say
/// which directory it is in: that of the descriptor under /proc (of the thread: workers have tables of
/// their own). `ENOENT` also where /proc is missing.
pub fn get_xattr_at(dir: Fd, file: &CStr, name: &CStr, into: &mut [u8]) -> Call<usize> {
    /// The longest bare name, a number and the words around it.
    const LONGEST: usize = 320;
    let mut path = [0; LONGEST];
    let mut rest = &mut path[..LONGEST - 1];
    let written = write!(rest, "/proc/thread-self/fd/{dir}/").and_then(|()| rest.write_all(file.to_bytes()));
    let path = written.ok().and_then(|()| CStr::from_bytes_until_nul(&path).ok());
    let path = path.ok_or(Errno(libc::ENAMETOOLONG))?;
    let (at, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: path and name end in NUL; the kernel writes at most `len` bytes to the slice.
    value(unsafe { libc::lgetxattr(path.as_ptr(), name.as_ptr(), at.cast(), len) } as i64).map(|n| n as usize)
}

/// Reads directory entries (`struct linux_dirent64`) and returns their bytes.
pub fn getdents(fd: Fd, into: &mut [u8]) -> Call<usize> {
    let (at, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: the kernel writes at most `len` bytes to the slice.
    value(unsafe { libc::syscall(libc::SYS_getdents64, fd, at, len) }).map(|n| n as usize)
}

fn stat_of(stat: &libc::stat64) -> Stat {
    let kind = stat.st_mode & libc::S_IFMT;
    Stat {
        size: stat.st_size as u64,
        block: stat.st_blksize as u32,
        // st_blocks counts units of 512 bytes, whatever the file system's block size.
        allocated: stat.st_blocks as u64 * 512,
        directory: kind == libc::S_IFDIR,
        symlink: kind == libc::S_IFLNK,
    }
}

/// `fstat`. Asked of the kernel itself where its structure is the C library's: some versions of
/// that make it an `fstatat` with an empty name, which older kernels take twice as long for.
#[inline]
pub fn raw_fstat(fd: Fd) -> Call<libc::stat64> {
    let mut stat = std::mem::MaybeUninit::<libc::stat64>::uninit();
    // SAFETY: the kernel fills the structure; it is read only where the call succeeded.
    unsafe {
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64"))]
        let returned = libc::syscall(libc::SYS_fstat, fd, stat.as_mut_ptr());
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), target_pointer_width = "64")))]
        let returned = libc::fstat64(fd, stat.as_mut_ptr());
        done(returned).map(|()| stat.assume_init())
    }
}

/// `fstat` in the machine's words.
#[inline]
pub fn fstat(fd: Fd) -> Call<Stat> {
    raw_fstat(fd).map(|stat| stat_of(&stat))
}

/// `fstatfs` in the machine's words; space in bytes.
pub fn fstatfs(fd: Fd) -> Call<FsStat> {
    let mut stat = std::mem::MaybeUninit::uninit();
    // SAFETY: the kernel fills the structure; it is read only where the call succeeded.
    let stat: libc::statfs64 =
        unsafe { retry(|| done(libc::fstatfs64(fd, stat.as_mut_ptr()))).map(|()| stat.assume_init())? };
    // The fields' types differ between processors.
    #[allow(clippy::unnecessary_cast)]
    let (block, magic) = (stat.f_bsize as u64, stat.f_type as i64);
    Ok(FsStat {
        block,
        blocks: stat.f_blocks,
        available: stat.f_bavail.saturating_mul(block),
        files: stat.f_files,
        files_free: stat.f_ffree,
        magic,
    })
}

// --- names ---------------------------------------------------------------------------------

/// `unlinkat`; with `AT_REMOVEDIR` in `flags` of an empty directory.
pub fn unlinkat(dir: Fd, name: &CStr, flags: c_int) -> Call<()> {
    // SAFETY: name ends in NUL.
    done(unsafe { libc::unlinkat(dir, name.as_ptr(), flags) })
}

/// `mkdirat` with these permission bits.
pub fn mkdirat(dir: Fd, name: &CStr, mode: u32) -> Call<()> {
    // SAFETY: name ends in NUL.
    done(unsafe { libc::mkdirat(dir, name.as_ptr(), mode as libc::mode_t) })
}

/// `renameat`; what had the new name is replaced.
pub fn renameat(dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
    // SAFETY: both names end in NUL.
    done(unsafe { libc::renameat(dir, from.as_ptr(), to_dir, to.as_ptr()) })
}

/// A second name for a file; a symbolic link is not followed but linked itself.
pub fn linkat(dir: Fd, from: &CStr, to_dir: Fd, to: &CStr) -> Call<()> {
    // SAFETY: both names end in NUL.
    done(unsafe { libc::linkat(dir, from.as_ptr(), to_dir, to.as_ptr(), 0) })
}

/// `symlinkat`: a link that holds `target`.
pub fn symlinkat(target: &CStr, dir: Fd, name: &CStr) -> Call<()> {
    // SAFETY: both texts end in NUL.
    done(unsafe { libc::symlinkat(target.as_ptr(), dir, name.as_ptr()) })
}

/// Reads a link's text into `into` and returns its length, cut at `into.len()`.
pub fn readlinkat(dir: Fd, name: &CStr, into: &mut [u8]) -> Call<usize> {
    let (at, len) = (into.as_mut_ptr(), into.len());
    // SAFETY: name ends in NUL; the kernel writes at most `len` bytes to the slice.
    value(unsafe { libc::readlinkat(dir, name.as_ptr(), at.cast(), len) } as i64).map(|n| n as usize)
}

/// `fstatat` that does not follow a symbolic link.
#[inline]
pub fn raw_statat(dir: Fd, name: &CStr) -> Call<libc::stat64> {
    let mut stat = std::mem::MaybeUninit::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: name ends in NUL; the structure is read only where the call succeeded.
    unsafe {
        done(libc::fstatat64(dir, name.as_ptr(), stat.as_mut_ptr(), flags)).map(|()| stat.assume_init())
    }
}

/// `fstatat` in the machine's words; a symbolic link is not followed.
#[inline]
pub fn statat(dir: Fd, name: &CStr) -> Call<Stat> {
    raw_statat(dir, name).map(|stat| stat_of(&stat))
}

/// Sets access and modification time to now, of a symbolic link itself where it is one.
pub fn utimes(dir: Fd, name: &CStr) -> Call<()> {
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: name ends in NUL; no times means now.
    done(unsafe { libc::utimensat(dir, name.as_ptr(), std::ptr::null(), flags) })
}

/// `fchmodat2` (Linux 6.6): the only call that sets the mode of a name and follows nothing.
pub fn fchmodat2(dir: Fd, name: &CStr, mode: u32) -> Call<()> {
    /// The same number on every processor, as all calls since 5.1.
    const SYS_FCHMODAT2: libc::c_long = 452;
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: name ends in NUL.
    done(unsafe { libc::syscall(SYS_FCHMODAT2, dir, name.as_ptr(), mode, flags) })
}

/// The same without `fchmodat2`: the name is opened without following it, and the mode is set
/// through the descriptor's link under /proc (of the thread: workers have tables of their own).
/// `EOPNOTSUPP` for a symbolic link, as above.
pub fn chmod_through_proc(dir: Fd, name: &CStr, mode: u32) -> Call<()> {
    let file = Held(openat(dir, name, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC, 0)?);
    if fstat(file.0)?.symlink {
        return Err(Errno(libc::EOPNOTSUPP));
    }
    let path = std::ffi::CString::new(format!("/proc/thread-self/fd/{}", file.0))
        .map_err(|_| Errno(libc::EINVAL))?;
    // SAFETY: path ends in NUL.
    done(unsafe { libc::chmod(path.as_ptr(), mode as libc::mode_t) })
}

/// `fchmod` to these permission bits.
pub fn fchmod(fd: Fd, mode: u32) -> Call<()> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::fchmod(fd, mode as libc::mode_t) })
}

// --- the process and the machine -----------------------------------------------------------

/// Gives the calling thread a descriptor table of its own.
pub fn unshare_files() -> Call<()> {
    // SAFETY: only this thread's view of descriptors changes; all that were open stay open.
    done(unsafe { libc::unshare(libc::CLONE_FILES) })
}

/// Shows `text` to a tracer: asks whether a file of that name may be looked at.
pub fn show(text: &CStr) {
    // SAFETY: text ends in NUL; the answer does not matter.
    unsafe { libc::faccessat(libc::AT_FDCWD, text.as_ptr(), libc::F_OK, 0) };
}

/// Drops the clean page cache and unused directory entries and inodes of the machine.
pub fn drop_caches() -> Call<()> {
    let control = openat(libc::AT_FDCWD, c"/proc/sys/vm/drop_caches", libc::O_WRONLY | libc::O_CLOEXEC, 0)?;
    let control = Held(control);
    super::data::write(control.0, b"3").map(|_| ())
}
