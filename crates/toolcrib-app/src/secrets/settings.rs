//! The section `secrets` of an app file.

use schemars::JsonSchema;
use serde::Deserialize;
use toolcrib_document::Error as DocumentError;
use toolcrib_model::Secret;
use url::Url;

use super::dotenv::DotEnv;
use super::folder::SecretFolder;
use super::keyring::{DEFAULT_SERVICE, Keyring};
use super::reference::COMMAND;
use super::vault::{Token, Vault};
use super::{NamedProvider, Provider, SecretProviders};
use crate::AppFile;
use crate::file::expansion;
use crate::sections::values::{check_name, present};

/// The most providers.
const MAX_PROVIDERS: usize = 16;

/// The file of variables of an app that names no providers.
const DOTENV: &str = ".env";

/// One entry of `secrets`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
#[non_exhaustive]
pub enum SecretProviderConfig {
    /// A file with a line `NAME=VALUE` for each variable.
    Dotenv {
        /// The name in `{{secret.NAME: KEY}}`; the type by default.
        #[serde(default, deserialize_with = "present")]
        name: Option<String>,
        /// The file, relative to the app file; `.env` by default.
        #[serde(default, deserialize_with = "present")]
        path: Option<String>,
    },
    /// A folder with a file for each secret.
    Files {
        /// The name in `{{secret.NAME: KEY}}`; the type by default.
        #[serde(default, deserialize_with = "present")]
        name: Option<String>,
        /// The folder, such as `/run/secrets`, relative to the app file.
        path: String,
    },
    /// The keyring of the system, in a program that is built with the feature `keyring`.
    Keyring {
        /// The name in `{{secret.NAME: KEY}}`; the type by default.
        #[serde(default, deserialize_with = "present")]
        name: Option<String>,
        /// The service of the entries, whose accounts are the keys; `toolcrib` by default.
        #[serde(default, deserialize_with = "present")]
        service: Option<String>,
    },
    /// A server of Vault or OpenBao with the key/value engine, version 2.
    Vault {
        /// The name in `{{secret.NAME: KEY}}`; the type by default.
        #[serde(default, deserialize_with = "present")]
        name: Option<String>,
        /// The URL of the server.
        url: String,
        /// The mount of the engine; `secret` by default.
        #[serde(default, deserialize_with = "present")]
        mount: Option<String>,
        /// The path of the secret whose fields are the secrets. Without it, a key is `PATH#FIELD`, or `PATH` for its field
        /// `value`.
        #[serde(default, deserialize_with = "present")]
        path: Option<String>,
        /// The namespace of Vault Enterprise or OpenBao.
        #[serde(default, deserialize_with = "present")]
        namespace: Option<String>,
        /// The token, as `${VAULT_TOKEN}`.
        #[serde(default, deserialize_with = "present")]
        token: Option<String>,
        /// The file with the token, which an agent renews, relative to the app file.
        #[serde(default, deserialize_with = "present")]
        token_file: Option<String>,
    },
}

impl SecretProviderConfig {
    fn name(&self) -> &str {
        let (name, kind) = match self {
            Self::Dotenv { name, .. } => (name, "dotenv"),
            Self::Files { name, .. } => (name, "files"),
            Self::Keyring { name, .. } => (name, "keyring"),
            Self::Vault { name, .. } => (name, "vault"),
        };
        name.as_deref().unwrap_or(kind)
    }
}

/// Checks the section.
pub(crate) fn check(entries: &[SecretProviderConfig], file: &AppFile, errors: &mut Vec<DocumentError>) {
    if entries.len() > MAX_PROVIDERS {
        let message =
            format!("there are {} providers, and at most {MAX_PROVIDERS} are allowed", entries.len());
        errors.push(file.error_at("/secrets", message));
    }
    for (position, entry) in entries.iter().enumerate() {
        let place = format!("/secrets/{position}");
        let name = entry.name();
        if let Err(message) = check_name("a secret provider", name) {
            errors.push(file.error_at(&place, message));
        }
        let message = if name == COMMAND {
            format!("`{COMMAND}` is the provider of commands; give this one another `name`")
        } else if entries.iter().take(position).any(|other| other.name() == name) {
            format!("another provider is called `{name}` already; give this one another `name`")
        } else {
            match entry {
                SecretProviderConfig::Vault { token, token_file, .. }
                    if token.is_some() == token_file.is_some() =>
                {
                    "the provider needs either `token`, such as ${VAULT_TOKEN}, or `token_file`".to_owned()
                }
                SecretProviderConfig::Vault { url, .. } if !url.contains("${") && server(url).is_err() => {
                    format!("`url` is not an http or https URL: {url}")
                }
                _ => continue,
            }
        };
        errors.push(file.error_at(&place, message));
    }
}

fn server(url: &str) -> Result<Url, String> {
    let parsed = Url::parse(url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    parsed.ok_or_else(|| "its `url` is not an http or https URL".to_owned())
}

impl SecretProviders {
    /// Opens the providers of an app file, which reads its own settings by those of the environment and of the files of
    /// variables. Without entries there is the file `.env`, if it is one of the defaults.
    pub(crate) fn open(entries: Option<&[SecretProviderConfig]>, file: &mut AppFile, reads_dotenv: bool) {
        let is_default = entries.is_none();
        let default = [SecretProviderConfig::Dotenv { name: None, path: None }];
        let entries = entries.unwrap_or(if reads_dotenv { &default } else { &[] });
        let variables = entries.iter().filter_map(|entry| match entry {
            SecretProviderConfig::Dotenv { path, .. } => {
                let path = file.path(path.as_deref().unwrap_or(DOTENV));
                Some((entry.name().to_owned(), DotEnv::open(path).ok()?))
            }
            _ => None,
        });
        let variables = Self::of_variables(file.folder.clone(), variables.collect());
        file.providers = variables;
        let named = entries.iter().enumerate().map(|(position, entry)| NamedProvider {
            name: entry.name().to_owned(),
            provider: provider(entry, &format!("/secrets/{position}"), file),
        });
        file.providers = Self::new(file.folder.clone(), named.collect(), is_default);
    }
}

fn provider(entry: &SecretProviderConfig, place: &str, file: &AppFile) -> Result<Provider, String> {
    let text = |text: &str, key: &str| {
        let filled = expansion::expanded(file, text, &format!("{place}/{key}"), false);
        filled.map_err(|error| error.to_string())
    };
    match entry {
        SecretProviderConfig::Dotenv { path, .. } => {
            DotEnv::open(file.path(path.as_deref().unwrap_or(DOTENV))).map(Provider::DotEnv)
        }
        SecretProviderConfig::Files { path, .. } => {
            let path = file.path(&text(path, "path")?);
            Ok(Provider::Folder(SecretFolder::new(path)))
        }
        SecretProviderConfig::Keyring { service, .. } => {
            let service = service.as_deref().map(|service| text(service, "service")).transpose()?;
            Keyring::new(service.unwrap_or_else(|| DEFAULT_SERVICE.to_owned())).map(Provider::Keyring)
        }
        SecretProviderConfig::Vault { url, mount, path, namespace, token, token_file, .. } => {
            let optional = |given: &Option<String>, key: &str| {
                given.as_deref().map(|given| text(given, key)).transpose()
            };
            let token = match (optional(token, "token")?, optional(token_file, "token_file")?) {
                (Some(token), _) => {
                    let token = Secret::new(token);
                    file.secrets.add("VAULT_TOKEN", token.clone());
                    Token::Text(token)
                }
                (None, path) => Token::File(file.path(&path.unwrap_or_default())),
            };
            Ok(Provider::Vault(Vault {
                url: server(&text(url, "url")?)?,
                mount: optional(mount, "mount")?.unwrap_or_else(|| "secret".to_owned()),
                path: optional(path, "path")?,
                namespace: optional(namespace, "namespace")?,
                token,
                kept: tokio::sync::Mutex::default(),
            }))
        }
    }
}
