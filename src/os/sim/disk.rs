//! The simulated disk: inodes, names, and how much of both there is.
//!
//! Built to hold a million files in little memory and to be quick: an inode is 32 bytes, a name
//! is a hash of it and of its directory, and no data call looks anything up but an index. What
//! paths and open files mean is said in `names` and `files`.

use super::content::{BLOCK, Content};
use crate::os::machine::{Call, Errno, FsStat, Stat};
use std::collections::{BTreeSet, HashMap};
use std::ffi::CStr;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// Number of an inode.
pub type Ino = u32;

/// The root directory.
pub const ROOT: Ino = 0;

/// Magic number that `statfs` returns: "iosc" in ASCII, no real file system's.
pub const MAGIC: i64 = 0x696f_7363;

/// A file, a directory, or a symbolic link.
#[derive(Debug)]
pub struct Inode {
    /// Bytes; of a symbolic link those of its target's text.
    pub size: u64,
    /// What it is.
    pub body: Body,
    /// Names; of a directory 1, or 0 once it is removed.
    pub links: u32,
    /// Descriptors, of all workers.
    pub opens: u32,
}

/// What an inode stands for.
#[derive(Debug)]
pub enum Body {
    /// Not in use.
    Free,
    /// A file and what it holds.
    File(Content),
    /// A directory; its names are kept with the disk.
    Directory(Box<Directory>),
    /// A symbolic link; its text is not kept.
    Symlink,
}

/// What a directory knows of itself.
#[derive(Debug)]
pub struct Directory {
    /// The directory above; of the root itself.
    pub parent: Ino,
    /// Names in it.
    pub entries: u64,
}

/// A name in a directory, as a hash of both. Two names of a million meet with a chance of
/// one in 40 million. In halves, as an entry of the table is then 12 bytes instead of 16.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key([u32; 2]);

impl Key {
    fn new(dir: Ino, name: &[u8]) -> Key {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mix = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let mut hash = mix(u64::from(dir) ^ 0x2545_f491_4f6c_dd1d, ODD);
        for part in name.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            hash = mix(hash ^ u64::from_le_bytes(word), ODD ^ part.len() as u64);
        }
        hash = mix(hash ^ name.len() as u64, ODD);
        Key([hash as u32, (hash >> 32) as u32])
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.0[0]) | u64::from(self.0[1]) << 32);
    }
}

/// Keys are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }
}

/// Everything on the simulated disk.
pub struct Disk {
    inodes: Vec<Inode>,
    /// Inodes to use again.
    free: Vec<Ino>,
    names: HashMap<Key, Ino, BuildHasherDefault<AsIs>>,
    /// The names themselves by directory, where they are kept.
    shown: Option<HashMap<Ino, BTreeSet<Box<[u8]>>>>,
    /// Extended attributes: inode, name → length.
    pub(super) xattrs: HashMap<Ino, HashMap<Vec<u8>, usize>>,
    blocks: u64,
    pub(super) blocks_used: u64,
    inodes_most: u64,
    inodes_used: u64,
    /// Bytes written since the beginning.
    pub(super) written: u64,
}

const GONE: Errno = Errno(libc::EIO);

impl Disk {
    /// An empty disk of so many bytes and inodes; the root takes one of the latter.
    pub fn new(space: u64, inodes: u64) -> Disk {
        let root = Directory { parent: ROOT, entries: 0 };
        Disk {
            inodes: vec![Inode { size: BLOCK, body: Body::Directory(Box::new(root)), links: 1, opens: 0 }],
            free: Vec::new(),
            names: HashMap::default(),
            shown: None,
            xattrs: HashMap::new(),
            blocks: space / BLOCK,
            blocks_used: 0,
            inodes_most: inodes.min(u64::from(u32::MAX)),
            inodes_used: 1,
            written: 0,
        }
    }

    /// Whether names are kept to be shown. Asked of an empty disk.
    pub fn keep_names(&mut self, keep: bool) {
        self.shown = keep.then(HashMap::new);
    }

    /// Up to `count` names of a directory after the first `from`, sorted; none where they are not kept.
    pub fn shown(&self, dir: Ino, from: u64, count: u64) -> Vec<Box<[u8]>> {
        let all = self.shown.as_ref().and_then(|shown| shown.get(&dir));
        let part = all.into_iter().flatten().skip(from as usize).take(count as usize);
        part.cloned().collect()
    }

    /// The inode of that number; `EIO` where there is none.
    #[inline]
    pub fn inode(&self, ino: Ino) -> Call<&Inode> {
        self.inodes.get(ino as usize).ok_or(GONE)
    }

    /// The inode of that number, to change; `EIO` where there is none.
    #[inline]
    pub fn inode_mut(&mut self, ino: Ino) -> Call<&mut Inode> {
        self.inodes.get_mut(ino as usize).ok_or(GONE)
    }

    /// Blocks nobody uses.
    #[inline]
    pub fn blocks_free(&self) -> u64 {
        self.blocks.saturating_sub(self.blocks_used)
    }

    /// Content of a file and the free blocks, together as a write needs them.
    #[inline]
    pub fn file_mut(&mut self, ino: Ino) -> Call<(&mut Inode, u64)> {
        let free = self.blocks_free();
        Ok((self.inodes.get_mut(ino as usize).ok_or(GONE)?, free))
    }

    /// The inode a name in a directory stands for; `None` where there is none.
    pub fn lookup(&self, dir: Ino, name: &[u8]) -> Option<Ino> {
        self.names.get(&Key::new(dir, name)).copied()
    }

    /// The directory of that number; `ELOOP` for a symbolic link, `ENOTDIR` for a file.
    pub fn directory(&self, ino: Ino) -> Call<&Directory> {
        match &self.inode(ino)?.body {
            Body::Directory(directory) => Ok(directory),
            Body::Symlink => Err(Errno(libc::ELOOP)),
            _ => Err(Errno(libc::ENOTDIR)),
        }
    }

    fn directory_mut(&mut self, ino: Ino) -> Call<&mut Directory> {
        match &mut self.inode_mut(ino)?.body {
            Body::Directory(directory) => Ok(directory),
            _ => Err(Errno(libc::ENOTDIR)),
        }
    }

    /// Makes an inode with one name.
    ///
    /// # Errors
    /// `ENOENT` in a removed directory, `ENOSPC` without a free inode.
    pub fn make(&mut self, dir: Ino, name: &[u8], size: u64, body: Body) -> Call<Ino> {
        if self.inode(dir)?.links == 0 {
            return Err(Errno(libc::ENOENT));
        }
        if self.inodes_used >= self.inodes_most {
            return Err(Errno(libc::ENOSPC));
        }
        let inode = Inode { size, body, links: 0, opens: 0 };
        let ino = match self.free.pop() {
            Some(ino) => {
                *self.inode_mut(ino)? = inode;
                ino
            }
            None => {
                self.inodes.push(inode);
                (self.inodes.len() - 1) as Ino
            }
        };
        self.inodes_used += 1;
        self.attach(dir, name, ino)?;
        Ok(ino)
    }

    /// Gives an inode one name more.
    pub fn attach(&mut self, dir: Ino, name: &[u8], ino: Ino) -> Call<()> {
        if self.inode(dir)?.links == 0 {
            return Err(Errno(libc::ENOENT));
        }
        self.inode_mut(ino)?.links += 1;
        self.directory_mut(dir)?.entries += 1;
        self.names.insert(Key::new(dir, name), ino);
        if let Some(shown) = &mut self.shown {
            shown.entry(dir).or_default().insert(name.into());
        }
        if let Body::Directory(moved) = &mut self.inode_mut(ino)?.body {
            moved.parent = dir;
        }
        Ok(())
    }

    /// Takes a name away, and the inode with it where nothing else holds that.
    pub fn detach(&mut self, dir: Ino, name: &[u8]) -> Call<()> {
        let ino = self.names.remove(&Key::new(dir, name)).ok_or(Errno(libc::ENOENT))?;
        if let Some(own) = self.shown.as_mut().and_then(|shown| shown.get_mut(&dir)) {
            own.remove(name);
        }
        self.directory_mut(dir)?.entries -= 1;
        self.inode_mut(ino)?.links -= 1;
        self.release(ino)
    }

    /// Frees an inode that has neither a name nor a descriptor.
    pub fn release(&mut self, ino: Ino) -> Call<()> {
        let inode = self.inode_mut(ino)?;
        if inode.links > 0 || inode.opens > 0 {
            return Ok(());
        }
        if let Body::File(content) = std::mem::replace(&mut inode.body, Body::Free) {
            self.blocks_used -= content.blocks();
        }
        if !self.xattrs.is_empty() {
            self.xattrs.remove(&ino);
        }
        self.inodes_used -= 1;
        self.free.push(ino);
        Ok(())
    }

    /// What the disk knows of an inode; `EIO` where there is none.
    pub fn stat(&self, ino: Ino) -> Call<Stat> {
        let inode = self.inode(ino)?;
        let allocated = match &inode.body {
            Body::File(content) => content.blocks() * BLOCK,
            Body::Directory(_) => BLOCK,
            _ => 0,
        };
        Ok(Stat {
            size: inode.size,
            block: BLOCK as u32,
            allocated,
            directory: matches!(inode.body, Body::Directory(_)),
            symlink: matches!(inode.body, Body::Symlink),
        })
    }

    /// Length of an attribute that fits into `room` bytes.
    pub fn attribute(&self, ino: Ino, name: &CStr, room: usize) -> Call<usize> {
        let len = self.xattrs.get(&ino).and_then(|own| own.get(name.to_bytes()));
        let len = *len.ok_or(Errno(libc::ENODATA))?;
        if len > room { Err(Errno(libc::ERANGE)) } else { Ok(len) }
    }

    /// Space and inodes of the whole disk.
    pub fn statfs(&self) -> FsStat {
        FsStat {
            block: BLOCK,
            blocks: self.blocks,
            available: self.blocks_free() * BLOCK,
            files: self.inodes_most,
            files_free: self.inodes_most.saturating_sub(self.inodes_used),
            magic: MAGIC,
        }
    }

    /// Bytes of memory that inodes and names take, boxed extents left out.
    pub fn memory(&self) -> usize {
        // The table has a byte of its own for every slot, of which it fills seven in eight.
        let slots = (self.names.capacity() * 8 / 7).next_power_of_two();
        self.inodes.capacity() * size_of::<Inode>()
            + slots * (size_of::<(Key, Ino)>() + 1)
            + self.free.capacity() * size_of::<Ino>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_files_fit() {
        assert_eq!(size_of::<Inode>(), 32);
        assert_eq!(size_of::<(Key, Ino)>(), 12);
        let mut disk = Disk::new(1 << 40, 1 << 30);
        for n in 0..1_000_000_u32 {
            let ino =
                disk.make(ROOT, format!("mail/{n:08}").as_bytes(), 0, Body::File(Content::Empty)).unwrap();
            let (inode, free) = disk.file_mut(ino).unwrap();
            let Body::File(content) = &mut inode.body else { panic!("a file") };
            content.extend(0, 16_384, crate::os::Recipe::Random, free).unwrap();
        }
        assert_eq!(disk.names.len(), 1_000_000, "no two names are one");
        assert_eq!(disk.directory(ROOT).unwrap().entries, 1_000_000);
        assert!(disk.memory() < 65_000_000, "{}", disk.memory());
    }

    #[test]
    fn names_differ_by_every_byte_and_by_directory() {
        let key = |dir, name: &[u8]| Key::new(dir, name).0;
        let all = [
            key(0, b"a"),
            key(1, b"a"),
            key(0, b"a\0"),
            key(0, b""),
            key(0, b"aaaaaaaa"),
            key(0, b"aaaaaaaaa"),
        ];
        for (at, one) in all.iter().enumerate() {
            assert!(!all[at + 1..].contains(one));
        }
    }
}
