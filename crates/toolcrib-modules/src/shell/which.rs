//! `shell.which` and `shell.env`: the available programs, and their environment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error;
use toolcrib_io::process::{environment_names, find_program};
use toolcrib_model::ToolError;
use toolcrib_sdk::CallContext;

use super::command::CommandBuilder;
use super::errors::{invalid, tool_error};

/// The maximum length of a name that is looked up, in bytes.
const MAX_NAME_BYTES: usize = 4096;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The name of the program, or its path.
    program: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WhichOutput {
    /// True if the program exists and may be started.
    found: bool,
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The reason why it cannot be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Variables {
    /// The names, without the values.
    names: Vec<String>,
}

pub(super) fn which(
    commands: &CommandBuilder,
    context: &CallContext,
    which: Which,
) -> Result<WhichOutput, ToolError> {
    if which.program.len() > MAX_NAME_BYTES {
        return Err(
            invalid("`program` is too long for the name of a program").with_hint("give its name, as `git`")
        );
    }
    match find_program(&commands.unchecked(context, vec![which.program])) {
        Ok(path) => Ok(WhichOutput { found: true, path: Some(path.display().to_string()), reason: None }),
        Err(
            error @ (Error::ProgramNotFound { .. }
            | Error::ProgramNotExecutable { .. }
            | Error::ProgramNotAllowed { .. }),
        ) => Ok(WhichOutput { found: false, path: None, reason: Some(error.to_string()) }),
        Err(error) => Err(tool_error(&error)),
    }
}

pub(super) fn env(commands: &CommandBuilder, context: &CallContext) -> Variables {
    Variables { names: environment_names(&commands.unchecked(context, Vec::new())) }
}
