//! Models that need no server: turns are written to a file and played from it.
//!
//! The file is YAML:
//!
//! ```yaml
//! turns:
//!   - text: I look for a tool.            # what the assistant says; optional
//!     calls:                              # what it calls; optional
//!       - {name: search_tools, arguments: {query: notes about paint}}
//!   - expect: [notes.search]              # what must have come back since the last turn; optional
//!     calls:
//!       - {name: notes.search, arguments: '{"query": '}   # a text is sent as it is, here broken JSON
//!   - text: Cobalt blue.
//! ```
//!
//! A recording replaces only the model: its calls are really made. `expect` lists the texts that the answer depends on: each
//! must be contained in a message that came after the last turn, as the model reads it, or the run fails. [`Recorder`] writes a
//! `request` for each turn: the request to the model, without what the previous request already had. It is compared with
//! the request when the turn is played, except for handles, which change each time. If they differ, the run fails and reports
//! the difference. Turns without a `request` are not compared.

mod format;
mod model;
mod recorder;
mod request;

#[cfg(test)]
mod tests;

pub use format::MAX_RECORDING_BYTES;
pub use model::RecordedModel;
pub use recorder::Recorder;
