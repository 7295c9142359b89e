//! Models that follow a script, behind the wire format of `OpenAI` Chat Completions.

mod answer;
mod faulty;
mod refusal;
mod server;
mod turn;

pub use faulty::{FaultScript, FaultyModel};
pub use server::{ModelRequest, ModelServer};
pub use turn::Turn;
