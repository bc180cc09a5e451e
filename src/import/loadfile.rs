//! Reads a load file of dbench, line by line, into a compact stream of operations.
//!
//! Everything that can be known beforehand is settled here: which handle a number means, which path
//! a name is, what a line expects. A line that cannot be performed is a mistake with its place.
//! Knows nothing of how a stream is replayed.

use std::collections::HashMap;
use std::fmt;

use crate::plan::stream::{BASE, Entry, Kind, NO_HANDLE, Stream, flags, opens};

/// Most bytes of one line, of one token, and most tokens of a line, as the original has them.
const LONGEST_LINE: usize = 1023;
const LONGEST_TOKEN: usize = 99;
const MOST_TOKENS: usize = 19;
/// Most handles open at once, as the original has them.
const MOST_HANDLES: usize = 200;
/// Largest transfer in bytes: every worker has buffers of that size.
const LARGEST_TRANSFER: u64 = 64 << 20;
/// Longest name of a file in bytes.
const LONGEST_NAME: usize = 255;

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// From 1, in bytes.
    pub column: usize,
    /// What was read and what is wrong with it.
    pub message: String,
    /// What would be right.
    pub help: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}; {}", self.line, self.column, self.message, self.help)
    }
}

/// What a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Param {
    Path,
    Handle,
    Number,
}

impl Param {
    fn word(self) -> &'static str {
        match self {
            Param::Path => "path",
            Param::Handle => "handle",
            Param::Number => "number",
        }
    }
}

/// Every operation: its name, its parameters before the status.
const OPERATIONS: &[(&str, Kind, &[Param])] = {
    use Param::{Handle, Number, Path};
    &[
        ("ReadX", Kind::Read, &[Handle, Number, Number, Number]),
        ("WriteX", Kind::Write, &[Handle, Number, Number, Number]),
        ("NTCreateX", Kind::Open, &[Path, Number, Number, Handle]),
        ("Close", Kind::Close, &[Handle]),
        ("Flush", Kind::Fsync, &[Handle]),
        ("Rename", Kind::Rename, &[Path, Path]),
        ("Unlink", Kind::Unlink, &[Path, Number]),
        ("Rmdir", Kind::Rmdir, &[Path]),
        ("Mkdir", Kind::Mkdir, &[Path]),
        ("Deltree", Kind::DeleteTree, &[Path]),
        ("QUERY_PATH_INFORMATION", Kind::QueryPath, &[Path, Number]),
        ("QUERY_FILE_INFORMATION", Kind::QueryFile, &[Handle, Number]),
        ("QUERY_FS_INFORMATION", Kind::QueryFs, &[Number]),
        ("SET_FILE_INFORMATION", Kind::SetFile, &[Handle, Number]),
        ("FIND_FIRST", Kind::FindFirst, &[Path, Number, Number, Number]),
        ("LockX", Kind::Lock, &[Handle, Number, Number]),
        ("UnlockX", Kind::Unlock, &[Handle, Number, Number]),
        ("Sleep", Kind::Sleep, &[Number]),
    ]
};

/// A piece of a line and where it begins, in bytes from 0.
#[derive(Clone, Copy)]
struct Token<'a> {
    text: &'a str,
    at: usize,
}

/// What a file is known to be while the lines are read.
#[derive(Default)]
struct Known {
    /// Handles by number: their place, their path.
    open: HashMap<u64, (u16, u32)>,
    /// Places nobody has.
    free: Vec<u16>,
    /// Paths by the one they are in and their last name.
    paths: HashMap<(u32, Box<str>), u32>,
    /// Paths by how they are written.
    written: HashMap<Box<str>, u32>,
    /// Bytes of each file there is; directories have none.
    sizes: HashMap<u32, u64>,
    /// Bytes of all of them.
    bytes: u64,
}

/// Reads the text of a load file.
///
/// # Errors
/// The first line that cannot be used.
pub fn read(text: &[u8]) -> Result<Stream, Mistake> {
    let mut stream = Stream::empty();
    // Most lines are a little longer than fifty bytes.
    stream.entries.reserve(text.len() / 48);
    let mut known = Known::default();
    for (number, line) in text.split(|b| *b == b'\n').enumerate() {
        let mut reader = Line { number: number + 1, stream: &mut stream, known: &mut known };
        reader.read(line)?;
    }
    if stream.entries.is_empty() {
        return Err(Mistake {
            line: 1,
            column: 1,
            message: "no operation in the whole file".into(),
            help: format!("write one a line: {}", names()),
        });
    }
    stream.finish();
    Ok(stream)
}

fn names() -> String {
    OPERATIONS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ")
}

struct Line<'a> {
    number: usize,
    stream: &'a mut Stream,
    known: &'a mut Known,
}

impl Line<'_> {
    fn mistake<T>(&self, at: usize, message: String, help: impl Into<String>) -> Result<T, Mistake> {
        Err(Mistake { line: self.number, column: at + 1, message, help: help.into() })
    }

    fn read(&mut self, line: &[u8]) -> Result<(), Mistake> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > LONGEST_LINE {
            let message = format!("a line of {} bytes", line.len());
            return self.mistake(0, message, format!("at most {LONGEST_LINE} are possible"));
        }
        let text = match std::str::from_utf8(line) {
            Ok(text) => text,
            Err(error) => {
                return self.mistake(error.valid_up_to(), "bytes that are no text".into(), "write UTF-8");
            }
        };
        if let Some(at) = text.find('\0') {
            return self.mistake(at, "a zero byte".into(), "no name can hold one");
        }
        let mut tokens = [Token { text: "", at: 0 }; MOST_TOKENS];
        let count = self.split(text, &mut tokens)?;
        let mut tokens = tokens.get(..count).unwrap_or_default();
        let timed = tokens.first().filter(|token| token.text.starts_with(|c: char| c.is_ascii_digit()));
        if let Some(token) = timed {
            self.not_before(*token)?;
            tokens = tokens.get(1..).unwrap_or_default();
        }
        match tokens.split_first() {
            Some((operation, rest)) => self.operation(*operation, rest, line.len()),
            None => Ok(()),
        }
    }

    /// Splits a line at blanks outside of quotes; a comment ends it. Returns how many there are.
    fn split<'t>(&self, text: &'t str, into: &mut [Token<'t>; MOST_TOKENS]) -> Result<usize, Mistake> {
        let bytes = text.as_bytes();
        let (mut at, mut count) = (0, 0);
        loop {
            while bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\t')) {
                at += 1;
            }
            let start = at;
            let token = match bytes.get(at) {
                None | Some(b'#') => return Ok(count),
                Some(b'"') => {
                    let rest = text.get(at + 1..).unwrap_or_default();
                    let Some(end) = rest.find('"') else {
                        return self.mistake(start, "a quote that nothing closes".into(), "add a second \"");
                    };
                    at += end + 2;
                    rest.get(..end).unwrap_or_default()
                }
                Some(_) => {
                    while bytes.get(at).is_some_and(|b| !matches!(b, b' ' | b'\t')) {
                        at += 1;
                    }
                    text.get(start..at).unwrap_or_default()
                }
            };
            if token.len() > LONGEST_TOKEN {
                let message = format!("a word of {} bytes", token.len());
                return self.mistake(start, message, format!("at most {LONGEST_TOKEN} are possible"));
            }
            let Some(place) = into.get_mut(count) else {
                let message = format!("more than {MOST_TOKENS} words");
                return self.mistake(start, message, "one operation a line, no longer than that");
            };
            *place = Token { text: token, at: start };
            count += 1;
        }
    }

    fn not_before(&mut self, token: Token) -> Result<(), Mistake> {
        let seconds = token.text.parse::<f64>().ok().filter(|s| (0.0..1e9).contains(s));
        let Some(seconds) = seconds else {
            let message = format!("{:?} where an operation or its earliest time stands", token.text);
            return self.mistake(token.at, message, "a time is seconds since the start: 1.25");
        };
        let a = self.wide([(seconds * 1e9) as u64, 0, 0]);
        let entry = Entry { kind: Kind::NotBefore, flags: flags::OK, handle: NO_HANDLE, a, b: 0 };
        self.stream.add_entry(entry, self.number);
        Ok(())
    }

    fn wide(&mut self, wide: [u64; 3]) -> u32 {
        self.stream.wide.push(wide);
        (self.stream.wide.len() - 1) as u32
    }

    fn operation(&mut self, name: Token, rest: &[Token], end: usize) -> Result<(), Mistake> {
        let found = OPERATIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name.text));
        let Some((name, kind, params)) = found else {
            let message = format!("unknown operation {:?}", name.text);
            return self.mistake(name.at, message, format!("the operations are {}", names()));
        };
        let (params, kind) = (*params, *kind);
        if rest.len() != params.len() + 1 {
            let words: Vec<&str> = params.iter().map(|p| p.word()).chain(["status"]).collect();
            let (what, at) = match rest.get(params.len() + 1) {
                Some(extra) => ("too many words", extra.at),
                None => ("the line is cut short", end),
            };
            let message = format!("{what}: {} of {name}'s {}", rest.len(), params.len() + 1);
            return self.mistake(at, message, format!("it takes {}", words.join(", ")));
        }
        let ok = match rest.last() {
            Some(token) => self.status(*token)?,
            None => true,
        };
        let mut entry = Entry { kind, flags: u8::from(ok), handle: NO_HANDLE, a: 0, b: 0 };
        let number = |at: usize| self.number(rest.get(at).copied());
        match kind {
            Kind::Read | Kind::Write => {
                let (offset, len, moved) = (number(1)?, number(2)?, number(3)?);
                if len > LARGEST_TRANSFER {
                    let at = rest.get(2).map_or(0, |token| token.at);
                    let message = format!("a transfer of {len} bytes");
                    return self.mistake(at, message, format!("up to {LARGEST_TRANSFER} are possible"));
                }
                let path = self.handle(&mut entry, rest.first())?;
                self.place(&mut entry, [offset, len, moved]);
                self.stream.largest = self.stream.largest.max(len);
                if kind == Kind::Read {
                    self.stream.bytes.0 += len;
                } else {
                    self.stream.bytes.1 += len;
                    self.grows(path, offset.saturating_add(len));
                }
            }
            Kind::Lock | Kind::Unlock => {
                let (offset, len) = (number(1)?, number(2)?);
                self.handle(&mut entry, rest.first())?;
                self.place(&mut entry, [offset, len, len]);
            }
            Kind::Open => self.open(&mut entry, rest)?,
            Kind::Close => {
                self.handle(&mut entry, rest.first())?;
                let number = self.number(rest.first().copied())?;
                if let Some((place, _)) = self.known.open.remove(&number) {
                    self.known.free.push(place);
                }
            }
            Kind::Fsync | Kind::QueryFile | Kind::SetFile => {
                entry.a = self.handle(&mut entry, rest.first())?;
            }
            Kind::Rename => {
                entry.a = self.path(rest.first())?;
                entry.b = self.path(rest.get(1))?;
                if ok && let Some(size) = self.known.sizes.remove(&entry.a) {
                    self.gone(entry.b);
                    self.known.sizes.insert(entry.b, size);
                }
            }
            Kind::FindFirst => {
                entry.b = number(2)?.min(u64::from(u32::MAX)) as u32;
                entry.a = self.path(rest.first())?;
            }
            Kind::QueryFs => {
                number(0)?;
            }
            Kind::Sleep => entry.a = number(0)?.min(u64::from(u32::MAX)) as u32,
            Kind::Unlink => {
                entry.a = self.path(rest.first())?;
                if ok {
                    self.gone(entry.a);
                }
            }
            _ => entry.a = self.path(rest.first())?,
        }
        self.stream.add_entry(entry, self.number);
        Ok(())
    }

    fn status(&self, token: Token) -> Result<bool, Mistake> {
        let lower =
            |prefix: &str| token.text.get(..prefix.len()).is_some_and(|t| t.eq_ignore_ascii_case(prefix));
        let hex = token.text.get(2..).filter(|_| lower("0x"));
        if let Some(code) = hex.and_then(|hex| u64::from_str_radix(hex, 16).ok()) {
            return Ok(code == 0);
        }
        let word = token.text.get("NT_STATUS_".len()..).filter(|_| lower("NT_STATUS_")).unwrap_or_default();
        if !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Ok(word.eq_ignore_ascii_case("OK"));
        }
        let message = format!("unknown status {:?}", token.text);
        self.mistake(
            token.at,
            message,
            "a line ends with NT_STATUS_OK, another NT_STATUS_ name, or 0x and a number",
        )
    }

    fn number(&self, token: Option<Token>) -> Result<u64, Mistake> {
        let token = token.unwrap_or(Token { text: "", at: 0 });
        let hex = token.text.strip_prefix("0x").or_else(|| token.text.strip_prefix("0X"));
        let number = match hex {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => token.text.parse().ok(),
        };
        match number.filter(|n| *n <= i64::MAX as u64) {
            Some(number) => Ok(number),
            None => self.mistake(
                token.at,
                format!("{:?} where a number stands", token.text),
                "write it as 4096 or 0x1000",
            ),
        }
    }

    /// Puts the place of an open handle into the entry and returns its path.
    fn handle(&self, entry: &mut Entry, token: Option<&Token>) -> Result<u32, Mistake> {
        let number = self.number(token.copied())?;
        match self.known.open.get(&number) {
            Some((place, path)) => {
                entry.handle = *place;
                Ok(*path)
            }
            None => {
                let at = token.map_or(0, |token| token.at);
                let message = format!("handle {number} is not open here");
                self.mistake(at, message, "an NTCreateX that succeeds must open it first")
            }
        }
    }

    /// An offset and lengths where they fit.
    fn place(&mut self, entry: &mut Entry, [offset, len, moved]: [u64; 3]) {
        match (u32::try_from(offset), u32::try_from(len)) {
            (Ok(a), Ok(b)) if moved == len => (entry.a, entry.b) = (a, b),
            _ => {
                entry.a = self.wide([offset, len, moved]);
                entry.flags |= flags::WIDE;
            }
        }
    }

    fn open(&mut self, entry: &mut Entry, rest: &[Token]) -> Result<(), Mistake> {
        let numbers = [1, 2, 3].map(|at| self.number(rest.get(at).copied()));
        let [options, disposition, number] = numbers;
        let (options, disposition, number) = (options?, disposition?, number?);
        entry.a = self.path(rest.first())?;
        entry.b = match disposition {
            _ if options & 1 != 0 => opens::DIRECTORY,
            2 => opens::CREATE,
            4 | 5 => opens::CREATE | opens::TRUNCATE,
            0 | 1 | 3 => 0,
            other => {
                let at = rest.get(2).map_or(0, |token| token.at);
                let message = format!("disposition {other}");
                return self.mistake(
                    at,
                    message,
                    "one of 0 to 5: 1 opens, 2 creates, 5 overwrites or creates",
                );
            }
        };
        if entry.flags & flags::OK == 0 {
            return Ok(());
        }
        // Where the number is given out again, the first file can be reached no more and stays open.
        let place = match self.known.free.pop() {
            Some(place) => place,
            None if usize::from(self.stream.handles) < MOST_HANDLES => {
                self.stream.handles += 1;
                self.stream.handles - 1
            }
            None => {
                let at = rest.get(3).map_or(0, |token| token.at);
                let message = format!("more than {MOST_HANDLES} handles open at once");
                return self.mistake(at, message, "close some first");
            }
        };
        entry.handle = place;
        self.known.open.insert(number, (place, entry.a));
        if entry.b & opens::TRUNCATE != 0 {
            self.gone(entry.a);
        }
        self.known.sizes.entry(entry.a).or_insert(0);
        self.stream.names = self.stream.names.max(self.known.sizes.len() as u64);
        Ok(())
    }

    fn gone(&mut self, path: u32) {
        if let Some(size) = self.known.sizes.remove(&path) {
            self.known.bytes -= size;
        }
    }

    fn grows(&mut self, path: u32, end: u64) {
        let size = self.known.sizes.entry(path).or_insert(0);
        if end > *size {
            self.known.bytes += end - *size;
            *size = end;
            self.stream.footprint = self.stream.footprint.max(self.known.bytes);
        }
    }

    /// The number of a path, and of every directory on its way.
    fn path(&mut self, token: Option<&Token>) -> Result<u32, Mistake> {
        let token = token.copied().unwrap_or(Token { text: "", at: 0 });
        if let Some(path) = self.known.written.get(token.text) {
            return Ok(*path);
        }
        let text = token.text.replace('\\', "/");
        if !text.starts_with('/') {
            let message = format!("{:?} where a path stands", token.text);
            return self.mistake(token.at, message, r"paths begin with a \ or /");
        }
        let mut path = BASE;
        for name in text.split('/').filter(|name| !name.is_empty()) {
            if name == ".." || name == "." {
                let help = "paths stay below the directory that is replayed in: no . or .. in them";
                let message = format!("the path {:?} has {name:?} in it", token.text);
                return self.mistake(token.at, message, help);
            }
            if name.len() > LONGEST_NAME {
                let message = format!("a name of {} bytes", name.len());
                return self.mistake(token.at, message, "a name has at most 255");
            }
            path = match self.known.paths.get(&(path, name.into())) {
                Some(known) => *known,
                None => {
                    let new = self.stream.add_path(path, name);
                    self.known.paths.insert((path, name.into()), new);
                    new
                }
            };
        }
        self.known.written.insert(token.text.into(), path);
        Ok(path)
    }
}

#[cfg(test)]
#[path = "loadfile_tests.rs"]
mod tests;
