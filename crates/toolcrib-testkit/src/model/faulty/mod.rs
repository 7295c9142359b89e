//! A model server with scripted faults: on the wire, in the stream, and in its calls.

mod script;
mod server;
mod wire;

pub use script::FaultScript;
pub use server::FaultyModel;
