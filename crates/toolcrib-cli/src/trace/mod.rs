//! Traces of runs as pages of HTML.
//!
//! A [`Timeline`] is made of the [journal](toolcrib_agent::journal) of runs, or of audit records. [`page`] renders it as
//! one page that loads nothing.

mod audit;
mod journal;
mod page;

#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use crate::exit::Failure;

pub(crate) use audit::read_audit;
pub(crate) use journal::{TimedEntry, TraceJournal, now_ms, timeline};
pub(crate) use page::page;

/// The most events of a page. A browser shows more of them only slowly.
pub(crate) const MAX_EVENTS: usize = 5_000;

/// The most bytes of a text in a page, such as the result of a call.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// The most bytes of all texts in a page.
const MAX_PAGE_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// The events of one or more runs in the order of their starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Timeline {
    pub(crate) title: String,
    /// Names and values of the summary.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) events: Vec<Event>,
    /// The number of events that are left out.
    pub(crate) left_out: usize,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// A prompt of the user.
    Prompt,
    /// A turn of the model.
    Turn,
    /// A call of a tool.
    Call,
    /// Anything else, such as a compaction.
    Note,
}

/// Something that happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) kind: EventKind,
    pub(crate) label: String,
    /// The start, in milliseconds since the first event; `None` if it is unknown.
    pub(crate) start_ms: Option<u64>,
    pub(crate) took_ms: Option<u64>,
    pub(crate) is_failed: bool,
    /// A short text next to the label, such as a number of tokens.
    pub(crate) note: String,
    /// Names and texts that are shown when the event is opened.
    pub(crate) details: Vec<(&'static str, String)>,
}

impl Event {
    fn new(kind: EventKind, label: impl Into<String>) -> Self {
        Self {
            kind,
            label: label.into(),
            start_ms: None,
            took_ms: None,
            is_failed: false,
            note: String::new(),
            details: Vec::new(),
        }
    }

    fn detail(&mut self, name: &'static str, text: &str) {
        if !text.trim().is_empty() {
            self.details.push((name, text.to_owned()));
        }
    }
}

/// Writes a page to a file that only its owner can read, since it has the arguments and results of calls.
pub(crate) fn write(path: &Path, timeline: &Timeline) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(page(timeline).as_bytes()));
    written.map_err(|error| {
        Failure::bad_input(format!("{}: the trace cannot be written: {error}", path.display()))
    })
}
