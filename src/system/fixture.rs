//! A machine made of files, for tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::files::Root;

/// A root directory that goes away with the value.
pub struct Fixture(tempfile::TempDir);

impl Default for Fixture {
    fn default() -> Fixture {
        Fixture::new()
    }
}

impl Fixture {
    /// An empty root; panics where none can be made.
    pub fn new() -> Fixture {
        Fixture(tempfile::tempdir().expect("a temporary directory"))
    }

    /// The root to look at.
    pub fn root(&self) -> Root {
        Root::at(self.0.path())
    }

    /// Adds a file with a text, and the directories above it.
    pub fn file(self, path: &str, text: &str) -> Fixture {
        let path = self.root().path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        fs::write(path, text).expect("a file");
        self
    }

    /// Adds a directory, and those above it.
    pub fn dir(self, path: &str) -> Fixture {
        fs::create_dir_all(self.root().path(path)).expect("directories");
        self
    }

    /// A symbolic link with the text `to`.
    pub fn link(self, path: &str, to: &str) -> Fixture {
        let path = self.root().path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        symlink(Path::new(to), path).expect("a link");
        self
    }
}
