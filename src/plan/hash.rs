//! The identity of a plan: a hash over its canonical form, the same in every process and on every
//! machine, whatever order tables of operations or open flags have there.
//!
//! Every field counts but the places in the profile. Structs are taken apart without `..`, so that
//! a new field does not compile until it is hashed. Knows nothing of how a plan is made or run.

use sha2::{Digest, Sha256};

use super::instr::*;
use crate::os::{Advice, Errno, Lock, Recipe, Space};

/// Changes whenever the canonical form does, so that hashes of two forms never meet.
const FORM: &str = "ioscore plan 1";
/// Hex digits of a hash: 128 bits, far beyond accidental collisions.
const DIGITS: usize = 32;

/// The plan's identity in 32 hexadecimal digits.
pub fn plan_hash(plan: &Plan) -> String {
    let verbs = crate::ops::rows().map(|row| row.verb.name).collect();
    let mut sink = Sink { sha: Sha256::new(), verbs };
    FORM.put(&mut sink);
    plan.put(&mut sink);
    let digest = sink.sha.finalize();
    let mut text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(DIGITS);
    text
}

/// Where canonical bytes go.
struct Sink {
    sha: Sha256,
    /// Verbs by number: an operation is named, since its number changes when others are added.
    verbs: Vec<&'static str>,
}

impl Sink {
    fn bytes(&mut self, bytes: &[u8]) {
        self.sha.update(bytes);
    }
}

/// Writes a value so that no two different ones look the same: fixed widths, little-endian, lengths
/// before what varies, a number before each variant.
trait Canonical {
    fn put(&self, to: &mut Sink);
}

macro_rules! numbers {
    ($($t:ty),*) => { $( impl Canonical for $t {
        fn put(&self, to: &mut Sink) {
            to.bytes(&self.to_le_bytes());
        }
    } )* };
}
numbers!(u8, u16, u32, u64, i32);

impl Canonical for f64 {
    fn put(&self, to: &mut Sink) {
        // One zero and one not-a-number.
        let bits = if *self == 0.0 {
            0
        } else if self.is_nan() {
            f64::NAN.to_bits()
        } else {
            self.to_bits()
        };
        bits.put(to);
    }
}

impl Canonical for bool {
    fn put(&self, to: &mut Sink) {
        u8::from(*self).put(to);
    }
}

impl Canonical for str {
    fn put(&self, to: &mut Sink) {
        (self.len() as u64).put(to);
        to.bytes(self.as_bytes());
    }
}

impl Canonical for String {
    fn put(&self, to: &mut Sink) {
        self.as_str().put(to);
    }
}

impl<T: Canonical> Canonical for Vec<T> {
    fn put(&self, to: &mut Sink) {
        (self.len() as u64).put(to);
        self.iter().for_each(|item| item.put(to));
    }
}

impl<T: Canonical> Canonical for Option<T> {
    fn put(&self, to: &mut Sink) {
        self.is_some().put(to);
        if let Some(value) = self {
            value.put(to);
        }
    }
}

impl<A: Canonical, B: Canonical> Canonical for (A, B) {
    fn put(&self, to: &mut Sink) {
        self.0.put(to);
        self.1.put(to);
    }
}

impl Canonical for Errno {
    fn put(&self, to: &mut Sink) {
        // Numbers differ between architectures.
        match crate::os::errno::name(*self) {
            Some(name) => name.put(to),
            None => self.0.put(to),
        }
    }
}

/// Flags of `open(2)`, whose numbers differ between architectures.
struct Flags(i32);

/// Our own numbers of the flags. `O_SYNC` contains `O_DSYNC`, so it comes first.
const FLAGS: &[(i32, u8)] = &[
    (libc::O_WRONLY, 1),
    (libc::O_RDWR, 2),
    (libc::O_CREAT, 3),
    (libc::O_EXCL, 4),
    (libc::O_TRUNC, 5),
    (libc::O_APPEND, 6),
    (libc::O_SYNC, 7),
    (libc::O_DSYNC, 8),
    (libc::O_DIRECT, 9),
    (libc::O_NOATIME, 10),
];

impl Canonical for Flags {
    fn put(&self, to: &mut Sink) {
        let mut rest = self.0;
        for (flag, number) in FLAGS {
            if rest & flag == *flag {
                rest &= !flag;
                number.put(to);
            }
        }
        0u8.put(to);
        rest.put(to);
    }
}

macro_rules! put_all {
    ($to:ident; $($item:expr),*) => { $( $item.put($to); )* };
}

/// A struct by its fields, all of them.
macro_rules! fields {
    ($($name:ident { $($field:ident),* $(,)? })*) => { $( impl Canonical for $name {
        fn put(&self, to: &mut Sink) {
            let $name { $($field),* } = self;
            $( $field.put(to); )*
        }
    } )* };
}

/// An enum by the number of its variant and what that holds.
macro_rules! variants {
    ($($name:ident { $($number:literal $variant:ident $(($($item:ident),*))? $({$($field:ident),*})?),* $(,)? })*) => { $(
        impl Canonical for $name {
            fn put(&self, to: &mut Sink) {
                match self {
                    $( $name::$variant $(($($item),*))? $({$($field),*})? => {
                        ($number as u8).put(to);
                        $( $( $item.put(to); )* )?
                        $( $( $field.put(to); )* )?
                    } )*
                }
            }
        }
    )* };
}

impl Canonical for Instr {
    fn put(&self, to: &mut Sink) {
        match self {
            Instr::Op { op, args } => {
                0u8.put(to);
                match to.verbs.get(usize::from(*op)).copied() {
                    Some(verb) => verb.put(to),
                    None => op.put(to),
                }
                args.put(to);
            }
            Instr::Jump(target) => (1u8, *target).put(to),
            Instr::LoopStart { id, exit } => (2u8, (*id, *exit)).put(to),
            Instr::LoopNext { id, head } => (3u8, (*id, *head)).put(to),
            Instr::LoopEnd { id } => (4u8, *id).put(to),
            Instr::Mix { id } => (5u8, *id).put(to),
            Instr::BlockStart { block } => (6u8, *block).put(to),
            Instr::BlockEnd { block, stat } => (7u8, (*block, *stat)).put(to),
            Instr::EachStart { id, exit } => (8u8, (*id, *exit)).put(to),
            Instr::EachNext { id, head } => (9u8, (*id, *head)).put(to),
            Instr::Pace { id } => (10u8, *id).put(to),
            Instr::End => 11u8.put(to),
        }
    }
}

impl Canonical for Opening {
    fn put(&self, to: &mut Sink) {
        let Opening { flags, permissions, parents, stdio, prefer_direct } = self;
        Flags(*flags).put(to);
        permissions.put(to);
        parents.put(to);
        stdio.put(to);
        prefer_direct.put(to);
    }
}

impl Canonical for SetPlan {
    fn put(&self, to: &mut Sink) {
        let SetPlan {
            name,
            per_worker,
            dir,
            dirs,
            file_name,
            count,
            slots,
            insert,
            size,
            max_size,
            data,
            layout,
            memory,
            kept_open,
            prefer_direct,
            empty,
            full,
            no_room,
            dir_ahead,
            subdirs_ahead,
            used_by,
            by_age,
            dir_permissions,
            trees,
        } = self;
        put_all!(to; name, per_worker, dir, dirs, file_name);
        put_all!(to; count, slots, insert, size, max_size);
        put_all!(to; data, layout, memory, kept_open.map(Flags), prefer_direct);
        put_all!(to; empty, full, no_room);
        put_all!(to; dir_ahead, subdirs_ahead, used_by, by_age, dir_permissions, trees);
    }
}

impl<T: Canonical> Canonical for std::sync::Arc<T> {
    fn put(&self, to: &mut Sink) {
        (**self).put(to);
    }
}

impl Canonical for ReplayPlan {
    fn put(&self, to: &mut Sink) {
        let ReplayPlan { stream, replace, options, pace, stats } = self;
        // Everything else in a stream follows from what its own hash covers.
        to.bytes(&stream.digest);
        put_all!(to; replace, options, pace, stats);
    }
}

impl Canonical for Plan {
    fn put(&self, to: &mut Sink) {
        let Plan {
            workers,
            engines,
            random,
            sets,
            phases,
            schedule,
            args,
            loops,
            mixes,
            eaches,
            paces,
            tables,
            ats,
            names,
            datasets,
            sql,
            replays,
            budgets,
            blocks,
            barriers,
            largest_block,
            // Where a step stands in its file is not what happens.
            places: _,
        } = self;
        put_all!(to; workers, engines, random, sets, phases, schedule);
        put_all!(to; args, loops, mixes, eaches, paces, tables);
        put_all!(to; ats, names, datasets, sql, replays, budgets, blocks, barriers);
        largest_block.put(to);
    }
}

fields! {
    Args {
        set, other, stat, step_stat, skip_to, pick, engine, moves, amount, fixed, block, remainder, at, data, verify, opening, name,
        value, detail, every, expect, must_fail, limit,
    }
    TreesPlan { block, stdio, states }
    TreeStep { dataset, states, becomes, past_end, chosen, unlink, keep_top }
    Dataset { name, files, dirs, text, order }
    DataFile { start, len, dir, size }
    DataDir { start, len, parent, new }
    ReplayOptions { sync_open, sync_dirs, sync_writes, no_resolve, attributes }
    LoopPlan { until, ramp, budget, phase }
    MixPlan { table, targets, exact, decks }
    EachPlan { set, order, limit }
    PacePlan { ops, bytes, poisson, debt }
    Spec { radix, upper, fill, align, width }
    DirsPlan { count, name, rotate }
    StatPlan { key, group, kind, measured }
    GroupPlan { name, workers, code, ends_phase, measured }
    PhasePlan { name, measured, groups, stats, expected }
    RandomPlan { generator, seed }
    Statement { pieces, line }
    SqlPlan { databases, pragmas, scripts }
    EnginePlan { name, depth, direct, fallback }
}

variants! {
    Pick { 0 Same, 1 Random, 2 Next, 3 Oldest, 4 Newest, 5 Ranked(table) }
    Order { 0 Oldest, 1 Newest, 2 Slot, 3 Random }
    Draw { 0 Const(n), 1 Uniform { lo, hi, step }, 2 Table(id) }
    Bound { 0 Number(n), 1 FileSize, 2 FileRoom }
    Amount { 0 Bytes(draw), 1 Whole }
    At {
        0 Next, 1 Random, 2 Permuted, 3 Start, 4 End, 5 Offset(draw), 6 Ranked(table), 7 Hot { share, of },
        8 Stride(n), 9 Weighted(id), 10 EachWay,
    }
    Remainder { 0 IfAny, 1 Always, 2 IfAlone }
    ListOrder { 0 AsIs, 1 Readdir }
    Moves { 0 Nothing, 1 Reads, 2 Writes }
    Parents { 0 Ahead, 1 Missing, 2 Always }
    Detail {
        0 Nothing, 1 Advice(advice), 2 Space(space), 3 Lock(lock), 4 Pause, 5 Order(order), 6 Barrier(id),
        7 OpenFile, 8 Subdirs, 9 Relative, 11 Tree(step), 14 Script(id), 10 Replay(id),
    }
    Until {
        0 Times(n), 1 Time(nanos), 2 Ops { total, each, data }, 3 Bytes { total, each }, 4 Passes(n),
        5 Exhausted, 6 Steady { windows, within, at_most },
    }
    Table {
        0 Lookup { values, index }, 1 Quantiles { values, tail }, 2 Zipf { exponent }, 3 Hot { share, of },
    }
    Segment {
        0 Literal(text), 1 Number(spec), 2 Worker(spec), 3 Clock(spec), 4 Random(count), 5 Digits(count),
    }
    Align { 0 Left, 1 Right, 2 Center }
    Guard { 0 Skip, 1 EndPhase, 2 Error }
    Insert { 0 Next, 1 LowestFree, 2 BumpThenLowestFree }
    Rotate { 0 Time(nanos), 1 Files(count), 2 Random }
    Layout { 0 Written, 1 Fallocated, 2 None }
    StatKind { 0 Data, 1 Operation, 2 Step, 3 Block, 4 Decks }
    Expected { 0 Time(nanos), 1 Iterations(n), 2 Unknown }
    Schedule { 0 Phase(id), 1 Loop { until, body } }
    Generator { 0 ChaCha8, 1 Mt19937 { burn } }
    Direct { 0 Require, 1 Prefer, 2 Never }
    Recipe { 0 Zero, 1 Byte(value), 2 Text, 3 Random, 4 Mixed { compressible, duplicate }, 5 Read }
    Advice { 0 Normal, 1 Sequential, 2 Random, 3 WillNeed, 4 DontNeed, 5 NoReuse }
    Space { 0 Allocate, 1 KeepSize, 2 Punch, 3 Zero }
    Lock { 0 Write, 1 Read, 2 Unlock }
}

#[cfg(test)]
#[path = "hash_tests.rs"]
mod tests;
