//! Signals that end a run: the first asks, the second ends the program at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

/// Exit code of a run that was ended by the user or a signal.
pub const EXIT_INTERRUPTED: u8 = 130;

/// Whether the run should end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Catches SIGINT, SIGTERM and SIGHUP. A hang-up that whoever started the program asked to
    /// ignore (`nohup`) stays ignored.
    ///
    /// # Errors
    /// What `sigaction(2)` says.
    pub fn install() -> io::Result<Stop> {
        let stop = Stop::default();
        let mut signals = vec![SIGINT, SIGTERM];
        if !ignored(SIGHUP) {
            signals.push(SIGHUP);
        }
        for signal in signals {
            // In this order: the second signal finds the flag set.
            flag::register_conditional_shutdown(signal, i32::from(EXIT_INTERRUPTED), Arc::clone(&stop.0))?;
            flag::register(signal, Arc::clone(&stop.0))?;
        }
        Ok(stop)
    }

    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// As a signal does.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Whether this process ignores a signal, by the mask in `/proc/self/status`.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}
