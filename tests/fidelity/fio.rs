//! fio with a fixed amount: the same requests by direction and size, the same bytes, the same way of
//! opening, the same syncs. Ours is the shipped profile with its time replaced by a number of blocks.
//!
//! What strace shows of an engine is compared by calls: `sync` by transfers, `libaio` by the requests
//! in each list handed over, `mmap` by the mapping and its syncs. The requests of `io_uring` lie in
//! shared memory where strace cannot see them: they are compared by what each program counts, which is
//! done for all engines. Not compared: how many requests are handed over at once (depends on timing).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::pipeline::shipped;
use crate::common::strace::{Run, Syscall, number};
use crate::common::{need, ours, scratch};

/// What ends the measured phase of the profile, and what ends it here.
const TIMED: &str = "    ramp: \"{{ ramp }}\"\n    for: \"{{ time }}\"\n";

/// A job of fio and the same said to our profile.
struct Job {
    pattern: &'static str,
    engine: &'static str,
    depth: u64,
    direct: bool,
    /// Bytes of a block.
    block: u64,
    /// An fsync after so many writes; 0 is none. Never a divisor of the number of writes: fio leaves
    /// out the sync that would be due after the very last.
    fsync: u64,
}

const SMALL: u64 = 4096;
const LARGE: u64 = 1 << 20;

const fn job(
    pattern: &'static str,
    (engine, depth): (&'static str, u64),
    direct: bool,
    block: u64,
    fsync: u64,
) -> Job {
    Job { pattern, engine, depth, direct, block, fsync }
}

/// With io_uring, syncs only at depth 1: at a greater depth fio asks for the same sync several times
/// while requests are in flight, so that their number depends on timing.
const JOBS: [Job; 25] = [
    job("read", ("sync", 1), false, SMALL, 0),
    job("randread", ("sync", 1), false, SMALL, 0),
    job("write", ("sync", 1), false, SMALL, 0),
    job("randwrite", ("sync", 1), false, SMALL, 24),
    job("write", ("sync", 1), true, SMALL, 40),
    job("read", ("sync", 1), true, LARGE, 0),
    job("randwrite", ("sync", 1), false, LARGE, 3),
    job("randrw", ("sync", 1), false, SMALL, 0),
    job("rw", ("sync", 1), true, SMALL, 0),
    job("randread", ("libaio", 8), true, SMALL, 0),
    job("randwrite", ("libaio", 8), true, SMALL, 0),
    job("randwrite", ("libaio", 16), false, SMALL, 24),
    job("read", ("libaio", 8), true, LARGE, 0),
    job("write", ("libaio", 4), true, LARGE, 0),
    job("randrw", ("libaio", 8), true, SMALL, 0),
    job("rw", ("libaio", 4), true, SMALL, 0),
    job("randread", ("io_uring", 8), true, SMALL, 0),
    job("randwrite", ("io_uring", 8), true, SMALL, 0),
    job("write", ("io_uring", 1), true, SMALL, 24),
    job("read", ("io_uring", 8), false, LARGE, 0),
    job("randrw", ("io_uring", 8), true, SMALL, 0),
    job("randread", ("mmap", 1), false, SMALL, 0),
    job("randwrite", ("mmap", 1), false, SMALL, 24),
    job("read", ("mmap", 1), false, LARGE, 0),
    job("rw", ("mmap", 1), false, SMALL, 0),
];

/// How many there are, for the page.
pub const NUMBER: usize = JOBS.len();

impl Job {
    fn blocks(&self) -> u64 {
        if self.block == SMALL { 256 } else { 16 }
    }

    fn size(&self) -> u64 {
        self.blocks() * self.block
    }

    fn name(&self) -> String {
        let Job { pattern, engine, depth, direct, block, fsync } = self;
        format!("{pattern}-{engine}-{depth}-{direct}-{block}-{fsync}")
    }

    /// The job's part of a file for fio. Each begins when the one before has ended.
    fn section(&self, file: &Path) -> String {
        let engine = if self.engine == "sync" { "psync" } else { self.engine };
        let direct = u8::from(self.direct);
        let sync = if self.fsync > 0 { format!("fsync={}\n", self.fsync) } else { String::new() };
        format!(
            "[{}]\nstonewall\nthread\nfilename={}\nrw={}\nbs={}\nsize={}\nioengine={engine}\niodepth={}\ndirect={direct}\n{sync}",
            self.name(),
            file.display(),
            self.pattern,
            self.block,
            self.size(),
            self.depth
        )
    }

    fn mixed(&self) -> bool {
        self.pattern.ends_with("rw")
    }
}

/// What one program did for a job.
#[derive(Debug, Default, PartialEq)]
struct Done {
    /// Requests by direction and size, where strace shows them.
    requests: BTreeMap<String, u64>,
    /// Where the requests lie, in order of place; not of mixed patterns.
    offsets: Vec<u64>,
    /// The same by direction, in the order they were made.
    ways: BTreeMap<String, Vec<u64>>,
    syncs: u64,
    /// Mappings of the file: bytes, and whether others see what is written.
    mapped: Vec<String>,
    /// How the file was opened for its requests: access, and what goes past or through to the disk.
    opened: Vec<&'static str>,
    /// Requests and bytes by direction, as the program itself counts them.
    counted: BTreeMap<&'static str, (u64, u64)>,
}

impl Done {
    /// From the calls on `file`, all of which are requests but for opening and syncs.
    fn seen(calls: &[&Syscall], file: &Path) -> Self {
        let mut done = Self::default();
        let mut mapping = None;
        for call in calls {
            let arg = |at: usize| call.args.get(at).map_or("", String::as_str);
            if call.name == "msync" && mapping.is_some() && number(arg(0)) == mapping {
                done.syncs += 1;
            }
            // Every descriptor of a call is among its paths: none of another file is counted.
            if !call.paths.iter().any(|path| path == file) || call.errno.is_some() {
                continue;
            }
            match call.name.as_str() {
                "pread64" | "pwrite64" | "read" | "write" => {
                    let what = call.name.trim_start_matches('p').trim_end_matches("64");
                    done.request(what, call.ret, number(arg(3)));
                }
                "io_submit" => done.list(arg(2), call.ret, file),
                "fsync" | "fdatasync" => done.syncs += 1,
                "mmap" => {
                    mapping = call.ret;
                    done.mapped.push(format!("{} {}", arg(1), arg(3)));
                }
                _ => {}
            }
        }
        done.offsets.sort_unstable();
        done
    }

    fn request(&mut self, what: &str, bytes: Option<i64>, at: Option<i64>) {
        *self.requests.entry(format!("{what} {}", bytes.unwrap_or(-1))).or_default() += 1;
        self.offsets.extend(at.map(i64::cast_unsigned));
        self.ways.entry(what.to_string()).or_default().extend(at.map(i64::cast_unsigned));
    }

    /// The list of an `io_submit`, of which the kernel took the first `taken`.
    fn list(&mut self, list: &str, taken: Option<i64>, file: &Path) {
        assert!(!list.ends_with("...]"), "strace left requests out: {list}");
        let taken = usize::try_from(taken.unwrap_or(0)).unwrap_or(0);
        let all: Vec<&str> = list.split("{aio_").skip(1).collect();
        assert!(taken <= all.len(), "{taken} of {list}");
        for request in all.into_iter().take(taken) {
            let named = format!("<{}>", file.display());
            assert!(request.contains(&named), "a request of another file: {request}");
            // The last of a name: what is written is shown before, and is anything.
            let value = |name: &str| {
                let text = request.rsplit(name).next().unwrap_or_default();
                number(text.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default())
            };
            let read = request.contains("aio_lio_opcode=IOCB_CMD_PREAD,");
            let write = request.contains("aio_lio_opcode=IOCB_CMD_PWRITE,");
            assert!(read != write, "neither read nor write: {request}");
            let bytes = value(", aio_nbytes=");
            self.request(if read { "read" } else { "write" }, bytes, value(", aio_offset="));
        }
    }
}

/// The flags of the opening that the requests use: the last, as ours writes the file before.
fn opened(calls: &[Syscall], file: &Path) -> Vec<&'static str> {
    let opens = |call: &&Syscall| call.name.starts_with("open") && call.errno.is_none();
    let last = calls.iter().filter(opens).rfind(|call| call.paths.iter().any(|path| path == file));
    let flags = last.map(|call| call.args.join(" ")).unwrap_or_default();
    let has =
        |flag: &&str| flags.split(|c: char| !c.is_ascii_uppercase() && c != '_').any(|word| word == *flag);
    ["O_RDONLY", "O_WRONLY", "O_RDWR", "O_DIRECT", "O_SYNC", "O_DSYNC"].into_iter().filter(has).collect()
}

/// fio's own count of a job.
fn theirs_counted(json: &Value, job: &Job) -> BTreeMap<&'static str, (u64, u64)> {
    let jobs = json["jobs"].as_array().expect("fio's report has jobs");
    let of = jobs.iter().find(|found| found["jobname"] == job.name()).expect("the job is in fio's report");
    let number = |what: &Value| what.as_u64().expect("a number of fio's report");
    let mut counted = BTreeMap::new();
    for what in ["read", "write"] {
        counted.insert(what, (number(&of[what]["total_ios"]), number(&of[what]["io_bytes"])));
    }
    // Only the engines with rings tell it; the others' are seen.
    if job.engine == "io_uring" {
        counted.insert("fsync", (number(&of["sync"]["total_ios"]), 0));
    }
    counted
}

/// The same from our record, which also names the engine that was really used.
fn ours_counted(out: &Path, job: &Job) -> BTreeMap<&'static str, (u64, u64)> {
    let runs = fs::read_dir(out).expect("there are records").map(|entry| entry.expect("a record").path());
    let files: Vec<_> = runs.map(|dir| dir.join("record.json")).collect();
    assert_eq!(files.len(), 1);
    let record: Value =
        serde_json::from_slice(&fs::read(&files[0]).expect("the record is there")).expect("JSON");
    let run = &record["rows"][0]["runs"][0];
    assert_eq!(run["effective"]["engine"], job.engine, "{}", job.name());
    let of = |what: &str, number: &str| run["steps"][format!("run.{what}")][number].as_u64().unwrap_or(0);
    let mut counted: BTreeMap<_, _> =
        ["read", "write"].into_iter().map(|what| (what, (of(what, "ops"), of(what, "bytes")))).collect();
    if job.engine == "io_uring" {
        counted.insert("fsync", (of("fsync", "ops"), 0));
    }
    counted
}

/// Each request of a mixed pattern is drawn, by either from its own numbers: directions together are
/// the same, and each is about half: within six standard deviations.
fn direction_aside(done: &mut Done, job: &Job) {
    let blocks = job.blocks();
    let (reads, writes) = (done.counted["read"], done.counted["write"]);
    let off = reads.0.abs_diff(blocks / 2);
    assert!(off * off <= 36 * blocks / 4, "{}: {} reads of {blocks}", job.name(), reads.0);
    done.counted = [("both", (reads.0 + writes.0, reads.1 + writes.1))].into();
    let either =
        |what: &str| what.split_once(' ').map_or(String::new(), |(_, size)| format!("either {size}"));
    let mut requests = BTreeMap::new();
    done.requests.iter().for_each(|(what, n)| *requests.entry(either(what)).or_default() += n);
    done.requests = requests;
    // Which blocks are read is drawn; in order, each direction goes through the file on its own.
    if job.pattern == "rw" {
        for (way, offsets) in &done.ways {
            let expected: Vec<u64> = (0..offsets.len() as u64).map(|n| n * job.block).collect();
            assert_eq!(offsets, &expected, "{}: the places of each {way}", job.name());
        }
        let seen: usize = done.ways.values().map(Vec::len).sum();
        let visible = matches!(job.engine, "sync" | "libaio");
        assert_eq!(seen as u64, if visible { blocks } else { 0 }, "{}: in order", job.name());
    }
    done.offsets.clear();
}

#[test]
fn the_same_requests_whatever_the_pattern() {
    let test = "fidelity::fio::the_same_requests_whatever_the_pattern";
    let Some([fio, strace]) = need(test, ["fio", "strace"]) else { return };
    let dir = scratch();
    let file = |job: &Job| dir.path().join(job.name());
    let mut sections = String::new();
    for job in &JOBS {
        // As fio finds it, it has nothing to lay out.
        fs::write(file(job), vec![0x5a; usize::try_from(job.size()).expect("it is small")])
            .expect("it is written");
        sections += &job.section(&file(job));
    }
    let list = dir.path().join("jobs");
    fs::write(&list, sections).expect("the jobs are written");
    let theirs =
        Run::new(&fio, ["--output-format=json".as_ref(), list.as_os_str()], dir.path()).trace(&strace);
    // Remarks come before the report.
    let report = theirs.stdout.find('{').map_or("", |at| &theirs.stdout[at..]);
    let report: Value = serde_json::from_str(report).unwrap_or_else(|e| panic!("{e}: {}", theirs.stdout));
    let calls: Vec<&Syscall> = theirs.calls.iter().collect();

    let shipped = shipped("fio");
    assert_eq!(shipped.matches(TIMED).count(), 1, "the profile's phase is timed");
    for job in &JOBS {
        let what = job.name();
        let mut done = Done {
            counted: theirs_counted(&report, job),
            opened: opened(&theirs.calls, &file(job)),
            ..Done::seen(&calls, &file(job))
        };
        let mut mine = ours_done(&strace, &shipped, job);
        let requests: u64 = done.counted.values().filter(|(_, bytes)| *bytes > 0).map(|(n, _)| n).sum();
        assert_eq!(requests, job.blocks(), "{what}: fio made its requests");
        assert!(!done.opened.is_empty(), "{what}: fio opened its file");
        let visible: u64 = done.requests.values().sum();
        match job.engine {
            "mmap" | "io_uring" => assert_eq!(visible, 0, "{what}: no transfer is a call"),
            _ => assert_eq!(visible, job.blocks(), "{what}: every transfer is seen"),
        }
        assert_eq!(done.mapped.len(), usize::from(job.engine == "mmap"), "{what}");
        if job.fsync > 0 && job.engine != "io_uring" {
            assert_eq!(done.syncs, job.blocks() / job.fsync, "{what}: fio synced");
        }
        if job.engine == "io_uring" {
            // Theirs is a request, ours a call after all before it are done: counted, not seen.
            mine.syncs = 0;
        }
        if job.mixed() {
            direction_aside(&mut done, job);
            direction_aside(&mut mine, job);
        }
        // Random places come in an order of their own.
        done.ways.clear();
        mine.ways.clear();
        assert_eq!(mine, done, "{what}");
    }
}

/// What our profile does in its measured phase.
fn ours_done(strace: &Path, shipped: &str, job: &Job) -> Done {
    let dir = scratch();
    let profile = dir.path().join("amount.yaml");
    let amount = format!("    repeat: {}\n", job.blocks());
    fs::write(&profile, shipped.replace(TIMED, &amount)).expect("the profile is written");
    let (depth, size) = (job.depth.to_string(), job.size().to_string());
    let fsync = job.fsync.to_string();
    let sets = [
        ("pattern", job.pattern),
        ("engine", job.engine),
        ("depth", &depth),
        ("direct", if job.direct { "require" } else { "never" }),
        ("size", &size),
        ("fsync_every", &fsync),
        ("delay", "0s"),
    ];
    let case = format!("{}:randread-{}", profile.display(), if job.block == SMALL { "4kib" } else { "2mib" });
    let block = job.block.to_string();
    let more = if job.block == SMALL { vec![] } else { vec![("block", block.as_str())] };
    let sets: Vec<_> = sets.into_iter().chain(more).collect();
    let trace = ours::trace(strace, dir.path(), &case, &sets, &[]);
    let named = |call: &&Syscall| call.paths.iter().any(|path| path.ends_with("fiofile"));
    let path = trace.calls.iter().find(named).expect("ours opens its file").paths.iter();
    let file = path.clone().find(|path| path.ends_with("fiofile")).expect("its path").clone();
    let phases = trace.phases().unwrap_or_else(|e| panic!("{}: {e}", job.name()));
    assert_eq!(phases.len(), 1, "{}", job.name());
    Done {
        counted: ours_counted(&dir.path().join("o"), job),
        opened: opened(&trace.calls, &file),
        ..Done::seen(&phases[0].1, &file)
    }
}
