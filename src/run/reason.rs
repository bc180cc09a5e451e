//! From a fault of a worker to the reason a row gives: what failed, where, and what to do.
//!
//! Also decides whether the target cannot do it (`unsupported`) or an operation failed.

use crate::os::{Errno, errno};
use crate::plan::instr::{Args, Instr, NO_SET, Plan};
use crate::record::{NoResult, Reason};
use crate::vm::fault::Fault;

/// The outcome of a case that ended with a fault.
pub fn of_fault(plan: &Plan, worker: u32, fault: &Fault) -> (NoResult, Reason) {
    let args = fault.args.and_then(|at| plan.args.get(at as usize));
    let mut reason = Reason {
        step: fault.args.and_then(|at| step(plan, at)),
        path: Some(fault.path.to_string()).filter(|p| !p.is_empty()),
        offset: fault.offset,
        length: fault.len,
        errno: fault.errno.map(name),
        ..Reason::default()
    };
    let call = fault.call;
    // What a set keeps open is opened before the first step, by none of them.
    let kept = |plan: &Plan| plan.sets.iter().any(|set| set.kept_open.is_some_and(opens_direct));
    let direct = args.map_or_else(|| call == "open" && kept(plan), |args| is_direct(plan, args));
    let Some(number) = fault.errno else {
        reason.message = match &fault.message {
            Some(message) if message.is_empty() => format!("{call} failed"),
            Some(message) => format!("{call}: {message}"),
            None => format!("{call} failed"),
        };
        reason.what_to_do = fault.what_to_do.map(str::to_string);
        return (NoResult::Failed, reason);
    };
    let direct = direct && fault.message.is_none();
    let refused = [libc::EINVAL, libc::EOPNOTSUPP].contains(&number.0);
    if direct && refused {
        reason.message = format!("direct {call}: {number}");
        reason.what_to_do = Some(
            "the file system refuses direct I/O of this size or at all: run the case without direct I/O, or with \
             blocks that are multiples of the target's block size"
                .into(),
        );
        return (NoResult::Unsupported, reason);
    }
    if [libc::ENOSYS, libc::EOPNOTSUPP].contains(&number.0) {
        reason.message = format!("{call}: {number}");
        reason.what_to_do =
            Some("this kernel or file system does not have the call: use another target".into());
        return (NoResult::Unsupported, reason);
    }
    let (mut message, what_to_do) = explained(call, number, fault, worker);
    if let Some(said) = &fault.message {
        // More than the number says.
        message = format!("{call}: {said} ({number})");
    }
    reason.message = message;
    reason.what_to_do = fault.what_to_do.or(what_to_do).map(str::to_string);
    (NoResult::Failed, reason)
}

/// The step by the names of the results and by its place: `work.fsync (phases[0].steps[2])`.
fn step(plan: &Plan, at: u32) -> Option<String> {
    let place = plan.places.get(at as usize).filter(|place| !place.is_empty());
    let uses = |instr: &Instr| matches!(instr, Instr::Op { args, .. } if *args == at);
    let phase = plan.phases.iter().find(|phase| phase.groups.iter().any(|group| group.code.iter().any(uses)));
    let stat = plan.args.get(at as usize).map(|args| usize::from(args.stat));
    let name = phase.map(|phase| {
        let key = stat.and_then(|stat| phase.stats.get(stat));
        let parts = [Some(phase.name.as_str()), key.map(|k| k.group.as_str()), key.map(|k| k.key.as_str())];
        parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
    });
    match (name, place) {
        (Some(name), Some(place)) => Some(format!("{name} ({place})")),
        (name, place) => name.or_else(|| place.cloned()),
    }
}

/// What happened in words, and what to do about it.
fn explained(call: &str, number: Errno, fault: &Fault, worker: u32) -> (String, Option<&'static str>) {
    let text = errno::text(number);
    let known = name(number);
    match number.0 {
        libc::ENOSPC => (
            format!("{known} after {} bytes: {text} ({call} of worker {worker})", fault.written),
            Some("make room on the target, or run with smaller parameters (--set)"),
        ),
        libc::EDQUOT => (
            format!("{known} after {} bytes: the disk quota of this user is used up ({call})", fault.written),
            Some("have the quota raised, or run with smaller parameters (--set)"),
        ),
        libc::EFBIG => (
            format!("{known} after {} bytes: {text} ({call})", fault.written),
            Some("raise the limit of file sizes (ulimit -f), or use a file system with larger files"),
        ),
        libc::EROFS => {
            (format!("{call}: {number}"), Some("the target is mounted read-only: mount it for writing"))
        }
        libc::EACCES | libc::EPERM => (
            format!("{call}: {number}"),
            Some("run as a user with the rights for this, or use a target that belongs to this user"),
        ),
        libc::EMFILE | libc::ENFILE => (
            format!("{call}: {number}"),
            Some("raise the limit of open files (ulimit -n), or run with fewer files open at once"),
        ),
        libc::EIO => (
            format!("{call}: {number}"),
            Some("the device or the connection to it failed: look into the kernel's log (dmesg)"),
        ),
        libc::EAGAIN if call.contains("lock") => (
            format!("{call}: {number}"),
            Some("another program holds the lock: end it, or use another target"),
        ),
        libc::EAGAIN | libc::EINTR => (
            format!("{call}: {number}"),
            Some(
                "the kernel or the device did not take it, however often it was asked: ask for less at once (a smaller \
                 depth, fewer workers), or use another engine or target",
            ),
        ),
        libc::ENOENT | libc::EEXIST | libc::ENOTEMPTY | libc::ENODATA => (
            format!("{call}: {number}"),
            Some("correct the steps, or name the error in the step's `expect` where it may happen"),
        ),
        libc::ENOMEM => {
            (format!("{call}: {number}"), Some("run with fewer workers, smaller blocks or less depth"))
        }
        libc::ENAMETOOLONG => (format!("{call}: {number}"), Some("use shorter names or fewer directories")),
        _ => (format!("{call}: {number}"), None),
    }
}

/// `ENOSPC`, or the bare number.
fn name(number: Errno) -> String {
    errno::name(number).map_or_else(|| format!("errno {}", number.0), str::to_string)
}

/// Whether these flags of `open` ask for direct I/O.
fn opens_direct(flags: i32) -> bool {
    flags & libc::O_DIRECT != 0
}

/// Whether an operation works on a file opened for direct I/O.
fn is_direct(plan: &Plan, args: &Args) -> bool {
    if opens_direct(args.opening.flags) || plan.engine_of(args).direct != crate::plan::instr::Direct::Never {
        return true;
    }
    if args.set == NO_SET {
        return false;
    }
    let kept = plan.sets.get(usize::from(args.set)).and_then(|set| set.kept_open);
    // A step that transfers says nothing of flags; the step that opened the set does.
    kept.is_some_and(opens_direct)
        || plan.args.iter().any(|other| other.set == args.set && opens_direct(other.opening.flags))
}

/// A target that could not be used at all, in one line.
pub fn of_target(error: &std::io::Error) -> String {
    let Some(number) = error.raw_os_error().map(Errno) else { return error.to_string() };
    let todo = match number.0 {
        libc::EROFS => "it is mounted read-only: mount it for writing",
        libc::EACCES | libc::EPERM => "give this user the right to write there, or name another directory",
        libc::ENOSPC => "it has no room left: remove something first",
        libc::EDQUOT => "the disk quota of this user is used up",
        libc::ENOENT => "make the directory first, or correct the path",
        libc::ENOTDIR => "name a directory",
        _ => return number.to_string(),
    };
    format!("{number}; {todo}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(number: i32) -> Fault {
        Fault {
            args: None,
            call: "pwrite",
            path: "data/3".into(),
            offset: Some(4096),
            len: Some(512),
            errno: Some(Errno(number)),
            message: None,
            what_to_do: None,
            written: 1 << 20,
        }
    }

    fn plan() -> Plan {
        crate::run::numbers::tests::plan(Vec::new(), Vec::new())
    }

    #[test]
    fn a_full_disk_says_after_how_many_bytes() {
        let (outcome, reason) = of_fault(&plan(), 0, &fault(libc::ENOSPC));
        assert_eq!(outcome, NoResult::Failed);
        assert!(reason.message.starts_with("ENOSPC after 1048576 bytes"), "{}", reason.message);
        assert_eq!(reason.errno.as_deref(), Some("ENOSPC"));
        assert_eq!((reason.offset, reason.length), (Some(4096), Some(512)));
        assert!(reason.what_to_do.is_some());
        let (_, quota) = of_fault(&plan(), 0, &fault(libc::EDQUOT));
        assert!(quota.message.contains("quota"), "{}", quota.message);
    }

    #[test]
    fn what_is_not_taken_for_the_time_being_has_a_next_step() {
        for number in [libc::EAGAIN, libc::EINTR] {
            for call in ["read", "pwrite", "io_submit"] {
                let (outcome, reason) = of_fault(&plan(), 0, &Fault { call, ..fault(number) });
                assert_eq!(outcome, NoResult::Failed);
                assert!(reason.what_to_do.is_some_and(|todo| todo.contains("less at once")), "{call}");
            }
        }
        let (_, reason) = of_fault(&plan(), 0, &Fault { call: "lock", ..fault(libc::EAGAIN) });
        assert!(reason.what_to_do.is_some_and(|todo| todo.contains("holds the lock")));
    }

    #[test]
    fn refused_direct_transfers_are_unsupported_and_buffered_ones_failures() {
        let mut plan = plan();
        plan.args.push(Args::default());
        plan.places.push("phases[0].steps[1].write".into());
        let fault = Fault { args: Some(0), ..fault(libc::EINVAL) };
        assert_eq!(of_fault(&plan, 0, &fault).0, NoResult::Failed);
        plan.args[0].opening.flags = libc::O_DIRECT;
        let (outcome, reason) = of_fault(&plan, 0, &fault);
        assert_eq!(outcome, NoResult::Unsupported);
        assert_eq!(reason.step.as_deref(), Some("phases[0].steps[1].write"));
        assert!(reason.message.contains("direct") && reason.message.contains("EINVAL"));
    }

    #[test]
    fn what_has_no_error_number_says_what_it_has() {
        let fault = Fault { errno: None, message: Some("the file is empty".into()), ..fault(0) };
        let (outcome, reason) = of_fault(&plan(), 0, &fault);
        assert_eq!((outcome, reason.message.as_str()), (NoResult::Failed, "pwrite: the file is empty"));
        assert_eq!(reason.errno, None);
    }
}
