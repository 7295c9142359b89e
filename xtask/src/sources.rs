//! The files of the repository, as several tasks read them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Returns the files with one of these endings below a folder, relative to the root and sorted. Skips build output,
/// hidden folders and symbolic links.
pub(crate) fn files(root: &Path, folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        fs::read_dir(root.join(folder)).with_context(|| format!("could not list {}", folder.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("could not list {}", folder.display()))?;
        let name = entry.file_name();
        let path = folder.join(&name);
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let is_skipped =
                name == "target" || name == "node_modules" || name.as_encoded_bytes().starts_with(b".");
            if !is_skipped {
                found.extend(files(root, &path, endings)?);
            }
        } else if kind.is_file()
            && path.extension().is_some_and(|end| endings.iter().any(|known| end == *known))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the lines of a page outside of fenced blocks, with their numbers from 1.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            return None;
        }
        (!is_fenced).then_some((index + 1, line))
    })
}
