//! `import`: another program's report as a result of our own.

use std::path::{Path, PathBuf};

use super::output::{Failure, Outcome, data, say, width};
use crate::import::{dd, dd_record};
use crate::record::{RunState, Scrubber, Store, now};
use crate::report::terminal;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// What dd prints when it is done, GNU or BSD, as often as it is there
    Dd,
}

#[derive(Debug, clap::Args)]
pub struct Args {
    /// What printed the report
    #[arg(value_enum)]
    format: Format,
    /// The file with its text; `-` is the standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Name of the result; without it the file's
    #[arg(long)]
    name: Option<String>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
}

/// Most bytes of a report that are read.
const MOST: u64 = 16 << 20;

/// Carries out `import`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    let shown = args.file.display();
    let text = read(&args.file).map_err(|error| Failure::wrong(format!("cannot read {shown}: {error}")))?;
    let name = args.name.clone().unwrap_or_else(|| {
        let stem = args.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| stem != "-").unwrap_or_else(|| "dd".into())
    });
    let record = match args.format {
        Format::Dd => {
            let reports = dd::reports(&text).map_err(|error| Failure::wrong(format!("{shown}: {error}")))?;
            dd_record::record(&name, &now(), &reports)
        }
    };
    let store = Store::create(&args.out, record, Scrubber::of_this_machine())?;
    let record = store.finish(RunState::Complete)?;
    data(terminal::table(&record, width()))?;
    say(&format!("imported as {name}"));
    Ok(0)
}

fn read(path: &Path) -> std::io::Result<String> {
    use std::io::Read;
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin()),
        false => Box::new(std::fs::File::open(path)?),
    };
    let mut bytes = Vec::new();
    source.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
