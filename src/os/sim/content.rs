//! What one simulated file holds: recipes instead of bytes, and which blocks they fill.
//!
//! Most files are written from their start with one recipe: those need no memory of their own.
//! Ranges without an extent are holes. Sizes, names and the space of the whole are not known
//! here.

use crate::os::machine::Recipe;
use std::collections::BTreeMap;

/// Bytes of one block, the unit in which space is given out.
pub const BLOCK: u64 = 4096;

/// Largest file in bytes: that of ext4 with blocks of 4 KiB. No range may go beyond it.
pub const LARGEST: u64 = (1 << 44) - 4096;

/// Bytes from `start` up to `end` that one recipe made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    /// First byte.
    pub start: u64,
    /// Byte after the last.
    pub end: u64,
    /// What the bytes hold.
    pub recipe: Recipe,
}

/// The extents of a file: apart, in order, neighbours of one recipe joined.
#[derive(Debug, Default)]
pub enum Content {
    /// No extent.
    #[default]
    Empty,
    /// One extent from byte 0 up to here.
    One(u64, Recipe),
    /// Anything else.
    Many(Box<Many>),
}

/// Extents where one from byte 0 is not enough.
#[derive(Debug, Default)]
pub struct Many {
    /// Start → end and recipe.
    map: BTreeMap<u64, (u64, Recipe)>,
    /// Blocks that extents touch.
    blocks: u64,
}

fn blocks_up_to(end: u64) -> u64 {
    end.div_ceil(BLOCK)
}

impl Content {
    /// Blocks in use.
    pub fn blocks(&self) -> u64 {
        match self {
            Content::Empty => 0,
            Content::One(end, _) => blocks_up_to(*end),
            Content::Many(many) => many.blocks,
        }
    }

    /// Writes that only lengthen or repeat what is there, which are nearly all: `Some(blocks
    /// added)` where this was one and `free` blocks sufficed, else nothing is changed.
    #[inline]
    pub fn extend(&mut self, start: u64, end: u64, recipe: Recipe, free: u64) -> Option<u64> {
        let old = match self {
            Content::Empty if start == 0 => 0,
            Content::One(old, known) if *known == recipe && start <= *old => *old,
            _ => return None,
        };
        if end <= old {
            return Some(0);
        }
        let added = blocks_up_to(end) - blocks_up_to(old);
        if added > free {
            return None;
        }
        *self = Content::One(end, recipe);
        Some(added)
    }

    /// Blocks that writing a range would add.
    pub fn cost(&self, start: u64, end: u64) -> u64 {
        let (first, last) = (start / BLOCK, blocks_up_to(end));
        (last - first) - self.touched(first, last)
    }

    /// How far a write can go with `free` more blocks: `start` if nowhere.
    pub fn reach(&self, start: u64, end: u64, mut free: u64) -> u64 {
        for block in start / BLOCK..blocks_up_to(end) {
            if self.touched(block, block + 1) == 0 {
                if free == 0 {
                    return start.max(block * BLOCK);
                }
                free -= 1;
            }
        }
        end
    }

    /// Writes a range. Returns the blocks added.
    pub fn set(&mut self, start: u64, end: u64, recipe: Recipe) -> u64 {
        if let Some(added) = self.extend(start, end, recipe, u64::MAX) {
            return added;
        }
        if matches!(self, Content::Many(_)) && self.many().overwrite(start, end, recipe) {
            self.simplify();
            return 0;
        }
        let added = self.cost(start, end);
        if let Content::One(old, known) = self
            && start == 0
            && end >= *old
        {
            (*old, *known) = (end, recipe);
            return added;
        }
        let many = self.many();
        many.cut(start, end);
        many.insert(start, end, recipe);
        many.blocks += added;
        self.simplify();
        added
    }

    /// Makes a range a hole. Returns the blocks freed.
    pub fn clear(&mut self, start: u64, end: u64) -> u64 {
        let (first, last) = (start / BLOCK, blocks_up_to(end));
        let before = self.touched(first, last);
        if before == 0 {
            return 0;
        }
        match self {
            Content::One(old, _) if start == 0 && end >= *old => *self = Content::Empty,
            Content::One(old, _) if end >= *old => *old = (*old).min(start),
            _ => self.many().cut(start, end),
        }
        let freed = before - self.touched(first, last);
        if let Content::Many(many) = self {
            many.blocks -= freed;
        }
        self.simplify();
        freed
    }

    /// Turns what is written in a range into zeros; holes stay holes.
    pub fn zero(&mut self, start: u64, end: u64) {
        for part in self.parts(start, end) {
            self.set(part.start, part.end, Recipe::Zero);
        }
    }

    /// The extents, or parts of them, in a range.
    pub fn parts(&self, start: u64, end: u64) -> Vec<Extent> {
        let part = |(from, (to, recipe)): (u64, (u64, Recipe))| {
            let extent = Extent { start: from.max(start), end: to.min(end), recipe };
            (extent.start < extent.end).then_some(extent)
        };
        match self {
            Content::Empty => Vec::new(),
            Content::One(old, recipe) => part((0, (*old, *recipe))).into_iter().collect(),
            Content::Many(many) => many.over(start, end).filter_map(part).collect(),
        }
    }

    /// How many of the blocks from `first` up to `last` extents touch.
    fn touched(&self, first: u64, last: u64) -> u64 {
        match self {
            Content::Empty => 0,
            Content::One(end, _) => blocks_up_to(*end).clamp(first, last) - first,
            Content::Many(many) => {
                let (mut count, mut next) = (0, first);
                for (start, (end, _)) in many.over(first * BLOCK, last * BLOCK) {
                    let (from, to) = ((start / BLOCK).max(next), blocks_up_to(end).min(last));
                    if to > from {
                        count += to - from;
                        next = to;
                    }
                }
                count
            }
        }
    }

    fn many(&mut self) -> &mut Many {
        if !matches!(self, Content::Many(_)) {
            let mut many = Box::new(Many { map: BTreeMap::new(), blocks: self.blocks() });
            if let Content::One(end, recipe) = *self {
                many.map.insert(0, (end, recipe));
            }
            *self = Content::Many(many);
        }
        match self {
            Content::Many(many) => many,
            _ => unreachable!("made so above"),
        }
    }

    /// Back to the small forms where they suffice.
    fn simplify(&mut self) {
        if let Content::Many(many) = self
            && many.map.len() < 2
        {
            match many.map.first_key_value() {
                None => *self = Content::Empty,
                Some((0, &(end, recipe))) => *self = Content::One(end, recipe),
                Some(_) => {}
            }
        }
    }
}

impl Many {
    /// Extents that overlap a range, whole.
    fn over(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, (u64, Recipe))> {
        let before = self.map.range(..start).next_back().filter(|extent| extent.1.0 > start);
        // An empty or reversed range has no rest; BTreeMap would panic on the latter.
        let rest = self.map.range(start..end.max(start));
        before.into_iter().chain(rest).map(|(start, extent)| (*start, *extent))
    }

    /// A write that stays within one extent, the usual one in a file that is full: true where
    /// this was one, and it is done.
    fn overwrite(&mut self, start: u64, end: u64, recipe: Recipe) -> bool {
        let Some((&from, (to, known))) = self.map.range_mut(..=start).next_back() else { return false };
        let (until, known) = (std::mem::replace(to, (*to).min(start)), *known);
        if until < end || known == recipe {
            *to = until;
            return until >= end;
        }
        if from == start {
            self.map.remove(&from);
        }
        if until > end {
            self.map.insert(end, (until, known));
        }
        if from < start && until > end {
            // Between two parts of another recipe: nothing to join.
            self.map.insert(start, (end, recipe));
        } else {
            self.insert(start, end, recipe);
        }
        true
    }

    /// Removes a range from the extents; the count of blocks is the caller's.
    fn cut(&mut self, start: u64, end: u64) {
        let hit: Vec<_> = self.over(start, end).collect();
        for (from, (to, recipe)) in hit {
            self.map.remove(&from);
            if from < start {
                self.map.insert(from, (start, recipe));
            }
            if to > end {
                self.map.insert(end, (to, recipe));
            }
        }
    }

    /// Adds an extent where there is a hole and joins it with its neighbours.
    fn insert(&mut self, mut start: u64, mut end: u64, recipe: Recipe) {
        if let Some((&from, &(to, known))) = self.map.range(..start).next_back()
            && to == start
            && known == recipe
        {
            start = from;
        }
        if let Some(&(to, known)) = self.map.get(&end)
            && known == recipe
        {
            self.map.remove(&end);
            end = to;
        }
        self.map.insert(start, (end, recipe));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stays_small_where_it_can() {
        assert!(size_of::<Content>() <= 16);
        let mut content = Content::default();
        assert_eq!(content.set(0, 1, Recipe::Text), 1);
        assert_eq!(content.set(1, 4096, Recipe::Text), 0);
        assert_eq!(content.set(4096, 10_000, Recipe::Text), 2);
        assert!(matches!(content, Content::One(10_000, Recipe::Text)));
        content.set(4096, 8192, Recipe::Random);
        assert!(matches!(content, Content::Many(_)));
        assert_eq!(content.blocks(), 3);
        content.set(4096, 8192, Recipe::Text);
        assert!(matches!(content, Content::One(10_000, Recipe::Text)));
        assert_eq!(content.set(0, 20_000, Recipe::Zero), 2);
        assert!(matches!(content, Content::One(20_000, Recipe::Zero)));
        assert_eq!(content.clear(0, LARGEST), 5);
        assert!(matches!(content, Content::Empty));
    }

    #[test]
    fn a_write_reaches_as_far_as_space_does() {
        let mut content = Content::default();
        content.set(8192, 12_288, Recipe::Text);
        assert_eq!(content.cost(100, 20_000), 4);
        assert_eq!(content.reach(100, 20_000, 0), 100);
        assert_eq!(content.reach(100, 20_000, 1), 4096);
        assert_eq!(content.reach(100, 20_000, 2), 12_288, "the block in the middle is there");
        assert_eq!(content.reach(100, 20_000, 4), 20_000);
    }

    proptest! {
        /// The same operations on an array of bytes.
        #[test]
        fn agrees_with_bytes(steps in prop::collection::vec((0..3u8, 0..60u64, 1..20u64, 0..3u8), 1..40)) {
            const UNIT: u64 = 1024;
            let mut content = Content::default();
            let mut model: Vec<Option<Recipe>> = vec![None; 80];
            for (what, at, len, recipe) in steps {
                let range = at as usize..(at + len) as usize;
                let (start, end) = (at * UNIT, (at + len) * UNIT);
                let before = content.blocks();
                match what {
                    0 | 1 => {
                        let recipe = [Recipe::Zero, Recipe::Text, Recipe::Byte(7)][usize::from(recipe)];
                        let cost = content.cost(start, end);
                        prop_assert_eq!(content.set(start, end, recipe), cost);
                        prop_assert_eq!(content.blocks(), before + cost);
                        model[range].fill(Some(recipe));
                    }
                    _ => {
                        let freed = content.clear(start, end);
                        prop_assert_eq!(content.blocks(), before - freed);
                        model[range].fill(None);
                    }
                }
                let mut seen: Vec<Option<Recipe>> = vec![None; 80];
                let parts = content.parts(0, 80 * UNIT);
                for part in &parts {
                    seen[(part.start / UNIT) as usize..(part.end / UNIT) as usize].fill(Some(part.recipe));
                }
                prop_assert_eq!(&seen, &model);
                prop_assert!(parts.windows(2).all(|w| w[0].end < w[1].start
                    || (w[0].end == w[1].start && w[0].recipe != w[1].recipe)));
                let blocks = model.chunks(4).filter(|block| block.iter().any(Option::is_some)).count();
                prop_assert_eq!(content.blocks(), blocks as u64);
            }
        }
    }
}
