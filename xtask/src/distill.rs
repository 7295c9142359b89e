//! `cargo xtask distill`: builds the table of the built-in embedder.

use anyhow::Result;

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;

/// The package that builds the table. It is separate because no other task needs ONNX Runtime.
const PACKAGE: &str = "toolcrib-distill";

/// Runs the package, optimized, with `arguments`.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let mut distill = cargo(&workspace.root);
    distill.args(["run", "--locked", "--release", "--package", PACKAGE, "--"]).args(arguments);
    run_command(&mut distill)
}
