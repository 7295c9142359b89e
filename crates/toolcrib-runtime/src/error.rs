//! The errors of a runtime.

/// An error of an app before its tools run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The app file is wrong.
    #[error(transparent)]
    App {
        /// The cause.
        #[from]
        source: toolcrib_app::Error,
    },
    /// A part cannot be started.
    #[error("{what}: {message}")]
    Start {
        /// The part.
        what: String,
        /// The cause.
        message: String,
    },
    /// There is no such agent.
    #[error("there is no agent `{id}`; there is: {}", known.join(", "))]
    UnknownAgent {
        /// The id as it was given.
        id: String,
        /// The agents of the app.
        known: Vec<String>,
    },
}
