//! Which calls of a trace count.
//!
//! An original is not ours to mark: of it, all calls under its work directory count. The program
//! under test marks its phases itself, and of it everything between the marks counts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::calls::Multiset;
use super::strace::{Syscall, Trace, unquote};

/// Calls that touch no file. A call on neither this list nor any other counts as one on files.
const NOT_FILES: [&str; 43] = [
    "brk",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "clone",
    "clone3",
    "exit",
    "exit_group",
    "futex",
    "futex_wait",
    "futex_wake",
    "getcpu",
    "getpid",
    "getrandom",
    "gettid",
    "gettimeofday",
    "madvise",
    "membarrier",
    "mprotect",
    "mremap",
    "munmap",
    "nanosleep",
    "prctl",
    "recvfrom",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigsuspend",
    "rt_sigtimedwait",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "setitimer",
    "sigaltstack",
    "tgkill",
    "timer_settime",
    "times",
    "wait4",
    "waitid",
];

/// What happened between the marks of one phase.
#[derive(Debug)]
pub struct Window {
    /// Every call that touches files, or might.
    pub files: Multiset,
    /// The others, by name.
    pub other: BTreeMap<String, u64>,
}

impl Window {
    /// # Panics
    /// When more than `limit` calls did not touch files.
    pub fn assert_other_at_most(&self, limit: u64) {
        let sum: u64 = self.other.values().sum();
        assert!(
            sum <= limit,
            "{sum} calls besides those on files, at most {limit} are allowed: {:?}",
            self.other
        );
    }
}

impl Trace {
    /// [`under`] of the whole trace.
    pub fn under(&self, work: &Path) -> Vec<&Syscall> {
        under(&self.calls, work)
    }

    /// Each execution of each phase in turn: its name, and all that overlaps the time between its
    /// `ioscore:begin:<phase>` and `ioscore:end:<phase>`, of all processes and threads, in the order
    /// in which the calls ended. For the program under test.
    pub fn phases(&self) -> Result<Vec<(String, Vec<&Syscall>)>, String> {
        let marks = self.calls.iter().filter_map(|call| Some((call, mark(call)?)));
        let mut phases = Vec::new();
        let mut begun: Option<(&Syscall, String)> = None;
        for (call, text) in marks {
            let (edge, phase) =
                text.trim_start_matches("ioscore:").split_once(':').ok_or("a mark without a phase")?;
            match (edge, begun.take()) {
                ("begin", None) => begun = Some((call, phase.to_owned())),
                ("end", Some((begin, name))) if name == phase => {
                    let inside =
                        |c: &&Syscall| c.started < call.started && c.ended > begin.ended && mark(c).is_none();
                    phases.push((name, self.calls.iter().filter(inside).collect()));
                }
                (_, open) => return Err(format!("mark {text} while {open:?} is open")),
            }
        }
        match begun {
            Some((_, name)) => Err(format!("phase {name} never ends")),
            None if phases.is_empty() => Err("the trace holds no marks".into()),
            None => Ok(phases),
        }
    }

    /// All phases together. Calls besides those on files count for the threads that work: one that
    /// only waits for the others wakes up as often as it likes.
    pub fn marked(&self) -> Result<Window, String> {
        let calls = self.phases()?.into_iter().flat_map(|(_, calls)| calls);
        let (other, files): (Vec<_>, Vec<_>) = calls.partition(|call| is_no_file(call));
        let workers: BTreeSet<u32> = files.iter().map(|call| call.pid).collect();
        let mut names = BTreeMap::new();
        for call in other.into_iter().filter(|call| workers.contains(&call.pid)) {
            *names.entry(call.name.clone()).or_default() += 1;
        }
        Ok(Window { files: Multiset::of(files), other: names })
    }

    /// All that overlaps the time between `ioscore:begin:<phase>` and `ioscore:end:<phase>`, of all
    /// processes and threads. For the program under test.
    pub fn window(&self, phase: &str) -> Result<Window, String> {
        let one = |edge: &str| {
            let text = format!("ioscore:{edge}:{phase}");
            let mut found = self.calls.iter().filter(|call| mark(call).as_deref() == Some(text.as_str()));
            match (found.next(), found.next()) {
                (Some(call), None) => Ok(call),
                (None, _) => Err(format!("the trace holds no mark {text}")),
                (Some(_), Some(_)) => Err(format!("the trace holds more than one mark {text}")),
            }
        };
        let (begin, end) = (one("begin")?, one("end")?);
        if begin.ended >= end.started {
            return Err(format!("phase {phase} ends before it begins"));
        }
        let inside =
            |call: &&Syscall| call.started < end.started && call.ended > begin.ended && mark(call).is_none();
        let (other, files): (Vec<_>, Vec<_>) =
            self.calls.iter().filter(inside).partition(|call| is_no_file(call));
        let mut names = BTreeMap::new();
        for call in other {
            *names.entry(call.name.clone()).or_default() += 1;
        }
        Ok(Window { files: Multiset::of(files), other: names })
    }
}

/// The calls whose path or descriptor lies at or under `work`, and every `sync`. For the originals.
///
/// # Panics
/// When the program changed its directory: relative paths would then be taken for others.
pub fn under<'a>(calls: &'a [Syscall], work: &Path) -> Vec<&'a Syscall> {
    let moved = calls.iter().any(|c| matches!(c.name.as_str(), "chdir" | "fchdir") && c.ret == Some(0));
    assert!(!moved, "the program changes its directory, which is not followed");
    let counts = |c: &&Syscall| c.name == "sync" || c.paths.iter().any(|path| path.starts_with(work));
    calls.iter().filter(counts).collect()
}

/// The calls between each two of `edge` that follow one another, for programs that do the same
/// thing again and again. What comes before the first and after the last is left out.
pub fn passes(calls: &[Syscall], edge: impl Fn(&Syscall) -> bool) -> Vec<&[Syscall]> {
    let edges: Vec<usize> = (0..calls.len()).filter(|&i| edge(&calls[i])).collect();
    edges.windows(2).map(|pair| &calls[pair[0] + 1..pair[1]]).collect()
}

/// Leaves out what only moves a descriptor to another number: a `dup2` and the `close` of the old
/// number that follows it. dd puts its files on 0 and 1 so.
pub fn without_descriptor_moves<'a>(calls: &[&'a Syscall]) -> Vec<&'a Syscall> {
    let mut out: Vec<&Syscall> = Vec::new();
    let mut moved: Vec<(u32, &str)> = Vec::new();
    for call in calls {
        let first = (call.pid, call.args.first().map_or("", String::as_str));
        match call.name.as_str() {
            "dup2" | "dup3" if call.errno.is_none() => moved.push(first),
            "close" if moved.contains(&first) => moved.retain(|other| *other != first),
            _ => out.push(call),
        }
    }
    out
}

/// The text of a mark: an access check of `ioscore:begin:…` or `ioscore:end:…`.
fn mark(call: &Syscall) -> Option<String> {
    let checks = matches!(call.name.as_str(), "access" | "faccessat" | "faccessat2");
    let names = call.args.iter().filter(|_| checks).filter_map(|arg| unquote(arg)?.into_string().ok());
    names.into_iter().find(|text| text.starts_with("ioscore:begin:") || text.starts_with("ioscore:end:"))
}

/// Whether a call has nothing to do with files.
pub fn is_no_file(call: &Syscall) -> bool {
    // Memory without a file behind it has the descriptor -1.
    let anonymous = call.name == "mmap" && call.args.get(4).is_some_and(|fd| fd == "-1");
    anonymous || NOT_FILES.contains(&call.name.as_str())
}
