//! A recorded stream of file operations in compact form, and how a step replays it.
//!
//! Handles are places of a small table and paths are numbers already: nothing is looked up by name
//! while it is replayed. Knows no format it can be read from.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::instr::{NameId, StatId};

/// "No path": the directory everything is below.
pub const BASE: u32 = u32::MAX;
/// "No handle": the open is expected to fail.
pub const NO_HANDLE: u16 = u16::MAX;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $key:literal,)*) => {
        /// What an entry of a stream does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name,)* }

        impl Kind {
            /// Every kind, by its number.
            pub const ALL: &[Kind] = &[$(Kind::$name),*];

            /// Under which key it counts; empty where it does not.
            pub fn key(self) -> &'static str {
                match self { $(Kind::$name => $key),* }
            }

            /// Whether it moves data.
            pub fn moves(self) -> bool {
                matches!(self, Kind::Read | Kind::Write)
            }
        }
    };
}

kinds! {
    /// Bytes `b` at offset `a` from the handle.
    Read "read",
    /// Bytes `b` at offset `a` to the handle.
    Write "write",
    /// Path `a` becomes the handle; `b` says how ([`opens`]).
    Open "open",
    /// The handle is given back.
    Close "close",
    /// The handle's file is made safe.
    Fsync "fsync",
    /// Path `a` becomes path `b`.
    Rename "rename",
    /// Path `a` is deleted.
    Unlink "unlink",
    /// Directory `a` is removed.
    Rmdir "rmdir",
    /// Directory `a` is made.
    Mkdir "mkdir",
    /// Every file below directory `a` is deleted; directories stay.
    DeleteTree "delete_tree",
    /// Path `a` is looked up.
    QueryPath "query_path",
    /// The handle is asked for its facts.
    QueryFile "query_file",
    /// The file system is asked for its space.
    QueryFs "query_fs",
    /// The handle's file `a` gets new times.
    SetFile "set_file",
    /// Pattern `a` is searched for, up to `b` entries.
    FindFirst "find_first",
    /// Bytes `b` at offset `a` of the handle are locked.
    Lock "lock",
    /// They are given back.
    Unlock "unlock",
    /// Nothing for `a` microseconds.
    Sleep "",
    /// Nothing before the time of wide entry `a`, in nanoseconds from the start of the pass.
    NotBefore "",
}

/// Bits of [`Entry::flags`].
pub mod flags {
    /// The operation is expected to succeed.
    pub const OK: u8 = 1;
    /// `a` is an index into the wide entries: offset, length, bytes it is expected to move.
    pub const WIDE: u8 = 2;
}

/// How [`Kind::Open`] opens: bits of its `b`.
pub mod opens {
    /// Made where it is missing.
    pub const CREATE: u32 = 1;
    /// Emptied where it is not.
    pub const TRUNCATE: u32 = 2;
    /// A directory, made before it is opened.
    pub const DIRECTORY: u32 = 4;
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it does.
    pub kind: Kind,
    /// [`flags`].
    pub flags: u8,
    /// Place of its handle in the table of open ones.
    pub handle: u16,
    /// By kind.
    pub a: u32,
    /// By kind.
    pub b: u32,
}

impl Entry {
    /// Whether it is expected to succeed.
    pub fn succeeds(&self) -> bool {
        self.flags & flags::OK != 0
    }
}

/// What does not fit an entry: a transfer's or lock's offset and length in bytes, and the bytes
/// it is expected to move.
pub type Wide = [u64; 3];

/// One path: its last name below another path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The directory it is in, or [`BASE`].
    pub parent: u32,
    /// Where its last name begins in [`Stream::text`], in bytes.
    start: u32,
    /// Bytes of the name.
    len: u32,
}

/// A stream of operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// In the order they are performed.
    pub entries: Vec<Entry>,
    /// What does not fit into them.
    pub wide: Vec<Wide>,
    /// Every path, after the one it is in.
    pub paths: Vec<Path>,
    /// Names of all paths, one after the other.
    pub text: String,
    /// Most handles open at once.
    pub handles: u16,
    /// Largest transfer in bytes.
    pub largest: u64,
    /// Bytes its files hold at most at any time, from an empty directory on.
    pub footprint: u64,
    /// Files and directories there are at most.
    pub names: u64,
    /// Bytes asked for by reads and by writes.
    pub bytes: (u64, u64),
    /// Operations of each kind, by its number.
    pub counts: Vec<u64>,
    /// Where in the recording the entries stand: a number of an entry, and the line (from 1) it is
    /// from. Those up to the next number stand in the lines that follow, one each.
    pub lines: Vec<(u32, u32)>,
    /// What the stream does, as a hash; where it stands is no part of that.
    pub digest: [u8; 32],
}

impl Stream {
    /// A stream of nothing.
    pub fn empty() -> Stream {
        Stream {
            entries: Vec::new(),
            wide: Vec::new(),
            paths: Vec::new(),
            text: String::new(),
            handles: 0,
            largest: 0,
            footprint: 0,
            names: 0,
            bytes: (0, 0),
            counts: vec![0; Kind::ALL.len()],
            lines: Vec::new(),
            digest: [0; 32],
        }
    }

    /// Adds a path's last name below `parent`; the caller keeps them apart.
    pub fn add_path(&mut self, parent: u32, name: &str) -> u32 {
        let (start, len) = (self.text.len() as u32, name.len() as u32);
        self.text.push_str(name);
        self.paths.push(Path { parent, start, len });
        (self.paths.len() - 1) as u32
    }

    /// Adds an entry that stands in this line of the recording, from 1.
    pub fn add_entry(&mut self, entry: Entry, line: usize) {
        let (number, line) = (self.entries.len(), u32::try_from(line).unwrap_or(u32::MAX));
        if self.line(number) != line as usize {
            self.lines.push((number as u32, line));
        }
        self.entries.push(entry);
    }

    /// The line of the recording in which an entry stands, from 1; 0 where that is not known.
    pub fn line(&self, entry: usize) -> usize {
        let after = self.lines.partition_point(|(first, _)| *first as usize <= entry);
        let run = after.checked_sub(1).and_then(|run| self.lines.get(run));
        run.map_or(0, |(first, line)| *line as usize + (entry - *first as usize))
    }

    /// The last name of a path; empty for [`BASE`].
    pub fn name(&self, path: u32) -> &str {
        let found = self.paths.get(path as usize);
        found.and_then(|p| self.text.get(p.start as usize..(p.start + p.len) as usize)).unwrap_or_default()
    }

    /// The directory a path is in.
    pub fn parent(&self, path: u32) -> u32 {
        self.paths.get(path as usize).map_or(BASE, |p| p.parent)
    }

    /// A path with all its names, as the stream has them.
    pub fn full(&self, path: u32) -> String {
        let (mut at, mut names) = (path, Vec::new());
        while at != BASE && at < self.paths.len() as u32 {
            names.push(self.name(at));
            at = self.parent(at);
        }
        names.reverse();
        names.join("/")
    }

    /// How many operations of a kind it has.
    pub fn count(&self, kind: Kind) -> u64 {
        self.counts.get(kind as usize).copied().unwrap_or(0)
    }

    /// Offset, length and expected bytes of a transfer or lock.
    #[inline]
    pub fn range(&self, entry: &Entry) -> Wide {
        if entry.flags & flags::WIDE == 0 {
            return [u64::from(entry.a), u64::from(entry.b), u64::from(entry.b)];
        }
        self.wide.get(entry.a as usize).copied().unwrap_or_default()
    }

    /// Counts what is in it, gives back room that is not needed and fixes its identity.
    pub fn finish(&mut self) {
        self.entries.shrink_to_fit();
        self.wide.shrink_to_fit();
        self.paths.shrink_to_fit();
        self.text.shrink_to_fit();
        self.lines.shrink_to_fit();
        self.counts = vec![0; Kind::ALL.len()];
        let mut sha = Sha256::new();
        let mut piece = Vec::with_capacity(12 << 10);
        for entries in self.entries.chunks(1024) {
            piece.clear();
            for entry in entries {
                if let Some(count) = self.counts.get_mut(entry.kind as usize) {
                    *count += 1;
                }
                piece.extend_from_slice(&[entry.kind as u8, entry.flags]);
                piece.extend_from_slice(&entry.handle.to_le_bytes());
                piece.extend_from_slice(&entry.a.to_le_bytes());
                piece.extend_from_slice(&entry.b.to_le_bytes());
            }
            sha.update(&piece);
        }
        self.wide.iter().flatten().for_each(|n| sha.update(n.to_le_bytes()));
        for path in &self.paths {
            sha.update([path.parent.to_le_bytes(), path.len.to_le_bytes()].concat());
        }
        sha.update(self.text.as_bytes());
        let lengths = [self.entries.len(), self.wide.len(), self.paths.len()];
        lengths.iter().for_each(|n| sha.update((*n as u64).to_le_bytes()));
        self.digest = sha.finalize().into();
    }

    /// Bytes it takes in memory.
    pub fn memory(&self) -> usize {
        size_of::<Stream>()
            + self.entries.capacity() * size_of::<Entry>()
            + self.wide.capacity() * size_of::<Wide>()
            + self.paths.capacity() * size_of::<Path>()
            + self.text.capacity()
            + self.counts.capacity() * size_of::<u64>()
            + self.lines.capacity() * size_of::<(u32, u32)>()
    }
}

/// Deviations from how a stream is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ReplayOptions {
    /// Files are opened with `O_SYNC`.
    pub sync_open: bool,
    /// The directory is made safe after a name in it was deleted, removed or renamed.
    pub sync_dirs: bool,
    /// Every write is made safe.
    pub sync_writes: bool,
    /// Names are looked up as they are written, never searched for in their directory.
    pub no_resolve: bool,
    /// What a file server keeps beside each file is read and written as an extended attribute.
    pub attributes: bool,
}

/// One step that replays a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayPlan {
    /// What is replayed; shared, because it is large.
    pub stream: Arc<Stream>,
    /// Texts in its names and what stands for them.
    pub replace: Vec<(String, NameId)>,
    /// How.
    pub options: ReplayOptions,
    /// The rate in bytes that holds before every operation (index into the plan's paces).
    pub pace: Option<u16>,
    /// Where each kind counts, by its number.
    pub stats: Vec<StatId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_small() {
        assert_eq!(size_of::<Entry>(), 12);
    }

    #[test]
    fn the_identity_is_what_it_does() {
        let mut one = Stream::empty();
        let path = one.add_path(BASE, "a");
        one.entries.push(Entry { kind: Kind::Mkdir, flags: flags::OK, handle: NO_HANDLE, a: path, b: 0 });
        let mut other = one.clone();
        one.finish();
        other.finish();
        assert_eq!(one.digest, other.digest);
        assert_eq!(one.counts[Kind::Mkdir as usize], 1);
        other.entries[0].flags = 0;
        other.finish();
        assert_ne!(one.digest, other.digest);
    }

    #[test]
    fn kinds_are_numbered_as_they_stand() {
        for (number, kind) in Kind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, number);
        }
    }
}
