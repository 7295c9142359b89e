//! The transports of the protocol: the pipes of a child process, Streamable HTTP, and HTTP with server-sent events.
//!
//! - [`stdio`] starts a process and connects to its [`pipes`]; [`backpressure`] limits its unread responses.
//! - [`streamable_http`] and [`sse`] reach servers behind a URL; [`argument_headers`] adds call arguments to their requests.
//! - [`message_recovery`] parses the messages of all of them, with a [`json_scanner`] for those that are not valid JSON.

pub(crate) mod argument_headers;
mod backpressure;
pub(crate) mod boxed;
mod json_scanner;
pub(crate) mod message_recovery;
mod pipes;
pub(crate) mod process;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod streamable_http;

pub use process::CLOSE_GRACE;
