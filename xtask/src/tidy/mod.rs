//! `cargo xtask tidy`: the project rules that no compiler checks.
//!
//! The tables are in [`rules`]; each check is a pure function from what was read to the violations in it.

mod rules;

mod arrows;
mod manifests;
mod msrv;
mod owners;
mod prose;
mod sources;

mod violation;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::sources::files;
use crate::workspace::Workspace;

/// A file with its text, the path relative to the root of the workspace and with `/` between the parts.
struct TextFile {
    path: String,
    text: String,
}

/// Checks the tree as it stands, prints every violation, and fails when there is one.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let packages = &workspace.packages;
    let mut violations = arrows::check(packages, rules::CRATES);
    violations.extend(owners::check(packages, rules::OWNERS));

    for package in packages {
        let manifest = read(&workspace.root, format!("{}/Cargo.toml", package.folder))?;
        violations.extend(manifests::check(&manifest));
    }

    let mut pages = vec![read(&workspace.root, "README.md".to_owned())?];
    collect(&workspace.root, "docs", "md", &mut pages)?;
    violations.extend(msrv::check(&read(&workspace.root, "Cargo.toml".to_owned())?, &pages));

    let mut files = Vec::new();
    for folder in rules::SOURCE_FOLDERS {
        collect(&workspace.root, folder, "rs", &mut files)?;
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    violations.extend(files.iter().flat_map(sources::check));
    violations.extend(sources::check_small_folders(&files, rules::SMALL_FOLDERS));
    violations.extend(sources::check_crate_roots(&files));
    let shipped = files.iter().filter(|file| prose::is_checked(&file.path));
    violations.extend(shipped.clone().flat_map(prose::check_source));
    violations.extend(prose::check_type_names(shipped));
    violations.extend(pages.iter().flat_map(prose::check_page));

    for violation in &violations {
        println!("{violation}");
    }
    ensure!(violations.is_empty(), "{} violations of the rules", violations.len());
    println!("tidy: {} crates and {} source files keep the rules", packages.len(), files.len());
    Ok(())
}

/// Reads every file with this ending under a folder, if that exists.
fn collect(root: &Path, folder: &str, ending: &str, texts: &mut Vec<TextFile>) -> Result<()> {
    if root.join(folder).is_dir() {
        for path in files(root, Path::new(folder), &[ending])? {
            let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            texts.push(read(root, parts.join("/"))?);
        }
    }
    Ok(())
}

fn read(root: &Path, path: String) -> Result<TextFile> {
    let text = fs::read_to_string(root.join(&path)).with_context(|| format!("could not read {path}"))?;
    Ok(TextFile { path, text })
}
