//! The index of the documentation for models, in the form of <https://llmstxt.org>: a title, a summary, and for each
//! chapter the list of its pages with their first sentences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

use super::read;

/// The table of contents, relative to the folder of the documentation.
const CONTENTS: &str = "SUMMARY.md";

/// The page with the summary of the project.
const INTRODUCTION: &str = "introduction.md";

/// Returns the index. A page that was generated in the same run is read from `generated`, not from the disk.
pub(super) fn index(folder: &Path, generated: &BTreeMap<String, String>) -> Result<String> {
    let page = |path: &str| match generated.get(path) {
        Some(text) => Ok(text.clone()),
        None => read(&folder.join(path)),
    };
    from_contents(&page(CONTENTS)?, page)
}

/// Returns the index of a table of contents.
pub(super) fn from_contents(contents: &str, page: impl Fn(&str) -> Result<String>) -> Result<String> {
    let introduction = page(INTRODUCTION)?;
    let mut index = format!("# Toolcrib\n\n> {}\n", first_paragraph(&introduction));
    for line in contents.lines() {
        if let Some(chapter) = line.strip_prefix("# ") {
            if chapter != "Summary" {
                // Writing to a string does not fail.
                let _ = write!(index, "\n## {chapter}\n\n");
            }
            continue;
        }
        let Some((title, path)) = link(line) else { continue };
        if path == INTRODUCTION {
            continue;
        }
        let text = page(path).with_context(|| format!("{CONTENTS} lists {path}"))?;
        let _ = writeln!(index, "- [{title}]({path}): {}", first_sentence(&first_paragraph(&text)));
    }
    Ok(index)
}

/// Returns the title and the path of an entry `- [title](path)`, if the entry has a path.
fn link(line: &str) -> Option<(&str, &str)> {
    let (title, path) = line.trim_start().trim_start_matches("- ").strip_prefix('[')?.split_once("](")?;
    let path = path.strip_suffix(')')?;
    (!path.is_empty()).then_some((title, path))
}

/// Returns the first paragraph of prose on one line.
fn first_paragraph(page: &str) -> String {
    let is_prose = |paragraph: &&str| {
        !paragraph.is_empty() && !paragraph.starts_with(['#', '<', '!', '|']) && !paragraph.starts_with("```")
    };
    let paragraph = page.split("\n\n").map(str::trim).find(is_prose).unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the first sentence of a paragraph.
fn first_sentence(paragraph: &str) -> &str {
    paragraph.find(". ").and_then(|end| paragraph.get(..=end)).unwrap_or(paragraph)
}
