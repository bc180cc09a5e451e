//! Several engines of one worker, of which one is in use at a time.

use super::any::Any;
use crate::os::linux::engine::{Engine, Sync};
use crate::os::machine::{Call, Capabilities, Completion, Fd, PLAIN, QueueState, Transfer};

/// The engines of a plan by their number there; the first one is in use to begin with.
pub struct Several {
    current: Any,
    /// The others; the place of the one in use holds nothing.
    kept: Vec<Option<Any>>,
    at: usize,
    /// Transfers go one plain call each ([`PLAIN`]).
    plain: bool,
}

impl Several {
    /// Without any engine transfers go one plain call each.
    pub fn new(engines: Vec<Any>) -> Several {
        let mut kept: Vec<_> = engines.into_iter().map(Some).collect();
        let current = kept.first_mut().and_then(Option::take).unwrap_or(Any::Sync(Sync));
        Several { current, kept, at: 0, plain: false }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Any> {
        std::iter::once(&mut self.current).chain(self.kept.iter_mut().flatten())
    }
}

impl Engine for Several {
    #[inline(always)]
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        if self.plain { Sync.read(fd, offset, buffer) } else { self.current.read(fd, offset, buffer) }
    }

    #[inline(always)]
    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        if self.plain { Sync.write(fd, offset, data) } else { self.current.write(fd, offset, data) }
    }

    fn capabilities(&self) -> Capabilities {
        self.current.capabilities()
    }

    fn closing(&mut self, fd: Fd) {
        self.all().for_each(|engine| engine.closing(fd));
    }

    fn resized(&mut self, fd: Fd) {
        self.all().for_each(|engine| engine.resized(fd));
    }

    fn use_engine(&mut self, engine: u8) {
        self.plain = engine == PLAIN;
        let to = usize::from(engine);
        let Some(next) = self.kept.get_mut(to).and_then(Option::take) else { return };
        let last = std::mem::replace(&mut self.current, next);
        if let Some(place) = self.kept.get_mut(self.at) {
            *place = Some(last);
        }
        self.at = to;
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        self.current.open_queue(depth, slots, len)
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.current.slot(slot)
    }

    #[inline]
    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        self.current.exchange(batch, at_least, into)
    }

    #[inline]
    fn ended(&self) -> u32 {
        self.current.ended()
    }

    #[inline]
    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        self.current.transfer_one(transfer)
    }

    /// Of the one in use.
    fn queue_state(&self) -> QueueState {
        self.current.queue_state()
    }
}
