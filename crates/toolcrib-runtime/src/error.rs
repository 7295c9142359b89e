//! The errors of a runtime.

use toolcrib_policy::OverrideTarget;

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

/// The reason why an override is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OverrideError {
    /// The text names nothing in the app.
    #[error("there is no tool, namespace or source `{text}`; {}", hint(near.as_deref()))]
    Unknown {
        /// The text.
        text: String,
        /// A similar name of the app.
        near: Option<String>,
    },
    /// The text names the runtime's own tools.
    #[error(
        "the runtime's own tools reach others only through the gate, and are not disabled; a rule in \
         `tools.capabilities.deny` denies one"
    )]
    OfRuntime,
    /// Nothing disables the target.
    #[error("{target} is not disabled; `toolcrib why` says what decides")]
    NotDisabled {
        /// The target.
        target: OverrideTarget,
    },
    /// The target has no override.
    #[error("{target} has no override; it may have been removed since")]
    NotOverridden {
        /// The target.
        target: OverrideTarget,
    },
    /// The store cannot be written to.
    #[error(transparent)]
    Store(#[from] Error),
}

fn hint(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`toolcrib tools` lists the tools and sources".to_owned(),
    }
}
