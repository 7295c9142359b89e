//! A model's server that does wrong what a script says: on the wire, in the stream, in what it calls.

mod script;
mod server;
mod wire;

pub use script::FaultScript;
pub use server::FaultyModel;
