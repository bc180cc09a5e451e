//! Numbers drawn at run time: constants, ranges, tables, ranks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::random::{Purpose, Streams, spread};
use crate::plan::instr::{Bound, Draw, Table};

/// Ranks a table of Zipf's law holds at most; more are grouped (8 MiB a table).
const MOST_RANKS: u64 = 1 << 20;

/// What bounds may depend on: the file in hand.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileFacts {
    /// Its size in bytes.
    pub size: u64,
    /// Bytes it may still grow.
    pub room: u64,
}

impl Bound {
    /// The bound as a number, for the file in hand.
    #[inline]
    pub fn value(self, file: FileFacts) -> u64 {
        match self {
            Bound::Number(n) => n,
            Bound::FileSize => file.size,
            Bound::FileRoom => file.room,
        }
    }
}

/// Draws a number. A range draws once even where it holds one value; a constant draws nothing.
#[inline]
pub fn draw(draw: Draw, tables: &[Table], random: &mut Streams, purpose: Purpose, file: FileFacts) -> u64 {
    match draw {
        Draw::Const(n) => n,
        Draw::Uniform { lo, hi, step } => {
            let (lo, hi) = (lo.value(file), hi.value(file));
            let choices = hi.saturating_sub(lo) / step.max(1);
            lo + random.below(purpose, choices.saturating_add(1)) * step
        }
        Draw::Table(id) => match tables.get(id as usize) {
            Some(table) => from_table(table, random, purpose),
            None => 0,
        },
    }
}

fn from_table(table: &Table, random: &mut Streams, purpose: Purpose) -> u64 {
    match table {
        Table::Lookup { values, index } => {
            let drawn = random.below(purpose, index.len() as u64);
            index.get(drawn as usize).and_then(|i| values.get(*i as usize)).copied().unwrap_or(0)
        }
        Table::Quantiles { values, tail } => {
            let bits = random.bits(purpose);
            let (i, within) = split(bits, values.len() as u64 - 1);
            if i + 2 == values.len() && !tail.is_empty() {
                let (i, within) = split(within, tail.len() as u64 - 1);
                between(tail[i], tail[i + 1], within)
            } else {
                between(values[i], values[i + 1], within)
            }
        }
        // Ranks need to know how many there are; used as a plain number they have no meaning and
        // the compiler refuses it.
        Table::Zipf { .. } | Table::Hot { .. } => 0,
    }
}

/// Which of `n` equal parts `bits` falls into, and where within it (64 bits again).
fn split(bits: u64, n: u64) -> (usize, u64) {
    let product = u128::from(bits) * u128::from(n);
    ((product >> 64) as usize, product as u64)
}

fn between(lo: u64, hi: u64, within: u64) -> u64 {
    lo + ((u128::from(hi - lo) * u128::from(within) + (1 << 63)) >> 64) as u64
}

/// Walker's alias table over ranks `0..len`, rank r with weight `(r + 1)^-exponent`.
pub struct Ranks {
    /// Threshold of 2^32 and the other rank.
    entries: Vec<(u32, u32)>,
    /// Ranks a table entry stands for.
    group: u64,
}

impl Ranks {
    fn zipf(exponent: f64, ranks: u64) -> Ranks {
        let group = ranks.div_ceil(MOST_RANKS).max(1);
        let n = ranks.div_ceil(group).max(1) as usize;
        let weights: Vec<f64> = (0..n).map(|r| ((r as f64) + 1.0).powf(-exponent)).collect();
        let scale = n as f64 / weights.iter().sum::<f64>();
        let mut scaled: Vec<f64> = weights.iter().map(|w| w * scale).collect();
        let mut entries = vec![(u32::MAX, 0u32); n];
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| scaled[*i] < 1.0);
        while let (Some(s), Some(l)) = (small.pop(), large.last().copied()) {
            entries[s] = ((scaled[s] * 4_294_967_296.0) as u32, l as u32);
            scaled[l] -= 1.0 - scaled[s];
            if scaled[l] < 1.0 {
                large.pop();
                small.push(l);
            }
        }
        for rest in small.into_iter().chain(large) {
            entries[rest] = (u32::MAX, rest as u32);
        }
        Ranks { entries, group }
    }

    #[inline]
    fn draw(&self, random: &mut Streams, purpose: Purpose) -> u64 {
        let bits = random.bits(purpose);
        let product = (bits >> 32) * self.entries.len() as u64;
        let i = (product >> 32) as usize;
        let (threshold, alias) = self.entries[i];
        let rank = if (bits as u32) < threshold { i as u64 } else { u64::from(alias) };
        match self.group {
            1 => rank,
            group => rank * group + random.below(purpose, group),
        }
    }
}

/// Rank tables of a run, made when first asked for and shared by its workers.
#[derive(Default)]
pub struct RankTables {
    tables: Mutex<HashMap<(u32, u64), Arc<Ranks>>>,
}

/// A worker's view of the rank tables: the last one it used is at hand.
#[derive(Default)]
pub struct RankCache {
    last: Option<((u32, u64), Arc<Ranks>)>,
}

impl RankCache {
    /// A rank below `n` (which is not 0) from table `id`.
    #[inline]
    pub fn draw(
        &mut self,
        shared: &RankTables,
        tables: &[Table],
        id: u32,
        n: u64,
        random: &mut Streams,
        purpose: Purpose,
    ) -> u64 {
        match tables.get(id as usize) {
            Some(Table::Hot { share, of }) => hot(*share, *of, n, random, purpose),
            Some(Table::Zipf { exponent }) => {
                // Rounding up bounds how many tables files of many sizes need; ranks that do not
                // exist are drawn again, which leaves the law over those that do.
                let rounded = round_up(n);
                let key = (id, rounded);
                if self.last.as_ref().is_none_or(|(k, _)| *k != key) {
                    let mut known = match shared.tables.lock() {
                        Ok(known) => known,
                        Err(poisoned) => poisoned.into_inner(),
                    };
                    let table = known.entry(key).or_insert_with(|| Arc::new(Ranks::zipf(*exponent, rounded)));
                    self.last = Some((key, Arc::clone(table)));
                }
                match &self.last {
                    Some((_, table)) => loop {
                        let rank = table.draw(random, purpose);
                        if rank < n {
                            return rank;
                        }
                    },
                    None => 0,
                }
            }
            _ => random.below(purpose, n),
        }
    }
}

/// `share` of the draws (of 2^32) fall on the first `of` (of 2^32) of `n`.
pub fn hot(share: u32, of: u32, n: u64, random: &mut Streams, purpose: Purpose) -> u64 {
    let bits = random.bits(purpose);
    let edge = ((u128::from(n) * u128::from(of)) >> 32) as u64;
    let edge = edge.clamp(1, n);
    let in_hot = (bits >> 32) < u64::from(share);
    let low = u128::from(bits as u32);
    let (from, len) = if in_hot || edge == n { (0, edge) } else { (edge, n - edge) };
    // 32 bits choose the place: enough for 2^32 blocks.
    from + ((low * u128::from(len)) >> 32) as u64
}

/// The next number with at most four significant bits.
fn round_up(n: u64) -> u64 {
    let shift = (64 - n.leading_zeros()).saturating_sub(4);
    ((n + (1 << shift) - 1) >> shift) << shift
}

/// A fixed permutation of `0..n`: a Feistel network of four rounds, walked until it lands inside.
pub fn permute(index: u64, n: u64, key: u64) -> u64 {
    if n <= 1 {
        return 0;
    }
    let bits = (64 - (n - 1).leading_zeros()).max(2).next_multiple_of(2);
    let half = bits / 2;
    let mask = (1u64 << half) - 1;
    let mut x = index;
    loop {
        let (mut left, mut right) = (x >> half, x & mask);
        for round in 0..4u64 {
            let next = left ^ (spread(right ^ spread(key ^ round)) & mask);
            left = right;
            right = next;
        }
        x = (left << half) | right;
        if x < n {
            return x;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::instr::Generator;
    use crate::vm::random::StreamKey;

    fn streams() -> Streams {
        Streams::new(Generator::ChaCha8, StreamKey { seed: 5, ..StreamKey::default() })
    }

    #[test]
    fn ranges_include_both_ends_and_keep_their_step() {
        let mut random = streams();
        let range = Draw::Uniform { lo: Bound::Number(512), hi: Bound::Number(2048), step: 512 };
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            seen.insert(draw(range, &[], &mut random, Purpose::Size, FileFacts::default()));
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), [512, 1024, 1536, 2048]);
        let room = Draw::Uniform { lo: Bound::Number(1), hi: Bound::FileRoom, step: 1 };
        let facts = FileFacts { size: 10, room: 1 };
        assert_eq!(draw(room, &[], &mut random, Purpose::Size, facts), 1);
    }

    #[test]
    fn zipf_ranks_follow_the_law() {
        let tables = [Table::Zipf { exponent: 1.1 }];
        let (shared, mut cache, mut random) = (RankTables::default(), RankCache::default(), streams());
        for n in [1000u64, 1007] {
            let mut counts = vec![0u32; n as usize];
            for _ in 0..200_000 {
                counts[cache.draw(&shared, &tables, 0, n, &mut random, Purpose::Place) as usize] += 1;
            }
            let h: f64 = (1..=n).map(|r| (r as f64).powf(-1.1)).sum();
            for rank in [0usize, 1, 9, 99] {
                let expected = 200_000.0 * ((rank + 1) as f64).powf(-1.1) / h;
                let got = f64::from(counts[rank]);
                assert!((got - expected).abs() < 5.0 * expected.sqrt() + 1.0, "{n} {rank}: {got} {expected}");
            }
        }
    }

    #[test]
    fn hot_spots_get_their_share() {
        let mut random = streams();
        let half = |p: f64| (p * 4_294_967_296.0) as u32;
        let inside =
            (0..100_000).filter(|_| hot(half(0.8), half(0.2), 1000, &mut random, Purpose::Place) < 200);
        let share = inside.count() as f64 / 100_000.0;
        assert!((share - 0.8).abs() < 0.01, "{share}");
    }

    #[test]
    fn permutations_visit_everything_once() {
        for n in [1u64, 2, 3, 10, 256, 1000] {
            let mut seen: Vec<u64> = (0..n).map(|i| permute(i, n, 99)).collect();
            assert!(n < 10 || seen.windows(2).any(|w| w[1] != w[0] + 1));
            seen.sort_unstable();
            assert_eq!(seen, (0..n).collect::<Vec<_>>());
        }
    }
}
