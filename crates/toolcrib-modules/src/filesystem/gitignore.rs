//! The rules of `.gitignore` files.

use std::io::Read;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toolcrib_io::files::OpenFile;

/// The name of the files that contain the rules.
pub(super) const FILE: &str = ".gitignore";

/// The directory of git's own data, which is always ignored.
const GIT: &str = ".git";

/// The maximum size of a `.gitignore` that is read, in bytes.
pub(crate) const MAX_IGNORE_BYTES: u64 = 64 * 1024;

/// The maximum number of `.gitignore` files that one walk reads.
pub(crate) const MAX_IGNORE_FILES: usize = 1000;

/// The rules of the current directories of a walk.
#[derive(Default)]
pub(super) struct IgnoreRules {
    /// The outermost first.
    rules: Vec<DirectoryRules>,
    read: usize,
    /// The number of `.gitignore` files that could not be parsed, or were too large or too many.
    pub(super) unread: usize,
}

struct DirectoryRules {
    /// The directory of the rules, as a prefix of the paths of results; it ends with `/`, or is empty.
    base: String,
    matcher: Gitignore,
}

impl IgnoreRules {
    /// Adds the rules in a file of a directory.
    pub(super) fn add(&mut self, directory: &str, file: OpenFile) {
        self.read += 1;
        let rules = if self.read > MAX_IGNORE_FILES { None } else { parse_rules(file) };
        let Some(matcher) = rules else {
            self.unread += 1;
            return;
        };
        let base = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        self.rules.push(DirectoryRules { base, matcher });
    }

    /// Removes the rules of a directory that the walk has left.
    pub(super) fn leave(&mut self, directory: &str) {
        let belongs_to_directory =
            |rules: &DirectoryRules| rules.base.strip_suffix('/').unwrap_or("") == directory;
        if self.rules.last().is_some_and(belongs_to_directory) {
            self.rules.pop();
        }
    }

    /// Returns true if a path is ignored. The innermost directory with a matching rule decides.
    pub(super) fn is_ignored(&self, path: &str, is_directory: bool) -> bool {
        for DirectoryRules { base, matcher } in self.rules.iter().rev() {
            let Some(below) = path.strip_prefix(base.as_str()) else { continue };
            let found = matcher.matched(below, is_directory);
            if !found.is_none() {
                return found.is_ignore();
            }
        }
        false
    }
}

/// Returns true for the directory of git's own data.
pub(super) fn is_git(name: &str) -> bool {
    name == GIT
}

/// Parses the rules in a file, and skips invalid lines.
fn parse_rules(file: OpenFile) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    file.take(MAX_IGNORE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if u64::try_from(bytes.len()).ok()? > MAX_IGNORE_BYTES {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
