//! The tool `filesystem.grep`.

mod bounded_reader;
mod match_collector;
mod parallel;
mod search;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::files::{Kind, Root};
use toolcrib_model::ToolError;

use super::errors::{invalid, tool_error};
use super::glob::{Glob, MAX_PATTERN_BYTES, compile_regex};
use super::walk::{Walk, relative};
use super::workspace_root;
use crate::blocking::Cancellation;

use match_collector::MatchCollector;
use search::SearchQuery;

/// The maximum number of matching lines in a result.
pub const MAX_MATCHES: usize = 200;

/// The maximum number of context lines before and after a match.
const MAX_CONTEXT_LINES: usize = 10;

/// The maximum size of one file that is searched, in bytes.
pub(crate) const MAX_GREP_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The maximum number of bytes that one call searches.
pub(crate) const MAX_GREP_BYTES: u64 = 512 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Grep {
    /// A regular expression, looked for in each line by itself.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    pattern: String,
    /// The file or directory to search, relative to the workspace; the workspace itself by default.
    #[serde(default = "workspace_root")]
    pub(super) path: String,
    /// Searches only the files that this glob fits: `*.md` by name at every depth, `docs/**/*.md` by path relative to
    /// `path`.
    #[schemars(length(min = 1, max = MAX_PATTERN_BYTES))]
    glob: Option<String>,
    /// True to ignore case.
    #[serde(default)]
    ignore_case: bool,
    /// The number of context lines before and after each match.
    #[serde(default)]
    #[schemars(range(max = MAX_CONTEXT_LINES))]
    context: usize,
    /// True to include files that `.gitignore` leaves out, and `.git`.
    #[serde(default)]
    include_ignored: bool,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Matches {
    /// The lines that match, by path and line.
    matches: Vec<Match>,
    /// Notes on omitted content.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
struct Match {
    /// The file, relative to the workspace.
    path: String,
    /// The number of the line, counted from 1.
    line: u64,
    /// The line; only the part around the match, if it is long.
    text: String,
    /// The lines before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<String>,
    /// The lines after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    after: Vec<String>,
}

pub(super) fn grep(root: &Root, grep: &Grep, stop: &Cancellation) -> Result<Matches, ToolError> {
    if grep.context > MAX_CONTEXT_LINES {
        return Err(invalid(format!(
            "`context` is {}, at most {MAX_CONTEXT_LINES} lines are returned",
            grep.context
        )));
    }
    let matcher = compile_regex(&grep.pattern, grep.ignore_case)?;
    let glob = grep.glob.as_deref().map(|glob| Glob::new("glob", glob)).transpose()?;
    let query = SearchQuery { matcher, context: grep.context, stop };
    let tool_error = |error| tool_error(root, error);
    let metadata = root.metadata(&grep.path).map_err(tool_error)?;
    let mut notes = Vec::new();
    let mut collector = MatchCollector::new();
    if metadata.kind == Kind::Directory {
        let walk = Walk::with_ignored(root, &grep.path, stop, grep.include_ignored)?;
        let searched = parallel::search(&query, walk, glob.as_ref())?;
        notes = searched.notes;
        collector = searched.collector;
    } else {
        let path = relative(root, &grep.path);
        let file = root.open_to_read(&grep.path).map_err(tool_error)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        if glob.as_ref().is_none_or(|glob| glob.fits(name)) {
            collector.add(query.file(&mut query.searcher(), &path, file)?);
        } else {
            notes.push(format!("`glob` does not match the name of `{path}`, which was not searched"));
        }
    }
    notes.extend(collector.notes());
    Ok(Matches { matches: collector.into_matches(), notes })
}
