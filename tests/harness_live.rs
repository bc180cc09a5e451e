//! The marks of a phase in a real trace of several threads.

mod common;

use common::calls::against;
use common::{Run, need, scratch};

/// Four threads that open their files before the phase, write in it, and close after it.
const PROGRAM: &str = r#"
import os, sys, threading
ready, start, done, leave = (threading.Barrier(5) for _ in range(4))
def work(i):
    fd = os.open(f"{sys.argv[1]}/{i}", os.O_RDWR | os.O_CREAT, 0o640)
    ready.wait()
    start.wait()
    for n in range(50):
        os.pwrite(fd, b"x" * 512, n * 512)
    os.fsync(fd)
    done.wait()
    leave.wait()
    os.close(fd)
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads:
    thread.start()
ready.wait()
os.access("ioscore:begin:fill", os.F_OK)
start.wait()
done.wait()
os.access("ioscore:end:fill", os.F_OK)
leave.wait()
for thread in threads:
    thread.join()
"#;

#[test]
fn all_threads_count_between_the_marks() {
    let Some([python3, strace]) = need("harness_live::threads", ["python3", "strace"]) else { return };
    let dir = scratch();
    let work = dir.path().join("w");
    std::fs::create_dir(&work).expect("the work directory is made");
    let args = ["-I".as_ref(), "-S".as_ref(), "-c".as_ref(), PROGRAM.as_ref(), work.as_os_str()];
    let trace = Run::new(&python3, args, dir.path()).trace(&strace);

    let window = trace.window("fill").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(against(&window.files, &[(4, "fsync"), (200, "pwrite64 512")]), None);
    assert!(window.other.contains_key("futex"), "threads that wait for each other: {:?}", window.other);
}
