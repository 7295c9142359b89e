//! A model that follows a script, behind the wire format of `OpenAI` Chat Completions.

mod answer;
mod refusal;
mod server;
mod turn;

pub use server::{ModelRequest, ModelServer};
pub use turn::Turn;
