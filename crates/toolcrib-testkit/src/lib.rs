//! Peers for tests: what Toolcrib talks to, on real sockets and in real processes.
//!
//! [`ModelServer`] speaks the wire format of `OpenAI` Chat Completions. It answers with the [`Turn`]s of a script,
//! streamed or whole as each request asks, records each [`ModelRequest`] byte for byte, and refuses what the real API
//! refuses. [`FaultyModel`] does wrong what a [`FaultScript`] says; the program `scripted-model` is that server for use by
//! hand. [`PetStore`] is the classic pet store with an `OpenAPI` document that fits it, and [`Collector`] takes spans by
//! OTLP. [`Canary`] keeps what it was asked and answers as a test says, and [`RawServer`] writes bytes that need not be
//! an answer at all. [`dropped_after`] drops a future in the middle. [`processes_of`] and [`descendants`] list processes, so that a test can assert that none is left,
//! and [`wait_until`] looks for what nobody announces. [`TestTerminal`] is one to type at. The program `hostile-server` is an
//! `MCP` server that misbehaves as it is told.
//!
//! ```
//! use serde_json::json;
//! use toolcrib_testkit::{ModelServer, Turn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> anyhow::Result<()> {
//! let call = Turn::call("hello__say_hello", &json!({"name": "Ada"}));
//! let server = ModelServer::start([call, Turn::text("Ada was greeted.")]).await?;
//! assert!(server.base_url().ends_with("/v1"));
//! assert!(server.requests().is_empty(), "nobody has asked yet");
//! # Ok(())
//! # }
//! ```
//!
//! It is for tests only: nothing that ships depends on it. Processes are looked at through `/proc`, which is there on
//! Linux.

mod host;

mod canary;
mod collector;
mod drops;
mod model;
mod petstore;
mod raw;

mod process;
mod terminal;
mod wait;

#[cfg(test)]
mod tests;

pub use canary::{Canary, Hit};
pub use collector::{Collector, Export};
pub use drops::dropped_after;
pub use model::{FaultScript, FaultyModel, ModelRequest, ModelServer, Turn};
pub use petstore::{Asked, PetStore};
pub use process::{Process, descendants, processes_of};
pub use raw::{RawServer, lying_answers};
pub use terminal::TestTerminal;
pub use wait::wait_until;
