//! Reads a list of files: a path and a size in bytes a line, as `find -type f -printf '%P %s\n'`
//! prints it.

use std::collections::{HashMap, HashSet};

use crate::plan::dataset::{Dataset, ListOrder};

/// Largest list in bytes, and most files of one.
pub const LARGEST: u64 = 256 << 20;
const MOST_FILES: usize = 5_000_000;
/// Longest path and longest name in it, in bytes, as Linux has them.
const LONGEST_PATH: usize = 3000;
const LONGEST_NAME: usize = 255;
/// Deepest path, in names.
const DEEPEST: usize = 100;
/// Mistakes told of one list.
/// Bytes of all files: 1 EiB, more than any file system holds.
const MOST_BYTES: u64 = 1 << 60;
const MOST_MISTAKES: usize = 20;

/// A mistake: line and column from 1, and what is wrong.
pub type Mistake = (u32, u32, String);

/// Reads a list. Directories that are not in the list `beside` it are its own. `Err`: its first
/// mistakes.
pub fn read(
    text: &str,
    name: &str,
    order: ListOrder,
    beside: Option<&Dataset>,
) -> Result<Dataset, Vec<Mistake>> {
    let known: HashSet<&str> = beside
        .into_iter()
        .flat_map(|other| (0..other.dirs.len()).map(|dir| other.dir_path(dir as u32)))
        .collect();
    let mut list = Dataset::new(name, order);
    let mut dirs: HashMap<String, u32> = HashMap::from([(String::new(), 0)]);
    let mut seen: HashSet<&str> = HashSet::new();
    let mut mistakes = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match entry(line, &mut seen) {
            Ok((path, size)) => {
                let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
                let dir = directory(&mut list, &mut dirs, parent, &known);
                list.add_file(dir, path, size);
            }
            Err((column, message)) => mistakes.push((at as u32 + 1, column as u32 + 1, message)),
        }
        if mistakes.len() >= MOST_MISTAKES || list.files.len() > MOST_FILES {
            break;
        }
    }
    if list.files.len() > MOST_FILES {
        mistakes.push((1, 1, format!("more than {MOST_FILES} files")));
    }
    if list.bytes() > MOST_BYTES {
        mistakes.push((1, 1, "the files have more than 1 EiB together".into()));
    }
    if list.files.is_empty() && mistakes.is_empty() {
        mistakes.push((1, 1, "no file in the whole list".into()));
    }
    // A path that is a file and a directory at the same time cannot be.
    for file in &list.files {
        if dirs.contains_key(list.path(file)) {
            mistakes.push((1, 1, format!("{:?} is a file and a directory", list.path(file))));
        }
    }
    mistakes.truncate(MOST_MISTAKES);
    if mistakes.is_empty() { Ok(list) } else { Err(mistakes) }
}

fn entry<'a>(line: &'a str, seen: &mut HashSet<&'a str>) -> Result<(&'a str, u64), (usize, String)> {
    let line = line.trim_end();
    let Some((path, size)) = line.rsplit_once([' ', '\t']) else {
        return Err((line.len(), "a size in bytes must follow the path".into()));
    };
    let at = line.len() - size.len();
    let Some(size) = size.parse::<u64>().ok().filter(|size| *size <= MOST_BYTES) else {
        return Err((at, format!("{size:?} is no size in bytes")));
    };
    let path = path.trim_end();
    let path = path.strip_prefix("./").unwrap_or(path);
    let names = || path.split('/');
    let wrong = if path.starts_with('/') {
        "begins at the root; paths begin at the tree"
    } else if names().any(|name| name == "..") {
        "leaves the tree"
    } else if names().any(|name| name.is_empty() || name == ".") {
        "has an empty name in it"
    } else if path.contains('\0') {
        "has a zero byte in it"
    } else if path.len() > LONGEST_PATH || names().any(|name| name.len() > LONGEST_NAME) {
        "is too long"
    } else if names().count() > DEEPEST {
        "is too deep"
    } else if !seen.insert(path) {
        "is there already"
    } else {
        return Ok((path, size));
    };
    Err((0, format!("{path:?} {wrong}")))
}

fn directory(list: &mut Dataset, dirs: &mut HashMap<String, u32>, path: &str, known: &HashSet<&str>) -> u32 {
    if let Some(dir) = dirs.get(path) {
        return *dir;
    }
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    let parent = directory(list, dirs, parent, known);
    let dir = list.add_dir(parent, path, !known.contains(path));
    dirs.insert(path.into(), dir);
    dir
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistakes(text: &str) -> Vec<Mistake> {
        read(text, "list", ListOrder::AsIs, None).unwrap_err()
    }

    #[test]
    fn what_find_prints_is_read() {
        let list =
            read("a/b/c.txt 100\n# a comment\n\n./d 0\na/with space 7\n", "list", ListOrder::AsIs, None)
                .unwrap();
        let paths: Vec<(&str, u64)> = list.files.iter().map(|file| (list.path(file), file.size)).collect();
        assert_eq!(paths, [("a/b/c.txt", 100), ("d", 0), ("a/with space", 7)]);
        assert_eq!((list.dirs.len(), list.new_dirs(), list.bytes()), (3, 2, 107));
        let more = read("a/b/new 1\na/x/y 2\n", "more", ListOrder::AsIs, Some(&list)).unwrap();
        assert_eq!(more.new_dirs(), 1, "a and a/b are there");
    }

    #[test]
    fn hostile_lists_are_refused_with_their_place() {
        for (text, line, column, message) in [
            ("a 1\n/etc/passwd 1\n", 2, 1, "begins at the root"),
            ("../a 1\n", 1, 1, "leaves the tree"),
            ("a/../../b 1\n", 1, 1, "leaves the tree"),
            ("a//b 1\n", 1, 1, "empty name"),
            ("a 1\na 2\n", 2, 1, "there already"),
            ("a\n", 1, 2, "must follow"),
            ("a -1\n", 1, 3, "no size"),
            ("a 99999999999999999999\n", 1, 3, "no size"),
            ("a 9223372036854775807\n", 1, 3, "no size"),
            ("a 1152921504606846976\nb 1\n", 1, 1, "1 EiB"),
            ("a\0b 1\n", 1, 1, "zero byte"),
            ("\n\n", 1, 1, "no file"),
            ("a 1\na/b 1\n", 1, 1, "a file and a directory"),
        ] {
            let found = mistakes(text);
            assert!(found[0].2.contains(message), "{text:?}: {found:?}");
            assert_eq!((found[0].0, found[0].1), (line, column), "{text:?}");
        }
        assert!(mistakes(&format!("{} 1\n", "x".repeat(256)))[0].2.contains("too long"));
        assert!(mistakes(&format!("{}x 1\n", "d/".repeat(101)))[0].2.contains("too deep"));
        assert_eq!(mistakes(&"../x 1\n".repeat(100)).len(), MOST_MISTAKES);
    }
}
