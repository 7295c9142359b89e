//! `cargo xtask soak`: checks that memory, descriptors, children, and tasks do not grow.

use anyhow::{Context as _, Result, bail, ensure};

use crate::bench;
use crate::databases;
use crate::process::{cargo, run as run_command};
use crate::test;
use crate::workspace::Workspace;

/// The default duration, in minutes.
const MINUTES: u64 = 5;

/// The parts: calls of one server through the executor, clients of `toolcrib serve`, and those of several replicas.
const PARTS: [&str; 3] = ["calls", "gateway", "replicas"];

/// Builds the programs of the parts, optimized, and runs the parts in sequence.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Wanted { parts, minutes } = wanted(arguments)?;
    let server =
        ["build", "--locked", "--release", "--package", "toolcrib-testkit", "--bin", "hostile-server"];
    run_command(cargo(&workspace.root).args(server))?;
    for part in parts {
        let program =
            ["run", "--locked", "--release", "--package", "toolcrib-tests", "--example", "soak", "--", part];
        let mut soak = cargo(&workspace.root);
        soak.args(program).arg(minutes.to_string());
        if part == "gateway" {
            soak.envs(bench::gateway(workspace)?);
            soak.envs(test::shared(&workspace.root).map(|path| ("TOOLCRIB_SHARED", path)));
        }
        let servers = if part == "replicas" {
            soak.env("TOOLCRIB_BIN", bench::program(workspace)?);
            let (servers, missing) = databases::start();
            ensure!(missing.is_empty(), "replicas need the database servers: {}", missing.join("; "));
            soak.envs(servers.environment.iter().cloned());
            Some(servers)
        } else {
            None
        };
        run_command(&mut soak)?;
        // They run until here.
        drop(servers);
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    parts: Vec<&'static str>,
    minutes: u64,
}

fn wanted(arguments: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted { parts: Vec::new(), minutes: MINUTES };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "--minutes" {
            let minutes = words.next().context("--minutes takes a number")?;
            wanted.minutes =
                minutes.parse().with_context(|| format!("{minutes:?} is no number of minutes"))?;
            ensure!(wanted.minutes > 0, "soak takes a minute at least");
        } else if let Some(part) = PARTS.into_iter().find(|part| part == word) {
            wanted.parts.push(part);
        } else {
            bail!("soak takes --minutes N and the names of parts: {}", PARTS.join(", "));
        }
    }
    if wanted.parts.is_empty() {
        wanted.parts.extend(PARTS);
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_minutes_are_read() {
        let read = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            wanted(&words).ok().map(|wanted| (wanted.parts.join(" "), wanted.minutes))
        };
        for (line, expected) in [
            ("", Some(("calls gateway replicas", MINUTES))),
            ("--minutes 2", Some(("calls gateway replicas", 2))),
            ("gateway --minutes 1", Some(("gateway", 1))),
            ("calls", Some(("calls", MINUTES))),
            ("replicas --minutes 10", Some(("replicas", 10))),
            ("--minutes", None),
            ("--minutes 0", None),
            ("--minutes x", None),
            ("2", None),
            ("gate", None),
        ] {
            let expected = expected.map(|(parts, minutes)| (parts.to_owned(), minutes));
            assert_eq!(read(line), expected, "{line}");
        }
    }
}
