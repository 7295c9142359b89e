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
        "{address} can be reached from other machines, and the app lets anybody in; add `serve.tokens` or `serve.oauth`, or serve on 127.0.0.1"
    )]
    Open {
        /// The address.
        address: SocketAddr,
    },
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}{}", bind_advice(source))]
    Bind {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The app says something of its clients that cannot be.
    #[error(transparent)]
    App(#[from] toolcrib_runtime::Error),
    /// There is no folder for the sockets by which operators come in.
    #[error(
        "there is no place where `toolcrib approve` finds this app; set `HOME` or `XDG_STATE_HOME` to an absolute path"
    )]
    NoOperatorPlace,
    /// The folder of these sockets cannot be used.
    #[error("{}: `toolcrib approve` cannot be let in there: {source}; set `XDG_STATE_HOME` to a short absolute path, or take `serve.approve` out of the app", path.display())]
    OperatorPlace {
        /// The folder.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A process that serves and an operator did not understand each other.
    #[error("the process that serves the app cannot be answered: {message}")]
    Operator {
        /// What went wrong.
        message: String,
    },
    /// There are no Unix domain sockets here.
    #[error(
        "`toolcrib approve` needs Unix domain sockets, which this system does not have; take `serve.approve` out of the app"
    )]
    NoSockets,
    /// The operating system has no random numbers to give, by which sessions and approvals are kept apart.
    #[error("the operating system gave no random numbers")]
    NoRandomness,
}

/// Returns what to do about an address that cannot be listened on.
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
