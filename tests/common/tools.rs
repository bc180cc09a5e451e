//! Finding the original programs, and saying loudly when a test cannot run.
//!
//! Knows nothing of what the programs do.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Names the file that collects one `NAME: REASON` line per skipped test.
const SKIP_LIST: &str = "IOSCORE_SKIPS";
/// Set to `1` where every program must be there: a skip is then a failure.
const NO_SKIP: &str = "IOSCORE_NO_SKIP";
/// Administrators' programs are often left out of a user's `PATH`.
const ALSO: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// The longest directory fs_mark takes, in bytes ("path < 40"), less room for one short component.
const SHORT_PATH: usize = 34;

/// Where `program` is, if it is installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(ALSO.iter().map(PathBuf::from));
    places.map(|place| place.join(program)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// All of `programs`, in that order; or none after telling that `test` is skipped for want of one.
pub fn need<const N: usize>(test: &str, programs: [&str; N]) -> Option<[PathBuf; N]> {
    let found = programs.map(find);
    if let Some(at) = found.iter().position(Option::is_none) {
        skip(test, &format!("{} is not installed", programs[at]));
        return None;
    }
    Some(found.map(Option::unwrap_or_default))
}

/// Says that `test` did not run and why; the caller returns right after.
///
/// # Panics
/// With `IOSCORE_NO_SKIP=1` in the environment.
pub fn skip(test: &str, reason: &str) {
    let list = skip_list();
    // Straight to the stream: the test runner swallows what the print macros of a passing test say.
    let no_skip = std::env::var_os(NO_SKIP);
    skip_into(&mut std::io::stderr(), test, reason, Some(&list), no_skip.as_deref());
}

/// The file that collects skips: what `IOSCORE_SKIPS` names, or one in the build directory that the
/// last of the tests reads and removes.
pub fn skip_list() -> PathBuf {
    let named = std::env::var_os(SKIP_LIST).filter(|name| !name.is_empty());
    named.map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("skipped"), PathBuf::from)
}

/// [`skip`] with its surroundings given: where to say it, the file to append to, the value of
/// `IOSCORE_NO_SKIP`.
pub fn skip_into(
    say: &mut dyn Write,
    test: &str,
    reason: &str,
    list: Option<&Path>,
    no_skip: Option<&OsStr>,
) {
    // One write a line, so that tests running side by side do not mix theirs.
    say.write_all(format!("skipped: {test}: {reason}\n").as_bytes()).expect("a skip can be told");
    if let Some(file) = list {
        let mut file =
            OpenOptions::new().create(true).append(true).open(file).expect("the list of skips opens");
        file.write_all(format!("{test}: {reason}\n").as_bytes()).expect("the list of skips takes a line");
    }
    assert!(no_skip != Some(OsStr::new("1")), "{test} may not be skipped ({NO_SKIP}=1): {reason}");
}

/// An empty directory, gone when dropped, with a path short enough for every original.
pub fn scratch() -> tempfile::TempDir {
    let usual = std::env::temp_dir().canonicalize().expect("the temporary directory exists");
    let place =
        if usual.as_os_str().len() + "/io-XXXXXX".len() <= SHORT_PATH { usual } else { "/dev/shm".into() };
    tempfile::Builder::new().prefix("io-").tempdir_in(place).expect("a temporary directory can be made")
}
