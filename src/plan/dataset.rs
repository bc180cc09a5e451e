//! Lists of files: paths and sizes that a tree of directories is made of. Part of the contract of
//! [`super::instr`], which hands it on. It knows neither where a list comes from nor what is done
//! with it.

use std::sync::Arc;

/// One file of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFile {
    /// Where its path begins in [`Dataset::text`], in bytes.
    pub start: u32,
    /// Bytes of the path.
    pub len: u32,
    /// The directory it is in (index into [`Dataset::dirs`]).
    pub dir: u32,
    /// Bytes it holds.
    pub size: u64,
}

/// One directory of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataDir {
    /// Where its path begins in [`Dataset::text`], in bytes; the tree itself has none.
    pub start: u32,
    /// Bytes of the path.
    pub len: u32,
    /// The directory it is in; of the tree itself, itself.
    pub parent: u32,
    /// It is not part of the list beside which this one stands.
    pub new: bool,
}

/// In which order the files of a list are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ListOrder {
    /// As they stand in the list.
    #[default]
    AsIs,
    /// As the file system lists them once they are there: found out before the first phase.
    Readdir,
}

/// A list of files.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Dataset {
    /// As the profile calls it.
    pub name: String,
    /// Its files, in their order.
    pub files: Vec<DataFile>,
    /// Its directories, each after the one it is in; the first is the tree itself.
    pub dirs: Vec<DataDir>,
    /// All paths, one after the other.
    pub text: String,
    /// In which order the files are written.
    pub order: ListOrder,
}

/// Lists of a plan: shared, because they are large.
pub type Datasets = Vec<Arc<Dataset>>;

impl Dataset {
    /// A list of nothing but the tree itself.
    pub fn new(name: &str, order: ListOrder) -> Dataset {
        let top = DataDir { start: 0, len: 0, parent: 0, new: true };
        Dataset { name: name.into(), dirs: vec![top], order, ..Dataset::default() }
    }

    /// Adds a directory below another; its path is the whole one.
    pub fn add_dir(&mut self, parent: u32, path: &str, new: bool) -> u32 {
        let (start, len) = (self.text.len() as u32, path.len() as u32);
        self.text.push_str(path);
        self.dirs.push(DataDir { start, len, parent, new });
        (self.dirs.len() - 1) as u32
    }

    /// Adds a file in a directory; its path is the whole one.
    pub fn add_file(&mut self, dir: u32, path: &str, size: u64) {
        let (start, len) = (self.text.len() as u32, path.len() as u32);
        self.text.push_str(path);
        self.files.push(DataFile { start, len, dir, size });
    }

    /// The path of a file, from the tree on.
    pub fn path(&self, file: &DataFile) -> &str {
        self.part(file.start, file.len)
    }

    /// The path of a directory, from the tree on; empty for the tree itself.
    pub fn dir_path(&self, dir: u32) -> &str {
        self.dirs.get(dir as usize).map_or("", |dir| self.part(dir.start, dir.len))
    }

    fn part(&self, start: u32, len: u32) -> &str {
        self.text.get(start as usize..(start as usize + len as usize)).unwrap_or("")
    }

    /// Bytes of all its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size))
    }

    /// Directories that it adds, the tree itself left out.
    pub fn new_dirs(&self) -> u64 {
        self.dirs.iter().skip(1).filter(|dir| dir.new).count() as u64
    }
}
