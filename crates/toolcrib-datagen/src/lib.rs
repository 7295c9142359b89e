//! Tool-calling conversations as training data.
//!
//! - [`conversation`]: the data types of generated conversations.
//! - [`validate`]: the checks that a conversation passes before it is written.
//! - [`writer`]: the output formats.

pub mod conversation;
pub mod seed;
pub mod validate;
pub mod writer;

pub use conversation::{Conversation, Kind};
pub use validate::validate;

#[cfg(test)]
mod samples;
