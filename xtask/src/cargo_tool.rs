//! Programs from crates.io that tasks need, each in a pinned version under `target/tools`.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::{cargo, run};
use crate::workspace::Workspace;

/// A program that `cargo install` builds.
pub(crate) struct CargoTool {
    /// The name of the package and of its program.
    pub(crate) package: &'static str,
    pub(crate) version: &'static str,
    /// The arguments of `cargo install` that select features.
    pub(crate) features: &'static [&'static str],
}

impl CargoTool {
    /// Returns the path of the program. Builds it if it is not there in this version.
    pub(crate) fn installed(&self, workspace: &Workspace) -> Result<PathBuf> {
        let tools = workspace.target.join("tools");
        let program = tools.join("bin").join(format!("{}{EXE_SUFFIX}", self.package));
        if self.is_version_of(&program) {
            return Ok(program);
        }
        let mut install = cargo(&workspace.root);
        install.args(["install", self.package, "--locked", "--force", "--version", self.version]);
        install.args(self.features).arg("--root").arg(&tools);
        run(&mut install)?;
        ensure!(self.is_version_of(&program), "{} was installed but does not start", program.display());
        Ok(program)
    }

    /// Returns true if a program starts and prints this version, as in `mdbook v0.5.4`.
    fn is_version_of(&self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").output().ok();
        let text = output.and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
        text.split_whitespace().last().is_some_and(|last| last.trim_start_matches('v') == self.version)
    }
}
