//! Which file system a path lies on, from `/proc/self/mountinfo`.

use std::path::{Path, PathBuf};

use super::files::Root;

/// One line of mountinfo.
#[derive(Clone, Debug, PartialEq)]
pub struct Mount {
    /// `8:1`; the number of a file system without a device starts with `0:`.
    pub device: String,
    /// What part of the file system is mounted, `/` for all of it.
    pub part: String,
    /// Directory it is mounted at.
    pub point: PathBuf,
    /// Type of the file system, for example `ext4`.
    pub kind: String,
    /// Device or other source as the kernel names it.
    pub source: String,
    /// Options of the mount, then those of the file system.
    pub options: Vec<String>,
}

/// Every mount, in the order they were made.
pub fn all(root: &Root) -> Vec<Mount> {
    root.text("/proc/self/mountinfo").unwrap_or_default().lines().filter_map(parse).collect()
}

/// The mount a resolved path lies on: the longest mount point above it, and of several at the
/// same place the last one, which hides the others.
pub fn of<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.components().count())
}

/// `36 35 98:0 /part /point rw,noatime master:1 - ext4 /dev/root rw,errors=continue`; the fields
/// between the options and the dash vary in number (proc(5)).
fn parse(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(2);
    let (device, part, point, options) = (front.next()?, front.next()?, front.next()?, front.next()?);
    let mut back = back.split(' ');
    let (kind, source) = (back.next()?, back.next()?);
    let mut all: Vec<String> = options.split(',').map(unescape).collect();
    for option in back.next().unwrap_or("").split(',').map(unescape) {
        if !option.is_empty() && !all.contains(&option) {
            all.push(option);
        }
    }
    Some(Mount {
        device: device.into(),
        part: unescape(part),
        point: unescape(point).into(),
        kind: kind.into(),
        source: unescape(source),
        options: all,
    })
}

/// Blank, tab, newline and backslash are written as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after
            .get(..3)
            .filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixture::Fixture;

    #[test]
    fn the_last_of_the_longest_mounts_holds_the_path() {
        let root = Fixture::new().file(
            "/proc/self/mountinfo",
            "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n\
             30 22 8:2 / /mnt/my\\040disk rw - xfs /dev/sda2 rw,noquota\n\
             31 22 0:40 /sub /mnt rw - btrfs /dev/sdb rw,compress=zstd:3,subvol=/sub\n\
             32 31 8:3 / /mnt/my\\040disk rw - ext4 /dev/sda3 rw\n\
             garbage\n",
        );
        let mounts = all(&root.root());
        assert_eq!(mounts.len(), 4);
        let at = |path: &str| of(&mounts, Path::new(path)).map(|m| m.source.as_str());
        assert_eq!(at("/home/x"), Some("/dev/sda1"));
        assert_eq!(at("/mnt/my disk/x"), Some("/dev/sda3"));
        assert_eq!(at("/mnt/my"), Some("/dev/sdb"));
        assert_eq!(at("/mntx"), Some("/dev/sda1"));
        assert_eq!(mounts[0].options, ["rw", "relatime", "errors=remount-ro"]);
        assert_eq!((mounts[2].part.as_str(), mounts[2].device.as_str()), ("/sub", "0:40"));
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_read_or_left_out(line in "[ -\\\\a-c0-9,:/é]{0,60}") {
            parse(&line);
            unescape(&line);
        }
    }

    #[test]
    fn escapes_at_the_end_are_kept() {
        assert_eq!(unescape("a\\134b\\04"), "a\\b\\04");
    }
}
