//! The secrets that an app was given, so that nothing says them.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_model::{Secret, words_of_name};

use super::Redactor;

/// The most secrets that are known at once. An app file names a few.
pub const MAX_SECRETS: usize = 1_000;

/// Words in the name of a setting or a variable that make what it holds a secret.
const SECRET_WORDS: [&str; 24] = [
    "apikey",
    "auth",
    "authentication",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "dsn",
    "jwt",
    "key",
    "keys",
    "pass",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pat",
    "pin",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Settings that hold secrets as a rule: what a server is sent, and what a child process is given.
const SECRET_SETTINGS: [&str; 4] = ["headers", "env", "cookies", "auth"];

/// Words in the name of a variable that say where or how something is, and so that it is none.
const PLAIN_WORDS: [&str; 28] = [
    "debug",
    "dir",
    "directory",
    "environment",
    "env",
    "file",
    "folder",
    "home",
    "host",
    "hostname",
    "lang",
    "language",
    "level",
    "locale",
    "log",
    "mode",
    "model",
    "name",
    "path",
    "port",
    "region",
    "root",
    "timeout",
    "timezone",
    "url",
    "version",
    "workspace",
    "zone",
];

/// Whether the value of an environment variable is a secret: it stands among the headers of a server or in the
/// environment of a child process, in the part of a URL that says who asks or what for, or in a setting whose name says
/// so, or the name of the variable says so. `pointer` is the place in the app file, `text` what is written there.
///
/// ```
/// use toolcrib_exec::is_secret;
///
/// assert!(is_secret("/tools/registry/0/headers/Authorization", "Bearer ${GH}", "GH"));
/// assert!(is_secret("/tools/registry/0/args/1", "${GITHUB_TOKEN}", "GITHUB_TOKEN"));
/// assert!(is_secret("/tools/registry/0/url", "https://me:${PW1}@host/", "PW1"));
/// assert!(!is_secret("/tools/registry/0/env/DATA", "${DATA_DIR}", "DATA_DIR"));
/// assert!(!is_secret("/tools/registry/0/path", "${DATA_DIR}/a.yaml", "DATA_DIR"));
/// ```
pub fn is_secret(pointer: &str, text: &str, variable: &str) -> bool {
    let is_among =
        |name: &str, known: &[&str]| words_of_name(name).iter().any(|word| known.contains(&word.as_str()));
    let mut settings =
        pointer.split('/').skip(1).filter(|part| part.bytes().any(|byte| !byte.is_ascii_digit()));
    let last = settings.clone().last().unwrap_or_default();
    if is_among(variable, &SECRET_WORDS) || is_among(last, &SECRET_WORDS) {
        return true;
    }
    let is_given_out = settings.any(|part| SECRET_SETTINGS.contains(&part.to_lowercase().as_str()));
    is_given_out && !is_among(variable, &PLAIN_WORDS) || is_private_in_url(text, variable)
}

/// Whether a URL has the variable before the `@` of its host, or in its query.
fn is_private_in_url(text: &str, variable: &str) -> bool {
    let Some((_, rest)) = text.split_once("://") else { return false };
    let names = |part: &str| {
        [format!("${{{variable}}}"), format!("${{{variable}:-")].iter().any(|name| part.contains(name))
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    names(user) || names(query)
}

/// The secrets that are known, and what takes them out of texts. A clone is the same collection, so that a logger which
/// is there before an app is read knows the secrets of the app.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<Known>>,
}

#[derive(Default)]
struct Known {
    secrets: Vec<(String, Secret)>,
    redactor: Arc<Redactor>,
    /// Whether the redactor knows all of the secrets.
    is_complete: bool,
}

impl Secrets {
    /// No secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret, under the name that is told in its place: that of its variable. It is known by its value, so that
    /// adding it again changes nothing. Says whether it will be taken out of texts: one of fewer bytes than
    /// [`MIN_SECRET_BYTES`](super::MIN_SECRET_BYTES) is not, and there are [`MAX_SECRETS`] at most.
    pub fn add(&self, name: impl Into<String>, secret: Secret) -> bool {
        if !Redactor::takes(&secret) {
            return false;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.secrets.iter().any(|(_, other)| *other == secret) {
            return true;
        }
        if known.secrets.len() >= MAX_SECRETS {
            return false;
        }
        known.secrets.push((name.into(), secret));
        known.is_complete = false;
        true
    }

    /// Adds a secret that others follow, such as a token: of those of this name, only the last `keep` are known.
    pub fn add_latest(&self, name: impl Into<String>, secret: Secret, keep: usize) -> bool {
        let name = name.into();
        if !Redactor::takes(&secret) {
            return false;
        }
        {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = known.secrets.iter().position(|(_, other)| *other == secret) {
                if known.secrets.get(at).is_some_and(|(other, _)| *other == name) {
                    // It is the last one again. What takes it out stays the same.
                    let again = known.secrets.remove(at);
                    known.secrets.push(again);
                }
                return true;
            }
            let is_one = |(other, _): &(String, Secret)| *other == name;
            let count = known.secrets.iter().filter(|one| is_one(one)).count();
            if count >= keep
                && let Some(oldest) = known.secrets.iter().position(is_one)
            {
                known.secrets.remove(oldest);
            }
        }
        self.add(name, secret)
    }

    /// What takes the secrets out of texts, as they are known now.
    pub fn redactor(&self) -> Arc<Redactor> {
        {
            let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
            if known.is_complete || known.secrets.is_empty() {
                return Arc::clone(&known.redactor);
            }
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if !known.is_complete {
            known.redactor = Arc::new(Redactor::new(&known.secrets));
            known.is_complete = true;
        }
        Arc::clone(&known.redactor)
    }

    /// A writer that takes the secrets out of whatever goes through it, such as the lines of a log. Each write is looked
    /// at by itself: a secret that is split between two is not found.
    pub fn writer<W: std::io::Write>(&self, inner: W) -> RedactingWriter<W> {
        RedactingWriter { secrets: self.clone(), inner }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Secrets({})", known.secrets.len())
    }
}

/// A writer behind [`Secrets::writer`].
#[derive(Debug)]
pub struct RedactingWriter<W> {
    secrets: Secrets,
    inner: W,
}

impl<W: std::io::Write> std::io::Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // All or nothing: what was redacted has no part that stands for a part of the bytes.
        self.inner.write_all(&self.secrets.redactor().redact_bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
