//! One worker of the simulation: its clock, its descriptors, and how a call goes whatever it is: its
//! fate, its work, its time, its trace. Which calls there are is said in `calls`.
//!
//! What is not a transfer is refused (`EBUSY`) on open files while transfers are in flight, which shows
//! that they were waited for.

use super::disk::{Disk, Ino, ROOT};
use super::script::{Faults, Op};
use super::shared::Shared;
use super::trace::{Detail, Event, Shown, shown};
use super::transfer::Open;
use crate::os::machine::{Call, Completion, Errno, Fd, Nanos};
use std::ffi::CStr;
use std::sync::Arc;

/// Descriptor of the root; 0 to 2 are a process's own.
pub(super) const ROOT_FD: Fd = 3;

pub(super) const EBADF: Errno = Errno(libc::EBADF);
pub(super) const EINVAL: Errno = Errno(libc::EINVAL);

/// What a call is about, for the trace.
#[derive(Clone, Copy)]
pub(super) enum About<'a> {
    Nothing,
    File(Fd),
    Files(Fd, Fd),
    Path(Fd, &'a CStr),
    Paths(Fd, &'a CStr, Fd, &'a CStr),
}

/// The simulated machine as one worker sees it.
pub struct Sim {
    pub(super) shared: Arc<Shared>,
    pub(super) worker: u32,
    pub(super) clock: Nanos,
    pub(super) faults: Faults,
    /// How many times as long this worker's calls take.
    slowness: u64,
    pub(super) tracing: bool,
    pub(super) files: Vec<Option<Open>>,
    /// Descriptors to use again.
    pub(super) closed: Vec<Fd>,
    pub(super) slots: usize,
    pub(super) in_flight: Vec<(Nanos, Completion)>,
}

impl Sim {
    pub(super) fn new(shared: Arc<Shared>, worker: u32) -> Sim {
        let options = &shared.options;
        let slow = options.script.slow_worker.filter(|slow| slow.0 == worker);
        let root = Open { ino: ROOT, flags: libc::O_DIRECTORY, align: 1, position: 0, name: ".".into() };
        let mut files: Vec<Option<Open>> = Vec::new();
        files.resize_with(ROOT_FD as usize, || None);
        files.push(Some(root));
        let sim = Sim {
            worker,
            clock: 0,
            faults: Faults::new(&options.script, worker),
            slowness: slow.map_or(1, |slow| u64::from(slow.1)),
            tracing: options.trace > 0,
            files,
            closed: Vec::new(),
            slots: 0,
            in_flight: Vec::new(),
            shared,
        };
        if let Ok(root) = sim.shared.disk().inode_mut(ROOT) {
            root.opens += 1;
        }
        sim
    }

    /// Whether calls are being remembered now.
    #[inline]
    pub(super) fn recording(&self) -> bool {
        self.tracing && self.shared.recording()
    }

    /// Sets the clock forward; a time that has passed changes nothing.
    pub fn advance_to(&mut self, time: Nanos) {
        self.clock = self.clock.max(time);
    }

    #[inline]
    pub(super) fn file(&self, fd: Fd) -> Call<&Open> {
        // A negative number is beyond every table.
        self.files.get(fd as usize).and_then(Option::as_ref).ok_or(EBADF)
    }

    #[inline]
    pub(super) fn file_mut(&mut self, fd: Fd) -> Call<&mut Open> {
        self.files.get_mut(fd as usize).and_then(Option::as_mut).ok_or(EBADF)
    }

    /// A file open for more than its name.
    pub(super) fn real(&self, fd: Fd) -> Call<&Open> {
        self.file(fd).and_then(|open| if open.flags & libc::O_PATH == 0 { Ok(open) } else { Err(EBADF) })
    }

    pub(super) fn time(&self, op: Op, bytes: u64, stall: Nanos) -> Nanos {
        (self.shared.options.latency.of(op, bytes) * self.slowness).saturating_add(stall)
    }

    /// One call: its fate, its work, its time, its trace.
    pub(super) fn call<T: Shown + Copy>(
        &mut self,
        op: Op,
        about: About<'_>,
        detail: impl FnOnce() -> Detail,
        work: impl FnOnce(&mut Self) -> Call<T>,
    ) -> Call<T> {
        let name = self.recording().then(|| self.name(about));
        let fate = self.faults.of(op);
        let result = match fate.errno {
            Some(errno) => Err(errno),
            // No machine says so; but the interpreter must never come to it.
            None if !self.in_flight.is_empty() && matches!(about, About::File(_) | About::Files(..)) => {
                Err(Errno(libc::EBUSY))
            }
            None => work(self),
        };
        let bytes = match (&result, op) {
            (Ok(value), Op::CopyRange) => value.shown().unwrap_or(0),
            _ => 0,
        };
        self.clock = self.clock.saturating_add(self.time(op, bytes, fate.stall));
        if let Some(name) = name {
            let (worker, detail, result) = (self.worker, detail(), shown(&result));
            self.shared.record(Event { worker, op, name, detail, result });
        }
        result
    }

    /// A call on names.
    pub(super) fn at<T: Shown + Copy>(
        &mut self,
        op: Op,
        (dir, path): (Fd, &CStr),
        detail: impl FnOnce() -> Detail,
        work: impl FnOnce(&mut Disk, Ino) -> Call<T>,
    ) -> Call<T> {
        self.call(op, About::Path(dir, path), detail, |sim| {
            crate::os::path::is_bare(path)?;
            let dir = sim.file(dir)?.ino;
            work(&mut sim.shared.disk(), dir)
        })
    }

    /// A call on an open file that only has to be one.
    pub(super) fn on(&mut self, op: Op, fd: Fd, detail: Detail) -> Call<()> {
        self.call(op, About::File(fd), || detail, |sim| sim.real(fd).map(|_| ()))
    }

    pub(super) fn name(&self, about: About<'_>) -> String {
        let of = |fd| self.file(fd).map_or_else(|_| format!("fd {fd}"), |open| open.name.to_string());
        let at = |dir, path: &CStr| match of(dir).as_str() {
            "." => path.to_string_lossy().into_owned(),
            above => format!("{above}/{}", path.to_string_lossy()),
        };
        match about {
            About::Nothing => String::new(),
            About::File(fd) => of(fd),
            About::Files(from, to) => format!("{} -> {}", of(from), of(to)),
            About::Path(dir, path) => at(dir, path),
            About::Paths(dir, from, to_dir, to) => format!("{} -> {}", at(dir, from), at(to_dir, to)),
        }
    }

    /// Puts an open file at a free place of the table.
    pub(super) fn number(&mut self, open: Open) -> Fd {
        match self.closed.pop() {
            Some(fd) => {
                if let Some(place) = self.files.get_mut(fd as usize) {
                    *place = Some(open);
                }
                fd
            }
            None => {
                self.files.push(Some(open));
                (self.files.len() - 1) as Fd
            }
        }
    }

    pub(super) fn release(&mut self, fd: Fd) -> Call<()> {
        let open = self.files.get_mut(fd as usize).and_then(Option::take).ok_or(EBADF)?;
        let mut disk = self.shared.disk();
        disk.inode_mut(open.ino)?.opens -= 1;
        disk.release(open.ino)
    }
}

/// The end of a worker closes what it had open.
impl Drop for Sim {
    fn drop(&mut self) {
        for fd in 0..self.files.len() {
            let _ = self.release(fd as Fd);
        }
    }
}
