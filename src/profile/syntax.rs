//! The parser's errors in words that say what to do.
//!
//! Knows YAML's notation and the mistakes people make in it, nothing of values.

use super::diagnostic::Diagnostic;
use super::raw;
use super::source::at_offset;

/// `%YAML 1.1` in front: the rules of 1.2 are used all the same.
pub fn version_warning(file: u16, text: &str) -> Option<Diagnostic> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let written = line.trim_end();
        if let Some(version) = written.strip_prefix("%YAML") {
            let version = version.trim();
            return (version == "1.1" || version == "1.0").then(|| {
                Diagnostic::warning(
                    "yaml-version",
                    &at_offset(file, at),
                    format!("the file says YAML {version} and is read by the rules of YAML 1.2"),
                )
                .part(0..written.len())
                .help("`yes`, `no`, `on` and `off` are words here, not booleans, and `0644` is a text")
            });
        }
        if !(written.is_empty() || written.starts_with(['#', '%'])) {
            return None;
        }
        at += line.len();
    }
    None
}

/// A file without a value.
pub fn empty(file: u16, text: &str) -> Diagnostic {
    let written = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let message = match text.lines().any(written) {
        true => "the file holds no keys, only `---` or null",
        false if text.trim().is_empty() => "the file is empty",
        false => "the file holds only comments",
    };
    Diagnostic::error("empty-file", &at_offset(file, 0), message)
        .help("a profile begins with `profile: its-name`, a suite with `suite: its-name`")
}

/// An expression in quotes that suit it.
pub fn in_quotes(expression: &str) -> String {
    match expression.contains('"') {
        true => format!("'{}'", expression.replace('\'', "''")),
        false => format!("\"{expression}\""),
    }
}

/// What the parser could not read.
pub fn explain(file: u16, text: &str, error: &serde_yaml::Error) -> Diagnostic {
    let words = error.to_string();
    let offset = error.location().map(|location| location.index());
    let place = at_offset(file, offset.unwrap_or(0));
    if words.contains("more than one document") {
        let at = second_document(text).unwrap_or(0);
        let length = text.get(at..).map_or(0, |rest| rest.lines().next().unwrap_or("").trim_end().len());
        return Diagnostic::error("second-document", &at_offset(file, at), "a second document begins here")
            .part(0..length)
            .help(
                "a file holds one profile or suite: put the other into a file of its own, or remove the line",
            );
    }
    if words.contains("repetition limit exceeded") || words.contains(raw::TOO_LARGE) {
        return Diagnostic::error("alias-bomb", &place, "the aliases of the file unfold to too many values")
            .help("aliases of aliases multiply; write the repeated part once, with `repeat:`");
    }
    if words.contains("recursion limit exceeded") {
        return Diagnostic::error("too-deep", &place, "lists and maps are nested more than 128 deep here")
            .help("or an alias stands inside its own anchor");
    }
    let at = offset.unwrap_or(0).min(text.len());
    let (mut problem, context) = split(&words);
    if problem == "unknown anchor" {
        let name = text.get(at..).and_then(|rest| rest.strip_prefix('*')).unwrap_or("");
        let end = name.find(|c: char| c.is_whitespace() || ",]}".contains(c)).unwrap_or(name.len());
        problem = format!("nothing before this has the anchor `&{}`", name.get(..end).unwrap_or(""));
    }
    let mut diagnostic =
        Diagnostic::error("yaml-syntax", &place, format!("this cannot be read as YAML: {problem}"));
    let hint = hint(text, at, &words);
    if let (None, Some(context)) = (&hint, context) {
        diagnostic = diagnostic.help(context);
    }
    if let Some(hint) = hint {
        diagnostic = diagnostic.help(hint);
    }
    diagnostic
}

/// The parser's text without the place that is shown anyway, and what it was reading there.
fn split(words: &str) -> (String, Option<String>) {
    let (problem, context) = match words.split_once(", while ").or_else(|| words.split_once(", in ")) {
        Some((problem, context)) => (problem, Some(format!("this happened while {context}"))),
        None => (words, None),
    };
    let problem = problem.split(" at line ").next().unwrap_or(problem);
    (problem.rsplit(": ").next().unwrap_or(problem).to_owned(), context)
}

/// The advice that fits the line of the error, or a line just before it.
fn hint(text: &str, at: usize, words: &str) -> Option<String> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(start..)?.lines().next().unwrap_or("");
    let before = text.get(..start)?.lines().next_back().unwrap_or("");
    let indent = |line: &str| line.len() - line.trim_start().len();
    for line in [line, before] {
        if line.get(..indent(line)).is_some_and(|blank| blank.contains('\t')) {
            return Some("tabs cannot indent in YAML; use spaces".into());
        }
        if line.get(..indent(line)).is_some_and(|blank| !blank.is_ascii()) {
            return Some("the line is indented with other blanks than spaces (no-break spaces?)".into());
        }
    }
    if words.contains("unknown anchor") {
        return Some(
            "`*name` repeats what an earlier `&name` stands before; a text that begins with `*` needs quotes"
                .into(),
        );
    }
    for line in [line, before] {
        if let Some(expression) = bare_expression(line) {
            return Some(format!("an expression is written in quotes: {}", in_quotes(&expression)));
        }
    }
    if words.contains("incompatible YAML document") {
        return Some("write `%YAML 1.2`, or remove the line".into());
    }
    let rest = text.get(at..).unwrap_or("");
    match rest.chars().next() {
        Some(c @ ('@' | '`' | '%')) => {
            return Some(format!("a text that begins with `{c}` needs quotes"));
        }
        Some('\t') => return Some("tabs cannot indent in YAML; use spaces".into()),
        _ => {}
    }
    if words.contains("mapping values are not allowed") {
        return Some("a text with `: ` in it needs quotes; or the line is indented too far".into());
    }
    for line in [line, before] {
        let word = line.trim().trim_start_matches("- ");
        let looks_like_key = word.split_once(':').is_some_and(|(key, value)| {
            !key.is_empty()
                && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !value.is_empty()
                && !value.starts_with([' ', '/'])
        });
        if looks_like_key && words.contains("':'") {
            return Some("a key is followed by a colon and a blank: `key: value`".into());
        }
    }
    for quote in ['"', '\''] {
        if line.matches(quote).count() % 2 == 1 || words.contains("scalar") && before.contains(quote) {
            return Some(format!("is a closing {quote} missing?"));
        }
    }
    None
}

/// The `{{ … }}` that begins a value of this line without quotes around it.
fn bare_expression(line: &str) -> Option<String> {
    let mut from = 0;
    while let Some(found) = line.get(from..)?.find("{{") {
        let at = from + found;
        let before = line.get(..at)?.trim_end();
        if before.is_empty() || before.ends_with([':', '-', ',', '[', '{']) {
            let rest = line.get(at..)?;
            let end = rest.find("}}").map_or(rest.len(), |end| end + 2);
            let (expression, after) = rest.split_at_checked(end)?;
            let after = after.split(" #").next().unwrap_or("").trim();
            // `{{ cpus }} - 1` is meant as one expression.
            return Some(match expression.strip_suffix("}}") {
                Some(open)
                    if after.starts_with(['-', '+', '*', '/', '%', '|'])
                        && !after.contains([',', '}', ']']) =>
                {
                    format!("{}{after} }}}}", open)
                }
                _ => expression.trim_end().to_owned(),
            });
        }
        from = at + 2;
    }
    None
}

/// Where a second document begins: a `---` after something, or anything after `...`.
fn second_document(text: &str) -> Option<usize> {
    let mut at = 0;
    let mut seen = false;
    for line in text.split_inclusive('\n') {
        let written = line.trim_end();
        if written == "---" || written.starts_with("--- ") {
            if seen {
                return Some(at);
            }
            seen = true;
        } else if !written.is_empty() && !written.starts_with(['#', '%']) && written != "..." {
            seen = true;
        }
        at += line.len();
    }
    None
}
