//! Databases: SQLite as it comes with this program, one connection at a time.
//!
//! A statement is prepared, stepped to its end and finalized, as SQLite's own shell does, so that
//! the calls are the shell's. SQLite opens by path. The path is that of the open directory as the
//! kernel tells it; that it names this directory is looked at before and after the opening, and
//! SQLite itself is told to follow no symbolic link on the way.
//!
//! A connection reaches no other file: its statements may not attach databases, load extensions or
//! move temporary files, which stay in memory. Knows neither plans nor what statements are for.

use super::calls;
use super::clock::Clock;
use crate::os::machine::{Errno, Fd, Nanos, Stopping};
use crate::os::sql_error::{AUTH, CANTOPEN, FULL, SqlCall, SqlError};
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Error, ffi};
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of the longest path of a database: SQLite's own limit less the longest ending it adds
/// (`-journal`).
const LONGEST_PATH: usize = 512 - 9;

/// Instructions of SQLite's own machine between two looks at whether a statement has to stop: about
/// a millisecond of them, and more than a short statement has.
const LOOK: i32 = 20_000;

/// The version of the SQLite in this program: `3.50.2`.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// Whether it was compiled to call `fdatasync`; its list of options does not say so. Without it every
/// sync is an `fsync`.
pub const FDATASYNC: bool = option_env!("IOSCORE_SQLITE_FDATASYNC").is_some();

/// What the authorizer and the connection tell each other.
#[derive(Default)]
struct Notes {
    /// Why a statement was denied.
    denied: Option<String>,
    /// The running statement is a VACUUM, which attaches a database without a file of its own accord.
    vacuum: bool,
}

/// One connection.
pub struct Connection {
    db: rusqlite::Connection,
    notes: Arc<Mutex<Notes>>,
    /// When the running statement has to stop, where it is watched.
    deadline: Arc<AtomicU64>,
}

impl Connection {
    /// Opens the database `name` (a bare name) in the open directory `dir`, making it where it is
    /// not there, and sets `pragmas` in this order.
    ///
    /// # Errors
    /// What SQLite says; a pragma that did not take effect; a directory that is not where the
    /// kernel says it is.
    pub fn open(dir: Fd, name: &CStr, pragmas: &[(String, String)]) -> SqlCall<Connection> {
        let above = directory(dir)?;
        let path = above.join(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| SqlError::new(CANTOPEN, "NUL"))?;
        if path.as_bytes().len() > LONGEST_PATH {
            let text = format!("its path has {} bytes, SQLite takes {LONGEST_PATH}", path.as_bytes().len());
            return Err(SqlError::new(CANTOPEN, text));
        }
        let db = open(&path)?;
        // Nobody may have moved the directory meanwhile and put another in its place.
        if directory(dir)? != above {
            return Err(SqlError::new(CANTOPEN, "the directory was moved while the database was opened"));
        }
        let mut connection =
            Connection { db, notes: Arc::default(), deadline: Arc::new(AtomicU64::new(Nanos::MAX)) };
        connection.fence(pragmas)?;
        Ok(connection)
    }

    /// Settings, then what keeps statements inside.
    fn fence(&mut self, pragmas: &[(String, String)]) -> SqlCall<()> {
        // Where others would lie in /var/tmp. Statements that need no temporary file, such as
        // inserts of one row, do not notice.
        self.run("PRAGMA temp_store=MEMORY", &mut |_| {})?;
        let notes = Arc::clone(&self.notes);
        let judge = move |context: AuthContext<'_>| {
            let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
            match forbidden(&context.action, notes.vacuum) {
                Some(why) => {
                    notes.denied = Some(why);
                    Authorization::Deny
                }
                None => Authorization::Allow,
            }
        };
        let judged = self.db.authorizer(Some(judge));
        judged.map_err(|error| self.error(error))?;
        let configure = |config, on| self.db.set_db_config(config, on).map(|_| ());
        let configured = configure(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
            // As in the shell.
            .and_then(|()| configure(DbConfig::SQLITE_DBCONFIG_ENABLE_FKEY, false));
        configured.map_err(|error| self.error(error))?;
        // SAFETY: the handle is that of the connection, which is open.
        let closed = unsafe { ffi::sqlite3_enable_load_extension(self.db.handle(), 0) };
        if closed != ffi::SQLITE_OK {
            return Err(SqlError::new(closed, "loading extensions cannot be turned off"));
        }
        for (name, value) in pragmas {
            self.pragma(name, value)?;
        }
        // Last: it forbids `journal_mode=off`.
        let defensive = self.db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true);
        defensive.map(|_| ()).map_err(|error| self.error(error))
    }

    /// Sets a pragma and looks whether it is in force.
    fn pragma(&mut self, name: &str, value: &str) -> SqlCall<()> {
        let word = |text: &str| {
            !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-+.".contains(&b))
        };
        if !word(name) || !word(value) {
            return Err(SqlError::new(1, format!("the pragma {name}={value} is not one word and another")));
        }
        let mut answer = None;
        self.run(&format!("PRAGMA {name}='{value}'"), &mut |text| answer = Some(text))?;
        // Most say nothing when they are set.
        if answer.is_none() {
            self.run(&format!("PRAGMA {name}"), &mut |text| answer = Some(text))?;
        }
        match answer {
            Some(got) if in_force(name, value, &got) => Ok(()),
            Some(got) => Err(SqlError::new(
                1,
                format!("the pragma {name}={value} did not take effect: {name} is {got}"),
            )),
            None => Err(SqlError::new(1, format!("this SQLite has no pragma {name}"))),
        }
    }

    /// Has long statements look whether they must stop: `stopping`, or their deadline by this clock.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn watch(&mut self, clock: Clock, stopping: Stopping) -> SqlCall<()> {
        let deadline = Arc::clone(&self.deadline);
        let over = move || stopping() || clock.now() >= deadline.load(Ordering::Relaxed);
        self.db.progress_handler(LOOK, Some(over)).map_err(|error| self.error(error))
    }

    /// Performs one statement. Its rows are read, as the shell does to print them. Where it is
    /// [watched](Connection::watch), one that runs at its deadline ends with the code `INTERRUPT`.
    pub fn exec(&mut self, statement: &str, deadline: Nanos) -> SqlCall<()> {
        self.deadline.store(deadline, Ordering::Relaxed);
        self.run(statement, &mut |_| {})
    }

    fn run(&mut self, statement: &str, seen: &mut dyn FnMut(String)) -> SqlCall<()> {
        {
            let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
            notes.denied = None;
            notes.vacuum = statement
                .split(|c: char| !c.is_ascii_alphabetic())
                .next()
                .is_some_and(|first| first.eq_ignore_ascii_case("vacuum"));
        }
        let mut run = || -> Result<(), Error> {
            let mut prepared = self.db.prepare(statement)?;
            let columns = prepared.column_count();
            let mut rows = prepared.raw_query();
            while let Some(row) = rows.next()? {
                for column in 0..columns {
                    let value = row.get_ref(column)?;
                    if column == 0 {
                        seen(shown(value));
                    }
                }
            }
            Ok(())
        };
        match run() {
            Ok(()) => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Closes it; what it holds is written first.
    pub fn close(self) -> SqlCall<()> {
        self.db.close().map_err(|(_, error)| plain(error))
    }

    /// What went wrong last, with what only the connection knows of it.
    fn error(&self, error: Error) -> Box<SqlError> {
        let mut error = plain(error);
        let denied = self.notes.lock().unwrap_or_else(PoisonError::into_inner).denied.take();
        if let Some(why) = denied {
            return SqlError::new(AUTH, why);
        }
        // SAFETY: the handle is that of the connection, which is open.
        let errno = unsafe { ffi::sqlite3_system_errno(self.db.handle()) };
        error.errno = system_error(error.code, errno);
        error
    }
}

/// The connections of one worker.
#[derive(Default)]
pub struct Connections(Vec<Option<Connection>>);

/// The number of the first connection: below all descriptors, so that no call takes one for a file.
const FIRST: Fd = -2;

impl Connections {
    /// Keeps a connection; returns its number.
    pub fn put(&mut self, connection: Connection) -> Fd {
        let place = self.0.iter().position(Option::is_none).unwrap_or(self.0.len());
        match self.0.get_mut(place) {
            Some(free) => *free = Some(connection),
            None => self.0.push(Some(connection)),
        }
        FIRST - place as Fd
    }

    fn place(&mut self, number: Fd) -> SqlCall<&mut Option<Connection>> {
        let place = usize::try_from(FIRST.saturating_sub(number)).ok();
        let none = || SqlError::new(ffi::SQLITE_MISUSE, "no database is open");
        place.and_then(|place| self.0.get_mut(place)).ok_or_else(none)
    }

    /// The connection of a number.
    pub fn get(&mut self, number: Fd) -> SqlCall<&mut Connection> {
        let none = || SqlError::new(ffi::SQLITE_MISUSE, "no database is open");
        self.place(number)?.as_mut().ok_or_else(none)
    }

    /// The connection of a number, no longer kept.
    pub fn take(&mut self, number: Fd) -> SqlCall<Connection> {
        let none = || SqlError::new(ffi::SQLITE_MISUSE, "no database is open");
        self.place(number)?.take().ok_or_else(none)
    }
}

/// The error of the system behind a result code. SQLite keeps it for what it could not open, read,
/// write or sync; it says that the disk is full where a write got `ENOSPC`.
fn system_error(code: i32, errno: i32) -> Option<Errno> {
    match code & 0xff {
        FULL => Some(Errno(libc::ENOSPC)),
        10 | CANTOPEN if errno != 0 => Some(Errno(errno)),
        _ => None,
    }
}

fn plain(error: Error) -> Box<SqlError> {
    match error {
        Error::SqliteFailure(failure, text) => {
            let text = text.unwrap_or_else(|| ffi::code_to_str(failure.extended_code).to_string());
            SqlError::new(failure.extended_code, text)
        }
        Error::SqlInputError { error, msg, .. } => SqlError::new(error.extended_code, msg),
        other => SqlError::new(1, other.to_string()),
    }
}

fn shown(value: rusqlite::types::ValueRef<'_>) -> String {
    use rusqlite::types::ValueRef;
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    }
}

/// The path of an open directory, which is checked to name it.
fn directory(dir: Fd) -> SqlCall<PathBuf> {
    let refused = |errno: Errno, text: &str| {
        Err(Box::new(SqlError { code: CANTOPEN, message: text.into(), errno: Some(errno) }))
    };
    let mut text = [0; crate::os::path::PATH_MAX];
    let Ok(link) = CString::new(format!("/proc/thread-self/fd/{dir}")) else {
        return refused(Errno(libc::EBADF), "no directory");
    };
    let path = match calls::readlinkat(libc::AT_FDCWD, &link, &mut text) {
        Ok(len) => text.get(..len).unwrap_or_default(),
        Err(errno) => return refused(errno, "the path of its directory is not known without /proc"),
    };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
    let named = CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    match (calls::raw_statat(libc::AT_FDCWD, &named), calls::raw_fstat(dir)) {
        (Ok(named), Ok(open)) if (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino) => Ok(path),
        (Err(errno), _) | (_, Err(errno)) => refused(errno, "its directory is not where it was"),
        _ => refused(Errno(libc::ESTALE), "another directory stands in the place of its directory"),
    }
}

fn open(path: &CStr) -> SqlCall<rusqlite::Connection> {
    // A connection belongs to one thread. No symbolic link is followed, in no part of the path.
    let flags = ffi::SQLITE_OPEN_READWRITE
        | ffi::SQLITE_OPEN_CREATE
        | ffi::SQLITE_OPEN_NOMUTEX
        | ffi::SQLITE_OPEN_NOFOLLOW
        | ffi::SQLITE_OPEN_EXRESCODE;
    let mut handle = std::ptr::null_mut();
    // SAFETY: the path ends with NUL, the handle is ours to set, no VFS is named.
    let code = unsafe { ffi::sqlite3_open_v2(path.as_ptr(), &mut handle, flags, std::ptr::null()) };
    if code == ffi::SQLITE_OK {
        // SAFETY: it was opened just now and nobody else has it.
        return unsafe { rusqlite::Connection::from_handle_owned(handle) }.map_err(plain);
    }
    // SAFETY: null or a connection that could not be opened, which still tells why.
    let errno = unsafe { ffi::sqlite3_system_errno(handle) };
    // SAFETY: the same; closing null is allowed, and it is not used again.
    unsafe { ffi::sqlite3_close(handle) };
    let text = ffi::code_to_str(code).to_string();
    Err(Box::new(SqlError { code, message: text, errno: system_error(code, errno) }))
}

/// Why an action is not allowed, if it is not.
fn forbidden(action: &AuthAction<'_>, vacuum: bool) -> Option<String> {
    Some(match action {
        // VACUUM builds its copy in a database without a name, which is in memory.
        AuthAction::Attach { filename: "" } if vacuum => return None,
        AuthAction::Attach { .. } if vacuum => {
            "VACUUM INTO is denied: it writes a file outside of the test's own".into()
        }
        AuthAction::Attach { .. } => "ATTACH is denied: a test works in its own database".into(),
        AuthAction::Detach { .. } => "DETACH is denied: a test works in its own database".into(),
        AuthAction::Function { function_name } if function_name.eq_ignore_ascii_case("load_extension") => {
            "load_extension is denied: it runs code that is no part of this program".into()
        }
        AuthAction::Pragma { pragma_name, pragma_value } => {
            let denied = DENIED_PRAGMAS.iter().find(|row| pragma_name.eq_ignore_ascii_case(row.0))?;
            if denied.1 == Denied::Setting && pragma_value.is_none() {
                return None;
            }
            format!("PRAGMA {} is denied: {}", denied.0, denied.2)
        }
        // An attached file whose name is computed, and what this program does not know of.
        AuthAction::Unknown { code: ffi::SQLITE_ATTACH | ffi::SQLITE_DETACH, .. } => {
            "ATTACH is denied: a test works in its own database".into()
        }
        _ => return None,
    })
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Denied {
    /// Altogether.
    Always,
    /// It may be asked for.
    Setting,
}

const DENIED_PRAGMAS: &[(&str, Denied, &str)] = &[
    ("temp_store_directory", Denied::Always, "temporary files stay in memory"),
    ("data_store_directory", Denied::Always, "files stay in the run directory"),
    ("temp_store", Denied::Setting, "temporary files stay in memory"),
    ("trusted_schema", Denied::Setting, "a schema is not trusted"),
    ("soft_heap_limit", Denied::Setting, "it would hold for the whole program"),
    ("hard_heap_limit", Denied::Setting, "it would hold for the whole program"),
];

/// Whether what a pragma answers is what was asked for: words and numbers of the same setting.
fn in_force(pragma: &str, asked: &str, got: &str) -> bool {
    let full = if pragma.eq_ignore_ascii_case("auto_vacuum") { 1.0 } else { 2.0 };
    let number = |text: &str| -> Option<f64> {
        Some(match text.to_ascii_lowercase().as_str() {
            "off" | "no" | "false" | "none" | "default" => 0.0,
            "on" | "yes" | "true" | "normal" => 1.0,
            "full" => full,
            "fast" | "incremental" => 2.0,
            "extra" => 3.0,
            other => other.parse().ok()?,
        })
    };
    asked.eq_ignore_ascii_case(got) || number(asked).is_some_and(|n| Some(n) == number(got))
}

#[cfg(test)]
#[path = "sqlite_tests.rs"]
mod tests;
