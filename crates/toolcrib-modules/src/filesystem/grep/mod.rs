//! `filesystem.grep`.

mod lines;
mod search;
mod spread;
mod tally;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{Kind, Root};
use toolcrib_model::ToolError;

use super::blocking::Stop;
use super::everywhere;
use super::failure::{failure, invalid};
use super::glob::{Glob, MAX_PATTERN_BYTES, compile_regex};
use super::walk::{Walk, relative};

use search::Query;
use tally::Tally;

/// How many matching lines one call returns.
pub const MAX_MATCHES: usize = 200;

/// How many lines before and behind a match a call may ask for.
pub const MAX_CONTEXT_LINES: usize = 10;

/// How much of one file is searched, in bytes.
pub const MAX_GREP_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// How much is searched in one call, in bytes.
pub const MAX_GREP_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// A regular expression, looked for in each line by itself.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    pattern: String,
    /// The file or directory to search, relative to the workspace; the workspace itself by default.
    #[serde(default = "everywhere")]
    pub(super) path: String,
    /// Searches only the files that this glob fits: `*.md` by name at every depth, `docs/**/*.md` by path relative to
    /// `path`.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    glob: Option<String>,
    /// Whether `a` is to match `A` too.
    #[serde(default)]
    ignore_case: bool,
    /// How many lines before and behind each match to return.
    #[serde(default)]
    #[schemars(range(max = MAX_CONTEXT_LINES))]
    context: usize,
    /// Whether to search what `.gitignore` files leave out too, and in `.git`.
    #[serde(default)]
    include_ignored: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Matches {
    /// The lines that match, by path and line.
    matches: Vec<Match>,
    /// What was left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    /// The file, relative to the workspace.
    path: String,
    /// The number of the line, counted from 1.
    line: u64,
    /// The line; around the match, if it is long.
    text: String,
    /// The lines before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

pub(super) fn grep(root: &Root, grep: &Grep, stop: &Stop) -> Result<Matches, ToolError> {
    if grep.context > MAX_CONTEXT_LINES {
        return Err(invalid(format!(
            "`context` is {}, at most {MAX_CONTEXT_LINES} lines are returned",
            grep.context
        )));
    }
    let matcher = compile_regex(&grep.pattern, grep.ignore_case)?;
    let glob = grep.glob.as_deref().map(|glob| Glob::new("glob", glob)).transpose()?;
    let query = Query { matcher, context: grep.context, stop };
    let failure = |error| failure(root, error);
    let metadata = root.metadata(&grep.path).map_err(failure)?;
    let mut notes = Vec::new();
    let mut tally = Tally::new();
    if metadata.kind == Kind::Directory {
        let walk = Walk::with_ignored(root, &grep.path, stop, grep.include_ignored)?;
        let searched = spread::search(&query, walk, glob.as_ref())?;
        notes = searched.notes;
        tally = searched.tally;
    } else {
        let path = relative(root, &grep.path);
        let file = root.open_to_read(&grep.path).map_err(failure)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        if glob.as_ref().is_none_or(|glob| glob.fits(name)) {
            tally.add(query.file(&mut query.searcher(), &path, file)?);
        } else {
            notes.push(format!("`glob` does not fit the name of `{path}`, which was not searched"));
        }
    }
    notes.extend(tally.notes());
    Ok(Matches { matches: tally.into_matches(), notes })
}
