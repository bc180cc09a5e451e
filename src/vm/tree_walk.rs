//! Walking through a tree and what is done on the way: every file read, looked at, removed. The order
//! is that of the file system.

use std::ffi::{CStr, CString};

use super::fault::Flow;
use super::stdio;
use super::trees::{Done, HANDLE, at};
use super::worker::Worker;
use crate::os::{Fd, Os};
use crate::plan::instr::*;

/// Flags of a directory that is read, as the C library opens it.
const READ_DIRECTORY: i32 = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY;

/// One directory's entries: name and whether it is a directory.
pub(super) type Entries = Vec<(CString, bool)>;

/// What is done at each stop of a walk.
pub(super) trait Visit<O: Os> {
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
    /// Lists a directory and asks each entry whether it is one: opens it, and leaves it open.
    pub(super) fn list_directory(&mut self, above: Fd, name: &CStr) -> Done<(Fd, Entries)> {
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
    pub(super) fn walk(&mut self, above: Fd, name: &CStr, visit: &mut dyn Visit<O>) -> Result<(), Flow> {
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
}

/// Reads every file.
struct Read {
    /// What is read at once, in bytes.
    block: u64,
    stdio: bool,
    past_end: u8,
    /// What was read so far.
    bytes: u64,
}

impl Read {
    fn file<O: Os>(&mut self, worker: &mut Worker<O>, dir: Fd, name: &CStr) -> Done<()> {
        let path = name.to_bytes();
        let fd = at("open", path, worker.os.open(dir, name, libc::O_RDONLY, 0))?;
        let looked = worker.os.fstat(fd).and_then(|first| match self.stdio {
            true => worker.os.fstat(fd),
            false => Ok(first),
        });
        let stat = at("fstat", path, looked)?;
        let (size, mut left) = (stat.size, stat.size);
        let get = |worker: &mut Worker<O>, len: u64| {
            let Worker { os, buffers, .. } = worker;
            os.read(fd, None, buffers.reading(len as usize))
        };
        let result = (|| {
            while left > 0 {
                worker.goes_on_in_file()?;
                match get(worker, self.block)? {
                    0 => break,
                    n => left = left.saturating_sub(n as u64),
                }
            }
            // C's files ask for the rest of a piece that did not come whole. Where there is none, as in
            // an empty file, the next read is the first that sees the end.
            let cut = size % self.block;
            let whole = cut == 0 && (self.stdio || size == 0);
            let ends = if whole { self.past_end.min(1) } else { self.past_end };
            for end in 0..ends {
                let rest = self.stdio && end == 0 && cut > 0;
                let len = if rest { stdio::rest(self.block - cut, stdio::buffer(&stat)) } else { self.block };
                get(worker, len)?;
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

/// Asks for the status of everything.
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

/// Removes files, and directories once they are empty.
pub(super) struct Remove;

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
