//! Direct I/O by preference: asked for when a file is opened, and given up where the machine refuses
//! it, be it only at the first transfer. That it was given up is remembered for the record.

use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Os};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Opens the path that was put together last, with direct I/O where that is preferred and to be
    /// had.
    pub fn open_path(&mut self, dir: Fd, flags: i32, mode: u32, prefer_direct: bool) -> Call<Fd> {
        if !prefer_direct {
            return self.with_path(|os, path| os.open(dir, path, flags, mode));
        }
        match self.with_path(|os, path| os.open(dir, path, flags | libc::O_DIRECT, mode)) {
            Err(errno) if [libc::EINVAL, libc::EOPNOTSUPP].contains(&errno.0) => {
                self.refused_direct.get_or_insert(("open", errno));
                // A file to be created may be there by now: kernels make it before they look at this flag.
                let again = flags & !libc::O_EXCL;
                self.with_path(|os, path| os.open(dir, path, again, mode))
            }
            opened => opened,
        }
    }

    /// After a transfer that was refused. True: the file was open for direct I/O by preference only,
    /// and further transfers go through the page cache.
    #[cold]
    pub fn gives_up_direct(&mut self, args: &Args, fd: Fd, call: &'static str, errno: Errno) -> bool {
        if errno.0 != libc::EINVAL || !self.prefers_direct(args) {
            return false;
        }
        let given_up = self.os.make_buffered(fd) == Ok(true);
        if given_up {
            self.refused_direct.get_or_insert((call, errno));
        }
        given_up
    }

    /// Whether a transfer may have been refused because it was in flight when its file's direct I/O
    /// was given up.
    #[cold]
    pub fn was_direct(&mut self, args: &Args, errno: Errno) -> bool {
        errno.0 == libc::EINVAL && self.refused_direct.is_some() && self.prefers_direct(args)
    }

    fn prefers_direct(&self, args: &Args) -> bool {
        let kept = self.plan.sets.get(usize::from(args.set)).is_some_and(|set| set.prefer_direct);
        let opened = |other: &Args| other.set == args.set && other.opening.prefer_direct;
        kept || self.plan.args.iter().any(opened)
    }
}
