//! Holds what a plan needs against what a machine has, before the first byte is written.
//! Knows numbers on both sides; neither how they were found out nor what is done about it.

use super::instr::{Direct, EnginePlan, Plan};
use super::needs::{Needs, about};
use crate::os::engine_facts;
use crate::profile::units::format_size;

/// What the machine and the target have. Where something has no limit, the largest number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Available {
    /// Bytes an ordinary user may still write on the target.
    pub free_bytes: u64,
    /// Files that may still be made; file systems without a limit say 0 of 0, which the caller
    /// turns into the largest number.
    pub free_inodes: u64,
    /// Descriptors a process may have (`RLIMIT_NOFILE`).
    pub descriptor_limit: u64,
    /// Bytes of memory that may be used.
    pub memory: u64,
    /// Threads that may be started.
    pub threads_max: u64,
    /// What limits them, with its number.
    pub threads_limit: String,
    /// Bytes that direct lengths and offsets must be multiples of; `None` where it is unknown or
    /// there is no direct I/O.
    pub direct_alignment: Option<u64>,
    /// Longest name in bytes.
    pub name_max: u64,
    /// Requests of asynchronous I/O that are set aside already, and the most there may be
    /// (`fs.aio-nr` and `fs.aio-max-nr`); `None` where it is unknown.
    pub aio: Option<(u64, u64)>,
    /// Value of `kernel.io_uring_disabled` where it forbids rings to this process.
    pub io_uring_disabled: Option<u64>,
}

/// Something there is not enough of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// `space`, `inodes`, `descriptors`, `memory`, `threads`, `alignment`, `name`, `depth`,
    /// `direct`, `aio` or `io_uring`.
    pub what: &'static str,
    /// What the plan needs, in bytes or as a count.
    pub needs: u64,
    /// What there is, in the same unit.
    pub has: u64,
    /// With both numbers.
    pub message: String,
    /// What would be right.
    pub help: String,
}

/// Copy-on-write file systems need room for new versions of what is overwritten, and for their
/// own trees: so much more than the files, in percent and bytes.
const MARGIN: (u64, u64) = (5, 64 << 20);
/// Most threads one plan may start: more is a slip of the pen, and beyond what kernels number by
/// default (`pid_max` is 32768 on small machines, 4194304 at most).
const MOST_WORKERS: u64 = 100_000;

/// Everything the machine has too little of, in a fixed order.
pub fn check(needs: &Needs, available: &Available) -> Vec<Shortage> {
    let mut short = Vec::new();
    let mut hold = |what, needs: u64, has: u64, message: &dyn Fn() -> String, help: &str| {
        if needs > has {
            short.push(Shortage { what, needs, has, message: message(), help: help.into() });
        }
    };

    let bytes = needs.bytes.peak.unwrap_or(needs.bytes.laid_out).max(needs.bytes.laid_out);
    let margin = if bytes == 0 { 0 } else { (bytes / 100).saturating_mul(MARGIN.0).saturating_add(MARGIN.1) };
    let with_margin = bytes.saturating_add(margin);
    hold(
        "space",
        with_margin,
        available.free_bytes,
        &|| {
            format!(
                "needs {} ({} of files and {} to spare), {} free on the target",
                about(with_margin),
                about(bytes),
                about(margin),
                about(available.free_bytes)
            )
        },
        "free some space, choose another target, or make the files smaller or fewer",
    );

    let inodes = needs.inodes.peak.unwrap_or(needs.inodes.laid_out).max(needs.inodes.laid_out);
    hold(
        "inodes",
        inodes,
        available.free_inodes,
        &|| {
            format!("needs {inodes} files and directories, the target has room for {}", available.free_inodes)
        },
        "use fewer files, or a file system made with more inodes",
    );

    let descriptors = needs.descriptors_per_worker;
    hold(
        "descriptors",
        descriptors,
        available.descriptor_limit,
        &|| format!("needs {descriptors} open files a worker, the limit is {}", available.descriptor_limit),
        &format!("raise it (ulimit -n {descriptors}), or keep fewer files and directories open"),
    );

    let memory = needs.memory.total;
    hold(
        "memory",
        memory,
        available.memory,
        &|| format!("needs {} of memory for buffers, {} available", about(memory), about(available.memory)),
        "use fewer workers, smaller transfers or smaller sets in memory",
    );

    let threads = u64::from(needs.threads);
    let most = available.threads_max.min(MOST_WORKERS);
    let by = if available.threads_max <= MOST_WORKERS && !available.threads_limit.is_empty() {
        format!(" ({})", available.threads_limit)
    } else {
        String::new()
    };
    hold(
        "threads",
        threads,
        most,
        &|| format!("needs {threads} workers, at most {most} threads can be started{by}"),
        "use fewer workers",
    );

    hold(
        "name",
        needs.largest_name,
        available.name_max,
        &|| {
            format!(
                "needs names of {} bytes, the target takes up to {}",
                needs.largest_name, available.name_max
            )
        },
        "use shorter names",
    );

    if let (Some(step), Some(unit)) = (&needs.alignment, available.direct_alignment)
        && step.required
        && unit > 0
        && !step.bytes.is_multiple_of(unit)
    {
        short.push(Shortage {
            what: "alignment",
            needs: step.bytes,
            has: unit,
            message: format!(
                "direct transfers of {} are in multiples of {}, the target needs multiples of {}",
                step.place,
                format_size(step.bytes),
                format_size(unit)
            ),
            help: format!(
                "use sizes and offsets that are multiples of {}, or `direct: prefer`",
                format_size(unit)
            ),
        });
    }
    short
}

/// What the plan's engines cannot do, here or anywhere. What another engine of its `fallback` does
/// instead is no shortage.
pub fn engine_limits(plan: &Plan, available: &Available) -> Vec<Shortage> {
    let used = plan.engines_used().into_iter().filter_map(|index| plan.engines.get(index));
    let mut short: Vec<Shortage> = used.clone().flat_map(engine_limit).collect();
    let alone = |name: &str| {
        used.clone()
            .filter(move |engine| engine.name == name && engine.fallback.is_empty())
            .collect::<Vec<_>>()
    };
    let slots =
        alone("libaio").iter().map(|engine| u64::from(engine.depth)).sum::<u64>() * u64::from(plan.workers);
    if let Some((taken, most)) = available.aio
        && slots > most.saturating_sub(taken)
    {
        let left = most.saturating_sub(taken);
        short.push(Shortage {
            what: "aio",
            needs: slots,
            has: left,
            message: format!(
                "needs {slots} slots of asynchronous I/O (workers x depth), {left} are left \
                 (fs.aio-nr {taken} of fs.aio-max-nr {most})"
            ),
            help: format!(
                "raise it (sysctl fs.aio-max-nr={}), use a smaller depth or fewer workers, or name engines to \
                 take instead: `fallback: [io_uring, sync]`",
                taken.saturating_add(slots).max(1 << 20)
            ),
        });
    }
    if let (Some(value), false) = (available.io_uring_disabled, alone("io_uring").is_empty()) {
        short.push(Shortage {
            what: "io_uring",
            needs: 1,
            has: 0,
            message: format!("needs io_uring, kernel.io_uring_disabled is {value}"),
            help: "allow it (sysctl kernel.io_uring_disabled=0), or name engines to take instead: \
                   `fallback: [libaio, sync]`"
                .into(),
        });
    }
    short
}

fn engine_limit(engine: &EnginePlan) -> Vec<Shortage> {
    let EnginePlan { name, depth, direct, fallback } = engine;
    let mut short = Vec::new();
    for name in std::iter::once(name).chain(fallback) {
        let Some(facts) = engine_facts(name) else { continue };
        let queue = facts.max_depth > 1;
        // An engine that is a way out without a queue is told to go one at a time.
        if *depth > facts.max_depth && (queue || !fallback.contains(name)) {
            let has = match queue {
                true => format!("at most {}", facts.max_depth),
                false => "1 at a time".into(),
            };
            short.push(Shortage {
                what: "depth",
                needs: u64::from(*depth),
                has: u64::from(facts.max_depth),
                message: format!("asks for {depth} transfers in flight, engine {name} has {has}"),
                help: match queue {
                    true => "use a smaller depth, or more workers".into(),
                    false => "use engine libaio or io_uring, or `depth: 1` and more workers".into(),
                },
            });
        }
        if *direct == Direct::Require && !facts.direct {
            short.push(Shortage {
                what: "direct",
                needs: 1,
                has: 0,
                message: format!("asks for direct I/O, engine {name} works on the page cache itself"),
                help: "use another engine, or `direct: never`".into(),
            });
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::instr::*;
    use crate::plan::needs::{Granularity, Held, Memory};
    use crate::plan::sketch::Sketch;

    fn needs() -> Needs {
        Needs {
            bytes: Held { laid_out: 100 << 30, peak: Some(200 << 30) },
            drawn: false,
            written: None,
            written_at_most: false,
            inodes: Held { laid_out: 10, peak: Some(1000) },
            descriptors_per_worker: 1040,
            descriptors_total: 4160,
            memory: Memory { per_worker: 4 << 20, shared: 0, total: 16 << 20 },
            threads: 2000,
            largest_name: 255,
            alignment: Some(Granularity {
                bytes: 512,
                place: "phases[0].steps[0].write".into(),
                required: true,
            }),
            expected_seconds: None,
            untimed: vec![],
            root_wanted: vec![],
        }
    }

    fn plenty() -> Available {
        Available {
            free_bytes: 1 << 40,
            free_inodes: 1000,
            descriptor_limit: 1040,
            memory: 16 << 20,
            threads_max: 30_000,
            threads_limit: String::new(),
            direct_alignment: Some(512),
            name_max: 255,
            aio: Some((0, 65_536)),
            io_uring_disabled: None,
        }
    }

    #[test]
    fn enough_is_enough() {
        assert_eq!(check(&needs(), &plenty()), []);
        // Exactly the margin.
        let bytes: u64 = 200 << 30;
        let exactly = bytes + bytes / 100 * 5 + (64 << 20);
        assert_eq!(check(&needs(), &Available { free_bytes: exactly, ..plenty() }), []);
        let short = check(&needs(), &Available { free_bytes: exactly - 1, ..plenty() });
        assert_eq!(short.len(), 1);
        assert_eq!((short[0].needs, short[0].has), (exactly, exactly - 1));
    }

    #[test]
    fn every_shortage_holds_both_numbers() {
        let little = Available {
            free_bytes: 180 << 30,
            free_inodes: 999,
            descriptor_limit: 1024,
            memory: 8 << 20,
            threads_max: 1000,
            threads_limit: "vm.max_map_count is 5000".into(),
            direct_alignment: Some(4096),
            name_max: 143,
            ..plenty()
        };
        let messages: Vec<String> = check(&needs(), &little).into_iter().map(|s| s.message).collect();
        assert_eq!(
            messages,
            [
                "needs 210 GiB (200 GiB of files and 10.1 GiB to spare), 180 GiB free on the target",
                "needs 1000 files and directories, the target has room for 999",
                "needs 1040 open files a worker, the limit is 1024",
                "needs 16 MiB of memory for buffers, 8 MiB available",
                "needs 2000 workers, at most 1000 threads can be started (vm.max_map_count is 5000)",
                "needs names of 255 bytes, the target takes up to 143",
                "direct transfers of phases[0].steps[0].write are in multiples of 512, the target needs multiples of 4KiB",
            ]
        );
    }

    #[test]
    fn workers_have_a_bound_of_their_own() {
        let endless = Available { threads_max: u64::MAX, ..plenty() };
        let many = |threads| Needs { threads, ..needs() };
        assert_eq!(check(&many(100_000), &endless), []);
        assert_eq!(
            check(&many(100_001), &endless)[0].message,
            "needs 100001 workers, at most 100000 threads can be started"
        );
    }

    #[test]
    fn preferred_direct_transfers_need_no_alignment() {
        let mut needs = needs();
        needs.alignment.as_mut().unwrap().required = false;
        assert_eq!(check(&needs, &Available { direct_alignment: Some(4096), ..plenty() }), []);
    }

    #[test]
    fn queues_need_an_engine_that_has_one() {
        let with = |name: &str, depth| {
            let mut plan = Sketch::new(1).plan;
            plan.engines[0] = EnginePlan { name: name.into(), depth, ..EnginePlan::sync() };
            engine_limits(&plan, &plenty())
        };
        for engine in ["sync", "mmap", "sqlite"] {
            let short = with(engine, 64);
            assert_eq!(
                short[0].message,
                format!("asks for 64 transfers in flight, engine {engine} has 1 at a time")
            );
            assert_eq!(with(engine, 1), []);
        }
        assert_eq!(with("libaio", 64), []);
        assert_eq!(with("io_uring", 64), []);
        assert_eq!(
            with("io_uring", 40_000)[0].message,
            "asks for 40000 transfers in flight, engine io_uring has at most 32768"
        );
    }

    #[test]
    fn a_mapping_is_never_direct() {
        let mut plan = Sketch::new(1).plan;
        plan.engines[0] = EnginePlan { name: "mmap".into(), direct: Direct::Require, ..EnginePlan::sync() };
        assert_eq!(
            engine_limits(&plan, &plenty())[0].message,
            "asks for direct I/O, engine mmap works on the page cache itself"
        );
        plan.engines[0] = EnginePlan {
            name: "io_uring".into(),
            depth: 8,
            fallback: vec!["sync".into()],
            ..EnginePlan::sync()
        };
        assert_eq!(engine_limits(&plan, &plenty()), [], "the way out goes one at a time");
    }

    #[test]
    fn slots_of_asynchronous_io_are_counted_against_what_is_left() {
        let mut plan = Sketch::new(8).plan;
        plan.engines[0] = EnginePlan { name: "libaio".into(), depth: 64, ..EnginePlan::sync() };
        let left = |taken| Available { aio: Some((taken, 65_536)), ..plenty() };
        assert_eq!(engine_limits(&plan, &left(65_024)), []);
        let short = engine_limits(&plan, &left(65_025));
        assert_eq!(
            short[0].message,
            "needs 512 slots of asynchronous I/O (workers x depth), 511 are left \
             (fs.aio-nr 65025 of fs.aio-max-nr 65536)"
        );
        assert_eq!((short[0].needs, short[0].has), (512, 511));
        plan.engines[0].fallback = vec!["sync".into()];
        assert_eq!(engine_limits(&plan, &left(65_536)), [], "another engine is taken then");
    }

    #[test]
    fn rings_that_are_forbidden_are_said_to_be() {
        let mut plan = Sketch::new(1).plan;
        plan.engines[0] = EnginePlan { name: "io_uring".into(), depth: 4, ..EnginePlan::sync() };
        let forbidden = Available { io_uring_disabled: Some(2), ..plenty() };
        assert_eq!(
            engine_limits(&plan, &forbidden)[0].message,
            "needs io_uring, kernel.io_uring_disabled is 2"
        );
        plan.engines[0].name = "libaio".into();
        assert_eq!(engine_limits(&plan, &forbidden), []);
    }
}
