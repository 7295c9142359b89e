//! Errors of processes, HTTP requests and files.

use std::io;
#[cfg(feature = "http")]
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

#[cfg(feature = "http")]
use crate::http::AddressClass;

/// An error of a child process, an HTTP request or a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This platform lacks what the operation needs.
    #[error("{operation} is not supported on this platform; use Linux, macOS or another Unix")]
    Unsupported {
        /// The operation.
        operation: &'static str,
    },

    /// A file cannot be watched.
    #[error("cannot watch {}: {reason}", path.display())]
    WatchFailed {
        /// The file; empty when nothing can be watched here.
        path: PathBuf,
        /// The reason.
        reason: String,
    },

    /// The secret of a webhook is invalid.
    #[error("the secret cannot be used: {reason}; make one with `openssl rand -hex 32`")]
    InvalidSecret {
        /// The reason.
        reason: &'static str,
    },

    /// The command is invalid on every system, regardless of the programs installed.
    #[error("cannot start `{program}`: {reason}")]
    InvalidCommand {
        /// The first word of the command, or empty for an empty command.
        program: String,
        /// The problem, and the correct form.
        reason: String,
    },
    /// The program is not among those that may be started.
    #[error("may not start `{program}`: the configuration does not allow it under `access.system`")]
    ProgramNotAllowed {
        /// The program as the command names it.
        program: String,
    },
    /// The program does not exist.
    #[error("program `{program}` not found{}; install it, or give its full path", within(program, searched))]
    ProgramNotFound {
        /// The program as the command names it.
        program: String,
        /// The searched location: the program's path, or `PATH`.
        searched: String,
    },
    /// The program exists but may not be run.
    #[error(
        "program `{program}` is not executable: {path}; make it executable, or run it with its interpreter"
    )]
    ProgramNotExecutable {
        /// The program as the command names it.
        program: String,
        /// The file that was found.
        path: PathBuf,
    },
    /// The directory to start in does not exist or is no directory.
    #[error("cannot start `{program}` in {directory}: there is no such directory")]
    WorkingDirectoryMissing {
        /// The program as the command names it.
        program: String,
        /// The directory.
        directory: PathBuf,
    },
    /// The system refused to start the program.
    #[error("cannot start `{program}`: {source}; {}", start_hint(source))]
    SpawnFailed {
        /// The program as the command names it.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The restrictions of the program cannot be enforced, and so it is not started.
    #[error("the sandbox cannot be set up: {reason}")]
    SandboxUnavailable {
        /// The problem, and the remedy.
        reason: String,
    },
    /// The helper that ends our children when we are killed did not start, and so nothing else is started.
    #[error("cannot start `{program}`: its watchdog did not start: {source}; check that `/bin/sh` works")]
    WatchdogFailed {
        /// The program as the command names it.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A pipe to a running child failed, or could not be set up.
    #[error("lost the pipes of `{program}`: {source}")]
    PipeFailed {
        /// The program as the command names it, or the name of the child.
        program: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The child is gone, and something else in this process took its exit status.
    #[error("`{program}` ended with an unknown status: its exit was collected by other code of this process")]
    StatusLost {
        /// The program as the command names it.
        program: String,
    },
    /// The child was killed, and the system does not let go of it.
    #[error(
        "`{program}` was killed but has not ended after {waited:?}; the system holds it, perhaps in a file system"
    )]
    Unkillable {
        /// The program as the command names it.
        program: String,
        /// The time waited.
        waited: Duration,
    },

    /// The HTTP client could not be built.
    #[error("cannot build the HTTP client: {reason}")]
    ClientFailed {
        /// The problem.
        reason: String,
    },
    /// The URL is not one that this client requests.
    #[error("cannot request {url}: {reason}")]
    InvalidUrl {
        /// The URL, without user, password, query and fragment.
        url: String,
        /// The problem, and the correct form.
        reason: &'static str,
    },
    /// The address is one that the policy does not let requests go to.
    #[cfg(feature = "http")]
    #[error(
        "refused to connect to `{host}`: {address} is {class}; private addresses must be allowed by the configuration"
    )]
    AddressRefused {
        /// The host as the URL names it.
        host: String,
        /// The address that the name resolves to.
        address: IpAddr,
        /// The class of the address.
        class: AddressClass,
    },
    /// The host, or its port, is not among those that may be reached.
    #[error(
        "may not connect to `{host}` at port {port}: the configuration does not allow it under `access.network`"
    )]
    HostNotAllowed {
        /// The host as the URL names it.
        host: String,
        /// The port.
        port: u16,
    },
    /// The machine has no root certificates, so no HTTPS server can be trusted.
    #[error(
        "cannot request {url}: no root certificates on this machine; install `ca-certificates` or set SSL_CERT_FILE"
    )]
    RootCertificatesMissing {
        /// The URL, without user, password, query and fragment.
        url: String,
    },
    /// There was no connection to the server: name unknown, host down, or TLS refused.
    #[error("cannot connect to {url}: {reason}")]
    ConnectFailed {
        /// The URL, without user, password, query and fragment.
        url: String,
        /// The chain of causes.
        reason: String,
    },
    /// The request, or the answer to it, broke off.
    #[error("request to {url} failed: {reason}")]
    RequestFailed {
        /// The URL, without user, password, query and fragment.
        url: String,
        /// The chain of causes.
        reason: String,
    },
    /// The server had not answered in full when the time was up.
    #[error("no full answer from {url} within {timeout:?}; try again, or raise the timeout")]
    RequestTimedOut {
        /// The URL, without user, password, query and fragment.
        url: String,
        /// The time that it had.
        timeout: Duration,
    },

    /// The path is not among those that may be reached.
    #[error("may not {operation} `{path}`: the configuration does not allow it under `access.filesystem`")]
    PathNotAllowed {
        /// The path as it was given.
        path: String,
        /// The refused operation, as in "may not … `path`".
        operation: &'static str,
    },
    /// The path is one of those that the running program depends on.
    #[error(
        "may not {operation} `{path}`: the running app depends on it, and only its operator may change it"
    )]
    FileProtected {
        /// The path as it was given.
        path: String,
        /// The refused operation, as in "may not … `path`".
        operation: &'static str,
    },
    /// The path is in a folder that is only read.
    #[error("may not write `{path}`: its folder is only read")]
    ReadOnly {
        /// The path as it was given.
        path: String,
    },
    /// The path leads out of the root.
    #[error("`{path}` is outside of the root: {reason}; give a path relative to the root")]
    OutsideRoot {
        /// The path as it was given.
        path: String,
        /// The part of the path that leaves the root.
        reason: &'static str,
    },
    /// Nothing is there.
    #[error("`{path}` does not exist")]
    NotFound {
        /// The path as it was given.
        path: String,
    },
    /// There is something, but not of the right kind.
    #[error("`{path}` is not a {expected}")]
    WrongKind {
        /// The path as it was given.
        path: String,
        /// The expected kind.
        expected: &'static str,
    },
    /// The file is larger than the caller takes.
    #[error("`{path}` is larger than {limit} bytes, the most that is read of such a file")]
    TooLarge {
        /// The path as it was given.
        path: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The system refused.
    #[error("cannot {operation} `{path}`: {source}")]
    FileFailed {
        /// The failed operation, as in "cannot … `path`".
        operation: &'static str,
        /// The path as it was given.
        path: String,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Returns the searched location for a message, or an empty text if the program is itself a path.
fn within(program: &str, searched: &str) -> String {
    if program == searched { String::new() } else { format!(" in {searched}") }
}

/// Returns advice for a program that the system refused to start.
fn start_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "check that you may run it, and that its file system is not mounted `noexec`"
        }
        _ => "check that the interpreter in its first line exists",
    }
}
