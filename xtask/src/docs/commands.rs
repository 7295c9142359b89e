//! The page of the command line: the help of every command.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{NOTE, output};

/// The text before the commands.
const INTRODUCTION: &str = "\
Every command takes `--json`, which prints one JSON document on standard output, and `--strict`, which stops at a
duplicate tool or a source that does not load. Results go to standard output; everything else goes to standard error,
with warnings of the log unless `TOOLCRIB_LOG` says otherwise, such as `off` or `toolcrib=debug`.

`toolcrib completions SHELL` prints the completions of bash, zsh, fish, elvish, and PowerShell.

## Exit codes

| code | meaning |
|---|---|
| 0 | The command succeeded. |
| 1 | The tool or the run failed, or `lint` has findings. |
| 2 | The command line, the arguments of a call, or a file is wrong. |
| 3 | The policy or a person denied it. |
| 4 | It needs approval, and no person can be asked. |
| 5 | A source is unavailable: a server is down, a login is missing, or a variable is not set. |
| 6 | The model's answer was cut off at its length limit. |
| 7 | The model refused, or a content filter stopped the answer. |
| 8 | The model's answer does not conform to the output schema. |
";

/// How deep commands are nested, as in `toolcrib new exec`.
const MAX_DEPTH: usize = 3;

/// Returns the page, from the help that the program prints.
pub(super) fn page(binary: &Path) -> Result<String> {
    let mut page = format!("# Commands\n\n{NOTE}\n\n{INTRODUCTION}");
    add(&mut page, binary, &mut Vec::new())?;
    Ok(page)
}

fn add(page: &mut String, binary: &Path, words: &mut Vec<String>) -> Result<()> {
    let help = output(Command::new(binary).args(words.iter()).arg("--help").env_remove("COLUMNS"))?;
    let level = "#".repeat(words.len().clamp(1, 2) + 1);
    let name = ["toolcrib"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
    // Writing to a string does not fail.
    let _ = write!(page, "\n{level} `{name}`\n\n```text\n{}\n```\n", help.trim_end());
    if words.len() < MAX_DEPTH {
        for command in commands(&help) {
            words.push(command.to_owned());
            add(page, binary, words)?;
            words.pop();
        }
    }
    Ok(())
}

/// Returns the names of the commands that a help text lists.
pub(super) fn commands(help: &str) -> Vec<&str> {
    let (_, rest) = help.split_once("\nUsage:").unwrap_or_default();
    let (lists, _) = rest.split_once("\nOptions:\n").unwrap_or_default();
    let names = lists.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    // Arguments are listed there too, as `<APP>` and `[FOLDER]`.
    names.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()) && *name != "help").collect()
}
