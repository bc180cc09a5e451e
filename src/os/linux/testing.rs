//! File systems made for a test, and calls refused to it, where the machine lets us.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file system in memory, gone when dropped.
pub struct Mounted(CString);

impl Mounted {
    /// `None` where mounting is not permitted. `options` are those of tmpfs.
    pub fn tmpfs(path: &Path, options: &CStr) -> Option<Mounted> {
        let point = CString::new(path.as_os_str().as_bytes()).unwrap();
        let kind = c"tmpfs".as_ptr();
        // SAFETY: all texts end in NUL.
        let done = unsafe { libc::mount(kind, point.as_ptr(), kind, 0, options.as_ptr().cast()) };
        (done == 0).then_some(Mounted(point))
    }

    /// Makes it read-only.
    pub fn freeze(&self) {
        let (point, flags) = (self.0.as_ptr(), libc::MS_REMOUNT | libc::MS_RDONLY);
        // SAFETY: the path ends in NUL; nothing else is needed to mount again.
        let done = unsafe { libc::mount(std::ptr::null(), point, std::ptr::null(), flags, std::ptr::null()) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // SAFETY: the path ends in NUL.
        unsafe { libc::umount2(self.0.as_ptr(), libc::MNT_DETACH) };
    }
}

/// Makes the kernel answer `errno` to system call `number`, as the sandboxes of containers do,
/// for the calling thread and for good. False where that is not permitted.
pub fn refuse(number: libc::c_long, errno: i32) -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut lines = [
        // The number of the call is the first field of `struct seccomp_data`.
        line(LOAD, 0, 0, 0),
        line(EQUAL, 0, 1, number as u32),
        line(ANSWER, 0, 0, libc::SECCOMP_RET_ERRNO | errno as u32),
        line(ANSWER, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: lines.len() as u16, filter: lines.as_mut_ptr() };
    // SAFETY: the filter lives through the call, which copies it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0
    }
}
