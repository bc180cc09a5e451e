//! The interpreter: one loop over flat instructions. It knows instructions, not tests.

use super::claims::{Claim, ClaimUnit};
use super::fault::Flow;
use super::random::{FEW, Purpose};
use super::worker::{Steady, Worker};
use crate::ops::at_random;
use crate::ops::row::Counts;
use crate::ops::table::{Linked, NO_LOOP};
use crate::os::{Nanos, Os};
use crate::plan::instr::*;

/// Iterations without an operation after which a worker pauses between them.
const SPIN: u32 = 1000;
/// How much longer each pause is than the one before, and the longest, in nanoseconds.
const IDLE_STEP: Nanos = 100_000;
const LONGEST_PAUSE: Nanos = 10_000_000;
/// Iterations without an operation (10 s of pauses) after which a loop that ends by operations is
/// taken to have no end.
const MOST_IDLE: u32 = 2000;

/// A program could not go on; the worker's fault says why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stopped;

/// Runs one program to its end. `Err`: the worker's [`Worker::fault`] says why it could not go on.
pub fn run<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    code: &[Instr],
    steps: &[Linked<'_, O>],
) -> Result<(), Stopped> {
    let end = code.len() as Pc;
    let mut pc: Pc = 0;
    let counted: Vec<bool> = crate::ops::rows().map(|row| row.counts == Counts::Operation).collect();
    let mixes = whole_loops(plan, code, steps);
    while let Some(&instr) = code.get(pc as usize) {
        match instr {
            Instr::Op { op, args: index } => {
                if worker.is_over() || !O::BYTES && worker.keeps_step() {
                    pc = way_out(worker, end);
                    continue;
                }
                let Some(step) = steps.get(index as usize) else { break };
                worker.running = index;
                if step.args.every != 1 && !worker.takes_turn(step.args.every, step.args.set) {
                    pc += 1;
                    continue;
                }
                if step.care {
                    match worker.make_way(step.args, step.queues) {
                        Flow::Next => {}
                        other => match leave(worker, step.args, other, end) {
                            Some(to) => {
                                pc = to;
                                continue;
                            }
                            None => return Err(Stopped),
                        },
                    }
                }
                let claims = worker.counts_operations && counted[usize::from(op)];
                if claims && !worker.may_go_on(ClaimUnit::Operations, 0) {
                    pc = way_out(worker, end);
                    continue;
                }
                let flow = if step.alone == NO_LOOP || claims {
                    let flow = (step.run)(worker, plan, step.args);
                    if claims && matches!(flow, Flow::Skip | Flow::EndPhase) {
                        worker.unclaim(ClaimUnit::Operations);
                    }
                    flow
                } else {
                    let first = worker.iteration;
                    let last = first + free_iterations(worker, step.alone);
                    let flow = match step.many {
                        Some(many) => many(worker, plan, step.args, last),
                        None => in_a_row(worker, plan, step, last),
                    };
                    worker.loops[usize::from(step.alone)].iterations += worker.iteration - first;
                    flow
                };
                pc = match flow {
                    Flow::Next => pc + 1,
                    other => match leave(worker, step.args, other, end) {
                        Some(pc) => pc,
                        None => return Err(Stopped),
                    },
                };
            }
            Instr::Jump(to) => pc = to,
            Instr::LoopStart { id, exit } => {
                if let Some(Instr::Pace { id }) = code.get(pc as usize + 1) {
                    // Time outside of the loop is not owed to it.
                    worker.paces[usize::from(*id)] = Default::default();
                }
                pc = if start_loop(worker, plan, id, exit) { pc + 1 } else { exit };
            }
            Instr::LoopNext { id, head } => {
                pc = if again(worker, id) {
                    head
                } else {
                    match next_with_care(worker, plan, id)? {
                        Next::Again => head,
                        Next::Done => pc + 1,
                        Next::Over => way_out(worker, end),
                    }
                };
            }
            Instr::LoopEnd { id } => {
                // What has a window or an amount of its own is over when its last transfer is.
                if !matches!(plan.loops[usize::from(id)].until, Until::Times(_)) {
                    settle(worker)?;
                }
                end_loop(worker, id);
                pc += 1;
            }
            Instr::Mix { id } => {
                let (drawn, to) = choose(worker, plan, id);
                pc = to;
                let whole = mixes.get(usize::from(id)).and_then(Option::as_ref);
                let Some(whole) = whole.filter(|_| !worker.counts_operations) else { continue };
                let first = worker.iteration;
                let last = first + free_iterations(worker, whole.id);
                let (at, flow) = match (plan.mixes.get(usize::from(id)), drawn) {
                    (Some(mix), Some(drawn))
                        if (1..=FEW).contains(&whole.steps.len()) && worker.claims.is_empty() =>
                    {
                        let (left, flow) = at_random::mixed(worker, plan, &whole.steps, drawn, last);
                        (left.map_or(whole.end, |drawn| target(mix, mix.table.get(drawn).copied())), flow)
                    }
                    _ => choose_in_a_row(worker, plan, code, steps, (id, pc, whole.end), last),
                };
                worker.loops[usize::from(whole.id)].iterations += worker.iteration - first;
                pc = match (flow, steps.get(worker.running as usize)) {
                    (Flow::Next, _) => at,
                    (other, Some(step)) => match leave(worker, step.args, other, end) {
                        Some(pc) => pc,
                        None => return Err(Stopped),
                    },
                    _ => break,
                };
            }
            Instr::BlockStart { block } => {
                worker.blocks[usize::from(block)] = worker.now;
                pc += 1;
            }
            Instr::BlockEnd { block, stat } => {
                settle(worker)?;
                let start = worker.blocks[usize::from(block)];
                worker.finish_whole(stat, start, 0, 0);
                pc += 1;
            }
            Instr::EachStart { id, exit } => {
                start_walk(worker, plan, id);
                pc = exit;
            }
            Instr::EachNext { id, head } => {
                let set = plan.eaches[usize::from(id)].set;
                pc = if worker.is_over() {
                    way_out(worker, end)
                } else if next_member(worker, id, set) {
                    head
                } else {
                    pc + 1
                };
            }
            Instr::Pace { id } => {
                pace(worker, plan, id)?;
                pc += 1;
            }
            Instr::End => break,
        }
    }
    settle(worker)
}

/// Performs a step again and again up to the iteration `last`, while nothing else is to be looked at.
#[inline]
fn in_a_row<O: Os>(worker: &mut Worker<O>, plan: &Plan, step: &Linked<O>, last: u64) -> Flow {
    loop {
        let flow = (step.run)(worker, plan, step.args);
        if flow != Flow::Next
            || worker.iteration >= last
            || worker.is_over()
            || !O::BYTES && worker.keeps_step()
        {
            return flow;
        }
        worker.iteration += 1;
    }
}

/// A mix that is all of a loop and consists of single steps.
struct Whole<'a, O: Os> {
    /// The loop.
    id: u16,
    /// Where it ends.
    end: Pc,
    /// The step for each number drawn, where all of them are transfers that take no care.
    steps: Vec<&'a Linked<'a, O>>,
}

/// For each mix whether it is one of those.
fn whole_loops<'a, O: Os>(
    plan: &Plan,
    code: &[Instr],
    steps: &'a [Linked<'a, O>],
) -> Vec<Option<Whole<'a, O>>> {
    let mut out: Vec<Option<Whole<O>>> = plan.mixes.iter().map(|_| None).collect();
    for (at, instr) in code.iter().enumerate() {
        let Instr::Mix { id } = instr else { continue };
        let end = code.iter().enumerate().find_map(|(end, instr)| match instr {
            Instr::LoopNext { id, head } if *head as usize == at => Some((*id, end as Pc)),
            _ => None,
        });
        let (Some((lp, end)), Some(mix)) = (end, plan.mixes.get(usize::from(*id))) else { continue };
        let step = |target: &Pc| match code.get(*target as usize) {
            Some(Instr::Op { args, .. }) => steps.get(*args as usize),
            _ => None,
        };
        let single = |target: &Pc| {
            let next = target + 1;
            let then = next == end || matches!(code.get(next as usize), Some(Instr::Jump(to)) if *to == end);
            then && step(target).is_some_and(|step| step.args.every == 1)
        };
        let plain = |alternative: &u16| {
            let step = mix.targets.get(usize::from(*alternative)).and_then(step);
            step.filter(|step| step.way.is_some() && !step.care && !mix.exact)
        };
        if let (true, Some(place)) = (mix.targets.iter().all(single), out.get_mut(usize::from(*id))) {
            let steps = mix.table.iter().map(plain).collect::<Option<Vec<_>>>().unwrap_or_default();
            *place = Some(Whole { id: lp, end, steps });
        }
    }
    out
}

/// Performs the step at `pc`, which a mix has drawn, draws the next, and so on up to the iteration
/// `last`, while nothing else is to be looked at. Returns where the program goes on.
#[inline]
fn choose_in_a_row<O: Os>(
    worker: &mut Worker<O>,
    plan: &Plan,
    code: &[Instr],
    steps: &[Linked<O>],
    (mix, mut pc, end): (u16, Pc, Pc),
    last: u64,
) -> (Pc, Flow) {
    loop {
        let step = match code.get(pc as usize) {
            Some(Instr::Op { args, .. }) => {
                worker.running = *args;
                steps.get(*args as usize)
            }
            _ => None,
        };
        let Some(step) = step else { return (pc, Flow::Next) };
        if step.care || worker.is_over() || !O::BYTES && worker.keeps_step() {
            return (pc, Flow::Next);
        }
        let flow = (step.run)(worker, plan, step.args);
        if flow != Flow::Next || worker.iteration >= last {
            return (end, flow);
        }
        worker.iteration += 1;
        pc = choose(worker, plan, mix).1;
    }
}

/// Waits for what is in flight, so that what comes after does not run beside it.
#[inline]
fn settle<O: Os>(worker: &mut Worker<O>) -> Result<(), Stopped> {
    if worker.queue.is_busy() && worker.drain() == Flow::Fault {
        return Err(Stopped);
    }
    Ok(())
}

/// Where a program goes on after a step that did not just work; `None`: nowhere.
#[cold]
#[inline(never)]
fn leave<O: Os>(worker: &mut Worker<O>, args: &Args, flow: Flow, end: Pc) -> Option<Pc> {
    match flow {
        Flow::Skip => Some(args.skip_to),
        Flow::Over => Some(way_out(worker, end)),
        Flow::Fault => None,
        Flow::Next | Flow::EndPhase => Some(end),
    }
}

/// Where the program goes on when its time is over: the end of the phase, or of the loop whose
/// limit was met.
#[cold]
fn way_out<O: Os>(worker: &mut Worker<O>, end: Pc) -> Pc {
    if worker.shared.stopping() { end } else { worker.deadline.1.min(end) }
}

/// Enters a loop. False: it has nothing to do.
#[inline(never)]
fn start_loop<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16, exit: Pc) -> bool {
    let lp = &plan.loops[usize::from(id)];
    let state = &mut worker.loops[usize::from(id)];
    (state.iterations, state.idle) = (0, 0);
    state.entries += 1;
    state.outer = worker.deadline;
    state.outer_claims = worker.claims.len();
    (state.outer_passes, state.outer_exhausted) = (worker.pass_limit, worker.exhausted_exit);
    let entries = state.entries;
    // A phase's own loop counts from the moment all workers were released.
    let start = if lp.phase { worker.first_start } else { worker.now };
    if lp.phase && lp.ramp > 0 {
        worker.ramp_until = start + lp.ramp;
    }
    let ending = exit;
    match lp.until {
        Until::Times(0) => return false,
        Until::Times(_) => {}
        Until::Time(FOR_EVER) => {}
        Until::Time(span) | Until::Steady { at_most: span, .. } => {
            let until = start.saturating_add(lp.ramp).saturating_add(span);
            if until < worker.deadline.0 {
                worker.deadline = (until, ending);
            }
            if lp.phase {
                worker.window_end = until;
            }
            if let Until::Steady { windows, within, .. } = lp.until {
                let next = start.saturating_add(lp.ramp);
                worker.steady = Some(Steady { windows, within, next, ..Steady::default() });
            }
        }
        Until::Ops { total, each, data } => {
            let unit = if data { ClaimUnit::Transfers } else { ClaimUnit::Operations };
            claim(worker, unit, total, (!each).then_some(lp.budget), entries, ending);
        }
        Until::Bytes { total, each } => {
            claim(worker, ClaimUnit::Bytes, total, (!each).then_some(lp.budget), entries, ending);
        }
        Until::Passes(n) => worker.pass_limit = Some((worker.passes + n, ending)),
        Until::Exhausted => worker.exhausted_exit = Some(ending),
    }
    let state = &mut worker.loops[usize::from(id)];
    state.base = worker.moved_ops;
    state.care_at = care_at(lp, 0);
    worker.iteration = 1;
    worker.schedule_event();
    true
}

/// Makes every operation inside the loop ask whether it may still be done.
fn claim<O: Os>(
    worker: &mut Worker<O>,
    unit: ClaimUnit,
    total: u64,
    budget: Option<u16>,
    entries: u64,
    exit: Pc,
) {
    // The shared budget goes on counting when the loop is entered again.
    let total = if budget.is_some() { total.saturating_mul(entries) } else { total };
    worker.claims.push(Claim { unit, total, budget, used: 0, exit });
    worker.counts_operations |= unit == ClaimUnit::Operations;
}

/// What comes after one iteration.
enum Next {
    Again,
    Done,
    Over,
}

/// How many iterations go by without a look at the time and the stop flag. Operations look at them
/// as well; this is for loops in which nothing ever happens.
const UNSEEN: u64 = 256;

/// The iteration that must not begin without a look at more than their number.
fn care_at(lp: &LoopPlan, iterations: u64) -> u64 {
    match lp.until {
        Until::Times(n) if lp.ramp == 0 => n.min(iterations + UNSEEN),
        Until::Time(_) => iterations + UNSEEN,
        _ => 0,
    }
}

/// How many more iterations take no thought.
fn free_iterations<O: Os>(worker: &Worker<O>, id: u16) -> u64 {
    let state = &worker.loops[usize::from(id)];
    state.care_at.saturating_sub(state.iterations + 1)
}

/// Begins another iteration where that takes no thought.
#[inline(always)]
fn again<O: Os>(worker: &mut Worker<O>, id: u16) -> bool {
    let Some(state) = worker.loops.get_mut(usize::from(id)) else { return false };
    let iterations = state.iterations + 1;
    if iterations >= state.care_at {
        return false;
    }
    state.iterations = iterations;
    worker.iteration = iterations + 1;
    true
}

/// Whether a loop goes round again, whatever ends it. `Err`: it never would end.
#[inline(never)]
fn next_with_care<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16) -> Result<Next, Stopped> {
    if worker.is_over() || !O::BYTES && worker.keeps_step() {
        return Ok(Next::Over);
    }
    let lp = &plan.loops[usize::from(id)];
    if worker.ramp_until != 0 && lp.phase && worker.window_end == Nanos::MAX {
        // An amount is counted from the first iteration that begins after the ramp.
        if worker.now >= worker.ramp_until {
            // What began in the ramp is no part of the amount.
            settle(worker)?;
            worker.open_window(worker.now);
            worker.loops[usize::from(id)].iterations = 0;
        } else if worker.moved_ops == worker.loops[usize::from(id)].base {
            idle(worker, id);
        }
        worker.loops[usize::from(id)].base = worker.moved_ops;
        return Ok(Next::Again);
    }
    let state = &mut worker.loops[usize::from(id)];
    state.iterations += 1;
    let goes_on = match lp.until {
        Until::Times(n) => state.iterations < n,
        // All others end inside an operation.
        _ if worker.moved_ops != state.base => {
            state.idle = 0;
            true
        }
        Until::Time(_) | Until::Steady { .. } => {
            idle(worker, id);
            true
        }
        _ => {
            if idle(worker, id) > MOST_IDLE {
                let message = format!("nothing was done in {MOST_IDLE} iterations of a loop that ends by it");
                worker.fail("loop", None, None, None, Some(message));
                return Err(Stopped);
            }
            true
        }
    };
    let state = &mut worker.loops[usize::from(id)];
    state.base = worker.moved_ops;
    state.care_at = care_at(lp, state.iterations);
    worker.iteration = state.iterations + 1;
    Ok(if goes_on { Next::Again } else { Next::Done })
}

/// An iteration did nothing: the clock must move, or time never ends; and others should get on.
/// Returns how many such iterations there were in a row.
#[cold]
fn idle<O: Os>(worker: &mut Worker<O>, id: u16) -> u32 {
    worker.restart_clock();
    let state = &mut worker.loops[usize::from(id)];
    state.idle = state.idle.saturating_add(1);
    let count = state.idle;
    if count > SPIN {
        let pause = IDLE_STEP.saturating_mul(u64::from(count - SPIN)).min(LONGEST_PAUSE);
        worker.pause_until(worker.now + pause);
    }
    count
}

/// Leaves a loop: limits outside of it hold again.
fn end_loop<O: Os>(worker: &mut Worker<O>, id: u16) {
    let state = worker.loops[usize::from(id)];
    worker.deadline = state.outer;
    worker.claims.truncate(state.outer_claims);
    worker.counts_operations = worker.claims.iter().any(|c| c.unit == ClaimUnit::Operations);
    worker.pass_limit = state.outer_passes;
    worker.exhausted_exit = state.outer_exhausted;
}

/// Draws an alternative: the number drawn, unless it was dealt from a deck, and where it starts.
#[inline(always)]
fn choose<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16) -> (Option<usize>, Pc) {
    let mix = &plan.mixes[usize::from(id)];
    if mix.exact {
        if worker.decks[usize::from(id)].is_empty() {
            deal(worker, mix, id);
        }
        let card = worker.decks[usize::from(id)].pop();
        if worker.decks[usize::from(id)].is_empty()
            && let Some(decks) = worker.stats.get_mut(usize::from(mix.decks))
        {
            decks.ops += 1;
        }
        (None, target(mix, card))
    } else {
        let drawn = worker.random.choice(mix.table.len());
        (Some(drawn), target(mix, mix.table.get(drawn).copied()))
    }
}

/// Where an alternative starts.
#[inline(always)]
fn target(mix: &MixPlan, alternative: Option<u16>) -> Pc {
    mix.targets.get(usize::from(alternative.unwrap_or(0))).copied().unwrap_or(0)
}

/// Shuffles a new deck (Fisher and Yates).
fn deal<O: Os>(worker: &mut Worker<O>, mix: &MixPlan, id: u16) {
    let mut deck = std::mem::take(&mut worker.decks[usize::from(id)]);
    deck.extend_from_slice(&mix.table);
    for i in (1..deck.len()).rev() {
        deck.swap(i, worker.random.below(Purpose::Mix, i as u64 + 1) as usize);
    }
    worker.decks[usize::from(id)] = deck;
}

fn start_walk<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16) {
    let each = plan.eaches[usize::from(id)];
    let mut slots = worker.members(each.set, each.order);
    slots.truncate(each.limit.min(usize::MAX as u64) as usize);
    slots.reverse();
    worker.walks[usize::from(id)] = slots;
}

fn next_member<O: Os>(worker: &mut Worker<O>, id: u16, set: SetId) -> bool {
    while let Some(slot) = worker.walks[usize::from(id)].pop() {
        // One that is gone or in another worker's hand by now is passed over.
        if worker.take(set, slot).is_some() {
            return true;
        }
    }
    false
}

/// Waits until the next iteration is due.
pub fn pace<O: Os>(worker: &mut Worker<O>, plan: &Plan, id: u16) -> Result<(), Stopped> {
    let pace = &plan.paces[usize::from(id)];
    let state = worker.paces[usize::from(id)];
    let moved = worker.moved_bytes - state.bytes.min(worker.moved_bytes);
    let mut interval = if pace.bytes > 0.0 { moved as f64 / pace.bytes } else { 1.0 / pace.ops };
    if pace.poisson {
        // Exponential intervals with the same mean; 1 - u is never 0.
        interval *= -(1.0 - worker.random.unit(Purpose::Pace)).ln();
    }
    let interval = (interval * 1e9) as Nanos;
    let due = match state.due {
        0 => worker.now,
        due => due.saturating_add(interval),
    };
    worker.lag = worker.lag.max(worker.now.saturating_sub(due));
    let due = if pace.debt { due } else { due.max(worker.now) };
    worker.paces[usize::from(id)].due = due;
    worker.paces[usize::from(id)].bytes = worker.moved_bytes;
    // Instead of sleeping while transfers are in flight, one of them is waited for.
    while due > worker.now && worker.queue.is_busy() && !worker.is_over() {
        if worker.reap(1) == Flow::Fault {
            return Err(Stopped);
        }
    }
    if due > worker.now {
        worker.pause_until(due);
    }
    Ok(())
}
