//! What the kernel says of one directory or file: its file system, its mount, its alignment.
//!
//! Answers are reported, not judged; devices below the file system are not looked at.

use super::calls;
use crate::os::machine::{Call, Errno, Fd};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Magic numbers of file systems (linux/magic.h and the file systems' own sources), their names,
/// and whether another machine may be writing to the same files.
const FILE_SYSTEMS: &[(i64, &str, bool)] = &[
    (0xEF53, "ext4", false), // ext2 and ext3 share the number
    (0x5846_5342, "xfs", false),
    (0x9123_683E, "btrfs", false),
    (0x2FC1_2FC1, "zfs", false),
    (0xCA45_1A4E, "bcachefs", false),
    (0xF2F5_2010, "f2fs", false),
    (0x0102_1994, "tmpfs", false),
    (0x8584_58F6, "ramfs", false),
    (0x794C_7630, "overlay", false),
    (0x4D44, "vfat", false),
    (0x2011_BAB0, "exfat", false),
    (0x5346_544E, "ntfs", false),
    (0x7366_746E, "ntfs3", false),
    (0x3153_464A, "jfs", false),
    (0x5265_4973, "reiserfs", false),
    (0x3434, "nilfs2", false),
    (0x2405_1905, "ubifs", false),
    (0x7275, "romfs", false),
    (0x7371_7368, "squashfs", false),
    (0xE0F5_E1E2, "erofs", false),
    (0x9660, "iso9660", false),
    (0x1501_3346, "udf", false),
    (0xF15F, "ecryptfs", false),
    (0x9FA0, "proc", false),
    (0x6265_6572, "sysfs", false),
    (0x1CD1, "devpts", false),
    (0x0027_E0EB, "cgroup", false),
    (0x6367_7270, "cgroup2", false),
    (0x6462_6720, "debugfs", false),
    (0x7472_6163, "tracefs", false),
    (0x9584_58F6, "hugetlbfs", false),
    (0x6969, "nfs", true),
    (0x517B, "smb", true),
    (0xFF53_4D42, "cifs", true),
    (0xFE53_4D42, "smb2", true),
    (0x00C3_6400, "ceph", true),
    (0x6573_5546, "fuse", true),
    (0x0102_1997, "9p", true),
    (0x5346_414F, "afs", true),
    (0x6B41_4653, "kafs", true),
    (0x0BD0_0BD0, "lustre", true),
    (0x4750_4653, "gpfs", true),
    (0x0116_1970, "gfs2", true),
    (0x7461_636F, "ocfs2", true),
    (0x1983_0326, "beegfs", true),
    (0x2003_0528, "orangefs", true),
    (0x786F_4256, "vboxsf", true),
    (0xBACB_ACBC, "vmhgfs", true),
];

/// The name of a file system by the magic number that `statfs` returns.
pub fn file_system_name(magic: i64) -> Option<&'static str> {
    // On processors of 32 bits large numbers come back negative.
    let magic = magic & 0xFFFF_FFFF;
    FILE_SYSTEMS.iter().find(|row| row.0 == magic).map(|row| row.1)
}

/// Whether another machine may be writing to a file system; true where it is not known.
pub fn may_be_shared(magic: i64) -> bool {
    let magic = magic & 0xFFFF_FFFF;
    FILE_SYSTEMS.iter().find(|row| row.0 == magic).is_none_or(|row| row.2)
}

/// One line of `/proc/self/mountinfo`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mount {
    /// The kernel's number for it (`STATX_MNT_ID`).
    pub id: u64,
    /// Device number as `major:minor`.
    pub device: String,
    /// The part of the file system that is mounted (`/` unless a bind mount or a subvolume).
    pub root: String,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Type of the file system: `ext4`, `xfs`, `tmpfs`.
    pub file_system: String,
    /// What is mounted: a device, `tmpfs`, `host:/export`.
    pub source: String,
    /// Options of the mount and of its file system, each once, in the kernel's order.
    pub options: Vec<String>,
}

/// The mount that `path` lies on.
///
/// # Errors
/// What opening the path says; `ENOENT` where the kernel lists no mount for it.
pub fn mount_of(path: &Path) -> Call<Mount> {
    use std::os::unix::ffi::OsStrExt;
    let text = std::ffi::CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno(libc::EINVAL))?;
    let file = calls::owned(calls::openat(libc::AT_FDCWD, &text, libc::O_PATH | libc::O_CLOEXEC, 0)?);
    let io = |error: std::io::Error| Errno(error.raw_os_error().unwrap_or(libc::EIO));
    let table = std::fs::read_to_string("/proc/self/mountinfo").map_err(io)?;
    let mounts = table.lines().filter_map(parse_mount);
    let found = match mount_id(file.as_raw_fd()) {
        Some(id) => mounts.into_iter().find(|mount| mount.id == id),
        None => {
            let real = std::fs::canonicalize(path).map_err(io)?;
            // The longest mount point above the path; of several on one point the last is on top.
            let above = mounts.filter(|mount| real.starts_with(&mount.point));
            above.max_by_key(|mount| mount.point.as_os_str().len())
        }
    };
    found.ok_or(Errno(libc::ENOENT))
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`
fn parse_mount(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ');
    let id = front.next()?.parse().ok()?;
    let mut front = front.skip(1);
    let (device, root, point) = (front.next()?, front.next()?, front.next()?);
    let own = front.next()?;
    let mut back = back.split(' ');
    let (file_system, source) = (back.next()?, back.next()?);
    let mut options: Vec<String> = Vec::new();
    for option in own.split(',').chain(back.next().unwrap_or("").split(',')) {
        if !option.is_empty() && !options.iter().any(|known| known == option) {
            options.push(unescape(option));
        }
    }
    Some(Mount {
        id,
        device: device.to_string(),
        root: unescape(root),
        point: PathBuf::from(unescape(point)),
        file_system: file_system.to_string(),
        source: unescape(source),
        options,
    })
}

/// Spaces, tabs, line ends and backslashes are written as three octal digits (`\040`).
fn unescape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(3..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn statx(fd: Fd, mask: u32) -> Option<libc::statx> {
    let mut answer = std::mem::MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: an empty name stands for the descriptor itself; the kernel fills the structure,
    // whose zeroed form is valid as well.
    let answer = unsafe {
        let done =
            libc::syscall(libc::SYS_statx, fd, c"".as_ptr(), libc::AT_EMPTY_PATH, mask, answer.as_mut_ptr());
        (done == 0).then(|| answer.assume_init())?
    };
    (answer.stx_mask & mask == mask).then_some(answer)
}

/// The kernel's number for the mount of an open file (Linux 5.8).
pub fn mount_id(fd: Fd) -> Option<u64> {
    statx(fd, libc::STATX_MNT_ID).map(|answer| answer.stx_mnt_id)
}

/// What direct I/O on a file must be aligned to, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DirectAlignment {
    /// Of the buffer in memory.
    pub memory: u32,
    /// Of offset and length.
    pub offset: u32,
}

/// What the kernel says of direct I/O on an open regular file (Linux 6.1). `None` where it does
/// not say; both numbers 0 where the file has no direct I/O.
pub fn direct_alignment(fd: Fd) -> Option<DirectAlignment> {
    let answer = statx(fd, libc::STATX_DIOALIGN)?;
    Some(DirectAlignment { memory: answer.stx_dio_mem_align, offset: answer.stx_dio_offset_align })
}

/// The block size a file system prefers for an open file (`st_blksize`), in bytes.
pub fn block_size(fd: Fd) -> Call<u32> {
    calls::fstat(fd).map(|stat| stat.block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_line_of_mountinfo() {
        let line = r"36 35 98:0 /a\040b /mnt/two\134x rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!((mount.id, mount.device.as_str(), mount.root.as_str()), (36, "98:0", "/a b"));
        assert_eq!(mount.point, Path::new(r"/mnt/two\x"));
        assert_eq!((mount.file_system.as_str(), mount.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mount.options, ["rw", "noatime", "errors=continue"]);
        assert!(parse_mount(r"36 35 98:0 /\0 /\777 rw - tmpfs none").is_some_and(|m| m.root == r"/\0"));
        for broken in ["", "36", "36 35 98:0 / / rw", "x 35 98:0 / / rw - a b c", " - "] {
            assert_eq!(parse_mount(broken), None, "{broken}");
        }
    }

    #[test]
    fn finds_the_mount_of_a_directory() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let mount = mount_of(dir.path()).unwrap();
        assert!(dir.path().canonicalize().unwrap().starts_with(&mount.point), "{mount:?}");
        assert!(!mount.options.is_empty());
        let proc = mount_of(Path::new("/proc")).unwrap();
        assert_eq!((proc.point.as_path(), proc.file_system.as_str()), (Path::new("/proc"), "proc"));
        assert_eq!(mount_of(&dir.path().join("missing")), Err(Errno(libc::ENOENT)));
        let file = std::fs::File::open(dir.path()).unwrap();
        assert_eq!(block_size(file.as_raw_fd()), Ok(file.metadata().unwrap().blksize() as u32));
    }

    #[test]
    fn names_file_systems() {
        let proc = std::fs::File::open("/proc").unwrap();
        let magic = calls::fstatfs(proc.as_raw_fd()).unwrap().magic;
        assert_eq!(file_system_name(magic), Some("proc"));
        assert!(!may_be_shared(magic));
        assert_eq!(file_system_name(0xFF53_4D42_u32 as i32 as i64), Some("cifs"));
        assert!(may_be_shared(0x6969));
        assert_eq!(file_system_name(1), None);
        assert!(may_be_shared(1), "unknown means careful");
        for (at, row) in FILE_SYSTEMS.iter().enumerate() {
            assert!(FILE_SYSTEMS[at + 1..].iter().all(|other| other.0 != row.0), "{}", row.1);
        }
    }
}
