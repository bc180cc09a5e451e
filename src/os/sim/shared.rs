//! What simulated workers share, and what a test asks it afterwards.

use super::content::Extent;
use super::disk::{Body, Disk, ROOT};
use super::latency::Latency;
use super::script::Script;
use super::trace::Event;
use super::worker::Sim;
use crate::os::machine::{Call, Errno, FsStat, Stat};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The simulated machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Bytes of the disk.
    pub space: u64,
    /// Files, directories and links it can hold, the root counted.
    pub inodes: u64,
    /// Descriptors each worker may have open, the root counted.
    pub descriptors: u32,
    /// How long calls take.
    pub latency: Latency,
    /// What goes wrong.
    pub script: Script,
    /// Calls of each worker to remember; 0 for no trace.
    pub trace: usize,
    /// Whether the trace begins only with [`SimFs::start_trace`].
    pub trace_later: bool,
    /// Whether directories show the names in them (sorted), and not only how many there are: costs
    /// memory for every name.
    pub names: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            space: 1 << 40,
            inodes: 1 << 28,
            descriptors: 1 << 20,
            latency: Latency::default(),
            script: Script::default(),
            trace: 0,
            trace_later: false,
            names: false,
        }
    }
}

/// A file system in memory. Clones are the same one.
#[derive(Clone)]
pub struct SimFs {
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Shared {
    /// As given at the start.
    pub options: Options,
    disk: Mutex<Disk>,
    recording: AtomicBool,
    /// By worker.
    trace: Mutex<BTreeMap<u32, Vec<Event>>>,
}

/// A worker that panicked leaves a whole disk: every call is done before its lock is given back.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The disk, locked.
    #[inline]
    pub fn disk(&self) -> MutexGuard<'_, Disk> {
        lock(&self.disk)
    }

    /// Whether calls are remembered now.
    #[inline]
    pub fn recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }

    /// Remembers a call, up to the number of calls each worker may have.
    pub fn record(&self, event: Event) {
        let mut trace = lock(&self.trace);
        let own = trace.entry(event.worker).or_default();
        if own.len() < self.options.trace {
            own.push(event);
        }
    }
}

impl SimFs {
    /// An empty file system on a machine of this kind.
    pub fn new(options: Options) -> SimFs {
        let mut disk = Disk::new(options.space, options.inodes);
        disk.keep_names(options.names);
        let disk = Mutex::new(disk);
        let recording = AtomicBool::new(!options.trace_later);
        SimFs { shared: Arc::new(Shared { options, disk, recording, trace: Mutex::default() }) }
    }

    /// The machine as worker number `worker` sees it, its clock at 0.
    pub fn worker(&self, worker: u32) -> Sim {
        Sim::new(Arc::clone(&self.shared), worker)
    }

    /// Begins to remember calls, where the options say it is to begin later.
    pub fn start_trace(&self) {
        self.shared.recording.store(true, Ordering::Relaxed);
    }

    /// Calls remembered of each worker so far.
    pub fn traced(&self) -> BTreeMap<u32, usize> {
        lock(&self.shared.trace).iter().map(|(worker, events)| (*worker, events.len())).collect()
    }

    /// What a path below the root names.
    pub fn stat(&self, path: &str) -> Call<Stat> {
        let path = CString::new(path).map_err(|_| Errno(libc::EINVAL))?;
        let disk = self.shared.disk();
        disk.stat(disk.object(ROOT, &path)?)
    }

    /// What a file holds up to its end; holes are left out.
    pub fn extents(&self, path: &str) -> Call<Vec<Extent>> {
        let path = CString::new(path).map_err(|_| Errno(libc::EINVAL))?;
        let disk = self.shared.disk();
        let inode = disk.inode(disk.object(ROOT, &path)?)?;
        match &inode.body {
            Body::File(content) => Ok(content.parts(0, inode.size)),
            _ => Err(Errno(libc::EISDIR)),
        }
    }

    /// Space and inodes of the whole disk.
    pub fn statfs(&self) -> FsStat {
        self.shared.disk().statfs()
    }

    /// Bytes written since the beginning, by all workers.
    pub fn written(&self) -> u64 {
        self.shared.disk().written
    }

    /// Looks at the calls remembered so far without copying them, in the order of [`SimFs::trace`].
    pub fn look(&self, mut see: impl FnMut(&Event)) {
        lock(&self.shared.trace).values().flatten().for_each(&mut see);
    }

    /// The calls remembered so far, worker by worker, each in its order.
    pub fn trace(&self) -> Vec<Event> {
        lock(&self.shared.trace).values().flatten().cloned().collect()
    }
}
