//! `auth` of an MCP server: how we are authorized there, as an app file writes it.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toolcrib_loader_mcp::{Grant, McpAuth, TokenStore};
use toolcrib_model::Secret;
use url::Url;

use super::built_in::may_reach;
use crate::extensions::Place;

/// How many secrets that were issued for one server are known at once, so that nothing says them: the tokens of the
/// last renewals, and the secret of the client.
const KNOWN_SECRETS: usize = 9;

/// The settings. All of them may be left out: most servers say where to log in, and register clients by themselves.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpAuthEntry {
    #[serde(default)]
    grant: GrantEntry,
    client_id: Option<String>,
    client_secret: Option<Secret>,
    private_key: Option<Secret>,
    client_metadata_url: Option<String>,
    issuer: Option<String>,
    #[serde(default)]
    scopes: Vec<String>,
    redirect_port: Option<u16>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum GrantEntry {
    #[default]
    AuthorizationCode,
    ClientCredentials,
}

/// How we are authorized at a server, by its entry or by default; `None` when its headers say it.
pub(super) fn open(
    entry: Option<McpAuthEntry>,
    headers: &[(String, Secret)],
    place: &Place<'_>,
    namespace: &str,
) -> Result<Option<McpAuth>, String> {
    let is_in_headers = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    match entry {
        Some(_) if is_in_headers => {
            Err("`headers` has `Authorization` already; leave that or `auth` out".into())
        }
        None if is_in_headers => Ok(None),
        None => Ok(Some(by_default(place, namespace)?)),
        Some(entry) => entry.settings(by_default(place, namespace)?).map(Some),
    }
}

fn by_default(place: &Place<'_>, namespace: &str) -> Result<McpAuth, String> {
    let mut auth = McpAuth::new().with_store(store());
    let secrets = place.secrets().clone();
    let name = format!("{namespace}.token");
    auth.on_secret = Some(Arc::new(move |secret| {
        secrets.add_latest(name.as_str(), secret.clone(), KNOWN_SECRETS);
    }));
    auth.login_command = Some(format!("toolcrib login {} {namespace}", quoted(place.file())));
    auth.access = place.access()?;
    Ok(auth)
}

impl McpAuthEntry {
    /// The settings laid over the defaults, or what is wrong with them.
    fn settings(self, mut auth: McpAuth) -> Result<McpAuth, String> {
        let has_proof = self.client_secret.is_some() || self.private_key.is_some();
        if has_proof && self.client_id.is_none() {
            return Err("`auth` has a secret and no client; set `client_id` too".into());
        }
        if self.client_secret.is_some() && self.private_key.is_some() {
            return Err(
                "`auth` has a `client_secret` and a `private_key`; a client proves itself by one of them"
                    .into(),
            );
        }
        auth.grant = match self.grant {
            GrantEntry::AuthorizationCode => Grant::AuthorizationCode,
            GrantEntry::ClientCredentials if has_proof => Grant::ClientCredentials,
            GrantEntry::ClientCredentials => {
                return Err("`grant: client_credentials` needs a `client_id`, and its `client_secret` or `private_key`".into());
            }
        };
        if let Some(issuer) = &self.issuer {
            Url::parse(issuer).map_err(|error| format!("`issuer` is not a URL: {error}"))?;
            may_reach(&auth.access, issuer)?;
        }
        if let Some(document) = &self.client_metadata_url {
            let url = Url::parse(document).ok().filter(|url| url.scheme() == "https" && url.path() != "/");
            url.ok_or("`client_metadata_url` has to be an https URL with a path")?;
        }
        auth.client_id = self.client_id;
        auth.client_secret = self.client_secret;
        auth.private_key = self.private_key;
        auth.client_metadata_url = self.client_metadata_url;
        auth.issuer = self.issuer;
        auth.scopes = self.scopes;
        auth.redirect_port = self.redirect_port;
        Ok(auth)
    }
}

/// Tokens are kept where the state of programs is; a machine without such a place keeps them in memory.
fn store() -> TokenStore {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.map_or_else(TokenStore::memory, |state| TokenStore::folder(state.join(Path::new("toolcrib/oauth"))))
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ':');
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}
