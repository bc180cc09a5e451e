//! Diagnostics as people read them: the file, the line itself, a caret, what would be right.
//!
//! Knows how a message looks, not what it says.

use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::diagnostic::{Diagnostic, Severity};
use super::source::{Sources, Span};

/// Every diagnostic with the lines it means, in the order of the files; what stands in no file
/// comes first. Ends with a line feed unless there are none.
pub fn render(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for (span, diagnostic) in in_order(diagnostics, sources) {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut group: Group =
            Group::with_title(level.primary_title(&*diagnostic.message).id(diagnostic.code));
        match (&span, &diagnostic.place) {
            (Some(span), _) => {
                // Only the lines that are meant: a snippet is not looked for in the whole file.
                let all = sources.text(span.file);
                let start =
                    all.get(..span.range.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
                let end = all.get(span.range.end..).and_then(|after| after.find('\n'));
                let text = all.get(start..end.map_or(all.len(), |at| span.range.end + at)).unwrap_or("");
                let mut range = span.range.start - start..span.range.end - start;
                if range.is_empty() {
                    // A caret needs something on its own line to stand under.
                    let next = text.get(range.start..).and_then(|rest| rest.chars().next());
                    range.end += next.filter(|next| !"\r\n".contains(*next)).map_or(0, char::len_utf8);
                }
                group = group.element(
                    Snippet::source(text)
                        .path(sources.name(span.file))
                        .line_start(span.line)
                        .annotation(AnnotationKind::Primary.span(range)),
                );
            }
            (None, Some(place)) => group = group.element(Origin::path(sources.name(place.file))),
            (None, None) => {}
        }
        for help in diagnostic.help.iter().filter(|help| !help.is_empty()) {
            group = group.element(Level::HELP.message(&**help));
        }
        out.push_str(renderer.render(&[group]).trim_end());
        out.push_str("\n\n");
    }
    while out.ends_with("\n\n") {
        out.pop();
    }
    out
}

/// One line for each diagnostic, for editors and other programs:
/// `file:line:column: error[code]: message (help)`.
pub fn render_lines(diagnostics: &[Diagnostic], sources: &Sources) -> String {
    let mut out = String::new();
    for (span, diagnostic) in in_order(diagnostics, sources) {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        match (&span, &diagnostic.place) {
            (Some(span), _) => {
                let _ = write!(out, "{}:{}:{}: ", sources.name(span.file), span.line, span.column);
            }
            (None, Some(place)) => {
                let _ = write!(out, "{}: ", sources.name(place.file));
            }
            (None, None) => {}
        }
        let _ = write!(out, "{severity}[{}]: {}", diagnostic.code, one_line(&diagnostic.message));
        if !diagnostic.help.is_empty() {
            let _ = write!(out, " ({})", one_line(&diagnostic.help.join("; ")));
        }
        out.push('\n');
    }
    out
}

fn one_line(text: &str) -> String {
    text.split(['\n', '\r']).map(str::trim).collect::<Vec<_>>().join(" ")
}

fn in_order<'d>(diagnostics: &'d [Diagnostic], sources: &Sources) -> Vec<(Option<Span>, &'d Diagnostic)> {
    let mut found: Vec<_> =
        diagnostics.iter().map(|diagnostic| (sources.locate_diagnostic(diagnostic), diagnostic)).collect();
    found.sort_by_key(|(span, diagnostic)| {
        let file = diagnostic.place.as_ref().map(|place| place.file);
        (file, span.as_ref().map(|span| span.range.start))
    });
    // What an alias repeats is wrong once, where it is written.
    found.dedup_by(|later, first| {
        later.0.is_some()
            && later.0 == first.0
            && (later.1.code, &later.1.message) == (first.1.code, &first.1.message)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::node::Place;
    use super::*;

    fn two() -> (Sources, Vec<Diagnostic>) {
        let mut sources = Sources::new();
        let file = sources.add("mail.yaml", "a: 1\nsteps:\n- {wirte: 4k, é: \"x\"}\n");
        let at = |pointer: &str| Place { file, pointer: pointer.into() };
        let diagnostics = vec![
            Diagnostic::error("unknown-verb", &at("/steps/0/wirte"), "unknown verb `wirte`")
                .at_key()
                .help("did you mean `write`?"),
            Diagnostic::warning("odd", &at("/a"), "odd"),
            Diagnostic::general("no-target", "no target was given"),
        ];
        (sources, diagnostics)
    }

    #[test]
    fn the_line_itself_is_shown_with_a_caret_and_the_help() {
        let (sources, diagnostics) = two();
        let expected = "\
error[no-target]: no target was given

warning[odd]: odd
 --> mail.yaml:1:4
  |
1 | a: 1
  |    ^

error[unknown-verb]: unknown verb `wirte`
 --> mail.yaml:3:4
  |
3 | - {wirte: 4k, é: \"x\"}
  |    ^^^^^
  |
  = help: did you mean `write`?
";
        assert_eq!(render(&diagnostics, &sources, false), expected);
        assert!(render(&diagnostics, &sources, true).contains('\u{1b}'));
    }

    #[test]
    fn one_line_is_one_line() {
        let (sources, diagnostics) = two();
        let expected = "\
error[no-target]: no target was given
mail.yaml:1:4: warning[odd]: odd
mail.yaml:3:4: error[unknown-verb]: unknown verb `wirte` (did you mean `write`?)
";
        assert_eq!(render_lines(&diagnostics, &sources), expected);
    }
}
