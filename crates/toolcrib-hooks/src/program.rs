//! A hook that is a program.

use bytes::Bytes;
use toolcrib_io::process::{Command, RunLimits, run};
use toolcrib_model::text::clean_text;

use crate::MAX_ANSWER_BYTES;
use crate::cycle::CHAIN_VARIABLE;
use crate::error::Failure;

/// The maximum number of bytes of standard error that are kept.
const MAX_STDERR_BYTES: usize = 4 * 1024;

/// The maximum number of characters of standard error that an error shows.
const MAX_SHOWN_CHARS: usize = 300;

/// Runs a program with a message as its standard input, and returns what it writes. Dropping the future kills the program
/// and its children.
///
/// # Errors
///
/// Returns the reason if the program cannot be started, ends with a failure, or writes too much.
pub(crate) async fn ask(command: &Command, message: Vec<u8>, chain: String) -> Result<Vec<u8>, Failure> {
    let command = command.clone().with_env(CHAIN_VARIABLE, chain);
    let limits = RunLimits { stdout_bytes: MAX_ANSWER_BYTES, stderr_bytes: MAX_STDERR_BYTES };
    let output =
        run(&command, Some(Bytes::from(message)), &limits).await.map_err(|error| error.to_string())?;
    if !output.status.success() {
        let said = clean_text(&String::from_utf8_lossy(&output.stderr), MAX_SHOWN_CHARS);
        return Err(Failure::with_returned(format!("its program ended with {}", output.status), said));
    }
    if output.stdout_truncated {
        return Err(format!("its program wrote more than {MAX_ANSWER_BYTES} bytes").into());
    }
    Ok(output.stdout)
}
