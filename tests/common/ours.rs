//! The program under test, run under strace.

use std::ffi::OsString;
use std::path::Path;

use super::strace::{Run, Trace};

/// Runs one case once with these parameters, its phases marked, under `dir`, which must be empty.
///
/// # Panics
/// When it fails.
pub fn trace(strace: &Path, dir: &Path, what: &str, sets: &[(&str, &str)], more: &[&str]) -> Trace {
    let (target, out) = (dir.join("t"), dir.join("o"));
    std::fs::create_dir_all(&target).expect("the target is made");
    let mut args: Vec<OsString> = vec!["run".into(), what.into()];
    args.extend(["--target".into(), target.into(), "--out".into(), out.into()]);
    args.extend(["--runs", "1", "--mark", "--quiet"].map(Into::into));
    args.extend(sets.iter().flat_map(|(name, value)| ["--set".into(), format!("{name}={value}").into()]));
    args.extend(more.iter().map(Into::into));
    Run::new(Path::new(env!("CARGO_BIN_EXE_ioscore")), args, dir).trace(strace)
}
