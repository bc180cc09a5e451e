//! What a database answers when it cannot do what it was told. Knows the names of SQLite's result
//! codes, not how they come about.

use super::machine::Errno;
use std::fmt;

/// A statement, an opening or a closing that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SqlError {
    /// SQLite's extended result code.
    pub code: i32,
    /// What SQLite says of it, or why it was denied.
    pub message: String,
    /// The system's error behind it, where SQLite tells.
    pub errno: Option<Errno>,
}

/// What a database answers: nothing, or the error. Boxed: it is rare.
pub type SqlCall<T> = Result<T, Box<SqlError>>;

/// The result code for a statement that was told to stop.
pub const INTERRUPT: i32 = 9;
/// The result code for a call of the system that failed.
pub const IOERR: i32 = 10;
/// The result code for a disk without room.
pub const FULL: i32 = 13;
/// The result code for a file that cannot be opened.
pub const CANTOPEN: i32 = 14;
/// The result code for what is not allowed.
pub const AUTH: i32 = 23;

/// Primary result codes; an extended one holds its primary one in the low byte.
/// <https://sqlite.org/rescode.html>
const PRIMARY: &[(i32, &str)] = &[
    (1, "SQLITE_ERROR"),
    (2, "SQLITE_INTERNAL"),
    (3, "SQLITE_PERM"),
    (4, "SQLITE_ABORT"),
    (5, "SQLITE_BUSY"),
    (6, "SQLITE_LOCKED"),
    (7, "SQLITE_NOMEM"),
    (8, "SQLITE_READONLY"),
    (INTERRUPT, "SQLITE_INTERRUPT"),
    (IOERR, "SQLITE_IOERR"),
    (11, "SQLITE_CORRUPT"),
    (12, "SQLITE_NOTFOUND"),
    (FULL, "SQLITE_FULL"),
    (CANTOPEN, "SQLITE_CANTOPEN"),
    (15, "SQLITE_PROTOCOL"),
    (16, "SQLITE_EMPTY"),
    (17, "SQLITE_SCHEMA"),
    (18, "SQLITE_TOOBIG"),
    (19, "SQLITE_CONSTRAINT"),
    (20, "SQLITE_MISMATCH"),
    (21, "SQLITE_MISUSE"),
    (22, "SQLITE_NOLFS"),
    (AUTH, "SQLITE_AUTH"),
    (24, "SQLITE_FORMAT"),
    (25, "SQLITE_RANGE"),
    (26, "SQLITE_NOTADB"),
];

/// Extended result codes that say more than their primary one does: number within the primary
/// one, name.
const EXTENDED: &[(i32, i32, &str)] = &[
    (10, 1, "SQLITE_IOERR_READ"),
    (10, 2, "SQLITE_IOERR_SHORT_READ"),
    (10, 3, "SQLITE_IOERR_WRITE"),
    (10, 4, "SQLITE_IOERR_FSYNC"),
    (10, 5, "SQLITE_IOERR_DIR_FSYNC"),
    (10, 6, "SQLITE_IOERR_TRUNCATE"),
    (10, 7, "SQLITE_IOERR_FSTAT"),
    (10, 8, "SQLITE_IOERR_UNLOCK"),
    (10, 9, "SQLITE_IOERR_RDLOCK"),
    (10, 10, "SQLITE_IOERR_DELETE"),
    (10, 12, "SQLITE_IOERR_NOMEM"),
    (10, 13, "SQLITE_IOERR_ACCESS"),
    (10, 15, "SQLITE_IOERR_LOCK"),
    (10, 16, "SQLITE_IOERR_CLOSE"),
    (10, 18, "SQLITE_IOERR_SHMOPEN"),
    (10, 19, "SQLITE_IOERR_SHMSIZE"),
    (10, 20, "SQLITE_IOERR_SHMLOCK"),
    (10, 21, "SQLITE_IOERR_SHMMAP"),
    (10, 24, "SQLITE_IOERR_MMAP"),
    (14, 2, "SQLITE_CANTOPEN_ISDIR"),
    (14, 3, "SQLITE_CANTOPEN_FULLPATH"),
    (14, 6, "SQLITE_CANTOPEN_SYMLINK"),
    (8, 2, "SQLITE_READONLY_CANTLOCK"),
    (8, 4, "SQLITE_READONLY_DBMOVED"),
    (8, 6, "SQLITE_READONLY_DIRECTORY"),
    (19, 1, "SQLITE_CONSTRAINT_CHECK"),
    (19, 3, "SQLITE_CONSTRAINT_FOREIGNKEY"),
    (19, 5, "SQLITE_CONSTRAINT_NOTNULL"),
    (19, 6, "SQLITE_CONSTRAINT_PRIMARYKEY"),
    (19, 7, "SQLITE_CONSTRAINT_TRIGGER"),
    (19, 8, "SQLITE_CONSTRAINT_UNIQUE"),
    (19, 10, "SQLITE_CONSTRAINT_ROWID"),
    (19, 12, "SQLITE_CONSTRAINT_DATATYPE"),
];

impl SqlError {
    /// An error of a code and no errno.
    pub fn new(code: i32, message: impl Into<String>) -> Box<SqlError> {
        Box::new(SqlError { code, message: message.into(), errno: None })
    }

    /// The name of its result code.
    pub fn name(&self) -> &'static str {
        let (primary, within) = (self.code & 0xff, self.code >> 8);
        let extended = EXTENDED.iter().find(|row| (row.0, row.1) == (primary, within)).map(|row| row.2);
        let plain = || PRIMARY.iter().find(|row| row.0 == primary).map(|row| row.1);
        extended.or_else(plain).unwrap_or("SQLITE_UNKNOWN")
    }

    /// Whether a statement was told to stop.
    pub fn is_interrupt(&self) -> bool {
        self.code & 0xff == INTERRUPT
    }

    /// What can be done about it, where that follows from the code.
    pub fn next_step(&self) -> Option<&'static str> {
        Some(match self.code & 0xff {
            1 | 17 | 20 | 25 => "correct the statement",
            FULL => "make room on the target, or run with smaller parameters (--set)",
            19 => "correct the statement, or the table it works on: a row breaks one of its rules",
            5 | 6 => "let only one worker write to a database, or set the pragma busy_timeout (milliseconds)",
            AUTH => "leave the statement out: a test works in its own database and nowhere else",
            CANTOPEN => "use a target that this user can write to, with a path of fewer than 500 bytes",
            10 => "the device or the connection to it failed: look into the kernel's log (dmesg)",
            8 => "use a target that this user can write to",
            11 | 26 => "the file is no database: let nothing but `sql` write to it",
            18 => "use shorter statements and values",
            _ => return None,
        })
    }
}

/// `SQLITE_FULL (13): database or disk is full`
impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.code, self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        let named = |code| SqlError::new(code, "text").to_string();
        assert_eq!(named(13), "SQLITE_FULL (13): text");
        assert_eq!(named(19 | 8 << 8), "SQLITE_CONSTRAINT_UNIQUE (2067): text");
        // An extended code without a name of its own here has that of its primary one.
        assert_eq!(named(10 | 99 << 8), "SQLITE_IOERR (25354): text");
        assert_eq!(named(200), "SQLITE_UNKNOWN (200): text");
    }
}
