//! The version of Rust that the workspace asks for, and the versions that the documentation names.

use toml::de::DeTable;

use super::TextFile;
use super::violation::Violation;

/// The words before a version of Rust.
const WORDS: &str = "Rust ";

/// The page that has to name the version.
const README: &str = "README.md";

/// Checks the manifest of the workspace against the pages: each version of Rust that a page names is the one that the
/// manifest asks for, and the README names it.
pub(super) fn check(manifest: &TextFile, pages: &[TextFile]) -> Vec<Violation> {
    let Some(wanted) = rust_version(&manifest.text) else {
        return vec![Violation::of(&manifest.path, "has to set `rust-version` under `[workspace.package]`")];
    };
    let mut violations = Vec::new();
    let mut is_in_readme = false;
    for page in pages {
        for (number, line) in page.text.lines().enumerate() {
            for named in versions(line) {
                if named == wanted {
                    is_in_readme |= page.path == README;
                } else {
                    let message = format!("names Rust {named}, and {} asks for Rust {wanted}", manifest.path);
                    violations.push(Violation::at(&page.path, number + 1, message));
                }
            }
        }
    }
    if !is_in_readme {
        violations.push(Violation::of(README, format!("has to say that it needs Rust {wanted}")));
    }
    violations
}

fn rust_version(manifest: &str) -> Option<String> {
    let table = DeTable::parse(manifest).ok()?.into_inner();
    let package = table.get("workspace")?.get_ref().as_table()?.get("package")?.get_ref().as_table()?;
    Some(package.get("rust-version")?.get_ref().as_str()?.to_owned())
}

/// Returns the versions of Rust in a line: numbers with a point, behind the word.
fn versions(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices(WORDS).filter_map(move |(at, words)| {
        let rest = line.get(at + words.len()..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let version = rest.get(..end)?.trim_end_matches('.');
        version.contains('.').then_some(version)
    })
}
