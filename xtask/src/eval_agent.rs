//! `cargo xtask eval-agent`: the cost of the text that an agent reads.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use crate::peers;
use crate::process::{cargo, run as run_command};
use crate::test;
use crate::workspace::Workspace;

/// The package with the tasks.
const PACKAGE: &str = "toolcrib-evaluation";

/// Installs the servers of the tasks, builds the program unless another one is named, and runs the tasks.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Wanted { binary, rest } = wanted(arguments)?;
    let shared = test::shared(&workspace.root).context("the shared data sets are not there")?;
    let folder = workspace.target.join("peers");
    let missing = peers::install_all(&workspace.root, &folder);
    if !missing.is_empty() {
        eprintln!("not installed: {}", missing.join("; "));
    }
    let binary = match binary {
        Some(binary) => binary,
        // A default build, whose text is that of any other build.
        None => workspace.build_program()?,
    };
    ensure!(binary.is_file(), "there is no program {}", binary.display());
    let mut tasks = cargo(&workspace.root);
    tasks.args(["run", "--locked", "--quiet", "--package", PACKAGE, "--", "--binary"]).arg(binary).args(rest);
    tasks.env("TOOLCRIB_SHARED", shared).env("TOOLCRIB_PEERS", folder);
    run_command(&mut tasks)
}

#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    binary: Option<PathBuf>,
    /// The options of the package itself.
    rest: Vec<String>,
}

fn wanted(arguments: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted { binary: None, rest: Vec::new() };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--binary" => {
                let path = PathBuf::from(words.next().context("--binary takes a path")?);
                wanted.binary = Some(std::path::absolute(&path)?);
            }
            "--json" => {
                let path = PathBuf::from(words.next().context("--json takes the path of a file")?);
                wanted.rest.extend([word.clone(), std::path::absolute(&path)?.display().to_string()]);
            }
            "--only" => {
                let name = words.next().context("--only takes the name of a task")?;
                wanted.rest.extend([word.clone(), name.clone()]);
            }
            _ => bail!("eval-agent takes --binary PATH, --json FILE and --only TASK, not {word:?}"),
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Wanted> {
        wanted(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_program_is_taken_out_and_the_rest_is_passed_on() {
        let wanted = read("--only refund --binary /bin/toolcrib --json /tmp/report.json").unwrap();
        assert_eq!(wanted.binary, Some(PathBuf::from("/bin/toolcrib")));
        assert_eq!(wanted.rest, ["--only", "refund", "--json", "/tmp/report.json"]);
        assert_eq!(read("").unwrap(), Wanted { binary: None, rest: Vec::new() });
        for line in ["--binary", "--only", "--json", "--fast", "refund"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
