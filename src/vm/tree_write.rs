//! Writing the files of a list into a tree, as a program with C's buffered files does it or with plain
//! calls. Which tree that is, is decided before.

use std::ffi::{CStr, CString};

use super::fault::Flow;
use super::stdio;
use super::trees::{DIRECTORY_BITS, Done, FILE_BITS, Failed, at};
use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Os, Recipe, Whence};
use crate::plan::instr::*;

impl<O: Os> Worker<O> {
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

    pub(super) fn make_dir(&mut self, top: Fd, path: &str) -> Done<()> {
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

    /// Empties a file that is there and writes it anew, with the calls of C's buffered files.
    fn fill_buffered(&mut self, fd: Fd, size: u64, block: u64, data: Recipe) -> Call<()> {
        let before = self.os.fstat(fd)?.size;
        let buffer = stdio::buffer(&self.os.fstat(fd)?);
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
        self.goes_on_in_file()?;
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
}
