//! Tool-calling conversations as training data.
//!
//! - [`conversation`]: the data types of generated conversations.
//! - [`session`]: sessions, in which the calls of conversations run.
//! - [`engine`]: engines of tools that are simulated, recorded, or search documents.
//! - [`enrichment`]: schemas of results that a model infers.
//! - [`pipeline`]: stages that turn tools into conversations, in runs that can be resumed.
//! - [`reader`]: conversations read from files, and the check of a whole file.
//! - [`sampler`]: seeded choices of tools.
//! - [`hygiene`]: near duplicates, test data, secrets, and the data card.
//! - [`validate`](mod@validate): the checks that a conversation passes before it is written.
//! - [`writer`]: the output formats.

pub mod conversation;
pub mod engine;
pub mod enrichment;
pub mod hygiene;
mod json_reply;
pub mod pipeline;
pub mod reader;
mod reply_cache;
pub mod sampler;
pub mod seed;
pub mod session;
pub mod validate;
pub mod writer;

pub use conversation::{Conversation, Kind};
pub use pipeline::GenerateSettings;
pub use validate::validate;

#[cfg(test)]
mod samples;
