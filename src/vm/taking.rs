//! How a worker comes to have a file in hand: picking, making, laying down members of pools.

use std::sync::Arc;

use super::draw::RankCache;
use super::fault::Flow;
use super::hand::{CLOSED, OpenFile};
use super::pool::{Member, NONE, Pool};
use super::random::{Purpose, Streams};
use super::shared::{Shared, lock};
use super::worker::{SECOND, Worker};
use crate::os::Os;
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Does something with a set's pool, shared or not.
    pub fn with_pool<T>(&mut self, set: SetId, f: impl FnOnce(&mut Pool) -> T) -> Option<T> {
        let index = usize::from(set);
        if let Some(Some(pool)) = self.pools.get_mut(index) {
            return Some(f(pool));
        }
        let shared = self.shared.pools.get(index)?.as_ref()?;
        Some(f(&mut lock(shared)))
    }

    pub(super) fn is_shared(&self, set: SetId) -> bool {
        self.pools.get(usize::from(set)).is_some_and(Option::is_none)
    }

    /// Chooses a member and takes it in hand. `None`: there is nothing to choose from.
    pub fn pick(&mut self, set: SetId, pick: Pick) -> Option<()> {
        let hand = self.hands.get(usize::from(set))?;
        if !hand.kept.is_empty() {
            return self.pick_kept(set, pick);
        }
        // With nothing in hand yet, the first one is as good as any.
        let pick = match pick {
            Pick::Same if !hand.is_empty() => return Some(()),
            Pick::Same => Pick::Next,
            pick => pick,
        };
        self.let_go(set);
        let shared = self.is_shared(set);
        // The pool is reached through a copy of the Arc so that the streams stay free to draw.
        let (slot, member) = if shared {
            let all = Arc::clone(&self.shared);
            let pool = all.pools.get(usize::from(set))?.as_ref()?;
            let mut pool = lock(pool);
            let chosen = choose(&mut pool, pick, &mut self.random, &mut self.ranks, &all, &self.plan.tables);
            let Some(slot) = chosen else {
                self.all_held = !pool.is_empty();
                return None;
            };
            pool.hold(slot);
            (slot, pool.get(slot)?)
        } else {
            let pool = self.pools.get_mut(usize::from(set))?.as_mut()?;
            let slot =
                choose(pool, pick, &mut self.random, &mut self.ranks, &self.shared, &self.plan.tables)?;
            (slot, pool.get(slot)?)
        };
        self.hands[usize::from(set)].file = OpenFile::of(slot, member);
        Some(())
    }

    fn pick_kept(&mut self, set: SetId, pick: Pick) -> Option<()> {
        let hand = &self.hands[usize::from(set)];
        let n = hand.kept.len();
        let to = match pick {
            Pick::Same => hand.kept_at,
            Pick::Next => (hand.kept_at + 1) % n,
            Pick::Oldest => 0,
            Pick::Newest => n - 1,
            Pick::Random => self.random.below(Purpose::Pick, n as u64) as usize,
            Pick::Ranked(table) => self.ranks.draw(
                &self.shared.ranks,
                &self.plan.tables,
                table,
                n as u64,
                &mut self.random,
                Purpose::Pick,
            ) as usize,
        };
        self.hands[usize::from(set)].switch_kept(to);
        Some(())
    }

    /// Takes a particular member in hand.
    pub fn take(&mut self, set: SetId, slot: u32) -> Option<()> {
        if !self.hands.get(usize::from(set))?.kept.is_empty() {
            let kept = self.hands[usize::from(set)].kept.iter().position(|file| file.slot == slot)?;
            self.hands[usize::from(set)].switch_kept(kept);
            return Some(());
        }
        self.let_go(set);
        let shared = self.is_shared(set);
        let member = self.with_pool(set, |pool| {
            let member = pool.get(slot)?;
            if shared && !pool.hold(slot) {
                return None;
            }
            Some(member)
        })??;
        self.hands[usize::from(set)].file = OpenFile::of(slot, member);
        Some(())
    }

    /// Closes the file in hand, if it is open; the member stays in hand.
    pub fn lay_down(&mut self, set: SetId) {
        // As the library does when a program closes a file, or ends. What is lost then is told.
        if self.hands[usize::from(set)].file.is_open()
            && let Err(errno) = self.flush_buffered(set)
        {
            self.member_path(set);
            self.fail("write", None, None, Some(errno), None);
        }
        let file = &mut self.hands[usize::from(set)].file;
        if file.is_open() {
            let fd = std::mem::replace(&mut file.fd, CLOSED);
            if self.plan.sql.databases.contains(&set) {
                let _ = self.os.db_close(fd);
            } else {
                let _ = self.os.close(fd);
            }
        }
    }

    /// Lays down what is in hand: an open file is closed, its size written back.
    pub fn let_go(&mut self, set: SetId) {
        let hand = &mut self.hands[usize::from(set)];
        if hand.is_empty() || !hand.kept.is_empty() {
            return;
        }
        // A step that chooses another file closes the one still open.
        self.lay_down(set);
        self.store_size(set);
        let file = self.hands[usize::from(set)].file;
        if self.is_shared(set) {
            self.with_pool(set, |pool| pool.release(file.slot));
        }
        self.hands[usize::from(set)].file = OpenFile::of(NONE, Member::default());
    }

    /// Writes the size of the file in hand back to its pool.
    pub fn store_size(&mut self, set: SetId) {
        let file = self.hands[usize::from(set)].file;
        if file.slot != NONE && file.size != file.member.size {
            self.hands[usize::from(set)].file.member.size = file.size;
            self.with_pool(set, |pool| pool.set_size(file.slot, file.size));
        }
    }

    /// Takes the member in hand out of its pool; the hand is empty afterwards.
    pub fn forget_member(&mut self, set: SetId) {
        let slot = self.hands[usize::from(set)].file.slot;
        self.with_pool(set, |pool| pool.remove(slot));
        let hand = &mut self.hands[usize::from(set)];
        hand.file = OpenFile::of(NONE, Member::default());
        if !hand.kept.is_empty() {
            // It is no longer among those the set keeps open; the first of them is next.
            hand.kept.remove(hand.kept_at);
            hand.kept_at = 0;
            if let Some(first) = hand.kept.first() {
                hand.file = *first;
            }
        }
    }

    /// The members of a set as it is now, in an order.
    pub fn members(&mut self, set: SetId, order: Order) -> Vec<u32> {
        let mut slots = self.with_pool(set, |pool| pool.slots(order)).unwrap_or_default();
        if order == Order::Random {
            for i in (1..slots.len()).rev() {
                slots.swap(i, self.random.below(Purpose::Pick, i as u64 + 1) as usize);
            }
        }
        slots
    }

    /// Holds a member that is not in hand, or lets it go again, so that no other worker takes it.
    pub fn hold(&mut self, set: SetId, slot: u32, held: bool) {
        if self.is_shared(set) {
            self.with_pool(set, |pool| if held { pool.hold_again(slot) } else { pool.release(slot) });
        }
    }

    /// Adds a member whose directory is chosen by the set's rules and takes it in hand.
    /// `None`: there is no room.
    pub fn new_member(&mut self, set: SetId, size: u64) -> Option<()> {
        self.let_go(set);
        let plan = Arc::clone(&self.plan);
        let set_plan = &plan.sets[usize::from(set)];
        if self.with_pool(set, |pool| pool.is_full())? {
            return None;
        }
        let dir = self.choose_dir(set, set_plan);
        // Only names with a clock in them need to know when they were made.
        let name = &plan.names[usize::from(set_plan.file_name)];
        let clock = match name.iter().any(|part| matches!(part, Segment::Clock(_))) {
            true => (self.epoch + (self.now / SECOND) as i64) as u32,
            false => 0,
        };
        let shared = self.is_shared(set);
        let member = Member { size, number: 0, dir, clock };
        let (slot, member) = self.with_pool(set, |pool| {
            let slot = pool.add(member)?;
            if shared {
                pool.hold(slot);
            }
            pool.get(slot).map(|m| (slot, m))
        })??;
        self.hands[usize::from(set)].file = OpenFile::of(slot, member);
        Some(())
    }

    fn choose_dir(&mut self, set: SetId, set_plan: &SetPlan) -> u32 {
        let Some(dirs) = &set_plan.dirs else { return 0 };
        let count = u64::from(dirs.count.max(1));
        let state = &mut self.dirs[usize::from(set)];
        state.files += 1;
        match dirs.rotate {
            // One directory is no choice and draws nothing.
            Rotate::Random if count > 1 => self.random.below(Purpose::Directory, count) as u32,
            Rotate::Random => 0,
            Rotate::Files(n) => ((u64::from(state.first) + (state.files - 1) / n.max(1)) % count) as u32,
            Rotate::Time(span) => {
                let passed = self.now.saturating_sub(state.since) / span.max(1);
                ((u64::from(state.first) + passed) % count) as u32
            }
        }
    }

    /// The guard's answer.
    pub fn guarded(&mut self, guard: Guard, what: &'static str, message: &str) -> Flow {
        let message = match std::mem::take(&mut self.all_held) {
            true => "every file of the set is in another worker's hand",
            false => message,
        };
        if let Some(exit) = self.exhausted_exit {
            self.deadline = (0, exit);
            return Flow::Over;
        }
        match guard {
            Guard::Skip => Flow::Skip,
            Guard::EndPhase => Flow::EndPhase,
            Guard::Error => self.fail(what, None, None, None, Some(message.to_string())),
        }
    }
}

/// Chooses a member of a pool. In a shared pool those in some worker's hand are passed over.
fn choose(
    pool: &mut Pool,
    pick: Pick,
    random: &mut Streams,
    ranks: &mut RankCache,
    shared: &Shared,
    tables: &[Table],
) -> Option<u32> {
    if pool.is_empty() {
        return None;
    }
    let free = |pool: &Pool, slot: u32| !pool.is_held(slot);
    match pick {
        Pick::Same => None,
        Pick::Oldest => pool.oldest().filter(|s| free(pool, *s)).or_else(|| first_free(pool, Order::Oldest)),
        Pick::Newest => pool.newest().filter(|s| free(pool, *s)).or_else(|| first_free(pool, Order::Newest)),
        Pick::Next => (0..pool.len()).find_map(|_| pool.next_in_turn().filter(|s| free(pool, *s))),
        Pick::Random if random.single() => loop {
            // As an original with one table and one stream does it; never for ever, since the
            // pool is not empty.
            let slot = random.below(Purpose::Pick, pool.probe_range()) as u32;
            if pool.get(slot).is_some() {
                return Some(slot);
            }
        },
        Pick::Random | Pick::Ranked(_) => {
            // Members in hand are few; after some misses take any that is free.
            for _ in 0..64 {
                let position = match pick {
                    Pick::Ranked(table) => {
                        ranks.draw(&shared.ranks, tables, table, pool.len(), random, Purpose::Pick)
                    }
                    _ => random.below(Purpose::Pick, pool.len()),
                };
                if let Some(slot) = pool.at(position).filter(|s| free(pool, *s)) {
                    return Some(slot);
                }
            }
            first_free(pool, Order::Random)
        }
    }
}

fn first_free(pool: &Pool, order: Order) -> Option<u32> {
    pool.slots(order).into_iter().find(|slot| !pool.is_held(*slot))
}
