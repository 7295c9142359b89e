//! Commands that print a secret.

use std::path::Path;
use std::time::Duration;

use toolcrib_io::process::{Command, RunLimits, run};
use toolcrib_model::Secret;
use toolcrib_model::text::truncate_chars;

use super::{MAX_MESSAGE_CHARS, MAX_SECRET_BYTES};

/// The time that a command has.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A command that prints a secret. No shell is involved.
#[derive(Clone, Debug)]
pub(crate) struct SecretCommand {
    command: Command,
    timeout: Duration,
}

impl SecretCommand {
    /// Creates a command that runs in the folder.
    pub(crate) fn new(argv: Vec<String>, folder: &Path) -> Self {
        let mut command = Command::new(argv);
        // An app that was not read from a file has no folder.
        if !folder.as_os_str().is_empty() {
            command = command.with_cwd(folder);
        }
        Self { command, timeout: TIMEOUT }
    }

    /// Passes all variables of this process, by which password managers find the session of the user.
    pub(crate) fn with_whole_environment(mut self) -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        for (name, value) in variables {
            self.command = self.command.with_env(name, value);
        }
        self
    }

    #[cfg(test)]
    pub(super) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the command and returns what it prints, without blanks around it. An error continues a sentence whose subject
    /// is the command.
    pub(crate) async fn run(&self) -> Result<Secret, String> {
        let limits = RunLimits { stdout_bytes: MAX_SECRET_BYTES, ..RunLimits::default() };
        let ran = tokio::time::timeout(self.timeout, run(&self.command, None, &limits)).await;
        let ran = ran.map_err(|_| format!("has not ended after {:?}", self.timeout))?;
        let output = ran.map_err(|error| format!("cannot be run: {error}"))?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr);
            let message = truncate_chars(message.trim(), MAX_MESSAGE_CHARS);
            return Err(format!("failed ({}): {message}", output.status));
        }
        let text = String::from_utf8(output.stdout).unwrap_or_default();
        if text.trim().is_empty() || output.stdout_truncated {
            return Err(format!("printed no key: expected text of at most {MAX_SECRET_BYTES} bytes"));
        }
        Ok(Secret::new(text.trim()))
    }
}
