//! Reading and writing. Each transfer is one operation with its own latency; a step that moves
//! several is timed as a whole too.

use super::row::*;
use super::table::family;
use crate::os::{Call, Errno, Fd, Os, Recipe};
use crate::plan::instr::*;
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::buffers::Buffers;
use crate::vm::claims::ClaimUnit;
use crate::vm::draw::{hot, permute};
use crate::vm::fault::Flow;
use crate::vm::flight::Queued;
use crate::vm::hand::CLOSED;
use crate::vm::random::Purpose;
use crate::vm::worker::Worker;

/// Bytes a transfer when a whole file is read or written without a block size: what copying
/// programs use today.
pub const WHOLE_BLOCK: u64 = 128 << 10;

const VERIFY: Field =
    Field::new("verify", Kind::Bool, "check that what was read is what `data` (zero or {byte: x}) says");

family! {
    {
        verb: Verb {
            name: "read",
            group: "data",
            doc: "Reads from the file in hand, `whole` or so many bytes. At the end of the file `at: next` starts again.",
            object: Some(Kind::OneOf(&[Kind::Choice(&["whole"]), Kind::Distribution])),
            bare: false,
            args: &[IN, PICK, BLOCK, AT, REMAINDER, DATA, VERIFY, ENGINE],
        },
        object: Object::Amount, counts: Counts::Data, run: read, needs_open: true,
    },
    {
        verb: Verb {
            name: "write",
            group: "data",
            doc: "Writes to the file in hand.",
            object: Some(Kind::OneOf(&[Kind::Choice(&["whole"]), Kind::Distribution])),
            bare: false,
            args: &[IN, PICK, BLOCK, AT, REMAINDER, DATA, ENGINE],
        },
        object: Object::Amount, counts: Counts::Data, run: write, needs_open: true,
    },
    {
        verb: Verb {
            name: "append",
            group: "data",
            doc: "Writes at the end of the file in hand.",
            object: Some(Kind::Distribution),
            bare: false,
            args: &[IN, PICK, BLOCK, REMAINDER, DATA, ENGINE],
        },
        object: Object::Amount, counts: Counts::Data, run: append, needs_open: true,
    },
}

fn read<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    step::<O, false>(worker, plan, args, &args.at)
}

fn write<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    step::<O, true>(worker, plan, args, &args.at)
}

fn append<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    // A file opened for appending does it by itself.
    let at = if worker.hands[usize::from(args.set)].file.append { &At::Next } else { &At::End };
    step::<O, true>(worker, plan, args, at)
}

/// One data step: its amount in transfers of its block size.
#[inline]
pub(super) fn step<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    at: &At,
) -> Flow {
    if args.pick != Pick::Same && worker.pick(args.set, args.pick).is_none() {
        return worker.guarded(plan.sets[usize::from(args.set)].empty, "pick", "the set has no file");
    }
    let file = &worker.hands[usize::from(args.set)].file;
    // What most steps are: one transfer of a fixed size on a plain file.
    let len = args.fixed;
    if len > 0 && file.is_open() && !file.stdio && args.remainder != Remainder::Always {
        if !worker.may_go_on(ClaimUnit::Transfers, len) {
            return Flow::Over;
        }
        return transfer::<O, WRITE>(worker, plan, args, at, len);
    }
    several::<O, WRITE>(worker, plan, args, at)
}

/// A step of several transfers, of a drawn size, or on anything but a plain file.
#[inline(never)]
fn several<O: Os, const WRITE: bool>(worker: &mut Worker<O>, plan: &Plan, args: &Args, at: &At) -> Flow {
    let set = usize::from(args.set);
    let file = &worker.hands[set].file;
    if !file.is_open() && !plan.sets[set].memory {
        if Worker::<O>::expects(args, Errno(libc::EBADF)) {
            return worker.settle(args, Err(Errno(libc::EBADF)), "");
        }
        let message =
            format!("no file of {} is open here: open one before, in the same worker", plan.sets[set].name);
        return worker.fail(if WRITE { "write" } else { "read" }, None, None, None, Some(message));
    }
    let stdio = file.stdio;
    let size = file.size;
    let amount = match args.amount {
        Amount::Whole => size,
        Amount::Bytes(Draw::Const(n)) => n,
        Amount::Bytes(draw) => worker.draw(draw, Purpose::Size, args.set),
    };
    let block = match args.block {
        None if args.amount == Amount::Whole => WHOLE_BLOCK.min(amount),
        None => amount,
        Some(Draw::Const(n)) => n,
        Some(draw) => worker.draw(draw, Purpose::Size, args.set),
    };
    let start = worker.now;
    if stdio && worker.queue.is_busy() {
        match worker.drain() {
            Flow::Next => {}
            flow => return flow,
        }
    }
    let flow = if stdio {
        super::stdio::step::<O, WRITE>(worker, args, amount, block)
    } else {
        blocks::<O, WRITE>(worker, plan, args, at, amount, block)
    };
    if args.step_stat != NO_STAT && flow == Flow::Next {
        // The step as a whole is over when its last transfer is.
        if worker.queue.is_busy() {
            match worker.drain() {
                Flow::Next => {}
                flow => return flow,
            }
        }
        worker.finish_whole(args.step_stat, start, amount, amount);
    }
    flow
}

fn blocks<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    at: &At,
    amount: u64,
    mut block: u64,
) -> Flow {
    let mut left = amount;
    let mut first = true;
    loop {
        if let (Some(draw), false) = (args.block, first) {
            block = match draw {
                Draw::Const(n) => n,
                draw => worker.draw(draw, Purpose::Size, args.set),
            };
        }
        let len = if block == 0 { left } else { left.min(block) };
        if len == 0 {
            let wanted = match args.remainder {
                Remainder::Always => true,
                Remainder::IfAlone => first,
                Remainder::IfAny => {
                    first && amount == 0 && args.block.is_none() && args.amount != Amount::Whole
                }
            };
            if !wanted {
                return Flow::Next;
            }
        }
        if !first && worker.is_over() || !worker.may_go_on(ClaimUnit::Transfers, len) {
            return Flow::Over;
        }
        match transfer::<O, WRITE>(worker, plan, args, at, len) {
            Flow::Next => {}
            other => return other,
        }
        left -= len;
        first = false;
        let ends = match args.remainder {
            Remainder::Always => len < block,
            _ => left == 0,
        };
        if ends {
            return Flow::Next;
        }
    }
}

/// One transfer: place, data, call, count.
#[inline(always)]
fn transfer<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    at: &At,
    asked: u64,
) -> Flow {
    let set = usize::from(args.set);
    let mut len = asked;
    let offset = match at {
        At::Next => match next::<O, WRITE>(worker, set, &mut len) {
            Some(offset) => offset,
            None => return Flow::Over,
        },
        At::Random => {
            let Worker { hands, random, .. } = worker;
            let file = &mut hands[set].file;
            file.positional = true;
            if !WRITE {
                len = len.min(file.size);
            }
            let blocks = file.size.checked_div(len).unwrap_or(1).max(1);
            Some(random.below(Purpose::Place, blocks) * len)
        }
        at => {
            let (offset, fits) = place(worker, plan, args, *at, len, WRITE);
            len = fits;
            worker.hands[set].file.positional = true;
            Some(offset)
        }
    };
    let fd = worker.hands[set].file.fd;
    if fd == CLOSED {
        // Only a set that lives in memory comes so far without an open file.
        return memory::<O, WRITE>(worker, args, offset, len);
    }
    if !worker.queue.is_none() && len > 0 && len <= u64::from(u32::MAX) {
        return queued::<O, WRITE>(worker, args, offset, (asked, len));
    }
    let Worker { hands, os, buffers, .. } = worker;
    let file = &mut hands[set].file;
    let result = call::<O, WRITE>(os, buffers, args.data, file.fd, offset, len as usize);
    if result != Ok(len as usize) {
        return moved_less::<O, WRITE>(worker, args, offset, (asked, len), result);
    }
    file.moved::<WRITE>(offset, len);
    worker.finish_here(args.stat, len, asked);
    checked::<O, WRITE>(worker, args, offset, len)
}

/// Puts one transfer into the queue. Those in flight name their offsets, all of them.
#[inline(never)]
fn queued<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    args: &Args,
    offset: Option<u64>,
    (asked, len): (u64, u64),
) -> Flow {
    let file = &mut worker.hands[usize::from(args.set)].file;
    file.positional = true;
    let at = offset.unwrap_or(if WRITE && file.append { file.size } else { file.cursor });
    let fd = file.fd;
    file.moved::<WRITE>(Some(at), len);
    let checked = args.verify && !WRITE || args.must_fail.is_some();
    let (len, asked) = (len as u32, asked as u32);
    worker.enqueue::<WRITE>(args, Queued { fd, offset: at, len, asked, checked })
}

/// What a step wants to see of a transfer that was made.
#[inline]
fn checked<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    args: &Args,
    offset: Option<u64>,
    moved: u64,
) -> Flow {
    if args.verify && O::BYTES && !WRITE {
        return verify(worker, args, moved as usize, offset);
    }
    if args.must_fail.is_some() {
        return worker.held_to(args, if WRITE { "write" } else { "read" });
    }
    Flow::Next
}

/// A transfer that moved less than it was asked to (`asked` in the step, `len` in the call) goes on
/// or fails.
#[cold]
pub(super) fn moved_less<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    args: &Args,
    offset: Option<u64>,
    (asked, len): (u64, u64),
    result: Call<usize>,
) -> Flow {
    let fd = worker.hands[usize::from(args.set)].file.fd;
    let result = match result {
        Err(errno) if worker.gives_up_direct(args, fd, if WRITE { "write" } else { "read" }, errno) => {
            let Worker { os, buffers, .. } = &mut *worker;
            call::<O, WRITE>(os, buffers, args.data, fd, offset, len as usize)
        }
        result => result,
    };
    let moved = result.and_then(|n| go_on::<O, WRITE>(worker, args, fd, offset, len, n as u64));
    let moved = match moved {
        Ok(moved) => moved,
        Err(errno) => return failed(worker, args, errno, offset, len, WRITE),
    };
    worker.hands[usize::from(args.set)].file.moved::<WRITE>(offset, moved);
    worker.finish(args.stat, moved, asked);
    checked::<O, WRITE>(worker, args, offset, moved)
}

/// The offset of a transfer that goes on where the last one ended (`Some(None)`: where the file's
/// own position is) and how much of it is there. `None`: the loop over passes ends.
#[inline]
fn next<O: Os, const WRITE: bool>(worker: &mut Worker<O>, set: usize, len: &mut u64) -> Option<Option<u64>> {
    let hand = &worker.hands[set];
    // Kept files are of a fixed size and begun again; a file being written may grow.
    let fixed = !WRITE || !hand.kept.is_empty();
    if fixed && hand.file.cursor + *len > hand.file.size {
        let file = &hand.file;
        // To go through an empty file is to find its end at once.
        let at_end = file.cursor >= file.size && *len > 0 && (file.size > 0 || !WRITE);
        if at_end || WRITE && file.cursor > 0 {
            let file = &mut worker.hands[set].file;
            file.cursor = 0;
            file.positional |= file.size > 0;
            if !worker.pass_done() {
                return None;
            }
        }
        let file = &worker.hands[set].file;
        if !WRITE && file.size > 0 {
            *len = (*len).min(file.size.saturating_sub(file.cursor));
        }
    }
    let file = &worker.hands[set].file;
    Some(file.positional.then_some(file.cursor))
}

/// One transfer that is over when this returns.
#[inline(always)]
pub(super) fn call<O: Os, const WRITE: bool>(
    os: &mut O,
    buffers: &mut Buffers,
    data: Recipe,
    fd: Fd,
    offset: Option<u64>,
    len: usize,
) -> Call<usize> {
    if WRITE {
        let bytes = buffers.data(if O::BYTES { data } else { Recipe::Zero }, len);
        os.write(fd, offset, bytes, data)
    } else {
        os.read(fd, offset, buffers.reading(len))
    }
}

/// Continues a transfer that moved less than it was asked. Returns all bytes moved.
#[cold]
fn go_on<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    args: &Args,
    fd: Fd,
    offset: Option<u64>,
    len: u64,
    mut done: u64,
) -> Call<u64> {
    // Nothing at all is the end of the file (or, for a write, no progress).
    let mut last = done;
    while done < len && last > 0 {
        if let Some(stat) = worker.stats.get_mut(usize::from(args.stat)) {
            stat.short += 1;
        }
        let Worker { os, buffers, .. } = &mut *worker;
        let (at, left) = (offset.map(|o| o + done), (len - done) as usize);
        last = call::<O, WRITE>(os, buffers, args.data, fd, at, left)? as u64;
        done += last;
    }
    if WRITE && done < len { Err(Errno(libc::EIO)) } else { Ok(done) }
}

#[cold]
fn failed<O: Os>(
    worker: &mut Worker<O>,
    args: &Args,
    errno: Errno,
    offset: Option<u64>,
    len: u64,
    write: bool,
) -> Flow {
    if Worker::<O>::expects(args, errno) {
        return worker.settle(args, Err(errno), "");
    }
    worker.member_path(args.set);
    let at = offset.unwrap_or(worker.hands[usize::from(args.set)].file.cursor);
    worker.fail(if write { "write" } else { "read" }, Some(at), Some(len), Some(errno), None)
}

/// Where a transfer goes and how much of it fits: it never reaches past the end of the file, except
/// for a write to a file that is smaller than the transfer.
#[inline(never)]
fn place<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    at: At,
    len: u64,
    write: bool,
) -> (u64, u64) {
    let set = usize::from(args.set);
    let file = worker.hands[set].file;
    let at = match at {
        At::Weighted(id) => weighted(worker, plan, id),
        at => at,
    };
    let fits = if write { len } else { len.min(file.size) };
    let blocks = file.size.checked_div(len).unwrap_or(1).max(1);
    let offset = match at {
        At::Start => 0,
        At::End => file.size,
        At::Next => {
            let wraps = file.cursor + len > file.size && (!write || !worker.hands[set].kept.is_empty());
            if wraps { 0 } else { file.cursor }
        }
        At::EachWay => {
            let way = usize::from(write);
            let next = file.ways[way];
            // A file that is being written grows, as it does under `next`.
            let fixed = !write || !worker.hands[set].kept.is_empty();
            let next = if fixed && next.saturating_add(len) > file.size { 0 } else { next };
            worker.hands[set].file.ways[way] = next.saturating_add(fits);
            next
        }
        At::Random => worker.random.below(Purpose::Place, blocks) * len,
        At::Permuted => {
            let visited = file.visited % blocks;
            if visited == 0 {
                let key = worker.random.bits(Purpose::Place);
                worker.hands[set].file.permutation = key;
            }
            worker.hands[set].file.visited = visited + 1;
            permute(visited, blocks, worker.hands[set].file.permutation) * len
        }
        At::Offset(draw) => worker.draw(draw, Purpose::Place, args.set),
        At::Ranked(table) => {
            let rank = worker.ranks.draw(
                &worker.shared.ranks,
                &plan.tables,
                table,
                blocks,
                &mut worker.random,
                Purpose::Place,
            );
            // Popular blocks are spread over the file, the same ones in every worker.
            permute(rank, blocks, u64::from(table)) * len
        }
        At::Hot { share, of } => hot(share, of, blocks, &mut worker.random, Purpose::Place) * len,
        At::Stride(stride) => {
            // From the start of the last transfer; at the end of the file round again.
            let next = if file.visited == 0 { 0 } else { file.permutation.saturating_add(stride) };
            // A file that is being written grows, as it does under `next`.
            let fixed = !write || !worker.hands[set].kept.is_empty();
            let beyond = next.saturating_add(len) > file.size;
            let next = if fixed && beyond || next > i64::MAX as u64 { 0 } else { next };
            worker.hands[set].file.visited = 1;
            worker.hands[set].file.permutation = next;
            next
        }
        At::Weighted(_) => 0,
    };
    let fits = if write { fits } else { fits.min(file.size.saturating_sub(offset)) };
    (offset, fits)
}

fn weighted<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16) -> At {
    let choices = plan.ats.get(usize::from(id)).map_or(&[][..], Vec::as_slice);
    let total: u64 = choices.iter().map(|(_, w)| u64::from(*w)).sum();
    let mut drawn = worker.random.below(Purpose::Place, total);
    for (at, weight) in choices {
        if drawn < u64::from(*weight) {
            return *at;
        }
        drawn -= u64::from(*weight);
    }
    At::Next
}

/// A transfer to or from a set that lives in memory: a copy, no call.
fn memory<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    args: &Args,
    offset: Option<u64>,
    len: u64,
) -> Flow {
    let set = usize::from(args.set);
    let cursor = offset.unwrap_or(worker.hands[set].file.cursor);
    if O::BYTES
        && let Some(memory) = &mut worker.memory[set]
        && cursor + len <= memory.len() as u64
    {
        let part = memory.slice_mut(cursor as usize, len as usize);
        match WRITE {
            true => part.copy_from_slice(worker.buffers.data(args.data, len as usize)),
            false => worker.buffers.reading(len as usize).copy_from_slice(part),
        }
    }
    worker.hands[set].file.cursor = cursor + len;
    worker.finish(args.stat, len, len);
    worker.held_to(args, "memory")
}

/// Holds what was read against what must be there.
fn verify<O: Os>(worker: &mut Worker<O>, args: &Args, len: usize, offset: Option<u64>) -> Flow {
    let expected = match args.data {
        Recipe::Byte(value) => value,
        _ => 0,
    };
    match worker.buffers.last_read(len).iter().position(|b| *b != expected) {
        None => Flow::Next,
        Some(at) => {
            let found = worker.buffers.last_read(len)[at];
            worker.member_path(args.set);
            let message = format!("byte {at} of the transfer is {found:#04x}, expected {expected:#04x}");
            worker.fail("verify", offset, Some(len as u64), None, Some(message))
        }
    }
}
