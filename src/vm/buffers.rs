//! The memory transfers come from and go to: page-aligned, filled so that data does not compress
//! or repeat unless the profile says so.

use std::sync::{Arc, OnceLock};

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::random::spread;
pub use crate::os::Aligned;
use crate::os::Recipe;
use crate::plan::instr::{DATA_POOL, OWN_POOLS};

/// Alignment of every transfer in memory. Some file systems refuse direct I/O below a page.
pub const PAGE: usize = 4096;
/// Fresh bytes are put at the start of every such piece.
pub const SECTOR: usize = 512;
const POOL: usize = DATA_POOL as usize;
/// Pattern repeated by duplicated blocks.
const DUPLICATE_BLOCK: usize = 4096;

/// The random data all workers of a case start from, made when the first of them asks.
pub struct DataPool {
    len: usize,
    seed: u64,
    crowd: bool,
    bytes: OnceLock<Aligned>,
}

impl DataPool {
    /// For so many workers whose largest transfer has so many bytes.
    pub fn new(workers: u32, largest: usize, seed: u64) -> Arc<DataPool> {
        // A transfer may start in any page of the pool and must end inside it.
        let len = POOL.max(largest.next_multiple_of(PAGE));
        Arc::new(DataPool { len, seed, crowd: workers > OWN_POOLS, bytes: OnceLock::new() })
    }

    fn bytes(&self) -> &Aligned {
        self.bytes.get_or_init(|| {
            let mut bytes = Aligned::zeroed(self.len);
            ChaCha8Rng::seed_from_u64(self.seed).fill_bytes(bytes.slice_mut(0, self.len));
            bytes
        })
    }
}

/// One worker's buffers. Each is made when first needed.
pub struct Buffers {
    largest: usize,
    shared: Arc<DataPool>,
    seed: u64,
    read: Aligned,
    zero: Aligned,
    byte: Aligned,
    byte_value: u8,
    text: Aligned,
    /// This worker's own pool; empty in a crowd.
    pool: Aligned,
    pool_at: usize,
    /// Where blocks are put together from the shared pool.
    mixed: Aligned,
    /// Counts sectors ever made fresh.
    fresh: u64,
    /// What duplicated blocks repeat; advances slowly so that a repeat has a partner.
    duplicates: u64,
}

impl Buffers {
    /// `largest`: the largest transfer in bytes; `seed` differs from worker to worker.
    pub fn new(largest: usize, seed: u64, shared: Arc<DataPool>) -> Buffers {
        let none = || Aligned::zeroed(0);
        Buffers {
            largest,
            // Workers that share a pool begin in different places of it.
            pool_at: seed as usize % (POOL / PAGE) * PAGE % shared.len,
            shared,
            seed,
            read: Aligned::zeroed(largest),
            zero: none(),
            byte: none(),
            byte_value: 0,
            text: none(),
            pool: none(),
            mixed: none(),
            fresh: 0,
            duplicates: 0,
        }
    }

    /// Where reads go.
    #[inline]
    pub fn reading(&mut self, len: usize) -> &mut [u8] {
        self.read.slice_mut(0, len)
    }

    /// What the last read brought.
    pub fn last_read(&self, len: usize) -> &[u8] {
        self.read.slice(0, len)
    }

    /// Makes ready what a phase will write, so that its first operation need not.
    pub fn prepare(&mut self, recipe: Recipe) {
        match recipe {
            Recipe::Zero if self.zero.is_empty() => self.zero = Aligned::zeroed(self.largest),
            Recipe::Byte(value) if self.byte.is_empty() || self.byte_value != value => {
                self.byte = Aligned::zeroed(self.largest);
                self.byte.slice_mut(0, self.largest).fill(value);
                self.byte_value = value;
            }
            Recipe::Text if self.text.is_empty() => {
                self.text = Aligned::zeroed(self.largest);
                let mut stream = ChaCha8Rng::seed_from_u64(spread(self.seed));
                let text = self.text.slice_mut(0, self.largest);
                stream.fill_bytes(text);
                // Printable ASCII, space to tilde.
                text.iter_mut().for_each(|b| *b = 32 + *b % 95);
            }
            Recipe::Random if !self.shared.crowd && self.pool.is_empty() => {
                let source = self.shared.bytes();
                self.pool = Aligned::zeroed(self.shared.len);
                self.pool.slice_mut(0, self.shared.len).copy_from_slice(source.slice(0, self.shared.len));
            }
            Recipe::Random | Recipe::Mixed { .. } if self.mixed.is_empty() => {
                self.shared.bytes();
                self.mixed = Aligned::zeroed(self.largest.next_multiple_of(DUPLICATE_BLOCK));
            }
            _ => {}
        }
    }

    /// `len` bytes to write. Incompressible data takes the next part of the pool and renews eight
    /// bytes in each of its sectors, in place: about six instructions a sector.
    #[inline]
    pub fn data(&mut self, recipe: Recipe, len: usize) -> &[u8] {
        match recipe {
            Recipe::Random => {
                if self.pool.is_empty() {
                    self.prepare(recipe);
                }
                let from = self.take(len);
                if self.shared.crowd {
                    let source = self.shared.bytes().slice(from, len);
                    self.mixed.slice_mut(0, len).copy_from_slice(source);
                    self.fresh = renew(self.mixed.slice_mut(0, len), self.seed, self.fresh);
                    return self.mixed.slice(0, len);
                }
                self.fresh = renew(self.pool.slice_mut(from, len), self.seed, self.fresh);
                self.pool.slice(from, len)
            }
            Recipe::Read => self.read.slice(0, len),
            Recipe::Zero => {
                self.prepare(recipe);
                self.zero.slice(0, len)
            }
            Recipe::Text => {
                self.prepare(recipe);
                self.text.slice(0, len)
            }
            Recipe::Byte(_) => {
                self.prepare(recipe);
                self.byte.slice(0, len)
            }
            Recipe::Mixed { compressible, duplicate } => self.mix(recipe, compressible, duplicate, len),
        }
    }

    /// Makes the first `len` bytes of a slot of a queue hold what is to be written. What does not
    /// change from one write to the next stays in place, as `filled` remembers.
    #[inline]
    pub fn fill(
        &mut self,
        memory: &mut [u8],
        len: usize,
        recipe: Recipe,
        slot: u32,
        filled: Option<&mut Option<Recipe>>,
    ) {
        let known = filled.as_ref().is_some_and(|filled| **filled == Some(recipe));
        if !known {
            self.fill_whole(memory, recipe, slot);
            if let Some(filled) = filled {
                *filled = Some(recipe);
            }
        }
        let Some(memory) = memory.get_mut(..len) else { return };
        match recipe {
            Recipe::Random => self.fresh = renew(memory, self.seed, self.fresh),
            Recipe::Mixed { .. } | Recipe::Read => memory.copy_from_slice(self.data(recipe, len)),
            Recipe::Zero | Recipe::Byte(_) | Recipe::Text => {}
        }
    }

    /// What a slot holds for all writes of one recipe.
    #[cold]
    fn fill_whole(&mut self, memory: &mut [u8], recipe: Recipe, slot: u32) {
        match recipe {
            Recipe::Zero => memory.fill(0),
            Recipe::Byte(value) => memory.fill(value),
            Recipe::Text => {
                let len = memory.len().min(self.largest);
                memory[..len].copy_from_slice(self.data(recipe, len));
            }
            Recipe::Random => {
                // Every slot begins elsewhere in the pool.
                let source = self.shared.bytes();
                let mut from = slot as usize * memory.len() % self.shared.len;
                let mut rest = memory;
                while !rest.is_empty() {
                    let part = rest.len().min(self.shared.len - from);
                    let (now, later) = rest.split_at_mut(part);
                    now.copy_from_slice(source.slice(from, part));
                    (rest, from) = (later, 0);
                }
            }
            Recipe::Mixed { .. } | Recipe::Read => {}
        }
    }

    /// Where the next `len` bytes of the pool begin: every transfer takes another part.
    #[inline]
    fn take(&mut self, len: usize) -> usize {
        if self.pool_at + len > self.shared.len {
            self.pool_at = 0;
        }
        let from = self.pool_at;
        self.pool_at = from + len.next_multiple_of(PAGE);
        from
    }

    /// Every sector starts with its compressible share of zeros and goes on with random data; a
    /// share of the 4 KiB blocks repeats an earlier block.
    fn mix(&mut self, recipe: Recipe, compressible: u8, duplicate: u8, len: usize) -> &[u8] {
        self.prepare(recipe);
        let zeros = SECTOR * usize::from(compressible) / 100;
        let mut done = 0;
        while done < len {
            let block = (len - done).min(DUPLICATE_BLOCK);
            self.fresh += 1;
            // Blocks in turn are duplicates so that any hundred of them hold exactly the share.
            let duplicated =
                self.fresh * u64::from(duplicate) % 100 < u64::from(duplicate) && block == DUPLICATE_BLOCK;
            let (key, from) = if duplicated {
                self.duplicates += 1;
                // Sixteen patterns in rotation: each repeats soon, none repeats itself at once.
                (self.duplicates % 16, self.duplicates as usize % 16 * DUPLICATE_BLOCK)
            } else {
                (self.fresh << 8, self.take(DUPLICATE_BLOCK))
            };
            let source = self.shared.bytes().slice(from, block);
            let target = self.mixed.slice_mut(done, block);
            target.copy_from_slice(source);
            for (i, sector) in target.chunks_mut(SECTOR).enumerate() {
                let n = zeros.min(sector.len());
                sector[..n].fill(0);
                let fresh = &mut sector[n..];
                let bytes = fresh.len().min(8);
                fresh[..bytes].copy_from_slice(&stamp(self.seed, key * 8 + i as u64)[..bytes]);
            }
            done += block;
        }
        self.mixed.slice(0, len)
    }
}

/// Puts fresh bytes at the start of every sector; `count` sectors were made fresh before.
#[inline]
fn renew(data: &mut [u8], seed: u64, mut count: u64) -> u64 {
    let mut sectors = data.chunks_exact_mut(SECTOR);
    for sector in &mut sectors {
        count += 1;
        sector[..8].copy_from_slice(&stamp(seed, count));
    }
    let rest = sectors.into_remainder();
    if !rest.is_empty() {
        count += 1;
        let n = rest.len().min(8);
        rest[..n].copy_from_slice(&stamp(seed, count)[..n]);
    }
    count
}

/// Eight bytes that no other sector of this worker has.
#[inline]
fn stamp(seed: u64, count: u64) -> [u8; 8] {
    // An odd multiplier is a bijection of the count; the rotation spreads its high bits.
    (count.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).rotate_left(29).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn made(largest: usize, seed: u64, workers: u32) -> Buffers {
        Buffers::new(largest, seed, DataPool::new(workers, largest, 99))
    }

    #[test]
    fn every_buffer_is_page_aligned_also_after_odd_lengths() {
        let mut buffers = made(10_000, 1, 1);
        for recipe in [
            Recipe::Random,
            Recipe::Zero,
            Recipe::Text,
            Recipe::Byte(b'a'),
            Recipe::Mixed { compressible: 50, duplicate: 10 },
        ] {
            for len in [1000, 1, 10_000, 4096, 0] {
                assert_eq!(buffers.data(recipe, len).as_ptr() as usize % PAGE, 0, "{recipe:?}");
            }
        }
        assert_eq!(buffers.reading(1000).as_ptr() as usize % PAGE, 0);
    }

    #[test]
    fn random_data_is_fresh_in_every_sector_and_never_repeats_a_block() {
        for workers in [1, OWN_POOLS + 1] {
            fresh_and_different(workers);
        }
    }

    fn fresh_and_different(workers: u32) {
        let mut buffers = made(4096, 7, workers);
        let mut blocks = HashSet::new();
        let mut sectors = HashSet::new();
        for _ in 0..(64 << 20) / 4096 {
            let block = buffers.data(Recipe::Random, 4096);
            assert!(blocks.insert(spread_bytes(block)));
            for sector in block.chunks(SECTOR) {
                assert!(sectors.insert(<[u8; 8]>::try_from(&sector[..8]).unwrap()));
            }
        }
    }

    fn spread_bytes(bytes: &[u8]) -> (u64, u64) {
        bytes.chunks(16).fold((0, 0), |(a, b), c| {
            let x = u64::from_le_bytes(c[..8].try_into().unwrap());
            let y = u64::from_le_bytes(c[8..].try_into().unwrap());
            (spread(a ^ x), spread(b.wrapping_add(y)))
        })
    }

    #[test]
    fn mixed_data_holds_the_shares_it_says() {
        for (compressible, duplicate) in [(50u8, 0u8), (0, 20), (30, 50)] {
            let mut buffers = made(64 << 10, 3, 1);
            let (mut zeros, mut total, mut repeats) = (0usize, 0usize, 0usize);
            let mut seen = HashSet::new();
            for _ in 0..100 {
                let data = buffers.data(Recipe::Mixed { compressible, duplicate }, 64 << 10);
                zeros +=
                    data.chunks(SECTOR).map(|s| s.iter().take_while(|b| **b == 0).count()).sum::<usize>();
                total += data.len();
                repeats += data.chunks(4096).filter(|b| !seen.insert(spread_bytes(b))).count();
            }
            let share = zeros as f64 / total as f64 * 100.0;
            assert!((share - f64::from(compressible)).abs() < 1.0, "{share}");
            let repeated = repeats as f64 / (total / 4096) as f64 * 100.0;
            assert!((repeated - f64::from(duplicate)).abs() < 2.0, "{repeated}");
        }
    }
}
