//! The program's arguments as a whole, and which command they mean.

use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Parser, Subcommand};

use super::output::{Outcome, fail};
use super::{
    check, clean, compare, explain, export, import, list, new, packaging, run, schema, show, system,
};
use crate::os::linux::sqlite;

/// Storage tests as data: a YAML profile says what happens, one interpreter does it.
///
/// Data goes to the standard output, everything else to the error output.
/// Exit codes: 0 every case ok, 1 some case failed or is unsupported, 2 a mistake in a profile, suite or
/// command line, 3 the target cannot be used, 130 interrupted.
#[derive(Debug, Parser)]
#[command(name = "ioscore", version, long_version = LONG_VERSION.as_str(), arg_required_else_help = true, max_term_width = 100)]
pub struct App {
    #[command(subcommand)]
    command: Command,
}

/// The version with that of what is compiled in.
static LONG_VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{}\nSQLite {}", env!("CARGO_PKG_VERSION"), sqlite::version()));

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs profiles or suites on one or several targets
    Run(run::Args),
    /// Shows every mistake of profile and suite files
    Check(check::Args),
    /// Shows what a profile or suite will do: parameters, plan, needs, first operations
    Explain(explain::Args),
    /// Lists profiles, suites or results
    List(list::Args),
    /// Shows a profile, a suite or a result
    Show(show::Args),
    /// Prints a commented profile or suite to start from
    New(new::Args),
    /// Puts results side by side
    Compare(compare::Args),
    /// Writes results in another format
    Export(export::Args),
    /// Takes another program's report as a result
    Import(import::Args),
    /// Shows what is seen of this machine
    System(system::SystemArgs),
    /// Shows what is seen of a target
    Target(system::TargetArgs),
    /// Removes what runs that died left under a target
    Clean(clean::Args),
    /// Prints the JSON Schema of a kind of file
    Schema(schema::Args),
    /// Prints a shell's completions
    Completions(packaging::CompletionsArgs),
    /// Prints the manual page
    Man,
}

impl App {
    fn call(self) -> Outcome {
        match self.command {
            Command::Run(args) => run::call(&args),
            Command::Check(args) => check::call(&args),
            Command::Explain(args) => explain::call(&args),
            Command::List(args) => list::call(&args),
            Command::Show(args) => show::call(&args),
            Command::New(args) => new::call(&args),
            Command::Compare(args) => compare::call(&args),
            Command::Export(args) => export::call(&args),
            Command::Import(args) => import::call(&args),
            Command::System(args) => system::machine(&args),
            Command::Target(args) => system::target(&args),
            Command::Clean(args) => clean::call(&args),
            Command::Schema(args) => schema::call(&args),
            Command::Completions(args) => packaging::completions(&args),
            Command::Man => packaging::man(),
        }
    }
}

/// Reads the command line, does what it says, and gives the exit code.
pub fn main() -> ExitCode {
    let app = match App::try_parse() {
        Ok(app) => app,
        Err(error) => {
            // Help and version are no mistakes. That nobody reads them is none either.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match app.call() {
        Ok(code) => ExitCode::from(code),
        Err(failure) => fail(failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        App::command().debug_assert();
    }

    #[test]
    fn every_command_and_option_says_what_it_does() {
        for command in App::command().get_subcommands() {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
        }
    }
}
