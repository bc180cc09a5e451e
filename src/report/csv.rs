//! CSV for spreadsheets and scripts: three forms, three dialects. See `docs/csv.md`.

use super::csv_columns::{Cell, Column, LONG, Line, RAW, WIDE};
use super::format::full;
use super::pair;
use crate::record::{Metric, Record, Row};

/// What a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// Per run, case and metric.
    #[default]
    Long,
    /// Per case and metric, a column a run.
    Wide,
    /// Per single repeat.
    Raw,
}

/// How cells are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// As RFC 4180 has it.
    #[default]
    Rfc4180,
    /// With byte order mark and CRLF.
    Excel,
    /// And `;` between cells, `,` in decimals.
    ExcelEu,
}

/// How a table is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What a line stands for.
    pub shape: Shape,
    /// How cells are written.
    pub dialect: Dialect,
    /// Leaves text cells as they are, also those a spreadsheet would run.
    pub verbatim: bool,
}

/// The file's bytes. The error is one of the CSV writer's and does not occur with memory to write to.
pub fn write(records: &[Record], options: Options) -> Result<Vec<u8>, csv::Error> {
    let table = match options.shape {
        Shape::Long => by_columns(LONG, &long_lines(records)),
        Shape::Wide => wide(records),
        Shape::Raw => by_columns(RAW, &raw_lines(records)),
    };
    let excel = options.dialect != Dialect::Rfc4180;
    let mut writer = csv::WriterBuilder::new()
        .delimiter(if options.dialect == Dialect::ExcelEu { b';' } else { b',' })
        .terminator(if excel { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') })
        .from_writer(if excel { "\u{feff}".as_bytes().to_vec() } else { Vec::new() });
    for line in table {
        writer.write_record(line.into_iter().map(|cell| written(cell, options)))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

fn written(cell: Cell, options: Options) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Count(count) => count.to_string(),
        Cell::Number(number) if options.dialect == Dialect::ExcelEu => full(number).replace('.', ","),
        Cell::Number(number) => full(number),
        Cell::Text(text) if !options.verbatim && text.starts_with(['=', '+', '-', '@', '\t', '\r']) => {
            format!("'{text}")
        }
        Cell::Text(text) => text,
    }
}

fn by_columns(columns: &[Column], lines: &[Line]) -> Vec<Vec<Cell>> {
    let header = columns.iter().map(|column| Cell::Text(column.name.into())).collect();
    let body = lines.iter().map(|line| columns.iter().map(|column| (column.cell)(line)).collect());
    std::iter::once(header).chain(body).collect()
}

/// The metrics of a row, or one nothing for a row that declares none: every case has a line.
fn metrics(row: &Row) -> Vec<Option<&Metric>> {
    if row.metrics().is_empty() { vec![None] } else { row.metrics().iter().map(Some).collect() }
}

fn long_lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for record in records {
        for row in &record.rows {
            lines.extend(metrics(row).into_iter().map(|metric| Line::new(record, row, metric)));
        }
    }
    lines
}

fn raw_lines(records: &[Record]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for line in long_lines(records) {
        let repeats = line.metric.map_or(0, |metric| metric.runs.len());
        for repeat in 0..repeats {
            lines.push(Line { repeat: Some(repeat), summary: None, ..line });
        }
        if repeats == 0 {
            lines.push(line);
        }
    }
    lines
}

fn wide(records: &[Record]) -> Vec<Vec<Cell>> {
    let names = pair::names(records);
    let mut header: Vec<Cell> = WIDE.iter().map(|column| Cell::Text(column.name.into())).collect();
    header.extend(names.iter().map(|name| Cell::Text(name.clone())));
    header.extend(names.iter().map(|name| Cell::Text(format!("{name} status"))));
    let mut table = vec![header];
    for group in pair::exact_groups(records) {
        let Some((first, lead)) = group.lead() else { continue };
        let mut metrics: Vec<Option<&Metric>> = group.metrics().into_iter().map(Some).collect();
        if metrics.is_empty() {
            metrics.push(None);
        }
        for metric in metrics {
            let named = Line::new(&records[first], lead, metric);
            let mut line: Vec<Cell> = WIDE.iter().map(|column| (column.cell)(&named)).collect();
            let rows =
                || records.iter().zip(&group.rows).map(|(r, row)| row.as_ref().map(|(row, _)| (r, *row)));
            line.extend(rows().map(|row| {
                let own = row.and_then(|(r, row)| Some(Line::new(r, row, Some(group.metric(row, metric?)?))));
                own.map_or(Cell::Empty, |own| own.value())
            }));
            line.extend(rows().map(|row| row.map_or(Cell::Empty, |(_, row)| Cell::Text(outcome(row)))));
            table.push(line);
        }
    }
    table
}

/// `ok`, or `unsupported: the target refuses direct I/O`.
fn outcome(row: &Row) -> String {
    match row.reason() {
        Some(reason) => format!("{}: {}", row.status().word(), reason.line()),
        None => row.status().word().to_string(),
    }
}

#[cfg(test)]
#[path = "csv_test.rs"]
mod tests;
