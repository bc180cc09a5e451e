//! What the plans need against what the target has, before the first byte is written there.

use super::prepare::Prepared;
use super::target::Place;
use crate::os::linux::is_root;
use crate::plan::needs::{self, Needs, needs};
use crate::plan::preflight::{Available, Shortage, check as short_of, engine_limits};
use crate::profile::suite::Policy;
use crate::profile::units::format_duration;
use crate::record::{Finding, NoResult, Reason};
use crate::system::files::Root;

/// What can be allowed all the same, by name.
pub const CHECKS: [&str; 11] = [
    "space",
    "inodes",
    "descriptors",
    "memory",
    "threads",
    "name",
    "alignment",
    "depth",
    "direct",
    "aio",
    "io_uring",
];
/// Longest name of a file on every file system that matters, in bytes (`NAME_MAX`).
const NAME_MAX: u64 = 255;
/// Memory mappings of one worker thread: its stack, the guard page below it, the stack for
/// signals, its guard page, and what the allocator maps for its buffers.
const MAPS_PER_THREAD: u64 = 5;

/// What is known of a case on a target before it runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judged {
    /// Why it is not run; nothing where it can be.
    pub refused: Option<(NoResult, Reason)>,
    /// What was allowed all the same: its numbers are doubtful.
    pub doubts: Vec<Finding>,
}

/// Holds every case against the target, by position of the case. `descriptors` is the limit of
/// open files, `allow` the checks that do not refuse. Where files are kept, each case finds less
/// room than the one before.
pub fn check(
    cases: &[Prepared],
    place: &Place,
    descriptors: u64,
    keep: bool,
    allow: &[String],
) -> Vec<Judged> {
    let mut available = available(place, descriptors);
    let judge = |case: &Prepared| {
        let Ok(plan) = &case.plan else { return Judged::default() };
        let needs = needs(plan);
        let mut judged = Judged::default();
        for shortage in short_of(&needs, &available).into_iter().chain(engine_limits(plan, &available)) {
            if allow.iter().any(|name| name == shortage.what) {
                judged.doubts.push(doubt(shortage));
            } else {
                judged.refused.get_or_insert_with(|| refusal(shortage));
            }
        }
        if keep && judged.refused.is_none() {
            available.free_bytes = available.free_bytes.saturating_sub(held(&needs));
        }
        judged
    };
    cases.iter().map(judge).collect()
}

fn refusal(shortage: Shortage) -> (NoResult, Reason) {
    let mut reason = Reason::new(shortage.message);
    reason.what_to_do = Some(format!("{}; --allow {} runs it all the same", shortage.help, shortage.what));
    (NoResult::Unsupported, reason)
}

fn doubt(shortage: Shortage) -> Finding {
    Finding { check: shortage.what.into(), doubt: true, message: shortage.message }
}

/// Bytes a case may hold on the target.
fn held(needs: &Needs) -> u64 {
    needs.bytes.peak.unwrap_or(0).max(needs.bytes.laid_out)
}

/// What there is. Where something cannot be found out it is taken to be enough.
pub fn available(place: &Place, descriptors: u64) -> Available {
    let root = Root::default();
    let memory = root.text("/proc/meminfo").and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?.to_string();
        line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let space = place.about.space_before;
    let number = |file: &str| root.text(file).and_then(|text| text.trim().parse::<u64>().ok());
    let (threads_max, threads_limit) = threads(&root);
    Available {
        free_bytes: space.map_or(u64::MAX, |space| space.free_bytes),
        free_inodes: space.and_then(|space| space.free_inodes).unwrap_or(u64::MAX),
        descriptor_limit: descriptors,
        memory: memory.unwrap_or(u64::MAX),
        threads_max,
        threads_limit,
        direct_alignment: place.about.direct_alignment_bytes,
        name_max: NAME_MAX,
        aio: number("/proc/sys/fs/aio-nr").zip(number("/proc/sys/fs/aio-max-nr")),
        // 1 keeps it to processes with CAP_SYS_ADMIN and to one group.
        io_uring_disabled: number("/proc/sys/kernel/io_uring_disabled")
            .filter(|n| *n >= 2 || *n == 1 && !is_root()),
    }
}

/// How many threads may be started, and which limit says so. A thread whose stack cannot be mapped
/// ends the whole program, so mappings count as well.
fn threads(root: &Root) -> (u64, String) {
    let number = |file: &str| root.text(file).and_then(|text| text.trim().parse::<u64>().ok());
    // Root may start more processes than its limit says.
    let processes = root.text("/proc/self/limits").filter(|_| !is_root()).and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Max processes"))?.to_string();
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    let limits = [
        number("/proc/sys/kernel/threads-max").map(|n| (n, format!("kernel.threads-max is {n}"))),
        number("/proc/sys/vm/max_map_count").map(|n| {
            let text = format!("max_map_count is {n}, a thread needs {MAPS_PER_THREAD}");
            (n / MAPS_PER_THREAD, text)
        }),
        processes.map(|n| (n, format!("the limit of processes, ulimit -u, is {n}"))),
    ];
    limits.into_iter().flatten().min_by_key(|(n, _)| *n).unwrap_or((u64::MAX, String::new()))
}

/// What all cases need, in words that follow their number.
pub fn described(cases: &[Prepared]) -> String {
    let plans = || cases.iter().filter_map(|case| Some((case, case.plan.as_ref().ok()?)));
    let all: Vec<(u64, Needs)> = plans().map(|(case, plan)| (least(case), needs(plan))).collect();
    let most = all.iter().map(|(_, needs)| held(needs)).max().unwrap_or(0);
    let mut out = format!(", up to {} on the target at once", needs::about(most));
    let open = all.iter().any(|(_, needs)| needs.bytes.peak.is_none());
    if open {
        out.push_str(" and what the run makes besides");
    }
    let seconds: f64 = all.iter().filter_map(|(n, needs)| Some(*n as f64 * needs.expected_seconds?)).sum();
    if seconds > 0.0 {
        let untimed =
            all.iter().any(|(_, needs)| !needs.untimed.is_empty() || needs.expected_seconds.is_none());
        let more = if untimed { " and what has no set time" } else { "" };
        out.push_str(&format!(
            ", at least {}{more}",
            format_duration(((seconds * 1e3).round() as u64).saturating_mul(1_000_000))
        ));
    }
    out
}

/// The fewest runs of a case.
fn least(case: &Prepared) -> u64 {
    match case.runs.policy {
        Policy::Exactly(n) | Policy::Pts { min: n } | Policy::Ci { min: n } => n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_threads_counts() {
        let dir = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let root = Root::at(dir.path());
        assert_eq!(threads(&root), (u64::MAX, String::new()));
        put("proc/sys/kernel/threads-max", "20000\n");
        assert_eq!(threads(&root), (20_000, "kernel.threads-max is 20000".into()));
        put("proc/sys/vm/max_map_count", "65530\n");
        assert_eq!(threads(&root).0, 13_106);
        assert_eq!(threads(&root).1, "max_map_count is 65530, a thread needs 5");
        put("proc/self/limits", "Max open files 9 9 files\nMax processes 700 900 processes\n");
        assert_eq!(threads(&root).0, if is_root() { 13_106 } else { 700 });
        put("proc/self/limits", "Max processes unlimited unlimited processes\n");
        assert_eq!(threads(&root).0, 13_106);
    }
}
