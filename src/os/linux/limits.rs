//! What a process is allowed: open files, file sizes, privileges, timers.
//!
//! Set once before a run. Nothing here knows what the run will need.

use super::calls::last;
use crate::os::machine::Call;

/// Raises the limit of open descriptors as far as this user may, and returns it with the hard
/// limit. On an error the limit is what it was.
///
/// # Errors
/// What `getrlimit(2)` and `setrlimit(2)` list; `EPERM` where the hard limit is above what the
/// kernel allows (`fs.nr_open`).
pub fn raise_descriptor_limit() -> Call<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel fills the structure, which lives through the call.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } == -1 {
        return Err(last());
    }
    if limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = limit.rlim_max;
        // SAFETY: the structure lives through the call.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } == -1 {
            return Err(last());
        }
    }
    // The fields' types differ between processors.
    #[allow(clippy::unnecessary_cast)]
    let limits = (limit.rlim_cur as u64, limit.rlim_max as u64);
    Ok(limits)
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail with `EFBIG` instead of ending
/// the program.
pub fn ignore_file_size_signal() {
    // SAFETY: ignoring a signal installs no code to run.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Whether the program runs with the rights of root.
pub fn is_root() -> bool {
    // SAFETY: takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Lets sleeps of the calling thread end on time: by default the kernel may add 50 microseconds
/// to save power, which is many operations of a fast device.
pub fn sharpen_sleep() {
    // SAFETY: takes numbers only; where it is refused, sleeps are as exact as they were.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_becomes_the_hard_one() {
        let (soft, hard) = raise_descriptor_limit().unwrap();
        assert_eq!(soft, hard);
        assert!(soft > 0);
        assert_eq!(raise_descriptor_limit(), Ok((soft, hard)), "a second time changes nothing");
    }

    #[test]
    fn root_is_who_owns_what_it_makes() {
        use std::os::unix::fs::MetadataExt;
        let file = tempfile::tempfile().unwrap();
        assert_eq!(is_root(), file.metadata().unwrap().uid() == 0);
    }
}
