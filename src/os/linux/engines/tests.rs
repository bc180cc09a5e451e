//! Every engine does what the plain one does; queues hold what they promise; refusals are told.

use std::ffi::CString;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use super::any::Any;
use super::io_uring::IoUring;
use super::libaio::Libaio;
use super::mmap::Mmap;
use super::several::Several;
use super::*;
use crate::os::linux::engine::Engine;
use crate::os::linux::testing::{Mounted, refuse};
use crate::os::machine::{Completion, Recipe, Transfer};
use crate::os::skipped::skipped;

const BLOCK: usize = 4096;

fn queues() -> Vec<(&'static str, Box<dyn Engine>)> {
    let several = Several::new(vec![Any::new("sync"), Any::new("io_uring")]);
    let mut all: Vec<(&str, Box<dyn Engine>)> = vec![
        ("libaio", Box::new(Any::new("libaio"))),
        ("io_uring", Box::new(Any::new("io_uring"))),
        ("several", Box::new(several)),
    ];
    all.iter_mut().for_each(|(_, engine)| engine.use_engine(1));
    all
}

/// A file whose every block holds its own number.
fn numbered(blocks: usize) -> std::fs::File {
    let file = tempfile::tempfile().unwrap();
    for block in 0..blocks {
        file.write_all_at(&[block as u8; BLOCK], (block * BLOCK) as u64).unwrap();
    }
    file
}

fn at(fd: i32, block: u64, slot: u32, write: bool) -> Transfer {
    Transfer { fd, offset: block * BLOCK as u64, len: BLOCK as u32, slot, write, data: Recipe::Zero }
}

#[test]
fn every_slot_brings_its_own_block_whatever_the_depth() {
    let file = numbered(200);
    for depth in [1, 2, 32, 128] {
        for (name, mut engine) in queues() {
            engine.open_queue(depth, depth, BLOCK).unwrap();
            let mut seen = 0;
            for round in 0..3 {
                assert_eq!(engine.ended(), 0, "{name}");
                let block = |slot| at(file.as_raw_fd(), u64::from(slot + round), slot, false);
                let batch: Vec<Transfer> = (0..depth).map(block).collect();
                let mut ended = Vec::new();
                engine.exchange(&batch, 0, &mut ended).unwrap();
                assert!(ended.is_empty(), "{name}: only handed over");
                for slot in 0..depth {
                    assert!(engine.slot(slot).is_empty(), "{name}: in flight, and to be had all the same");
                }
                // Of a file in the cache.
                assert_eq!(engine.ended(), depth, "{name}: ended as they were handed over");
                while ended.len() < depth as usize {
                    engine.exchange(&[], 1, &mut ended).unwrap();
                }
                let mut slots: Vec<u32> = ended.iter().map(|end: &Completion| end.slot).collect();
                slots.sort_unstable();
                assert_eq!(slots, (0..depth).collect::<Vec<_>>(), "{name}: each once");
                for end in ended {
                    assert_eq!(end.result(), Ok(BLOCK), "{name}");
                    let expected = (end.slot + round) as u8;
                    assert!(engine.slot(end.slot).iter().all(|byte| *byte == expected), "{name}");
                    seen += 1;
                }
            }
            assert_eq!(seen, 3 * depth);
            assert!(engine.queue_state().submissions > 0, "{name}");
        }
    }
}

#[test]
fn what_is_written_from_slots_is_in_the_file() {
    for (name, mut engine) in queues() {
        let file = numbered(8);
        engine.open_queue(4, 4, BLOCK).unwrap();
        (0..4).for_each(|slot| engine.slot(slot).fill(100 + slot as u8));
        let batch: Vec<Transfer> =
            (0..4).map(|slot| at(file.as_raw_fd(), u64::from(slot) * 2, slot, true)).collect();
        let mut ended = Vec::new();
        engine.exchange(&batch, 4, &mut ended).unwrap();
        assert_eq!(ended.len(), 4, "{name}");
        let mut block = [0; BLOCK];
        for number in 0..8_u64 {
            file.read_exact_at(&mut block, number * BLOCK as u64).unwrap();
            let expected = if number % 2 == 0 { 100 + number as u8 / 2 } else { number as u8 };
            assert!(block.iter().all(|byte| *byte == expected), "{name}: block {number}");
        }
    }
}

#[test]
fn ends_of_files_and_errors_come_with_their_slot() {
    for (name, mut engine) in queues() {
        let file = numbered(1);
        file.set_len(BLOCK as u64 + 100).unwrap();
        engine.open_queue(4, 4, BLOCK).unwrap();
        let fd = file.as_raw_fd();
        let batch = [at(fd, 1, 0, false), at(fd, 9, 1, false), at(9999, 0, 2, false), at(fd, 0, 3, false)];
        let mut ended = Vec::new();
        engine.exchange(&batch, 1, &mut ended).unwrap();
        while ended.len() < 4 {
            engine.exchange(&[], 1, &mut ended).unwrap();
        }
        ended.sort_by_key(|end| end.slot);
        let results: Vec<_> = ended.iter().map(|end| end.result()).collect();
        assert_eq!(results, [Ok(100), Ok(0), Err(Errno(libc::EBADF)), Ok(BLOCK)], "{name}");
        let twice = [at(fd, 0, 3, false), at(fd, 0, 3, false)];
        assert_eq!(engine.exchange(&twice, 0, &mut ended), Err(Errno(libc::EINVAL)), "{name}");
        let unknown = [at(fd, 0, 4, false)];
        assert_eq!(engine.exchange(&unknown, 0, &mut ended), Err(Errno(libc::EINVAL)), "{name}");
    }
}

#[test]
fn a_closed_files_number_may_come_back_for_another() {
    for (name, mut engine) in queues() {
        engine.open_queue(2, 2, BLOCK).unwrap();
        for byte in [1_u8, 2, 3] {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&[byte; BLOCK], 0).unwrap();
            // More than it takes to have the file registered.
            for _ in 0..20 {
                engine.slot(0).fill(0);
                let mut ended = Vec::new();
                engine.exchange(&[at(file.as_raw_fd(), 0, 0, false)], 1, &mut ended).unwrap();
                assert!(engine.slot(0).iter().all(|found| *found == byte), "{name}");
            }
            engine.closing(file.as_raw_fd());
        }
    }
}

#[test]
fn memory_stays_until_the_kernel_is_done_with_it() {
    let file = numbered(64);
    for (_, mut engine) in queues() {
        engine.open_queue(64, 64, BLOCK).unwrap();
        let batch: Vec<Transfer> =
            (0..64).map(|slot| at(file.as_raw_fd(), u64::from(slot), slot, false)).collect();
        engine.exchange(&batch, 0, &mut Vec::new()).unwrap();
        // Dropped with everything in flight.
    }
}

#[test]
fn a_mapping_reads_and_writes_what_calls_see() {
    let file = numbered(4);
    let fd = file.as_raw_fd();
    let mut engine = Mmap::new();
    let mut block = [0; BLOCK];
    assert_eq!(engine.read(fd, Some(2 * BLOCK as u64), &mut block), Ok(BLOCK));
    assert!(block.iter().all(|byte| *byte == 2));
    assert_eq!(engine.write(fd, Some(BLOCK as u64 + 1), b"hello"), Ok(5));
    let mut text = [0; 5];
    file.read_exact_at(&mut text, BLOCK as u64 + 1).unwrap();
    assert_eq!(&text, b"hello");
    assert_eq!(engine.read(fd, Some(4 * BLOCK as u64 - 10), &mut block), Ok(10), "up to the end");
    assert_eq!(engine.read(fd, Some(5 * BLOCK as u64), &mut block), Ok(0));
    assert_eq!(engine.write(fd, Some(4 * BLOCK as u64), &block), Ok(BLOCK), "beyond the end it grows");
    assert_eq!(engine.read(fd, Some(4 * BLOCK as u64), &mut block), Ok(BLOCK), "and is seen");
    assert_eq!(engine.read(9999, Some(0), &mut block), Err(Errno(libc::EBADF)));
}

#[test]
fn a_file_that_became_shorter_is_an_error_and_no_crash() {
    let file = numbered(8);
    let fd = file.as_raw_fd();
    let mut engine = Mmap::new();
    let mut block = [0; BLOCK];
    assert_eq!(engine.read(fd, Some(7 * BLOCK as u64), &mut block), Ok(BLOCK));
    file.set_len(BLOCK as u64).unwrap();
    assert_eq!(engine.read(fd, Some(7 * BLOCK as u64), &mut block), Err(Errno(libc::EIO)));
    assert_eq!(engine.read(fd, Some(0), &mut block), Ok(BLOCK), "the rest is still there");
    assert_eq!(engine.read(fd, Some(7 * BLOCK as u64), &mut block), Ok(0), "and its end is known now");
}

#[test]
fn a_full_disk_under_a_mapping_is_enospc() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(dir.path(), c"size=256k") else {
        return skipped("mounting a small file system needs root");
    };
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(dir.path().join("a"))
        .unwrap();
    // Holes: more than there is room for.
    file.set_len(1 << 20).unwrap();
    let mut engine = Mmap::new();
    let results: Vec<_> = (0..256)
        .map(|block| engine.write(file.as_raw_fd(), Some(block * BLOCK as u64), &[1; BLOCK]))
        .collect();
    assert!(results.iter().filter(|result| **result == Ok(BLOCK)).count() >= 32, "some fit");
    assert_eq!(results.last(), Some(&Err(Errno(libc::ENOSPC))));
    drop(file);
    std::fs::remove_file(dir.path().join("a")).unwrap();
}

/// In a thread of its own: a filter is for good.
fn sandboxed<T: Send>(number: libc::c_long, errno: i32, f: impl FnOnce() -> T + Send) -> Option<T> {
    std::thread::scope(|scope| scope.spawn(move || refuse(number, errno).then(f)).join().unwrap())
}

#[test]
fn a_sandbox_that_forbids_rings_is_told_as_such() {
    for errno in [libc::EPERM, libc::ENOSYS] {
        let told = sandboxed(libc::SYS_io_uring_setup, errno, || probe("io_uring", 1, 8));
        let Some(told) = told else { return skipped("seccomp is not permitted") };
        let refused = told.unwrap_err();
        assert_eq!((refused.call, refused.errno), ("io_uring_setup", Errno(errno)));
        assert!(refused.help.contains("fallback"), "{}", refused.help);
    }
    let told = sandboxed(libc::SYS_io_setup, libc::EAGAIN, || probe("libaio", 1, 8)).unwrap();
    assert!(told.unwrap_err().help.contains("aio-max-nr"));
    assert_eq!(probe("sync", 1, 1), Ok(()));
    assert_eq!(probe("io_uring", 1, 8), Ok(()), "outside of the sandbox");
}

#[test]
fn without_registered_memory_the_ring_works_and_says_so() {
    let file = numbered(4);
    let fd = file.as_raw_fd();
    let told = sandboxed(libc::SYS_io_uring_register, libc::ENOMEM, move || {
        let mut engine = IoUring::new();
        engine.open_queue(4, 4, BLOCK).unwrap();
        let mut ended = Vec::new();
        engine.exchange(&[at(fd, 3, 2, false)], 1, &mut ended).unwrap();
        assert_eq!(ended, [Completion::new(2, Ok(BLOCK))]);
        assert!(engine.slot(2).iter().all(|byte| *byte == 3));
        engine.queue_state()
    });
    let Some(state) = told else { return skipped("seccomp is not permitted") };
    assert!(!state.registered_buffers && !state.registered_files);
    assert!(state.notes.iter().any(|note| note.contains("locked memory")), "{:?}", state.notes);
    let mut engine = Libaio::new();
    engine.open_queue(4, 4, BLOCK).unwrap();
    assert!(engine.queue_state().notes.is_empty());
}

#[test]
fn paths_of_directories_are_no_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = CString::new(dir.path().as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends in NUL; the descriptor is closed below.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY) };
    let mut engine = Mmap::new();
    assert!(engine.read(fd, Some(0), &mut [0; 16]).is_err());
    crate::os::linux::calls::close(fd).unwrap();
}

#[test]
fn a_write_into_a_hole_of_a_full_file_system_leaves_the_rest_of_the_mapping_usable() {
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(dir.path(), c"size=64k") else {
        return skipped("mounting a small file system needs root");
    };
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(dir.path().join("a")).unwrap();
    file.set_len(1 << 20).unwrap();
    let (fd, mut engine) = (file.as_raw_fd(), Mmap::new());
    // Over several pages: some of them are to be had, the others are not.
    let mut last = Ok(0);
    for at in 0..16 {
        last = engine.write(fd, Some(at * 5 * BLOCK as u64), &[at as u8 + 1; 5 * BLOCK]);
    }
    assert_eq!(last, Err(Errno(libc::ENOSPC)));
    let mut block = [0; BLOCK];
    assert_eq!(engine.read(fd, Some(0), &mut block), Ok(BLOCK));
    assert!(block.iter().all(|byte| *byte == 1), "what was written before is there");
    assert_eq!(engine.write(fd, Some(100), &[9; 8]), Ok(8), "and can be written again");
    assert_eq!(file.metadata().unwrap().len(), 1 << 20);
}

/// The handler is for the engine's own copies; everything else ends the program as ever.
#[test]
fn a_bus_error_of_others_still_ends_the_program() {
    use std::os::unix::process::ExitStatusExt;
    const ROLE: &str = "IOSCORE_TEST_BUS_ERROR";
    let Ok(role) = std::env::var(ROLE) else {
        for role in ["sent", "met"] {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            let name = "os::linux::engines::tests::a_bus_error_of_others_still_ends_the_program";
            let ended = child.args(["--exact", name]).env(ROLE, role).output().unwrap();
            assert_eq!(ended.status.signal(), Some(libc::SIGBUS), "{role}: {ended:?}");
        }
        return;
    };
    let _engine = Mmap::new();
    let file = numbered(2);
    if role == "sent" {
        // The handler that was there before, the language's own, lets the first one pass.
        for _ in 0..2 {
            // SAFETY: sends a signal to this thread.
            unsafe { libc::raise(libc::SIGBUS) };
        }
    } else {
        let access = libc::PROT_READ;
        // SAFETY: a new mapping, read inside its length, behind the end of the file that is cut below.
        unsafe {
            let base =
                libc::mmap(std::ptr::null_mut(), 2 * BLOCK, access, libc::MAP_SHARED, file.as_raw_fd(), 0);
            assert_ne!(base, libc::MAP_FAILED);
            file.set_len(0).unwrap();
            base.cast::<u8>().add(BLOCK).read_volatile();
        }
    }
}

/// What is used up by one is not there for the next; what is given back is.
#[test]
fn contexts_are_given_back() {
    for _ in 0..50 {
        let mut engine = Libaio::new();
        match engine.open_queue(4096, 1, BLOCK) {
            Ok(()) => {}
            Err(errno) => return skipped(&format!("libaio: {errno}: others use the machine's slots")),
        }
    }
}
