//! Errors of serving an app.

use std::net::SocketAddr;

use toolcrib_model::random::NoRandomNumbers;

/// An error that keeps the server from starting or ends it early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The client and the server could not agree on a connection.
    #[error("the handshake with the client failed: {message}; is it an MCP client?")]
    Handshake {
        /// The cause.
        message: String,
    },
    /// The connection failed.
    #[error("the connection failed: {message}")]
    Broken {
        /// The cause.
        message: String,
    },
    /// The address is reachable from other machines, and no token is required.
    #[error(
        "{address} can be reached from other machines, and the app requires no token; add `serve.tokens` or `serve.oauth`, or serve on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}{}", bind_advice(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The cause.
        source: std::io::Error,
    },
    /// The app's settings for its clients are invalid.
    #[error(transparent)]
    App(#[from] toolcrib_app::Error),
    /// The app cannot be started.
    #[error(transparent)]
    Runtime(#[from] toolcrib_runtime::Error),
    /// No folder is configured for the operator sockets.
    #[error(
        "there is no folder for the sockets of `toolcrib approve`; set `HOME` or `XDG_STATE_HOME` to an absolute path"
    )]
    NoOperatorDirectory,
    /// The folder of the operator sockets cannot be used.
    #[error("{}: the sockets of `toolcrib approve` cannot be used there: {source}; set `XDG_STATE_HOME` to a short absolute path, or remove `serve.approve` from the app", path.display())]
    OperatorDirectory {
        /// The folder.
        path: std::path::PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A serving process and an operator could not communicate.
    #[error("the process that serves the app cannot be answered: {message}")]
    Operator {
        /// The cause.
        message: String,
    },
    /// The platform has no Unix domain sockets.
    #[error(
        "`toolcrib approve` needs Unix domain sockets, which this system does not have; remove `serve.approve` from the app"
    )]
    NoSockets,
    /// The client for requests to other processes cannot be created.
    #[error(transparent)]
    Http(#[from] toolcrib_io::Error),
    /// The store that processes share cannot be used.
    #[error(transparent)]
    Store(#[from] toolcrib_tasks::store::StoreError),
    /// Another process has accepted an answer to a question that has not arrived.
    #[error("the question was answered at another process, and the answer has not arrived; ask again")]
    LostAnswer,
    /// The operating system provides no random numbers, which sessions and approvals need.
    #[error("the operating system provides no random numbers")]
    NoRandomness,
}

impl From<NoRandomNumbers> for Error {
    fn from(_: NoRandomNumbers) -> Self {
        Self::NoRandomness
    }
}

/// Returns advice for an address that cannot be listened on.
fn bind_advice(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program uses the port: end it, or give another port (0 for any that is free)"
        }
        std::io::ErrorKind::PermissionDenied => "; give a port above 1023",
        std::io::ErrorKind::AddrNotAvailable => "; give an address of this machine",
        _ => "",
    }
}
