//! Where text goes: data to the standard output, messages to the error output; and exit codes.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::profile::diagnostic::Diagnostic;
use crate::profile::library::Library;
use crate::profile::render::render;
use crate::record::StoreError;

/// Some case failed or is unsupported.
pub const EXIT_FAILED: u8 = 1;
/// A profile, suite or command line is wrong.
pub const EXIT_WRONG: u8 = 2;
/// The target, or the place for results, cannot be used.
pub const EXIT_TARGET: u8 = 3;

/// The exit code of a command, or why it could not do its work.
pub type Outcome = Result<u8, Failure>;

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    /// Shown on the error output; empty where everything has been said.
    text: String,
}

impl Failure {
    /// The command line is wrong.
    pub fn wrong(text: impl Into<String>) -> Failure {
        Failure { code: EXIT_WRONG, text: format!("error: {}", text.into()) }
    }

    /// The machine does not let us.
    pub fn target(text: impl Into<String>) -> Failure {
        Failure { code: EXIT_TARGET, text: format!("error: {}", text.into()) }
    }

    /// Mistakes in files, shown with their places.
    pub fn found(problems: &[Diagnostic], library: &Library) -> Failure {
        Failure { code: EXIT_WRONG, text: render(problems, &library.sources(), true).trim_end().to_string() }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        match &error {
            StoreError::Io { .. } | StoreError::Busy(_) => Failure::target(error.to_string()),
            _ => Failure::wrong(error.to_string()),
        }
    }
}

/// Shows why, and gives the exit code.
pub fn fail(failure: Failure) -> ExitCode {
    if !failure.text.is_empty() {
        say(&failure.text);
    }
    ExitCode::from(failure.code)
}

/// A message. Colour is taken out where the error output is no terminal.
pub fn say(text: &str) {
    // Nobody is left to hear that messages cannot be written.
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// Warnings and notes of files.
pub fn say_found(problems: &[Diagnostic], library: &Library) {
    if !problems.is_empty() {
        say(render(problems, &library.sources(), true).trim_end());
    }
}

/// Data. A reader that has seen enough ends the program quietly.
pub fn data(bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes.as_ref()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Err(Failure { code: 0, text: String::new() })
        }
        Err(error) => Err(Failure::target(format!("writing to the standard output: {error}"))),
    }
}

/// Data into a file, or to the standard output where none is named. The file is whole or not there.
pub fn data_to(file: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    let Some(path) = file.filter(|path| *path != Path::new("-")) else { return data(bytes) };
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.draft", std::process::id()));
    let draft = PathBuf::from(draft);
    let written = std::fs::write(&draft, bytes).and_then(|()| std::fs::rename(&draft, path));
    written.map_err(|error| {
        let _ = std::fs::remove_file(&draft);
        Failure::target(format!("writing {}: {error}", path.display()))
    })
}

/// The width of the terminal, where the shell says it.
pub fn width() -> Option<u16> {
    use std::io::IsTerminal;
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|_| io::stdout().is_terminal())
}
