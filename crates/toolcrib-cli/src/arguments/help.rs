//! The help of the whole command line: its commands in groups, and its exit codes.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use clap::{Command, CommandFactory as _};

use super::Arguments;
use crate::exit::EXIT_CODES;
use crate::ui::width::{terminal_width, wrap};

/// The commands in the order of the help, by their purpose. Each that is not hidden is in one group.
pub(super) const GROUPS: [(&str, &[&str]); 5] = [
    ("Start", &["init", "new", "add", "registry", "import", "install"]),
    ("Inspect", &["validate", "tools", "show", "search", "why", "policy", "plan", "lint", "load", "schema"]),
    ("Run", &["run", "chat", "call", "script", "sessions", "tasks", "trace", "generate"]),
    ("Serve", &["serve", "console", "profile", "enable", "disable", "approve", "trust", "login", "health"]),
    ("Maintain", &["doctor", "store", "models", "eval", "completions", "help"]),
];

/// The widest help, in columns: longer lines are hard to read.
const MAX_WIDTH: usize = 110;

/// The width of help that goes to a file or a program which does not say its own in `COLUMNS`.
const PIPED_WIDTH: usize = 100;

/// The columns between the edges and a name, and between a name and its description.
const GAP: usize = 2;

/// Returns the command line, whose help fits the terminal.
pub(crate) fn command_line() -> Command {
    let columns = if std::io::stdout().is_terminal() {
        terminal_width()
    } else {
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(PIPED_WIDTH)
    };
    command_line_of_width(columns.min(MAX_WIDTH))
}

/// Returns the command line, whose help has at most this many columns.
pub(super) fn command_line_of_width(columns: usize) -> Command {
    let command = Arguments::command().term_width(columns);
    let exit_codes = exit_codes(&command, columns);
    let mut command = command
        .after_help("`toolcrib COMMAND --help` shows the options of a command, with examples.")
        .after_long_help(exit_codes);
    // With the command `help`.
    command.build();
    let groups = grouped(&command, columns);
    let header = *command.get_styles().get_header();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// Returns the list of commands, with the headings of their groups.
fn grouped(command: &Command, columns: usize) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let longest =
        GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or_default();
    let indent = longest + 2 * GAP;
    let mut text = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{header}{heading}:{header:#}");
        let commands = names.iter().filter_map(|name| command.find_subcommand(name));
        for command in commands.filter(|command| !command.is_hide_set()) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let about = wrap(&about, columns.saturating_sub(indent)).join(&format!("\n{:indent$}", ""));
            let name = command.get_name();
            let _ =
                writeln!(text, "  {literal}{name}{literal:#}{:1$}{about}", "", longest - name.len() + GAP);
        }
        text.push('\n');
    }
    text
}

/// Returns the section of the exit codes.
fn exit_codes(command: &Command, columns: usize) -> String {
    let header = command.get_styles().get_header();
    let mut text = format!("{header}Exit codes:{header:#}\n");
    for (exit, meaning) in EXIT_CODES {
        let meaning = wrap(meaning, columns.saturating_sub(5)).join("\n     ");
        let _ = writeln!(text, "  {}  {meaning}", exit as u8);
    }
    text.push_str("\n`toolcrib COMMAND --help` shows the options of a command, with examples.");
    text
}
