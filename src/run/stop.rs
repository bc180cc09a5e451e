//! Signals that end a run: the first asks, the second ends the program at once.
//!
//! A signal is often delivered twice, to the program and to its process group (`timeout` does so):
//! one that comes right behind the first is taken for the same.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level::pipe};

/// Exit code of a run that was ended by the user or a signal.
pub const EXIT_INTERRUPTED: u8 = 130;
/// A second signal within this time is the first one again.
const SAME: Duration = Duration::from_millis(300);

/// Whether the run should end.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Catches SIGINT, SIGTERM and SIGHUP. A hang-up that whoever started the program asked to
    /// ignore (`nohup`) stays ignored.
    ///
    /// # Errors
    /// What `sigaction(2)` says; where the thread that tells the second signal from the first
    /// cannot be started.
    pub fn install() -> io::Result<Stop> {
        let stop = Stop::default();
        let (first, tell) = UnixStream::pair()?;
        let armed = Arc::new(AtomicBool::new(false));
        let arm = Arc::clone(&armed);
        std::thread::Builder::new().name("signals".into()).spawn(move || arm_after(first, &arm, SAME))?;
        let mut signals = vec![SIGINT, SIGTERM];
        if !ignored(SIGHUP) {
            signals.push(SIGHUP);
        }
        for signal in signals {
            flag::register_conditional_shutdown(signal, i32::from(EXIT_INTERRUPTED), Arc::clone(&armed))?;
            flag::register(signal, Arc::clone(&stop.0))?;
            pipe::register(signal, tell.try_clone()?)?;
        }
        Ok(stop)
    }

    /// Whether to end as soon as possible.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// As a signal does.
    pub fn request(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Waits for the first byte and sets the flag some time after it. Without one, never.
fn arm_after(mut first: UnixStream, armed: &AtomicBool, span: Duration) {
    if first.read_exact(&mut [0]).is_ok() {
        std::thread::sleep(span);
        armed.store(true, Ordering::Release);
        // Later signals write on: there must be somebody at the other end, or SIGPIPE comes.
        let _ = io::copy(&mut first, &mut io::sink());
    }
}

/// Whether this process ignores a signal, by the mask in `/proc/self/status`.
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_what_comes_after_the_first_signal_and_a_while_ends_at_once() {
        let arm = |bytes: &[u8]| {
            let (first, mut tell) = UnixStream::pair().unwrap();
            tell.write_all(bytes).unwrap();
            drop(tell);
            let armed = AtomicBool::new(false);
            arm_after(first, &armed, Duration::ZERO);
            armed.into_inner()
        };
        assert!(!arm(b""));
        assert!(arm(b"x"));
        assert!(arm(b"xx"));
    }
}
