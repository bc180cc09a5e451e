//! The clock of a run: nanoseconds, the same for all workers.
//!
//! The processor's time stamp counter where both the kernel and the processor vouch for it,
//! calibrated at the start against the monotonic clock; the monotonic clock itself elsewhere.
//! The counter of another core may be a few nanoseconds behind: whoever subtracts two times
//! must let the result stop at zero. Nothing here knows what is timed.

use crate::os::machine::Nanos;
use std::time::Duration;

const NANOS: u64 = 1_000_000_000;
/// How long the counter is calibrated: readings are exact to some 30 ns at both ends, which
/// over 5 ms is about 10 parts in a million.
const CALIBRATION: Nanos = 5_000_000;

#[derive(Clone, Copy, Debug)]
enum Source {
    /// Nanoseconds are `(ticks - base) * mult / 2^32 + start`.
    Counter {
        base: u64,
        mult: u64,
    },
    Monotonic,
}

/// Tells the time. Made once; every worker has a copy at hand.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// What the monotonic clock said when this clock was at `start`.
    start: Nanos,
}

/// How far a clock has moved away from the monotonic clock since it was made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drift {
    /// Nanoseconds ahead (positive) or behind.
    pub ahead: i64,
    /// Nanoseconds over which it was observed.
    pub over: Nanos,
}

impl Drift {
    /// Nanoseconds a millisecond, in a thousand: parts in a million. 0 before any time has passed.
    pub fn parts_per_million(&self) -> f64 {
        if self.over == 0 { 0.0 } else { self.ahead as f64 * 1e6 / self.over as f64 }
    }
}

/// Local time minus UTC in seconds, now, as the C library knows it; `None` where it does not say.
pub fn utc_offset_seconds() -> Option<i64> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let seconds = libc::time_t::try_from(now.as_secs()).ok()?;
    let mut parts = std::mem::MaybeUninit::<libc::tm>::zeroed();
    // SAFETY: both pointers are valid through the call, which fills the structure; its zeroed form
    // is valid as well, and a null result says that it was not filled.
    let parts = unsafe {
        if libc::localtime_r(&seconds, parts.as_mut_ptr()).is_null() {
            return None;
        }
        parts.assume_init()
    };
    Some(parts.tm_gmtoff)
}

impl Clock {
    /// The best clock of this machine. Takes a few milliseconds.
    pub fn new() -> Clock {
        if counter::trusted() { Clock::calibrate() } else { Clock::monotonic() }
    }

    /// The monotonic clock, whatever the machine has.
    pub fn monotonic() -> Clock {
        Clock { source: Source::Monotonic, start: monotonic() }
    }

    fn calibrate() -> Clock {
        let (first_ticks, first) = reading();
        while monotonic() < first + CALIBRATION {
            std::hint::spin_loop();
        }
        let (ticks, now) = reading();
        let (ticks, nanos) = (ticks.saturating_sub(first_ticks), now.saturating_sub(first));
        // A counter between 1 MHz and 1 THz; anything else is no clock.
        match (u128::from(nanos) << 32).checked_div(u128::from(ticks)) {
            Some(mult) if ticks / CALIBRATION <= 1000 && mult >> 42 == 0 => {
                Clock { source: Source::Counter { base: first_ticks, mult: mult as u64 }, start: first }
            }
            _ => Clock::monotonic(),
        }
    }

    /// Nanoseconds, counted as the monotonic clock counts them.
    #[inline(always)]
    pub fn now(&self) -> Nanos {
        match self.source {
            Source::Counter { base, mult } => self.start + scale(counter::read().wrapping_sub(base), mult),
            Source::Monotonic => monotonic(),
        }
    }

    /// `tsc` or `clock_monotonic`, for the record.
    pub fn name(&self) -> &'static str {
        match self.source {
            Source::Counter { .. } => "tsc",
            Source::Monotonic => "clock_monotonic",
        }
    }

    /// Compares with the monotonic clock; worth a call at the end of a run.
    pub fn check(&self) -> Drift {
        let (own, now) = match self.source {
            Source::Counter { base, mult } => {
                let (ticks, now) = reading();
                (self.start + scale(ticks.wrapping_sub(base), mult), now)
            }
            Source::Monotonic => {
                let now = monotonic();
                (now, now)
            }
        };
        Drift { ahead: own.wrapping_sub(now) as i64, over: now.saturating_sub(self.start) }
    }

    /// What one reading costs in nanoseconds: the best of several rounds, as other programs on
    /// the machine can only add to it.
    pub fn measure_cost(&self) -> f64 {
        const READINGS: u32 = 1000;
        let round = || {
            let start = monotonic();
            for _ in 0..READINGS {
                std::hint::black_box(self.now());
            }
            monotonic().saturating_sub(start)
        };
        let best = (0..20).map(|_| round()).min().unwrap_or(0);
        best as f64 / f64::from(READINGS)
    }

    /// Sleeps until this clock shows `time`. The kernel sleeps by its own clock, so this asks
    /// again until ours agrees.
    pub fn sleep_until(&self, time: Nanos) {
        loop {
            let left = time.saturating_sub(self.now());
            if left == 0 {
                return;
            }
            std::thread::sleep(Duration::from_nanos(left));
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::new()
    }
}

/// `ticks * mult / 2^32` without losing the upper bits.
#[inline]
fn scale(ticks: u64, mult: u64) -> u64 {
    ((u128::from(ticks) * u128::from(mult)) >> 32) as u64
}

/// `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
fn monotonic() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure lives through the call; this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    // The fields' types differ between processors.
    #[allow(clippy::unnecessary_cast)]
    let nanos = time.tv_sec as u64 * NANOS + time.tv_nsec as u64;
    nanos
}

/// The counter and the monotonic clock at one moment: the narrowest of several tries.
fn reading() -> (u64, Nanos) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..16 {
        let before = counter::read();
        let now = monotonic();
        let width = counter::read().wrapping_sub(before);
        if width < best.0 {
            best = (width, before.wrapping_add(width / 2), now);
        }
    }
    (best.1, best.2)
}

#[cfg(target_arch = "x86_64")]
mod counter {
    /// The time stamp counter. Not ordered with the code around it: between two system calls a
    /// few instructions earlier or later do not show, and a fence would cost as much again.
    #[inline(always)]
    pub fn read() -> u64 {
        // SAFETY: every processor of this architecture has the instruction.
        unsafe { core::arch::x86_64::_rdtsc() }
    }

    /// Whether the kernel uses the counter as its clock and the processor says that it runs at
    /// one rate in every state.
    pub fn trusted() -> bool {
        const KERNEL: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        std::fs::read_to_string(KERNEL).is_ok_and(|name| name.trim() == "tsc") && invariant()
    }

    /// CPUID leaf 0x8000_0007, EDX bit 8 (AMD and Intel manuals: "invariant TSC").
    #[allow(unused_unsafe)] // newer compilers know that the instruction is always there
    fn invariant() -> bool {
        // SAFETY: every processor of this architecture has the instruction.
        let leaf = |number| unsafe { core::arch::x86_64::__cpuid(number) };
        leaf(0x8000_0000).eax >= 0x8000_0007 && leaf(0x8000_0007).edx & (1 << 8) != 0
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    /// Always 0: no counter is read here.
    pub fn read() -> u64 {
        0
    }

    /// Elsewhere the monotonic clock reads the processor's counter itself, without a system call.
    pub fn trusted() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> [Clock; 2] {
        [Clock::new(), Clock::monotonic()]
    }

    #[test]
    fn never_goes_back_and_follows_the_monotonic_clock() {
        for clock in all() {
            let mut last = clock.now();
            for _ in 0..10_000 {
                let now = clock.now();
                assert!(now >= last.saturating_sub(1000), "{} went back", clock.name());
                last = now;
            }
            let drift = clock.check();
            assert!(drift.over > 0);
            // A wrong multiplier would be off by percents.
            assert!(drift.ahead.unsigned_abs() < drift.over / 50 + 20_000, "{} {drift:?}", clock.name());
        }
    }

    #[test]
    fn sleeps_until_its_own_time() {
        for clock in all() {
            let time = clock.now() + 2_000_000;
            clock.sleep_until(time);
            assert!(clock.now() >= time, "{}", clock.name());
            clock.sleep_until(0);
        }
    }

    #[test]
    fn knows_its_cost() {
        for clock in all() {
            let cost = clock.measure_cost();
            assert!(cost > 0.0 && cost < 100_000.0, "{} {cost}", clock.name());
        }
    }

    #[test]
    fn scales_without_overflow() {
        // A 4 GHz counter after 100 years.
        let ticks = 4 * 100 * 365 * 86_400 * NANOS;
        assert_eq!(scale(ticks, 1 << 30), ticks / 4);
        assert_eq!(scale(0, u64::MAX), 0);
        assert_eq!(scale(u64::MAX, 1 << 32), u64::MAX);
    }
}
