//! The licences of the crates that the program is made of.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use cargo_metadata::Package;

/// The beginnings of the names of files with a licence, in lower case.
const NAMES: [&str; 5] = ["licen", "copying", "notice", "unlicense", "copyright"];

/// The most bytes of a licence.
const MAX_LICENCE_BYTES: u64 = 256 * 1024;

/// Returns all licences, each text once with the crates that it is of.
pub(super) fn text(packages: &[Package]) -> Result<String> {
    let mut crates_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut without_file = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        let texts = licences(package)?;
        if texts.is_empty() {
            without_file.push(format!("{name}: {}", package.license.as_deref().unwrap_or("unknown")));
        }
        for text in texts {
            crates_by_text.entry(text).or_default().push(name.clone());
        }
    }
    let mut all = "The program `toolcrib` contains the following crates.\n".to_owned();
    let mut texts: Vec<_> = crates_by_text.into_iter().collect();
    texts.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
    for (text, crates) in texts {
        // Writing to a string does not fail.
        let _ = write!(all, "\n{}\n{}:\n\n{}\n", "=".repeat(80), crates.join(", "), text.trim_end());
    }
    if !without_file.is_empty() {
        let _ = write!(
            all,
            "\n{}\nWithout a file of their licence:\n\n{}\n",
            "=".repeat(80),
            without_file.join("\n")
        );
    }
    Ok(all)
}

/// Returns the texts of a crate's licences.
fn licences(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent().context("a manifest is in a folder")?;
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {folder}"))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_small =
            entry.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_LICENCE_BYTES);
        if is_small && NAMES.iter().any(|start| name.starts_with(start)) {
            texts.push(String::from_utf8_lossy(&fs::read(entry.path())?).replace("\r\n", "\n"));
        }
    }
    texts.sort_unstable();
    Ok(texts)
}
