//! The program as users run it: in a directory of its own, with small profiles.

// Every test binary compiles this module and uses its own part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A working directory with a target `t` in it; all of it is gone when dropped.
pub struct Place {
    dir: tempfile::TempDir,
}

/// What a call of the program gave.
pub struct Answer {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Answer {
    fn of(output: Output) -> Answer {
        Answer {
            code: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Answer {
        assert_eq!(self.code, Some(code), "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// Every text stands on the error output.
    #[track_caller]
    pub fn says(self, texts: &[&str]) -> Answer {
        for text in texts {
            assert!(self.err.contains(text), "{text:?} is not said:\n{}", self.err);
        }
        self
    }
}

/// Two cases: each writes files and reads them back.
pub const FILES: &str = "\
profile: files
version: 1.0.0
title: Files
summary: A test of tests.
params:
  count: {type: count, default: 8}
  size: {type: size, default: 4KiB}
cases:
  - {id: small, title: Small files}
  - {id: large, title: Large files, with: {size: 64KiB}}
files:
  data: {name: \"{n:04}\", per: worker}
phases:
  - phase: write
    repeat: \"{{ count }}\"
    steps: [{create: data}, {write: \"{{ size }}\", block: 4KiB}, fsync, close]
  - phase: read
    steps: [{each: data, steps: [{open: data, mode: read}, {read: whole, block: 4KiB}, close]}]
results:
  - {name: Files, value: write.create.ops.rate, unit: files/s, better: higher, primary: true}
  - {name: Bytes, value: write.bytes.total, unit: B, better: higher}
";

/// Three cases; the second opens a file that is not there.
pub const MIXED: &str = "\
profile: mixed
version: 1.0.0
title: Mixed
summary: A test of tests.
params: {broken: {type: bool, default: false}}
cases:
  - {id: first, title: First}
  - {id: second, title: Second, with: {broken: true}}
  - {id: third, title: Third}
files:
  data: {name: \"{n}\", per: worker}
phases:
  - phase: work
    repeat: 4
    steps:
      - {create: data}
      - {write: 4KiB}
      - close
      - {stat: data, name: missing, when: broken}
results:
  - {name: Bytes, value: work.write.bytes.total, unit: B, better: higher}
  - {name: Rate, value: work.write.bytes.rate, unit: MiB/s, better: higher, primary: true}
";

/// One quick case, one that runs until it is stopped, and one more.
pub const ENDLESS: &str = "\
profile: endless
version: 1.0.0
title: Endless
summary: A test of tests.
params: {time: {type: duration, default: 50ms}}
cases:
  - {id: quick, title: Quick}
  - {id: endless, title: Endless, with: {time: 1000h}}
  - {id: after, title: After}
files:
  data: {name: one, per: worker, count: 1, size: 64KiB}
phases:
  - phase: work
    for: \"{{ time }}\"
    steps: [{write: 4KiB, in: data, at: random}]
results:
  - {name: Writes, value: work.write.ops.total, better: higher, primary: true}
";

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::create_dir(dir.path().join("t")).expect("a directory can be made");
        Place { dir }
    }

    /// With these profiles in it, each under the name it gives itself.
    pub fn with(profiles: &[&str]) -> Place {
        let place = Place::new();
        for text in profiles {
            let first = text.lines().next().and_then(|line| line.split_once(": ")).expect("a head");
            place.write(&format!("{}.yaml", first.1), text);
        }
        place
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ioscore"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub fn call(&self, arguments: &[&str]) -> Answer {
        Answer::of(self.command(arguments).output().expect("the program starts"))
    }

    /// `run … --target t --runs 1 --name NAME`.
    pub fn run(&self, name: &str, arguments: &[&str]) -> Answer {
        let mut all = vec!["run", "--target", "t", "--runs", "1", "--name", name];
        all.extend(arguments);
        self.call(&all)
    }

    /// Starts the program and waits until `ready` holds.
    pub fn start(&self, arguments: &[&str], ready: impl Fn(&Place) -> bool) -> Running {
        let child = self.command(arguments).spawn().expect("the program starts");
        let mut running = Running { child: Some(child) };
        let began = Instant::now();
        while !ready(self) {
            assert!(began.elapsed() < Duration::from_secs(60), "the program does not come to the point");
            let ended = running.child.as_mut().and_then(|child| child.try_wait().ok().flatten());
            assert!(ended.is_none(), "the program has ended: {ended:?}");
            std::thread::yield_now();
        }
        running
    }

    pub fn record_path(&self, name: &str) -> PathBuf {
        self.path().join("results").join(name).join("record.json")
    }

    #[track_caller]
    pub fn record(&self, name: &str) -> Value {
        let bytes = std::fs::read(self.record_path(name)).expect("there is a record");
        serde_json::from_slice(&bytes).expect("the record is JSON")
    }

    /// `case: status` of every row.
    pub fn statuses(&self, name: &str) -> Vec<String> {
        rows(&self.record(name))
            .iter()
            .map(|row| format!("{}: {}", word(row, "case"), word(row, "status")))
            .collect()
    }

    /// Names in the target.
    pub fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path().join("t")).expect("the target can be read");
        entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
    }
}

pub fn rows(record: &Value) -> &[Value] {
    record["rows"].as_array().expect("a record has rows")
}

pub fn word(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_string()
}

/// A program in its course; ended when dropped.
pub struct Running {
    child: Option<Child>,
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Sends a signal by its name for `kill`.
    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args(["-s", name, &self.pid().to_string()]).status();
        assert!(status.expect("kill starts").success());
    }

    pub fn wait(mut self) -> Answer {
        let child = self.child.take().expect("it runs");
        Answer::of(child.wait_with_output().expect("it ends"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
