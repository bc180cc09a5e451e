//! `completions` and `man`: for packagers.

use clap::CommandFactory;

use super::app::App;
use super::output::{Failure, Outcome, data};

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

pub fn completions(args: &CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut App::command(), "ioscore", &mut text);
    data(text)?;
    Ok(0)
}

pub fn man() -> Outcome {
    let mut text = Vec::new();
    clap_mangen::Man::new(App::command())
        .render(&mut text)
        .map_err(|error| Failure::target(format!("writing the manual page: {error}")))?;
    data(text)?;
    Ok(0)
}
