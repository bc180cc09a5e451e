//! Recorded loads: the requests of a file server's client, one after the other, with the calls that
//! a file server makes of them.
//!
//! A request that does not end as it was recorded is counted as an error of its kind and the load
//! goes on; only what the machine itself refuses (no space, a broken device) ends it.

use std::ffi::{CStr, CString};
use std::fmt;

use super::row::*;
use super::table::family;
use crate::os::{Call, Errno, Fd, Lock, Os, Recipe};
use crate::plan::instr::*;
use crate::plan::stream::{BASE, Entry, Kind as Request, Wide, opens};
use crate::profile::shape::{Field, Kind, Verb};
use crate::vm::claims::ClaimUnit;
use crate::vm::fault::Flow;
use crate::vm::hand::CLOSED;
use crate::vm::replay::{OpenHandle, Replaying};
use crate::vm::worker::Worker;

const OPTIONS: &[Field] = &[
    Field::new("sync_open", Kind::Bool, "files are opened with O_SYNC"),
    Field::new("sync_dirs", Kind::Bool, "the directory is made durable after each removal and rename"),
    Field::new("sync_writes", Kind::Bool, "the file is made durable after each write"),
    Field::new("no_resolve", Kind::Bool, "a name that is not found is not looked for in its whole directory"),
    Field::new(
        "attributes",
        Kind::Bool,
        "a file server's own facts are kept with each file as its attribute user.DosAttrib",
    ),
];

family! {
    {
        verb: Verb {
            name: "replay",
            group: "traces",
            doc: "Performs a recorded load once, from a file of the machine that runs the test. Each kind of request counts \
                  under its own name: open, close, read, write, fsync, rename, unlink, rmdir, mkdir, delete_tree, \
                  query_path, query_file, query_fs, set_file, find_first, lock, unlock; `errors` are those that did not \
                  end as recorded. A `rate` in bytes of the loop around it holds before every request.",
            object: Some(Kind::Text),
            bare: false,
            args: &[
                Field::required("format", Kind::Choice(&["loadfile"]), "the form of the file: loadfile"),
                Field::required("in", Kind::Set, "the file set in whose directory it happens"),
                Field::new("replace", Kind::MapOf(&Kind::Text), "what stands for what in names: {client1: \"client{worker}\"}"),
                Field::new("options", Kind::Map(OPTIONS), "what is done otherwise than recorded"),
                DATA,
            ],
        },
        object: Object::Replay, counts: Counts::Nothing, run: replay,
    },
}

/// Flags of a directory that is read, as the C library opens it.
const DIRECTORY: i32 = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY;
/// Permission bits of what the load makes.
const FILE_MODE: u32 = 0o600;
const OPENED_DIR_MODE: u32 = 0o700;
const DIR_MODE: u32 = 0o777;
/// The attribute in which a file server keeps its own facts of a file, and their length in bytes.
const FACTS: &CStr = c"user.DosAttrib";
const FACTS_LEN: usize = 44;

/// One pass through the load.
struct Pass<'a, O: Os> {
    worker: &'a mut Worker<O>,
    state: &'a mut Replaying,
    replay: &'a ReplayPlan,
    data: Recipe,
}

/// What came of one request.
struct Outcome {
    /// Where it was not what had been recorded: what it was.
    unexpected: Option<Unexpected>,
    moved: u64,
    requested: u64,
}

/// What else came than had been recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unexpected {
    /// A success where a failure had been recorded.
    Success,
    /// A failure where a success had been recorded.
    Failure(Errno),
    /// It moved fewer or more bytes.
    Moved { bytes: u64, recorded: u64 },
    /// The file it is about could not be opened before.
    NotOpen,
}

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unexpected::Success => f.write_str("was recorded as a failure and succeeded"),
            Unexpected::Failure(errno) => write!(f, "was recorded as a success and failed: {errno}"),
            Unexpected::Moved { bytes, recorded } => {
                write!(f, "was recorded with {recorded} bytes and moved {bytes}")
            }
            Unexpected::NotOpen => f.write_str("is about a file that could not be opened before"),
        }
    }
}

impl Outcome {
    const AS_RECORDED: Outcome = Outcome { unexpected: None, moved: 0, requested: 0 };

    fn otherwise(unexpected: Unexpected) -> Outcome {
        Outcome { unexpected: Some(unexpected), ..Outcome::AS_RECORDED }
    }

    fn moved(moved: u64, requested: u64, recorded: u64) -> Outcome {
        let unexpected = (moved != recorded).then_some(Unexpected::Moved { bytes: moved, recorded });
        Outcome { unexpected, moved, requested }
    }

    /// A success or a usual failure held against whether it was recorded as a success.
    fn held_to(succeeds: bool, result: Result<(), Errno>) -> Outcome {
        match result {
            Ok(()) if !succeeds => Outcome::otherwise(Unexpected::Success),
            Err(errno) if succeeds => Outcome::otherwise(Unexpected::Failure(errno)),
            _ => Outcome::AS_RECORDED,
        }
    }
}

/// What the machine refuses: the call, the path it was about, why.
struct Refused(&'static str, u32, Errno);

type Done<T = Outcome> = Result<T, Refused>;

fn replay<O: Os>(worker: &mut Worker<O>, plan: &Plan, args: &Args) -> Flow {
    let Detail::Replay(id) = args.detail else { return Flow::Next };
    let Some(replay) = plan.replays.get(usize::from(id)) else { return Flow::Next };
    let Some(mut state) = worker.take_replay(id, args.set) else { return Flow::Next };
    // What a pass before left open.
    state.close_handles(&mut worker.os);
    worker.restart_clock();
    state.began = worker.now;
    let flow = Pass { worker, state: &mut state, replay, data: args.data }.run(plan);
    worker.keep_replay(id, state);
    flow
}

/// Errors that requests may meet in a file system that is whole. All others mean that the machine
/// cannot go on.
fn usual(errno: Errno) -> bool {
    matches!(errno.0, libc::ENOENT | libc::EEXIST | libc::EISDIR | libc::ENOTDIR | libc::ENOTEMPTY)
}

impl<O: Os> Pass<'_, O> {
    fn run(&mut self, plan: &Plan) -> Flow {
        let replay = self.replay;
        for (number, entry) in replay.stream.entries.iter().enumerate() {
            if self.worker.is_over() || !O::BYTES && self.worker.keeps_step() {
                return Flow::Over;
            }
            if let Some(pace) = replay.pace
                && crate::vm::interp::pace(self.worker, plan, pace).is_err()
            {
                return Flow::Fault;
            }
            if entry.kind.key().is_empty() {
                self.wait(entry);
                continue;
            }
            let range = replay.stream.range(entry);
            let (unit, bytes) = match entry.kind.moves() {
                true => (ClaimUnit::Transfers, range[1]),
                false => (ClaimUnit::Operations, 0),
            };
            if !self.worker.may_go_on(unit, bytes) {
                return Flow::Over;
            }
            self.state.next_operation();
            match self.perform(entry, range) {
                Ok(outcome) => self.count(number, entry, &outcome),
                Err(refused) => return self.give_up(refused, entry.kind.moves().then_some(range)),
            }
        }
        Flow::Next
    }

    #[inline]
    fn count(&mut self, number: usize, entry: &Entry, outcome: &Outcome) {
        let stat = self.replay.stats.get(entry.kind as usize).copied().unwrap_or(NO_STAT);
        self.worker.finish(stat, outcome.moved, outcome.requested);
        if let Some(unexpected) = outcome.unexpected {
            if let Some(stat) = self.worker.stats.get_mut(usize::from(stat)) {
                stat.errors += 1;
            }
            self.tell(number, entry, unexpected);
        }
    }

    /// The first request that did not end as recorded is told with its place.
    #[cold]
    fn tell(&mut self, number: usize, entry: &Entry, unexpected: Unexpected) {
        if self.worker.unexpected.is_some() {
            return;
        }
        let stream = &self.replay.stream;
        let path = match entry.kind {
            Request::Read | Request::Write | Request::Close | Request::Lock | Request::Unlock => {
                let before = stream.entries.get(..number).unwrap_or_default().iter().rev();
                let mut opens = before.filter(|e| e.kind == Request::Open && e.handle == entry.handle);
                opens.next().map_or(BASE, |open| open.a)
            }
            _ => entry.a,
        };
        let path = String::from_utf8_lossy(&self.full(path)).into_owned();
        let words =
            format!("line {} of the load, {} {path}, {unexpected}", stream.line(number), entry.kind.key());
        self.worker.unexpected = Some((self.worker.now, words.into()));
    }

    /// A path with all its names, as they are here.
    fn full(&self, path: u32) -> Vec<u8> {
        let mut names = Vec::new();
        let mut at = path;
        while at != BASE {
            names.push(self.state.name(at).to_bytes().to_vec());
            at = self.state.parent(at);
        }
        names.reverse();
        names.join(&b'/')
    }

    /// The machine cannot go on: the fault names the path as it is here.
    #[cold]
    fn give_up(&mut self, Refused(call, path, errno): Refused, range: Option<Wide>) -> Flow {
        let path = self.full(path);
        self.worker.set_path(&path);
        self.worker.fail(call, range.map(|r| r[0]), range.map(|r| r[1]), Some(errno), None)
    }

    /// Time that belongs to no request. Where a rate is kept, recorded times do not count.
    fn wait(&mut self, entry: &Entry) {
        let until = match entry.kind {
            Request::NotBefore if self.replay.pace.is_some() => return,
            Request::NotBefore => {
                let [at, ..] = self.replay.stream.wide.get(entry.a as usize).copied().unwrap_or_default();
                self.state.began.saturating_add(at)
            }
            _ => self.worker.now + u64::from(entry.a) * 1000,
        };
        if until > self.worker.now {
            self.worker.pause_until(until);
        }
    }

    fn perform(&mut self, entry: &Entry, range: Wide) -> Done {
        let path = entry.a;
        match entry.kind {
            Request::Read => self.read(entry, range),
            Request::Write => self.write(entry, range),
            Request::Open => self.open(entry),
            Request::Close => self.on_handle(entry, "close", |pass, handle| {
                if let Some(open) = pass.state.handles.get_mut(usize::from(entry.handle)) {
                    open.fd = CLOSED;
                }
                pass.worker.os.close(handle.fd)
            }),
            Request::Fsync => self.on_handle(entry, "fsync", |pass, handle| pass.worker.os.fsync(handle.fd)),
            Request::QueryFile => {
                let asked = self
                    .on_handle(entry, "fstat", |pass, handle| pass.worker.os.fstat(handle.fd).map(|_| ()))?;
                self.on_handle(entry, "fgetxattr", |pass, handle| pass.read_facts(handle.fd))?;
                Ok(asked)
            }
            Request::SetFile => {
                self.on_handle(entry, "fgetxattr", |pass, handle| pass.read_facts(handle.fd))?;
                let mut regular = false;
                let set = self.on_handle(entry, "utimensat", |pass, handle| {
                    regular = !pass.worker.os.fstat(handle.fd)?.directory;
                    // By name, which a rename may have taken away: not looked at.
                    match pass.at(path, O::utimes) {
                        Err(errno) if usual(errno) => Ok(()),
                        other => other,
                    }
                })?;
                if regular {
                    self.on_handle(entry, "fsetxattr", |pass, handle| pass.renew_facts(handle.fd))?;
                }
                Ok(set)
            }
            Request::Lock | Request::Unlock => self.on_handle(entry, "fcntl", |pass, handle| {
                let kind = if entry.kind == Request::Lock { Lock::Write } else { Lock::Unlock };
                pass.worker.os.lock(handle.fd, kind, range[0], range[1])
            }),
            Request::QueryFs => {
                let place = self.state.place(&mut self.worker.os, BASE);
                let asked = place.map(|place| place.dir).and_then(|dir| self.worker.os.statfs(dir));
                asked.map(|_| Outcome::AS_RECORDED).map_err(|errno| Refused("statfs", path, errno))
            }
            Request::QueryPath => {
                self.resolve(path)?;
                Ok(Outcome::AS_RECORDED)
            }
            Request::FindFirst => self.find(entry),
            Request::Mkdir => {
                self.resolve(path)?;
                self.mkdir(path, DIR_MODE)?;
                Ok(Outcome::AS_RECORDED)
            }
            Request::Unlink | Request::Rmdir => self.remove(entry),
            Request::Rename => self.rename(entry),
            Request::DeleteTree => {
                match self.look(path, |os, dir, name| os.open(dir, name, DIRECTORY, 0)) {
                    Ok(fd) => delete_tree(&mut self.worker.os, fd).map_err(|e| Refused("unlink", path, e))?,
                    Err(errno) if usual(errno) => {}
                    Err(errno) => return Err(Refused("open", path, errno)),
                }
                Ok(Outcome::AS_RECORDED)
            }
            Request::Sleep | Request::NotBefore => Ok(Outcome::AS_RECORDED),
        }
    }

    /// A call's result held against what was recorded.
    fn settle(&self, call: &'static str, path: u32, succeeds: bool, result: Call<()>) -> Done {
        match result {
            Err(errno) if !usual(errno) => Err(Refused(call, path, errno)),
            result => Ok(Outcome::held_to(succeeds, result)),
        }
    }

    /// Calls `f` with the place of a path.
    fn at<T>(&mut self, path: u32, f: impl FnOnce(&mut O, Fd, &CStr) -> Call<T>) -> Call<T> {
        let place = self.state.place(&mut self.worker.os, path)?;
        f(&mut self.worker.os, place.dir, place.name)
    }

    /// The same for a call that only looks.
    fn look<T>(&mut self, path: u32, f: impl FnOnce(&mut O, Fd, &CStr) -> Call<T>) -> Call<T> {
        let place = self.state.seen_place(&mut self.worker.os, path)?;
        f(&mut self.worker.os, place.dir, place.name)
    }

    /// A call upon an open file; none where it could not be opened.
    fn on_handle(
        &mut self,
        entry: &Entry,
        call: &'static str,
        f: impl FnOnce(&mut Self, OpenHandle) -> Call<()>,
    ) -> Done {
        let Some(handle) = self.handle(entry) else { return Ok(Outcome::otherwise(Unexpected::NotOpen)) };
        match f(self, handle) {
            Ok(()) => Ok(Outcome::AS_RECORDED),
            Err(errno) => Err(Refused(call, handle.path, errno)),
        }
    }

    fn handle(&self, entry: &Entry) -> Option<OpenHandle> {
        self.state.handles.get(usize::from(entry.handle)).copied().filter(|handle| handle.fd != CLOSED)
    }

    /// Looks a name up as a server must whose clients know no case: one that is not there is looked
    /// for in its whole directory.
    fn resolve(&mut self, path: u32) -> Done<()> {
        match self.look(path, |os, dir, name| os.stat(dir, name)) {
            Ok(_) if !self.replay.options.attributes => return Ok(()),
            Ok(_) => {
                let known = self.look(path, |os, dir, name| os.get_xattr_at(dir, name, FACTS, FACTS_LEN));
                return no_facts(known.map(|_| ())).map_err(|errno| Refused("getxattr", path, errno));
            }
            Err(errno) if usual(errno) => {}
            Err(errno) => return Err(Refused("stat", path, errno)),
        }
        if self.replay.options.no_resolve {
            return Ok(());
        }
        let wanted = self.state.name(path).to_owned();
        let mut found = None;
        self.list(path, |name| {
            let same = name.to_bytes().eq_ignore_ascii_case(wanted.to_bytes());
            if same && found.is_none() {
                found = Some(name.to_owned());
            }
            same
        })?;
        if let Some(name) = found.filter(|name| *name != wanted) {
            self.state.spell(path, &name);
        }
        Ok(())
    }

    /// Reads what a server keeps of an open file, where that is asked for.
    fn read_facts(&mut self, fd: Fd) -> Call<()> {
        if !self.replay.options.attributes {
            return Ok(());
        }
        no_facts(self.worker.os.get_xattr(fd, FACTS, FACTS_LEN).map(|_| ()))
    }

    /// Reads it and writes it anew. The times in it differ each time: a file system may leave out
    /// what changes nothing.
    fn renew_facts(&mut self, fd: Fd) -> Call<()> {
        if !self.replay.options.attributes {
            return Ok(());
        }
        self.read_facts(fd)?;
        let mut facts = [0; FACTS_LEN];
        if let Some(time) = facts.first_chunk_mut() {
            *time = self.worker.now.to_le_bytes();
        }
        self.worker.os.set_xattr(fd, FACTS, &facts)
    }

    /// Reads the directory of a path to its end, or until `seen` says of an entry that it is enough.
    fn list(&mut self, path: u32, mut seen: impl FnMut(&CStr) -> bool) -> Done<()> {
        let opened = match self.state.parent(path) {
            _ if path == BASE => return Ok(()),
            dir => self.look(dir, |os, dir, name| os.open(dir, name, DIRECTORY, 0)),
        };
        let fd = match opened {
            Ok(fd) => fd,
            Err(errno) if usual(errno) => return Ok(()),
            Err(errno) => return Err(Refused("open", path, errno)),
        };
        let os = &mut self.worker.os;
        let read = os.fstat(fd).and_then(|_| {
            let mut enough = false;
            while !enough && os.read_directory(fd, &mut |name, _| enough |= seen(name))? > 0 {}
            Ok(())
        });
        let closed = os.close(fd);
        read.map_err(|errno| Refused("getdents64", path, errno))?;
        closed.map_err(|errno| Refused("close", path, errno))
    }

    fn find(&mut self, entry: &Entry) -> Done {
        self.resolve(entry.a)?;
        if self.replay.stream.name(entry.a).bytes().any(|byte| b"<>*?\"".contains(&byte)) {
            let (mut entries, most) = (0, entry.b);
            // Whether a name matches is not looked at.
            self.list(entry.a, |_| {
                entries += 1;
                entries >= most
            })?;
        }
        Ok(Outcome::AS_RECORDED)
    }

    fn mkdir(&mut self, path: u32, mode: u32) -> Done<()> {
        match self.at(path, |os, dir, name| os.mkdir(dir, name, mode)) {
            // It may also be another client who made it.
            Ok(()) | Err(Errno(libc::EEXIST)) => self.state.made(path),
            Err(errno) if usual(errno) => {}
            Err(errno) => return Err(Refused("mkdir", path, errno)),
        }
        Ok(())
    }

    fn open(&mut self, entry: &Entry) -> Done {
        let path = entry.a;
        self.resolve(path)?;
        let directory = libc::O_RDONLY | libc::O_DIRECTORY;
        let opened = if entry.b & opens::DIRECTORY != 0 {
            self.mkdir(path, OPENED_DIR_MODE)?;
            self.at(path, |os, dir, name| os.open(dir, name, directory, 0))
        } else {
            let mut how = libc::O_RDWR;
            for (bit, flag) in [(opens::CREATE, libc::O_CREAT), (opens::TRUNCATE, libc::O_TRUNC)] {
                how |= if entry.b & bit != 0 { flag } else { 0 };
            }
            how |= if self.replay.options.sync_open { libc::O_SYNC } else { 0 };
            match self.at(path, |os, dir, name| os.open(dir, name, how, FILE_MODE)) {
                Err(Errno(libc::EISDIR)) => self.at(path, |os, dir, name| os.open(dir, name, directory, 0)),
                other => other,
            }
        };
        let fd = match opened {
            Ok(fd) => fd,
            Err(errno) if usual(errno) => return Ok(Outcome::held_to(entry.succeeds(), Err(errno))),
            Err(errno) => return Err(Refused("open", path, errno)),
        };
        match self.state.handles.get_mut(usize::from(entry.handle)) {
            Some(handle) if entry.succeeds() => *handle = OpenHandle { fd, path },
            // It should have failed: nobody will ask for it.
            _ => {
                self.worker.os.close(fd).map_err(|errno| Refused("close", path, errno))?;
                return Ok(Outcome::otherwise(Unexpected::Success));
            }
        }
        let about = self.worker.os.fstat(fd).map_err(|errno| Refused("fstat", path, errno))?;
        if entry.b & opens::DIRECTORY == 0 && !about.directory {
            self.renew_facts(fd).map_err(|errno| Refused("fsetxattr", path, errno))?;
        }
        Ok(Outcome::AS_RECORDED)
    }

    fn read(&mut self, entry: &Entry, [offset, len, recorded]: Wide) -> Done {
        let Some(handle) = self.handle(entry) else { return Ok(Outcome::otherwise(Unexpected::NotOpen)) };
        let Worker { os, buffers, .. } = &mut *self.worker;
        match os.read(handle.fd, Some(offset), buffers.reading(len as usize)) {
            Ok(moved) => Ok(Outcome::moved(moved as u64, len, recorded)),
            Err(errno) if usual(errno) => {
                Ok(Outcome { requested: len, ..Outcome::otherwise(Unexpected::Failure(errno)) })
            }
            Err(errno) => Err(Refused("pread64", handle.path, errno)),
        }
    }

    fn write(&mut self, entry: &Entry, [offset, len, recorded]: Wide) -> Done {
        let Some(handle) = self.handle(entry) else { return Ok(Outcome::otherwise(Unexpected::NotOpen)) };
        let Worker { os, buffers, .. } = &mut *self.worker;
        let data = buffers.data(self.data, len as usize);
        let moved = os.write(handle.fd, Some(offset), data, self.data);
        let moved = moved.map_err(|errno| Refused("pwrite64", handle.path, errno))? as u64;
        if self.replay.options.sync_writes {
            os.fsync(handle.fd).map_err(|errno| Refused("fsync", handle.path, errno))?;
        }
        Ok(Outcome::moved(moved, len, recorded))
    }

    fn remove(&mut self, entry: &Entry) -> Done {
        let path = entry.a;
        self.resolve(path)?;
        let (call, removed) = match entry.kind {
            Request::Rmdir => ("rmdir", self.at(path, O::rmdir)),
            _ => ("unlink", self.at(path, O::unlink)),
        };
        if removed.is_ok() && entry.kind == Request::Rmdir {
            self.state.changed(&mut self.worker.os, path);
        }
        self.sync_dir(path)?;
        self.settle(call, path, entry.succeeds(), removed)
    }

    fn rename(&mut self, entry: &Entry) -> Done {
        let (from, to) = (entry.a, entry.b);
        self.resolve(from)?;
        self.resolve(to)?;
        let os = &mut self.worker.os;
        let renamed = self.state.place(os, to).map(|to| (to.dir, to.name.to_owned()));
        let renamed = renamed.and_then(|(to_dir, to_name)| {
            let from = self.state.place(os, from)?;
            os.rename(from.dir, from.name, to_dir, &to_name)
        });
        if renamed.is_ok() {
            self.state.changed(os, from);
            self.state.changed(os, to);
        }
        self.sync_dir(to)?;
        self.settle("rename", from, entry.succeeds(), renamed)
    }

    /// Makes the directory of a path durable, where that is asked for.
    fn sync_dir(&mut self, path: u32) -> Done<()> {
        if !self.replay.options.sync_dirs {
            return Ok(());
        }
        let dir = self.state.parent(path);
        let opened = self.look(dir, |os, dir, name| os.open(dir, name, libc::O_RDONLY, 0));
        let fd = match opened {
            Ok(fd) => fd,
            Err(errno) if usual(errno) => return Ok(()),
            Err(errno) => return Err(Refused("open", path, errno)),
        };
        let synced = self.worker.os.fdatasync(fd);
        let closed = self.worker.os.close(fd);
        synced.and(closed).map_err(|errno| Refused("fdatasync", path, errno))
    }
}

/// A file of which the server keeps nothing yet is as good.
fn no_facts(result: Call<()>) -> Call<()> {
    match result {
        Err(Errno(libc::ENODATA)) => Ok(()),
        other => other,
    }
}

/// Removes every file below an open directory, which is closed then. Directories stay.
fn delete_tree<O: Os>(os: &mut O, fd: Fd) -> Call<()> {
    let result = os.fstat(fd).and_then(|_| {
        let mut names: Vec<CString> = Vec::new();
        loop {
            let bytes = os.read_directory(fd, &mut |name, _| {
                if !matches!(name.to_bytes(), b"." | b"..") {
                    names.push(name.to_owned());
                }
            })?;
            if bytes == 0 {
                return Ok(());
            }
            for name in names.drain(..) {
                if os.stat(fd, &name)?.directory {
                    let below = os.open(fd, &name, DIRECTORY, 0)?;
                    delete_tree(os, below)?;
                } else {
                    os.unlink(fd, &name)?;
                }
            }
        }
    });
    os.close(fd).and(result)
}
