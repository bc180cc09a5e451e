//! Records on disk: `<results>/<run name>/record.json`.
//!
//! A run's directory appears with a whole, valid record in it, and the record is replaced whole
//! after every case: whatever moment the program dies at, what is on disk can be read. Knows
//! nothing of how cases are run or shown.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::json;
use super::model::{Record, RunState, now};
use super::row::Row;
use super::scrub::Scrubber;

/// Name of the record in a run's directory.
pub const FILE: &str = "record.json";

/// Why a record could not be found, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The name cannot be a directory's.
    #[error(
        "{0:?} is no name for a run: use letters, digits, `-`, `_` and `.`, and begin with a letter or digit"
    )]
    BadName(String),
    /// A new run has the name of one that is there.
    #[error("a run named {name:?} exists in {results}: choose another --name, or continue it with --resume")]
    Exists { name: String, results: String },
    /// Another process holds the lock of the run.
    #[error("run {0:?} is being written by another process")]
    Busy(String),
    /// The record is not one of the run asked for.
    #[error("run {name:?} cannot be resumed: {why}")]
    Mismatch { name: String, why: String },
    /// Nothing of the name is found; `near` is the most similar name.
    #[error("there is no result {what:?}: it is neither a record file, a run directory, nor a run in {results}{}", near_text(.near))]
    NotFound { what: String, results: String, near: Option<String> },
    /// The file is no valid record.
    #[error("{path} {why}")]
    Invalid { path: String, why: String },
    /// The system refused to read or write.
    #[error("cannot {doing} {path}: {error}")]
    Io { doing: &'static str, path: String, error: io::Error },
}

fn near_text(near: &Option<String>) -> String {
    near.as_ref().map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

fn io_error<'a>(doing: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |error| StoreError::Io { doing, path: path.display().to_string(), error }
}

/// The record of a run in progress. It is on disk as it is in memory after every call.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    record: Record,
    scrubber: Scrubber,
    _lock: Lock,
}

/// One process writes a run: a lock on its directory, as long as this lives.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a child that was forked meanwhile and has not
        // yet become another program.
        let _ = self.0.unlock();
    }
}

impl Store {
    /// Begins a run: makes its directory, named `record.run.name`, with the planned record in it.
    /// A name that exists is refused.
    pub fn create(results: &Path, mut record: Record, scrubber: Scrubber) -> Result<Store, StoreError> {
        let name = record.run.name.clone();
        check_name(&name)?;
        scrubber.record(&mut record);
        fs::create_dir_all(results).map_err(io_error("make", results))?;
        let dir = results.join(&name);
        // Made whole under a name that nobody looks at, then renamed: rename(2) refuses to
        // replace a directory that holds anything.
        let draft = results.join(format!(".{name}.{}.draft", std::process::id()));
        let made = fs::create_dir(&draft)
            .map_err(io_error("make", &draft))
            .and_then(|()| write(&draft, &record))
            .and_then(|()| {
                fs::rename(&draft, &dir).map_err(|error| match error.kind() {
                    io::ErrorKind::DirectoryNotEmpty
                    | io::ErrorKind::AlreadyExists
                    | io::ErrorKind::NotADirectory => {
                        StoreError::Exists { name: name.clone(), results: results.display().to_string() }
                    }
                    _ => StoreError::Io { doing: "make", path: dir.display().to_string(), error },
                })
            });
        if let Err(error) = made {
            // Nothing but what was just made is in there; if it stays, it is never mistaken for a run.
            let _ = fs::remove_dir_all(&draft);
            return Err(error);
        }
        sync_directory(results)?;
        let lock = lock(&dir, &name)?;
        Ok(Store { dir, record, scrubber, _lock: lock })
    }

    /// Continues a run: the stored one must be of the same suite and target, with the same plans
    /// in the same order. Its finished rows stay; [`Row::is_ok`] tells which.
    pub fn resume(results: &Path, planned: &Record, scrubber: Scrubber) -> Result<Store, StoreError> {
        let name = planned.run.name.clone();
        check_name(&name)?;
        let dir = results.join(&name);
        if !dir.join(FILE).exists() {
            return Err(not_found(results, &name));
        }
        let lock = lock(&dir, &name)?;
        let mut record = load(&dir.join(FILE))?;
        let mut expected = planned.clone();
        scrubber.record(&mut expected);
        if let Some(why) = difference(&record, &expected) {
            return Err(StoreError::Mismatch { name, why });
        }
        record.run.state = RunState::Incomplete;
        record.run.finished = None;
        let store = Store { dir, record, scrubber, _lock: lock };
        store.save()?;
        Ok(store)
    }

    /// The record as it is now.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The run's directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Replaces one row and saves. An index beyond the planned rows is a mistake of the caller
    /// and changes nothing.
    pub fn set_row(&mut self, index: usize, mut row: Row) -> Result<(), StoreError> {
        self.scrubber.row(&mut row);
        if let Some(place) = self.record.rows.get_mut(index) {
            *place = row;
        }
        self.save()
    }

    /// Changes what is known of the system or target (the space left, for example) and saves.
    pub fn update(&mut self, change: impl FnOnce(&mut Record)) -> Result<(), StoreError> {
        change(&mut self.record);
        self.scrubber.record(&mut self.record);
        self.save()
    }

    /// Ends the run.
    pub fn finish(self, state: RunState) -> Result<Record, StoreError> {
        match self.close(state) {
            (record, None) => Ok(record),
            (_, Some(error)) => Err(error),
        }
    }

    /// Ends the run and gives the record, also where it could not be written.
    pub fn close(mut self, state: RunState) -> (Record, Option<StoreError>) {
        self.record.run.state = state;
        self.record.run.finished = Some(now());
        let failed = self.save().err();
        (self.record, failed)
    }

    fn save(&self) -> Result<(), StoreError> {
        write(&self.dir, &self.record)
    }
}

/// A name that is a plain file name, does not hide, and is no option.
fn check_name(name: &str) -> Result<(), StoreError> {
    let good = |c: char| c.is_alphanumeric() || "-_.+@ ".contains(c);
    let begins = name.chars().next().is_some_and(char::is_alphanumeric);
    if begins && name.chars().all(good) && name.len() <= 200 && !name.ends_with(' ') {
        Ok(())
    } else {
        Err(StoreError::BadName(name.into()))
    }
}

fn lock(dir: &Path, name: &str) -> Result<Lock, StoreError> {
    let file = File::open(dir).map_err(io_error("open", dir))?;
    match file.try_lock() {
        Err(fs::TryLockError::WouldBlock) => Err(StoreError::Busy(name.into())),
        // A file system that cannot lock is no reason not to measure.
        _ => Ok(Lock(file)),
    }
}

/// What keeps a stored run from being continued as this one.
fn difference(stored: &Record, planned: &Record) -> Option<String> {
    let hash = |record: &Record| record.run.suite.as_ref().map(|suite| suite.hash.clone());
    if hash(stored) != hash(planned) {
        return Some("its suite was another, or has changed since".into());
    }
    if stored.target.resolved != planned.target.resolved || stored.target.path != planned.target.path {
        return Some(format!("its target was {}, not {}", stored.target.path, planned.target.path));
    }
    if stored.run.seed != planned.run.seed {
        return Some(format!("its seed was {}, not {}", stored.run.seed, planned.run.seed));
    }
    if stored.rows.len() != planned.rows.len() {
        return Some(format!("it has {} cases, not {}", stored.rows.len(), planned.rows.len()));
    }
    stored.rows.iter().zip(&planned.rows).find_map(|(old, new)| {
        let same = old.profile == new.profile && old.case == new.case && old.plan_hash == new.plan_hash;
        (!same).then(|| match old.profile == new.profile && old.case == new.case {
            true => format!("the plan of {}:{} has changed since", new.profile, new.case),
            false => {
                format!("it has {}:{} where {}:{} is planned", old.profile, old.case, new.profile, new.case)
            }
        })
    })
}

/// Writes the record so that the old or the new one is there at every moment, also after a power
/// cut: a new file beside it, synced, renamed over it, the directory synced.
fn write(dir: &Path, record: &Record) -> Result<(), StoreError> {
    let (path, fresh) = (dir.join(FILE), dir.join(format!("{FILE}.new")));
    let bytes = json::write(record).map_err(|error| io_error("write", &path)(error.into()))?;
    let replaced = write_file(&fresh, &bytes)
        .and_then(|()| fs::rename(&fresh, &path).map_err(io_error("replace", &path)));
    if replaced.is_err() {
        // Half a record is of no use, and takes room where there is none.
        let _ = fs::remove_file(&fresh);
    }
    replaced?;
    sync_directory(dir)
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let mut file = File::create(path).map_err(io_error("write", path))?;
    file.write_all(bytes).map_err(io_error("write", path))?;
    file.sync_all().map_err(io_error("sync", path))
}

fn sync_directory(dir: &Path) -> Result<(), StoreError> {
    let synced = File::open(dir).and_then(|directory| directory.sync_all());
    match synced {
        // Some network and FUSE file systems cannot sync a directory.
        Err(error) if error.kind() != io::ErrorKind::InvalidInput => Err(io_error("sync", dir)(error)),
        _ => Ok(()),
    }
}

/// Reads one record file.
pub fn load(path: &Path) -> Result<Record, StoreError> {
    // A device or a pipe might never end.
    if !fs::metadata(path).map_err(io_error("read", path))?.is_file() {
        let why = "it is no regular file".into();
        return Err(StoreError::Invalid { path: path.display().to_string(), why });
    }
    let bytes = fs::read(path).map_err(io_error("read", path))?;
    json::read(&bytes).map_err(|why| StoreError::Invalid { path: path.display().to_string(), why })
}

/// The record file a RESULT means: a record file, a run directory, or a run's name.
pub fn find(results: &Path, what: &str) -> Result<PathBuf, StoreError> {
    let path = Path::new(what);
    if path.is_file() {
        return Ok(path.to_path_buf());
    }
    [path.join(FILE), results.join(what).join(FILE)]
        .into_iter()
        .find(|file| file.is_file())
        .ok_or_else(|| not_found(results, what))
}

fn not_found(results: &Path, what: &str) -> StoreError {
    let near = names(results)
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&name, what), name))
        .filter(|(distance, name)| *distance <= 2 + name.len() / 4)
        .min();
    StoreError::NotFound {
        what: what.into(),
        results: results.display().to_string(),
        near: near.map(|(_, name)| name),
    }
}

/// Names of all runs, sorted.
fn names(results: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(results) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join(FILE).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

/// Every run under a results directory: its name, and its record or why it cannot be read.
pub fn list(results: &Path) -> Vec<(String, Result<Record, StoreError>)> {
    let mut runs: Vec<_> = names(results)
        .into_iter()
        .map(|name| {
            let record = load(&results.join(&name).join(FILE));
            (name, record)
        })
        .collect();
    runs.sort_by_cached_key(|(name, record)| {
        (record.as_ref().map(|r| r.run.started.clone()).unwrap_or_default(), name.clone())
    });
    runs
}

#[cfg(test)]
#[path = "store_test.rs"]
mod tests;
