//! One transfer of a fixed power of two at a random place, which is what tests of random access
//! consist of: functions that ask nothing that such a step does not need.

use super::data::{call, moved_less, step};
use super::table::{Exec, Linked, Many};
use crate::os::Os;
use crate::plan::instr::*;
use crate::vm::fault::Flow;
use crate::vm::flight::Queued;
use crate::vm::hand::{Hand, OpenFile};
use crate::vm::random::{Purpose, Streams};
use crate::vm::worker::Worker;

/// Which way a transfer goes that is over when its call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// Which way the transfers of such a step go, where they are over when their call returns.
pub fn way(verb: &str, plan: &Plan, args: &Args) -> Option<Way> {
    match verb {
        "read" if !plan.engine_of(args).has_queue() => Some(Way::Read),
        "write" if !plan.engine_of(args).has_queue() => Some(Way::Write),
        _ => None,
    }
}

/// Performs the step `at` of those that a mix draws from, draws the next, and so on up to the iteration
/// `last`, while nothing else is to be looked at. `steps` are all of the kind that has a [`Way`], each as
/// often as its weight says, and no more than a choice of few takes. Returns the step that was drawn and
/// not performed, where there is one.
pub fn mixed<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    steps: &[&Linked<O>],
    mut at: usize,
    last: u64,
) -> (Option<usize>, Flow) {
    loop {
        let Some(&step) = steps.get(at) else { return (Some(at), Flow::Next) };
        worker.running = step.index;
        if worker.is_over() || !O::BYTES && worker.keeps_step() {
            return (Some(at), Flow::Next);
        }
        let flow = match step.way {
            Some(Way::Write) => at_random::<O, true, false>(worker, plan, step.args),
            _ => at_random::<O, false, false>(worker, plan, step.args),
        };
        if flow != Flow::Next || worker.iteration >= last {
            return (None, flow);
        }
        worker.iteration += 1;
        at = worker.random.few_choices(steps.len());
    }
}

/// The functions for a step that is such a transfer: one of it, and many in a row.
pub fn special<O: Os>(verb: &str, plan: &Plan, args: &Args) -> Option<(Exec<O>, Many<O>)> {
    if plan.sets.get(usize::from(args.set))?.memory {
        return None;
    }
    let fixed =
        args.fixed.is_power_of_two() && args.fixed <= 1 << 31 && plan.random.generator == Generator::ChaCha8;
    let plain = args.pick == Pick::Same
        && args.remainder != Remainder::Always
        && !args.verify
        && args.must_fail.is_none();
    let engine = plan.engine_of(args);
    let (queue, single) = (engine.has_queue(), engine.has_queue() && engine.depth == 1);
    match verb {
        _ if !fixed || !plain || args.at != At::Random => None,
        "read" if single => Some((one::<O, false, true>, many::<O, false, true>)),
        "write" if single => Some((one::<O, true, true>, many::<O, true, true>)),
        "read" if queue => Some((one_queued::<O, false>, many_queued::<O, false>)),
        "write" if queue => Some((one_queued::<O, true>, many_queued::<O, true>)),
        "read" => Some((one::<O, false, false>, many::<O, false, false>)),
        "write" => Some((one::<O, true, false>, many::<O, true, false>)),
        _ => None,
    }
}

fn one<O: Os, const WRITE: bool, const QUEUE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
) -> Flow {
    if !worker.claims.is_empty() {
        return step::<O, WRITE>(worker, plan, args, &args.at);
    }
    at_random::<O, WRITE, QUEUE>(worker, plan, args)
}

/// Goes on to the iteration `last` while nothing else is to be looked at.
fn many<O: Os, const WRITE: bool, const QUEUE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    last: u64,
) -> Flow {
    // No step changes what the loops around it allow: it is looked at once.
    while !worker.claims.is_empty() {
        let flow = step::<O, WRITE>(worker, plan, args, &args.at);
        if ends(worker, flow, last) {
            return flow;
        }
        worker.iteration += 1;
    }
    loop {
        let flow = at_random::<O, WRITE, QUEUE>(worker, plan, args);
        if ends(worker, flow, last) {
            return flow;
        }
        worker.iteration += 1;
    }
}

fn one_queued<O: Os, const WRITE: bool>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let only = worker.iteration;
    queue_at_random::<O, WRITE>(worker, plan, args, only)
}

/// [`many`] through a queue: as many at a time as it has room for.
fn many_queued<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    last: u64,
) -> Flow {
    loop {
        let flow = queue_at_random::<O, WRITE>(worker, plan, args, last);
        if ends(worker, flow, last) {
            return flow;
        }
        worker.iteration += 1;
    }
}

#[inline(always)]
fn ends<O: Os>(worker: &mut Worker<O>, flow: Flow, last: u64) -> bool {
    flow != Flow::Next || worker.iteration >= last || worker.is_over() || !O::BYTES && worker.keeps_step()
}

/// Bytes of a file in whole blocks of `asked` bytes, a power of two; none where a step is to go the long
/// way. The first transfer of a file does, and then says that its transfers name offsets; buffered ones
/// never do. A file that is not open the machine refuses.
#[inline(always)]
fn whole_blocks(file: &OpenFile, asked: u64) -> Option<u64> {
    let whole = file.size & asked.wrapping_neg();
    (whole != 0 && file.positional).then_some(whole)
}

/// The block that the long way draws: x * blocks / 2^64, times the size of one.
#[inline(always)]
fn place(random: &mut Streams, whole: u64, asked: u64) -> u64 {
    random.own_below(Purpose::Place, whole) & asked.wrapping_neg()
}

/// One transfer to its end, by a call or through a queue that takes no more than one, where no claim
/// is to be made.
#[inline(always)]
fn at_random<O: Os, const WRITE: bool, const QUEUE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
) -> Flow {
    let Worker { hands, random, os, buffers, .. } = &mut *worker;
    let asked = args.fixed;
    let Some(Hand { file, .. }) = hands.get_mut(usize::from(args.set)) else { return Flow::Next };
    let Some(whole) = whole_blocks(file, asked) else {
        return step::<O, WRITE>(worker, plan, args, &args.at);
    };
    let offset = place(random, whole, asked);
    if QUEUE {
        let (fd, len) = (file.fd, asked as u32);
        file.moved::<WRITE>(Some(offset), asked);
        return worker.transfer_one::<WRITE>(args, Queued { fd, offset, len, asked: len, checked: false });
    }
    let result = call::<O, WRITE>(os, buffers, args.data, file.fd, Some(offset), asked as usize);
    if result != Ok(asked as usize) {
        return moved_less::<O, WRITE>(worker, args, Some(offset), (asked, asked), result);
    }
    file.moved::<WRITE>(Some(offset), asked);
    worker.finish_here(args.stat, asked, asked);
    Flow::Next
}

/// Into a queue that takes several; goes on to as many iterations, up to `last`, as the queue has room for.
#[inline(always)]
fn queue_at_random<O: Os, const WRITE: bool>(
    worker: &mut Worker<O>,
    plan: &Plan,
    args: &Args,
    last: u64,
) -> Flow {
    let asked = args.fixed;
    let set = usize::from(args.set);
    let Some(Hand { file, .. }) = worker.hands.get_mut(set) else { return Flow::Next };
    let (Some(whole), true) = (whole_blocks(file, asked), worker.claims.is_empty()) else {
        return step::<O, WRITE>(worker, plan, args, &args.at);
    };
    let (fd, len) = (file.fd, asked as u32);
    let left = last.saturating_sub(worker.iteration).saturating_add(1);
    let count = left.min(u64::from(worker.queue.room())) as u32;
    worker.iteration += u64::from(count.saturating_sub(1));
    let span = Queued { fd, offset: 0, len, asked: len, checked: false };
    let mut offset = 0;
    let flow = worker.enqueue_each::<WRITE>(args, span, count, |random| {
        offset = place(random, whole, asked);
        offset
    });
    if let Some(Hand { file, .. }) = worker.hands.get_mut(set) {
        file.moved::<WRITE>(Some(offset), asked);
    }
    flow
}
