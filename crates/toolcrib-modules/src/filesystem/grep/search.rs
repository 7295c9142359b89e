//! The search of one file, with the crates of ripgrep.

use std::collections::VecDeque;
use std::io;

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use toolcrib_io::files::OpenFile;
use toolcrib_model::ToolError;

use super::super::size_budget::MAX_RESULT_BYTES;
use super::bounded_reader::BoundedReader;
use super::{MAX_GREP_FILE_BYTES, MAX_MATCHES, Match};
use crate::blocking::Cancellation;

/// The maximum length of a line in a result, in bytes.
const MAX_SHOWN_BYTES: usize = 400;

/// The number of bytes of a long line that are shown before the match.
const SHOWN_BEFORE_BYTES: usize = 100;

/// The maximum size of the stored matches of one file, in bytes: more than fits into a result, so that the matches in
/// the result have all context lines.
const MAX_KEPT_BYTES: usize = 3 * MAX_RESULT_BYTES;

/// The pattern and options of a search. Each thread has its own clone: threads that share a matcher contend for its
/// memory.
#[derive(Clone)]
pub(super) struct SearchQuery<'a> {
    pub(super) matcher: RegexMatcher,
    /// The number of context lines around a match.
    pub(super) context: usize,
    pub(super) stop: &'a Cancellation,
}

/// The result of searching one file.
#[derive(Default)]
pub(super) struct FileMatches {
    pub(super) matches: Vec<Match>,
    pub(super) bytes: u64,
    pub(super) is_binary: bool,
    pub(super) is_unreadable: bool,
    pub(super) is_cut: bool,
    pub(super) shortened_lines: usize,
}

impl FileMatches {
    pub(super) fn unreadable() -> Self {
        Self { is_unreadable: true, ..Self::default() }
    }

    /// Returns true if a result has to mention this file.
    pub(super) fn is_notable(&self) -> bool {
        !self.matches.is_empty()
            || self.is_binary
            || self.is_unreadable
            || self.is_cut
            || self.shortened_lines > 0
    }
}

impl SearchQuery<'_> {
    /// Creates a searcher that reuses its buffers for all files.
    pub(super) fn searcher(&self) -> Searcher {
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(self.context)
            .after_context(self.context)
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }

    /// Searches a file. Returns an error once the call was cancelled.
    pub(super) fn file(
        &self,
        searcher: &mut Searcher,
        path: &str,
        file: OpenFile,
    ) -> Result<FileMatches, ToolError> {
        let mut found = MatchSink {
            query: self,
            path,
            recent: VecDeque::new(),
            bytes: 0,
            outcome: FileMatches::default(),
        };
        let size = file.size();
        let mut lines = BoundedReader::new(file, size, MAX_GREP_FILE_BYTES, self.stop);
        let searched = searcher.search_reader(&self.matcher, &mut lines, &mut found);
        let mut outcome = found.outcome;
        if searched.is_err() {
            self.stop.check()?;
            outcome.is_unreadable = true;
        }
        if outcome.is_binary || outcome.is_unreadable {
            outcome.matches.clear();
        } else {
            (outcome.is_cut, outcome.shortened_lines) = (lines.is_cut, lines.shortened);
        }
        outcome.bytes = lines.read;
        Ok(outcome)
    }
}

/// Collects the matches in one file.
struct MatchSink<'a> {
    query: &'a SearchQuery<'a>,
    path: &'a str,
    /// The latest lines, with their numbers.
    recent: VecDeque<(u64, String)>,
    bytes: usize,
    outcome: FileMatches,
}

impl MatchSink<'_> {
    /// Adds a line that may be the context of a match.
    fn line(&mut self, number: u64, line: &[u8]) {
        let context = self.query.context;
        if context == 0 {
            return;
        }
        let text = excerpt(line, 0);
        let nearest = number.saturating_sub(context as u64);
        for earlier in self.outcome.matches.iter_mut().rev().take_while(|found| found.line >= nearest) {
            if earlier.line < number {
                self.bytes += text.len();
                earlier.after.push(text.clone());
            }
        }
        self.recent.push_back((number, text));
        if self.recent.len() > context {
            self.recent.pop_front();
        }
    }
}

impl Sink for MatchSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        let line = without_end(found.bytes());
        let nearest = number.saturating_sub(self.query.context as u64);
        let before: Vec<_> =
            self.recent.iter().filter(|(at, _)| *at >= nearest).map(|(_, line)| line.clone()).collect();
        self.line(number, line);
        let at = if line.len() > MAX_SHOWN_BYTES {
            self.query.matcher.find(line).ok().flatten().map_or(0, |place| place.start())
        } else {
            0
        };
        let text = excerpt(line, at);
        self.bytes += text.len() + self.path.len() + before.iter().map(String::len).sum::<usize>();
        self.outcome.matches.push(Match {
            path: self.path.into(),
            line: number,
            text,
            before,
            after: Vec::new(),
        });
        // A few more than are returned, so that those have all context lines.
        let most = MAX_MATCHES + self.query.context;
        Ok(self.outcome.matches.len() <= most && self.bytes <= MAX_KEPT_BYTES)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.line(context.line_number().unwrap_or_default(), without_end(context.bytes()));
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.outcome.is_binary = true;
        Ok(false)
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns a line, or the part around a position if it is long.
fn excerpt(line: &[u8], at: usize) -> String {
    if line.len() <= MAX_SHOWN_BYTES {
        return String::from_utf8_lossy(line).into_owned();
    }
    let start = character_start(line, at.saturating_sub(SHOWN_BEFORE_BYTES));
    let end = character_start(line, line.len().min(start + MAX_SHOWN_BYTES));
    let shown = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    let (before, behind) = (if start > 0 { "…" } else { "" }, if end < line.len() { "…" } else { "" });
    format!("{before}{shown}{behind}")
}

/// Returns the position, or the closest one before it, at which a character begins.
fn character_start(line: &[u8], mut at: usize) -> usize {
    const CONTINUATION_BYTES: usize = 3;
    for _ in 0..CONTINUATION_BYTES {
        // `10xxxxxx` is a continuation byte of UTF-8.
        if line.get(at).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000) {
            at = at.saturating_sub(1);
        }
    }
    at
}
