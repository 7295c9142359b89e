//! The errors of an app file.

use std::path::PathBuf;

use toolcrib_exec::OperatorHints;
use toolcrib_oauth::client::shell_quoted;
use toolcrib_tasks::{ActiveOverrides, OverrideError};

use crate::App;

/// The advice to the operator in errors of calls, by the settings of an app file.
pub const OPERATOR_HINTS: OperatorHints = OperatorHints {
    no_engine: Some("set `engine:` there to one of `tools.engines`"),
    unknown_client: Some("add the client to `serve.tokens` or `serve.oauth.clients`"),
};

/// An error of an app file, or of a part that it names.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The app file cannot be read.
    #[error("{source}{}", starter_advice(source))]
    Unreadable {
        /// The cause.
        #[source]
        source: toolcrib_io::Error,
    },
    /// The app file is wrong; each line of the message is `file:line:column: message`.
    #[error("{}", lines(file, errors))]
    App {
        /// The file.
        file: String,
        /// The errors in the order of the checks; at least one.
        errors: Vec<toolcrib_document::Error>,
    },
    /// A part cannot be made.
    #[error("{part}: {message}")]
    Part {
        /// The part.
        part: String,
        /// The cause.
        message: String,
    },
    /// The model of an agent cannot be used.
    #[error(transparent)]
    Model {
        /// The cause.
        #[from]
        source: toolcrib_agent::Error,
    },
    /// A recording cannot be read.
    #[error("the recording {}: {source}", path.display())]
    Recording {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: toolcrib_io::Error,
    },
    /// A file with a schema of answers cannot be read.
    #[error("the output schema: {source}")]
    OutputSchema {
        /// The cause.
        #[source]
        source: toolcrib_io::Error,
    },
    /// There is no such module.
    #[error("{message}")]
    UnknownModule {
        /// The requested agent, and the ones that exist.
        message: String,
    },
}

fn lines(file: &str, errors: &[toolcrib_document::Error]) -> String {
    errors.iter().map(|error| error.at(file)).collect::<Vec<_>>().join("\n")
}

/// Returns the advice for a missing app file, and an empty text for one that exists.
fn starter_advice(error: &toolcrib_io::Error) -> &'static str {
    match error {
        toolcrib_io::Error::NotFound { .. } => "; `toolcrib init` writes a starter app",
        _ => "",
    }
}

/// Returns what to tell an operator whose change of an override failed.
pub fn override_failure(error: &OverrideError) -> String {
    let advice = match error {
        OverrideError::Unknown { near: None, .. } => "; `toolcrib tools` lists the tools and sources",
        OverrideError::OfRuntime => "; a rule in `tools.capabilities.deny` denies one",
        OverrideError::NotDisabled { .. } => "; `toolcrib why` says what decides",
        _ => "",
    };
    format!("{error}{advice}")
}

impl App {
    /// Returns the advice to an operator whose call of a tool is refused because the tool is disabled.
    pub fn enable_hint(&self, tool: &str, overrides: &ActiveOverrides) -> Option<String> {
        let (target, tool) = overrides.disabling(tool)?;
        let file = shell_quoted(&self.file.name);
        let (name, what) = match tool {
            Some(tool) => (shell_quoted(&tool), "the tool"),
            None => (target.id(), "it"),
        };
        Some(format!("{target} is disabled; `toolcrib enable {file} {name}` enables {what} again"))
    }
}
