//! Names on the simulated disk: what paths mean, and the calls that make, move and remove them.
//!
//! Errors and their order follow the kernel's, with the rule of [`crate::os::path`] in front and
//! `ELOOP` for every symbolic link on the way.

use super::content::{BLOCK, Content};
use super::disk::{Body, Directory, Disk, Ino};
use super::script::Direct;
use crate::os::machine::{Call, Errno};
use crate::os::path::{self, NAME_MAX, PATH_MAX};
use std::ffi::CStr;

const ENOENT: Errno = Errno(libc::ENOENT);
const EEXIST: Errno = Errno(libc::EEXIST);
const ENOTDIR: Errno = Errno(libc::ENOTDIR);
const EISDIR: Errno = Errno(libc::EISDIR);
const ENOTEMPTY: Errno = Errno(libc::ENOTEMPTY);

/// The last name of a path and the directory it is looked for in.
#[derive(Clone, Copy)]
struct Last<'a> {
    dir: Ino,
    name: &'a [u8],
    /// Slashes follow it.
    slash: bool,
}

impl Last<'_> {
    fn is_dot(&self) -> bool {
        self.name == b"."
    }
}

impl Disk {
    /// Resolves all but the last name of a path.
    fn last<'a>(&self, dir: Ino, path: &'a CStr) -> Call<Last<'a>> {
        let (parent, name, slash) = if path::is_bare(path)? {
            (&[][..], path.to_bytes(), false)
        } else {
            let cut = path::cut(path);
            (cut.parent, cut.last, cut.slash)
        };
        // What a descriptor stands for may be anything.
        self.directory(dir)?;
        let mut at = dir;
        for component in path::components(parent).filter(|component| *component != b".") {
            at = self.find(at, component)?.ok_or(ENOENT)?;
            self.directory(at)?;
        }
        Ok(Last { dir: at, name, slash })
    }

    /// The same for paths that are resolved before a call with two of them; a single name is
    /// left to the call itself. This decides which of two errors is seen.
    fn early<'a>(&self, dir: Ino, path: &'a CStr) -> Call<Option<Last<'a>>> {
        let single = path::is_bare(path)? || path::cut(path).parent.is_empty();
        if single { Ok(None) } else { self.last(dir, path).map(Some) }
    }

    /// One name in one directory.
    fn find(&self, dir: Ino, name: &[u8]) -> Call<Option<Ino>> {
        if name == b"." {
            return Ok(Some(dir));
        }
        if name.len() > NAME_MAX {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        Ok(self.lookup(dir, name))
    }

    /// What a path names; the last name is not followed.
    pub fn object(&self, dir: Ino, path: &CStr) -> Call<Ino> {
        let last = self.last(dir, path)?;
        let ino = self.find(last.dir, last.name)?.ok_or(ENOENT)?;
        if last.slash {
            self.directory(ino)?;
        }
        Ok(ino)
    }

    fn is_directory(&self, ino: Ino) -> Call<bool> {
        Ok(matches!(self.inode(ino)?.body, Body::Directory(_)))
    }

    /// Finds or makes what is to be opened, and counts the descriptor.
    pub fn open(&mut self, dir: Ino, path: &CStr, flags: i32, direct: Direct) -> Call<Ino> {
        let create = flags & libc::O_CREAT != 0;
        if create && flags & libc::O_DIRECTORY != 0 {
            return Err(Errno(libc::EINVAL));
        }
        let last = self.last(dir, path)?;
        if flags & libc::O_TMPFILE == libc::O_TMPFILE {
            return Err(Errno(libc::EOPNOTSUPP));
        }
        if create && last.slash {
            return Err(EISDIR);
        }
        let ino = match self.find(last.dir, last.name)? {
            Some(ino) => {
                self.may_open(ino, flags, last.slash)?;
                ino
            }
            None if create => self.make(last.dir, last.name, 0, Body::File(Content::Empty))?,
            None => return Err(ENOENT),
        };
        // As in the kernel, a file that was made for it stays.
        if flags & libc::O_DIRECT != 0 && direct == Direct::Refused {
            return Err(Errno(libc::EINVAL));
        }
        if flags & libc::O_TRUNC != 0 {
            self.truncate(ino, 0)?;
        }
        self.inode_mut(ino)?.opens += 1;
        Ok(ino)
    }

    fn may_open(&self, ino: Ino, flags: i32, slash: bool) -> Call<()> {
        let create = flags & libc::O_CREAT != 0;
        let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || flags & libc::O_TRUNC != 0;
        match self.inode(ino)?.body {
            _ if create && flags & libc::O_EXCL != 0 => Err(EEXIST),
            Body::Symlink => Err(Errno(libc::ELOOP)),
            Body::Directory(_) if create || writes => Err(EISDIR),
            Body::File(_) if slash || flags & libc::O_DIRECTORY != 0 => Err(ENOTDIR),
            _ => Ok(()),
        }
    }

    /// Removes a name: `ENOENT`, `EISDIR` for a directory, `ENOTDIR` for a file with a slash behind it.
    pub fn unlink(&mut self, dir: Ino, path: &CStr) -> Call<()> {
        let last = self.last(dir, path)?;
        let ino = self.find(last.dir, last.name)?.ok_or(ENOENT)?;
        match self.is_directory(ino)? {
            true => Err(EISDIR),
            false if last.slash => Err(ENOTDIR),
            false => self.detach(last.dir, last.name),
        }
    }

    /// Removes a directory: `ENOENT`, `ENOTDIR`, `ENOTEMPTY`, `EINVAL` for `.`.
    pub fn rmdir(&mut self, dir: Ino, path: &CStr) -> Call<()> {
        let last = self.last(dir, path)?;
        if last.is_dot() {
            return Err(Errno(libc::EINVAL));
        }
        let ino = self.find(last.dir, last.name)?.ok_or(ENOENT)?;
        match &self.inode(ino)?.body {
            Body::Directory(directory) if directory.entries > 0 => Err(ENOTEMPTY),
            Body::Directory(_) => self.detach(last.dir, last.name),
            _ => Err(ENOTDIR),
        }
    }

    /// Makes a directory; `EEXIST` where the name is taken.
    pub fn mkdir(&mut self, dir: Ino, path: &CStr) -> Call<()> {
        let last = self.last(dir, path)?;
        if self.find(last.dir, last.name)?.is_some() {
            return Err(EEXIST);
        }
        let directory = Box::new(Directory { parent: last.dir, entries: 0 });
        self.make(last.dir, last.name, BLOCK, Body::Directory(directory)).map(|_| ())
    }

    /// Makes a link to a text: `ENOENT` for an empty one, `ENAMETOOLONG`, `EEXIST`.
    pub fn symlink(&mut self, target: &CStr, dir: Ino, path: &CStr) -> Call<()> {
        let early = self.early(dir, path)?;
        match target.count_bytes() {
            0 => return Err(ENOENT),
            PATH_MAX.. => return Err(Errno(libc::ENAMETOOLONG)),
            _ => {}
        }
        let last = early.map_or_else(|| self.last(dir, path), Ok)?;
        if self.find(last.dir, last.name)?.is_some() {
            return Err(EEXIST);
        }
        if last.slash {
            return Err(ENOENT);
        }
        self.make(last.dir, last.name, target.count_bytes() as u64, Body::Symlink).map(|_| ())
    }

    /// Bytes of a link's text; `EINVAL` for anything else.
    pub fn readlink(&self, dir: Ino, path: &CStr) -> Call<u64> {
        let inode = self.inode(self.object(dir, path)?)?;
        if matches!(inode.body, Body::Symlink) { Ok(inode.size) } else { Err(Errno(libc::EINVAL)) }
    }

    /// Gives a file a second name: `ENOENT`, `EEXIST`, `EPERM` for a directory.
    pub fn link(&mut self, dir: Ino, from: &CStr, to_dir: Ino, to: &CStr) -> Call<()> {
        let early = self.early(dir, from)?;
        if from.to_bytes().ends_with(b"/") {
            let ino = self.object(dir, from)?;
            self.directory(ino)?;
        }
        let early_to = self.early(to_dir, to)?;
        let from = early.map_or_else(|| self.last(dir, from), Ok)?;
        let ino = self.find(from.dir, from.name)?.ok_or(ENOENT)?;
        let to = early_to.map_or_else(|| self.last(to_dir, to), Ok)?;
        if self.find(to.dir, to.name)?.is_some() {
            return Err(EEXIST);
        }
        if to.slash || self.inode(to.dir)?.links == 0 {
            return Err(ENOENT);
        }
        if self.is_directory(ino)? {
            return Err(Errno(libc::EPERM));
        }
        self.attach(to.dir, to.name, ino)
    }

    /// Moves a name: `EBUSY` for `.`, `EINVAL` into itself, `ENOTEMPTY`, `EISDIR`, `ENOTDIR`.
    pub fn rename(&mut self, dir: Ino, from: &CStr, to_dir: Ino, to: &CStr) -> Call<()> {
        let (early, early_to) = (self.early(dir, from)?, self.early(to_dir, to)?);
        let from = early.map_or_else(|| self.last(dir, from), Ok)?;
        let to = early_to.map_or_else(|| self.last(to_dir, to), Ok)?;
        if from.is_dot() || to.is_dot() {
            return Err(Errno(libc::EBUSY));
        }
        let moved = self.find(from.dir, from.name)?.ok_or(ENOENT)?;
        let replaced = self.find(to.dir, to.name)?;
        let directory = self.is_directory(moved)?;
        if !directory && (from.slash || to.slash) {
            return Err(ENOTDIR);
        }
        if directory && self.is_above(moved, to.dir)? {
            return Err(Errno(libc::EINVAL));
        }
        if let Some(replaced) = replaced {
            if self.is_above(replaced, from.dir)? {
                return Err(ENOTEMPTY);
            }
            if replaced == moved {
                return Ok(());
            }
            match &self.inode(replaced)?.body {
                Body::Directory(_) if !directory => return Err(EISDIR),
                Body::Directory(there) if there.entries > 0 => return Err(ENOTEMPTY),
                Body::Directory(_) => {}
                _ if directory => return Err(ENOTDIR),
                _ => {}
            }
        }
        if self.inode(to.dir)?.links == 0 {
            return Err(ENOENT);
        }
        if replaced.is_some() {
            self.detach(to.dir, to.name)?;
        }
        self.attach(to.dir, to.name, moved)?;
        self.detach(from.dir, from.name)
    }

    /// Whether `above` is the directory `below` or one that holds it.
    fn is_above(&self, above: Ino, below: Ino) -> Call<bool> {
        let mut at = below;
        loop {
            if at == above {
                return Ok(true);
            }
            match self.directory(at)?.parent {
                parent if parent == at => return Ok(false),
                parent => at = parent,
            }
        }
    }

    /// `EOPNOTSUPP` for a symbolic link, which has no mode of its own.
    pub fn chmod(&self, dir: Ino, path: &CStr) -> Call<()> {
        match self.inode(self.object(dir, path)?)?.body {
            Body::Symlink => Err(Errno(libc::EOPNOTSUPP)),
            _ => Ok(()),
        }
    }
}
