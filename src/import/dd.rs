//! Reads what dd prints when it is done, in GNU and BSD form and in any language of the former.
//!
//! Only the text is known here; what becomes of the numbers is not.

/// One report of dd.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Bytes copied.
    pub bytes: u64,
    /// How long it took, in seconds; above 0.
    pub seconds: f64,
    /// Bytes a second: as printed where all digits are, else bytes by seconds.
    pub rate: f64,
    /// The rate as printed, with its unit.
    pub printed: String,
    /// Whole blocks written, where the report says so and there was no shorter one.
    pub blocks: Option<u64>,
}

/// A text that holds no report, or one that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// There is none.
    #[error(
        "no report of dd is in it: a line like `104857600 bytes (105 MB, 100 MiB) copied, 0.64 s, 164 MB/s` or `104857600 bytes transferred in 0.64 secs (163840000 bytes/sec)`"
    )]
    Nothing,
    /// A line begins as a report does and goes on otherwise.
    #[error("line {line}: {what}")]
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
}

/// Every report of a text, in order. Progress lines and lines of other programs are passed over.
///
/// # Errors
/// [`Problem`] where there is no report at all, or one is garbled or took no time.
pub fn reports(text: &str) -> Result<Vec<Report>, Problem> {
    let mut found = Vec::new();
    let mut blocks = None;
    for (number, line) in text.split('\n').enumerate() {
        // Some terminals end lines with both.
        let line = line.trim_end_matches('\r');
        // Progress is overwritten in place; the last word comes on a line of its own.
        if line.contains('\r') || is_progress(line) {
            continue;
        }
        let line = line.trim();
        if let Some(records) = records(line) {
            blocks = records;
            continue;
        }
        let problem = |what: String| Problem::Line { line: number + 1, what };
        if let Some(mut report) = bsd(line).or_else(|| gnu(line)) {
            if report.seconds <= 0.0 || !report.rate.is_finite() {
                return Err(problem(format!("{} bytes in no time give no rate", report.bytes)));
            }
            report.blocks = blocks.take().filter(|blocks| *blocks > 0 && report.bytes % blocks == 0);
            found.push(report);
        } else if let Some(cut) = garbled(line) {
            return Err(problem(format!("a report of dd that ends early or has no rate: {cut:?}")));
        }
    }
    if found.is_empty() { Err(Problem::Nothing) } else { Ok(found) }
}

/// Words of the longest line about records.
const RECORD_WORDS: usize = 6;

/// `100+0 records out`: whole blocks, if there was no partial one. The words, and where among them the
/// number stands, depend on the language.
fn records(line: &str) -> Option<Option<u64>> {
    if line.split_whitespace().count() > RECORD_WORDS {
        return None;
    }
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|b| b.is_ascii_digit()));
    let mut pairs = line.split_whitespace().filter_map(|word| word.split_once('+'));
    let (whole, partial) = pairs.find_map(|(whole, partial)| Some((number(whole)?, number(partial)?)))?;
    Some((partial == 0).then_some(whole))
}

/// `  N bytes (…) transferred 1.001s, 105 MB/s`: how far BSD's dd has come (`status=progress`).
fn is_progress(line: &str) -> bool {
    line.contains(" bytes (") && line.contains(") transferred ") && line.trim_end().ends_with("/s")
}

/// A number with a decimal point or comma.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || ".,eE-+".contains(c));
    if plain { text.replace(',', ".").parse().ok() } else { None }
}

/// `N bytes transferred in S secs (R bytes/sec)`
fn bsd(line: &str) -> Option<Report> {
    let (bytes, rest) = line.split_once(" transferred in ")?;
    // One byte is a byte.
    let bytes = bytes.strip_suffix(" bytes").or_else(|| bytes.strip_suffix(" byte"))?;
    let (seconds, rest) = rest.split_once(" sec")?;
    let (_, rate) = rest.split_once('(')?;
    let printed = rate.split_once(')')?.0;
    let rate = decimal(printed.split_once(" bytes/sec")?.0)?;
    Some(Report {
        bytes: bytes.parse().ok()?,
        seconds: decimal(seconds)?,
        rate,
        printed: printed.into(),
        blocks: None,
    })
}

/// `N bytes (…) copied, S s, R MB/s`, with other words in other languages: one of its first two is a
/// number, and its last two parts are a time and a rate. Chinese has a comma of its own.
fn gnu(line: &str) -> Option<Report> {
    let line = line.replace('，', ", ");
    let mut parts = line.rsplit(", ");
    let (printed, time, head) = (parts.next()?, parts.next()?, parts.next()?);
    let bytes = line.split_whitespace().take(2).find_map(|word| word.parse::<u64>().ok())?;
    let (seconds, unit) = time.split_once(' ')?;
    let is_rate = printed.ends_with("/s") && printed.starts_with(|c: char| c.is_ascii_digit() || c == 'I');
    if !is_rate || head.is_empty() || !unit.to_lowercase().starts_with('s') {
        return None;
    }
    let seconds = decimal(seconds)?;
    // Three digits are printed of the rate, and more of the time.
    Some(Report { bytes, seconds, rate: bytes as f64 / seconds, printed: printed.into(), blocks: None })
}

/// The line, if it begins as a report does.
fn garbled(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let number = words.next()?.chars().all(|c| c.is_ascii_digit());
    let bytes = words.next()? == "bytes";
    (number && bytes && (line.contains("copied") || line.contains("transferred"))).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Report {
        let mut found = reports(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
        assert_eq!(found.len(), 1, "{text}");
        found.remove(0)
    }

    #[test]
    fn every_form_is_read() {
        let table = [
            ("104857600 bytes (105 MB, 100 MiB) copied, 0.64 s, 164 MB/s", 0.64, 163_840_000.0, "164 MB/s"),
            ("104857600 bytes (105 MB) copied, 0.5 seconds, 210 MB/s", 0.5, 209_715_200.0, "210 MB/s"),
            ("104857600 Bytes (105 MB, 100 MiB) kopiert, 0,64 s, 164 MB/s", 0.64, 163_840_000.0, "164 MB/s"),
            ("104857600 octets (105 MB, 100 MiB) copiés, 0,8 s, 131 MB/s", 0.8, 131_072_000.0, "131 MB/s"),
            ("104857600 bytes (100.0MB) copied, 0.05 seconds, 2.0GB/s", 0.05, 2_097_152_000.0, "2.0GB/s"),
            (
                "104857600 bytes transferred in 0.641162 secs (163543088 bytes/sec)",
                0.641162,
                163_543_088.0,
                "163543088 bytes/sec",
            ),
            (
                "104857600 bytes transferred in 0,641 secs (163543088 bytes/sec)",
                0.641,
                163_543_088.0,
                "163543088 bytes/sec",
            ),
        ];
        for (text, seconds, rate, printed) in table {
            let report = one(text);
            assert_eq!((report.bytes, report.seconds, report.blocks), (104_857_600, seconds, None), "{text}");
            assert!((report.rate - rate).abs() < 1.0, "{text}: {}", report.rate);
            assert_eq!(report.printed, printed);
        }
        assert_eq!(one("512 bytes copied, 0.001 s, 512 kB/s").rate, 512_000.0);
        assert_eq!(one("1 byte copied, 0.5 s, 0.0 kB/s").bytes, 1);
        assert_eq!(one("1000 bytes copied, 1.5e-05 s, 67 MB/s").seconds, 1.5e-5);
    }

    #[test]
    fn blocks_are_those_of_the_lines_above() {
        let text = "100+0 records in\r\n100+0 records out\r\n104857600 bytes copied, 1 s, 105 MB/s\r\n\
                    10+0 records in\n10+0 records out\n104857600 bytes transferred in 1.0 secs (104857600 bytes/sec)\n\
                    3+1 records out\n10485760 bytes copied, 1 s, 10 MB/s\n7 bytes copied, 1 s, 7 B/s\n";
        let blocks: Vec<_> = reports(text).unwrap().into_iter().map(|report| report.blocks).collect();
        assert_eq!(blocks, [Some(100), Some(10), None, None]);
    }

    #[test]
    fn progress_and_foreign_lines_are_passed_over() {
        let text = "$ dd if=/tmp/r of=/dev/null bs=1M\n\r52428800 bytes copied, 1 s, 52 MB/s\r99 bytes copied, 2 s, 5 B/s\n\
                    100+0 records in\n100+0 records out\n104857600 bytes copied, 2 s, 52 MB/s\n1, 2, 3 s, 4/s of it\n";
        assert_eq!(one(text).seconds, 2.0);
    }

    #[test]
    fn what_is_no_report_is_said() {
        for text in ["", "hello\nworld\n", "dd: failed to open 'x': No such file", "12 apples, 3 s, five/s"] {
            assert_eq!(reports(text), Err(Problem::Nothing), "{text}");
        }
        for text in [
            "104857600 bytes (105 MB, 100 MiB) copied",
            "104857600 bytes (105 MB) copied, 0.6x s, 1 MB/s",
            "104857600 bytes transferred in 0.6 secs (lots)",
            "104857600 bytes transferred in 0 secs (0 bytes/sec)",
            "104857600 bytes copied, 0 s, Infinity B/s",
        ] {
            let problem = reports(&format!("a line\n{text}\n")).expect_err(text);
            assert!(matches!(problem, Problem::Line { line: 2, .. }), "{text}: {problem}");
        }
    }

    #[test]
    fn nothing_that_is_read_makes_it_panic() {
        for text in [
            "+",
            "1+",
            "99999999999999999999 bytes copied, 1 s, 1 B/s",
            ", , /s",
            "1 , s, 1/s",
            "\r\r",
            "5+5",
        ] {
            let _ = reports(text);
        }
    }
}
