//! Run-time templates of names and SQL (`{n:08}`, `{clock:~<16x}{random:24}`), compiled once.
//!
//! A compiled template is a list of [`Segment`]s that the operations turn into bytes. This module
//! knows nothing of `{{ }}` expressions, which are gone when it sees a text.

use std::ops::Range;

use super::diagnostic::Diagnostic;
use super::names::did_you_mean;
use super::node::Node;

/// Longest name of one directory entry, in bytes (NAME_MAX of Linux).
pub const NAME_MAX: usize = 255;

/// The most digits or letters one placeholder may make.
const WIDTH_MAX: usize = NAME_MAX;

/// Where the filling goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// Number first, filling after it.
    Left,
    /// Half of the filling before the number and half after it; an odd one comes after.
    Center,
    /// Filling before the number; what numbers do unless told otherwise.
    Right,
}

/// Digits a number is written with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Radix {
    /// 0 to 9.
    Decimal,
    /// 0 to 9 and a to f.
    LowerHex,
    /// 0 to 9 and A to F.
    UpperHex,
}

/// How a number is written: the subset of Rust's and Python's format specs that both share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// What makes up the width.
    pub fill: char,
    /// Where the filling goes.
    pub align: Align,
    /// Characters at least.
    pub width: usize,
    /// Digits it is written with.
    pub radix: Radix,
}

impl Format {
    /// As short as it can be, decimal.
    pub const PLAIN: Format = Format { fill: ' ', align: Align::Right, width: 0, radix: Radix::Decimal };

    /// Appends the number as bytes; does not allocate beyond the output.
    pub fn write(&self, number: u64, out: &mut Vec<u8>) {
        let base = if self.radix == Radix::Decimal { 10 } else { 16 };
        let digits: &[u8; 16] =
            if self.radix == Radix::UpperHex { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
        let mut buffer = [0u8; 20];
        let mut start = buffer.len();
        let mut rest = number;
        loop {
            start -= 1;
            buffer[start] = digits[(rest % base) as usize];
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        let text = &buffer[start..];
        let filling = self.width.saturating_sub(text.len());
        let before = match self.align {
            Align::Left => 0,
            Align::Center => filling / 2,
            Align::Right => filling,
        };
        self.fill_times(before, out);
        out.extend_from_slice(text);
        self.fill_times(filling - before, out);
    }

    fn fill_times(&self, times: usize, out: &mut Vec<u8>) {
        let mut buffer = [0; 4];
        let fill = self.fill.encode_utf8(&mut buffer).as_bytes();
        for _ in 0..times {
            out.extend_from_slice(fill);
        }
    }
}

/// One piece of a name or of SQL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Segment {
    /// Bytes taken as they are.
    Literal(Vec<u8>),
    /// `{n}`: the set's running number in names, the innermost loop's iteration in SQL; from 1.
    Number(Format),
    /// `{worker}`: from 0.
    Worker(Format),
    /// `{clock}`: whole seconds since 1970.
    Clock(Format),
    /// `{random:24}`: so many random letters and digits.
    Random(usize),
    /// `{digits:4}`: so many random decimal digits, always that many: the first may be 0 too.
    Digits(usize),
}

/// What a template makes, which decides what may stand in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// One directory entry: no `/`, no NUL, not `.` or `..`, at most [`NAME_MAX`] bytes.
    Name,
    /// A directory relative to the run directory: components as above, joined by `/`; a lone `.`
    /// is the directory itself.
    Path,
    /// SQL: braces may be doubled, any text but NUL.
    Sql,
}

const PLACEHOLDERS: [&str; 5] = ["n", "worker", "clock", "random", "digits"];

/// Compiles the text of a scalar. Every mistake names the bytes of the scalar it is in.
pub fn compile(node: &Node, purpose: Purpose) -> Result<Vec<Segment>, Diagnostic> {
    let text = super::units::text(node)?;
    parse(&text, purpose).map_err(|fault| {
        let mut diagnostic = Diagnostic::error("invalid-template", &node.place, fault.message);
        // A text that an expression made does not stand in the file, so neither do its bytes.
        diagnostic.part = fault.part.filter(|_| !node.computed);
        diagnostic.help.extend(fault.help);
        diagnostic
    })
}

/// A mistake in a template and the bytes it is in.
#[derive(Debug)]
struct Fault {
    part: Option<Range<usize>>,
    message: String,
    help: Option<String>,
}

fn fault(part: Range<usize>, message: String, help: &str) -> Fault {
    Fault { part: Some(part), message, help: Some(help.into()) }
}

fn parse(text: &str, purpose: Purpose) -> Result<Vec<Segment>, Fault> {
    let mut segments = Vec::new();
    let mut literal = String::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            literal.push(c);
            at += 2;
        } else if c == '}' {
            return Err(fault(
                at..at + 1,
                "a } without its {".into(),
                "double it, }}, to mean the character",
            ));
        } else if c == '{' {
            let Some(length) = rest.find('}') else {
                return Err(fault(
                    at..text.len(),
                    "a { without its }".into(),
                    "double it, {{, to mean the character",
                ));
            };
            if !literal.is_empty() {
                segments.push(Segment::Literal(std::mem::take(&mut literal).into_bytes()));
            }
            segments.push(placeholder(&rest[1..length], at + 1)?);
            at += length + 1;
        } else {
            if c == '\0' || (c == '/' && purpose == Purpose::Name) {
                let shown = if c == '/' { "/" } else { "NUL" };
                let message = format!("a name holds the character {shown}");
                return Err(fault(
                    at..at + 1,
                    message,
                    "a name is one entry of a directory; `dirs` makes directories",
                ));
            }
            literal.push(c);
            at += c.len_utf8();
        }
    }
    if !literal.is_empty() {
        segments.push(Segment::Literal(literal.into_bytes()));
    }
    if purpose != Purpose::Sql {
        check_names(&segments, purpose)?;
    }
    Ok(segments)
}

/// Refuses names that no directory can hold, as far as the constant parts tell.
fn check_names(segments: &[Segment], purpose: Purpose) -> Result<(), Fault> {
    let whole = |message: String| Fault { part: None, message, help: None };
    // Shortest form of the whole: a placeholder counts with its least width, and as `x`.
    let mut shortest = Vec::new();
    for segment in segments {
        match segment {
            Segment::Literal(bytes) => shortest.extend_from_slice(bytes),
            Segment::Number(format) | Segment::Worker(format) | Segment::Clock(format) => {
                shortest.extend(std::iter::repeat_n(b'x', format.width.max(1)));
            }
            Segment::Random(length) | Segment::Digits(length) => {
                shortest.extend(std::iter::repeat_n(b'x', *length));
            }
        }
    }
    if purpose == Purpose::Path && shortest == b"." {
        return Ok(());
    }
    for component in shortest.split(|byte| *byte == b'/') {
        match component {
            b"" if shortest.is_empty() => return Err(whole("the name is empty".into())),
            b"" => return Err(whole("the path has an empty component or begins or ends with /".into())),
            b"." | b".." => return Err(whole("the names . and .. stand for directories".into())),
            _ if component.len() > NAME_MAX => {
                let message =
                    format!("the name is at least {} bytes long, {NAME_MAX} are allowed", component.len());
                return Err(whole(message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Compiles what stands between the braces; `at` is where it begins in the scalar.
fn placeholder(inner: &str, at: usize) -> Result<Segment, Fault> {
    let (name, spec) = inner.split_once(':').unwrap_or((inner, ""));
    let spec_part = at + inner.len() - spec.len()..at + inner.len();
    let length = || {
        let bad = |why: &str| {
            fault(spec_part.clone(), format!("{{{inner}}} {why}"), &format!("write for example {{{name}:8}}"))
        };
        match spec.parse::<usize>() {
            Ok(length) if (1..=WIDTH_MAX).contains(&length) && !spec.starts_with('+') => Ok(length),
            Ok(_) => Err(bad(&format!("must make 1 to {WIDTH_MAX} characters"))),
            Err(_) => Err(bad("needs a number of characters")),
        }
    };
    let format = || format_spec(spec, spec_part.clone());
    match name {
        "n" => format().map(Segment::Number),
        "worker" => format().map(Segment::Worker),
        "clock" => format().map(Segment::Clock),
        "random" => length().map(Segment::Random),
        "digits" => length().map(Segment::Digits),
        "file.size" | "file.room" => Err(fault(
            at..at + name.len(),
            format!("{{{name}}} is a size and makes no text"),
            "it stands alone, as a bound of a size",
        )),
        _ => Err(fault(
            at..at + name.len(),
            format!("unknown placeholder {{{name}}}"),
            &did_you_mean(name, PLACEHOLDERS.iter()),
        )),
    }
}

/// Reads `[[fill]align][0][width][d|x|X]`.
fn format_spec(spec: &str, part: Range<usize>) -> Result<Format, Fault> {
    let mut format = Format::PLAIN;
    let mut rest = spec;
    let align = |c: char| match c {
        '<' => Some(Align::Left),
        '^' => Some(Align::Center),
        '>' => Some(Align::Right),
        _ => None,
    };
    let mut chars = rest.chars();
    let (first, second) = (chars.next(), chars.next());
    let mut aligned = true;
    if let (Some(fill), Some(found)) = (first, second.and_then(align)) {
        (format.fill, format.align) = (fill, found);
        rest = chars.as_str();
    } else if let Some(found) = first.and_then(align) {
        format.align = found;
        rest = &rest[1..];
    } else {
        aligned = false;
    }
    if let Some(after) =
        rest.strip_prefix('0').filter(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    {
        // As in both languages, a zero in front of the width fills with zeros after the sign.
        if !aligned {
            format.fill = '0';
        }
        rest = after;
    }
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits > 0 {
        format.width = rest[..digits].parse().ok().filter(|width| *width <= WIDTH_MAX).ok_or_else(|| {
            fault(
                part.clone(),
                format!("the width {} is too large", &rest[..digits]),
                "at most 255 characters",
            )
        })?;
    }
    format.radix = match &rest[digits..] {
        "" | "d" => Radix::Decimal,
        "x" => Radix::LowerHex,
        "X" => Radix::UpperHex,
        _ => {
            let help = "write [fill][< ^ or >][0][width][d, x or X], for example 08, 02x or ~<16x";
            return Err(fault(part, format!("the format {spec:?} is not understood"), help));
        }
    };
    if matches!(format.fill, '/' | '\0') {
        return Err(fault(part, "the filling cannot stand in a name".into(), "fill for example with 0 or ~"));
    }
    Ok(format)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::node::{Place, Value};

    fn node(text: &str) -> Node {
        Node {
            place: Place { file: 0, pointer: "/name".into() },
            value: Value::Text(text.into()),
            computed: false,
        }
    }

    fn written(spec: &str, number: u64) -> String {
        let segments = compile(&node(&format!("{{n:{spec}}}")), Purpose::Name).unwrap();
        let [Segment::Number(format)] = segments[..] else { panic!("{segments:?}") };
        let mut out = Vec::new();
        format.write(number, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn formats_are_those_of_rust() {
        assert_eq!(written("05", 42), format!("{:05}", 42));
        assert_eq!(written("02x", 171), format!("{:02x}", 171));
        assert_eq!(written("~<16x", 0x5f00), format!("{:~<16x}", 0x5f00));
        assert_eq!(written("*^7d", 42), format!("{:*^7}", 42));
        assert_eq!(written(">4X", 0xab), format!("{:>4X}", 0xab));
        assert_eq!(written("0>4", 7), format!("{:0>4}", 7));
        assert_eq!(written("3", 123_456), "123456");
        assert_eq!(written("0", 0), "0");
        assert_eq!(written("", u64::MAX), u64::MAX.to_string());
        assert_eq!(written("x", u64::MAX), format!("{:x}", u64::MAX));
    }

    #[test]
    fn segments() {
        let hex = Format { fill: '~', align: Align::Left, width: 16, radix: Radix::LowerHex };
        assert_eq!(
            compile(&node("{clock:~<16x}{random:24}"), Purpose::Name).unwrap(),
            [Segment::Clock(hex), Segment::Random(24)]
        );
        assert_eq!(
            compile(&node("clients/client{worker}"), Purpose::Path).unwrap(),
            [Segment::Literal(b"clients/client".into()), Segment::Worker(Format::PLAIN)]
        );
        assert_eq!(
            compile(&node("VALUES ('{n}', '{digits:4}', '{{}}')"), Purpose::Sql).unwrap(),
            [
                Segment::Literal(b"VALUES ('".into()),
                Segment::Number(Format::PLAIN),
                Segment::Literal(b"', '".into()),
                Segment::Digits(4),
                Segment::Literal(b"', '{}')".into()),
            ]
        );
        assert!(compile(&node("."), Purpose::Path).is_ok());
    }

    #[test]
    fn mistakes_have_their_bytes() {
        let table = [
            ("a{m}", Some(2..3), "unknown placeholder {m}"),
            ("a{wroker}", Some(2..8), "unknown placeholder"),
            ("a{n", Some(1..3), "without its }"),
            ("a}", Some(1..2), "without its {"),
            ("é{n:5q}", Some(5..7), "not understood"),
            ("{random}", Some(7..7), "number of characters"),
            ("{random:0}", Some(8..9), "1 to 255"),
            ("{digits:+3}", Some(8..10), "1 to 255"),
            ("{n:256}", Some(3..6), "too large"),
            ("a/b", Some(1..2), "character /"),
            ("a\0", Some(1..2), "NUL"),
            ("{n:/>3}", Some(3..6), "filling"),
            ("{file.size}", Some(1..10), "makes no text"),
            ("", None, "empty"),
            (".", None, "stand for directories"),
            ("..", None, "stand for directories"),
        ];
        for (text, part, message) in table {
            let diagnostic = compile(&node(text), Purpose::Name).expect_err(text);
            assert!(diagnostic.message.contains(message), "{text}: {}", diagnostic.message);
            assert_eq!(diagnostic.part, part, "{text}");
        }
        let long = format!("{}{{random:200}}", "x".repeat(60));
        assert!(compile(&node(&long), Purpose::Name).unwrap_err().message.contains("260 bytes"));
        for text in ["/a", "a//b", "a/", "a/../b", "./a"] {
            assert!(compile(&node(text), Purpose::Path).is_err(), "{text}");
        }
        assert_eq!(compile(&node("{wroker}"), Purpose::Name).unwrap_err().help, ["did you mean worker?"]);
    }

    proptest! {
        #[test]
        fn random_templates_never_panic(text in "([{}:.~<>^0-9xXdnw/é]|worker|clock|random|digits){0,12}") {
            for purpose in [Purpose::Name, Purpose::Path, Purpose::Sql] {
                let _ = compile(&node(&text), purpose);
            }
        }

        #[test]
        fn any_text_never_panics(text in "\\PC{0,24}") {
            let _ = compile(&node(&text), Purpose::Name);
        }
    }
}
