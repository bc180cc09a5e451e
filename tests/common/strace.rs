//! Runs a program under strace and turns the log into a list of calls.
//!
//! Knows strace's notation; knows nothing of which calls matter or which are alike.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One system call. `started` and `ended` are line numbers of the log, so that calls of several
/// threads can be put in order; a call that never returned ends at `usize::MAX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syscall {
    pub pid: u32,
    pub name: String,
    /// As strace wrote them.
    pub args: Vec<String>,
    /// `None` where strace wrote `?`: the call did not return.
    pub ret: Option<i64>,
    pub errno: Option<String>,
    /// Every absolute path the call names: its path arguments, its descriptors, the one it returns.
    pub paths: Vec<PathBuf>,
    pub started: usize,
    pub ended: usize,
}

/// What a traced program did.
#[derive(Debug)]
pub struct Trace {
    pub calls: Vec<Syscall>,
    pub stdout: String,
    pub stderr: String,
}

/// A line that is not understood. Nothing is passed over: a line left out could hide a call.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    pub line: usize,
    pub text: String,
    pub why: &'static str,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the log, {}: {}", self.line, self.why, self.text)
    }
}

/// A command to trace.
pub struct Run<'a> {
    pub program: &'a Path,
    pub args: Vec<OsString>,
    /// Where it starts; must be canonical.
    pub cwd: &'a Path,
    pub stdin: Option<&'a Path>,
}

impl<'a> Run<'a> {
    pub fn new<A: AsRef<OsStr>>(program: &'a Path, args: impl IntoIterator<Item = A>, cwd: &'a Path) -> Self {
        Run { program, args: args.into_iter().map(|a| a.as_ref().into()).collect(), cwd, stdin: None }
    }

    pub fn stdin(mut self, file: &'a Path) -> Self {
        self.stdin = Some(file);
        self
    }

    /// Runs it to its end under `strace`.
    ///
    /// # Panics
    /// When strace does not run, the program fails, or the log cannot be read.
    pub fn trace(self, strace: &Path) -> Trace {
        let dir = super::tools::scratch();
        let log = dir.path().join("log");
        let mut command = Command::new(strace);
        // -f: all threads and children; -y: the path behind each descriptor; -qq and signal=none: only
        // calls in the log; -s 64: enough for markers and lists of buffers, little of the data.
        command.args(["-f", "-qq", "-y", "-s", "64", "-e", "signal=none", "-o"]).arg(&log).arg("--");
        command.arg(self.program).args(&self.args).current_dir(self.cwd).env("LC_ALL", "C");
        command.stdin(match self.stdin {
            Some(file) => File::open(file).expect("the input opens").into(),
            None => Stdio::null(),
        });
        let out = command.output().expect("strace starts");
        let stdout = String::from_utf8_lossy(&out.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
        let what = || format!("{} {:?}", self.program.display(), self.args);
        assert!(out.status.success(), "{} ended with {}\n{stdout}{stderr}", what(), out.status);
        let log = std::fs::read(&log).expect("strace left a log");
        let calls =
            parse(&String::from_utf8_lossy(&log), self.cwd).unwrap_or_else(|e| panic!("{}: {e}", what()));
        assert!(!calls.is_empty(), "{}: strace saw no call at all", what());
        Trace { calls, stdout, stderr }
    }
}

/// Reads a log of `strace -f -y`, begun in the directory `cwd`. Calls come in the order they ended.
pub fn parse(log: &str, cwd: &Path) -> Result<Vec<Syscall>, Unreadable> {
    let mut pending: HashMap<u32, (usize, String)> = HashMap::new();
    let mut calls = Vec::new();
    for (at, text) in log.lines().enumerate() {
        let line = at + 1;
        let bad = |why| Unreadable { line, text: text.to_owned(), why };
        let (pid, rest) = split_pid(text).ok_or_else(|| bad("no process number"))?;
        if rest.starts_with("+++ ") || rest.starts_with("--- ") {
            continue; // a process ended, a signal came: no call
        }
        let (started, whole) = match rest.strip_prefix("<... ") {
            Some(resumed) => {
                let (name, tail) =
                    resumed.split_once(" resumed>").ok_or_else(|| bad("no name before `resumed>`"))?;
                let (started, head) =
                    pending.remove(&pid).ok_or_else(|| bad("resumes a call that never began"))?;
                if head.split('(').next() != Some(name) {
                    return Err(bad("resumes another call than the one begun"));
                }
                (started, head + tail)
            }
            None if pending.contains_key(&pid) => return Err(bad("begins a call inside another")),
            None => (line, rest.to_owned()),
        };
        if let Some(head) = whole.strip_suffix("<unfinished ...>") {
            pending.insert(pid, (started, head.trim_end().to_owned()));
            continue;
        }
        // A thread that died within a call: `futex(… <unfinished ...>) = ?`.
        let whole = whole.replace(" <unfinished ...>) = ?", ") = ?");
        calls.push(call(pid, &whole, cwd, started, line).map_err(bad)?);
    }
    // What had not returned when the log ended still happened.
    let mut rest: Vec<_> = pending.into_iter().collect();
    rest.sort_by_key(|(_, (started, _))| *started);
    for (pid, (line, head)) in rest {
        let why = |why| Unreadable { line, text: head.clone(), why };
        let closed = format!("{}) = ?", head.trim_end_matches([',', ' ']));
        calls.push(call(pid, &closed, cwd, line, usize::MAX).map_err(why)?);
    }
    Ok(calls)
}

/// `1234  rest`, or `[pid 1234] rest` as strace writes it to a terminal.
fn split_pid(text: &str) -> Option<(u32, &str)> {
    let text = text.strip_prefix("[pid").map_or(text, str::trim_start);
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let pid = text[..digits].parse().ok()?;
    Some((pid, text[digits..].trim_start_matches(']').trim_start()))
}

/// A whole call: `name(args) = result`.
fn call(pid: u32, text: &str, cwd: &Path, started: usize, ended: usize) -> Result<Syscall, &'static str> {
    let (name, rest) = text.split_once('(').ok_or("no call")?;
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err("no name of a call");
    }
    let (args, end) = split_args(rest).ok_or("the arguments do not end")?;
    let result = rest[end..].trim_start().strip_prefix("= ").ok_or("no result")?;
    let (value, tail) = result.split_at(result.find([' ', '<']).unwrap_or(result.len()));
    let ret = match value {
        "?" => None,
        _ => Some(number(value).ok_or("the result is no number")?),
    };
    let word = tail.trim_start().split(' ').next().unwrap_or_default();
    let errno = (ret.is_none_or(|r| r == -1) && is_errno(word)).then(|| word.to_owned());
    if ret == Some(-1) && errno.is_none() {
        return Err("failed without an error's name");
    }
    let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
    let mut paths = paths_of(name, &args, cwd);
    paths.extend(descriptor(result));
    Ok(Syscall { pid, name: name.to_owned(), args, ret, errno, paths, started, ended })
}

fn is_errno(word: &str) -> bool {
    word.len() > 1
        && word.starts_with('E')
        && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
}

/// A decimal or hexadecimal number as strace writes results and sizes.
pub fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(u64::cast_signed),
        None => text.parse().ok(),
    }
}

/// Splits at the commas of the outermost level. Gives the arguments and where the text goes on
/// after the closing parenthesis.
fn split_args(text: &str) -> Option<(Vec<&str>, usize)> {
    let bytes = text.as_bytes();
    let (mut args, mut from, mut depth, mut i) = (Vec::new(), 0, 0usize, 0);
    while let Some(&byte) = bytes.get(i) {
        match byte {
            b'"' => i = end_of_string(bytes, i)?,
            b'<' if opens_path(text, i) => i += text[i..].find('>')?,
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[from..i].trim();
                if !(last.is_empty() && args.is_empty()) {
                    args.push(last);
                }
                return Some((args, i + 1));
            }
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                args.push(text[from..i].trim());
                from = i + 1;
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// The index of the quote that closes the string opened at `open`.
fn end_of_string(bytes: &[u8], open: usize) -> Option<usize> {
    let mut i = open + 1;
    loop {
        match bytes.get(i)? {
            b'\\' => i += 2,
            b'"' => return Some(i),
            _ => i += 1,
        }
    }
}

/// Whether the `<` at `i` follows a descriptor (`3<`, `AT_FDCWD<`); strace escapes a `>` in the path.
fn opens_path(text: &str, i: usize) -> bool {
    let before = &text[..i];
    let after_number = before.ends_with(|c: char| c.is_ascii_digit()) && !text[i..].starts_with("<<");
    after_number || before.ends_with("AT_FDCWD")
}

/// The absolute paths among the arguments. A quoted argument after a directory is relative to it,
/// any other to `cwd`; the data of transfers and the names of attributes are no paths.
fn paths_of(name: &str, args: &[String], cwd: &Path) -> Vec<PathBuf> {
    const DATA: [&str; 11] = [
        "read",
        "write",
        "pread64",
        "pwrite64",
        "sendto",
        "recvfrom",
        "sendmsg",
        "recvmsg",
        "send",
        "recv",
        "getrandom",
    ];
    let named = |i: usize| -> Option<OsString> {
        let plain = DATA.contains(&name) || (name.contains("xattr") && i > 0);
        args.get(i).filter(|_| !plain).and_then(|arg| unquote(arg)).filter(|text| !text.is_empty())
    };
    let mut paths = Vec::new();
    for (i, arg) in args.iter().enumerate() {
        if let Some(text) = named(i) {
            let dir = i.checked_sub(1).and_then(|before| descriptor(&args[before]));
            paths.push(tidy(&dir.unwrap_or_else(|| cwd.to_owned()).join(text)));
        } else if !arg.starts_with("AT_FDCWD") && named(i + 1).is_none() {
            paths.extend(descriptors_within(arg)); // a descriptor by itself, or several in a list
        }
    }
    paths
}

fn descriptors_within(arg: &str) -> Vec<PathBuf> {
    let (mut paths, mut i) = (Vec::new(), 0);
    while let Some(byte) = arg.as_bytes().get(i) {
        match byte {
            b'"' => i = end_of_string(arg.as_bytes(), i).unwrap_or(arg.len()),
            b'<' if opens_path(arg, i) => {
                let from = arg[..i].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |before| before + 1);
                paths.extend(descriptor(&arg[from..]));
                i += arg[i..].find('>').unwrap_or(0);
            }
            _ => {}
        }
        i += 1;
    }
    paths
}

/// The path behind `3</a/b>`, `AT_FDCWD</a>` or `3</a/b>(deleted)`; none for pipes, sockets and the like.
fn descriptor(arg: &str) -> Option<PathBuf> {
    let (number, rest) = arg.split_once('<')?;
    if number != "AT_FDCWD" && (number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit())) {
        return None;
    }
    let path = unescape(rest.split_once('>')?.0);
    path.as_encoded_bytes().starts_with(b"/").then(|| tidy(Path::new(&path)))
}

/// The text of a quoted argument, shortened (`"abc"...`) or not.
pub fn unquote(arg: &str) -> Option<OsString> {
    let body = arg.strip_prefix('"')?;
    let body = body.strip_suffix("...").unwrap_or(body).strip_suffix('"')?;
    Some(unescape(body))
}

/// Undoes C's escapes; octal ones have one to three digits.
fn unescape(text: &str) -> OsString {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(&byte) = bytes.get(i) {
        i += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&kind) = bytes.get(i) else { break };
        let octal = bytes[i..].iter().take(3).take_while(|b| (b'0'..=b'7').contains(b)).count();
        if octal > 0 {
            out.push(bytes[i..i + octal].iter().fold(0u8, |n, b| n.wrapping_mul(8).wrapping_add(b - b'0')));
            i += octal;
            continue;
        }
        i += 1;
        out.push(match kind {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            other => other,
        });
    }
    OsString::from_vec(out)
}

/// Without doubled slashes, `.` and `..`, by the letters alone.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            std::path::Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}
