//! The secrets of an app, which are redacted everywhere.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use toolcrib_model::Secret;
use toolcrib_model::text::words_of_name;

use crate::Redactor;

/// The maximum number of secrets. An app file names a few.
const MAX_SECRETS: usize = 1_000;

/// The prefixes of tokens of well-known services.
pub const TOKEN_PREFIXES: [&str; 18] = [
    "sk-",
    "sk_",
    "pk_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "AIza",
    "eyJ",
    "hf_",
    "npm_",
    "ntn_",
    "secret_",
    "lin_api_",
];

/// Words in the name of a setting or a variable that mark its value as a secret.
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

/// Settings that mostly hold secrets: request headers, and the environment of child processes.
const SECRET_SETTINGS: [&str; 4] = ["headers", "env", "cookies", "auth"];

/// Words in the name of a variable that mark its value as a location or an option rather than a secret.
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

/// Returns true if the value of an environment variable is a secret: if it is used in the headers of a server or the
/// environment of a child process, in the user or query part of a URL, in a setting with a name of a secret, or if the
/// variable has such a name. `pointer` is the location in the app file, `text` the text there.
///
/// ```
/// use toolcrib_results::is_secret;
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

/// Returns true if a URL has the variable before the `@` of its host, or in its query.
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

/// A collection of secrets with their redactor. Clones share the collection, so that a logger that is created before an
/// app is read knows the secrets of the app.
#[derive(Clone, Default)]
pub struct Secrets {
    known: Arc<RwLock<SecretsState>>,
}

#[derive(Default)]
struct SecretsState {
    secrets: Vec<(String, Secret)>,
    redactor: Arc<Redactor>,
    /// True if the redactor includes all secrets.
    is_complete: bool,
}

impl Secrets {
    /// Creates an empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a secret under the name that replaces it: that of its variable. Secrets are identified by their values, so
    /// adding one again changes nothing. Returns true if it will be redacted: a secret shorter than
    /// [`MIN_SECRET_BYTES`](crate::MIN_SECRET_BYTES) is not, and there are at most 1,000.
    pub fn add(&self, name: impl Into<String>, secret: Secret) -> bool {
        if !Redactor::takes(&secret) {
            return false;
        }
        let mut known = self.known.write();
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

    /// Adds a secret that replaces earlier ones of the same name, such as a token: only the last `keep` are redacted.
    pub fn add_latest(&self, name: impl Into<String>, secret: Secret, keep: usize) -> bool {
        let name = name.into();
        if !Redactor::takes(&secret) {
            return false;
        }
        {
            let mut known = self.known.write();
            if let Some(at) = known.secrets.iter().position(|(_, other)| *other == secret) {
                if known.secrets.get(at).is_some_and(|(other, _)| *other == name) {
                    // The secret is the latest again. The redactor stays the same.
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

    /// Returns the redactor of all current secrets.
    pub fn redactor(&self) -> Arc<Redactor> {
        {
            let known = self.known.read();
            if known.is_complete || known.secrets.is_empty() {
                return Arc::clone(&known.redactor);
            }
        }
        let mut known = self.known.write();
        if !known.is_complete {
            known.redactor = Arc::new(Redactor::new(&known.secrets));
            known.is_complete = true;
        }
        Arc::clone(&known.redactor)
    }

    /// Returns a writer that redacts everything written to it, such as the lines of a log. Each write is redacted
    /// separately: a secret that is split between two writes is not found.
    pub fn writer<W: std::io::Write>(&self, inner: W) -> RedactingWriter<W> {
        RedactingWriter { secrets: self.clone(), inner }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.read();
        write!(f, "Secrets({})", known.secrets.len())
    }
}

/// The writer returned by [`Secrets::writer`].
#[derive(Debug)]
pub struct RedactingWriter<W> {
    secrets: Secrets,
    inner: W,
}

impl<W: std::io::Write> std::io::Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // The write is all or nothing: a part of the redacted output corresponds to no part of the input.
        self.inner.write_all(&self.secrets.redactor().redact_bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
