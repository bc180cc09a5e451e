//! Tests that could not be made here say so, and are counted with those of `tests/`.

use std::io::Write;
use std::path::PathBuf;

/// Says that a test, or a part of one, did not run.
///
/// # Panics
/// With `IOSCORE_NO_SKIP=1` in the environment: where everything must be there, a skip is a failure.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Straight to the stream: the test runner swallows what the print macros of a passing test say.
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {reason}");
    let named = std::env::var_os("IOSCORE_SKIPS").filter(|n| !n.is_empty()).map(PathBuf::from);
    // target/debug/deps/ioscore-0123 and target/tmp, where cargo's integration tests write.
    let usual =
        std::env::current_exe().ok().and_then(|exe| Some(exe.ancestors().nth(3)?.join("tmp/skipped")));
    if let Some(list) = named.or(usual)
        && let Ok(mut list) = std::fs::OpenOptions::new().create(true).append(true).open(list)
    {
        let _ = writeln!(list, "{test}: {reason}");
    }
    assert!(
        std::env::var_os("IOSCORE_NO_SKIP").is_none_or(|v| v != "1"),
        "{test} may not be skipped: {reason}"
    );
}
