//! The original programs do what their tables say, seen by the exactness harness.
//!
//! This proves the harness, and pins the installed versions: what our profiles are compared with
//! is what these tables hold. Adding a case is adding a row.

mod common;

use std::path::Path;

use common::calls::against;
use common::select::without_descriptor_moves;
use common::{Multiset, Run, need, scratch, skip};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// One row: the arguments, and every call under the directory (and `sync`) with its count.
type Row<'a> = (&'a str, &'a [(u64, &'a str)]);

fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} rows differ:\n\n{}", failures.len(), failures.join("\n"));
}

// fs_mark 3.3: `-d D` and these arguments, D not there before.
const FS_MARK: [Row; 13] = [
    (
        "-s 1048576 -n 20",
        &[
            (1, "mkdir 0777"),
            (20, "mkdir 0777 EEXIST"),
            (20, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (1280, "write 16384"),
            (20, "fsync"),
            (20, "close"),
            (20, "unlink"),
            (3, "statfs"),
        ],
    ),
    (
        "-s 1048576 -n 20 -S 0",
        &[
            (1, "mkdir 0777"),
            (20, "mkdir 0777 EEXIST"),
            (20, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (1280, "write 16384"),
            (20, "close"),
            (20, "unlink"),
            (3, "statfs"),
        ],
    ),
    (
        "-s 1048576 -n 5 -t 4",
        &[
            (1, "mkdir 0777"),
            (23, "mkdir 0777 EEXIST"),
            (20, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (1280, "write 16384"),
            (20, "fsync"),
            (20, "close"),
            (20, "unlink"),
            (6, "statfs"),
        ],
    ),
    (
        "-s 1048576 -n 40 -D 32",
        &[
            (2, "mkdir 0777"),
            (39, "mkdir 0777 EEXIST"),
            (40, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (2560, "write 16384"),
            (40, "fsync"),
            (40, "close"),
            (40, "unlink"),
            (3, "statfs"),
        ],
    ),
    (
        "-s 1048576 -n 40 -D 32 -N 2",
        &[
            (21, "mkdir 0777"),
            (20, "mkdir 0777 EEXIST"),
            (40, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (2560, "write 16384"),
            (40, "fsync"),
            (40, "close"),
            (40, "unlink"),
            (3, "statfs"),
        ],
    ),
    (
        "-s 40000 -n 10 -S 2",
        &[
            (1, "mkdir 0777"),
            (10, "mkdir 0777 EEXIST"),
            (10, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (1, "open O_RDONLY"),
            (20, "write 16384"),
            (10, "write 7232"),
            (1, "fsync"),
            (1, "sync"),
            (11, "close"),
            (10, "unlink"),
            (3, "statfs"),
        ],
    ),
    ("-s 40000 -n 10 -S 3", SYNC_AFTER),
    ("-s 40000 -n 10 -S 4", SYNC_AFTER_ALL),
    ("-s 40000 -n 10 -S 5", SYNC_AFTER),
    ("-s 40000 -n 10 -S 6", SYNC_AFTER_ALL),
    (
        "-s 50000 -n 4 -L 2",
        &[
            (1, "mkdir 0777"),
            (9, "mkdir 0777 EEXIST"),
            (8, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (24, "write 16384"),
            (8, "write 848"),
            (8, "fsync"),
            (8, "close"),
            (6, "statfs"),
        ],
    ),
    (
        "-s 0 -n 4",
        &[
            (1, "mkdir 0777"),
            (4, "mkdir 0777 EEXIST"),
            (4, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (4, "write 0"),
            (4, "fsync"),
            (4, "close"),
            (4, "unlink"),
            (3, "statfs"),
        ],
    ),
    (
        "-s 16384 -n 4 -w 4096",
        &[
            (1, "mkdir 0777"),
            (4, "mkdir 0777 EEXIST"),
            (4, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
            (16, "write 4096"),
            (4, "fsync"),
            (4, "close"),
            (4, "unlink"),
            (3, "statfs"),
        ],
    ),
];

/// Each file opened again and synced after the writing, in either order.
const SYNC_AFTER: &[(u64, &str)] = &[
    (1, "mkdir 0777"),
    (10, "mkdir 0777 EEXIST"),
    (10, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
    (10, "open O_RDONLY"),
    (20, "write 16384"),
    (10, "write 7232"),
    (10, "fsync"),
    (20, "close"),
    (10, "unlink"),
    (3, "statfs"),
];

/// The same with a `sync` of everything first.
const SYNC_AFTER_ALL: &[(u64, &str)] = &[
    (1, "mkdir 0777"),
    (10, "mkdir 0777 EEXIST"),
    (10, "open O_RDWR|O_CREAT|O_TRUNC 0666"),
    (10, "open O_RDONLY"),
    (20, "write 16384"),
    (10, "write 7232"),
    (10, "fsync"),
    (1, "sync"),
    (20, "close"),
    (10, "unlink"),
    (3, "statfs"),
];

#[test]
fn fs_mark() {
    let Some([fs_mark, strace]) = need("originals::fs_mark", ["fs_mark", "strace"]) else { return };
    let mut failures = Vec::new();
    for (args, expected) in FS_MARK {
        let dir = scratch();
        // Its log lies outside the directory it works in, so that only the work counts.
        let (work, log) = (dir.path().join("w"), dir.path().join("log"));
        let mut all = vec!["-d", path(&work), "-l", path(&log)];
        all.extend(args.split(' '));
        let trace = Run::new(&fs_mark, all, dir.path()).trace(&strace);
        let seen = Multiset::of(trace.under(&work));
        failures.extend(against(&seen, expected).map(|text| format!("fs_mark {args}\n{text}")));
    }
    assert_none(&failures);
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

/// Runs postmark with these settings in an empty directory; what it did there.
fn postmark(test: &str, settings: &[&str]) -> Option<Multiset> {
    let [postmark, strace] = need(test, ["postmark", "strace"])?;
    let dir = scratch();
    let (work, config) = (dir.path().join("w"), dir.path().join("config"));
    std::fs::create_dir(&work).expect("the work directory is made");
    let block = std::os::unix::fs::MetadataExt::blksize(&work.metadata().expect("it is there"));
    if block != 4096 {
        skip(test, &format!("the tables hold for blocks of 4096 bytes, {} has {block}", work.display()));
        return None;
    }
    let lines: String = settings.iter().map(|line| format!("set {line}\n")).collect();
    std::fs::write(&config, format!("{lines}set location {}\nrun\nquit\n", path(&work)))
        .expect("it is written");
    let trace = Run::new(&postmark, [&config], dir.path()).trace(&strace);
    Some(Multiset::of(trace.under(&work)))
}

#[test]
fn postmark_buffered() {
    let settings = ["transactions 200", "size 5120 524288", "number 50"];
    let Some(seen) = postmark("originals::postmark_buffered", &settings) else { return };
    let opens = |flags: &str| seen.count(|key| key.to_string() == format!("open {flags}"));
    assert_eq!(opens("O_WRONLY|O_CREAT|O_TRUNC 0666"), 142);
    assert_eq!(opens("O_WRONLY|O_APPEND|O_CREAT 0666"), 85);
    assert_eq!(opens("O_RDONLY"), 115);
    assert_eq!((seen.class("open"), seen.class("close"), seen.class("fstat")), (342, 342, 342));
    assert_eq!(seen.count(|key| key.to_string() == "lseek SEEK_END"), 85);
    assert_eq!((seen.class("lseek"), seen.class("unlink")), (85, 142));
    assert_eq!((seen.class("write"), seen.class("read")), (11_700, 8_974));
    assert_eq!((seen.bytes("write"), seen.bytes("read")), (47_445_480, 36_549_315));
    assert_eq!(seen.count(|key| key.to_string() == "write 4096"), 11_473);
    // It asks for whole blocks always, and gets less at the ends.
    assert_eq!(seen.count(|key| key.class == "read" && key.size == Some(4096)), 8_974);
    assert_eq!(seen.count(|key| key.to_string() == "read 4096"), 8_859);
    assert_eq!(seen.count(|key| key.errno.is_some()), 0);
    let total = 342 * 3 + 85 + 142 + 11_700 + 8_974;
    assert_eq!(seen.count(|_| true), total, "calls of another kind: {:?}", seen.table());
}

#[test]
fn postmark_raw() {
    let settings = [
        "transactions 20",
        "size 500 10000",
        "number 5",
        "subdirectories 3",
        "buffering false",
        "read 4096",
        "write 1024",
    ];
    let Some(seen) = postmark("originals::postmark_raw", &settings) else { return };
    let mut rest = seen.table();
    rest.retain(|key, _| !key.starts_with("read ") && !key.starts_with("write "));
    let rest: Vec<_> = rest.iter().map(|(key, n)| (*n, key.as_str())).collect();
    let expected = [
        (35, "close"),
        (3, "mkdir 0700"),
        (13, "open O_RDONLY"),
        (7, "open O_RDWR|O_APPEND"),
        (15, "open O_RDWR|O_CREAT 0644"),
        (3, "rmdir"),
        (15, "unlink"),
    ];
    assert_eq!(rest, expected);
    assert_eq!((seen.class("write"), seen.class("read")), (108, 33));
    assert_eq!((seen.bytes("write"), seen.bytes("read")), (99_811, 98_722));
    // Unlike in the buffered case the last read asks for just what is left.
    assert_eq!(seen.count(|key| key.moved.is_some()), 0);
}

/// A run of dd: the size of its input in bytes, its arguments after `if=` and `of=`, the calls on
/// both files without the moves of descriptors to 0 and 1.
type Copy<'a> = (usize, &'a str, &'a [(u64, &'a str)]);

const DD: [Copy; 13] = [
    (3 * MIB, "bs=1M", &[IN, TELL, (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"), READS, END, WRITES, CLOSE]),
    (
        3 * MIB,
        "bs=1M count=3 conv=fdatasync",
        &[IN, TELL, (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"), READS, WRITES, (1, "fdatasync"), CLOSE],
    ),
    (
        3 * MIB,
        "bs=1M count=3 conv=fsync",
        &[IN, TELL, (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"), READS, WRITES, (1, "fsync"), CLOSE],
    ),
    (
        3 * MIB,
        "bs=1M count=3 oflag=dsync",
        &[IN, TELL, (1, "open O_WRONLY|O_CREAT|O_DSYNC|O_TRUNC 0666"), READS, WRITES, CLOSE],
    ),
    (
        3 * MIB,
        "bs=1M count=3 oflag=sync",
        &[IN, TELL, (1, "open O_WRONLY|O_CREAT|O_SYNC|O_TRUNC 0666"), READS, WRITES, CLOSE],
    ),
    (3 * MIB, "bs=1M count=3 oflag=direct", &[IN, TELL, DIRECT, READS, WRITES, CLOSE]),
    // The last block is too short for a direct write: the flag is taken off for it, then it is synced.
    (
        10 * MIB,
        "bs=3M oflag=direct",
        &[
            IN,
            DIRECT,
            (3, "read 3145728"),
            (1, "read 3145728 -> 1048576"),
            (1, "read 3145728 -> 0"),
            (3, "write 3145728"),
            (1, "fcntl F_GETFL"),
            (1, "fcntl F_SETFL O_WRONLY"),
            (2, "lseek SEEK_CUR"),
            (2, "fadvise64 POSIX_FADV_DONTNEED"),
            (1, "write 1048576"),
            (1, "fsync"),
            CLOSE,
        ],
    ),
    (
        3 * MIB,
        "bs=1M count=3 seek=2",
        &[
            IN,
            (1, "open O_RDWR|O_CREAT 0666"),
            (1, "ftruncate 2097152"),
            (2, "lseek SEEK_CUR"),
            READS,
            WRITES,
            CLOSE,
        ],
    ),
    (
        3 * MIB,
        "bs=1M count=3 conv=notrunc",
        &[IN, TELL, (1, "open O_WRONLY|O_CREAT 0666"), READS, WRITES, CLOSE],
    ),
    (
        3 * MIB,
        "bs=1M count=3 oflag=append conv=notrunc",
        &[IN, TELL, (1, "open O_WRONLY|O_APPEND|O_CREAT 0666"), READS, WRITES, CLOSE],
    ),
    (
        3 * MIB,
        "bs=1M count=3 oflag=nocache",
        &[
            IN,
            (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"),
            READS,
            WRITES,
            (2, "lseek SEEK_CUR"),
            (3, "fadvise64 POSIX_FADV_DONTNEED"),
            CLOSE,
        ],
    ),
    (
        10 * MIB,
        "bs=10M count=1",
        &[
            IN,
            TELL,
            (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"),
            (1, "read 10485760"),
            (1, "write 10485760"),
            CLOSE,
        ],
    ),
    (
        400 * KIB,
        "ibs=4k obs=64k count=100",
        &[
            IN,
            TELL,
            (1, "open O_WRONLY|O_CREAT|O_TRUNC 0666"),
            (100, "read 4096"),
            (6, "write 65536"),
            (1, "write 16384"),
            CLOSE,
        ],
    ),
];

const IN: (u64, &str) = (1, "open O_RDONLY");
// It looks whether its input can be sought in.
const TELL: (u64, &str) = (1, "lseek SEEK_CUR");
const DIRECT: (u64, &str) = (1, "open O_WRONLY|O_CREAT|O_DIRECT|O_TRUNC 0666");
const READS: (u64, &str) = (3, "read 1048576");
const END: (u64, &str) = (1, "read 1048576 -> 0");
const WRITES: (u64, &str) = (3, "write 1048576");
const CLOSE: (u64, &str) = (2, "close");

#[test]
fn dd() {
    let Some([dd, strace]) = need("originals::dd", ["dd", "strace"]) else { return };
    let mut failures = Vec::new();
    for (size, args, expected) in DD {
        let dir = scratch();
        let (input, output) = (dir.path().join("in"), dir.path().join("out"));
        std::fs::write(&input, vec![b'x'; size]).expect("the input is written");
        if args.contains("direct") && !takes_direct(dir.path()) {
            skip(
                &format!("originals::dd {args}"),
                "the temporary directory's file system refuses direct writes",
            );
            continue;
        }
        let files = [format!("if={}", input.display()), format!("of={}", output.display())];
        let all = files.iter().map(String::as_str).chain(args.split(' '));
        let trace = Run::new(&dd, all, dir.path()).trace(&strace);
        let calls = trace.under(dir.path());
        let moves = calls.iter().filter(|call| call.name == "dup2").count();
        assert_eq!(moves, 2, "dd puts both files on the numbers 0 and 1");
        let seen = Multiset::of(without_descriptor_moves(&calls));
        failures.extend(against(&seen, expected).map(|text| format!("dd {args}\n{text}")));
    }
    assert_none(&failures);
}

fn takes_direct(dir: &Path) -> bool {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).custom_flags(libc::O_DIRECT).open(dir.join("probe")).is_ok()
}
