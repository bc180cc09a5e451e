//! `run`: plans, looks at the targets, runs, keeps records, prints the table.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::{EXIT_FAILED, Failure, Outcome, data, say, width};
use super::plan::{self, Values};
use crate::os::linux::{Clock, ignore_file_size_signal, raise_descriptor_limit};
use crate::profile::names::did_you_mean;
use crate::profile::suite::{Runs, Suite};
use crate::profile::units;
use crate::record::{Record, Scrubber, Soundness, Status, SuiteRef, now};
use crate::report::{format, side_by_side, terminal};
use crate::run::prepare::{self, Prepared, hash_texts};
use crate::run::progress::Progress;
use crate::run::session::{self, Ran, Settings, Side};
use crate::run::stop::{EXIT_INTERRUPTED, Stop};
use crate::run::target::{self, Place};
use crate::run::{case, overhead, preflight};
use crate::system::files::Root;
use crate::system::{Clock as ClockModel, System, machine};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Profiles or suites: a YAML file, or the id of one that comes with the program; `:GLOB` behind it
    /// takes only those cases. A stored result in their place runs its rows again
    #[arg(required = true, value_name = "SUITE|PROFILE[:CASE]|RESULT")]
    what: Vec<String>,
    /// Directory to test, perhaps with a name for it; several are run turn about
    #[arg(long, value_name = "[NAME=]PATH")]
    target: Vec<String>,
    #[command(flatten)]
    values: Values,
    /// Runs each case so often, whatever the results show
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    runs: Option<u64>,
    /// No longer than this, for example 10m; what does not fit is skipped and says so
    #[arg(long, value_name = "TIME", value_parser = duration)]
    budget: Option<Duration>,
    /// Seed of all random choices; without it a fresh one, which the record holds
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Name of the run and of its directory under the results
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What reports call the run
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Goes on with the run of this --name: finished cases stay
    #[arg(long, requires = "name")]
    resume: bool,
    /// Leaves the test files on the target
    #[arg(long)]
    keep: bool,
    /// Exit code 1 also where a result is doubtful
    #[arg(long)]
    strict: bool,
    /// Runs cases that this check would refuse
    #[arg(long, value_name = "CHECK")]
    allow: Vec<String>,
    /// Records host, user and addresses as well
    #[arg(long)]
    identify: bool,
    /// Shows what would be run and writes nothing
    #[arg(long)]
    dry_run: bool,
    /// Prints the records as JSON instead of a table
    #[arg(long)]
    json: bool,
    /// No progress and no notes
    #[arg(long, short)]
    quiet: bool,
    /// Shows the begin and end of every phase to tracers such as strace
    #[arg(long)]
    mark: bool,
}

fn duration(text: &str) -> Result<Duration, String> {
    units::parse_duration(text).map(Duration::from_nanos).map_err(|error| match error.help {
        Some(help) => format!("{}; {help}", error.message),
        None => error.message,
    })
}

/// Carries out `run`; gives the exit code, or what kept it from one.
pub fn call(args: &Args) -> Outcome {
    ignore_file_size_signal();
    let descriptors = raise_descriptor_limit().map_or(1024, |(soft, _)| soft);
    let library = plan::library();
    if let Some(unknown) = args.allow.iter().find(|name| !preflight::CHECKS.contains(&name.as_str())) {
        let help = did_you_mean(unknown, &preflight::CHECKS);
        return Err(Failure::wrong(format!("--allow {unknown}: there is no such check; {help}")));
    }
    let suite = plan::suite(&library, &args.what, &args.out)?;
    let mut places = places(args)?;
    let request = args.values.request(args.runs.map(Runs::exactly));
    let mut sides = Vec::new();
    for (at, place) in places.drain(..).enumerate() {
        let cases = plan::cases(&library, &suite, &request, &place.facts, at == 0 && !args.quiet)?;
        if cases.is_empty() {
            return Err(Failure::wrong("nothing is left to run"));
        }
        let judged = preflight::check(&cases, &place, descriptors, args.keep, &args.allow);
        sides.push(Side { place, cases, judged });
    }
    if !args.quiet {
        sides.iter().for_each(|side| say(&described(side, args)));
        fixed_seeds(args, &sides).iter().for_each(|note| say(note));
    }
    if args.dry_run {
        sides.iter().try_for_each(|side| data(dry(side)))?;
        return Ok(0);
    }
    let stop = Stop::install().map_err(|error| Failure::target(format!("catching signals: {error}")))?;
    let progress = Progress::new(args.quiet, args.mark);
    let settings = settings(args, &suite, &sides);
    let ran = session::run(&settings, sides, &stop, &progress)?;
    let code = finish(args, &ran, &stop)?;
    match ran.unsaved {
        Some(error) => Err(Failure::target(format!("the record could not be written: {error}"))),
        None => Ok(code),
    }
}

/// The targets, each looked at.
fn places(args: &Args) -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    let here = [".".to_string()];
    let given = if args.target.is_empty() { &here[..] } else { &args.target[..] };
    for argument in given {
        let (name, path) = target::parse(argument);
        places.push(target::look(name.as_deref(), &path, !args.dry_run).map_err(Failure::target)?);
        for left in case::leftovers(&path) {
            if !args.quiet {
                let (left, path) = (left.display(), path.display());
                say(&format!(
                    "note: {left} may be left from a run that died; `ioscore clean {path}` removes such"
                ));
            }
        }
    }
    told_apart(&places)?;
    Ok(places)
}

/// Refuses targets of one name: their results could not be told apart. That holds for one directory
/// given twice as well, unless both have names.
fn told_apart(places: &[Place]) -> Result<(), Failure> {
    for (at, place) in places.iter().enumerate() {
        let same = |other: &&Place| other.about.name == place.about.name;
        if let Some(other) = places.iter().take(at).find(same) {
            return Err(Failure::wrong(format!(
                "two targets are called {}: {} and {}; name them, as in --target NAME={}",
                place.about.name,
                other.path.display(),
                place.path.display(),
                place.path.display()
            )));
        }
    }
    Ok(())
}

/// Notes on profiles that fix their seed, where another one is asked for.
fn fixed_seeds(args: &Args, sides: &[Side]) -> Vec<String> {
    let Some(asked) = args.seed else { return Vec::new() };
    let cases = sides.iter().take(1).flat_map(|side| &side.cases);
    let fixed = cases.filter_map(|case| {
        let seed = case.plan.as_ref().ok()?.random.seed.filter(|seed| *seed != asked)?;
        Some(format!("note: {} fixes its seed, {seed}; --seed does not change it", case.bound.profile_id))
    });
    let mut notes: Vec<String> = fixed.collect();
    notes.dedup();
    notes
}

/// What will be done to one target, before anything is written there.
fn described(side: &Side, args: &Args) -> String {
    let about = &side.place.about;
    let kind = about.file_system.as_ref().map_or("unknown file system", |fs| fs.kind.as_str());
    let free = about.space_before.map_or(String::new(), |space| {
        format!(", {} free", format::bytes(space.free_bytes as f64, format::Base::Binary))
    });
    let how = if args.target.is_empty() { " (no --target: a directory is made here)" } else { "" };
    let path = about.resolved.as_ref().unwrap_or(&about.path);
    let resolved = if *path == about.path { String::new() } else { format!(" ({path})") };
    let count = side.cases.len();
    let plural = if count == 1 { "" } else { "s" };
    format!(
        "target {}: {}{resolved}, {kind}{free}{how}\n{count} case{plural}{}",
        about.name,
        about.path,
        preflight::described(&side.cases)
    )
}

/// What `--dry-run` prints: one line a case.
fn dry(side: &Side) -> String {
    let line = |(case, judged): (&Prepared, &preflight::Judged)| {
        let state = match (&judged.refused, &case.plan) {
            (Some((_, reason)), _) => format!("would be refused: {}", reason.line()),
            (None, Err(why)) => format!("would fail: {}", prepare::unusable(why).line()),
            (None, Ok(plan)) => {
                format!("{} worker{}", plan.workers, if plan.workers == 1 { "" } else { "s" })
            }
        };
        format!("{}:{}\t{}\t{state}\n", case.bound.profile_id, case.bound.case_id, case.bound.title)
    };
    side.cases.iter().zip(&side.judged).map(line).collect()
}

fn settings(args: &Args, suite: &Suite, sides: &[Side]) -> Settings {
    let hashes = sides.iter().flat_map(|side| &side.cases).map(|case| case.about.plan_hash.as_str());
    let scrubber = if args.identify { Scrubber::off() } else { Scrubber::of_this_machine() };
    Settings {
        name: args.name.clone().unwrap_or_else(|| free_name(&args.out, &suite.id)),
        title: args.title.clone(),
        results: args.out.clone(),
        seed: args.seed,
        budget: args.budget,
        resume: args.resume,
        keep: args.keep,
        mark: args.mark,
        suite: Some(SuiteRef {
            id: suite.id.clone(),
            title: Some(suite.title.clone()),
            hash: hash_texts(std::iter::once(suite.id.as_str()).chain(hashes)),
        }),
        command_line: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        scrubber,
        system: described_system(sides),
    }
}

/// This machine, with what its clock and an operation that does nothing cost.
fn described_system(sides: &[Side]) -> System {
    let mut system = machine::describe(&Root::default());
    let clock = Clock::new();
    let cost = clock.measure_cost();
    let source = system.clock.take().map_or_else(|| clock.name().to_string(), |clock| clock.source);
    system.clock = Some(ClockModel { source, cost_ns: Some(cost) });
    let first = sides.first().map(|side| side.place.path.as_path());
    system.null_op_ns = first.and_then(|target| overhead::measure(target, crate::ops::verbs()));
    system
}

/// `mail-server-20261130-202102`, or with a number behind it where that is taken.
fn free_name(results: &Path, id: &str) -> String {
    let stamp: String = now().chars().filter(char::is_ascii_alphanumeric).collect();
    let stamp = stamp.trim_end_matches('Z').replace('T', "-");
    let base = format!("{}-{stamp}", id.chars().take(80).collect::<String>());
    let taken = |name: &str| {
        let begins = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(name);
        std::fs::read_dir(results).into_iter().flatten().flatten().any(begins)
    };
    if !taken(&base) {
        return base;
    }
    (2..).map(|turn| format!("{base}.{turn}")).find(|name| !taken(name)).unwrap_or(base)
}

/// Prints what came of it and gives the exit code.
fn finish(args: &Args, ran: &Ran, stop: &Stop) -> Outcome {
    let records = &ran.records;
    let printed = if args.json {
        crate::report::json::write(records)
            .map_err(|error| Failure::target(format!("writing JSON: {error}")))
            .and_then(data)
    } else {
        data(tables(records))
    };
    if !args.quiet && ran.unsaved.is_none() {
        for record in records {
            say(&format!("record: {}", args.out.join(&record.run.name).join("record.json").display()));
        }
    }
    printed?;
    let rows = || records.iter().flat_map(|record| &record.rows);
    let bad = rows().any(|row| matches!(row.status(), Status::Failed | Status::Unsupported));
    let doubtful = rows().filter_map(|row| row.verdict()).any(|v| v.soundness == Soundness::Doubtful);
    Ok(match () {
        () if stop.requested() => EXIT_INTERRUPTED,
        () if bad || (args.strict && doubtful) => EXIT_FAILED,
        () => 0,
    })
}

fn tables(records: &[Record]) -> String {
    match records {
        [one] => terminal::table(one, width()),
        several => {
            let mut text = String::new();
            for record in several {
                text.push_str(&format!("{}\n{}\n", record.target.name, terminal::table(record, width())));
            }
            text.push_str(&side_by_side::compare(several).table(width()));
            text
        }
    }
}
