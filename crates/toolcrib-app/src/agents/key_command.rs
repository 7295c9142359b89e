//! Keys that a command prints, such as tokens that expire.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::time::Instant;
use toolcrib_agent::Error;
use toolcrib_agent::api::KeySource;
use toolcrib_model::Secret;
use toolcrib_results::Secrets;

use crate::AppFile;
use crate::file::variables::lookup;
use crate::secrets::SecretCommand;
use crate::sections::agents::BrainConfig;

/// Returns the key of a model's provider in the environment, or in a file of variables.
pub(super) fn own_key(file: &AppFile, brain: &BrainConfig) -> Option<String> {
    let name = brain.provider.key_variable()?;
    lookup(file, name).filter(|key| !key.is_empty())
}

/// The time for which a key is used. Tokens of clouds are valid for an hour, and some commands print one that is not new.
const LIFETIME: Duration = Duration::from_mins(5);

/// The name of such a key among the secrets.
const SECRET_NAME: &str = "api_key_command";

/// The number of keys that are taken out of results: those of the latest runs of the command.
const KEPT_SECRETS: usize = 4;

/// A command that prints a key.
pub(super) struct KeyCommand {
    argv: Vec<String>,
    folder: PathBuf,
    secrets: Secrets,
    /// The key, and the time until which it is used.
    kept: Mutex<Option<(Secret, Instant)>>,
    /// Held while the command runs, so that requests at the same time run it once.
    running: tokio::sync::Mutex<()>,
}

impl KeyCommand {
    /// Creates the source of a key. The command runs in the folder, and what it prints becomes one of the secrets.
    pub(super) fn new(argv: Vec<String>, folder: &Path, secrets: Secrets) -> Self {
        let (kept, running) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { argv, folder: folder.to_owned(), secrets, kept, running }
    }

    fn kept(&self) -> Option<Secret> {
        let kept = self.kept.lock();
        kept.as_ref().filter(|(_, until)| Instant::now() < *until).map(|(key, _)| key.clone())
    }

    fn failed(&self, reason: impl Into<String>) -> Error {
        let program = self.argv.first().cloned().unwrap_or_default();
        Error::NoKey { program, reason: reason.into() }
    }
}

#[async_trait]
impl KeySource for KeyCommand {
    async fn key(&self) -> Result<Secret, Error> {
        let _running = self.running.lock().await;
        if let Some(key) = self.kept() {
            return Ok(key);
        }
        let command = SecretCommand::new(self.argv.clone(), &self.folder);
        let key = command.run().await.map_err(|reason| self.failed(reason))?;
        self.secrets.add_latest(SECRET_NAME, key.clone(), KEPT_SECRETS);
        *self.kept.lock() = Some((key.clone(), Instant::now() + LIFETIME));
        Ok(key)
    }

    fn forget(&self) {
        *self.kept.lock() = None;
    }
}

impl fmt::Debug for KeyCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyCommand").field("argv", &self.argv).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(folder: &Path, script: &str) -> KeyCommand {
        KeyCommand::new(vec!["sh".into(), "-c".into(), script.into()], folder, Secrets::default())
    }

    #[tokio::test]
    async fn a_key_is_printed_once_until_it_is_refused_and_is_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let source = command(folder.path(), "echo ran >> runs.txt; echo token-$(grep -c ran runs.txt)");
        let (one, other) = tokio::join!(source.key(), source.key());
        assert_eq!([one.unwrap().expose(), other.unwrap().expose()], ["token-1", "token-1"]);
        source.forget();
        assert_eq!(source.key().await.unwrap().expose(), "token-2");
        let mut text = serde_json::json!("sent token-1 and token-2");
        source.secrets.redactor().redact_value(&mut text);
        assert!(!text.to_string().contains("token-"), "{text}");
        assert!(!format!("{source:?}").contains("token-2"));
    }

    #[tokio::test]
    async fn a_command_that_prints_no_key_says_why() {
        let folder = tempfile::tempdir().unwrap();
        for (script, reason) in [
            ("echo 'not logged in' >&2; exit 3", "not logged in"),
            ("true", "printed no key"),
            ("head -c 20000 /dev/zero | tr '\\0' a", "printed no key"),
        ] {
            let error = command(folder.path(), script).key().await.unwrap_err().to_string();
            assert!(error.starts_with("`api_key_command` `sh`") && error.contains(reason), "{error}");
            assert!(error.ends_with("run it in a terminal to see what it needs"), "{error}");
        }
        let missing = KeyCommand::new(vec!["no-such-program".into()], folder.path(), Secrets::default());
        let error = missing.key().await.unwrap_err().to_string();
        assert!(error.contains("cannot be run"), "{error}");
    }
}
