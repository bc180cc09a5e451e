//! Scripted faults: what goes wrong, at which call of which worker.
//!
//! Calls are counted by each worker for itself, so a script does the same thing every time. The
//! rules only say what happens; the worker makes it happen.

use crate::os::machine::{Errno, Nanos};

/// The calls of the machine, named as in scripts and traces.
macro_rules! ops {
    ($($variant:ident $name:literal,)*) => {
        /// A call of the machine.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op { $(#[doc = concat!("The call `", $name, "`.")] $variant),* }

        impl Op {
            /// All of them.
            pub const ALL: &[Op] = &[$(Op::$variant),*];

            /// The word for it in scripts and traces.
            pub fn name(self) -> &'static str {
                match self { $(Op::$variant => $name),* }
            }

            /// The call of that name; `None` where there is none.
            pub fn parse(name: &str) -> Option<Op> {
                match name { $($name => Some(Op::$variant),)* _ => None }
            }
        }
    };
}

ops! {
    Open "open", Close "close", Read "read", Pread "pread", Write "write", Pwrite "pwrite",
    Seek "seek", Truncate "truncate", Allocate "allocate", Advise "advise", CopyRange "copy_range",
    Fstat "fstat", Fsync "fsync", Fdatasync "fdatasync", SyncRange "sync_range", Syncfs "syncfs",
    Sync "sync", DropCaches "drop_caches", Unlink "unlink", Rmdir "rmdir", Mkdir "mkdir",
    Rename "rename", Link "link", Symlink "symlink", Readlink "readlink", Stat "stat",
    Statfs "statfs", Chmod "chmod", Utimes "utimes", SetXattr "set_xattr", GetXattr "get_xattr",
    GetXattrAt "get_xattr_at",
    Lock "lock", Getdents "getdents", Mark "mark", DbOpen "db_open", Sql "sql",
    DbClose "db_close",
}

/// At which of a worker's calls of one kind a rule applies, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The nth only.
    Nth(u64),
    /// The nth, the 2nth, the 3nth …; 0 is never.
    Every(u64),
    /// The nth and all after it.
    From(u64),
}

/// What happens to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It fails and does nothing.
    Errno(Errno),
    /// A read or write moves at most so many bytes. Other calls are not touched.
    Short(u64),
    /// It takes so many nanoseconds longer.
    Stall(Nanos),
}

/// One fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The calls it is for.
    pub op: Op,
    /// Which of them it applies to.
    pub when: When,
    /// What happens to them.
    pub effect: Effect,
    /// Of one worker only, else of each.
    pub worker: Option<u32>,
}

/// What the simulated file system makes of `O_DIRECT`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direct {
    /// Offset and length must be multiples of so many bytes, else `EINVAL`.
    Aligned(u64),
    /// `open` fails with `EINVAL`.
    Refused,
    /// Taken and not acted upon.
    Ignored,
}

/// All that goes wrong in a simulation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// Rules, each looked at for every call.
    pub rules: Vec<Rule>,
    /// What direct I/O is like.
    pub direct: Direct,
    /// After so many bytes written by all workers, writes take so many times as long.
    pub slow_after: Option<(u64, u32)>,
    /// One worker all of whose calls take so many times as long.
    pub slow_worker: Option<(u32, u32)>,
}

impl Default for Script {
    fn default() -> Self {
        Script { rules: Vec::new(), direct: Direct::Aligned(512), slow_after: None, slow_worker: None }
    }
}

impl Script {
    /// A script of one rule for every worker, for tests.
    pub fn one(op: Op, when: When, effect: Effect) -> Script {
        Script { rules: vec![Rule { op, when, effect, worker: None }], ..Script::default() }
    }
}

/// The rules as one worker meets them.
#[derive(Debug)]
pub(super) struct Faults {
    rules: Vec<Rule>,
    /// Calls so far, by rule.
    counts: Vec<u64>,
    /// One bit for each kind of call that has a rule.
    watched: u64,
}

/// What all rules together make of one call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    /// The error it fails with.
    pub errno: Option<Errno>,
    /// Most bytes it moves.
    pub short: Option<u64>,
    /// Nanoseconds it takes longer.
    pub stall: Nanos,
}

impl Faults {
    /// The faults of one worker under a script.
    pub fn new(script: &Script, worker: u32) -> Faults {
        let own = |rule: &&Rule| rule.worker.is_none_or(|only| only == worker);
        let rules: Vec<Rule> = script.rules.iter().filter(own).copied().collect();
        let watched = rules.iter().fold(0, |bits, rule| bits | 1 << rule.op as u32);
        Faults { counts: vec![0; rules.len()], rules, watched }
    }

    /// Counts a call and says what happens to it.
    #[inline]
    pub fn of(&mut self, op: Op) -> Fate {
        if self.watched & (1 << op as u32) == 0 { Fate::default() } else { self.count(op) }
    }

    #[cold]
    fn count(&mut self, op: Op) -> Fate {
        let mut fate = Fate::default();
        for (rule, count) in self.rules.iter().zip(&mut self.counts).filter(|(rule, _)| rule.op == op) {
            *count += 1;
            let hit = match rule.when {
                When::Nth(n) => *count == n,
                When::Every(n) => n != 0 && *count % n == 0,
                When::From(n) => *count >= n,
            };
            match rule.effect {
                _ if !hit => {}
                Effect::Errno(errno) => fate.errno = fate.errno.or(Some(errno)),
                Effect::Short(bytes) => fate.short = Some(fate.short.map_or(bytes, |other| other.min(bytes))),
                Effect::Stall(nanos) => fate.stall += nanos,
            }
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_has_its_name() {
        assert!(Op::ALL.len() <= 64, "one bit each");
        for op in Op::ALL {
            assert_eq!(Op::parse(op.name()), Some(*op));
        }
        assert_eq!(Op::parse("pwritev"), None);
    }

    #[test]
    fn rules_hit_the_calls_they_name() {
        let rule = |when, effect, worker| Rule { op: Op::Pwrite, when, effect, worker };
        let script = Script {
            rules: vec![
                rule(When::Nth(2), Effect::Errno(Errno(libc::EIO)), None),
                rule(When::Every(3), Effect::Short(10), None),
                rule(When::From(4), Effect::Stall(7), Some(1)),
            ],
            ..Script::default()
        };
        let fates = |worker| {
            let mut faults = Faults::new(&script, worker);
            assert_eq!(faults.of(Op::Pread), Fate::default());
            (0..6).map(|_| faults.of(Op::Pwrite)).collect::<Vec<_>>()
        };
        let none = Fate::default();
        let (eio, short) = (Fate { errno: Some(Errno(libc::EIO)), ..none }, Fate { short: Some(10), ..none });
        assert_eq!(fates(0), [none, eio, short, none, none, short]);
        let stall = Fate { stall: 7, ..none };
        assert_eq!(fates(1), [none, eio, short, stall, stall, Fate { stall: 7, ..short }]);
    }
}
