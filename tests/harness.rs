//! The exactness harness on small literal logs: what is parsed, what is alike, what counts.

mod common;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use common::calls::{self, against, key};
use common::select::{passes, without_descriptor_moves};
use common::strace::{Syscall, Unreadable, parse};
use common::{Multiset, Trace, assert_same, tools};

fn calls(log: &str) -> Vec<Syscall> {
    parse(log, Path::new("/start")).unwrap_or_else(|e| panic!("{e}"))
}

fn one(text: &str) -> Syscall {
    let mut all = calls(&format!("7  {text}\n"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

fn trace(log: &str) -> Trace {
    Trace { calls: calls(log), stdout: String::new(), stderr: String::new() }
}

fn refused(log: &str) -> &'static str {
    parse(log, Path::new("/")).expect_err("it is refused").why
}

#[test]
fn a_call_is_taken_apart() {
    let call = one(r#"openat(AT_FDCWD</start>, "d//f", O_RDWR|O_CREAT, 0644) = 5</start/d/f>"#);
    assert_eq!((call.pid, call.name.as_str(), call.ret, call.errno), (7, "openat", Some(5), None));
    assert_eq!(call.args, ["AT_FDCWD</start>", "\"d//f\"", "O_RDWR|O_CREAT", "0644"]);
    assert_eq!(call.paths, [PathBuf::from("/start/d/f"), PathBuf::from("/start/d/f")]);
    assert_eq!((call.started, call.ended), (1, 1));
}

#[test]
fn a_call_interrupted_by_another_thread_is_put_together() {
    let log = r#"1  read(4</a>,  <unfinished ...>
2  futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
1  <... read resumed>"x, y) = 9"..., 4096) = 17
[pid 2] <... futex resumed>)            = -1 EAGAIN (Resource temporarily unavailable)
"#;
    let seen = calls(log);
    assert_eq!(seen.len(), 2);
    assert_eq!(
        (seen[0].name.as_str(), seen[0].ret, seen[0].started, seen[0].ended),
        ("read", Some(17), 1, 3)
    );
    assert_eq!(seen[0].args[2], "4096");
    assert_eq!((seen[1].pid, seen[1].errno.as_deref(), seen[1].ret), (2, Some("EAGAIN"), Some(-1)));
}

#[test]
fn results_of_every_form() {
    assert_eq!(one("exit_group(0)                     = ?").ret, None);
    assert_eq!(one("getpid()                          = 7").args, [""; 0]);
    assert_eq!(
        one("mmap(NULL, 1, PROT_READ, MAP_PRIVATE, 3</a>, 0) = 0x7f89c981b000").ret,
        Some(0x7f89_c981_b000)
    );
    let flags = one("fcntl(1</a>, F_GETFL) = 0xc001 (flags O_WRONLY|O_DIRECT|O_LARGEFILE)");
    assert_eq!((flags.ret, flags.errno), (Some(0xc001), None));
    let again = one("read(0</a>, 0x1, 10) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)");
    assert_eq!((again.ret, again.errno.as_deref()), (None, Some("ERESTARTSYS")));
    assert_eq!(
        one("lseek(3</a>, -1, SEEK_CUR) = -1 EINVAL (Invalid argument)").errno.as_deref(),
        Some("EINVAL")
    );
    assert_eq!(one("poll([{fd=3</a>, events=POLLIN}], 1, 5) = 0 (Timeout)").errno, None);
    assert_eq!(one("restart_syscall(<... resuming interrupted nanosleep ...>) = 0").name, "restart_syscall");
}

#[test]
fn paths_with_odd_characters() {
    let call = one(r#"write(3</w/odd\76(a, \"b\n\303\251/f\74x\76,\3>(deleted), "\0\1), = \"", 5) = 5"#);
    assert_eq!(call.paths, [PathBuf::from("/w/odd>(a, \"b\né/f<x>,\u{3}")]);
    assert_eq!(call.args.len(), 3);
    let call = one(r#"rename("/w/a)b", "c,\\d") = 0"#);
    assert_eq!(call.paths, [PathBuf::from("/w/a)b"), PathBuf::from("/start/c,\\d")]);
    assert_eq!(one(r#"unlink("/w/./x/../y//z") = 0"#).paths, [PathBuf::from("/w/y/z")]);
}

#[test]
fn only_paths_are_taken_for_paths() {
    assert!(one(r#"write(1<pipe:[1]>, "/w/f", 4) = 4"#).paths.is_empty());
    assert!(one(r#"getrandom("/w/f", 4, 0) = 4"#).paths.is_empty());
    assert!(one(r#"fcntl(AT_FDCWD</w>, F_GETFL) = 0"#).paths.is_empty());
    // An absolute path is not under the directory it is given with.
    assert_eq!(one(r#"faccessat(AT_FDCWD</w>, "/etc/x", R_OK) = 0"#).paths, [PathBuf::from("/etc/x")]);
    assert_eq!(
        one(r#"newfstatat(3</w/f>, "", {st_mode=1, ...}, AT_EMPTY_PATH) = 0"#).paths,
        [PathBuf::from("/w/f")]
    );
    assert_eq!(one(r#"unlinkat(3</w>, "f", 0) = 0"#).paths, [PathBuf::from("/w/f")]);
    assert_eq!(one(r#"setxattr("/w/f", "user.a", "v", 1, 0) = 0"#).paths, [PathBuf::from("/w/f")]);
    let two = one("poll([{fd=3</w/a=,b>, events=POLLIN}, {fd=4</w/c>, events=POLLIN}], 2, 0) = 0 (Timeout)");
    assert_eq!(two.paths, [PathBuf::from("/w/a=,b"), PathBuf::from("/w/c")]);
    assert_eq!(one("dup2(3</w/a>, 1</out>) = 1</w/a>").paths.len(), 3);
}

#[test]
fn what_never_returned_is_kept() {
    let log = "1  kill(1, SIGKILL) = ?\n2  fsync(3</w/f> <unfinished ...>\n3  read(4</w/g>,  <unfinished ...>\n\
               3  <... read resumed> <unfinished ...>) = ?\n1  +++ killed by SIGKILL +++\n";
    let seen = calls(log);
    let names: Vec<_> = seen.iter().map(|c| (c.name.as_str(), c.ret, c.ended)).collect();
    assert_eq!(names, [("kill", None, 1), ("read", None, 4), ("fsync", None, usize::MAX)]);
    assert_eq!(key(&seen[2]).to_string(), "fsync unreturned");
}

#[test]
fn a_line_that_is_not_understood_is_an_error() {
    assert_eq!(refused("write(1, 2) = 3\n"), "no process number");
    assert_eq!(refused("1  write(1, \"a\n"), "the arguments do not end");
    assert_eq!(refused("1  write(1, 2)\n"), "no result");
    assert_eq!(refused("1  write(1, 2) = -1\n"), "failed without an error's name");
    assert_eq!(refused("1  ????( <unfinished ...>\n1  <... ???? resumed>) = 0\n"), "no name of a call");
    assert_eq!(refused("1  <... read resumed>) = 0\n"), "resumes a call that never began");
    assert_eq!(
        refused("1  a( <unfinished ...>\n1  <... b resumed>) = 0\n"),
        "resumes another call than the one begun"
    );
    assert_eq!(refused("1  a( <unfinished ...>\n1  b() = 0\n"), "begins a call inside another");
    let shown = Unreadable { line: 3, text: "x".into(), why: "no result" }.to_string();
    assert_eq!(shown, "line 3 of the log, no result: x");
}

#[test]
fn alike_calls_have_one_key() {
    for (alike, expected) in [
        (
            &[
                r#"open("/f", O_WRONLY|O_CREAT|O_TRUNC|O_LARGEFILE, 0666) = 3</f>"#,
                r#"creat("/f", 0666) = 3</f>"#,
                r#"openat(4</>, "f", O_WRONLY|O_TRUNC|O_CREAT|O_CLOEXEC, 0666) = 3</f>"#,
                r#"openat2(4</>, "f", {flags=O_WRONLY|O_CREAT|O_TRUNC|O_CLOEXEC, mode=0666, resolve=RESOLVE_BENEATH}, 24) = 3</f>"#,
            ][..],
            "open O_WRONLY|O_CREAT|O_TRUNC 0666",
        ),
        (
            &[
                r#"openat(AT_FDCWD</>, "f", O_RDONLY) = -1 ENOENT (No such file or directory)"#,
                r#"openat2(AT_FDCWD</>, "f", {flags=O_RDONLY, resolve=0}, 24) = -1 ENOENT (No such file or directory)"#,
            ],
            "open O_RDONLY ENOENT",
        ),
        (
            &[
                r#"stat("/f", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0"#,
                r#"newfstatat(AT_FDCWD</>, "f", {st_mode=S_IFREG|0644, st_size=1, ...}, 0) = 0"#,
                r#"statx(AT_FDCWD</>, "f", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL, ...}) = 0"#,
            ],
            "stat",
        ),
        (
            &[
                r#"lstat("/f", {st_size=1, ...}) = 0"#,
                r#"newfstatat(3</>, "f", {st_size=1, ...}, AT_SYMLINK_NOFOLLOW) = 0"#,
                r#"statx(3</>, "f", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_ALL, {...}) = 0"#,
            ],
            "lstat",
        ),
        (
            &[
                r#"fstat(3</f>, {st_size=1, ...}) = 0"#,
                r#"newfstatat(3</f>, "", {st_size=1, ...}, AT_EMPTY_PATH) = 0"#,
                r#"statx(3</f>, "", AT_STATX_SYNC_AS_STAT|AT_EMPTY_PATH, STATX_ALL, {...}) = 0"#,
                r#"statx(3</f>, NULL, AT_EMPTY_PATH, STATX_ALL, {...}) = 0"#,
            ],
            "fstat",
        ),
        (&[r#"unlink("/f") = 0"#, r#"unlinkat(3</>, "f", 0) = 0"#], "unlink"),
        (
            &[
                r#"rmdir("/f") = -1 ENOTEMPTY (Directory not empty)"#,
                r#"unlinkat(3</>, "f", AT_REMOVEDIR) = -1 ENOTEMPTY (Directory not empty)"#,
            ],
            "rmdir ENOTEMPTY",
        ),
        (
            &[
                r#"mkdir("/d", 0777) = -1 EEXIST (File exists)"#,
                r#"mkdirat(3</>, "d", 0777) = -1 EEXIST (File exists)"#,
            ],
            "mkdir 0777 EEXIST",
        ),
        (
            &[
                r#"rename("/a", "/b") = 0"#,
                r#"renameat(3</>, "a", 3</>, "b") = 0"#,
                r#"renameat2(3</>, "a", 3</>, "b", 0) = 0"#,
            ],
            "rename",
        ),
        (&[r#"utimes("/a", NULL) = 0"#, r#"utimensat(3</>, "a", [UTIME_OMIT, UTIME_NOW], 0) = 0"#], "utimes"),
    ] {
        for text in alike {
            assert_eq!(key(&one(text)).to_string(), expected, "{text}");
        }
    }
}

#[test]
fn different_calls_have_different_keys() {
    for (text, expected) in [
        (r#"renameat2(3</>, "a", 3</>, "b", RENAME_NOREPLACE) = 0"#, "rename RENAME_NOREPLACE"),
        (r#"read(3</f>, "x", 4096) = 4096"#, "read 4096"),
        (r#"read(3</f>, "x", 4096) = 17"#, "read 4096 -> 17"),
        (r#"read(3</f>, "", 4096) = 0"#, "read 4096 -> 0"),
        (r#"write(3</f>, "", 0) = 0"#, "write 0"),
        (
            r#"pwrite64(3</f>, "x"..., 512, 1024) = -1 ENOSPC (No space left on device)"#,
            "pwrite64 512 ENOSPC",
        ),
        (r#"writev(3</f>, [{iov_base="a}", iov_len=2}, {iov_base="b", iov_len=1}], 2) = 3"#, "writev 3"),
        (r#"lseek(3</f>, 0, SEEK_END) = 9"#, "lseek SEEK_END"),
        (
            "fcntl(3</f>, F_SETLK, {l_type=F_RDLCK, l_whence=SEEK_SET, l_start=1073741824, l_len=1}) = 0",
            "fcntl F_SETLK F_RDLCK 1073741824 1",
        ),
        ("fcntl(1</f>, F_SETFL, O_WRONLY|O_LARGEFILE) = 0", "fcntl F_SETFL O_WRONLY"),
        ("fadvise64(1</f>, 0, 0, POSIX_FADV_DONTNEED) = 0", "fadvise64 POSIX_FADV_DONTNEED"),
        ("ftruncate(1</f>, 8192) = 0", "ftruncate 8192"),
        ("getdents64(3</d>, 0x5 /* 2 entries */, 32768) = 48", "getdents64"),
        ("io_uring_enter(4<anon_inode:[io_uring]>, 1, 1, 0, NULL, 8) = 1", "io_uring_enter"),
    ] {
        assert_eq!(key(&one(text)).to_string(), expected, "{text}");
    }
}

#[test]
fn counting_and_differences() {
    let ours =
        Multiset::of(&calls("1  read(3</f>, \"\", 10) = 10\n1  read(3</f>, \"\", 10) = 4\n1  sync() = 0\n"));
    assert_eq!((ours.class("read"), ours.bytes("read"), ours.class("write")), (2, 14, 0));
    assert_eq!(against(&ours, &[(1, "read 10"), (1, "read 10 -> 4"), (1, "sync")]), None);
    let theirs =
        Multiset::of(&calls("1  read(3</f>, \"\", 10) = 10\n1  read(3</f>, \"\", 10) = 10\n1  sync() = 0\n"));
    let text = ours.difference(&theirs).expect("they differ");
    assert_eq!(
        text,
        "      ours     theirs\n         1          2  read 10\n         1          0  read 10 -> 4\n"
    );
    assert_same(&ours, &ours.clone());
}

#[test]
#[should_panic(expected = "no calls to compare with")]
fn nothing_is_not_the_same_as_nothing() {
    assert_same(&Multiset::default(), &Multiset::default());
}

#[test]
fn of_an_original_the_calls_under_its_directory_count() {
    let trace = trace(
        r#"1  openat(AT_FDCWD</w>, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3</etc/ld.so.cache>
1  mkdir("/w/", 0777) = 0
1  openat(AT_FDCWD</w>, "f", O_RDONLY) = 3</w/f>
1  openat(AT_FDCWD</w>, "/wide", O_RDONLY) = 4</wide>
1  write(1</dev/null>, "/w/f", 4) = 4
1  sync() = 0
1  close(3</w/f>) = 0
"#,
    );
    let seen = Multiset::of(trace.under(Path::new("/w")));
    assert_eq!(against(&seen, &[(1, "mkdir 0777"), (1, "open O_RDONLY"), (1, "sync"), (1, "close")]), None);
}

const MARKED: &str = r#"1  openat(AT_FDCWD</>, "before", O_RDONLY) = 3</before>
2  futex(0x7f, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>
3  write(4</w/g>, "", 1 <unfinished ...>
1  faccessat(AT_FDCWD</>, "ioscore:begin:fill", F_OK) = -1 ENOENT (No such file or directory)
2  <... futex resumed>) = 0
3  <... write resumed>) = 1
2  mmap(NULL, 4096, PROT_READ, MAP_SHARED, 4</w/f>, 0) = 0x7f0000000000
2  mmap(NULL, 4096, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f0000001000
2  newcall(1, 2) = 0
2  fsync(3</elsewhere>) = 0
2  write(4</w/f>, "", 2 <unfinished ...>
1  faccessat2(AT_FDCWD</>, "ioscore:end:fill", F_OK, 0) = -1 ENOENT (No such file or directory)
2  <... write resumed>) = 2
1  access("ioscore:begin:other", F_OK) = -1 ENOENT (No such file or directory)
1  access("ioscore:end:other", F_OK) = -1 ENOENT (No such file or directory)
1  openat(AT_FDCWD</>, "after", O_RDONLY) = 3</after>
"#;

#[test]
fn between_marks_everything_counts() {
    let window = trace(MARKED).window("fill").expect("the marks are there");
    let expected = [(1, "fsync"), (1, "mmap"), (1, "newcall"), (1, "write 1"), (1, "write 2")];
    assert_eq!(against(&window.files, &expected), None);
    let other: Vec<_> = window.other.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    assert_eq!(other, [("futex", 1), ("mmap", 1)]);
    window.assert_other_at_most(2);
    let empty = trace(MARKED).window("other").expect("the marks are there");
    assert!(empty.files.is_empty() && empty.other.is_empty());
}

#[test]
#[should_panic(expected = "2 calls besides those on files, at most 1 are allowed")]
fn too_many_other_calls_fail() {
    trace(MARKED).window("fill").expect("the marks are there").assert_other_at_most(1);
}

#[test]
fn marks_that_do_not_pair_are_errors() {
    let error = |log: &str| trace(log).window("p").expect_err("it is refused");
    let (begin, end) =
        ("1  access(\"ioscore:begin:p\", F_OK) = 0\n", "1  access(\"ioscore:end:p\", F_OK) = 0\n");
    assert_eq!(error(end), "the trace holds no mark ioscore:begin:p");
    assert_eq!(error(begin), "the trace holds no mark ioscore:end:p");
    assert_eq!(error(&[begin, begin, end].concat()), "the trace holds more than one mark ioscore:begin:p");
    assert_eq!(error(&[end, begin].concat()), "phase p ends before it begins");
}

#[test]
fn passes_lie_between_edges() {
    let trace = trace("1  a() = 0\n1  e() = 0\n1  b() = 0\n1  c() = 0\n1  e() = 0\n1  e() = 0\n1  d() = 0\n");
    let names = |pass: &[Syscall]| pass.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    let passes: Vec<_> = passes(&trace.calls, |call| call.name == "e").into_iter().map(names).collect();
    assert_eq!(passes, [vec!["b".to_owned(), "c".to_owned()], vec![]]);
}

#[test]
fn moving_a_descriptor_is_left_out() {
    let trace = trace(
        "1  dup2(3</w/f>, 1</out>) = 1</w/f>\n1  close(3</w/f>) = 0\n1  close(3</w/f>) = 0\n1  close(1</w/f>) = 0\n",
    );
    let seen = Multiset::of(without_descriptor_moves(&trace.under(Path::new("/w"))));
    assert_eq!(calls::against(&seen, &[(2, "close")]), None);
}

#[test]
fn a_skip_is_told_and_listed() {
    let dir = tempfile::tempdir().expect("a directory");
    let list = dir.path().join("skips");
    let mut said = Vec::new();
    tools::skip_into(&mut said, "one", "no such program", Some(&list), None);
    tools::skip_into(&mut said, "two", "no such program", Some(&list), Some(OsStr::new("0")));
    assert_eq!(said, b"skipped: one: no such program\nskipped: two: no such program\n");
    let text = std::fs::read_to_string(&list).expect("it was written");
    assert_eq!(text, "one: no such program\ntwo: no such program\n");
}

#[test]
#[should_panic(expected = "three may not be skipped (IOSCORE_NO_SKIP=1): no such program")]
fn where_no_skip_is_allowed_a_skip_fails() {
    tools::skip_into(&mut Vec::new(), "three", "no such program", None, Some(OsStr::new("1")));
}

#[test]
fn programs_are_found_on_the_path() {
    assert!(tools::find("sh").is_some_and(|file| file.is_absolute()));
    assert_eq!(tools::find("no-such-program-anywhere"), None);
}
