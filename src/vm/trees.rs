//! Trees as a worker handles them: which one is taken in hand, in which state it is then, where a call
//! in it failed. Every call is relative to a directory that is open, so that none leaves the tree.
//! What is done to a tree is said in `tree_write`, `tree_walk` and `tree_order`.

use std::collections::HashMap;
use std::sync::Arc;

use super::fault::Flow;
use super::random::Purpose;
use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Nanos, Os};
use crate::plan::instr::*;

/// Flags of a directory that names are relative to.
pub(super) const HANDLE: i32 = libc::O_PATH | libc::O_DIRECTORY;
/// Permission bits of files and directories before the process's mask.
pub(super) const FILE_BITS: u32 = 0o666;
pub(super) const DIRECTORY_BITS: u32 = 0o777;

/// What a worker keeps of trees between steps.
#[derive(Debug, Default)]
pub struct TreeState {
    /// The order of lists that follow the file system, by list and set.
    pub(super) orders: HashMap<(u16, SetId), Arc<Vec<u32>>>,
}

/// Where a call failed: its name and the path below the tree.
pub(super) struct Failed {
    pub call: &'static str,
    pub path: Vec<u8>,
    pub errno: Errno,
}

pub(super) type Done<T> = Result<T, Failed>;

pub(super) fn at<T>(call: &'static str, path: &[u8], result: Call<T>) -> Done<T> {
    result.map_err(|errno| Failed { call, path: path.to_vec(), errno })
}

/// No error of the machine: the run is to end in the middle of a file. (Reads and writes never give it.)
const STOPPED: Errno = Errno(libc::ECANCELED);

impl<O: Os> Worker<O> {
    /// Takes a tree in hand: a new one, or one of those in the states of the step.
    pub fn take_tree(&mut self, args: &Args, step: TreeStep, new: bool) -> Result<(), Flow> {
        let plan = Arc::clone(&self.plan);
        let guard = |full: bool| {
            plan.sets
                .get(usize::from(args.set))
                .map_or(Guard::Error, |set| if full { set.full } else { set.empty })
        };
        if new {
            return match self.new_member(args.set, 0) {
                Some(()) => Ok(()),
                None => Err(self.guarded(guard(true), "write_tree", "the set has no room for another tree")),
            };
        }
        let found = match step.states {
            0 => self.pick(args.set, args.pick),
            states => self.pick_state(args, states),
        };
        match found {
            Some(()) => Ok(()),
            None => Err(self.guarded(guard(false), "pick", "the set has no tree in that state")),
        }
    }

    /// A state at random among those that some tree is in, then a tree in it.
    fn pick_state(&mut self, args: &Args, states: u32) -> Option<()> {
        if args.pick == Pick::Same {
            let hand = self.hands.get(usize::from(args.set))?;
            if !hand.is_empty() && states & (1 << hand.file.size.saturating_sub(1).min(31)) != 0 {
                return Some(());
            }
        }
        let slots = self.members(args.set, Order::Slot);
        let state_of = |worker: &mut Self, slot: u32| {
            worker.with_pool(args.set, |pool| pool.get(slot).map(|member| member.size)).flatten()
        };
        let mut by_state: Vec<(u64, Vec<u32>)> = Vec::new();
        for slot in slots {
            let Some(state) = state_of(self, slot).filter(|state| *state > 0) else { continue };
            if states & (1 << (state - 1).min(31)) == 0 {
                continue;
            }
            match by_state.iter_mut().find(|(known, _)| *known == state) {
                Some((_, trees)) => trees.push(slot),
                None => by_state.push((state, vec![slot])),
            }
        }
        let at = match by_state.len() {
            0 => return None,
            1 => 0,
            n => self.random.below(Purpose::Pick, n as u64) as usize,
        };
        let trees = &by_state.get(at)?.1;
        let slot = match args.pick {
            Pick::Oldest => *trees.first()?,
            Pick::Newest => *trees.last()?,
            _ => *trees.get(self.random.below(Purpose::Pick, trees.len() as u64) as usize)?,
        };
        self.take(args.set, slot)
    }

    /// The tree in hand is in another state now. (For a set of trees the size of a member is the
    /// number of its state, from 1.)
    pub fn tree_becomes(&mut self, set: SetId, step: TreeStep) {
        if step.becomes == NO_STATE {
            return;
        }
        if let Some(hand) = self.hands.get_mut(usize::from(set)) {
            hand.file.size = u64::from(step.becomes) + 1;
        }
        self.store_size(set);
    }

    /// Adds the rate of one operation to the sum of such rates.
    pub fn rate_whole(&mut self, stat: StatId, start: Nanos, bytes: u64) {
        let latency = self.now.saturating_sub(start);
        if self.now > self.window_end || self.ramp_until != 0 || latency == 0 || bytes == 0 {
            return;
        }
        if let Some(stat) = self.stats.get_mut(usize::from(stat)) {
            stat.rate_sum += bytes as f64 / (latency as f64 / 1e9);
            stat.rated += 1;
        }
    }

    pub(super) fn failed(&mut self, failed: Failed) -> Flow {
        if failed.errno == STOPPED {
            return Flow::Over;
        }
        self.member_path_and(&failed.path);
        self.fail(failed.call, None, None, Some(failed.errno), None)
    }

    /// Puts the path below the tree in hand together, for messages.
    fn member_path_and(&mut self, below: &[u8]) {
        let set = self.plan.args.get(self.running as usize).map_or(NO_SET, |args| args.set);
        if self.hands.get(usize::from(set)).is_none() {
            return;
        }
        self.member_path(set);
        if !below.is_empty() {
            self.path.pop();
            self.path.push(b'/');
            self.path.extend_from_slice(below);
            self.path.push(0);
        }
    }

    /// The stop flag, looked at within large files too; [`STOPPED`] ends the step without a fault.
    #[inline]
    pub(super) fn goes_on_in_file(&self) -> Call<()> {
        if self.shared.stopping() { Err(STOPPED) } else { Ok(()) }
    }

    /// The stop flag, looked at before every file.
    pub(super) fn goes_on(&self) -> Result<(), Flow> {
        if self.shared.stopping() { Err(Flow::Over) } else { Ok(()) }
    }

    /// Opens the tree in hand as what names are relative to.
    pub(super) fn open_top(&mut self, set: SetId) -> Done<Fd> {
        let dir = self.member_path(set);
        let opened = self.with_path(|os, path| os.open(dir, path, HANDLE, 0));
        at("open", b"", opened)
    }
}
