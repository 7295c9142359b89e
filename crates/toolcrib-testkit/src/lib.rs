//! Peers for tests: the servers and processes that Toolcrib talks to, on real sockets and in real processes.
//!
//! [`ModelServer`] implements the wire format of `OpenAI` Chat Completions. It answers with the [`Turn`]s of a script,
//! streamed or whole as each request asks, records each [`ModelRequest`] byte for byte, and refuses requests that the
//! real API refuses. [`FaultyModel`] answers with the faults of a [`FaultScript`]; the program `scripted-model` runs
//! that server by hand. [`PetStore`] is the classic pet store with an `OpenAPI` document that matches it, and
//! [`Collector`] receives spans by OTLP, and [`MailReceiver`] mail by SMTP. [`Canary`] records requests and answers as a test specifies, and [`RawServer`]
//! writes arbitrary bytes. [`RoundRobin`] is a proxy before several servers. [`dropped_after`] drops a future before it completes. [`processes_of`] and [`descendants`]
//! list processes, so that a test can assert that none is left, and [`wait_until`] polls for conditions without events.
//! [`TestTerminal`] is a pseudo-terminal. The program `hostile-server` is an `MCP` server that misbehaves in a selected
//! mode.
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
//! assert!(server.requests().is_empty(), "no request yet");
//! # Ok(())
//! # }
//! ```
//!
//! This crate is for tests only: nothing that ships depends on it. Processes are listed from `/proc`, so only on Linux.

mod http_service;

mod canary;
mod collector;
mod drop_after;
mod loopback_hosts;
mod mail_receiver;
mod model;
mod petstore;
mod raw_server;
mod round_robin;

mod process;
mod terminal;
mod wait;

#[cfg(test)]
mod tests;

pub use canary::{Canary, Hit};
pub use collector::{Collector, Export};
pub use drop_after::dropped_after;
pub use loopback_hosts::LOOPBACK_HOSTS;
pub use mail_receiver::{MailReceiver, ReceivedMail};
pub use model::{FaultScript, FaultyModel, ModelFormat, ModelRequest, ModelServer, Turn, teach};
pub use petstore::{PetStore, StoreRequest};
pub use process::{Process, descendants, processes_of};
pub use raw_server::{RawServer, lying_answers};
pub use round_robin::RoundRobin;
pub use terminal::TestTerminal;
pub use wait::wait_until;
