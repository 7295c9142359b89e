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
//! A recording stands in for the model only: what it calls is really called. With `expect` it says on which results its
//! answer rests: each text must stand in a message that came after the last turn, as the model reads it, or the run
//! fails. What [`Recorder`] writes has a `request` for each turn: what the model was asked, as far as that was not what the
//! turn before was asked. It is compared with what is asked when the turn is played, but for handles, which are others
//! each time; where it differs, the run fails and says where. Turns without one are not compared.

mod format;
mod model;
mod recorder;
mod request;

#[cfg(test)]
mod tests;

pub use format::{MAX_RECORDING_BYTES, MAX_TURNS};
pub use model::RecordedModel;
pub use recorder::Recorder;
