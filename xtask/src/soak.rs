//! `cargo xtask soak`: whether memory, descriptors, children and tasks stay flat.

use anyhow::{Context as _, Result, bail, ensure};

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;

/// How long it takes when nothing is said, in minutes.
const MINUTES: u64 = 5;

/// Builds the program and the server that it calls, optimised, and runs it.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let minutes = minutes(arguments)?.to_string();
    let server =
        ["build", "--locked", "--release", "--package", "toolcrib-testkit", "--bin", "hostile-server"];
    run_command(cargo(&workspace.root).args(server))?;
    let program = ["run", "--locked", "--release", "--package", "toolcrib-tests", "--example", "soak", "--"];
    run_command(cargo(&workspace.root).args(program).arg(minutes))
}

fn minutes(arguments: &[String]) -> Result<u64> {
    let minutes = match arguments {
        [] => return Ok(MINUTES),
        [option, minutes] if option == "--minutes" => minutes,
        _ => bail!("soak takes --minutes N and nothing else"),
    };
    let minutes = minutes.parse().with_context(|| format!("{minutes:?} is no number of minutes"))?;
    ensure!(minutes > 0, "soak takes a minute at least");
    Ok(minutes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minutes_are_read() {
        let read = |line: &str| minutes(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).ok();
        for (line, expected) in [
            ("", Some(MINUTES)),
            ("--minutes 2", Some(2)),
            ("--minutes", None),
            ("--minutes 0", None),
            ("--minutes x", None),
            ("2", None),
            ("--minutes 2 3", None),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
