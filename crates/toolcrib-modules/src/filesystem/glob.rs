//! The patterns of calls, compiled within bounds.

use globset::GlobBuilder;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex::bytes::{Regex, RegexBuilder};
use toolcrib_model::ToolError;

use super::errors::invalid;

/// The maximum length of a pattern, in bytes. An error about a pattern repeats it.
pub const MAX_PATTERN_BYTES: usize = 1000;

/// The maximum memory of a compiled pattern, in bytes. It bounds the cost of matching for each byte of text.
const MAX_COMPILED_BYTES: usize = 2 * 1024 * 1024;

/// Compiles a regular expression that is matched against single lines.
pub(super) fn compile_regex(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, ToolError> {
    check_length("pattern", pattern)?;
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).multi_line(true).crlf(true).size_limit(MAX_COMPILED_BYTES);
    builder.build(pattern).map_err(|error| {
        invalid(format!("`pattern` is not a regular expression: {error}"))
            .with_hint("the syntax is that of Rust's regex, without look-around and back-references; `\\` before a special character takes it literally; it is looked for in each line by itself")
    })
}

/// A glob that is matched against paths below the directory of the search.
pub(super) struct Glob {
    matcher: Regex,
    /// True for a glob without `/`, which is matched against the name at every depth.
    names_only: bool,
}

impl Glob {
    /// Compiles the glob in the argument of this name.
    pub(super) fn new(argument: &str, glob: &str) -> Result<Self, ToolError> {
        check_length(argument, glob)?;
        let wrong = |reason: &dyn std::fmt::Display| {
            invalid(format!("`{argument}` is not a glob: {reason}"))
                .with_hint("as in `*.md`, `docs/**/*.md`, `{a,b}.txt`, `[0-9]*.log`")
        };
        let relative = glob.strip_prefix("./").unwrap_or(glob);
        let parsed = GlobBuilder::new(relative)
            .literal_separator(true)
            .build()
            .map_err(|error| wrong(error.kind()))?;
        // The matcher of `globset` panics if the compiled form gets too large.
        let matcher = RegexBuilder::new(parsed.regex())
            .dot_matches_new_line(true)
            .size_limit(MAX_COMPILED_BYTES)
            .build()
            .map_err(|error| wrong(&error))?;
        Ok(Self { matcher, names_only: !relative.contains('/') })
    }

    /// Returns true if the glob matches a path, relative to the directory of the search.
    pub(super) fn fits(&self, path: &str) -> bool {
        let subject = if self.names_only { path.rsplit('/').next().unwrap_or(path) } else { path };
        self.matcher.is_match(subject.as_bytes())
    }
}

fn check_length(argument: &str, pattern: &str) -> Result<(), ToolError> {
    if pattern.len() > MAX_PATTERN_BYTES {
        let message =
            format!("`{argument}` has {} bytes, expected at most {MAX_PATTERN_BYTES}", pattern.len());
        return Err(invalid(message).with_hint("look for a shorter piece of it"));
    }
    Ok(())
}
