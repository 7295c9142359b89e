//! What `.gitignore` files leave out of a walk.

use std::io::Read;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use toolcrib_io::files::OpenFile;

/// The name of the files that say what is left out, and of the directory that always is.
pub(super) const FILE: &str = ".gitignore";

/// Where git keeps what is its own.
const GIT: &str = ".git";

/// The largest `.gitignore` that is read, in bytes.
pub const MAX_IGNORE_BYTES: u64 = 64 * 1024;

/// How many of them one walk reads.
pub const MAX_IGNORE_FILES: usize = 1000;

/// The rules of the directories that a walk is in.
#[derive(Default)]
pub(super) struct Ignored {
    /// The outermost first.
    rules: Vec<Rules>,
    read: usize,
    /// How many files of rules were not understood, or not read for being too large or too many.
    pub(super) unread: usize,
}

struct Rules {
    /// The directory that they are about, as the paths of results begin; with a `/` at its end, or empty.
    base: String,
    matcher: Gitignore,
}

impl Ignored {
    /// Takes the rules that stand in a file of a directory.
    pub(super) fn add(&mut self, directory: &str, file: OpenFile) {
        self.read += 1;
        let rules = if self.read > MAX_IGNORE_FILES { None } else { parsed(file) };
        let Some(matcher) = rules else {
            self.unread += 1;
            return;
        };
        let base = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        self.rules.push(Rules { base, matcher });
    }

    /// Forgets the rules of a directory that the walk has left.
    pub(super) fn leave(&mut self, directory: &str) {
        let is_its = |rules: &Rules| rules.base.strip_suffix('/').unwrap_or("") == directory;
        if self.rules.last().is_some_and(is_its) {
            self.rules.pop();
        }
    }

    /// Whether a path is left out. The rules of the innermost directory that say something decide.
    pub(super) fn leaves_out(&self, path: &str, is_directory: bool) -> bool {
        for Rules { base, matcher } in self.rules.iter().rev() {
            let Some(below) = path.strip_prefix(base.as_str()) else { continue };
            let found = matcher.matched(below, is_directory);
            if !found.is_none() {
                return found.is_ignore();
            }
        }
        false
    }
}

/// Whether it is git's own.
pub(super) fn is_git(name: &str) -> bool {
    name == GIT
}

/// The rules in a file; a line that is no rule is passed over.
fn parsed(file: OpenFile) -> Option<Gitignore> {
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
