//! `cargo xtask api`: the documentation of the library crates, and their public API compared with the list of it in `api/`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use public_api::Builder;

use crate::process::{cargo, run as run_command};
use crate::workspace::Workspace;

/// The folder of the lists, relative to the root: one file for each crate.
const FOLDER: &str = "api";

/// The folder of the library crates.
const CRATES: &str = "crates/";

/// The crates without an API for others: tests, derive macros, and the program.
const WITHOUT_API: [&str; 3] = ["toolcrib-testkit", "toolcrib-macros", "toolcrib-cli"];

/// The most differences that are printed for a crate.
const MAX_SHOWN: usize = 20;

/// Documents all library crates, and compares the public API of each with its list; with `--bless`, writes the lists.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_blessed = match arguments {
        [] => false,
        [one] if one == "--bless" => true,
        other => bail!("expected nothing or `--bless`, found {}", other.join(" ")),
    };
    let documentation = document(workspace)?;
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let mut changes = Vec::new();
    let packages = workspace.packages.iter().filter(|package| package.folder.starts_with(CRATES));
    let packages = packages.filter(|package| !WITHOUT_API.contains(&package.name.as_str()));
    for package in packages {
        let now = public_items(&documentation.join(format!("{}.json", package.name.replace('-', "_"))))?;
        let file = folder.join(format!("{}.txt", package.name));
        let before = fs::read_to_string(&file).unwrap_or_default();
        if now == before {
            continue;
        }
        if is_blessed {
            fs::write(&file, &now).with_context(|| format!("could not write {}", file.display()))?;
        }
        changes.push(format!("{}:\n{}", package.name, difference(&before, &now)));
    }
    if changes.is_empty() {
        println!("api: no changes");
        return Ok(());
    }
    println!("{}", changes.join("\n"));
    ensure!(
        is_blessed,
        "the public API of {} crates changed; if that is intended, run `cargo xtask api --bless`",
        changes.len()
    );
    Ok(())
}

/// Documents the libraries of the workspace with all features, as JSON, and returns the folder with the files. Warnings are
/// errors.
fn document(workspace: &Workspace) -> Result<PathBuf> {
    let target = workspace.target.join("api");
    let mut command = cargo(&workspace.root);
    command.args(["doc", "--workspace", "--lib", "--no-deps", "--all-features", "--locked"]);
    // The form of the documentation is not stable, which the pinned version of `public-api` makes up for.
    command.env("RUSTC_BOOTSTRAP", "1");
    command.env("RUSTDOCFLAGS", "-D warnings -Z unstable-options --output-format json");
    // Build scripts watch `RUSTC_BOOTSTRAP`: with one target folder, each build would undo the other.
    run_command(command.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("doc"))
}

/// Returns the public items of a documented crate, one on each line, without those that follow from others.
fn public_items(file: &Path) -> Result<String> {
    let api = Builder::from_rustdoc_json(file)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .with_context(|| format!("could not read {}", file.display()))?;
    let mut text = String::new();
    for item in api.items() {
        writeln!(text, "{item}")?;
    }
    Ok(text)
}

/// Returns the lines that are only in one of two sorted lists, with a sign, up to [`MAX_SHOWN`].
fn difference(before: &str, now: &str) -> String {
    let only = |one: &str, other: &str, sign: char| {
        let other: std::collections::HashSet<&str> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("  {sign} {line}")).collect::<Vec<_>>()
    };
    let mut lines = only(before, now, '-');
    lines.extend(only(now, before, '+'));
    let more = lines.len().saturating_sub(MAX_SHOWN);
    lines.truncate(MAX_SHOWN);
    if more > 0 {
        lines.push(format!("  … {more} more"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_difference_names_the_items_that_went_and_came() {
        let before = "pub fn a::one()\npub fn a::two()\n";
        let now = "pub fn a::two()\npub fn a::two(u8)\n";
        assert_eq!(difference(before, now), "  - pub fn a::one()\n  + pub fn a::two(u8)");
    }

    #[test]
    fn a_long_difference_is_cut_with_the_number_of_lines_that_are_left_out() {
        let now = (0..25).map(|at| format!("pub fn a::f{at}()")).collect::<Vec<_>>().join("\n");
        assert!(difference("", &now).ends_with("\n  … 5 more"));
    }
}
