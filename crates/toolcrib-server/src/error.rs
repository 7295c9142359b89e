//! Why serving ended early.

/// Why serving ended early.
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
}
