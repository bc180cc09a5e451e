//! From a JSON pointer to the bytes of a YAML text.
//!
//! The parser tells places only in its errors, so the text is read again by a walker that
//! follows the pointer and raises an error where it ends. Knows nothing of the language.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess};
use serde::de::{VariantAccess, Visitor};

/// How many merge keys one pointer may lead through.
const MERGES: usize = 8;
/// How many members of a list of merges are looked into.
const MERGED: usize = 32;

/// Joins a pointer and one more key, escaped.
pub fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Joins a pointer and the index of an item.
pub fn item(pointer: &str, index: usize) -> String {
    format!("{pointer}/{index}")
}

/// A pointer that means the second of two equal keys: only the loader makes such.
pub fn second(pointer: &str) -> String {
    format!("{pointer}~2")
}

/// The pointer of the containing value and the last key; `None` at the root.
pub fn parent(pointer: &str) -> Option<(&str, String)> {
    pointer.rsplit_once('/').map(|(parent, last)| (parent, token(last).key))
}

/// The bytes of the value a pointer names, or of its key. What is not there is sought through
/// merge keys first and then stands for the key of its parent. `None` if the text cannot be read.
pub fn range(text: &str, pointer: &str, on_key: bool) -> Option<Range<usize>> {
    let tokens: Vec<Token> = pointer.split('/').skip(1).map(token).collect();
    let mut end = tokens.len();
    let mut on_key = on_key;
    loop {
        let path = tokens.get(..end)?;
        if let Some(hit) = find(text, path, on_key && end > 0, MERGES) {
            match extent(text, &hit) {
                Some(range) => return Some(range),
                // An empty value: its key says more than the blank after it.
                None if !on_key
                    && end > 0
                    && path.last().is_some_and(|last| last.key.parse::<usize>().is_err()) =>
                {
                    on_key = true;
                    continue;
                }
                None => return Some(hit.offset..hit.offset),
            }
        }
        if end == 0 {
            return None;
        }
        end -= 1;
        on_key = true;
    }
}

/// The text of the scalar a pointer names, as the parser reads it; `None` if it is none.
pub fn scalar(text: &str, pointer: &str) -> Option<String> {
    let path: Vec<Token> = pointer.split('/').skip(1).map(token).collect();
    find(text, &path, false, MERGES)?.scalar
}

/// The bytes of `part`, counted in the scalar's own text, within the range of that scalar; the
/// whole range where the text is written otherwise (escapes, folded lines).
pub fn part(text: &str, range: &Range<usize>, scalar: &str, part: &Range<usize>) -> Range<usize> {
    let written = text.get(range.clone()).unwrap_or("");
    let Some(wanted) = scalar.get(part.clone()) else { return range.clone() };
    let quote = written.starts_with(['"', '\'']) as usize;
    let same = written.get(quote..).is_some_and(|rest| rest.starts_with(scalar));
    if same {
        return range.start + quote + part.start..range.start + quote + part.end;
    }
    // A block scalar or a folded one: its words stand somewhere after the start.
    let tail = text.get(range.start..).unwrap_or("");
    let limit = tail.char_indices().nth(scalar.chars().count() * 2 + 200).map_or(tail.len(), |(at, _)| at);
    match tail.get(..limit).and_then(|tail| tail.find(wanted)) {
        Some(at) if wanted.len() > 1 => range.start + at..range.start + at + wanted.len(),
        _ => range.clone(),
    }
}

/// Line and column of a byte offset, both from 1, the column in characters.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    (line, before.get(start..).unwrap_or("").chars().count() + 1)
}

#[derive(Clone, Debug)]
struct Token {
    key: String,
    /// Which of several equal keys, from 1.
    nth: usize,
}

fn token(raw: &str) -> Token {
    let (raw, nth) = raw.strip_suffix("~2").map_or((raw, 1), |raw| (raw, 2));
    Token { key: raw.replace("~1", "/").replace("~0", "~"), nth }
}

struct Hit {
    offset: usize,
    /// The scalar that stands there, if it is a text.
    scalar: Option<String>,
    collection: bool,
}

enum Walked {
    Hit(Hit),
    /// How many tokens were found before one was missing.
    Missed(usize),
}

fn find(text: &str, path: &[Token], on_key: bool, merges: usize) -> Option<Hit> {
    let missed = match walk(text, path, on_key)? {
        Walked::Hit(hit) => return Some(hit),
        Walked::Missed(depth) => depth,
    };
    if merges == 0 {
        return None;
    }
    let (before, after) = path.split_at_checked(missed)?;
    for index in 0..=MERGED {
        let mut through = before.to_vec();
        through.push(Token { key: "<<".into(), nth: 1 });
        if let Some(index) = index.checked_sub(1) {
            through.push(Token { key: index.to_string(), nth: 1 });
        }
        let entered = through.len();
        through.extend_from_slice(after);
        match walk(text, &through, on_key)? {
            Walked::Hit(hit) => return Some(hit),
            Walked::Missed(depth) if depth > entered => return find(text, &through, on_key, merges - 1),
            // No merge key here, or no more maps in its list.
            Walked::Missed(depth) if depth < entered => return None,
            Walked::Missed(_) => {}
        }
    }
    None
}

fn walk(text: &str, path: &[Token], on_key: bool) -> Option<Walked> {
    let notes = Notes::default();
    let seed = Walk { path, on_key, depth: 0, notes: &notes };
    match seed.deserialize(serde_yaml::Deserializer::from_str(text)) {
        Ok(()) => Some(Walked::Missed(notes.depth.get())),
        Err(error) if notes.hit.get() => {
            let offset = error.location()?.index();
            let scalar = notes.scalar.take();
            text.is_char_boundary(offset).then_some(Walked::Hit(Hit {
                offset,
                scalar,
                collection: notes.collection.get(),
            }))
        }
        Err(_) => None,
    }
}

#[derive(Default)]
struct Notes {
    hit: Cell<bool>,
    depth: Cell<usize>,
    scalar: RefCell<Option<String>>,
    collection: Cell<bool>,
}

impl Notes {
    fn raise<T, E: Error>(&self, scalar: Option<&str>, collection: bool) -> Result<T, E> {
        self.hit.set(true);
        self.collection.set(collection);
        *self.scalar.borrow_mut() = scalar.map(str::to_owned);
        Err(E::custom("here"))
    }
}

struct Walk<'a> {
    path: &'a [Token],
    on_key: bool,
    depth: usize,
    notes: &'a Notes,
}

impl Walk<'_> {
    fn scalar<E: Error>(&self, text: Option<&str>) -> Result<(), E> {
        if self.path.is_empty() { self.notes.raise(text, false) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        self.notes.depth.set(self.notes.depth.get().max(self.depth));
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_i128<E: Error>(self, _: i128) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_u128<E: Error>(self, _: u128) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.scalar(Some(text))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.scalar(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return self.notes.raise(None, true) };
        let wanted = first.key.parse::<usize>().ok();
        let mut index = 0;
        loop {
            let more = if wanted == Some(index) {
                let walk = Walk { path: rest, on_key: self.on_key, depth: self.depth + 1, notes: self.notes };
                items.next_element_seed(walk)?.is_some()
            } else {
                items.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Some((first, rest)) = self.path.split_first() else { return self.notes.raise(None, true) };
        let mut seen = 0;
        loop {
            let raise = self.on_key && rest.is_empty() && seen + 1 == first.nth;
            let key = Key { wanted: &first.key, raise, notes: self.notes };
            let Some(matches) = entries.next_key_seed(key)? else { return Ok(()) };
            seen += matches as usize;
            if matches && seen == first.nth {
                let walk = Walk { path: rest, on_key: self.on_key, depth: self.depth + 1, notes: self.notes };
                entries.next_value_seed(walk)?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<(), A::Error> {
        if self.path.is_empty() {
            return self.notes.raise(None, true);
        }
        let (IgnoredAny, value) = data.variant()?;
        value.newtype_variant_seed(self)
    }
}

/// Whether a key is the wanted one; with `raise` the wanted one is where the walk ends.
struct Key<'a> {
    wanted: &'a str,
    raise: bool,
    notes: &'a Notes,
}

impl Key<'_> {
    fn is<E: Error>(&self, key: &str) -> Result<bool, E> {
        match key == self.wanted {
            true if self.raise => self.notes.raise(Some(key), false),
            matches => Ok(matches),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bool<E: Error>(self, key: bool) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_i64<E: Error>(self, key: i64) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_u64<E: Error>(self, key: u64) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_i128<E: Error>(self, key: i128) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_u128<E: Error>(self, key: u128) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_f64<E: Error>(self, key: f64) -> Result<bool, E> {
        self.is(&key.to_string())
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<bool, E> {
        self.is(key)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        self.is("null")
    }

    fn visit_none<E: Error>(self) -> Result<bool, E> {
        self.is("null")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_seq(items)?;
        Ok(false)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<bool, A::Error> {
        IgnoredAny.visit_map(entries)?;
        Ok(false)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<bool, A::Error> {
        let (IgnoredAny, value) = data.variant()?;
        value.newtype_variant::<IgnoredAny>()?;
        Ok(false)
    }
}

/// The bytes of what stands at a place; `None` if nothing does. The parser knows no ends, so
/// they are found as a reader would: the closing quote or bracket, or the end of the word.
fn extent(text: &str, hit: &Hit) -> Option<Range<usize>> {
    let mut start = hit.offset;
    let mut rest = text.get(start..)?;
    // An anchor or a tag stands before the value it belongs to.
    while rest.starts_with(['&', '!']) && !rest.starts_with("!=") {
        let word = rest.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(rest.len());
        let blank = rest.get(word..)?.find(|c: char| !c.is_whitespace()).unwrap_or(0);
        if rest.starts_with('!') {
            return Some(start..start + word);
        }
        start += word + blank;
        rest = text.get(start..)?;
    }
    let line = rest.split(['\n', '\r']).next().unwrap_or("");
    let length = match line.chars().next()? {
        quote @ ('"' | '\'') => quoted(line, quote),
        '[' | '{' => bracketed(line),
        ',' | ']' | '}' | '#' => return None,
        '-' if hit.collection => line.trim_end().len(),
        _ => match &hit.scalar {
            Some(scalar) if !scalar.is_empty() && line.starts_with(scalar.as_str()) => scalar.len(),
            _ => plain(line),
        },
    };
    (length > 0).then_some(start..start + length)
}

fn quoted(line: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in line.char_indices().skip(1) {
        // Within single quotes a quote is written twice, within double ones after a backslash.
        let doubled =
            c == quote && quote == '\'' && line.get(at + 1..).is_some_and(|rest| rest.starts_with(quote));
        if escaped {
            escaped = false;
        } else if doubled || c == '\\' && quote == '"' {
            escaped = true;
        } else if c == quote {
            return at + 1;
        }
    }
    line.trim_end().len()
}

fn bracketed(line: &str) -> usize {
    let mut depth = 0usize;
    let mut before = ' ';
    let mut skip = 0;
    for (at, c) in line.char_indices() {
        if at < skip {
            continue;
        }
        match c {
            // A quote opens only where a value may begin: not in `it's`.
            '"' | '\'' if before.is_whitespace() || "[{,:".contains(before) => {
                skip = at + quoted(line.get(at..).unwrap_or(""), c);
            }
            '[' | '{' => depth += 1,
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
        before = c;
    }
    line.trim_end().len()
}

fn plain(line: &str) -> usize {
    let ends = [": ", " #", "\t#", ", "].iter().filter_map(|end| line.find(end));
    let brackets = line.find(['}', ']']).into_iter();
    let word = ends.chain(brackets).min().unwrap_or(line.len());
    line.get(..word).unwrap_or(line).trim_end().trim_end_matches([':', ',']).len()
}
