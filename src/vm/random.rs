//! Random streams: one a purpose, keyed by seed, case, repeat and worker, so that what a worker
//! does never depends on timing or on what another stream was asked.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::mt19937::Mt19937;
use crate::plan::instr::Generator;

/// What a draw is for. Each has a stream of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Which file.
    Pick,
    /// How many bytes.
    Size,
    /// Which offset.
    Place,
    /// Which alternative.
    Mix,
    /// Which directory.
    Directory,
    /// When.
    Pace,
    /// Everything before the first phase.
    Layout,
}

const PURPOSES: usize = 7;

/// Alternatives that 16 bits choose among: at most one draw in 16 is left out.
pub const FEW: usize = 1 << 12;

/// Numbers made at once: as many as the generator makes in one go.
const BATCH: usize = 32;

/// One stream with a batch of its next numbers at hand: taking one is a load and a count.
pub struct Stream {
    generator: ChaCha8Rng,
    /// As the generator made them, in little-endian order.
    ready: [[u8; 8]; BATCH],
    at: usize,
}

impl Stream {
    fn new(generator: ChaCha8Rng) -> Stream {
        Stream { generator, ready: [[0; 8]; BATCH], at: BATCH }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        match self.ready.get(self.at) {
            Some(&number) => {
                self.at += 1;
                u64::from_le_bytes(number)
            }
            None => self.refill(),
        }
    }

    /// The first number of a new batch.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) -> u64 {
        self.generator.fill_bytes(self.ready.as_flattened_mut());
        self.at = 1;
        u64::from_le_bytes(self.ready[0])
    }
}

/// What makes one worker's streams different from every other's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StreamKey {
    /// Seed of the run.
    pub seed: u64,
    /// Hash of the case's identity.
    pub case: u64,
    /// Number of the repeat, from 0.
    pub repeat: u64,
    /// Number of the worker, from 0.
    pub worker: u64,
}

/// Steele, Lea and Flood's SplitMix64 finaliser: spreads one number over 64 bits.
#[inline]
pub fn spread(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl StreamKey {
    /// A number that differs with every part of the key; `salt` separates uses.
    pub fn hash(&self, salt: u64) -> u64 {
        [self.seed, self.case, self.repeat, self.worker, salt].iter().fold(0, |h, &x| spread(h ^ spread(x)))
    }

    fn bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        for (i, chunk) in bytes.chunks_mut(8).enumerate() {
            chunk.copy_from_slice(&self.hash(i as u64).to_le_bytes());
        }
        bytes
    }
}

/// All random choices of one worker.
pub struct Streams {
    /// A ChaCha8 stream a purpose.
    own: Box<[Stream; PURPOSES]>,
    /// What is left of the last number drawn for choices, 16 bits each, below a 1 that says where it
    /// ends.
    choices: u64,
    /// Instead of all of them one stream in program order, whose bounded draws are remainders.
    single: Option<Box<Mt19937>>,
}

impl Streams {
    /// Streams at their start; the same key gives the same choices.
    pub fn new(generator: Generator, key: StreamKey) -> Streams {
        let base = ChaCha8Rng::from_seed(key.bytes());
        let own = Box::new(std::array::from_fn(|purpose| {
            let mut stream = base.clone();
            stream.set_stream(purpose as u64);
            Stream::new(stream)
        }));
        let single = match generator {
            Generator::ChaCha8 => None,
            // The original's own seed, the same in every case and repeat, as the original has it.
            Generator::Mt19937 { burn } => {
                let mut mt = Mt19937::seeded_1999((key.seed + key.worker) as u32);
                for _ in 0..burn {
                    mt.next_u32();
                }
                Some(Box::new(mt))
            }
        };
        Streams { own, choices: 0, single }
    }

    /// Whether draws follow an original program's single stream.
    pub fn single(&self) -> bool {
        self.single.is_some()
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self, purpose: Purpose) -> u64 {
        match &mut self.single {
            None => self.own[purpose as usize].next(),
            Some(mt) => (u64::from(mt.next_u32()) << 32) | u64::from(mt.next_u32()),
        }
    }

    /// A number below `n`, each equally likely (the bias of the multiplication is below
    /// `n / 2^64`). Draws exactly once, also for `n == 1`; for `n == 0` it draws nothing and is 0.
    #[inline(always)]
    pub fn below(&mut self, purpose: Purpose, n: u64) -> u64 {
        if n == 0 {
            return 0;
        }
        match &mut self.single {
            None => self.own_below(purpose, n),
            Some(mt) => remainder(mt, n),
        }
    }

    /// [`Streams::below`] for a plan that is known to have a stream a purpose, and for `n` above 0.
    #[inline(always)]
    pub fn own_below(&mut self, purpose: Purpose, n: u64) -> u64 {
        let x = self.own[purpose as usize].next();
        ((u128::from(x) * u128::from(n)) >> 64) as u64
    }

    /// One of `n` alternatives, each exactly as likely; 0 where there are none.
    #[inline(always)]
    pub fn choice(&mut self, n: usize) -> usize {
        if self.single.is_some() { self.below(Purpose::Mix, n as u64) as usize } else { self.own_choice(n) }
    }

    /// [`Streams::choice`] for a plan that is known to have a stream a purpose. Few alternatives take
    /// 16 bits each (Lemire, Fast Random Integer Generation in an Interval, 2019: those that would make
    /// some of them likelier are left out).
    #[inline(always)]
    pub fn own_choice(&mut self, n: usize) -> usize {
        if n == 0 || n > FEW { self.many_choices(n) } else { self.few_choices(n) }
    }

    /// [`Streams::own_choice`] for 1 to [`FEW`] alternatives.
    #[inline(always)]
    pub fn few_choices(&mut self, n: usize) -> usize {
        loop {
            if self.choices <= 1 {
                self.choices = self.own[Purpose::Mix as usize].next() >> 16 | 1 << 48;
            }
            let product = (self.choices & 0xffff) as usize * n;
            self.choices >>= 16;
            if product & 0xffff >= n || Streams::is_fair(product, n) {
                return product >> 16;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn is_fair(product: usize, n: usize) -> bool {
        product & 0xffff >= (1 << 16) % n
    }

    #[cold]
    #[inline(never)]
    fn many_choices(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.own_below(Purpose::Mix, n as u64) as usize }
    }

    /// A number from 0 to below 1 with 53 random bits.
    #[inline]
    pub fn unit(&mut self, purpose: Purpose) -> f64 {
        (self.bits(purpose) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

/// A draw below `n` (not 0) as originals make it.
#[inline(never)]
fn remainder(mt: &mut Mt19937, n: u64) -> u64 {
    let number = match u32::try_from(n) {
        Ok(_) => u64::from(mt.next_u32()),
        Err(_) => (u64::from(mt.next_u32()) << 32) | u64::from(mt.next_u32()),
    };
    number % n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_matters_and_purposes_differ() {
        let base = StreamKey { seed: 1, case: 2, repeat: 3, worker: 4 };
        let draw = |key, purpose| Streams::new(Generator::ChaCha8, key).bits(purpose);
        let keys = [
            base,
            StreamKey { seed: 9, ..base },
            StreamKey { case: 9, ..base },
            StreamKey { repeat: 9, ..base },
            StreamKey { worker: 9, ..base },
        ];
        let mut seen: Vec<u64> = keys.iter().map(|k| draw(*k, Purpose::Pick)).collect();
        seen.push(draw(base, Purpose::Size));
        assert_eq!(draw(base, Purpose::Pick), seen[0]);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 6);
    }

    #[test]
    fn every_alternative_is_as_likely_as_the_next() {
        for generator in [Generator::ChaCha8, Generator::Mt19937 { burn: 3 }] {
            for n in [1, 2, 3, 100, 129, FEW, FEW + 1] {
                let mut streams = Streams::new(generator, StreamKey::default());
                let each = 1_000_000 / n as u64;
                let mut counts = vec![0_u64; n];
                for _ in 0..each * n as u64 {
                    counts[streams.choice(n)] += 1;
                }
                // The sum over all of (seen - expected)^2 / expected is n - 1 on average, with a
                // variance of 2 (n - 1).
                let square = |seen: u64| (seen as f64 - each as f64).powi(2) / each as f64;
                let sum: f64 = counts.into_iter().map(square).sum();
                let (mean, sd) = (n as f64 - 1.0, (2.0 * (n as f64 - 1.0)).sqrt());
                assert!((sum - mean).abs() <= 5.0 * sd, "{n}: {sum} is not {mean} ± {sd}");
            }
            assert_eq!(Streams::new(generator, StreamKey::default()).choice(0), 0);
        }
    }

    #[test]
    fn bounded_draws_are_uniform() {
        for generator in [Generator::ChaCha8, Generator::Mt19937 { burn: 3 }] {
            let mut streams = Streams::new(generator, StreamKey::default());
            let mut counts = [0u32; 10];
            for _ in 0..100_000 {
                counts[streams.below(Purpose::Pick, 10) as usize] += 1;
            }
            assert!(counts.iter().all(|c| (9_500..10_500).contains(c)), "{counts:?}");
            assert_eq!(streams.below(Purpose::Pick, 0), 0);
        }
    }
}
