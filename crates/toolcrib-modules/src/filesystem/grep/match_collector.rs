//! The collection of matches, within the bounds of a result.

use super::super::size_budget::{SizeBudget, count_were};
use super::bounded_reader::MAX_LINE_BYTES;
use super::search::FileMatches;
use super::{MAX_GREP_FILE_BYTES, MAX_MATCHES, Match};

/// The collected matches, and the counters for the notes.
pub(super) struct MatchCollector {
    matches: Vec<Match>,
    room: SizeBudget,
    /// The reason why the search ended early.
    pub(super) over: Option<&'static str>,
    binary: usize,
    unreadable: usize,
    cut_files: usize,
    shortened_lines: usize,
}

impl MatchCollector {
    pub(super) fn new() -> Self {
        Self {
            matches: Vec::new(),
            room: SizeBudget::new(),
            over: None,
            binary: 0,
            unreadable: 0,
            cut_files: 0,
            shortened_lines: 0,
        }
    }

    /// Adds the result of a file. Once a match does not fit, the matches of later files are ignored too.
    pub(super) fn add(&mut self, outcome: FileMatches) {
        if self.over.is_some() {
            return;
        }
        self.binary += usize::from(outcome.is_binary);
        self.unreadable += usize::from(outcome.is_unreadable);
        self.cut_files += usize::from(outcome.is_cut);
        self.shortened_lines += outcome.shortened_lines;
        for found in outcome.matches {
            let context: usize = found.before.iter().chain(&found.after).map(String::len).sum();
            let size = found.path.len() + found.text.len() + context;
            if self.matches.len() == MAX_MATCHES || !self.room.take(size) {
                self.over = Some("there are more matches: make `pattern`, `path` or `glob` narrower");
                return;
            }
            self.matches.push(found);
        }
    }

    /// Returns notes on omitted content.
    pub(super) fn notes(&self) -> Vec<String> {
        let counted = [
            (self.binary, "file", "files", "skipped: binary".to_owned()),
            (self.unreadable, "file", "files", "skipped: not readable".to_owned()),
            (
                self.cut_files,
                "file",
                "files",
                format!("searched in the first {MAX_GREP_FILE_BYTES} bytes only"),
            ),
            (
                self.shortened_lines,
                "line",
                "lines",
                format!("searched in the first {MAX_LINE_BYTES} bytes only"),
            ),
        ];
        let counted = counted
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many, what)| format!("{} {what}", count_were(count, one, many)));
        self.over.map(String::from).into_iter().chain(counted).collect()
    }

    pub(super) fn into_matches(self) -> Vec<Match> {
        self.matches
    }
}
