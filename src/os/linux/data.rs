//! The four calls that move data: `read`, `pread`, `write`, `pwrite`.
//!
//! They are what a test is made of, so they enter the kernel with the bare instruction: the C
//! library's wrappers are cancellation points, which in a program with threads costs as many
//! instructions again as the rest of an operation. Other processors than the two below go
//! through the C library. Nothing here knows what is read or why.

use crate::os::machine::{Call, Errno, Fd};

/// What the kernel returned: a count, or an error number negated.
#[inline(always)]
fn decode(returned: isize) -> Call<usize> {
    if returned >= 0 { Ok(returned as usize) } else { Err(Errno(-returned as i32)) }
}

/// Repeats a call that a signal interrupted before it moved anything.
macro_rules! transfer {
    ($call:expr) => {
        loop {
            match decode($call) {
                Err(Errno(libc::EINTR)) => {}
                done => return done,
            }
        }
    };
}

/// Reads at the file's own position.
#[inline]
pub fn read(fd: Fd, buffer: &mut [u8]) -> Call<usize> {
    let (at, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most `len` bytes to `at`, all of them in the borrowed slice.
    transfer!(unsafe { kernel::call(libc::SYS_read, fd, at, len, 0) })
}

/// Reads at a byte offset.
#[inline(always)]
pub fn pread(fd: Fd, buffer: &mut [u8], offset: u64) -> Call<usize> {
    let (at, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    // SAFETY: the kernel writes at most `len` bytes to `at`, all of them in the borrowed slice.
    transfer!(unsafe { kernel::call(libc::SYS_pread64, fd, at, len, offset) })
}

/// Writes at the file's own position.
#[inline]
pub fn write(fd: Fd, data: &[u8]) -> Call<usize> {
    let (at, len) = (data.as_ptr() as usize, data.len());
    // SAFETY: the kernel reads at most `len` bytes from `at`, all of them in the borrowed slice.
    transfer!(unsafe { kernel::call(libc::SYS_write, fd, at, len, 0) })
}

/// Writes at a byte offset.
#[inline(always)]
pub fn pwrite(fd: Fd, data: &[u8], offset: u64) -> Call<usize> {
    let (at, len) = (data.as_ptr() as usize, data.len());
    // SAFETY: the kernel reads at most `len` bytes from `at`, all of them in the borrowed slice.
    transfer!(unsafe { kernel::call(libc::SYS_pwrite64, fd, at, len, offset) })
}

#[cfg(target_arch = "x86_64")]
mod kernel {
    /// # Safety
    /// `at` and `len` must be memory that the call `number` may read or write.
    #[inline(always)]
    pub unsafe fn call(number: i64, fd: i32, at: usize, len: usize, offset: u64) -> isize {
        let returned: isize;
        // SAFETY: the system call convention of x86-64: the kernel changes rax, rcx and r11
        // only, does not touch the stack, and the caller vouches for the memory.
        unsafe {
            std::arch::asm!("syscall", inlateout("rax") number as isize => returned,
                in("rdi") fd as isize, in("rsi") at, in("rdx") len, in("r10") offset,
                lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
        }
        returned
    }
}

#[cfg(target_arch = "aarch64")]
mod kernel {
    /// # Safety
    /// `at` and `len` must be memory that the call `number` may read or write.
    #[inline(always)]
    pub unsafe fn call(number: i64, fd: i32, at: usize, len: usize, offset: u64) -> isize {
        let returned: isize;
        // SAFETY: the system call convention of arm64: the kernel changes x0 only, does not
        // touch the stack, and the caller vouches for the memory.
        unsafe {
            std::arch::asm!("svc 0", in("x8") number, inlateout("x0") fd as isize => returned,
                in("x1") at, in("x2") len, in("x3") offset, options(nostack, preserves_flags));
        }
        returned
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod kernel {
    /// # Safety
    /// `at` and `len` must be memory that the call `number` may read or write.
    #[inline]
    pub unsafe fn call(number: libc::c_long, fd: i32, at: usize, len: usize, offset: u64) -> isize {
        // An offset that does not fit is as negative here as it is to a kernel of 64 bits.
        let at_offset = offset as libc::off64_t;
        // SAFETY: the caller vouches for the memory.
        let returned = unsafe {
            match number {
                libc::SYS_read => libc::read(fd, at as *mut libc::c_void, len),
                libc::SYS_write => libc::write(fd, at as *const libc::c_void, len),
                libc::SYS_pread64 => libc::pread64(fd, at as *mut libc::c_void, len, at_offset),
                _ => libc::pwrite64(fd, at as *const libc::c_void, len, at_offset),
            }
        };
        if returned >= 0 { returned } else { -(super::super::calls::last().0 as isize) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn what_is_written_is_read() {
        let file = tempfile::tempfile().unwrap();
        let fd = file.as_raw_fd();
        assert_eq!(write(fd, b"hello "), Ok(6));
        assert_eq!(write(fd, b"world"), Ok(5));
        assert_eq!(pwrite(fd, b"W", 6), Ok(1));
        let mut buffer = [0; 16];
        assert_eq!(read(fd, &mut buffer), Ok(0), "the position is at the end");
        assert_eq!(pread(fd, &mut buffer, 3), Ok(8));
        assert_eq!(&buffer[..8], b"lo World");
        assert_eq!(pread(fd, &mut buffer, 11), Ok(0));
    }

    #[test]
    fn errors_come_back_as_numbers() {
        let mut buffer = [0; 1];
        assert_eq!(pread(-1, &mut buffer, 0), Err(Errno(libc::EBADF)));
        assert_eq!(write(-1, &buffer), Err(Errno(libc::EBADF)));
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(pread(file.as_raw_fd(), &mut buffer, u64::MAX), Err(Errno(libc::EINVAL)));
        assert_eq!(pwrite(file.as_raw_fd(), &buffer, 0), Err(Errno(libc::EBADF)));
    }
}
