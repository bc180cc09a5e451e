//! Trees as a worker handles them: walking, writing, reading, removing. Every call is relative to a
//! directory that is open, so that none leaves the tree.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::sync::Arc;

use super::fault::Flow;
use super::random::Purpose;
use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Nanos, Os, Recipe, Whence};
use crate::plan::instr::*;

/// Flags of a directory that is read, as the C library opens it.
const READ_DIRECTORY: i32 = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY;
const HANDLE: i32 = libc::O_PATH | libc::O_DIRECTORY;
/// Permission bits of files and directories before the process's mask.
const FILE_BITS: u32 = 0o666;
const DIRECTORY_BITS: u32 = 0o777;

/// What a worker keeps of trees between steps.
#[derive(Debug, Default)]
pub struct TreeState {
    /// The order of lists that follow the file system, by list and set.
    orders: HashMap<(u16, SetId), Arc<Vec<u32>>>,
}

/// Where a call failed: its name and the path below the tree.
struct Failed {
    call: &'static str,
    path: Vec<u8>,
    errno: Errno,
}

type Done<T> = Result<T, Failed>;

fn at<T>(call: &'static str, path: &[u8], result: Call<T>) -> Done<T> {
    result.map_err(|errno| Failed { call, path: path.to_vec(), errno })
}

/// One directory's entries: name and whether it is a directory.
type Entries = Vec<(CString, bool)>;

/// What is done at each stop of a walk.
trait Visit<O: Os> {
    /// A directory's files, in the order in which they were listed.
    fn files(&mut self, worker: &mut Worker<O>, dir: Fd, entries: &Entries) -> Done<()>;
    /// A directory below, when everything in it is over.
    fn directory(&mut self, _worker: &mut Worker<O>, _dir: Fd, _name: &CStr) -> Done<()> {
        Ok(())
    }
    /// Files come before the directories below.
    fn top_down(&self) -> bool {
        false
    }
}

impl<O: Os> Worker<O> {
    /// Takes a tree in hand: a new one, or one of those in the states of the step.
    pub fn take_tree(&mut self, args: &Args, step: TreeStep, new: bool) -> Result<(), Flow> {
        let plan = Arc::clone(&self.plan);
        let guard = |full: bool| {
            plan.sets
                .get(usize::from(args.set))
                .map_or(Guard::Error, |set| if full { set.full } else { set.empty })
        };
        if new {
            return match self.new_member(args.set, 0) {
                Some(()) => Ok(()),
                None => Err(self.guarded(guard(true), "write_tree", "the set has no room for another tree")),
            };
        }
        let found = match step.states {
            0 => self.pick(args.set, args.pick),
            states => self.pick_state(args, states),
        };
        match found {
            Some(()) => Ok(()),
            None => Err(self.guarded(guard(false), "pick", "the set has no tree in that state")),
        }
    }

    /// A state at random among those that some tree is in, then a tree in it.
    fn pick_state(&mut self, args: &Args, states: u32) -> Option<()> {
        if args.pick == Pick::Same {
            let hand = self.hands.get(usize::from(args.set))?;
            if !hand.is_empty() && states & (1 << hand.file.size.saturating_sub(1).min(31)) != 0 {
                return Some(());
            }
        }
        let slots = self.members(args.set, Order::Slot);
        let state_of = |worker: &mut Self, slot: u32| {
            worker.with_pool(args.set, |pool| pool.get(slot).map(|member| member.size)).flatten()
        };
        let mut by_state: Vec<(u64, Vec<u32>)> = Vec::new();
        for slot in slots {
            let Some(state) = state_of(self, slot).filter(|state| *state > 0) else { continue };
            if states & (1 << (state - 1).min(31)) == 0 {
                continue;
            }
            match by_state.iter_mut().find(|(known, _)| *known == state) {
                Some((_, trees)) => trees.push(slot),
                None => by_state.push((state, vec![slot])),
            }
        }
        let at = match by_state.len() {
            0 => return None,
            1 => 0,
            n => self.random.below(Purpose::Pick, n as u64) as usize,
        };
        let trees = &by_state.get(at)?.1;
        let slot = match args.pick {
            Pick::Oldest => *trees.first()?,
            Pick::Newest => *trees.last()?,
            _ => *trees.get(self.random.below(Purpose::Pick, trees.len() as u64) as usize)?,
        };
        self.take(args.set, slot)
    }

    /// The tree in hand is in another state now. (For a set of trees the size of a member is the
    /// number of its state, from 1.)
    pub fn tree_becomes(&mut self, set: SetId, step: TreeStep) {
        if step.becomes == NO_STATE {
            return;
        }
        if let Some(hand) = self.hands.get_mut(usize::from(set)) {
            hand.file.size = u64::from(step.becomes) + 1;
        }
        self.store_size(set);
    }

    /// Adds the rate of one operation to the sum of such rates.
    pub fn rate_whole(&mut self, stat: StatId, start: Nanos, bytes: u64) {
        let latency = self.now.saturating_sub(start);
        if self.now > self.window_end || self.ramp_until != 0 || latency == 0 || bytes == 0 {
            return;
        }
        if let Some(stat) = self.stats.get_mut(usize::from(stat)) {
            stat.rate_sum += bytes as f64 / (latency as f64 / 1e9);
            stat.rated += 1;
        }
    }

    fn failed(&mut self, failed: Failed) -> Flow {
        self.member_path_and(&failed.path);
        self.fail(failed.call, None, None, Some(failed.errno), None)
    }

    /// Puts the path below the tree in hand together, for messages.
    fn member_path_and(&mut self, below: &[u8]) {
        let set = self.plan.args.get(self.running as usize).map_or(NO_SET, |args| args.set);
        if self.hands.get(usize::from(set)).is_none() {
            return;
        }
        self.member_path(set);
        if !below.is_empty() {
            self.path.pop();
            self.path.push(b'/');
            self.path.extend_from_slice(below);
            self.path.push(0);
        }
    }

    /// The stop flag, looked at before every file.
    fn goes_on(&self) -> Result<(), Flow> {
        if self.shared.stopping() { Err(Flow::Over) } else { Ok(()) }
    }

    /// Opens the tree in hand as what names are relative to.
    fn open_top(&mut self, set: SetId) -> Done<Fd> {
        let dir = self.member_path(set);
        let opened = self.with_path(|os, path| os.open(dir, path, HANDLE, 0));
        at("open", b"", opened)
    }

    // --- writing ----------------------------------------------------------------------------

    /// Writes the files of a list. Returns their bytes.
    pub fn write_tree(&mut self, plan: &Plan, args: &Args, step: TreeStep) -> Result<u64, Flow> {
        let (Some(list), Some(trees)) = (
            plan.datasets.get(usize::from(step.dataset)),
            plan.sets.get(usize::from(args.set)).and_then(|set| set.trees.as_ref()),
        ) else {
            return Ok(0);
        };
        let order = self.trees.orders.get(&(step.dataset, args.set)).cloned();
        if !step.chosen {
            let dir = self.member_path(args.set);
            let made = self.with_path(|os, path| os.mkdir(dir, path, DIRECTORY_BITS));
            at("mkdir", b"", made).map_err(|failed| self.failed(failed))?;
        }
        let top = self.open_top(args.set).map_err(|failed| self.failed(failed))?;
        let result = self.write_files(list, order.as_deref(), trees, top, args.data, step.unlink);
        let _ = self.os.close(top);
        result
    }

    fn write_files(
        &mut self,
        list: &Dataset,
        order: Option<&Vec<u32>>,
        trees: &TreesPlan,
        top: Fd,
        data: Recipe,
        unlink: bool,
    ) -> Result<u64, Flow> {
        let mut seen = vec![false; list.dirs.len()];
        if let Some(first) = seen.first_mut() {
            *first = true;
        }
        let mut bytes = 0;
        let mut path = Vec::with_capacity(256);
        for number in 0..list.files.len() {
            let at = order.and_then(|order| order.get(number)).map_or(number, |at| *at as usize);
            let Some(file) = list.files.get(at) else { continue };
            self.goes_on()?;
            if seen.get(file.dir as usize) == Some(&false) {
                self.make_parents(list, file.dir, top, &mut seen).map_err(|failed| self.failed(failed))?;
            }
            path.clear();
            path.extend_from_slice(list.path(file).as_bytes());
            path.push(0);
            let name = Worker::<O>::path(&path);
            let written = self.write_file(top, name, file.size, trees, data, unlink);
            let written = match written {
                // A directory that should be there is not: all above it are made.
                Err(Failed { errno: Errno(libc::ENOENT), call: "open", .. }) => self
                    .make_all(list, file.dir, top)
                    .and_then(|()| self.write_file(top, name, file.size, trees, data, unlink)),
                other => other,
            };
            written.map_err(|failed| self.failed(failed))?;
            bytes += file.size;
        }
        Ok(bytes)
    }

    /// Makes a directory that holds files, and those above it that its list adds. One that is there
    /// already is asked for all the same, as the original does for every directory with files.
    fn make_parents(&mut self, list: &Dataset, dir: u32, top: Fd, seen: &mut [bool]) -> Done<()> {
        let Some(known) = list.dirs.get(dir as usize) else { return Ok(()) };
        let above_is_new = list.dirs.get(known.parent as usize).is_some_and(|above| above.new);
        if known.new && above_is_new && seen.get(known.parent as usize) == Some(&false) {
            self.make_parents(list, known.parent, top, seen)?;
        }
        if let Some(seen) = seen.get_mut(dir as usize) {
            *seen = true;
        }
        self.make_dir(top, list.dir_path(dir))
    }

    fn make_dir(&mut self, top: Fd, path: &str) -> Done<()> {
        let name = CString::new(path).unwrap_or_default();
        match self.os.mkdir(top, &name, DIRECTORY_BITS) {
            Ok(()) | Err(Errno(libc::EEXIST)) => Ok(()),
            Err(errno) => at("mkdir", path.as_bytes(), Err(errno)),
        }
    }

    #[cold]
    fn make_all(&mut self, list: &Dataset, dir: u32, top: Fd) -> Done<()> {
        let Some(known) = list.dirs.get(dir as usize).filter(|_| dir != 0) else { return Ok(()) };
        self.make_all(list, known.parent, top)?;
        self.make_dir(top, list.dir_path(dir))
    }

    /// Writes one file as a program with C's buffered files does it, or with plain calls.
    fn write_file(
        &mut self,
        top: Fd,
        name: &CStr,
        size: u64,
        trees: &TreesPlan,
        data: Recipe,
        unlink: bool,
    ) -> Done<()> {
        let path = name.to_bytes();
        if unlink {
            match self.os.unlink(top, name) {
                Ok(()) | Err(Errno(libc::ENOENT)) => {}
                Err(errno) => return at("unlink", path, Err(errno)),
            }
        }
        if !trees.stdio {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC;
            let fd = at("open", path, self.os.open(top, name, flags, FILE_BITS))?;
            let written = self.pieces(fd, size, trees.block, data);
            at("write", path, written)?;
            return at("close", path, self.os.close(fd));
        }
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_APPEND;
        let fd = at("open", path, self.os.open(top, name, flags, FILE_BITS))?;
        let filled = self.fill_buffered(fd, size, trees.block, data);
        at("write", path, filled)?;
        at("close", path, self.os.close(fd))
    }

    fn fill_buffered(&mut self, fd: Fd, size: u64, block: u64, data: Recipe) -> Call<()> {
        let buffer = u64::from(self.os.fstat(fd)?.block.max(1));
        let before = self.os.fstat(fd)?.size;
        if before > 0 {
            // What is there is read and thrown away before it is written anew.
            let mut left = before;
            while left > 0 {
                let len = left.min(block) as usize;
                let Worker { os, buffers, .. } = &mut *self;
                match os.read(fd, None, buffers.reading(len))? {
                    0 => break,
                    n => left = left.saturating_sub(n as u64),
                }
            }
            self.os.truncate(fd, 0)?;
        }
        self.os.seek(fd, 0, Whence::Start)?;
        // The first piece finds no buffer: whole blocks of it go out at once. Later ones fill the
        // buffer first, which goes out before the whole blocks behind it.
        let (mut held, mut left, mut first) = (0, size, true);
        while left > 0 {
            let piece = left.min(block);
            left -= piece;
            let mut rest = piece;
            if !first {
                let room = buffer - held;
                if rest <= room && !(rest == room && held > 0) {
                    held += rest;
                    continue;
                }
                rest -= room.min(rest);
                self.put(fd, buffer, data)?;
                held = 0;
            }
            let whole = rest - rest % buffer;
            if whole > 0 {
                self.put(fd, whole, data)?;
            }
            held += rest - whole;
            first = false;
        }
        if held > 0 {
            self.put(fd, held, data)?;
        }
        Ok(())
    }

    fn pieces(&mut self, fd: Fd, size: u64, block: u64, data: Recipe) -> Call<()> {
        let mut left = size;
        while left > 0 {
            let piece = left.min(block);
            self.put(fd, piece, data)?;
            left -= piece;
        }
        Ok(())
    }

    /// Writes so many bytes at the file's position, all of them.
    fn put(&mut self, fd: Fd, len: u64, data: Recipe) -> Call<()> {
        let mut left = len;
        while left > 0 {
            let Worker { os, buffers, .. } = &mut *self;
            let bytes = buffers.data(if O::BYTES { data } else { Recipe::Zero }, left as usize);
            match os.write(fd, None, bytes, data)? {
                0 => return Err(Errno(libc::EIO)),
                n => left = left.saturating_sub(n as u64),
            }
        }
        Ok(())
    }

    // --- walking ----------------------------------------------------------------------------

    /// Lists a directory and asks each entry whether it is one: opens it, and leaves it open.
    fn list_directory(&mut self, above: Fd, name: &CStr) -> Done<(Fd, Entries)> {
        let path = name.to_bytes();
        let fd = at("open", path, self.os.open(above, name, READ_DIRECTORY, 0))?;
        let listed = (|| {
            self.os.fstat(fd)?;
            let mut entries: Entries = Vec::new();
            while self.os.read_directory(fd, &mut |name, _| {
                if !matches!(name.to_bytes(), b"." | b"..") {
                    entries.push((name.to_owned(), false));
                }
            })? > 0
            {}
            for (name, directory) in &mut entries {
                *directory = self.os.stat(fd, name)?.directory;
            }
            Ok(entries)
        })();
        match listed {
            Ok(entries) => Ok((fd, entries)),
            Err(errno) => {
                let _ = self.os.close(fd);
                at("getdents64", path, Err(errno))
            }
        }
    }

    /// Walks from a directory on.
    fn walk(&mut self, above: Fd, name: &CStr, visit: &mut dyn Visit<O>) -> Result<(), Flow> {
        self.goes_on()?;
        let (fd, entries) = self.list_directory(above, name).map_err(|failed| self.failed(failed))?;
        let result = self.walk_entries(fd, &entries, visit);
        let closed = self.os.close(fd);
        result?;
        at("close", name.to_bytes(), closed).map_err(|failed| self.failed(failed))
    }

    fn walk_entries(&mut self, fd: Fd, entries: &Entries, visit: &mut dyn Visit<O>) -> Result<(), Flow> {
        if visit.top_down() {
            visit.files(self, fd, entries).map_err(|failed| self.failed(failed))?;
        }
        for (name, _) in entries.iter().filter(|entry| entry.1) {
            // Whether it is a symbolic link, which is not followed.
            at("lstat", name.to_bytes(), self.os.stat(fd, name)).map_err(|failed| self.failed(failed))?;
            self.walk(fd, name, visit)?;
            if !visit.top_down() {
                visit.directory(self, fd, name).map_err(|failed| self.failed(failed))?;
            }
        }
        if !visit.top_down() {
            visit.files(self, fd, entries).map_err(|failed| self.failed(failed))?;
        }
        Ok(())
    }

    /// Walks the tree in hand.
    fn walk_tree(&mut self, set: SetId, visit: &mut dyn Visit<O>) -> Result<(), Flow> {
        let base = self.member_path(set);
        let path = self.take_path();
        let result = self.walk(base, Worker::<O>::path(&path), visit);
        if self.fault.is_none() {
            self.path = path;
        }
        result
    }

    /// Reads every file. Returns the bytes read.
    pub fn read_tree(&mut self, plan: &Plan, args: &Args, step: TreeStep) -> Result<u64, Flow> {
        let trees = plan.sets.get(usize::from(args.set)).and_then(|set| set.trees.as_ref());
        let Some(trees) = trees else { return Ok(0) };
        let mut read = Read { block: trees.block, stdio: trees.stdio, past_end: step.past_end, bytes: 0 };
        self.walk_tree(args.set, &mut read)?;
        Ok(read.bytes)
    }

    /// Asks for the status of everything.
    pub fn stat_tree(&mut self, args: &Args) -> Result<u64, Flow> {
        self.walk_tree(args.set, &mut Look)?;
        Ok(0)
    }

    /// Removes everything, or the files of a list.
    pub fn remove_tree(&mut self, plan: &Plan, args: &Args, step: TreeStep) -> Result<u64, Flow> {
        if let Some(list) = plan.datasets.get(usize::from(step.dataset)) {
            return self.remove_files(list, args).map(|()| 0);
        }
        self.walk_tree(args.set, &mut Remove)?;
        if !step.keep_top {
            let dir = self.member_path(args.set);
            let removed = self.with_path(|os, path| os.rmdir(dir, path));
            at("rmdir", b"", removed).map_err(|failed| self.failed(failed))?;
        }
        Ok(0)
    }

    /// Removes the files of a list, directory by directory as they come.
    fn remove_files(&mut self, list: &Dataset, args: &Args) -> Result<(), Flow> {
        let top = self.open_top(args.set).map_err(|failed| self.failed(failed))?;
        let mut open: Option<(u32, Fd)> = None;
        let mut result = Ok(());
        for file in &list.files {
            result = self.goes_on().and_then(|()| {
                self.remove_file(list, file, top, &mut open).map_err(|failed| self.failed(failed))
            });
            if result.is_err() {
                break;
            }
        }
        if let Some((_, fd)) = open {
            let _ = self.os.close(fd);
        }
        let _ = self.os.close(top);
        result
    }

    fn remove_file(
        &mut self,
        list: &Dataset,
        file: &DataFile,
        top: Fd,
        open: &mut Option<(u32, Fd)>,
    ) -> Done<()> {
        let path = list.path(file);
        let dir = match *open {
            _ if file.dir == 0 => top,
            Some((known, fd)) if known == file.dir => fd,
            other => {
                if let Some((_, fd)) = other {
                    let _ = self.os.close(fd);
                    *open = None;
                }
                let name = CString::new(list.dir_path(file.dir)).unwrap_or_default();
                let fd = at("open", name.to_bytes(), self.os.open(top, &name, HANDLE, 0))?;
                *open = Some((file.dir, fd));
                fd
            }
        };
        let name = CString::new(path.rsplit_once('/').map_or(path, |(_, name)| name)).unwrap_or_default();
        at("unlink", path.as_bytes(), self.os.unlink(dir, &name))
    }

    // --- the order of the file system ---------------------------------------------------------

    /// Finds out in which order the file system lists the files of every list that follows it:
    /// makes them, empty, looks, and removes them. Before the first phase, off the clock.
    pub(super) fn find_orders(&mut self) -> Result<(), Flow> {
        let plan = Arc::clone(&self.plan);
        for (index, args) in plan.args.iter().enumerate() {
            let Detail::Tree(step) = args.detail else { continue };
            let Some(list) = plan.datasets.get(usize::from(step.dataset)) else { continue };
            let known = self.trees.orders.contains_key(&(step.dataset, args.set));
            let mine = plan
                .sets
                .get(usize::from(args.set))
                .is_some_and(|set| set.used_by.iter().any(|range| (range.0..range.1).contains(&self.id)));
            if list.order != ListOrder::Readdir || known || !mine || args.moves != Moves::Writes {
                continue;
            }
            self.running = index as u32;
            let order = self.find_order(list, args.set)?;
            self.trees.orders.insert((step.dataset, args.set), Arc::new(order));
        }
        Ok(())
    }

    fn find_order(&mut self, list: &Dataset, set: SetId) -> Result<Vec<u32>, Flow> {
        let numbers: HashMap<&[u8], u32> =
            (0..).zip(&list.files).map(|(number, file)| (list.path(file).as_bytes(), number)).collect();
        // Beside the trees, under a name that none of them has.
        let base = self.dirs.get(usize::from(set)).map_or(super::hand::CLOSED, |dirs| dirs.base);
        let base = if base == super::hand::CLOSED { self.os.root() } else { base };
        let name = CString::new(format!(".order-{}", self.id)).unwrap_or_default();
        let mut order = Vec::with_capacity(list.files.len());
        let found = (|| {
            at("mkdir", name.to_bytes(), self.os.mkdir(base, &name, DIRECTORY_BITS))?;
            let top = at("open", name.to_bytes(), self.os.open(base, &name, HANDLE, 0))?;
            for dir in 1..list.dirs.len() as u32 {
                self.make_dir(top, list.dir_path(dir))?;
            }
            for file in &list.files {
                let path = CString::new(list.path(file)).unwrap_or_default();
                let flags = libc::O_WRONLY | libc::O_CREAT;
                let fd = at("open", path.to_bytes(), self.os.open(top, &path, flags, FILE_BITS))?;
                at("close", path.to_bytes(), self.os.close(fd))?;
            }
            at("close", name.to_bytes(), self.os.close(top))
        })();
        found.map_err(|failed| self.failed(failed))?;
        let mut collect = Collect { prefixes: vec![Vec::new()], numbers: &numbers, order: &mut order };
        collect.walk(self, base, &name).map_err(|failed| self.failed(failed))?;
        self.walk(base, &name, &mut Remove)?;
        let removed = self.os.rmdir(base, &name);
        at("rmdir", name.to_bytes(), removed).map_err(|failed| self.failed(failed))?;
        Ok(order)
    }
}

/// Notes the numbers of files in the order in which a walk from the top meets them.
struct Collect<'a> {
    prefixes: Vec<Vec<u8>>,
    numbers: &'a HashMap<&'a [u8], u32>,
    order: &'a mut Vec<u32>,
}

impl Collect<'_> {
    fn walk<O: Os>(&mut self, worker: &mut Worker<O>, above: Fd, name: &CStr) -> Done<()> {
        let (fd, entries) = worker.list_directory(above, name)?;
        let prefix = self.prefixes.last().cloned().unwrap_or_default();
        let below = |name: &CStr| [prefix.as_slice(), name.to_bytes()].concat();
        for (name, _) in entries.iter().filter(|entry| !entry.1) {
            if let Some(number) = self.numbers.get(below(name).as_slice()) {
                self.order.push(*number);
            }
        }
        let mut result = Ok(());
        for (name, _) in entries.iter().filter(|entry| entry.1) {
            self.prefixes.push([below(name).as_slice(), b"/"].concat());
            result = self.walk(worker, fd, name);
            self.prefixes.pop();
            if result.is_err() {
                break;
            }
        }
        let _ = worker.os.close(fd);
        result
    }
}

struct Read {
    block: u64,
    stdio: bool,
    past_end: u8,
    bytes: u64,
}

impl Read {
    fn file<O: Os>(&mut self, worker: &mut Worker<O>, dir: Fd, name: &CStr) -> Done<()> {
        let path = name.to_bytes();
        let fd = at("open", path, worker.os.open(dir, name, libc::O_RDONLY, 0))?;
        let size = (|| {
            let stat = worker.os.fstat(fd)?;
            Ok(if self.stdio { worker.os.fstat(fd)?.size } else { stat.size })
        })();
        let size = at("fstat", path, size)?;
        let mut left = size;
        let get = |worker: &mut Worker<O>, len: u64| {
            let Worker { os, buffers, .. } = worker;
            os.read(fd, None, buffers.reading(len as usize))
        };
        let result = (|| {
            while left > 0 {
                match get(worker, self.block)? {
                    0 => break,
                    n => left = left.saturating_sub(n as u64),
                }
            }
            // An empty file is at its end with its first read.
            let ends = if size == 0 { u8::from(self.past_end > 0) } else { self.past_end };
            for _ in 0..ends {
                get(worker, self.block)?;
            }
            Ok(())
        })();
        at("read", path, result)?;
        self.bytes += size - left;
        at("close", path, worker.os.close(fd))
    }
}

impl<O: Os> Visit<O> for Read {
    fn files(&mut self, worker: &mut Worker<O>, dir: Fd, entries: &Entries) -> Done<()> {
        for (name, _) in entries.iter().filter(|entry| !entry.1) {
            if worker.shared.stopping() {
                return Ok(());
            }
            self.file(worker, dir, name)?;
        }
        Ok(())
    }

    fn top_down(&self) -> bool {
        true
    }
}

struct Look;

impl<O: Os> Visit<O> for Look {
    fn files(&mut self, worker: &mut Worker<O>, dir: Fd, entries: &Entries) -> Done<()> {
        for (name, _) in entries.iter().filter(|entry| !entry.1) {
            at("stat", name.to_bytes(), worker.os.stat(dir, name))?;
        }
        Ok(())
    }

    fn directory(&mut self, worker: &mut Worker<O>, dir: Fd, name: &CStr) -> Done<()> {
        at("stat", name.to_bytes(), worker.os.stat(dir, name)).map(|_| ())
    }
}

struct Remove;

impl<O: Os> Visit<O> for Remove {
    fn files(&mut self, worker: &mut Worker<O>, dir: Fd, entries: &Entries) -> Done<()> {
        for (name, _) in entries.iter().filter(|entry| !entry.1) {
            at("unlink", name.to_bytes(), worker.os.unlink(dir, name))?;
        }
        Ok(())
    }

    fn directory(&mut self, worker: &mut Worker<O>, dir: Fd, name: &CStr) -> Done<()> {
        at("rmdir", name.to_bytes(), worker.os.rmdir(dir, name))
    }
}
