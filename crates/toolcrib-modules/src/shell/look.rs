//! `shell.which` and `shell.env`: the available programs, and their environment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_io::Error;
use toolcrib_io::process::{environment_names, find_program};
use toolcrib_model::ToolError;

use super::command::Commands;
use super::failure::{failure, invalid};

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
pub(super) struct Located {
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

pub(super) fn which(commands: &Commands, which: Which) -> Result<Located, ToolError> {
    if which.program.len() > MAX_NAME_BYTES {
        return Err(
            invalid("`program` is too long for the name of a program").with_hint("give its name, as `git`")
        );
    }
    match find_program(&commands.bare(vec![which.program])) {
        Ok(path) => Ok(Located { found: true, path: Some(path.display().to_string()), reason: None }),
        Err(
            error @ (Error::ProgramNotFound { .. }
            | Error::ProgramNotExecutable { .. }
            | Error::ProgramNotAllowed { .. }),
        ) => Ok(Located { found: false, path: None, reason: Some(error.to_string()) }),
        Err(error) => Err(failure(&error)),
    }
}

pub(super) fn env(commands: &Commands) -> Variables {
    Variables { names: environment_names(&commands.bare(Vec::new())) }
}
