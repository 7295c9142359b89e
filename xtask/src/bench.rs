//! `cargo xtask bench`: performance figures and their bounds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::databases;
use crate::figures::{self, Measurement};
use crate::peers;
use crate::process::{answers, cargo, run as run_command};
use crate::test;
use crate::workspace::Workspace;

/// The bench that is compared with ripgrep, and the variable that names the ripgrep program.
const RIPGREP_BENCH: &str = "modules";
const RIPGREP_VARIABLE: &str = "TOOLCRIB_RG";

/// The bench of the gateway, which runs the program in front of third-party servers.
const SERVE_BENCH: &str = "serve";

/// The bench of replicas, which run the program on a database server.
const REPLICAS_BENCH: &str = "replicas";

/// The version of ripgrep that is built. A program on `PATH` can have any version, and is not used.
const RIPGREP_VERSION: &str = "15.2.0";

/// The folder of the bench package, relative to the root. Each folder in it with a `main.rs` is a bench.
const FOLDER: &str = "benches";

/// The name of the bench package.
const PACKAGE: &str = "toolcrib-bench";

/// The manifest that makes a bench a separate package, outside of the workspace, because of its further dependencies.
const MANIFEST: &str = "Cargo.toml";

/// The option that updates the page of figures.
const PAGE: &str = "--page";

/// The variable by which a bench is told where to record its figures.
const RECORD_VARIABLE: &str = "TOOLCRIB_BENCH_RECORD";

/// Runs the bench named first, or only its parts that are named after it. Without a name, runs all benches, even after
/// one has failed. A bench prints its figures and their bounds, and fails if a figure is over its bound. With `--page`,
/// the figures also replace the earlier ones on the page of figures.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let Some((_, arguments)) = arguments.split_first().filter(|(first, _)| *first == PAGE) else {
        return measure(workspace, arguments, None);
    };
    let folder = workspace.target.join("figures");
    fs::create_dir_all(&folder).with_context(|| format!("could not create {}", folder.display()))?;
    let measured = measure(workspace, arguments, Some(&folder));
    let mut figures = Vec::new();
    for bench in known(&workspace.root)? {
        let record = record_of(&folder, &bench);
        if record.exists() {
            let text = fs::read_to_string(&record);
            let text = text.with_context(|| format!("could not read {}", record.display()))?;
            figures.push(Measurement { bench, text });
            fs::remove_file(&record).with_context(|| format!("could not remove {}", record.display()))?;
        }
    }
    ensure!(!figures.is_empty(), "no figure was recorded");
    // A figure over its bound is shown as such.
    figures::update(workspace, &figures)?;
    measured
}

/// Returns the file in which a bench records its figures.
fn record_of(folder: &Path, bench: &str) -> PathBuf {
    folder.join(format!("{bench}.jsonl"))
}

/// Runs benches, which record their figures in a folder.
fn measure(workspace: &Workspace, arguments: &[String], records: Option<&Path>) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let known = known(&workspace.root)?;
    let (wanted, parts) = match arguments.split_first() {
        None => (known, &[][..]),
        Some((name, parts)) => {
            ensure!(known.contains(name), "there is no bench {name:?}; there is: {}", known.join(", "));
            (vec![name.clone()], parts)
        }
    };
    let mut failed = Vec::new();
    for name in wanted {
        let own = folder.join(&name);
        let mut bench = if own.join(MANIFEST).is_file() {
            let mut bench = cargo(&own);
            bench.args(["run", "--locked", "--release", "--"]).args(parts);
            bench.env("CARGO_TARGET_DIR", workspace.root.join("target").join(format!("bench-{name}")));
            bench
        } else {
            let mut bench = cargo(&workspace.root);
            bench.args(["bench", "--locked", "--package", PACKAGE, "--bench", &name, "--"]).args(parts);
            bench
        };
        bench.envs(test::shared(&workspace.root).map(|path| ("TOOLCRIB_SHARED", path)));
        bench.envs(records.map(|records| (RECORD_VARIABLE, record_of(records, &name))));
        let ran = match name.as_str() {
            RIPGREP_BENCH => {
                ripgrep(workspace).and_then(|program| run_command(bench.env(RIPGREP_VARIABLE, program)))
            }
            SERVE_BENCH => gateway(workspace).and_then(|variables| run_command(bench.envs(variables))),
            REPLICAS_BENCH => replicas(workspace, &mut bench),
            _ => run_command(&mut bench),
        };
        if let Err(error) = ran {
            eprintln!("bench: {name}: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("over a bound, or broken: {}", failed.join(", "));
    }
    Ok(())
}

/// Returns the variables of programs that run the gateway: the optimized program, and the servers.
pub(crate) fn gateway(workspace: &Workspace) -> Result<Vec<(&'static str, PathBuf)>> {
    let folder = workspace.target.join("peers");
    let missing = peers::install_all(&workspace.root, &folder);
    if !missing.is_empty() {
        println!("not installed: {}", missing.join("; "));
    }
    Ok(vec![("TOOLCRIB_BIN", program(workspace)?), ("TOOLCRIB_PEERS", folder)])
}

/// Builds the optimized program, and returns its path.
pub(crate) fn program(workspace: &Workspace) -> Result<PathBuf> {
    let program = ["build", "--locked", "--release", "--package", "toolcrib-cli", "--bin", "toolcrib"];
    run_command(cargo(&workspace.root).args(program))?;
    Ok(workspace.target.join("release").join(format!("toolcrib{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs the bench of replicas while the database servers run.
fn replicas(workspace: &Workspace, bench: &mut Command) -> Result<()> {
    let program = program(workspace)?;
    // Dropping the servers stops them.
    let (servers, missing) = databases::start();
    ensure!(missing.is_empty(), "replicas need the database servers: {}", missing.join("; "));
    run_command(bench.env("TOOLCRIB_BIN", program).envs(servers.environment.iter().cloned()))
}

/// Returns the path of ripgrep. Builds it among the tools if it is not there.
fn ripgrep(workspace: &Workspace) -> Result<PathBuf> {
    let tools = workspace.target.join("tools").join(format!("ripgrep-{RIPGREP_VERSION}"));
    let program = tools.join("bin").join(format!("rg{}", std::env::consts::EXE_SUFFIX));
    if !answers(Command::new(&program).arg("--version")) {
        let mut install = cargo(&workspace.root);
        // Without the lock file: with the same regex engine as ours, the rest is measured. Engines differ by half on
        // some patterns from one release to the next.
        install.args(["install", "ripgrep", "--version", RIPGREP_VERSION, "--root"]).arg(&tools);
        run_command(&mut install)?;
    }
    Ok(program)
}

/// Returns the names of the benches of a tree, sorted.
pub(crate) fn known(root: &Path) -> Result<Vec<String>> {
    let folder = root.join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("could not list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if entry.path().join("main.rs").is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::known;

    #[test]
    fn every_folder_with_a_main_is_a_bench() {
        let folder = tempfile::tempdir().unwrap();
        for (name, file) in [("search", "main.rs"), ("exec", "main.rs"), ("src", "lib.rs")] {
            let bench = folder.path().join("benches").join(name);
            fs::create_dir_all(&bench).unwrap();
            fs::write(bench.join(file), "").unwrap();
        }
        assert_eq!(known(folder.path()).unwrap(), ["exec", "search"]);
        assert!(known(&folder.path().join("absent")).is_err());
    }
}
