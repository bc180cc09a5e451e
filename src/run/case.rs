//! One case, once, on one target: a run directory, a team of workers, and somebody who watches.
//!
//! Gives what was counted or why there is nothing. Repeats, suites and records are not known here.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use super::engines::Chosen;
use super::progress::{Progress, TICK};
use super::stop::Stop;
use super::{effective, reason};
use crate::os::linux::engine::Null;
use crate::os::linux::{Clock, Context, Linux, RunDir};
use crate::os::{Errno, Os};
use crate::plan::instr::Plan;
use crate::profile::suite::Cache;
use crate::record::{Effective, NoResult, Reason};
use crate::vm::random::StreamKey;
use crate::vm::shared::{Shared, lock};
use crate::vm::team::{self, TeamOptions, TeamRun, Watcher};

/// Longest part of a run's name in the name of its directory, in bytes.
const NAME: usize = 100;

/// What is to be run.
pub struct Job<'a> {
    /// What its workers do.
    pub plan: &'a Arc<Plan>,
    /// The directory to work under.
    pub target: &'a Path,
    /// Kind of its file system, for what can be said of its caches.
    pub file_system: Option<&'a str>,
    /// Name of the run, part of the name of its directory.
    pub run_name: &'a str,
    /// What the random choices depend on.
    pub key: StreamKey,
    /// What is done to caches before it.
    pub cache: Cache,
    /// Leaves the files where they are.
    pub keep: bool,
    /// Shows the begin and end of phases to tracers.
    pub mark: bool,
}

/// What came of it.
pub struct Done {
    /// What was counted, or why nothing was.
    pub outcome: Result<Counted, Missed>,
    /// Where the files are, where they were to be kept.
    pub kept: Option<String>,
    /// What could not be cleaned up.
    pub trouble: Option<String>,
}

/// Why nothing was counted.
pub type Missed = Box<(NoResult, Reason)>;

/// What was counted.
pub struct Counted {
    /// What the workers did.
    pub team: TeamRun,
    /// The wall clock in ns since 1970 when the run's clock stood at 0.
    pub epoch_ns: u64,
    /// From making the first file to removing the last, in seconds.
    pub elapsed_s: f64,
    /// What was really in force.
    pub effective: Effective,
}

/// Runs it, with the first of the engines asked for that the machine gives. A request to stop ends
/// it early and cleans up.
pub fn run(job: &Job, stop: &Stop, progress: &Progress) -> Done {
    let mut chosen = Chosen::first(job.plan);
    loop {
        let engines = match chosen {
            Ok(engines) => engines,
            Err(missed) => return Done { outcome: Err(missed), kept: None, trouble: None },
        };
        match attempt(&Job { plan: &engines.plan, ..*job }, &engines, stop, progress) {
            Attempt::Done(done) => return *done,
            Attempt::Refused(index, errno) => {
                chosen = engines.next(usize::from(index), errno);
            }
        }
    }
}

/// What came of one set of engines.
enum Attempt {
    Done(Box<Done>),
    /// The engine of this number could not have its queue; nothing was done yet.
    Refused(u8, Errno),
}

fn attempt(job: &Job, engines: &Chosen, stop: &Stop, progress: &Progress) -> Attempt {
    let began = Instant::now();
    let (mut kept, mut trouble) = (None, None);
    let directory = match RunDir::create(job.target, shortened(job.run_name)) {
        Ok(directory) => directory,
        Err(error) => {
            let mut why = Reason::new(format!("making the run directory: {}", reason::of_target(&error)));
            why.errno = error
                .raw_os_error()
                .and_then(|number| crate::os::errno::name(crate::os::Errno(number)))
                .map(str::to_string);
            let outcome = Err(Box::new((NoResult::Failed, why)));
            return Attempt::Done(Box::new(Done { outcome, kept, trouble }));
        }
    };
    let outcome = in_directory(job, engines, &directory, stop, progress);
    let refused = outcome.as_ref().ok().and_then(|counted| counted.team.refused);
    if job.keep && refused.is_none() {
        match directory.keep() {
            Ok(path) => kept = Some(path.display().to_string()),
            Err(error) => trouble = Some(format!("keeping the run directory: {error}")),
        }
    } else {
        let path = directory.path();
        if let Err(left) = directory.remove() {
            let first = left.first().map(|l| format!("{}: {}", l.path, l.errno)).unwrap_or_default();
            trouble =
                Some(format!("could not remove all of {}: {first}; see `ioscore clean`", path.display()));
        }
    }
    if let Some((index, errno)) = refused {
        return Attempt::Refused(index, errno);
    }
    let outcome = outcome.map(|counted| Counted { elapsed_s: began.elapsed().as_secs_f64(), ..counted });
    Attempt::Done(Box::new(Done { outcome, kept, trouble }))
}

fn in_directory(
    job: &Job,
    engines: &Chosen,
    directory: &RunDir,
    stop: &Stop,
    progress: &Progress,
) -> Result<Counted, Missed> {
    let root = directory.root_owned().map_err(|error| {
        Box::new((NoResult::Failed, Reason::new(format!("opening the run directory again: {error}"))))
    })?;
    let clock = Arc::new(Clock::new());
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    let epoch_ns = wall.saturating_sub(clock.now());
    let context = Context::new(root, clock);
    let shared = Arc::new(Shared::new(job.plan));
    let eyes = Eyes { job, context: &context, cache: Mutex::default(), phase: Mutex::default() };
    let options = TeamOptions { key: job.key, epoch: (epoch_ns / 1_000_000_000) as i64, mark: job.mark };
    let team = std::thread::scope(|scope| {
        let (done, news) = mpsc::channel::<()>();
        let (eyes, shared, context) = (&eyes, &shared, &context);
        let thread = std::thread::Builder::new().name("leader".into());
        let leader = thread.spawn_scoped(scope, move || {
            // Dropped with the thread, also when it panics: the watcher wakes up either way.
            let _done = done;
            // The two engines whose own work is next to nothing have programs of their own.
            if engines.all("nop") {
                team::run(job.plan, shared, |_| Linux::with_engine(context, Null), options, eyes)
            } else if engines.all("sync") || engines.all("sqlite") {
                team::run(job.plan, shared, |_| Linux::new(context), options, eyes)
            } else {
                team::run(job.plan, shared, |_| Linux::with_engine(context, engines.make()), options, eyes)
            }
        });
        let leader = leader.map_err(no_thread)?;
        while news.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if stop.requested() {
                shared.abort();
            }
            let phase = lock(&eyes.phase).clone();
            let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
            progress.tick(job.plan, phase.as_deref(), load(&shared.ops), load(&shared.bytes));
        }
        let failed = || Reason::new("the program itself failed; please report this as a bug");
        leader.join().map_err(|_| Missed::new((NoResult::Failed, failed())))
    })?;
    if team.refused.is_some() {
        return Ok(Counted { team, epoch_ns, elapsed_s: 0.0, effective: Effective::default() });
    }
    if let Some((worker, fault)) = &team.fault {
        return Err(Box::new(reason::of_fault(job.plan, *worker, fault)));
    }
    if team.aborted {
        return Err(Box::new((NoResult::Interrupted, Reason::new("interrupted while it ran"))));
    }
    let cache = lock(&eyes.cache).take();
    let effective = effective::effective(engines, &team, &context, cache);
    Ok(Counted { team, epoch_ns, elapsed_s: 0.0, effective })
}

/// The thread that leads the workers could not be started.
fn no_thread(error: std::io::Error) -> Missed {
    let mut why = Reason::new(format!("starting a thread: {error}"));
    let errno = error.raw_os_error().and_then(|number| crate::os::errno::name(crate::os::Errno(number)));
    why.errno = errno.map(str::to_string);
    why.what_to_do = Some("use fewer workers, or raise the limit of processes (ulimit -u)".into());
    Box::new((NoResult::Failed, why))
}

/// Watches from the leader's thread.
struct Eyes<'a> {
    job: &'a Job<'a>,
    context: &'a Arc<Context>,
    /// What became of the caches.
    cache: Mutex<Option<String>>,
    /// The phase that runs.
    phase: Mutex<Option<String>>,
}

impl Watcher for Eyes<'_> {
    fn phase_begins(&self, plan: &Plan, phase: u16) {
        if let Some(phase) = plan.phases.get(usize::from(phase)) {
            *lock(&self.phase) = Some(phase.name.clone());
        }
    }

    /// The files lie there: now is the moment to forget them.
    fn laid_out(&self) {
        let said = match self.job.cache {
            Cache::Keep => "kept".to_string(),
            Cache::Drop => drop_caches(self.context, self.job.file_system),
        };
        *lock(&self.cache) = Some(said);
    }
}

fn drop_caches(context: &Arc<Context>, file_system: Option<&str>) -> String {
    let mut machine = Linux::new(context);
    let dropped = machine.sync().and_then(|()| machine.drop_caches());
    match (dropped, file_system) {
        // Its cache (the ARC) is no page cache.
        (Ok(()), Some("zfs")) => "page cache dropped; the cache of ZFS (ARC) is not".into(),
        (Ok(()), _) => "dropped".into(),
        (Err(errno), _) => format!("not dropped: {errno}; dropping caches needs root"),
    }
}

/// The beginning of a name that is short enough for a directory.
fn shortened(name: &str) -> &str {
    let mut end = name.len().min(NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or("run")
}

/// Removes leftovers of dead runs under a target before a run: never, they are only named.
pub fn leftovers(target: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(target).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ioscore-run-"))
                && path.join(".ioscore-run").exists()
        })
        .collect()
}
