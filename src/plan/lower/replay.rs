//! A recorded load: its file is read once, whatever the number of cases and workers.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use super::context::{Lower, Program};
use crate::import::loadfile;
use crate::plan::instr::*;
use crate::plan::stream::Kind;
use crate::profile::diagnostic::Diagnostic;
use crate::profile::node::{Node, Value};
use crate::profile::template;
use crate::profile::units;

/// Loads read so far, by path, with the size and time that tell whether the file has changed.
type Known = HashMap<PathBuf, (u64, Option<SystemTime>, Arc<Stream>)>;
static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Largest file that is read, in bytes: a stream takes less than half of it in memory.
const LARGEST: u64 = 1 << 30;

/// The code of a load that was read and cannot be used. It is no mistake of the profile: only the cases
/// with that load cannot be run.
pub const UNUSABLE: &str = "unusable-load";

/// Why a file is no load.
struct Unusable {
    code: &'static str,
    message: String,
    help: String,
}

impl From<String> for Unusable {
    fn from(message: String) -> Unusable {
        Unusable { code: "unreadable-file", message, help: "name the file as your system has it".into() }
    }
}

/// Reads a load, or remembers it.
fn load(path: &Path) -> Result<Arc<Stream>, Unusable> {
    let shown = path.display();
    let about = fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
    if !about.is_file() {
        return Err(format!("{shown} is no regular file").into());
    }
    if about.len() > LARGEST {
        return Err(format!("{shown} has {} bytes, more than {LARGEST}", about.len()).into());
    }
    let (len, time) = (about.len(), about.modified().ok());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known_len, known_time, stream)) = known.get(path)
        && (*known_len, *known_time) == (len, time)
    {
        return Ok(Arc::clone(stream));
    }
    let text = fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
    let stream = loadfile::read(&text).map_err(|mistake| Unusable {
        code: UNUSABLE,
        message: format!("{shown}:{}:{}: {}", mistake.line, mistake.column, mistake.message),
        help: mistake.help,
    })?;
    let stream = Arc::new(stream);
    known.insert(path.to_path_buf(), (len, time, Arc::clone(&stream)));
    Ok(stream)
}

impl Lower {
    /// Operands of a step that performs a recorded load.
    pub fn replay(&mut self, program: &Program, args: &mut Args, node: &Node, object: &Node) {
        let stream = match object.text().map(|path| load(Path::new(path))) {
            Some(Ok(stream)) => stream,
            other => {
                let Unusable { code, message, help } = match other {
                    Some(Err(unusable)) => unusable,
                    _ => format!("{} where the path of a load is expected", object.value.described()).into(),
                };
                self.problem(Diagnostic::error(code, &object.place, message).help(help));
                return;
            }
        };
        let mut replace = Vec::new();
        for (from, to) in node.get("replace").map_or(&[][..], Node::entries) {
            if from.is_empty() || from.contains('/') {
                let message = format!("{from:?} is no part of a name");
                self.problem(Diagnostic::error("invalid-replace", &to.place, message));
                continue;
            }
            let compiled = template::compile(to, template::Purpose::Name);
            if compiled.is_ok() {
                replace.push((from.clone(), self.file_name(to)));
            } else {
                self.or(compiled.map(|_| ()), ());
            }
        }
        let option = |lower: &mut Lower, name: &str| {
            let node = node.get("options").and_then(|options| options.get(name));
            node.is_some_and(|node| lower.or(units::boolean(node), false))
        };
        let measured = node.get("measured").is_none_or(|n| n.value != Value::Bool(false));
        let stats = Kind::ALL.iter().map(|kind| {
            if stream.count(*kind) == 0 || kind.key().is_empty() {
                return NO_STAT;
            }
            let counts = if kind.moves() { StatKind::Data } else { StatKind::Operation };
            self.stat(program, kind.key(), counts, measured)
        });
        let stats = stats.collect();
        let options = ReplayOptions {
            sync_open: option(self, "sync_open"),
            sync_dirs: option(self, "sync_dirs"),
            sync_writes: option(self, "sync_writes"),
            no_resolve: option(self, "no_resolve"),
            attributes: option(self, "attributes"),
        };
        let replay = ReplayPlan { stream, replace, options, pace: None, stats };
        args.detail = Detail::Replay(self.plan.replays.len() as u16);
        self.plan.replays.push(replay);
    }

    /// A rate in bytes holds before every operation of the loads in its loop, not only once a pass.
    pub fn pace_replays(&mut self, code: &[Instr], pace: u16) {
        if self.plan.paces.get(usize::from(pace)).is_none_or(|pace| pace.bytes <= 0.0) {
            return;
        }
        for instr in code {
            if let Some(id) = self.replay_of(instr)
                && let Some(replay) = self.plan.replays.get_mut(usize::from(id))
            {
                replay.pace.get_or_insert(pace);
            }
        }
    }

    /// The recorded load an instruction performs.
    pub fn replay_of(&self, instr: &Instr) -> Option<u16> {
        let Instr::Op { args, .. } = instr else { return None };
        match self.plan.args.get(*args as usize)?.detail {
            Detail::Replay(id) => Some(id),
            _ => None,
        }
    }
}
