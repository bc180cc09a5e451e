//! A mistake in a file: what, where, and what would be right.

use std::ops::Range;

use super::node::Place;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Additional information.
    Note,
    /// The file works, perhaps not as meant.
    Warning,
    /// The file cannot be used.
    Error,
}

/// One finding about a profile or suite. Messages are lower-case, name the thing, and the help
/// says what would be right.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Stable kebab-case name of the kind of mistake, for example `unknown-key`.
    pub code: &'static str,
    /// Where; `None` for a mistake of the whole command.
    pub place: Option<Place>,
    /// Whether the key of the value is meant rather than the value.
    pub on_key: bool,
    /// Bytes within the scalar that are meant (for expressions); `None` means all of it.
    pub part: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// Lines of help: what is allowed, the nearest right name.
    pub help: Vec<String>,
}

impl Diagnostic {
    /// A mistake that keeps the file from being used.
    pub fn error(code: &'static str, place: &Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            place: Some(place.clone()),
            on_key: false,
            part: None,
            message: message.into(),
            help: Vec::new(),
        }
    }

    /// A finding that does not keep the file from being used.
    pub fn warning(code: &'static str, place: &Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, place, message) }
    }

    /// Additional information about a place.
    pub fn note(code: &'static str, place: &Place, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Note, ..Diagnostic::error(code, place, message) }
    }

    /// A mistake that stands in no file.
    pub fn general(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code,
            place: None,
            on_key: false,
            part: None,
            message: message.into(),
            help: Vec::new(),
        }
    }

    /// Points at the key instead of the value.
    pub fn at_key(mut self) -> Diagnostic {
        self.on_key = true;
        self
    }

    /// Narrows the place down to these bytes of the scalar.
    pub fn part(mut self, part: Range<usize>) -> Diagnostic {
        self.part = Some(part);
        self
    }

    /// Adds a line of help.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help.push(help.into());
        self
    }
}

/// How many mistakes of one file are listed: placing each reads the file once more.
pub const MOST_LISTED: usize = 100;

/// Cuts a list of mistakes of one file to [`MOST_LISTED`] and says so.
pub fn cut(found: &mut Vec<Diagnostic>) {
    if found.len() > MOST_LISTED {
        found.truncate(MOST_LISTED);
        found.push(Diagnostic {
            severity: Severity::Note,
            ..Diagnostic::general("more", format!("only the first {MOST_LISTED} mistakes are listed"))
        });
    }
}

/// What a step of loading gives: a value with perhaps some warnings, or every mistake found.
pub type Checked<T> = Result<(T, Vec<Diagnostic>), Vec<Diagnostic>>;
