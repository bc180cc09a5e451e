//! Cuts a text of SQL into its statements, as SQLite's shell does: at semicolons outside of quotes
//! and comments, and after the `END` of a trigger. Knows no other grammar.

use crate::plan::instr::{Segment, Statement};

/// What the text so far is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Between words.
    Plain,
    /// A quoted text that ends with this byte.
    Quotes(u8),
    /// `-- …` up to the end of the line.
    Line,
    /// `/* … */`.
    Comment,
}

/// How far a statement has come towards being a trigger, whose body holds semicolons.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    /// Nothing yet.
    Start,
    /// `EXPLAIN`, with what may stand behind it.
    Explain,
    /// `CREATE`, or `CREATE TEMP`.
    Create,
    /// `CREATE TRIGGER`: it ends by `; END ;`.
    Trigger,
    /// Anything else: it ends at the first semicolon.
    Other,
}

struct Cutter {
    within: Within,
    head: Head,
    /// In a trigger: a semicolon came, then the word END.
    semicolon: bool,
    end: bool,
    /// The word being read, lower-case; words longer than any that matters are cut short.
    word: Vec<u8>,
    last: u8,
    /// What the statement holds so far, from its first byte that counts.
    pieces: Vec<Segment>,
    text: Vec<u8>,
    begun: bool,
    line: u32,
    begun_at: u32,
    done: Vec<Statement>,
}

/// Bytes of the longest word that matters (`temporary`), and one more.
const WORD: usize = 10;

/// The statements of a text in pieces, the first in line `line`.
pub fn cut(pieces: Vec<Segment>, line: u32) -> Vec<Statement> {
    let mut cutter = Cutter {
        within: Within::Plain,
        head: Head::Start,
        semicolon: false,
        end: false,
        word: Vec::new(),
        last: 0,
        pieces: Vec::new(),
        text: Vec::new(),
        begun: false,
        line,
        begun_at: line,
        done: Vec::new(),
    };
    let counted = line > 0;
    for piece in pieces {
        match piece {
            Segment::Literal(text) => text.iter().for_each(|byte| cutter.byte(*byte, counted)),
            filled => cutter.filled(filled),
        }
    }
    cutter.finish();
    cutter.done
}

impl Cutter {
    fn byte(&mut self, byte: u8, counted: bool) {
        let last = std::mem::replace(&mut self.last, byte);
        if self.begun {
            self.text.push(byte);
        }
        match self.within {
            Within::Quotes(end) => {
                if byte == end {
                    self.within = Within::Plain;
                }
            }
            Within::Line => {
                if byte == b'\n' {
                    self.within = Within::Plain;
                }
            }
            Within::Comment => {
                if byte == b'/' && last == b'*' {
                    self.within = Within::Plain;
                    self.last = 0;
                }
            }
            Within::Plain => self.plain(byte, last),
        }
        if byte == b'\n' && counted {
            self.line += 1;
        }
    }

    fn plain(&mut self, byte: u8, last: u8) {
        // What may have begun a comment did not.
        let comment = matches!((last, byte), (b'-', b'-') | (b'/', b'*'));
        if matches!(last, b'-' | b'/') && !comment && !self.begun {
            self.begin(last);
            self.other();
            self.text.push(byte);
        }
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 {
            self.begin(byte);
            if self.word.len() < WORD {
                self.word.push(byte.to_ascii_lowercase());
            }
            return;
        }
        self.end_word();
        match byte {
            b'-' if last == b'-' => self.comment(Within::Line),
            b'*' if last == b'/' => self.comment(Within::Comment),
            // One of them may be the first half of a comment's beginning: counted when it is not.
            b'-' | b'/' => {}
            b'\'' | b'"' | b'`' => self.open(byte, byte),
            b'[' => self.open(byte, b']'),
            b';' => self.semicolon(),
            _ if byte.is_ascii_whitespace() => {}
            _ => {
                self.begin(byte);
                self.other();
            }
        }
    }

    /// A comment begins; before the statement it is no part of it.
    fn comment(&mut self, kind: Within) {
        self.within = kind;
        self.last = 0;
    }

    fn open(&mut self, byte: u8, end: u8) {
        self.begin(byte);
        self.other();
        self.within = Within::Quotes(end);
    }

    /// The first byte of a statement that is neither blank nor in a comment.
    fn begin(&mut self, byte: u8) {
        if !std::mem::replace(&mut self.begun, true) {
            self.begun_at = self.line;
            self.text.push(byte);
        }
    }

    /// Something that is no word that matters.
    fn other(&mut self) {
        if self.head != Head::Trigger {
            self.head = Head::Other;
        }
        (self.semicolon, self.end) = (false, false);
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.head = match (self.head, word.as_slice()) {
            (Head::Start, b"create") => Head::Create,
            (Head::Explain, b"create") => Head::Create,
            (Head::Start, b"explain") => Head::Explain,
            (Head::Explain, b"query" | b"plan") => Head::Explain,
            (Head::Create, b"temp" | b"temporary") => Head::Create,
            (Head::Create | Head::Trigger, b"trigger") => Head::Trigger,
            (Head::Trigger, _) => Head::Trigger,
            _ => Head::Other,
        };
        (self.end, self.semicolon) = (self.semicolon && word == b"end", false);
    }

    fn semicolon(&mut self) {
        if self.head == Head::Trigger && !self.end {
            self.semicolon = true;
            return;
        }
        // Without the semicolon.
        self.text.pop();
        self.cut();
    }

    /// A piece that is filled at run time: letters or digits.
    fn filled(&mut self, piece: Segment) {
        if self.within == Within::Plain {
            self.end_word();
            if !std::mem::replace(&mut self.begun, true) {
                self.begun_at = self.line;
            }
            self.other();
        }
        if self.begun {
            if !self.text.is_empty() {
                self.pieces.push(Segment::Literal(std::mem::take(&mut self.text)));
            }
            self.pieces.push(piece);
        }
        self.last = 0;
    }

    fn cut(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(Segment::Literal(std::mem::take(&mut self.text)));
        }
        let pieces = std::mem::take(&mut self.pieces);
        if self.begun && !pieces.is_empty() {
            self.done.push(Statement { pieces, line: self.begun_at });
        }
        (self.begun, self.head, self.semicolon, self.end) = (false, Head::Start, false, false);
    }

    fn finish(&mut self) {
        let blank = self.text.iter().rev().take_while(|b| b.is_ascii_whitespace()).count();
        // A quote that is still open keeps what it holds: SQLite says what is wrong with it.
        if self.within == Within::Plain {
            self.text.truncate(self.text.len() - blank);
        }
        self.cut();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statements(text: &str) -> Vec<(String, u32)> {
        let shown = |s: &Statement| {
            let text = s.pieces.iter().map(|piece| match piece {
                Segment::Literal(text) => String::from_utf8_lossy(text).into_owned(),
                Segment::Digits(n) => format!("{{{n}}}"),
                other => panic!("{other:?}"),
            });
            (text.collect(), s.line)
        };
        cut(vec![Segment::Literal(text.into())], 1).iter().map(shown).collect()
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let cases: &[(&str, &[(&str, u32)])] = &[
            ("", &[]),
            (" ;; ;\n-- nothing;\n/* ; */", &[]),
            ("SELECT 1", &[("SELECT 1", 1)]),
            ("SELECT 1;\n\n  SELECT 2 ;\n", &[("SELECT 1", 1), ("SELECT 2 ", 3)]),
            ("SELECT ';', \";\", `;`, [;]; x", &[("SELECT ';', \";\", `;`, [;]", 1), ("x", 1)]),
            ("SELECT 'it''s;'; y", &[("SELECT 'it''s;'", 1), ("y", 1)]),
            ("-- a;\nSELECT 1 -- b;\n, 2; z", &[("SELECT 1 -- b;\n, 2", 2), ("z", 3)]),
            ("SELECT /* ; */ 1/*/;*/;q", &[("SELECT /* ; */ 1/*/;*/", 1), ("q", 1)]),
            ("SELECT 4 - -3/2; r", &[("SELECT 4 - -3/2", 1), ("r", 1)]),
            ("SELECT 'open;", &[("SELECT 'open;", 1)]),
            (
                "CREATE TRIGGER t AFTER INSERT ON a BEGIN\nUPDATE a SET x=1; DELETE FROM b;\nEND; SELECT 3;",
                &[
                    ("CREATE TRIGGER t AFTER INSERT ON a BEGIN\nUPDATE a SET x=1; DELETE FROM b;\nEND", 1),
                    ("SELECT 3", 3),
                ],
            ),
            ("create temp trigger t; end; s", &[("create temp trigger t; end", 1), ("s", 1)]),
            (
                "EXPLAIN CREATE TRIGGER t BEGIN a; END; s",
                &[("EXPLAIN CREATE TRIGGER t BEGIN a; END", 1), ("s", 1)],
            ),
            ("CREATE TABLE trigger_log(x); s", &[("CREATE TABLE trigger_log(x)", 1), ("s", 1)]),
            ("BEGIN; END; s", &[("BEGIN", 1), ("END", 1), ("s", 1)]),
        ];
        for (text, expected) in cases {
            let found = statements(text);
            let found: Vec<(&str, u32)> = found.iter().map(|(text, line)| (text.as_str(), *line)).collect();
            assert_eq!(found, *expected, "{text}");
        }
    }

    #[test]
    fn pieces_that_are_filled_later_keep_their_place() {
        let pieces = vec![
            Segment::Literal(b" INSERT INTO a VALUES ('".to_vec()),
            Segment::Digits(4),
            Segment::Literal(b";'); ".to_vec()),
            Segment::Digits(2),
        ];
        let cut = cut(pieces, 0);
        let literal = |text: &str| Segment::Literal(text.into());
        let first = vec![literal("INSERT INTO a VALUES ('"), Segment::Digits(4), literal(";')")];
        assert_eq!(
            cut,
            [Statement { pieces: first, line: 0 }, Statement { pieces: vec![Segment::Digits(2)], line: 0 }]
        );
    }
}
