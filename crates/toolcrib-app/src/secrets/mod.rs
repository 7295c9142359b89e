//! Providers of secrets: what `{{secret.…}}` names, and where it is read.
//!
//! A value is read when a setting that names it is filled in, and kept until the file is read again. A provider that
//! fails is an error, even where a later one has the secret: another value than the intended one is never used.

mod blocking;
mod command;
mod dotenv;
mod folder;
mod keyring;
mod reference;
mod settings;
mod vault;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use toolcrib_model::Secret;

pub(crate) use self::command::SecretCommand;
pub(crate) use self::dotenv::DotEnv;
use self::folder::SecretFolder;
use self::keyring::Keyring;
pub(crate) use self::reference::Reference;
pub use self::settings::SecretProviderConfig;
pub(crate) use self::settings::check;
use self::vault::Vault;
use crate::file::environment::environment;
use crate::sections::values::unknown;

/// The longest secret, in bytes. Keys in PEM are the longest that are usual.
pub(crate) const MAX_SECRET_BYTES: usize = 16 * 1024;

/// The most characters that a message repeats of what a program or a server says.
const MAX_MESSAGE_CHARS: usize = 300;

/// The time at which a secret is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lookup {
    /// Once, until the app file is read again.
    Once,
    /// Now.
    Now,
}

/// The reason why there is no value of a secret.
#[derive(Clone, Debug)]
pub(crate) enum LookupError {
    /// No provider has it.
    Missing(String),
    /// A provider cannot be asked, or the reference is wrong.
    Failed(String),
}

impl From<LookupError> for String {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Missing(reason) | LookupError::Failed(reason) => reason,
        }
    }
}

/// A provider of secrets.
enum Provider {
    DotEnv(DotEnv),
    Folder(SecretFolder),
    Keyring(Keyring),
    Vault(Vault),
}

impl Provider {
    /// Returns a secret by its key; `None` if the provider does not have it.
    async fn read(&self, key: &str, lookup: Lookup) -> Result<Option<Secret>, String> {
        match self {
            Self::DotEnv(file) => Ok(file.get(key).map(Secret::new)),
            Self::Folder(folder) => folder.read(key),
            Self::Keyring(keyring) => keyring.read(key).await,
            Self::Vault(vault) => vault.read(key, lookup).await,
        }
    }

    /// Says where the provider looked for a key in vain.
    fn absence(&self, key: &str) -> String {
        match self {
            Self::DotEnv(file) => format!("no `{key}` in {}", file.path().display()),
            Self::Folder(folder) => folder.absence(key),
            Self::Keyring(keyring) => keyring.absence(key),
            Self::Vault(vault) => vault.absence(key),
        }
    }
}

/// A provider with the name by which references select it.
struct NamedProvider {
    name: String,
    provider: Result<Provider, String>,
}

impl NamedProvider {
    fn label(&self) -> String {
        match &self.provider {
            Ok(Provider::DotEnv(file)) => file.path().display().to_string(),
            Ok(Provider::Folder(folder)) => format!("the folder {}", folder.path().display()),
            Ok(Provider::Keyring(keyring)) => format!("the keyring, service `{}`", keyring.service()),
            Ok(Provider::Vault(vault)) => format!("`{}` ({})", self.name, vault.address()),
            Err(_) => format!("`{}`", self.name),
        }
    }

    async fn read(&self, key: &str, lookup: Lookup) -> Result<Option<Secret>, LookupError> {
        let provider = self.provider.as_ref().map_err(|reason| failed(key, self, reason))?;
        provider.read(key, lookup).await.map_err(|reason| failed(key, self, &reason))
    }
}

/// A secret, and the provider that has it.
#[derive(Clone)]
pub(crate) struct SecretValue {
    pub(crate) secret: Secret,
    pub(crate) provider: String,
}

/// The provider of a secret or a variable that an app file names, or the reason why no provider has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretOrigin {
    /// The text between the braces, after `secret.`; or the name of a variable from a file.
    pub name: String,
    /// The first setting that names it, such as `serve.tokens[0].token`.
    pub setting: String,
    /// The provider.
    pub provider: Result<String, String>,
}

/// The providers of an app file, with the values that were read. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct SecretProviders {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    /// The folder of the app file, in which commands run.
    folder: PathBuf,
    named: Vec<NamedProvider>,
    /// True if the app file names no providers, and the file `.env` is read in their place.
    is_default: bool,
    /// The results so far, by reference.
    read: Mutex<BTreeMap<String, Result<SecretValue, String>>>,
}

impl SecretProviders {
    fn new(folder: PathBuf, named: Vec<NamedProvider>, is_default: bool) -> Self {
        Self { inner: Arc::new(Inner { folder, named, is_default, read: Mutex::default() }) }
    }

    /// Creates the providers with these files of variables alone.
    pub(crate) fn of_variables(folder: PathBuf, files: Vec<(String, DotEnv)>) -> Self {
        let named = files
            .into_iter()
            .map(|(name, file)| NamedProvider { name, provider: Ok(Provider::DotEnv(file)) });
        Self::new(folder, named.collect(), false)
    }

    fn files(&self) -> impl Iterator<Item = &DotEnv> {
        self.inner.named.iter().filter_map(|named| match &named.provider {
            Ok(Provider::DotEnv(file)) => Some(file),
            _ => None,
        })
    }

    /// Returns the file of variables that is read because the app file names no providers.
    pub(crate) fn default_dotenv(&self) -> Option<&DotEnv> {
        self.files().next().filter(|_| self.inner.is_default)
    }

    /// Returns a variable of the files of variables.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.files().find_map(|file| file.get(name))
    }

    /// Returns the file that has a variable.
    pub(crate) fn file_with(&self, name: &str) -> Option<String> {
        let file = self.files().find(|file| file.get(name).is_some())?;
        Some(file.path().display().to_string())
    }

    /// Returns the files and folders that hold secrets.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &std::path::Path> {
        self.inner.named.iter().filter_map(|named| match &named.provider {
            Ok(Provider::DotEnv(file)) => Some(file.path()),
            Ok(Provider::Folder(folder)) => Some(folder.path()),
            Ok(Provider::Vault(vault)) => vault.token_file(),
            Ok(Provider::Keyring(_)) | Err(_) => None,
        })
    }

    /// Returns the warnings about lines that are not read, and about providers that cannot be used.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let unusable = self.inner.named.iter().filter_map(|named| {
            let reason = named.provider.as_ref().err()?;
            Some(format!("the secret provider `{}` cannot be used: {reason}", named.name))
        });
        self.files().flat_map(|file| file.warnings().iter().cloned()).chain(unusable).collect()
    }

    /// Reads the secret that the text between the braces names, after `secret`: once, until the file is read again. Blocks
    /// the thread.
    pub(crate) fn read(&self, text: &str) -> Result<SecretValue, String> {
        if let Some(read) = self.inner.read.lock().get(text) {
            return read.clone();
        }
        let reference = Reference::parse(text)?;
        let result = match &reference {
            // Most secrets are variables, for which no thread is needed.
            Reference::Name(name) if self.inner.named.is_empty() => {
                of_environment(name).ok_or_else(|| not_set(name))
            }
            _ => blocking::run(async { self.fetch(&reference, Lookup::Once).await.map_err(String::from) }),
        };
        self.inner.read.lock().insert(text.to_owned(), result.clone());
        result
    }

    /// Reads a secret now, regardless of what was read before.
    pub(crate) async fn fetch_now(&self, reference: &Reference) -> Result<SecretValue, LookupError> {
        self.fetch(reference, Lookup::Now).await
    }

    async fn fetch(&self, reference: &Reference, lookup: Lookup) -> Result<SecretValue, LookupError> {
        match reference {
            Reference::Name(name) => self.first(name, lookup).await,
            Reference::Command(argv) => {
                let program = argv.first().map_or("", String::as_str);
                let command = SecretCommand::new(argv.clone(), &self.inner.folder).with_whole_environment();
                let read = command.run().await;
                let read = read.map_err(|reason| {
                    LookupError::Failed(format!("the secret command `{program}` {reason}"))
                });
                read.map(|secret| SecretValue { secret, provider: format!("the command `{program}`") })
            }
            Reference::Of { provider, key } => {
                let Some(named) = self.inner.named.iter().find(|named| named.name == *provider) else {
                    let known: Vec<_> = self.inner.named.iter().map(|named| named.name.as_str()).collect();
                    return Err(LookupError::Failed(unknown("secret provider", provider, &known)));
                };
                match named.read(key, lookup).await? {
                    Some(secret) => Ok(SecretValue { secret, provider: named.label() }),
                    None => Err(LookupError::Missing(Self::missing(key, &[named]))),
                }
            }
        }
    }

    /// Returns the secret of the first provider that has it, the environment before all others.
    async fn first(&self, name: &str, lookup: Lookup) -> Result<SecretValue, LookupError> {
        if let Some(found) = of_environment(name) {
            return Ok(found);
        }
        for named in &self.inner.named {
            if let Some(secret) = named.read(name, lookup).await? {
                return Ok(SecretValue { secret, provider: named.label() });
            }
        }
        let asked: Vec<_> = self.inner.named.iter().collect();
        if asked.is_empty() {
            return Err(LookupError::Missing(not_set(name)));
        }
        let missing = Self::missing(name, &asked);
        Err(LookupError::Missing(format!("{missing}, or set the environment variable `{name}`")))
    }

    fn missing(key: &str, asked: &[&NamedProvider]) -> String {
        let places: Vec<_> =
            asked.iter().filter_map(|named| Some(named.provider.as_ref().ok()?.absence(key))).collect();
        let (it, plural) = if asked.len() == 1 { ("there", "") } else { ("to one of them", "s") };
        format!("the secret `{key}` is not set: the provider{plural} have {}; add it {it}", places.join(", "))
            .replace("the provider have", "the provider has")
    }
}

impl fmt::Debug for SecretProviders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.inner.named.iter().map(|named| &named.name).collect();
        f.debug_struct("SecretProviders").field("named", &names).finish_non_exhaustive()
    }
}

fn of_environment(name: &str) -> Option<SecretValue> {
    let value = environment(name).filter(|value| !value.is_empty())?;
    Some(SecretValue { secret: Secret::new(value), provider: "the environment".to_owned() })
}

fn not_set(name: &str) -> String {
    format!("the secret `{name}` is not set; set the environment variable `{name}`")
}

fn failed(key: &str, named: &NamedProvider, reason: &str) -> LookupError {
    LookupError::Failed(format!("the secret `{key}` cannot be read from {}: {reason}", named.label()))
}
