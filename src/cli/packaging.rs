//! `completions` and `man`: for packagers.

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use super::app::App;
use super::output::{Failure, Outcome, data};

#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

/// Prints the completions of a shell.
pub fn completions(args: &CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut App::command(), "ioscore", &mut text);
    data(text)?;
    Ok(0)
}

/// Prints the manual page.
pub fn man() -> Outcome {
    let text =
        page(App::command()).map_err(|error| Failure::target(format!("writing the manual page: {error}")))?;
    data(text)?;
    Ok(0)
}

/// One page of the whole program: a section for each command, so that no other page is needed.
fn page(mut app: Command) -> std::io::Result<String> {
    app.build();
    let mut text = Vec::new();
    let whole = Man::new(app.clone());
    whole.render_title(&mut text)?;
    whole.render_name_section(&mut text)?;
    whole.render_synopsis_section(&mut text)?;
    whole.render_description_section(&mut text)?;
    whole.render_options_section(&mut text)?;
    let mut text = String::from_utf8_lossy(&text).into_owned();
    text.push_str(".SH COMMANDS\n");
    for command in app.get_subcommands() {
        let mut part = Vec::new();
        // clap speaks of `ioscore-run`; what one types is `ioscore run`.
        let typed = format!("ioscore {}", command.get_name());
        let command = command.clone().bin_name(&typed).display_name(&typed);
        let has_options = command.get_arguments().next().is_some();
        let man = Man::new(command);
        man.render_description_section(&mut part)?;
        man.render_synopsis_section(&mut part)?;
        if has_options {
            man.render_options_section(&mut part)?;
        }
        text.push_str(&format!(".SS \"{typed}\"\n"));
        // Within the command's section its parts have no headings of their own.
        for line in String::from_utf8_lossy(&part).lines().filter(|line| !PREAMBLE.contains(line)) {
            text.push_str(if line.starts_with(".SH ") { ".PP" } else { line });
            text.push('\n');
        }
    }
    Ok(text)
}

/// Lines that begin every piece of a page; once is enough.
const PREAMBLE: [&str; 2] = [r".ie \n(.g .ds Aq \(aq", ".el .ds Aq '"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_holds_every_command_and_option_and_names_no_other_page() {
        let text = page(App::command()).unwrap();
        let plain = text.replace("\\-", "-");
        let app = App::command();
        assert!(app.get_subcommands().count() > 10);
        for command in app.get_subcommands() {
            let name = command.get_name();
            assert!(plain.contains(&format!(".SS \"ioscore {name}\"")), "{name}");
            for option in command.get_arguments().filter_map(|argument| argument.get_long()) {
                assert!(plain.contains(&format!("--{option}")), "{name} --{option}");
            }
        }
        assert!(!plain.contains("ioscore-run") && !plain.contains("(1)\n"), "{plain}");
        assert_eq!(text.matches(".SH NAME").count(), 1);
    }
}
