//! Reading the small files of `/proc` and `/sys`, under a root that tests can move.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the description reads from; `/` outside tests.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Root {
        Root(PathBuf::from("/"))
    }
}

impl Root {
    /// A root in place of `/`.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// The place of an absolute path under this root.
    pub fn path(&self, absolute: impl AsRef<Path>) -> PathBuf {
        let absolute = absolute.as_ref();
        self.0.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The path as the machine itself would name it.
    pub fn inside(&self, path: &Path) -> PathBuf {
        let root = self.0.canonicalize().unwrap_or_else(|_| self.0.clone());
        Path::new("/").join(path.strip_prefix(&root).unwrap_or(path))
    }

    /// Text of a file.
    pub fn text(&self, absolute: impl AsRef<Path>) -> Option<String> {
        text(&self.path(absolute))
    }

    /// Whether there is anything at an absolute path.
    pub fn exists(&self, absolute: impl AsRef<Path>) -> bool {
        self.path(absolute).exists()
    }
}

/// A file's text without white space around it; `None` if absent, unreadable or empty.
pub fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_string();
    (!text.is_empty()).then_some(text)
}

/// A file's number.
pub fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Names in a directory, sorted; empty if there is none.
pub fn names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
