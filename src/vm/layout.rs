//! Before the first phase, off the clock: directories, the files that are there at the start, and
//! what is kept open. Also the cleaning up of what a worker has open.

use super::fault::Fault;
use super::hand::{CLOSED, OpenFile};
use super::random::Purpose;
use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Os, Recipe, Space};
use crate::plan::instr::*;

/// Bytes a layout write moves at once.
const LAYOUT_BLOCK: u64 = 1 << 20;

/// Whether a worker's steps use a set.
fn uses(set: &SetPlan, worker: u32) -> bool {
    set.used_by.iter().any(|range| (range.0..range.1).contains(&worker))
}

/// Whether this worker prepares a set: its own ones, and the first worker the shared ones.
fn prepares(set: &SetPlan, worker: u32) -> bool {
    if set.per_worker { uses(set, worker) } else { worker == 0 }
}

impl<O: Os> Worker<O> {
    /// Makes directories and files. Workers of shared sets wait for the first one at a gate
    /// between this and [`Worker::open_kept`].
    pub fn lay_out(&mut self) -> Result<(), Fault> {
        let plan = std::sync::Arc::clone(&self.plan);
        self.restart_clock();
        for (id, set) in plan.sets.iter().enumerate() {
            let id = id as SetId;
            if set.memory {
                if uses(set, self.id) {
                    self.lay_out_memory(id, set);
                }
                continue;
            }
            if prepares(set, self.id) {
                self.make_dirs(&plan, id, set)?;
            }
            if prepares(set, self.id) {
                self.pin(id);
                for _ in 0..set.count {
                    if self.shared.aborted() {
                        return Ok(());
                    }
                    self.lay_out_file(id, set)?;
                }
            }
        }
        Ok(())
    }

    fn lay_out_memory(&mut self, id: SetId, set: &SetPlan) {
        let size = match set.size {
            Draw::Const(size) => size,
            other => self.draw(other, Purpose::Layout, id),
        };
        if let Some(slot) =
            self.with_pool(id, |pool| pool.add(super::pool::Member { size, ..Default::default() })).flatten()
        {
            let member = self.with_pool(id, |pool| pool.get(slot)).flatten().unwrap_or_default();
            self.hands[usize::from(id)].file = OpenFile::of(slot, member);
        }
        if O::BYTES && self.memory[usize::from(id)].is_none() {
            let mut memory = super::buffers::Aligned::zeroed(size as usize);
            let block = self.plan.largest_block.clamp(1, LAYOUT_BLOCK) as usize;
            let mut at = 0;
            while at < memory.len() {
                let len = block.min(memory.len() - at);
                memory.slice_mut(at, len).copy_from_slice(self.buffers.data(set.data, len));
                at += len;
            }
            self.memory[usize::from(id)] = Some(memory);
        }
    }

    fn make_dirs(&mut self, plan: &Plan, id: SetId, set: &SetPlan) -> Result<(), Fault> {
        // One component after the other; several sets and workers may share the first ones.
        let worker = super::names::NameFacts { worker: u64::from(self.id), ..Default::default() };
        let root = self.os.root();
        let mut path = Vec::new();
        let own = if set.dir_ahead { set.dir.len() } else { set.dir.len().saturating_sub(1) };
        for part in &set.dir[..own] {
            super::names::render(&plan.names[usize::from(*part)], worker, &mut path);
            path.push(0);
            let made = self.os.mkdir(root, Self::path(&path), set.dir_permissions);
            path.pop();
            self.check_layout("mkdir", &path, made, Some(libc::EEXIST))?;
            path.push(b'/');
        }
        let subdirs = set.dirs.as_ref().filter(|_| set.subdirs_ahead).map_or(0, |d| d.count);
        for dir in 0..subdirs {
            let dirfd = self.path_in(id, dir, None);
            let made = self.with_path(|os, path| os.mkdir(dirfd, path, set.dir_permissions));
            let path = self.take_path();
            self.check_layout("mkdir", &path, made, Some(libc::EEXIST))?;
        }
        Ok(())
    }

    fn check_layout<T>(
        &self,
        call: &'static str,
        path: &[u8],
        result: Call<T>,
        fine: Option<i32>,
    ) -> Result<Option<T>, Fault> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Errno(e)) if Some(e) == fine => Ok(None),
            Err(errno) => Err(Fault {
                args: None,
                call,
                path: String::from_utf8_lossy(path.split(|b| *b == 0).next().unwrap_or(path)).into(),
                offset: None,
                len: None,
                errno: Some(errno),
                message: None,
                what_to_do: None,
                written: self.moved_bytes,
            }),
        }
    }

    fn lay_out_file(&mut self, id: SetId, set: &SetPlan) -> Result<(), Fault> {
        let size = match set.size {
            Draw::Const(size) => size,
            other => self.draw(other, Purpose::Layout, id),
        };
        if self.new_member(id, size).is_none() {
            return Ok(());
        }
        let dir = self.member_path(id);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
        let opened = self.with_path(|os, path| os.open(dir, path, flags, 0o644));
        let path = self.take_path();
        let Some(fd) = self.check_layout("open", &path, opened, None)? else { return Ok(()) };
        let filled = match set.layout {
            _ if size == 0 => Ok(()),
            Layout::Written => self.fill(fd, size, set.data),
            Layout::Fallocated => match self.os.allocate(fd, Space::Allocate, 0, size) {
                // Not every file system can: then the bytes are really written.
                Err(Errno(libc::EOPNOTSUPP | libc::EINVAL | libc::ENOSYS)) => self.fill(fd, size, set.data),
                other => other,
            },
            Layout::None => self.os.truncate(fd, size),
        };
        let closed = self.os.close(fd);
        self.hands[usize::from(id)].file.fd = CLOSED;
        self.check_layout("write", &path, filled, None)?;
        self.check_layout("close", &path, closed, None)?;
        self.let_go(id);
        Ok(())
    }

    fn fill(&mut self, fd: Fd, size: u64, data: Recipe) -> Call<()> {
        // The largest buffer of the plan is enough for any recipe; smaller is merely slower.
        let block = LAYOUT_BLOCK.min(self.plan.largest_block.max(4096));
        let data = if data == Recipe::Read { Recipe::Random } else { data };
        let mut at = 0;
        while at < size {
            let len = block.min(size - at) as usize;
            let bytes =
                if O::BYTES { self.buffers.data(data, len) } else { self.buffers.data(Recipe::Zero, len) };
            match self.os.write(fd, Some(at), bytes, data)? {
                0 => return Err(Errno(libc::EIO)),
                n => at += n as u64,
            }
        }
        Ok(())
    }

    /// Opens the directories that names will be relative to, so that nothing above them can be
    /// exchanged during the run. Called between phases for those that a phase has made.
    pub fn pin(&mut self, id: SetId) {
        let set = usize::from(id);
        if self.plan.sets[set].memory || !(uses(&self.plan.sets[set], self.id) || self.id == 0) {
            return;
        }
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        if self.dirs[set].base == CLOSED {
            let mut path = Vec::new();
            let worker = super::names::NameFacts { worker: u64::from(self.id), ..Default::default() };
            for part in &self.plan.sets[set].dir {
                super::names::render(&self.plan.names[usize::from(*part)], worker, &mut path);
                path.push(b'/');
            }
            if path.pop().is_none() {
                self.dirs[set].base = self.os.root();
            } else {
                path.push(0);
                let root = self.os.root();
                // A directory that is not there yet is made by a step.
                if let Ok(fd) = self.os.open(root, Self::path(&path), flags, 0) {
                    self.dirs[set].base = fd;
                }
            }
        }
        if self.dirs[set].base == CLOSED {
            return;
        }
        for dir in 0..self.dirs[set].sub.len() {
            if self.dirs[set].sub[dir] == CLOSED {
                let base = self.path_in(id, dir as u32, None);
                if let Ok(fd) = self.with_path(|os, path| os.open(base, path, flags, 0)) {
                    self.dirs[set].sub[dir] = fd;
                }
            }
        }
    }

    /// Opens what sets keep open for steps that name them without opening anything.
    pub fn open_kept(&mut self) -> Result<(), Fault> {
        let plan = std::sync::Arc::clone(&self.plan);
        for (id, set) in plan.sets.iter().enumerate() {
            let (id, Some(flags)) = (id as SetId, set.kept_open) else { continue };
            if set.memory || !uses(set, self.id) || !self.hands[usize::from(id)].kept.is_empty() {
                continue;
            }
            let slots = self.with_pool(id, |pool| pool.slots(Order::Slot)).unwrap_or_default();
            let mut kept = Vec::new();
            for slot in slots {
                let Some(member) = self.with_pool(id, |pool| pool.get(slot)).flatten() else {
                    continue;
                };
                let facts = self.name_facts(id, &member);
                let dir = self.path_in(id, member.dir, Some((set.file_name, facts)));
                let opened = self.open_path(dir, flags, 0o644, set.prefer_direct);
                let path = self.take_path();
                if let Some(fd) = self.check_layout("open", &path, opened, None)? {
                    let positional = true;
                    kept.push(OpenFile { fd, positional, ..OpenFile::of(slot, member) });
                }
            }
            let hand = &mut self.hands[usize::from(id)];
            if let Some(first) = kept.first() {
                hand.file = *first;
            }
            (hand.kept, hand.kept_at) = (kept, 0);
        }
        Ok(())
    }

    /// Makes ready what steps will write, so that no first operation pays for it.
    pub fn prepare_buffers(&mut self) {
        if O::BYTES {
            let plan = std::sync::Arc::clone(&self.plan);
            plan.args
                .iter()
                .filter(|a| a.amount != Amount::Bytes(Draw::Const(0)))
                .for_each(|a| self.buffers.prepare(a.data));
        }
    }

    /// Closes everything this worker has open.
    pub fn close_all(&mut self) {
        for set in 0..self.hands.len() {
            let kept = std::mem::take(&mut self.hands[set].kept);
            if kept.is_empty() {
                self.lay_down(set as SetId);
            }
            for file in kept {
                let _ = self.os.close(file.fd);
            }
        }
    }
}
