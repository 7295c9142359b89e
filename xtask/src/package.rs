//! `cargo xtask package`: the crates as they would be published, and programs that depend on them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;

/// The workspace of the programs, relative to the root.
const DOWNSTREAM: &str = "tests/downstream";

/// The programs that take one feature of the facade each, relative to their workspace.
const FEATURES: &str = "features";

/// The programs that are tested.
const TESTED: [&str; 2] = ["picks-layers", "uses-facade"];

/// The folder of everything that is made, in the target directory.
const FOLDER: &str = "downstream";

/// Packs the crates, unpacks them, and builds and runs the programs with them.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join(FOLDER);
    let crates = folder.join("crates");
    for stale in [&crates, &folder.join("workspace"), &folder.join("packed/package")] {
        if stale.exists() {
            fs::remove_dir_all(stale).with_context(|| format!("could not remove {}", stale.display()))?;
        }
    }
    let names: Vec<&str> = workspace
        .packages
        .iter()
        .filter(|package| package.is_published)
        .map(|package| package.name.as_str())
        .collect();
    let packed = folder.join("packed");
    let mut pack = cargo(&workspace.root);
    // The programs below are built from what is packed, so cargo need not build it once more.
    pack.args(["package", "--locked", "--offline", "--no-verify", "--allow-dirty", "--quiet"]);
    pack.args(names.iter().flat_map(|name| ["-p", name])).arg("--target-dir").arg(&packed);
    run_command(&mut pack)?;
    let unpacked = unpack(&packed.join("package"), &crates)?;
    ensure!(unpacked.len() >= names.len(), "{} crates are packed, expected {}", unpacked.len(), names.len());

    // Copied, so that the lock file of the workspace can be put next to it.
    let copy = folder.join("workspace");
    copy_folder(&workspace.root.join(DOWNSTREAM), &copy)?;
    fs::copy(workspace.root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    let downstream = |command: &str, package: &str| {
        let mut cargo = cargo(&copy);
        cargo.args([command, "--package", package, "--offline", "--target-dir"]).arg(folder.join("target"));
        for (name, path) in &unpacked {
            cargo
                .arg("--config")
                .arg(format!("patch.crates-io.{name}.path={:?}", path.display().to_string()));
        }
        run_command(&mut cargo)
    };
    for package in TESTED {
        downstream("test", package)?;
    }
    // Each alone: cargo unifies the features of the packages that it builds together.
    for feature in programs(&copy.join(FEATURES))? {
        downstream("run", &format!("only-{feature}"))?;
    }
    println!("package: {} crates are packed, and the programs in {DOWNSTREAM} run with them", names.len());
    Ok(())
}

/// Returns the names of the folders in a folder, sorted.
fn programs(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// Unpacks the crates in a folder, and returns their names and paths.
fn unpack(packed: &Path, to: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut unpacked = Vec::new();
    for entry in fs::read_dir(packed).with_context(|| format!("could not read {}", packed.display()))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "crate") {
            continue;
        }
        tar::Archive::new(GzDecoder::new(fs::File::open(&path)?)).unpack(to)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (name, _version) = stem.rsplit_once('-').with_context(|| format!("{stem} has no version"))?;
        unpacked.push((name.to_owned(), to.join(&stem)));
    }
    unpacked.sort_unstable();
    Ok(unpacked)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("could not read {}", from.display()))? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
