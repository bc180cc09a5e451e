//! Transfers as C's buffered files make them: the file is asked for its preferred block at the
//! first transfer, whole blocks go through, the rest waits.

use crate::os::{Call, Os, Whence};
use crate::plan::instr::{Args, SetId};
use crate::vm::claims::ClaimUnit;
use crate::vm::fault::Flow;
use crate::vm::stdio::buffer;
use crate::vm::worker::Worker;

/// Largest block a plan makes room for.
pub const LARGEST_BLOCK: u64 = 1 << 20;

/// One data step of `amount` bytes, handed to the buffer in pieces of `block`.
pub fn step<O: Os, const WRITE: bool>(worker: &mut Worker<O>, args: &Args, amount: u64, block: u64) -> Flow {
    let piece = if block == 0 { amount } else { block };
    let mut left = amount;
    while left > 0 {
        let len = left.min(piece);
        let flow = if WRITE { write(worker, args, len) } else { read(worker, args, len) };
        if flow != Flow::Next {
            return flow;
        }
        left -= len;
    }
    Flow::Next
}

/// The file's block, asked for at the first transfer.
fn block<O: Os>(worker: &mut Worker<O>, set: SetId) -> Call<u64> {
    let file = worker.hands[usize::from(set)].file;
    if file.stdio_block != 0 {
        return Ok(u64::from(file.stdio_block));
    }
    let block = buffer(&worker.os.fstat(file.fd)?);
    worker.hands[usize::from(set)].file.stdio_block = block as u32;
    Ok(block)
}

fn write<O: Os>(worker: &mut Worker<O>, args: &Args, len: u64) -> Flow {
    let set = usize::from(args.set);
    let before_first = worker.hands[set].file.stdio_block == 0;
    if before_first && worker.hands[set].file.append {
        // A file opened for appending is positioned at its end before the buffer is set up.
        let fd = worker.hands[set].file.fd;
        if let Err(errno) = worker.os.seek(fd, 0, Whence::End) {
            return worker.settle(args, Err(errno), "lseek");
        }
    }
    let block = match block(worker, args.set) {
        Ok(block) => block,
        Err(errno) => return worker.settle(args, Err(errno), "fstat"),
    };
    let pending = u64::from(worker.hands[set].file.stdio_pending);
    let room = if pending == 0 { 0 } else { block - pending };
    if pending > 0 && len <= room {
        worker.hands[set].file.stdio_pending = (pending + len) as u32;
        return Flow::Next;
    }
    let mut left = len;
    if pending > 0 {
        // The buffer is filled and goes out before anything else.
        left -= room;
        worker.hands[set].file.stdio_pending = block as u32;
        if let Some(flow) = flush_counted(worker, args) {
            return flow;
        }
    }
    let direct = left - left % block;
    if direct > 0
        && let Some(flow) = put(worker, args, direct)
    {
        return flow;
    }
    worker.hands[set].file.stdio_pending = (left - direct) as u32;
    Flow::Next
}

/// Writes out what is held back, as an operation of the step. `Some`: it did not work.
fn flush_counted<O: Os>(worker: &mut Worker<O>, args: &Args) -> Option<Flow> {
    let pending = u64::from(worker.hands[usize::from(args.set)].file.stdio_pending);
    worker.hands[usize::from(args.set)].file.stdio_pending = 0;
    put(worker, args, pending)
}

fn put<O: Os>(worker: &mut Worker<O>, args: &Args, len: u64) -> Option<Flow> {
    if worker.is_over() || !worker.may_go_on(ClaimUnit::Transfers, len) {
        return Some(Flow::Over);
    }
    worker.last_stdio = (args.stat, args.data);
    match worker.write_buffered(args.set, len) {
        Ok(()) => {
            worker.finish(args.stat, len, len);
            None
        }
        Err(errno) if Worker::<O>::expects(args, errno) => Some(worker.settle(args, Err(errno), "write")),
        Err(errno) => {
            worker.member_path(args.set);
            let at = worker.hands[usize::from(args.set)].file.size;
            Some(worker.fail("write", Some(at), Some(len), Some(errno), None))
        }
    }
}

fn read<O: Os>(worker: &mut Worker<O>, args: &Args, len: u64) -> Flow {
    let set = usize::from(args.set);
    let block = match block(worker, args.set) {
        Ok(block) => block,
        Err(errno) => return worker.settle(args, Err(errno), "fstat"),
    };
    let ready = u64::from(worker.hands[set].file.stdio_ready);
    if len <= ready {
        worker.hands[set].file.stdio_ready = (ready - len) as u32;
        return Flow::Next;
    }
    let mut left = len - ready;
    worker.hands[set].file.stdio_ready = 0;
    let direct = left - left % block;
    if direct > 0 {
        match get(worker, args, direct) {
            Ok(n) if n < direct => return Flow::Next,
            Ok(_) => left -= direct,
            Err(flow) => return flow,
        }
    }
    if left > 0 {
        match get(worker, args, block) {
            Ok(n) => worker.hands[set].file.stdio_ready = n.saturating_sub(left) as u32,
            Err(flow) => return flow,
        }
    }
    Flow::Next
}

fn get<O: Os>(worker: &mut Worker<O>, args: &Args, len: u64) -> Result<u64, Flow> {
    if worker.is_over() || !worker.may_go_on(ClaimUnit::Transfers, len) {
        return Err(Flow::Over);
    }
    let file = worker.hands[usize::from(args.set)].file;
    match worker.os.read(file.fd, None, worker.buffers.reading(len as usize)) {
        Ok(n) => {
            worker.hands[usize::from(args.set)].file.cursor += n as u64;
            worker.finish(args.stat, n as u64, len);
            Ok(n as u64)
        }
        Err(errno) if Worker::<O>::expects(args, errno) => Err(worker.settle(args, Err(errno), "read")),
        Err(errno) => {
            worker.member_path(args.set);
            Err(worker.fail("read", Some(file.cursor), Some(len), Some(errno), None))
        }
    }
}
