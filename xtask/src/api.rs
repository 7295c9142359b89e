//! `cargo xtask api`: the public API of each library crate, compared with the list of it in `api/`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo_tool::CargoTool;
use crate::process::describe;
use crate::workspace::Workspace;

/// The program that lists the public items of a crate.
const PUBLIC_API: CargoTool = CargoTool { package: "cargo-public-api", version: "0.52.0", features: &[] };

/// The folder of the lists, relative to the root: one file for each crate.
const FOLDER: &str = "api";

/// The folder of the library crates.
const CRATES: &str = "crates/";

/// The crates without an API for others: tests, derive macros, and the program.
const WITHOUT_API: [&str; 3] = ["toolcrib-testkit", "toolcrib-macros", "toolcrib-cli"];

/// The most differences that are printed for a crate.
const MAX_SHOWN: usize = 20;

/// Compares the public API of all library crates with the lists; with `--bless`, writes the lists.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_blessed = match arguments {
        [] => false,
        [one] if one == "--bless" => true,
        other => bail!("expected nothing or `--bless`, found {}", other.join(" ")),
    };
    let program = PUBLIC_API.installed(workspace)?;
    let folder = workspace.root.join(FOLDER);
    fs::create_dir_all(&folder)?;
    let mut changes = Vec::new();
    let packages = workspace.packages.iter().filter(|package| package.folder.starts_with(CRATES));
    let packages = packages.filter(|package| !WITHOUT_API.contains(&package.name.as_str()));
    for package in packages {
        let now = public_items(workspace, &program, &package.name)?;
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

/// Returns the public items of a crate with all of its features, one on each line.
fn public_items(workspace: &Workspace, program: &Path, package: &str) -> Result<String> {
    let mut command = Command::new(program);
    // The form of the list that the compiler writes is not stable, which the pinned versions of both make up for.
    command.current_dir(&workspace.root).env("RUSTC_BOOTSTRAP", "1");
    // Build scripts watch this variable: with one target folder, each build would undo the other.
    command.env("CARGO_TARGET_DIR", workspace.target.join("api"));
    command.args(["public-api", "--all-features", "-sss", "--color", "never", "--package", package]);
    let line = describe(&command);
    let output = command.output().with_context(|| format!("could not start {line}"))?;
    ensure!(
        output.status.success(),
        "{line}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).with_context(|| format!("{line} printed text that is not UTF-8"))
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
