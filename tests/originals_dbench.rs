//! The original dbench: what each line of a load file costs in calls, seen by the exactness harness.

mod common;

use common::calls::against;
use common::select::{passes, under};
use common::{Multiset, Run, need, scratch};

/// Every kind of line that its usual load has, once or twice.
const LOAD: &str = r#"Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 16385 NT_STATUS_OK
Close 16385 NT_STATUS_OK
NTCreateX "\clients\client1\a" 0x40 0x2 9938 NT_STATUS_OK
WriteX 9938 0 65536 65536 NT_STATUS_OK
WriteX 9938 65536 510 510 NT_STATUS_OK
ReadX 9938 0 4096 4096 NT_STATUS_OK
Flush 9938 NT_STATUS_OK
LockX 9938 2147483538 1 NT_STATUS_OK
UnlockX 9938 2147483538 1 NT_STATUS_OK
QUERY_FILE_INFORMATION 9938 258 NT_STATUS_OK
SET_FILE_INFORMATION 9938 258 NT_STATUS_OK
Close 9938 NT_STATUS_OK
NTCreateX "\clients\client1\missing" 0x40 0x1 9935 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "\clients\client1\a" 0x40 0x5 9939 NT_STATUS_OK
Close 9939 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1\a" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
FIND_FIRST "\clients\client1\*" 260 1366 1 NT_STATUS_OK
Rename "\clients\client1\a" "\clients\client1\b" NT_STATUS_OK
NTCreateX "\clients\client1\kept" 0x40 0x2 9940 NT_STATUS_OK
Close 9940 NT_STATUS_OK
Unlink "\clients\client1\b" 0x6 NT_STATUS_OK
"#;

/// From the second time through the load on: the directories are there then, and one file to delete.
const PASS: &[(u64, &str)] = &[
    // Not found at once, so that the directory is searched: a, missing, *, b, kept.
    (5, "stat ENOENT"),
    // Found: clients, client1, a to empty it, a asked for, a to rename, b to delete; and kept when
    // the tree is deleted.
    (7, "stat"),
    // The five searches, the one asked for, the deleted tree; each read until nothing more comes.
    (7, "open O_RDONLY|O_DIRECTORY|O_NONBLOCK"),
    (14, "getdents64"),
    (1, "mkdir 0777 EEXIST"),
    (1, "mkdir 0700 EEXIST"),
    (1, "open O_RDONLY|O_DIRECTORY"),
    (2, "open O_RDWR|O_CREAT 0600"),
    (1, "open O_RDWR|O_CREAT|O_TRUNC 0600"),
    (1, "open O_RDWR ENOENT"),
    (1, "pwrite64 65536"),
    (1, "pwrite64 510"),
    (1, "pread64 4096"),
    (1, "fsync"),
    (1, "fcntl F_SETLKW F_WRLCK 2147483538 1"),
    (1, "fcntl F_SETLKW F_UNLCK 2147483538 1"),
    // Seven directories read, four opens, two for the information asked and set.
    (13, "fstat"),
    (11, "close"),
    (1, "utimes"),
    (1, "statfs"),
    (1, "rename"),
    (2, "unlink"),
];

#[test]
fn a_pass_through_a_load() {
    let Some([dbench, strace]) = need("originals_dbench::a_pass", ["dbench", "strace"]) else { return };
    let dir = scratch();
    let (work, load) = (dir.path().join("w"), dir.path().join("load"));
    std::fs::create_dir(&work).expect("the work directory is made");
    std::fs::write(&load, LOAD).expect("the load is written");
    let args =
        ["-t".as_ref(), "3".as_ref(), "-D".as_ref(), work.as_os_str(), "-c".as_ref(), load.as_os_str()];
    let trace = Run::new(&dbench, args.into_iter().chain(["1".as_ref()]), dir.path()).trace(&strace);
    // At the end of the load it goes back to its start.
    let passes = passes(&trace.calls, |call| call.name == "lseek" && call.paths.contains(&load));
    assert!(passes.len() >= 2, "{} whole passes are too few to look at: {}", passes.len(), trace.stdout);
    for (i, pass) in passes.iter().enumerate() {
        let difference = against(&Multiset::of(under(pass, &work)), PASS);
        assert!(
            difference.is_none(),
            "pass {} of {}:\n{}",
            i + 2,
            passes.len(),
            difference.unwrap_or_default()
        );
    }
}
