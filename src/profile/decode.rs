//! From the bytes of a file to a text that YAML tools cannot read in two ways.
//!
//! Knows encodings and characters, nothing of YAML's values.

use super::diagnostic::{Checked, Diagnostic};
use super::source::{Sources, at_offset};

/// Largest profile or suite that is read.
pub const LARGEST_FILE_BYTES: usize = 1 << 20;

/// Adds a file to the sources, without its byte order mark. Refuses what is no UTF-8 and the
/// characters that are line breaks to some readers only.
pub fn decode(sources: &mut Sources, name: &str, bytes: &[u8]) -> Checked<u16> {
    if bytes.len() > LARGEST_FILE_BYTES {
        let file = sources.add(name, "");
        return Err(vec![
            Diagnostic::error(
                "file-too-large",
                &at_offset(file, 0),
                format!("the file has {} bytes; the most that is read is {LARGEST_FILE_BYTES}", bytes.len()),
            )
            .help("a profile is a description, not data: is this the right file?"),
        ]);
    }
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let file = sources.add(name, "");
        return Err(vec![
            Diagnostic::error("not-utf8", &at_offset(file, 0), "the file is UTF-16")
                .help("save it as UTF-8 (in Windows Notepad: Save as, Encoding: UTF-8)"),
        ]);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let file = sources.add(name, text);
            let mistakes = characters(file, text);
            if mistakes.is_empty() { Ok((file, Vec::new())) } else { Err(mistakes) }
        }
        Err(error) => {
            let file = sources.add(name, String::from_utf8_lossy(bytes));
            let at = error.valid_up_to();
            let byte = bytes.get(at).copied().unwrap_or(0);
            let mut diagnostic = Diagnostic::error(
                "not-utf8",
                &at_offset(file, at),
                format!("the byte 0x{byte:02x} is not UTF-8"),
            )
            .part(0..'\u{fffd}'.len_utf8());
            if byte >= 0xa0 {
                let latin = char::from(byte);
                diagnostic = diagnostic.help(format!("it is `{latin}` in Latin-1: save the file as UTF-8"));
            } else {
                diagnostic = diagnostic.help("save the file as UTF-8");
            }
            Err(vec![diagnostic])
        }
    }
}

/// One mistake for each kind of unwelcome character, at the first of its kind.
fn characters(file: u16, text: &str) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    let mut report = |at: usize, c: char, code: &'static str, message: String, help: &str| {
        if found.iter().all(|earlier| earlier.message != message) {
            let place = at_offset(file, at);
            found.push(Diagnostic::error(code, &place, message).part(0..c.len_utf8()).help(help));
        }
    };
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\0' => report(
                at,
                c,
                "nul",
                "the file holds a NUL byte".into(),
                "it is UTF-16 or no text at all: save it as UTF-8",
            ),
            '\u{85}' | '\u{2028}' | '\u{2029}' => report(
                at,
                c,
                "line-break",
                format!("the character {} is a line break to some readers only", named(c)),
                "end the line with an ordinary line feed, or write the character as an escape inside double quotes",
            ),
            '\r' if chars.peek().is_none_or(|(_, next)| *next != '\n') => report(
                at,
                c,
                "line-break",
                "a carriage return without a line feed is a line break to some readers only".into(),
                "save the file with the line ends of Unix (LF) or Windows (CR LF)",
            ),
            '\u{feff}' => report(
                at,
                c,
                "control-character",
                "a byte order mark (U+FEFF) inside the file".into(),
                "remove it; it is left over where files were joined",
            ),
            '\t' | '\n' | '\r' => {}
            c if c.is_control() => report(
                at,
                c,
                "control-character",
                format!("the control character {} cannot stand in YAML", named(c)),
                "remove it, or write it as an escape inside double quotes",
            ),
            _ => {}
        }
    }
    found
}

/// A character by its code point, with its name where people know one.
pub fn named(c: char) -> String {
    let name = match c {
        '\u{85}' => " (next line)",
        '\u{2028}' => " (line separator)",
        '\u{2029}' => " (paragraph separator)",
        '\u{a0}' => " (no-break space)",
        '\u{3000}' => " (ideographic space)",
        '\u{201c}' | '\u{201d}' | '\u{201e}' => " (typographic double quote)",
        '\u{2018}' | '\u{2019}' | '\u{201a}' => " (typographic single quote)",
        _ => "",
    };
    format!("U+{:04X}{name}", u32::from(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(bytes: &[u8]) -> String {
        let mut sources = Sources::new();
        match decode(&mut sources, "f", bytes) {
            Ok((file, _)) => format!("ok {:?}", sources.text(file)),
            Err(mistakes) => mistakes
                .iter()
                .map(|mistake| {
                    let span = sources.locate_diagnostic(mistake).expect("a place");
                    format!("{}:{} {}", span.line, span.column, mistake.code)
                })
                .collect::<Vec<_>>()
                .join(", "),
        }
    }

    #[test]
    fn each_encoding_has_its_outcome() {
        assert_eq!(outcome(b"\xef\xbb\xbfa: 1\nb: 2\n"), "ok \"a: 1\\nb: 2\\n\"");
        assert_eq!(outcome(b"\xff\xfea\0:\0"), "1:1 not-utf8");
        assert_eq!(outcome(b"\xfe\xff\0a\0:"), "1:1 not-utf8");
        assert_eq!(outcome(b"a: 1\nb: caf\xe9\n"), "2:7 not-utf8");
        assert_eq!(outcome(b"a\0:\0 \x001\0"), "1:2 nul");
        assert_eq!(outcome("a: 1\u{85}b: 2 \u{2028}\n".as_bytes()), "1:5 line-break, 1:11 line-break");
        assert_eq!(outcome(b"a: 1\rb: 2\r"), "1:5 line-break");
        assert_eq!(outcome(b"a: 1\r\nb: 2\r\n"), "ok \"a: 1\\r\\nb: 2\\r\\n\"");
        assert_eq!(outcome(b"a: \x07\n"), "1:4 control-character");
        assert_eq!(outcome("a: 1\n\u{feff}b: 2\n".as_bytes()), "2:1 control-character");
        assert_eq!(outcome(&vec![b' '; LARGEST_FILE_BYTES + 1]), "1:1 file-too-large");
    }
}
