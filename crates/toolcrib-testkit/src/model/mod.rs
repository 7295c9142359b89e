//! Models that follow a script, behind the wire formats of model servers.

mod encoding;
mod faulty;
mod format;
mod server;
mod teacher;
mod turn;

pub use faulty::{FaultScript, FaultyModel};
pub use format::ModelFormat;
pub use server::{ModelRequest, ModelServer};
pub use teacher::teach;
pub use turn::Turn;
