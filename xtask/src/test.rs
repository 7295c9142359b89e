//! `cargo xtask test`: prepares the test peers, then runs all tests.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::databases::{self, Servers};
use crate::docs;
use crate::peers;
use crate::process::{answers, cargo, in_ci, run as run_command};
use crate::workspace::Workspace;

/// The labelled data sets, relative to the root of the repository.
const SHARED: &str = "../shared";

/// The model for the tests of the search tiers `model` and `fastembed`, relative to the data sets.
const MODEL: &str = "models/all-MiniLM-L6-v2-onnx-int8/model.onnx";

/// Programs that tests drive, each named as its Debian package: the browser that renders the status page, and the terminal
/// that the conversation is held in.
const PROGRAMS: [&str; 2] = ["chromium", "tmux"];

/// The environment variables that tests read, with their values.
type Environment = Vec<(&'static str, OsString)>;

/// Runs the tests; `arguments` are passed to the test runner, not to the doctests.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let root = &workspace.root;
    // Dropping the servers stops them.
    let (environment, _servers) = prepare(workspace)?;
    // With the features of the tests: alone, the programs would be built from other ones, and most packages twice.
    run_command(cargo(root).args(["build", "--workspace", "--bins", "--tests", "--locked"]))?;
    docs::check(workspace, &workspace.program())?;

    if let Some(mut tests) = python_tests(workspace, &environment) {
        run_command(&mut tests)?;
    }
    let mut tests = cargo(root);
    if answers(cargo(root).args(["nextest", "--version"])) {
        tests.args(["nextest", "run", "--workspace", "--locked"]);
    } else {
        tests.args(["test", "--workspace", "--locked", "--lib", "--bins", "--tests"]);
    }
    run_command(tests.args(arguments).envs(environment.iter().cloned()))?;
    let doctests = ["test", "--workspace", "--locked", "--doc"];
    run_command(cargo(root).args(doctests).envs(environment))
}

/// Runs the tests of the Python package. If pytest could not be installed, that was reported before.
fn python_tests(workspace: &Workspace, environment: &Environment) -> Option<Command> {
    let pytest = workspace.target.join("peers/pytest");
    let mut command = Command::new("python3");
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "python"]).current_dir(&workspace.root);
    command.envs(environment.iter().cloned());
    command.env("PYTHONPATH", &pytest).env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.is_dir().then_some(command)
}

/// Installs the peers, starts the database servers, looks for the shared data, and prints in one line which tests are
/// skipped without them.
fn prepare(workspace: &Workspace) -> Result<(Environment, Servers)> {
    let folder = workspace.target.join("peers");
    let mut left_out = peers::install_all(&workspace.root, &folder);
    let library = peers::onnx_runtime(&folder);
    let mut environment: Environment =
        vec![("TOOLCRIB_PEERS", folder.into()), ("TOOLCRIB_BIN", workspace.program().into())];

    // If it could not be installed, that was reported before.
    environment.extend(library.map(|library| ("ORT_DYLIB_PATH", library.into())));

    match shared(&workspace.root) {
        Some(path) => {
            if !Path::new(&path).join(MODEL).is_file() {
                left_out.push(format!("the embedding model ({MODEL} is not in {SHARED})"));
            }
            environment.push(("TOOLCRIB_SHARED", path));
        }
        None => left_out.push(format!("the shared data sets ({SHARED} is not there)")),
    }

    for name in PROGRAMS {
        if let Err(error) = program(name) {
            left_out.push(format!("the program {name} ({error:#})"));
        }
    }
    let (servers, missing) = databases::start();
    environment.extend(servers.environment.iter().cloned());
    left_out.extend(missing);

    if !left_out.is_empty() {
        let line = format!("tests left out: {}", left_out.join("; "));
        if in_ci() {
            bail!("{line}, and CI=true leaves nothing out");
        }
        println!("test: {line}");
    }
    Ok((environment, servers))
}

/// Looks for a program that tests drive. A CI run installs it.
fn program(name: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| folder.join(name).is_file()) {
        return Ok(());
    }
    if !in_ci() {
        bail!("there is no `{name}` here");
    }
    databases::install_packages(&[name])
}

/// Returns the absolute path of the shared data sets, if they exist.
pub(crate) fn shared(root: &Path) -> Option<OsString> {
    let path = root.join(SHARED).canonicalize().ok()?;
    path.is_dir().then(|| path.into())
}
