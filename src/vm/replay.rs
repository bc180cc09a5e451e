//! What a worker keeps of a recorded load: its names as they are here, its directories, its open
//! files. What the recorded operations do is said in `ops`.
//!
//! A directory is opened (as a mere place, `O_PATH`) when it is first needed and kept, so that
//! calls have a bare name below a descriptor and cost one system call each.

use std::ffi::{CStr, CString};

use super::hand::CLOSED;
use super::names::{self, NameFacts};
use super::worker::Worker;
use crate::os::{Call, Errno, Fd, Nanos, Os};
use crate::plan::instr::*;
use crate::plan::stream::BASE;

const ENOENT: Errno = Errno(libc::ENOENT);

/// One path of the load.
#[derive(Clone, Debug)]
struct Known {
    parent: u32,
    /// Its last name here.
    name: CString,
    /// As a directory: its descriptor, [`CLOSED`] while it is not kept.
    fd: Fd,
    /// As a directory: it was looked for and was not there.
    missing: bool,
}

/// An open file of the load.
#[derive(Clone, Copy, Debug)]
pub struct OpenHandle {
    /// Its descriptor; [`CLOSED`] where it is not open.
    pub fd: Fd,
    /// Its path in the stream.
    pub path: u32,
}

/// One worker's state of one recorded load.
#[derive(Debug)]
pub struct Replaying {
    base: Fd,
    paths: Vec<Known>,
    /// Names found in another case than they were asked for, for the running operation.
    spelled: Vec<(u32, CString)>,
    /// Open files by their place in the stream's table.
    pub handles: Vec<OpenHandle>,
    /// When the pass began.
    pub began: Nanos,
}

/// A name and the directory it is in, as a call wants them.
pub struct Place<'a> {
    /// The directory.
    pub dir: Fd,
    /// The name in it.
    pub name: &'a CStr,
}

impl Replaying {
    fn known(&self, path: u32) -> Call<&Known> {
        self.paths.get(path as usize).ok_or(ENOENT)
    }

    /// The last name of a path, as it is here.
    pub fn name(&self, path: u32) -> &CStr {
        let spelled = self.spelled.iter().find(|(of, _)| *of == path);
        match spelled {
            Some((_, name)) => name,
            None => self.paths.get(path as usize).map_or(c".", |known| &known.name),
        }
    }

    /// The descriptor of a directory, opened at its first use and kept. The error with which it
    /// could not be opened otherwise.
    fn dir<O: Os>(&mut self, os: &mut O, path: u32) -> Call<Fd> {
        if path == BASE {
            return Ok(self.base);
        }
        let known = self.known(path)?;
        if known.fd != CLOSED {
            return Ok(known.fd);
        }
        if known.missing {
            return Err(ENOENT);
        }
        let above = self.dir(os, known.parent)?;
        let Some(known) = self.paths.get_mut(path as usize) else { return Err(ENOENT) };
        let opened = os.open(above, &known.name, libc::O_PATH | libc::O_DIRECTORY, 0);
        match opened {
            Ok(fd) => known.fd = fd,
            Err(errno) => known.missing = errno == ENOENT,
        }
        opened
    }

    /// Where a path is.
    ///
    /// # Errors
    /// That of opening its directory.
    pub fn place<O: Os>(&mut self, os: &mut O, path: u32) -> Call<Place<'_>> {
        if path == BASE {
            return Ok(Place { dir: self.base, name: c"." });
        }
        let dir = self.dir(os, self.known(path)?.parent)?;
        Ok(Place { dir, name: self.name(path) })
    }

    /// Where a path is, for calls that only look. Where its directory is not there, the first
    /// component that is missing: looking for that fails as it would with the whole path.
    pub fn seen_place<O: Os>(&mut self, os: &mut O, path: u32) -> Call<Place<'_>> {
        let mut at = path;
        while at != BASE {
            let parent = self.known(at)?.parent;
            match self.dir(os, parent) {
                Ok(dir) => return Ok(Place { dir, name: self.name(at) }),
                Err(ENOENT) => at = parent,
                Err(errno) => return Err(errno),
            }
        }
        Ok(Place { dir: self.base, name: c"." })
    }

    /// The directory of a path.
    pub fn parent(&self, path: u32) -> u32 {
        self.paths.get(path as usize).map_or(BASE, |known| known.parent)
    }

    /// For the rest of the running operation the last name of a path is spelled otherwise.
    pub fn spell(&mut self, path: u32, name: &CStr) {
        self.spelled.push((path, name.to_owned()));
    }

    /// The next operation begins.
    #[inline]
    pub fn next_operation(&mut self) {
        self.spelled.clear();
    }

    /// A path may be a directory by now: it may be looked for again.
    pub fn made(&mut self, path: u32) {
        if let Some(known) = self.paths.get_mut(path as usize) {
            known.missing = false;
        }
    }

    /// A path is no longer what it was. If it was a directory, all are looked for anew.
    pub fn changed<O: Os>(&mut self, os: &mut O, path: u32) {
        if self.known(path).is_ok_and(|known| known.fd != CLOSED || known.missing) {
            self.forget(os);
        }
    }

    fn forget<O: Os>(&mut self, os: &mut O) {
        for known in &mut self.paths {
            if known.fd != CLOSED {
                let _ = os.close(known.fd);
            }
            (known.fd, known.missing) = (CLOSED, false);
        }
    }

    /// Closes what a pass left open.
    pub fn close_handles<O: Os>(&mut self, os: &mut O) {
        for handle in self.handles.iter_mut().filter(|handle| handle.fd != CLOSED) {
            let _ = os.close(handle.fd);
            handle.fd = CLOSED;
        }
    }
}

impl<O: Os> Worker<O> {
    /// The state of a recorded load, made at its first use. It is given back with
    /// [`Worker::keep_replay`].
    pub fn take_replay(&mut self, id: u16, set: SetId) -> Option<Box<Replaying>> {
        let at = usize::from(id);
        if self.replays.len() <= at {
            self.replays.resize_with(at + 1, || None);
        }
        if let Some(state) = self.replays.get_mut(at)?.take() {
            return Some(state);
        }
        let plan = std::sync::Arc::clone(&self.plan);
        let replay = plan.replays.get(at)?;
        let facts = NameFacts { worker: u64::from(self.id), ..NameFacts::default() };
        let stream = &replay.stream;
        let here = |path: u32| {
            let mut name = stream.name(path).as_bytes().to_vec();
            for (from, to) in &replay.replace {
                let segments = plan.names.get(usize::from(*to)).map_or(&[][..], Vec::as_slice);
                let mut with = Vec::new();
                names::render(segments, facts, &mut with);
                name = replaced(&name, from.as_bytes(), &with);
            }
            CString::new(name).unwrap_or_default()
        };
        let paths = (0u32..).zip(&stream.paths);
        let paths =
            paths.map(|(id, path)| Known { parent: path.parent, name: here(id), fd: CLOSED, missing: false });
        let base = self.dirs.get(usize::from(set)).map_or(CLOSED, |dirs| dirs.base);
        Some(Box::new(Replaying {
            base: if base == CLOSED { self.os.root() } else { base },
            paths: paths.collect(),
            spelled: Vec::new(),
            handles: vec![OpenHandle { fd: CLOSED, path: BASE }; usize::from(stream.handles)],
            began: self.now,
        }))
    }

    /// Gives the state back.
    pub fn keep_replay(&mut self, id: u16, state: Box<Replaying>) {
        if let Some(place) = self.replays.get_mut(usize::from(id)) {
            *place = Some(state);
        }
    }

    /// Closes what recorded loads hold.
    pub(super) fn close_replays(&mut self) {
        for mut state in std::mem::take(&mut self.replays).into_iter().flatten() {
            state.close_handles(&mut self.os);
            state.forget(&mut self.os);
        }
    }
}

/// `text` with every `from` in it replaced.
fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    if from.is_empty() {
        return text.to_vec();
    }
    let mut all = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(from) {
            all.extend_from_slice(to);
            rest = after;
        } else if let Some((first, after)) = rest.split_first() {
            all.push(*first);
            rest = after;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::replaced;

    #[test]
    fn every_occurrence_is_replaced() {
        assert_eq!(replaced(b"client1/client12", b"client1", b"client0"), b"client0/client02");
        assert_eq!(replaced(b"abc", b"", b"x"), b"abc");
        assert_eq!(replaced(b"aaa", b"aa", b"b"), b"ba");
    }
}
