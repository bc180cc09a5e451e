//! The files a command has read: their names and texts, and where in them a message points.
//!
//! Knows nothing of what the files mean.

use std::ops::Range;

use super::diagnostic::Diagnostic;
use super::locate;
use super::node::Place;

/// The files of one command; [`Place::file`] is an index into them.
#[derive(Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

#[derive(Debug)]
struct Source {
    name: String,
    text: String,
}

/// A place found: where a message points.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Index of the file, as `add` gave it.
    pub file: u16,
    /// Bytes of the file's text.
    pub range: Range<usize>,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Sources {
    /// No files.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Adds a file under the name the user knows it by, and gives its index. Beyond 65535 files
    /// the last index is given again.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u16 {
        let file = u16::try_from(self.files.len()).unwrap_or(u16::MAX);
        self.files.push(Source { name: name.into(), text: text.into() });
        file
    }

    /// The name of a file; empty for an index that was never given.
    pub fn name(&self, file: u16) -> &str {
        self.files.get(usize::from(file)).map_or("", |source| &source.name)
    }

    /// The text of a file, without a byte order mark; empty for an index that was never given.
    pub fn text(&self, file: u16) -> &str {
        self.files.get(usize::from(file)).map_or("", |source| &source.text)
    }

    /// Where a value (or with `on_key` its key) stands.
    pub fn locate(&self, place: &Place, on_key: bool) -> Option<Span> {
        self.span(place.file, self.range(place, on_key)?)
    }

    /// Where a diagnostic points: its value, its key, or a part of its scalar. `None` for a
    /// general one and where the text cannot be read.
    pub fn locate_diagnostic(&self, diagnostic: &Diagnostic) -> Option<Span> {
        let place = diagnostic.place.as_ref()?;
        let mut range = self.range(place, diagnostic.on_key)?;
        if let Some(part) = &diagnostic.part {
            range = match offset_of(&place.pointer) {
                Some(start) => start..start.saturating_add(part.len()),
                None => self.part(place, &range, part),
            };
        }
        self.span(place.file, range)
    }

    fn range(&self, place: &Place, on_key: bool) -> Option<Range<usize>> {
        match offset_of(&place.pointer) {
            Some(offset) => Some(offset..offset),
            None => locate::range(self.text(place.file), &place.pointer, on_key),
        }
    }

    fn part(&self, place: &Place, range: &Range<usize>, part: &Range<usize>) -> Range<usize> {
        let text = self.text(place.file);
        match locate::scalar(text, &place.pointer) {
            Some(scalar) => locate::part(text, range, &scalar, part),
            None => range.clone(),
        }
    }

    /// Line and column of a range of bytes, cut to what the file has.
    fn span(&self, file: u16, range: Range<usize>) -> Option<Span> {
        let text = self.files.get(usize::from(file)).map(|source| source.text.as_str())?;
        let start = floor(text, range.start);
        let end = floor(text, range.end).max(start);
        let (line, column) = locate::line_column(text, start);
        Some(Span { file, range: start..end, line, column })
    }
}

/// The place of a byte of a file that has no values yet, for mistakes of its notation.
pub fn at_offset(file: u16, offset: usize) -> Place {
    Place { file, pointer: format!("@{offset}").into() }
}

fn offset_of(pointer: &str) -> Option<usize> {
    pointer.strip_prefix('@')?.parse().ok()
}

fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
a: 1
bé: {x: [10, \"é \\\" q\", 'it''s', z: 3], 'k w': {deep: yes}} # comment
base: &base
  one: first word # c
  two: &t {three: 3}
use:
  <<: *base
  own: *t
  many:
  - <<: [*t, {four: 4}]
    five: {{ x }}
  - text: |
      line one
      line two
  - - nested
  -
empty:
dup: 1
";

    fn shown(pointer: &str, on_key: bool) -> String {
        let mut sources = Sources::new();
        let text = TEXT.replace("{{ x }}", "'{{ x }}'");
        let file = sources.add("t.yaml", text.as_str());
        let span = sources.locate(&Place { file, pointer: pointer.into() }, on_key).expect("a place");
        format!("{}:{} {}", span.line, span.column, &text[span.range])
    }

    #[test]
    fn values_and_keys_are_found_with_line_and_column_in_characters() {
        assert_eq!(shown("/a", false), "1:4 1");
        assert_eq!(shown("/a", true), "1:1 a");
        assert_eq!(shown("/bé/x/0", false), "2:10 10");
        assert_eq!(shown("/bé/x/1", false), "2:14 \"é \\\" q\"");
        assert_eq!(shown("/bé/x/2", false), "2:24 'it''s'");
        assert_eq!(shown("/bé/x/3/z", true), "2:33 z");
        assert_eq!(shown("/bé/x/3/z", false), "2:36 3");
        assert_eq!(shown("/bé/x", false), "2:9 [10, \"é \\\" q\", 'it''s', z: 3]");
        assert_eq!(shown("/bé/k w", true), "2:40 'k w'");
        assert_eq!(shown("/bé/k w/deep", false), "2:54 yes");
        assert_eq!(shown("/base/one", false), "4:8 first word");
        assert_eq!(shown("/base/two", false), "5:11 {three: 3}");
        assert_eq!(shown("/use/many/1/text", false), "12:11 |");
        assert_eq!(shown("/use/many/2/0", false), "15:7 nested");
    }

    #[test]
    fn what_comes_by_alias_or_merge_is_found_where_it_is_written() {
        assert_eq!(shown("/use/own/three", false), "5:19 3");
        assert_eq!(shown("/use/one", true), "4:3 one");
        assert_eq!(shown("/use/two/three", false), "5:19 3");
        assert_eq!(shown("/use/many/0/three", false), "5:19 3");
        assert_eq!(shown("/use/many/0/four", false), "10:21 4");
        assert_eq!(shown("/use/many/0/five", false), "11:11 '{{ x }}'");
    }

    #[test]
    fn what_is_missing_or_empty_stands_for_a_key_near_it() {
        assert_eq!(shown("/bé/nothing", false), "2:1 bé");
        assert_eq!(shown("/use/many/7/x", false), "9:3 many");
        assert_eq!(shown("/empty", false), "17:1 empty");
        assert_eq!(shown("", false), "1:1 a");
        assert_eq!(shown("/nothing/at/all", true), "1:1 a");
    }

    #[test]
    fn a_part_of_a_scalar_is_found_where_it_is_written_plainly() {
        let mut sources = Sources::new();
        let text = "a: \"{{ foo + bar }}\"\nb: >-\n  some words\n  {{ foo }}\nc: é {{ y }}\n";
        let file = sources.add("t.yaml", text);
        let at = |pointer: &str, part: Range<usize>| {
            let place = Place { file, pointer: pointer.into() };
            let span = sources.locate_diagnostic(&Diagnostic::error("x", &place, "").part(part));
            let span = span.expect("a place");
            format!("{}:{} {}", span.line, span.column, &text[span.range])
        };
        assert_eq!(at("/a", 9..12), "1:14 bar");
        assert_eq!(at("/b", 14..17), "4:6 foo");
        assert_eq!(at("/c", 6..7), "5:9 y");
    }

    #[test]
    fn the_second_of_two_equal_keys_can_be_meant() {
        let mut sources = Sources::new();
        let file = sources.add("t.yaml", "x:\n  a: 1\n  b: 2\n  a: 3\n");
        let place = Place { file, pointer: locate::second("/x/a").into() };
        assert_eq!(sources.locate(&place, true).map(|span| (span.line, span.column)), Some((4, 3)));
    }
}
