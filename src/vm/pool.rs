//! The live members of a file set: insert, uniform pick and remove in constant time. Names are
//! not stored; they follow from a member's number, clock and directory.

use crate::plan::instr::{Insert, Order};

/// No slot.
pub const NONE: u32 = u32::MAX;

/// One member of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Member {
    /// Bytes.
    pub size: u64,
    /// The set's running number, from 1; 0 marks a free slot.
    pub number: u32,
    /// Index of its directory.
    pub dir: u32,
    /// Seconds since 1970 at its creation.
    pub clock: u32,
}

/// Free slots as a bitmap of two levels, for the lowest one in constant time.
#[derive(Clone, Debug, Default)]
struct FreeMap {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl FreeMap {
    fn set(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.summary.resize(word / 64 + 1, 0);
        }
        self.words[word] |= 1 << (slot % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    fn clear(&mut self, slot: u32) {
        let word = slot as usize / 64;
        if let Some(bits) = self.words.get_mut(word) {
            *bits &= !(1 << (slot % 64));
            if *bits == 0 {
                self.summary[word / 64] &= !(1 << (word % 64));
            }
        }
    }

    fn lowest(&self) -> Option<u32> {
        let (block, bits) = self.summary.iter().enumerate().find(|(_, bits)| **bits != 0)?;
        let word = block * 64 + bits.trailing_zeros() as usize;
        Some(word as u32 * 64 + self.words[word].trailing_zeros())
    }
}

/// Age order as a doubly linked list over slots.
#[derive(Clone, Debug)]
struct Ages {
    links: Vec<(u32, u32)>,
    oldest: u32,
    newest: u32,
}

/// A pool. Twenty bytes a member where names need neither directory nor clock: sets of millions
/// of files are held in memory.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Running numbers by slot, 0 where it is free.
    numbers: Vec<u32>,
    sizes: Vec<u64>,
    /// Directory and clock by slot; empty while all of them are 0.
    details: Vec<(u32, u32)>,
    /// Slots some worker of a shared pool has in hand: as many as there are workers at most.
    held: Vec<u32>,
    /// Slots in use, in no order; `place[slot]` is where a slot stands in it.
    live: Vec<u32>,
    place: Vec<u32>,
    free: FreeMap,
    ages: Option<Ages>,
    insert: Insert,
    capacity: Option<u64>,
    bump: u32,
    cursor: u32,
    created: u32,
}

impl Pool {
    /// `capacity`: most members; `by_age`: whether [`Order::Oldest`] and `Newest` will be asked.
    pub fn new(insert: Insert, capacity: Option<u64>, by_age: bool) -> Pool {
        Pool {
            numbers: Vec::new(),
            sizes: Vec::new(),
            details: Vec::new(),
            held: Vec::new(),
            live: Vec::new(),
            place: Vec::new(),
            free: FreeMap::default(),
            ages: by_age.then(|| Ages { links: Vec::new(), oldest: NONE, newest: NONE }),
            insert,
            capacity,
            bump: 0,
            cursor: 0,
            created: 0,
        }
    }

    /// Members in it.
    pub fn len(&self) -> u64 {
        self.live.len() as u64
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Whether no more members fit.
    pub fn is_full(&self) -> bool {
        self.capacity.is_some_and(|capacity| self.len() >= capacity) || self.numbers.len() as u32 == NONE
    }

    /// Running number of the next member.
    pub fn next_number(&self) -> u32 {
        self.created + 1
    }

    /// The member in a slot; `None` where it is free.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<Member> {
        let number = *self.numbers.get(slot as usize)?;
        let size = *self.sizes.get(slot as usize)?;
        let (dir, clock) = self.details.get(slot as usize).copied().unwrap_or_default();
        (number != 0).then_some(Member { size, number, dir, clock })
    }

    #[inline]
    fn is_used(&self, slot: u32) -> bool {
        self.numbers.get(slot as usize).is_some_and(|n| *n != 0)
    }

    /// Notes a member's new size.
    pub fn set_size(&mut self, slot: u32, size: u64) {
        if self.is_used(slot) {
            self.sizes[slot as usize] = size;
        }
    }

    /// Takes a member in hand, so that no other worker picks it. False: another worker has it.
    pub fn hold(&mut self, slot: u32) -> bool {
        let free = !self.is_held(slot);
        if free {
            self.held.push(slot);
        }
        free
    }

    /// Holds a member once more, whoever has it: it must be laid down as often.
    pub fn hold_again(&mut self, slot: u32) {
        self.held.push(slot);
    }

    /// Lays a member down again.
    pub fn release(&mut self, slot: u32) {
        if let Some(at) = self.held.iter().position(|s| *s == slot) {
            self.held.swap_remove(at);
        }
    }

    /// Whether the member of a slot is held by a worker.
    #[inline]
    pub fn is_held(&self, slot: u32) -> bool {
        self.held.contains(&slot)
    }

    /// Adds a member and returns its slot; its number is given here. `None` when full.
    pub fn add(&mut self, member: Member) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let end = self.numbers.len() as u32;
        let slot = match self.insert {
            Insert::BumpThenLowestFree => {
                let at_bump = !self.is_used(self.bump);
                let in_bounds = self.capacity.is_none_or(|c| u64::from(self.bump) < c);
                if at_bump && in_bounds { self.bump } else { self.free.lowest().unwrap_or(end) }
            }
            Insert::LowestFree | Insert::Next => self.free.lowest().unwrap_or(end),
        };
        self.bump = slot + 1;
        if slot == end {
            self.numbers.push(0);
            self.sizes.push(0);
            self.place.push(NONE);
        } else {
            self.free.clear(slot);
        }
        self.created += 1;
        self.numbers[slot as usize] = self.created;
        self.sizes[slot as usize] = member.size;
        if !self.details.is_empty() || (member.dir, member.clock) != (0, 0) {
            self.details.resize(self.numbers.len(), (0, 0));
            self.details[slot as usize] = (member.dir, member.clock);
        }
        self.place[slot as usize] = self.live.len() as u32;
        self.live.push(slot);
        if let Some(ages) = &mut self.ages {
            ages.push(slot);
        }
        Some(slot)
    }

    /// Takes a member out; its slot is free again.
    pub fn remove(&mut self, slot: u32) {
        if !self.is_used(slot) {
            return;
        }
        self.numbers[slot as usize] = 0;
        self.held.retain(|s| *s != slot);
        let place = self.place[slot as usize] as usize;
        self.live.swap_remove(place);
        if let Some(&moved) = self.live.get(place) {
            self.place[moved as usize] = place as u32;
        }
        self.free.set(slot);
        if let Some(ages) = &mut self.ages {
            ages.unlink(slot);
        }
    }

    /// Gives a member the next running number and returns it.
    pub fn renumber(&mut self, slot: u32) -> Option<u32> {
        self.get(slot)?;
        self.created += 1;
        self.set_number(slot, self.created);
        Some(self.created)
    }

    /// Gives a member a number it had before.
    pub fn set_number(&mut self, slot: u32, number: u32) {
        if self.is_used(slot) {
            self.numbers[slot as usize] = number;
        }
    }

    /// The member at a position of the unordered list, `0..len`.
    pub fn at(&self, position: u64) -> Option<u32> {
        self.live.get(position as usize).copied()
    }

    /// Slots to probe when picks follow an original's table: its capacity, or what is in use.
    pub fn probe_range(&self) -> u64 {
        self.capacity.unwrap_or(self.numbers.len() as u64)
    }

    /// The next member in slot order, round and round.
    pub fn next_in_turn(&mut self) -> Option<u32> {
        if self.live.is_empty() {
            return None;
        }
        let end = self.numbers.len() as u32;
        loop {
            if self.cursor >= end {
                self.cursor = 0;
            }
            let slot = self.cursor;
            self.cursor += 1;
            if self.is_used(slot) {
                return Some(slot);
            }
        }
    }

    /// Slot of the oldest member; `None` where ages are not kept or nothing is there.
    pub fn oldest(&self) -> Option<u32> {
        self.ages.as_ref().map(|a| a.oldest).filter(|s| *s != NONE)
    }

    /// Slot of the newest member; `None` where ages are not kept or nothing is there.
    pub fn newest(&self) -> Option<u32> {
        self.ages.as_ref().map(|a| a.newest).filter(|s| *s != NONE)
    }

    /// Every member's slot, in an order; `Random` is left to the caller (unordered here).
    pub fn slots(&self, order: Order) -> Vec<u32> {
        match order {
            Order::Random => self.live.clone(),
            Order::Slot => (0..self.numbers.len() as u32).filter(|slot| self.is_used(*slot)).collect(),
            Order::Oldest | Order::Newest => {
                let Some(ages) = &self.ages else { return self.slots(Order::Slot) };
                let mut slots = Vec::with_capacity(self.live.len());
                let mut slot = ages.oldest;
                while slot != NONE {
                    slots.push(slot);
                    slot = ages.links[slot as usize].1;
                }
                if order == Order::Newest {
                    slots.reverse();
                }
                slots
            }
        }
    }
}

impl Ages {
    fn push(&mut self, slot: u32) {
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, (NONE, NONE));
        }
        self.links[slot as usize] = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.links[newest as usize].1 = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let (older, newer) = self.links[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].1 = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].0 = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain model: a vector of optional numbers and a list by age.
        #[test]
        fn behaves_like_a_plain_table(ops in proptest::collection::vec((0u8..3, 0u64..1000), 0..300), policy in 0..3) {
            let insert = [Insert::Next, Insert::LowestFree, Insert::BumpThenLowestFree][policy as usize];
            let capacity = 40u64;
            let mut pool = Pool::new(insert, Some(capacity), true);
            let mut model: Vec<Option<u32>> = vec![None; capacity as usize];
            let mut by_age: Vec<u32> = Vec::new();
            let (mut number, mut bump) = (0, 0usize);
            for (op, x) in ops {
                if op < 2 {
                    let lowest = model.iter().position(Option::is_none);
                    let expected = match (insert, lowest) {
                        (Insert::BumpThenLowestFree, Some(l)) => {
                            Some(if bump < model.len() && model[bump].is_none() { bump } else { l })
                        }
                        (_, l) => l,
                    };
                    let slot = pool.add(Member { size: x, ..Member::default() });
                    prop_assert_eq!(slot, expected.map(|s| s as u32));
                    if let Some(s) = expected {
                        number += 1;
                        bump = s + 1;
                        model[s] = Some(number);
                        by_age.push(s as u32);
                    }
                } else if let Some(slot) = pool.at(x % pool.len().max(1)) {
                    pool.remove(slot);
                    model[slot as usize] = None;
                    by_age.retain(|s| *s != slot);
                }
                prop_assert_eq!(pool.len() as usize, by_age.len());
                prop_assert_eq!(pool.slots(Order::Oldest), by_age.clone());
                prop_assert_eq!(pool.oldest(), by_age.first().copied());
                prop_assert_eq!(pool.newest(), by_age.last().copied());
                for (slot, expected) in model.iter().enumerate() {
                    prop_assert_eq!(pool.get(slot as u32).map(|m| m.number), *expected);
                }
            }
        }
    }
}
