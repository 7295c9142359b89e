//! The confirmation of a change of a file.

use std::io::IsTerminal as _;

use crate::exit::{Exit, Failure};
use crate::terminal::{CAN_DISCARD, console};

/// Returns true if the user at the terminal agrees; false if there is no terminal.
///
/// # Errors
///
/// The user does not agree.
pub(super) async fn agreed(json: bool) -> Result<bool, Failure> {
    let is_attended = CAN_DISCARD && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if json || !is_attended {
        return Ok(false);
    }
    let dialogue = console().dialogue().await;
    let said = dialogue.ask("", "write it? [y, n] ").await.unwrap_or_default();
    dialogue.close();
    if matches!(said.trim().to_lowercase().as_str(), "y" | "yes") {
        return Ok(true);
    }
    Err(Failure::new(Exit::Denied, "nothing was written"))
}

/// Returns the advice to write a change that no user could confirm.
pub(super) fn not_written() -> String {
    let words: Vec<_> = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    // What stands behind `--` belongs to a server.
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (own, command) = words.split_at(end);
    let again = shell_words::join(
        own.iter().map(String::as_str).chain(["--yes"]).chain(command.iter().map(String::as_str)),
    );
    format!("nothing is written yet; to write it, run: toolcrib {again}")
}
