//! What a program reports of itself: a metric of our record, a number in what an original prints.

use std::path::Path;

/// A metric of our record's only run, or just whether there is one.
pub fn recorded(file: &Path, metric: Option<&str>) -> Result<f64, String> {
    let text = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let record: serde_json::Value = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
    let values = &record["rows"][0]["runs"][0]["values"];
    let value = match metric {
        Some(name) => values[name].as_f64(),
        None => values.as_object().map(|values| values.len() as f64),
    };
    value.ok_or_else(|| format!("{} holds no {}", file.display(), metric.unwrap_or("values")))
}

/// The number behind a word that begins a line.
pub fn said(text: &str, word: &str) -> Result<f64, String> {
    let found =
        text.lines().find_map(|line| line.strip_prefix(word)?.split_whitespace().next()?.parse().ok());
    found.ok_or_else(|| format!("no number behind {word} in:\n{text}"))
}

/// The number below `column` in a table with one header line.
pub fn printed(text: &str, column: &str) -> Result<f64, String> {
    let mut lines = text.lines().skip_while(|line| !line.contains(column));
    let at = lines.next().and_then(|header| header.split_whitespace().position(|word| word == column));
    let number = |line: &str| line.split_whitespace().nth(at?)?.parse().ok();
    lines.find_map(number).ok_or_else(|| format!("no number under {column} in:\n{text}"))
}

/// A field of fio's terse output, counted from 0: 7 is reads per second, 48 is writes per second.
pub fn terse(text: &str, field: usize) -> Result<f64, String> {
    let found = text.lines().find_map(|line| {
        line.starts_with("3;fio").then(|| line.split(';').nth(field)?.parse().ok()).flatten()
    });
    found.ok_or_else(|| format!("no terse line of version 3 in:\n{text}"))
}
