//! Linux native asynchronous I/O, as the library libaio reaches it: `io_submit` hands over a batch,
//! `io_getevents` waits for some of it to end. Only direct I/O is asynchronous: transfers through
//! the page cache are done by the time `io_submit` returns.

use super::slots::Slots;
use crate::os::linux::calls::last;
use crate::os::linux::engine::{Engine, Sync};
use crate::os::machine::{Call, Capabilities, Completion, Errno, Fd, QueueState, Transfer};

/// `IOCB_CMD_PREAD` and `IOCB_CMD_PWRITE` of `linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;

/// Refusals of the kernel in a row until they are an error.
const PATIENCE: u32 = 100_000;

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

/// The beginning of `struct aio_ring` of the kernel's `fs/aio.c`, which lies where a context's number
/// points to.
#[repr(C)]
#[derive(Clone, Copy)]
struct Events {
    id: u32,
    count: u32,
    head: u32,
    tail: u32,
    magic: u32,
}

/// `AIO_RING_MAGIC`.
const MAGIC: u32 = 0xa10a_10a1;

/// A context of the kernel, destroyed with this value.
struct Context(libc::c_ulong);

impl Context {
    fn new(depth: u32) -> Call<Context> {
        let mut id: libc::c_ulong = 0;
        // SAFETY: the kernel writes one number to `id`.
        match unsafe { libc::syscall(libc::SYS_io_setup, depth, &mut id) } {
            0 => Ok(Context(id)),
            _ => Err(last()),
        }
    }
}

impl Context {
    /// How many events lie ready.
    #[inline]
    fn ended(&self) -> u32 {
        // SAFETY: the kernel maps the ring there, for reading and writing, until the context is
        // destroyed; it is of at least a page. The kernel writes to it meanwhile: hence volatile.
        let events = unsafe { (self.0 as *const Events).read_volatile() };
        match events.magic == MAGIC && events.count > 0 {
            true => events.tail.wrapping_add(events.count).wrapping_sub(events.head) % events.count,
            false => 0,
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: the context is this value's own; the call waits for what is in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

/// Whether the kernel gives so many contexts of that depth.
pub fn probe(contexts: u32, depth: u32) -> Call<()> {
    let all: Call<Vec<Context>> = (0..contexts).map(|_| Context::new(depth.max(1))).collect();
    all.map(|_| ())
}

/// The engine. It has no context before [`Engine::open_queue`].
pub struct Libaio {
    // Dropped before the memory: destroying it waits for what is in flight.
    context: Option<Context>,
    /// One a slot; the kernel is given their addresses.
    blocks: Vec<libc::iocb>,
    /// What is not handed over yet.
    batch: Vec<*mut libc::iocb>,
    events: Vec<Event>,
    /// Transfers that the kernel would not take.
    refused: Vec<Event>,
    in_flight: u32,
    /// For the end of a single transfer.
    one: Vec<Completion>,
    memory: Slots,
    state: QueueState,
}

// SAFETY: the pointers point into `blocks`, which moves with the value and is never resized after
// `open_queue`.
unsafe impl Send for Libaio {}

impl Libaio {
    /// Without a queue: transfers go one call each.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Libaio {
        Libaio {
            context: None,
            blocks: Vec::new(),
            batch: Vec::new(),
            events: Vec::new(),
            refused: Vec::new(),
            in_flight: 0,
            one: Vec::new(),
            memory: Slots::none(),
            state: QueueState::default(),
        }
    }

    #[inline]
    fn lay_in(&mut self, transfer: &Transfer) -> Call<()> {
        let block = self.blocks.get_mut(transfer.slot as usize).ok_or(Errno(libc::EINVAL))?;
        let address = self.memory.claim(transfer.slot, transfer.len)?;
        block.aio_data = u64::from(transfer.slot);
        block.aio_lio_opcode = if transfer.write { PWRITE } else { PREAD };
        block.aio_fildes = transfer.fd as u32;
        block.aio_buf = address as u64;
        block.aio_nbytes = u64::from(transfer.len);
        block.aio_offset = transfer.offset as i64;
        self.batch.push(block);
        self.in_flight += 1;
        Ok(())
    }

    /// Hands the batch over, all of it.
    #[inline]
    fn submit(&mut self) -> Call<()> {
        let Some(id) = self.context.as_ref().map(|context| context.0) else { return Ok(()) };
        let mut done = 0;
        let mut patience = PATIENCE;
        while let Some(rest) = self.batch.get(done..).filter(|rest| !rest.is_empty()) {
            let (count, blocks) = (rest.len() as libc::c_long, rest.as_ptr());
            // SAFETY: every pointer is to a block of a slot that is in flight, whose memory stays
            // until it is reaped.
            let taken = unsafe { libc::syscall(libc::SYS_io_submit, id, count, blocks) };
            match taken {
                1.. => {
                    done += taken as usize;
                    patience = PATIENCE;
                    self.state.submissions += 1;
                }
                0 if patience > 0 => {
                    patience -= 1;
                    self.state.retries += 1;
                }
                _ => match last() {
                    Errno(libc::EAGAIN | libc::EINTR) if patience > 0 => {
                        patience -= 1;
                        self.state.retries += 1;
                        std::thread::yield_now();
                    }
                    // The first one cannot be taken at all: it ends with this error.
                    errno if done < self.batch.len() => {
                        let refused = rest.first().copied();
                        self.fail_first(refused, errno);
                        done += 1;
                    }
                    errno => return Err(errno),
                },
            }
        }
        self.batch.clear();
        Ok(())
    }

    #[cold]
    fn fail_first(&mut self, refused: Option<*mut libc::iocb>, errno: Errno) {
        let slot = self.blocks.iter().position(|block| Some(std::ptr::from_ref(block).cast_mut()) == refused);
        if let Some(slot) = slot {
            let result = -i64::from(errno.0);
            self.refused.push(Event { data: slot as u64, result, ..Event::default() });
        }
    }

    #[inline]
    fn ended(&mut self, event: Event, into: &mut Vec<Completion>) {
        let slot = event.data as u32;
        self.memory.release(slot);
        self.in_flight -= 1;
        into.push(Completion { slot, result: event.result as i32 });
    }
}

impl Engine for Libaio {
    fn read(&mut self, fd: Fd, offset: Option<u64>, buffer: &mut [u8]) -> Call<usize> {
        Sync.read(fd, offset, buffer)
    }

    fn write(&mut self, fd: Fd, offset: Option<u64>, data: &[u8]) -> Call<usize> {
        Sync.write(fd, offset, data)
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "libaio", max_depth: 65536, direct: true }
    }

    fn open_queue(&mut self, depth: u32, slots: u32, len: usize) -> Call<()> {
        self.memory = Slots::new(slots, len)?;
        self.context = Some(Context::new(depth.max(1))?);
        // SAFETY: an iocb is plain numbers, for which zeros are valid.
        self.blocks = (0..slots).map(|_| unsafe { std::mem::zeroed() }).collect();
        self.batch = Vec::with_capacity(depth as usize);
        self.events = vec![Event::default(); depth as usize];
        Ok(())
    }

    #[inline]
    fn slot(&mut self, slot: u32) -> &mut [u8] {
        self.memory.get(slot)
    }

    fn exchange(&mut self, batch: &[Transfer], at_least: u32, into: &mut Vec<Completion>) -> Call<()> {
        for transfer in batch {
            self.lay_in(transfer)?;
        }
        if !self.batch.is_empty() {
            self.submit()?;
        }
        if at_least == 0 {
            return Ok(());
        }
        let mut wanted = at_least.min(self.in_flight);
        while let Some(event) = self.refused.pop() {
            self.ended(event, into);
            wanted = wanted.saturating_sub(1);
        }
        let Some(context) = &self.context else { return Ok(()) };
        let id = context.0;
        loop {
            let (most, events) = (self.events.len() as libc::c_long, self.events.as_mut_ptr());
            let none = std::ptr::null::<libc::timespec>();
            // SAFETY: the kernel writes at most `most` events to the vector.
            let taken = unsafe {
                libc::syscall(libc::SYS_io_getevents, id, wanted as libc::c_long, most, events, none)
            };
            if taken < 0 {
                match last() {
                    Errno(libc::EINTR | libc::EAGAIN) => {
                        self.state.retries += 1;
                        continue;
                    }
                    errno => return Err(errno),
                }
            }
            for at in 0..taken as usize {
                let event = self.events.get(at).copied().unwrap_or_default();
                self.ended(event, into);
            }
            wanted = wanted.saturating_sub(taken as u32);
            if wanted == 0 {
                return Ok(());
            }
        }
    }

    fn ended(&self) -> u32 {
        self.context.as_ref().map_or(0, Context::ended)
    }

    fn transfer_one(&mut self, transfer: Transfer) -> Call<usize> {
        let mut ended = std::mem::take(&mut self.one);
        ended.clear();
        let exchanged = self.exchange(&[transfer], 1, &mut ended);
        let result = ended.pop();
        self.one = ended;
        exchanged?;
        result.map_or(Err(Errno(libc::EBUSY)), Completion::result)
    }

    fn queue_state(&self) -> QueueState {
        self.state.clone()
    }
}
