//! `cargo xtask docs`: a page for each built-in module, made of what its declarations say.

mod page;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::process::{cargo, describe, run as run_command};
use crate::workspace::Workspace;

/// Where the pages are, seen from the root.
const FOLDER: &str = "docs/reference/modules";

/// Builds the program, and writes the pages.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    run_command(cargo(&workspace.root).args(["build", "--bin", "toolcrib", "--locked"]))?;
    let binary = workspace.target.join("debug").join(format!("toolcrib{EXE_SUFFIX}"));
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let pages = pages(&binary)?;
    for path in written(&folder)?.iter().filter(|path| !pages.contains_key(&name(path))) {
        fs::remove_file(path).with_context(|| format!("could not remove {}", path.display()))?;
    }
    for (name, text) in &pages {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("could not write {}", path.display()))?;
    }
    println!("docs: {} pages in {FOLDER}", pages.len());
    Ok(())
}

/// Fails where the pages are not those that this program's declarations make.
pub(crate) fn check(workspace: &Workspace, binary: &Path) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let mut found = BTreeMap::new();
    for path in written(&folder)? {
        let text = fs::read_to_string(&path).with_context(|| format!("could not read {}", path.display()))?;
        found.insert(name(&path), text);
    }
    let pages = pages(binary)?;
    let names: std::collections::BTreeSet<&String> = pages.keys().chain(found.keys()).collect();
    let other: Vec<&str> =
        names.into_iter().filter(|name| pages.get(*name) != found.get(*name)).map(String::as_str).collect();
    if !other.is_empty() {
        bail!("{FOLDER} is not what the modules say, in {}; run `cargo xtask docs`", other.join(", "));
    }
    Ok(())
}

/// The pages by the names of their files.
fn pages(binary: &Path) -> Result<BTreeMap<String, String>> {
    let list = ask(binary, &[])?;
    let modules =
        list.get("modules").and_then(Value::as_array).context("`toolcrib schema --json` lists no modules")?;
    let mut pages = BTreeMap::new();
    for module in modules {
        let id = module.get("module").and_then(Value::as_str).context("a module without its id")?;
        pages.insert(format!("{id}.md"), page::of(&ask(binary, &[id])?));
    }
    Ok(pages)
}

/// What the program says of its modules.
fn ask(binary: &Path, module: &[&str]) -> Result<Value> {
    let mut command = Command::new(binary);
    command.arg("schema").args(module).arg("--json");
    let line = describe(&command);
    let output = command.output().with_context(|| format!("could not start {line}"))?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).with_context(|| format!("{line} printed no JSON"))
}

/// The pages that are there.
fn written(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md")).collect())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
