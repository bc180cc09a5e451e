//! Names and texts of error numbers.

use super::machine::Errno;

/// `ENOSPC`; `None` for a number this table does not know.
pub fn name(_errno: Errno) -> Option<&'static str> {
    None
}

/// `no space left on device`.
pub fn text(_errno: Errno) -> &'static str {
    "unknown error"
}

/// The number behind a name; `None` for a name this table does not know.
pub fn parse(_name: &str) -> Option<Errno> {
    None
}
