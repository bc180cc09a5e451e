//! A record as text: JSON with one line a row's part, and back with checks.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use super::model::{Record, SCHEMA_VERSION};

/// Values nested deeper than this stand on one line: a metric, a step, a histogram.
const PRETTY_DEPTH: usize = 4;

/// The stored text.
pub fn write(record: &Record) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = Vec::new();
    let layout = Layout { pretty: PrettyFormatter::with_indent(b" "), depth: 0 };
    record.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, layout))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Reads a stored text. The error says what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Record, String> {
    /// Only what tells whether the rest can be understood.
    #[derive(Deserialize)]
    struct Version {
        schema_version: Option<u32>,
    }
    let version: Version = serde_json::from_slice(bytes).map_err(|e| format!("is no record: {e}"))?;
    match version.schema_version {
        Some(SCHEMA_VERSION) => {}
        None => return Err("is no record: it has no schema_version".into()),
        Some(other) => {
            return Err(format!("has record version {other}; this program reads version {SCHEMA_VERSION}"));
        }
    }
    let record: Record = serde_json::from_slice(bytes).map_err(|e| format!("is no valid record: {e}"))?;
    record.rows.iter().try_for_each(|row| row.check())?;
    Ok(record)
}

/// Pretty at the top, compact below: a record stays readable, and a histogram one line.
struct Layout {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

/// Sends a call to the formatter for the depth.
macro_rules! by_depth {
    ($self:ident, $depth:expr, $method:ident($($argument:expr),*)) => {
        if $depth <= PRETTY_DEPTH { $self.pretty.$method($($argument),*) } else { CompactFormatter.$method($($argument),*) }
    };
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.depth += 1;
        by_depth!(self, self.depth, begin_array(w))
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        let inside = self.depth;
        self.depth -= 1;
        by_depth!(self, inside, end_array(w))
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        by_depth!(self, self.depth, begin_array_value(w, first))
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        by_depth!(self, self.depth, end_array_value(w))
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.depth += 1;
        by_depth!(self, self.depth, begin_object(w))
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        let inside = self.depth;
        self.depth -= 1;
        by_depth!(self, inside, end_object(w))
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        by_depth!(self, self.depth, begin_object_key(w, first))
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        by_depth!(self, self.depth, begin_object_value(w))
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        by_depth!(self, self.depth, end_object_value(w))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;

    #[test]
    fn written_and_read_back() {
        let record = sample::record("r", vec![sample::measured("mixed", "a", &[1.0, 1.0 / 3.0])]);
        let bytes = write(&record).unwrap();
        assert_eq!(read(&bytes).unwrap(), record);
        let text = String::from_utf8(bytes).unwrap();
        let metric = text.lines().find(|line| line.contains("\"Rate\"") && line.contains("runs")).unwrap();
        assert!(metric.trim_start().starts_with('{'), "a metric is one line: {metric}");
        assert!(text.lines().count() > 40, "the rest is not one line");
    }

    #[test]
    fn what_is_no_record_says_so() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err();
        assert!(error("").starts_with("is no record"));
        assert!(error("[1]").starts_with("is no valid record"));
        assert!(error("{}").contains("no schema_version"));
        assert_eq!(error(r#"{"schema_version": 2}"#), "has record version 2; this program reads version 1");
        assert!(error(r#"{"schema_version": 1}"#).starts_with("is no valid record: missing field"));
    }
}
