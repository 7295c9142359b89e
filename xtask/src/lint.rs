//! `cargo xtask lint`: all checks that do not run the code.

use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;
use crate::{deny, tidy};

/// The smallest sets of features, by package: each has to compile alone, without the default ones.
const SMALLEST: &[(&str, &[&str])] = &[
    ("toolcrib-cli", &[""]),
    ("toolcrib-io", &["files", "http", "process"]),
    ("toolcrib-loader-mcp", &[""]),
    ("toolcrib-loader-rest", &[""]),
    ("toolcrib-module-database", &["mysql", "postgres", "sqlite"]),
    ("toolcrib-modules", &["", "filesystem", "http", "memory", "shell"]),
    ("toolcrib-oauth", &["client", "flows", "server"]),
];

/// The packages outside of the workspace that have a lock file of their own.
const LOCKED: [&str; 2] = ["benches/search", "fuzz"];

/// Runs every check, even after one has failed, so that one run shows all findings.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let checks = [
        ("fmt", format as fn(&Workspace) -> Result<()>),
        ("clippy", clippy),
        ("features", features),
        ("tidy", tidy::run),
        ("locks", locks),
        ("deny", deny::run),
    ];
    let mut failed = Vec::new();
    for (name, check) in checks {
        if let Err(error) = check(workspace) {
            eprintln!("lint: {name}: {error:#}");
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        bail!("lint failed in {}", failed.join(", "));
    }
    Ok(())
}

fn format(workspace: &Workspace) -> Result<()> {
    run_command(cargo(&workspace.root).args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<()> {
    let mut command = cargo(&workspace.root);
    run_command(command.args(["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

fn features(workspace: &Workspace) -> Result<()> {
    for (package, sets) in SMALLEST {
        for set in *sets {
            let mut command = cargo(&workspace.root);
            let of = ["check", "--package", package, "--no-default-features", "--features", set, "--locked"];
            run_command(command.args(of))?;
        }
    }
    Ok(())
}

/// Checks the lock files of the packages outside of the workspace, which depend on its crates.
fn locks(workspace: &Workspace) -> Result<()> {
    for folder in LOCKED {
        let mut command = cargo(&workspace.root.join(folder));
        run_command(command.stdout(Stdio::null()).args(["metadata", "--locked", "--format-version", "1"]))
            .with_context(|| {
                format!("the lock file of {folder} is stale; write it with `cargo update --workspace` there")
            })?;
    }
    Ok(())
}
