//! Models that follow a script, behind the wire format of `OpenAI` Chat Completions.

mod encoding;
mod faulty;
mod request_check;
mod server;
mod teacher;
mod turn;

pub use faulty::{FaultScript, FaultyModel};
pub use server::{ModelRequest, ModelServer};
pub use teacher::teach;
pub use turn::Turn;
