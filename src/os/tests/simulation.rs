//! What only the simulation does: limits, faults on demand, virtual time, queues, traces.

use super::*;
use crate::os::sim::{Direct, Effect, Extent, Latency, Op, Rule, Script, When};
use crate::os::{Completion, Nanos, Space, Transfer, Whence};

const CREATE: i32 = libc::O_RDWR | libc::O_CREAT;
const ENOSPC: Errno = Errno(libc::ENOSPC);
const EIO: Errno = Errno(libc::EIO);

fn options() -> Options {
    Options { latency: Latency::NONE, ..Options::default() }
}

fn scripted(script: Script) -> SimFs {
    SimFs::new(Options { script, ..options() })
}

fn open(sim: &mut Sim, path: &std::ffi::CStr) -> Fd {
    let root = sim.root();
    sim.open(root, path, CREATE, 0o644).unwrap()
}

fn write_as(sim: &mut Sim, fd: Fd, at: u64, len: usize, recipe: Recipe) -> Call<usize> {
    // The simulation never looks at the bytes.
    sim.write(fd, Some(at), &vec![0; len], recipe)
}

#[test]
fn files_are_remembered_as_recipes() {
    let fs = SimFs::new(options());
    let mut sim = fs.worker(0);
    let fd = open(&mut sim, c"a");
    for n in 0..100 {
        write_as(&mut sim, fd, n * 1000, 1000, Recipe::Random).unwrap();
    }
    let extent = |start, end, recipe| Extent { start, end, recipe };
    assert_eq!(fs.extents("a").unwrap(), [extent(0, 100_000, Recipe::Random)]);
    write_as(&mut sim, fd, 50_000, 10, Recipe::Text).unwrap();
    sim.allocate(fd, Space::Punch, 8192, 4096).unwrap();
    let expected = [
        extent(0, 8192, Recipe::Random),
        extent(12_288, 50_000, Recipe::Random),
        extent(50_000, 50_010, Recipe::Text),
        extent(50_010, 100_000, Recipe::Random),
    ];
    assert_eq!(fs.extents("a").unwrap(), expected);
    assert_eq!(fs.written(), 100_010);
    let copy = open(&mut sim, c"b");
    assert_eq!(sim.copy_range(fd, 8000, copy, 0, 10_000), Ok(10_000));
    let expected = [
        extent(0, 192, Recipe::Random),
        extent(192, 4288, Recipe::Zero),
        extent(4288, 10_000, Recipe::Random),
    ];
    assert_eq!(fs.extents("b").unwrap(), expected);
    assert_eq!(fs.extents("missing"), Err(Errno(libc::ENOENT)));
}

#[test]
fn space_and_inodes_run_out_and_come_back() {
    let fs = SimFs::new(Options { space: 10 * 4096, inodes: 3, ..options() });
    let mut sim = fs.worker(0);
    let root = sim.root();
    let (a, b) = (open(&mut sim, c"a"), open(&mut sim, c"b"));
    assert_eq!(sim.open(root, c"c", CREATE, 0o644), Err(ENOSPC));
    assert_eq!(sim.mkdir(root, c"c", 0o755), Err(ENOSPC));
    assert_eq!(write(&mut sim, a, Some(0), 6 * 4096), Ok(6 * 4096));
    assert_eq!(write(&mut sim, b, Some(0), 6 * 4096), Ok(4 * 4096), "as much as fits");
    assert_eq!(write(&mut sim, b, Some(4 * 4096), 1), Err(ENOSPC));
    assert_eq!(write(&mut sim, a, Some(100), 4096), Ok(4096), "what is there can be written");
    assert_eq!(sim.allocate(a, Space::Allocate, 0, 7 * 4096), Err(ENOSPC));
    assert_eq!(fs.statfs().available, 0);
    sim.unlink(root, c"a").unwrap();
    assert_eq!(fs.statfs().available, 0, "still open");
    sim.close(a).unwrap();
    assert_eq!((fs.statfs().available, fs.statfs().files_free), (6 * 4096, 1));
    let mut other = fs.worker(1);
    let theirs = open(&mut other, c"b");
    sim.unlink(root, c"b").unwrap();
    drop(sim);
    assert_eq!(fs.statfs().available, 6 * 4096, "another worker has it open");
    other.close(theirs).unwrap();
    assert_eq!((fs.statfs().available, fs.statfs().files_free), (10 * 4096, 2));
}

#[test]
fn the_end_of_a_worker_closes_its_files() {
    let fs = SimFs::new(options());
    let mut sim = fs.worker(0);
    let fd = open(&mut sim, c"a");
    write(&mut sim, fd, None, 4096).unwrap();
    let root = sim.root();
    sim.unlink(root, c"a").unwrap();
    let full = fs.statfs();
    drop(sim);
    assert_eq!(fs.statfs().available, full.available + 4096);
    assert_eq!(fs.statfs().files_free, full.files_free + 1);
}

#[test]
fn descriptors_run_out() {
    let fs = SimFs::new(Options { descriptors: 3, ..options() });
    let mut sim = fs.worker(0);
    let root = sim.root();
    let a = open(&mut sim, c"a");
    open(&mut sim, c"b");
    assert_eq!(sim.open(root, c"c", CREATE, 0o644), Err(Errno(libc::EMFILE)));
    sim.close(a).unwrap();
    open(&mut sim, c"c");
    open(&mut fs.worker(1), c"d");
}

#[test]
fn the_largest_file() {
    let fs = SimFs::new(options());
    let mut sim = fs.worker(0);
    let fd = open(&mut sim, c"a");
    let most = (1_u64 << 44) - 4096;
    assert_eq!(write(&mut sim, fd, Some(most - 10), 20), Ok(10));
    assert_eq!(write(&mut sim, fd, Some(most), 1), Err(Errno(libc::EFBIG)));
    assert_eq!(sim.truncate(fd, most + 1), Err(Errno(libc::EFBIG)));
    sim.truncate(fd, most).unwrap();
    sim.truncate(fd, 0).unwrap();
    assert_eq!(sim.fstat(fd).unwrap().allocated, 0);
    assert_eq!(sim.seek(fd, i64::MAX, Whence::Start), Ok(i64::MAX as u64));
}

#[test]
fn calls_fail_and_are_cut_short_on_demand() {
    let every = |op, when, effect| Rule { op, when, effect, worker: None };
    let fs = scripted(Script {
        rules: vec![
            every(Op::Pwrite, When::Nth(2), Effect::Errno(ENOSPC)),
            every(Op::Pwrite, When::Nth(3), Effect::Short(100)),
            every(Op::Read, When::Every(2), Effect::Short(7)),
            every(Op::Fsync, When::From(2), Effect::Errno(EIO)),
            Rule { op: Op::Open, when: When::Nth(1), effect: Effect::Errno(EIO), worker: Some(1) },
        ],
        ..Script::default()
    });
    let mut sim = fs.worker(0);
    let fd = open(&mut sim, c"a");
    let writes: Vec<_> = (0..4).map(|n| write(&mut sim, fd, Some(n * 4096), 4096)).collect();
    assert_eq!(writes, [Ok(4096), Err(ENOSPC), Ok(100), Ok(4096)]);
    assert_eq!(write(&mut sim, fd, None, 10), Ok(10), "write is not pwrite");
    let reads: Vec<_> = (0..4).map(|_| read(&mut sim, fd, None, 20)).collect();
    assert_eq!(reads, [Ok(20), Ok(7), Ok(20), Ok(7)]);
    assert_eq!(sim.seek(fd, 0, Whence::Current), Ok(64));
    assert_eq!([sim.fsync(fd), sim.fsync(fd), sim.fsync(fd)], [Ok(()), Err(EIO), Err(EIO)]);
    let (mut other, root) = (fs.worker(1), sim.root());
    assert_eq!(other.open(root, c"new", CREATE, 0o644), Err(EIO));
    assert_eq!(fs.stat("new"), Err(Errno(libc::ENOENT)), "a call that fails does nothing");
    open(&mut other, c"new");
}

#[test]
fn time_is_what_the_model_says() {
    let latency = Latency { clock: 0, call: 1, name: 10, data: 100, kib: 3, flush: 1000 };
    let stall =
        Rule { op: Op::Fsync, when: When::Nth(2), effect: Effect::Stall(60_000_000_000), worker: None };
    let script = Script {
        rules: vec![stall],
        slow_after: Some((8192, 5)),
        slow_worker: Some((1, 200)),
        ..Script::default()
    };
    let fs = SimFs::new(Options { latency, script, ..Options::default() });
    let mut times: Vec<Vec<Nanos>> = Vec::new();
    for worker in 0..2 {
        let mut sim = fs.worker(worker);
        let mut last = sim.now();
        let mut took = Vec::new();
        let mut note = |sim: &mut Sim| {
            let now = sim.now();
            took.push(now - std::mem::replace(&mut last, now));
        };
        let fd = open(&mut sim, c"a");
        note(&mut sim);
        write(&mut sim, fd, Some(0), 8192).unwrap();
        note(&mut sim);
        read(&mut sim, fd, Some(0), 4096).unwrap();
        note(&mut sim);
        sim.fsync(fd).unwrap();
        note(&mut sim);
        sim.fsync(fd).unwrap();
        note(&mut sim);
        write(&mut sim, fd, Some(0), 1024).unwrap();
        note(&mut sim);
        times.push(took);
    }
    assert_eq!(times[0], [10, 124, 112, 1000, 60_000_001_000, 515]);
    assert_eq!(times[1], [2000, 124_000, 22_400, 200_000, 60_000_200_000, 103_000]);
}

#[test]
fn clocks_are_each_workers_own_and_can_be_set_forward() {
    let fs = SimFs::new(Options::default());
    let (mut one, mut two) = (fs.worker(0), fs.worker(1));
    one.sleep_until(5_000_000_000);
    // Reading the clock takes its 20 ns.
    assert_eq!((one.now(), two.now()), (5_000_000_020, 20));
    two.advance_to(5_000_000_020);
    assert_eq!(one.now(), two.now());
    one.advance_to(0);
    assert_eq!(one.now(), 5_000_000_060, "never back");
}

#[test]
fn direct_flags_are_honoured_refused_or_ignored() {
    let direct = CREATE | libc::O_DIRECT;
    let with = |direct| scripted(Script { direct, ..Script::default() });
    let sizes = [(0, 4096), (512, 512), (0, 1000), (100, 512)];
    for (kind, expected) in [
        (Direct::Aligned(512), [true, true, false, false]),
        (Direct::Aligned(4096), [true, false, false, false]),
        (Direct::Ignored, [true, true, true, true]),
    ] {
        let fs = with(kind);
        let mut sim = fs.worker(0);
        let root = sim.root();
        let fd = sim.open(root, c"a", direct, 0o644).unwrap();
        let ok = sizes.map(|(at, len)| match write(&mut sim, fd, Some(at), len) {
            Err(errno) => {
                assert_eq!(errno, Errno(libc::EINVAL));
                false
            }
            Ok(_) => true,
        });
        assert_eq!(ok, expected, "{kind:?}");
        assert!(sim.capabilities().direct);
        let buffered = open(&mut sim, c"b");
        write(&mut sim, buffered, Some(1), 1).unwrap();
    }
    let fs = with(Direct::Refused);
    let mut sim = fs.worker(0);
    let root = sim.root();
    assert_eq!(sim.open(root, c"a", direct, 0o644), Err(Errno(libc::EINVAL)));
    assert!(fs.stat("a").is_ok(), "the kernel has made it by then");
    assert!(!sim.capabilities().direct);
}

#[test]
fn a_queue_takes_its_depth_and_gives_back_in_order_of_time() {
    let latency = Latency { clock: 0, call: 10, name: 0, data: 1000, kib: 1000, flush: 0 };
    let slow = Rule { op: Op::Pread, when: When::Nth(1), effect: Effect::Stall(5_000), worker: None };
    let fail = Rule { op: Op::Pread, when: When::Nth(2), effect: Effect::Errno(EIO), worker: None };
    let script = Script { rules: vec![slow, fail], ..Script::default() };
    let fs = SimFs::new(Options { latency, script, ..Options::default() });
    let mut sim = fs.worker(0);
    sim.open_queue(3, 3, 4096).unwrap();
    let fd = open(&mut sim, c"a");
    let one = |slot, write| Transfer { fd, offset: 0, len: 1024, slot, write, data: Recipe::Zero };
    let mut ended = Vec::new();
    sim.exchange(&[one(9, true)], 0, &mut ended).unwrap();
    assert!(ended.is_empty(), "not waited for");
    sim.exchange(&[], 1, &mut ended).unwrap();
    assert_eq!(ended, [Completion::new(9, Ok(1024))]);
    let start = sim.now();
    assert_eq!(start, 10 + 2000);
    // The first stalls, the second fails, the fourth does not fit.
    ended.clear();
    let four: Vec<Transfer> = (0..4).map(|slot| one(slot, false)).collect();
    assert_eq!(sim.exchange(&four, 0, &mut ended), Err(Errno(libc::EBUSY)));
    assert_eq!((sim.now(), ended.len()), (start + 30, 0), "submitting goes on at once");
    sim.exchange(&[], 2, &mut ended).unwrap();
    assert_eq!(sim.now(), start + 30 + 2000, "side by side");
    let (failed, read) = (Completion::new(1, Err(EIO)), Completion::new(2, Ok(1024)));
    assert_eq!(ended, [failed, read]);
    ended.clear();
    sim.exchange(&[one(3, false)], u32::MAX, &mut ended).unwrap();
    assert_eq!(ended.iter().map(|end| end.slot).collect::<Vec<_>>(), [3, 0]);
    assert_eq!(sim.now(), start + 10 + 7000);
}

#[test]
fn a_trace_shows_every_call_of_each_worker() {
    let script = Script::one(Op::Fsync, When::Nth(1), Effect::Errno(EIO));
    let fs = SimFs::new(Options { trace: 14, script, ..Options::default() });
    let (mut two, mut one) = (fs.worker(1), fs.worker(0));
    let root = one.root();
    one.mkdir(root, c"mail", 0o755).unwrap();
    let dir = one.open(root, c"mail", libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
    two.stat(root, c"mail").unwrap();
    let fd = one.open(dir, c"00000001", libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, 0o600).unwrap();
    write(&mut one, fd, Some(4096), 16_384).unwrap();
    write(&mut one, fd, None, 10).unwrap();
    assert_eq!(one.fsync(fd), Err(EIO));
    one.seek(fd, -5, Whence::End).unwrap();
    one.fstat(fd).unwrap();
    one.allocate(fd, Space::KeepSize, 0, 100).unwrap();
    one.close(fd).unwrap();
    assert!(one.close(fd).is_err());
    one.rename(dir, c"00000001", root, c"sent").unwrap();
    one.getdents(dir).unwrap();
    one.mark(c"end of phase");
    one.sync().unwrap();
    let trace: Vec<String> = fs.trace().iter().map(ToString::to_string).collect();
    let expected = [
        "0 mkdir mail 0755 = ok",
        "0 open mail read,directory = ok",
        "0 open mail/00000001 write,creat,trunc 0600 = ok",
        "0 pwrite mail/00000001 4096+16384 = 16384",
        "0 write mail/00000001 +10 = 10",
        "0 fsync mail/00000001 = EIO",
        "0 seek mail/00000001 -5 end = 20475",
        "0 fstat mail/00000001 = 20480",
        "0 allocate mail/00000001 keepsize 0+100 = ok",
        "0 close mail/00000001 = ok",
        "0 close fd 5 = EBADF",
        "0 rename mail/00000001 -> sent = ok",
        "0 getdents mail = 48",
        "0 mark \"end of phase\" = ok",
        "1 stat mail = 4096",
    ];
    assert_eq!(trace, expected, "the last call was one too many");
}

#[test]
fn workers_meet_in_one_file_system() {
    let fs = SimFs::new(options());
    let threads: Vec<_> = (0..4_u32)
        .map(|worker| {
            let mut sim = fs.worker(worker);
            std::thread::spawn(move || {
                assert!(sim.enter_worker());
                let root = sim.root();
                let fd = sim.open(root, c"log", CREATE | libc::O_APPEND, 0o644).unwrap();
                for n in 0..1000 {
                    write(&mut sim, fd, None, 10).unwrap();
                    let name = std::ffi::CString::new(format!("{worker}-{n}")).unwrap();
                    let own = open(&mut sim, &name);
                    sim.close(own).unwrap();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(fs.stat("log").unwrap().size, 40_000);
    assert_eq!(fs.statfs().files - fs.statfs().files_free, 4002);
}
