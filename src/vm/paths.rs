//! Paths: put together from names when a call needs one, in one buffer a worker.

use std::ffi::CStr;

use super::hand::CLOSED;
use super::names::{self, NameFacts};
use super::pool::Member;
use super::random::{StreamKey, spread};
use super::worker::{SECOND, Worker};
use crate::os::{Fd, Os};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
    /// Key of the random characters of a member's name; the same member, the same name, whoever
    /// asks.
    fn member_key(&self, set: SetId, number: u32) -> u64 {
        let owner = if self.is_shared(set) {
            StreamKey { worker: u64::MAX, ..self.key }.hash(0x6e61_6d65)
        } else {
            self.name_key
        };
        spread(owner ^ spread(u64::from(set) << 32 | u64::from(number)))
    }

    /// Puts the path of the member in hand together and returns the directory it is relative to.
    pub fn member_path(&mut self, set: SetId) -> Fd {
        let file = self.hands[usize::from(set)].file;
        let facts = self.name_facts(set, &file.member);
        self.path_in(set, file.member.dir, Some((self.plan.sets[usize::from(set)].file_name, facts)))
    }

    /// [`Worker::member_path`] of the file that a descriptor stands for, where the set keeps it open.
    pub fn member_path_of(&mut self, set: SetId, fd: Fd) -> Fd {
        let hand = &self.hands[usize::from(set)];
        match hand.kept.iter().find(|file| file.fd == fd && hand.file.fd != fd) {
            Some(file) => {
                let member = file.member;
                let facts = self.name_facts(set, &member);
                self.path_in(set, member.dir, Some((self.plan.sets[usize::from(set)].file_name, facts)))
            }
            None => self.member_path(set),
        }
    }

    /// What the name of a member is made from.
    pub fn name_facts(&self, set: SetId, member: &Member) -> NameFacts {
        NameFacts {
            number: u64::from(member.number),
            worker: u64::from(self.id),
            clock: u64::from(member.clock),
            key: self.member_key(set, member.number),
        }
    }

    /// Puts together the path of a name that is no member: a new one each time it is asked.
    pub fn free_path(&mut self, set: SetId, name: NameId) -> Fd {
        let dir = self.hands[usize::from(set)].file.member.dir;
        let facts = NameFacts {
            number: self.iteration,
            worker: u64::from(self.id),
            clock: (self.epoch + (self.now / SECOND) as i64) as u64,
            key: spread(self.name_key ^ spread(self.moved_ops ^ (u64::from(name) << 48))),
        };
        self.path_in(set, dir, Some((name, facts)))
    }

    /// Fills the pieces of a statement.
    pub fn render(&self, pieces: &[Segment], into: &mut Vec<u8>) {
        let facts = NameFacts {
            number: self.iteration,
            worker: u64::from(self.id),
            clock: (self.epoch + (self.now / SECOND) as i64) as u64,
            key: spread(self.name_key ^ spread(self.moved_ops)),
        };
        names::render(pieces, facts, into);
    }

    /// Puts together the path of the set's own directory.
    pub fn set_dir_path(&mut self, set: SetId) -> Fd {
        self.path.clear();
        let worker = NameFacts { worker: u64::from(self.id), ..NameFacts::default() };
        for part in &self.plan.sets[usize::from(set)].dir {
            names::render(&self.plan.names[usize::from(*part)], worker, &mut self.path);
            self.path.push(b'/');
        }
        match self.path.last_mut() {
            Some(last) => *last = 0,
            None => self.path.extend_from_slice(b".\0"),
        }
        self.os.root()
    }

    /// Puts together a path below the set's directory `dir`; without a name, the directory itself.
    pub fn path_in(&mut self, set: SetId, dir: u32, name: Option<(NameId, NameFacts)>) -> Fd {
        self.path.clear();
        let plan = &self.plan;
        let set_plan = &plan.sets[usize::from(set)];
        let pinned = &self.dirs[usize::from(set)];
        let worker = NameFacts { worker: u64::from(self.id), ..NameFacts::default() };
        let mut base = self.os.root();
        let sub = pinned.sub.get(dir as usize).copied().unwrap_or(CLOSED);
        let wants_directory_itself = name.is_none();
        if sub != CLOSED && !wants_directory_itself {
            base = sub;
        } else {
            if pinned.base != CLOSED && !(wants_directory_itself && set_plan.dirs.is_none()) {
                base = pinned.base;
            } else {
                for part in &set_plan.dir {
                    names::render(&plan.names[usize::from(*part)], worker, &mut self.path);
                    self.path.push(b'/');
                }
            }
            if let Some(dirs) = &set_plan.dirs {
                let facts = NameFacts { number: u64::from(dir), ..worker };
                names::render(&plan.names[usize::from(dirs.name)], facts, &mut self.path);
                self.path.push(b'/');
            }
        }
        match name {
            Some((name, facts)) => names::render(&plan.names[usize::from(name)], facts, &mut self.path),
            None if self.path.is_empty() => self.path.push(b'.'),
            None => {
                self.path.pop();
            }
        }
        self.path.push(0);
        base
    }

    /// The path put together last.
    pub fn path(path: &[u8]) -> &CStr {
        CStr::from_bytes_until_nul(path).unwrap_or(c"")
    }

    /// Calls `f` with the machine and the path put together last.
    #[inline]
    pub fn with_path<T>(&mut self, f: impl FnOnce(&mut O, &CStr) -> T) -> T {
        f(&mut self.os, Self::path(&self.path))
    }

    /// Keeps the path put together last, for operations that need two.
    pub fn take_path(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.path)
    }
}
