//! The links of the documentation: pages, headings, and the table of contents.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

use crate::sources::{files, prose};

#[cfg(test)]
mod tests;

/// The table of contents of the site.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The folder of the site.
const SITE: &str = "docs";

/// The pages outside the site whose links are checked too.
const OTHER_PAGES: [&str; 2] = ["README.md", "python/README.md"];

/// The folders whose source files name pages of the site in messages and comments.
const SOURCES: [&str; 6] = ["crates", "tests", "xtask/src", "python", "examples", "benches"];

/// The endings of files that may name pages.
const SOURCE_ENDINGS: [&str; 6] = ["rs", "py", "toml", "md", "yaml", "snap"];

/// The tests of this module, which name pages that do not exist.
const TESTS: &str = "xtask/src/book/links/tests.rs";

/// Returns a line for each link that leads nowhere and each page that is not in the table of contents.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in files(root, Path::new(SITE), &["md"])? {
        pages.insert(path.clone(), read(root, &path)?);
    }
    for path in OTHER_PAGES.map(PathBuf::from) {
        pages.insert(path.clone(), read(root, &path)?);
    }
    let anchors: BTreeMap<&Path, BTreeSet<String>> =
        pages.iter().map(|(path, text)| (path.as_path(), anchors(text))).collect();
    let mut broken = Vec::new();
    let mut listed = BTreeSet::new();
    for (path, text) in &pages {
        for (line, target) in links(text) {
            let place = format!("{}:{line}", path.display());
            match resolve(path, &target) {
                None => broken.push(format!("{place}: {target} leads out of the repository")),
                Some((page, _)) if is_of_site(path) && !is_of_site(&page) => {
                    broken.push(format!("{place}: {target} leads out of the site"));
                }
                Some((page, _)) if !root.join(&page).exists() => {
                    broken.push(format!("{place}: there is no {}", page.display()));
                }
                Some((page, Some(anchor))) => {
                    if anchors.get(page.as_path()).is_some_and(|anchors| !anchors.contains(&anchor)) {
                        broken.push(format!("{place}: {} has no heading #{anchor}", page.display()));
                    }
                }
                Some((page, None)) => {
                    if path == Path::new(SUMMARY) {
                        listed.insert(page);
                    }
                }
            }
        }
    }
    let unlisted = pages.keys().filter(|path| {
        is_of_site(path) && path.as_path() != Path::new(SUMMARY) && !listed.contains(path.as_path())
    });
    broken.extend(unlisted.map(|path| format!("{} is not in {SUMMARY}", path.display())));
    for folder in SOURCES {
        let sources = files(root, Path::new(folder), &SOURCE_ENDINGS)?;
        for path in sources.iter().filter(|path| *path != Path::new(TESTS)) {
            for page in named_pages(&read(root, path)?) {
                let moved = Path::new(&page).file_name().map(|name| Path::new("docs/reference").join(name));
                let is_stale = Path::new(&page).components().count() > 2
                    || moved.is_some_and(|moved| root.join(moved).exists());
                if is_stale && !root.join(&page).exists() {
                    broken.push(format!("{}: there is no {page}", path.display()));
                }
            }
        }
    }
    Ok(broken)
}

/// Returns the texts of the README and of all pages.
#[cfg(test)]
pub(super) fn texts(root: &Path) -> Result<Vec<String>> {
    let mut paths = files(root, Path::new(SITE), &["md"])?;
    paths.extend(OTHER_PAGES.map(PathBuf::from));
    paths.iter().map(|path| read(root, path)).collect()
}

fn is_of_site(path: &Path) -> bool {
    path.starts_with(SITE)
}

fn read(root: &Path, path: &Path) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("could not read {}", path.display()))
}

/// Returns the targets of the links and images of a page with their line numbers, without those on other hosts.
fn links(text: &str) -> impl Iterator<Item = (usize, String)> {
    prose(text).flat_map(|(number, line)| {
        let line = without_code(line);
        let targets: Vec<String> = line
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
            .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
            .map(str::to_owned)
            .collect();
        targets.into_iter().map(move |target| (number, target))
    })
}

/// Returns a line without its code spans. A link whose text is code keeps its target.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Returns the page that a link leads to, relative to the root, and the heading on it.
fn resolve(from: &Path, target: &str) -> Option<(PathBuf, Option<String>)> {
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor.to_owned())),
        None => (target, None),
    };
    if file.is_empty() {
        return Some((from.to_owned(), anchor));
    }
    let mut path = from.parent()?.to_owned();
    for part in Path::new(file).components() {
        match part {
            Component::ParentDir => {
                if !path.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some((path, anchor))
}

/// Returns the ids that mdBook and the usual forges give to the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let Some(title) = title.strip_prefix(' ') else { continue };
        let id = anchor(title.trim());
        let count = counts.entry(id.clone()).or_default();
        found.insert(if *count == 0 { id } else { format!("{id}-{count}") });
        *count += 1;
    }
    found
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ if c.is_alphanumeric() => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the pages of the site that a source file names, as in `docs/reference/serve.md`.
fn named_pages(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '*' | '{');
    let starts = text.match_indices("docs/").filter(|(at, _)| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric())
    });
    let words = starts.filter_map(|(at, _)| text.get(at..)?.split(|c: char| !is_part(c)).next());
    let words = words.map(|word| word.trim_end_matches('.'));
    words.filter(|word| is_markdown(word) && !word.contains(['*', '{'])).map(str::to_owned).collect()
}

fn is_markdown(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}
