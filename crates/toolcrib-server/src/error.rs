//! Why serving did not begin, or ended early.

use std::net::SocketAddr;

/// Why serving did not begin, or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client and the server did not come to terms.
    #[error("the client did not shake hands: {message}; is it an MCP client?")]
    Handshake {
        /// What went wrong.
        message: String,
    },
    /// The connection broke off.
    #[error("the connection broke off: {message}")]
    Broken {
        /// What went wrong.
        message: String,
    },
    /// The address is one that other machines reach, and anybody could come in.
    #[error(
        "{address} can be reached from other machines, and the app has no tokens; add `serve.tokens`, or serve on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The app says something of its clients that cannot be.
    #[error(transparent)]
    App(#[from] toolcrib_runtime::Error),
    /// The operating system has no random numbers to give, by which sessions and approvals are kept apart.
    #[error("the operating system gave no random numbers")]
    NoRandomness,
}
