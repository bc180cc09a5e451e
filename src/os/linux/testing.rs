//! File systems made for a test, where the machine lets us.

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
