//! The commands that the documentation shows.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;

use super::Arguments;
use super::help::{GROUPS, command_line_of_width};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the Markdown files below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// Returns the commands in the blocks of `sh` on a page. A quoted argument may have several lines.
fn commands(page: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut is_shell = false;
    for line in page.lines().map(str::trim) {
        match line.strip_prefix("```") {
            Some(language) => is_shell = language == "sh",
            None if is_shell => match commands.last_mut().filter(|open| shell_words::split(open).is_err()) {
                Some(open) => {
                    open.push('\n');
                    open.push_str(line);
                }
                None => commands.push(line.to_owned()),
            },
            None => {}
        }
    }
    commands
}

/// Returns the words of a `toolcrib` command up to a pipe, a redirection, or a comment.
fn words(command: &str) -> Option<Vec<String>> {
    let words = shell_words::split(command).unwrap_or_else(|error| panic!("{error}: {command}"));
    let words: Vec<String> = words
        .into_iter()
        .take_while(|word| !["|", "||", "&&", "<", ">", "#"].contains(&word.as_str()))
        .collect();
    (words.first()? == "toolcrib").then_some(words)
}

#[test]
fn every_command_that_the_documentation_shows_is_one_of_this_program() {
    let mut paths = pages(&root().join("docs"));
    paths.push(root().join("README.md"));
    let mut count = 0;
    let mut wrong = Vec::new();
    for path in paths {
        for command in commands(&fs::read_to_string(&path).unwrap()) {
            let Some(words) = words(&command) else { continue };
            count += 1;
            if let Err(error) = Arguments::try_parse_from(words) {
                let reason = error.to_string();
                let reason = reason.lines().next().unwrap_or_default();
                wrong.push(format!("{}: {command}: {reason}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "{count} commands");
}

#[test]
fn commands_are_read_as_a_shell_reads_them() {
    let page = "```sh\ntoolcrib call app.yaml a.b '{\n  \"x\": 1\n}' | head -2   # as JSON\nls\n```\n\n```text\ntoolcrib x\n```\n";
    let commands = commands(page);
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert_eq!(words(&commands[0]).unwrap(), ["toolcrib", "call", "app.yaml", "a.b", "{\n\"x\": 1\n}"]);
    assert_eq!(words(&commands[1]), None);
}

#[test]
fn each_command_is_in_one_group_of_the_help() {
    let command = command_line_of_width(80);
    let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
    let mut known: Vec<&str> =
        command.get_subcommands().filter(|it| it.get_name() != "man").map(clap::Command::get_name).collect();
    grouped.sort_unstable();
    known.sort_unstable();
    assert_eq!(grouped, known);
}

#[test]
fn the_help_shows_groups_and_exit_codes_within_the_width_of_the_terminal() {
    for columns in [60, 80, 110] {
        let help = command_line_of_width(columns).render_long_help().to_string();
        let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > columns).collect();
        assert!(wide.is_empty(), "{columns}: {wide:#?}");
    }
    insta::assert_snapshot!(command_line_of_width(80).render_long_help());
}

#[test]
fn the_help_of_each_command_is_wrapped() {
    let command = command_line_of_width(80);
    for command in command.get_subcommands().filter(|it| it.get_name() != "help") {
        let help = command.clone().render_help().to_string();
        let text = help.split_once("\nExample").map_or(help.as_str(), |(text, _)| text);
        let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty(), "{}: {wide:#?}", command.get_name());
    }
}
