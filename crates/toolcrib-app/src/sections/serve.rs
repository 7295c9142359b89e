//! The serve section of an app file: its clients, their limits and their surface.

mod oauth;
pub(crate) mod surface;

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};
use toolcrib_document::Error as DocumentError;
use toolcrib_model::{Risk, Secret};
use toolcrib_policy::{Policy, Scope, SettingLocation};
use url::Url;

pub use self::oauth::{OAuthClient, OAuthConfig, ServedOAuth};
pub use self::surface::SurfaceMode;
use crate::file::expansion;
use crate::findings::Findings;
use crate::sections::runtime::ScriptMode;
use crate::sections::values::present;
use crate::{App, AppFile, Error};

/// The prefix of the sessions of all clients. The name of the client follows, and then the id of the session:
/// `serve/ci/2b6f…`.
pub(crate) const SERVED_SESSIONS: &str = "serve/";

/// The client without a token, if none is required.
pub const LOCAL_CLIENT: &str = "local";

/// The rule that denies everything to the sessions of a client that the app names no more.
const UNKNOWN_CLIENT: &str = "serve: the app has no such client";

/// The fewest characters of a token. A shorter one can be guessed.
pub const MIN_TOKEN_CHARS: usize = 16;

/// The most tokens.
pub const MAX_TOKENS: usize = 256;

/// The longest name of a client.
const MAX_CLIENT_CHARS: usize = 64;

/// `serve`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServeSection {
    /// The tools that clients see. The default is `auto`.
    pub surface: SurfaceMode,
    /// Tools that clients always see with their parameters, in any spelling, in addition to `runtime.pinned`.
    pub pin: Vec<String>,
    /// The condition for offering clients `run_script`, by which a model runs a program instead of many calls. The
    /// default is `auto`.
    pub scripts: ScriptMode,
    /// True if tools are listed by the names that their sources gave them, if those are unique. Otherwise the names
    /// are `NAMESPACE__NAME`.
    pub short_names: bool,
    /// True if found tools run through `execute_read`, `execute_write` and `execute_destructive`, which a client can
    /// approve separately, instead of `execute_tool`.
    pub split_execute: bool,
    /// The clients that may connect over HTTP. Without any, every client on this machine may.
    pub tokens: Vec<TokenConfig>,
    /// An authorization server whose tokens are accepted.
    #[serde(deserialize_with = "present")]
    pub oauth: Option<OAuthConfig>,
    /// Host names under which clients may address this server, in addition to those of this machine: `host` or
    /// `host:port`.
    pub allowed_hosts: Vec<String>,
    /// Web origins that may send requests: `https://example.com:443`, or with `:*` for any port. By default none.
    pub allowed_origins: Vec<String>,
    /// True if there is a console at `/`. By default only on loopback addresses.
    #[serde(deserialize_with = "present")]
    pub page: Option<bool>,
    /// True if `toolcrib approve` on this machine can answer waiting calls. The default is false, since a program of
    /// the same user could answer them too. Read when serving begins.
    pub approve: bool,
    /// The URL at which the other replicas reach this one, to hand over requests of its sessions. By default
    /// `http://ADDRESS` of the listener; without one if that is all addresses of the machine, so that clients of the
    /// session begin another.
    #[serde(deserialize_with = "present")]
    pub handoff_url: Option<String>,
    /// Limits of connections and requests.
    pub limits: ServeLimits,
}

/// One entry of `serve.tokens`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TokenConfig {
    /// The name of the client. Rules refer to its sessions as `serve/NAME/*`.
    pub name: String,
    /// The token, as `${NAME}`; at least [`MIN_TOKEN_CHARS`] characters.
    pub token: String,
    /// The namespaces that exist for the client. By default all. Globs.
    #[serde(default, deserialize_with = "present")]
    pub namespaces: Option<Vec<String>>,
    /// The highest risk of tools that exist for the client. By default any.
    #[serde(default, deserialize_with = "present")]
    pub max_risk_level: Option<Risk>,
    /// The profile that limits the client, one of `profiles`. By default none.
    #[serde(default, deserialize_with = "present")]
    pub profile: Option<String>,
}

/// `serve.limits`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServeLimits {
    /// The maximum size of a request body in bytes. The default is 4 MiB, the maximum 64 MiB.
    #[serde(deserialize_with = "body_bytes")]
    pub body_bytes: NonZeroUsize,
    /// The maximum number of connections.
    pub connections: NonZeroUsize,
    /// The maximum number of sessions of clients before revision 2026-07-28.
    pub sessions: NonZeroUsize,
    /// The maximum number of open requests of one client, including streams.
    pub requests_at_once: NonZeroUsize,
    /// The maximum number of requests of one client per second. Bursts may have twice as many.
    pub requests_per_second: NonZeroU32,
    /// The seconds for the head of a request, from 1 to 300.
    #[serde(deserialize_with = "seconds")]
    pub head_seconds: NonZeroU32,
    /// The seconds for the body of a request, from 1 to 300.
    #[serde(deserialize_with = "seconds")]
    pub body_seconds: NonZeroU32,
}

/// The largest body of a request that an app may let in, in bytes.
pub const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// The longest that the head or the body of a request may be given.
const MAX_SECONDS: u32 = 300;

impl Default for ServeLimits {
    fn default() -> Self {
        let count = |count| NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN);
        let number = |number| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        Self {
            body_bytes: count(4 * 1024 * 1024),
            connections: count(1024),
            sessions: count(1024),
            requests_at_once: count(512),
            requests_per_second: number(500),
            head_seconds: number(10),
            body_seconds: number(30),
        }
    }
}

fn body_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroUsize, D::Error> {
    let bytes = NonZeroUsize::deserialize(deserializer)?;
    if bytes.get() <= MAX_BODY_BYTES {
        return Ok(bytes);
    }
    Err(de::Error::custom(format_args!("must be at most {MAX_BODY_BYTES} bytes, not {bytes}")))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NonZeroU32, D::Error> {
    let seconds = NonZeroU32::deserialize(deserializer)?;
    if seconds.get() <= MAX_SECONDS {
        return Ok(seconds);
    }
    Err(de::Error::custom(format_args!("must be from 1 to {MAX_SECONDS} seconds, not {seconds}")))
}

/// A client with a token.
#[derive(Clone, Debug)]
pub struct ServedClient {
    /// Its name.
    pub name: String,
    /// Its token.
    pub token: Secret,
}

impl ServeSection {
    /// Returns the clients that have a token, with what their variables hold now.
    pub fn clients(&self, file: &AppFile) -> Result<Vec<ServedClient>, Error> {
        let tokens = self.tokens.iter().enumerate();
        let clients: Vec<_> = tokens
            .map(|(position, config)| {
                let place = format!("/serve/tokens/{position}/token");
                let text = expansion::expanded(file, &config.token, &place, false)
                    .map_err(|error| file.wrong(error))?;
                if let Some(message) = too_short("token", &text) {
                    return Err(file.wrong(file.error_at(&place, message)));
                }
                let token = Secret::new(text);
                file.secrets.add(&config.name, token.clone());
                Ok(ServedClient { name: config.name.clone(), token })
            })
            .collect::<Result<_, Error>>()?;
        for (position, client) in clients.iter().enumerate() {
            if clients.iter().take(position).any(|other| other.token.expose() == client.token.expose()) {
                let message = "another client has this token already; give each its own";
                let place = format!("/serve/tokens/{position}/token");
                return Err(file.wrong(file.error_at(&place, message)));
            }
        }
        Ok(clients)
    }
}

impl ServeSection {
    /// Returns `handoff_url`, with what its variables hold now.
    pub fn handoff_url(&self, file: &AppFile) -> Result<Option<Url>, Error> {
        const PLACE: &str = "/serve/handoff_url";
        let Some(text) = &self.handoff_url else { return Ok(None) };
        let text = expansion::expanded(file, text, PLACE, false).map_err(|error| file.wrong(error))?;
        let url = Url::parse(&text).ok().filter(|url| {
            let is_origin = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
            matches!(url.scheme(), "http" | "https") && url.username().is_empty() && is_origin
        });
        if url.is_none() {
            let message = format!("expected `http://HOST:PORT` or `https://HOST:PORT`, found {text:?}");
            return Err(file.wrong(file.error_at(PLACE, message)));
        }
        Ok(url)
    }
}

/// Returns the message of a token or a key that can be guessed.
pub(crate) fn too_short(what: &str, token: &str) -> Option<String> {
    (token.chars().count() < MIN_TOKEN_CHARS)
        .then(|| format!("a {what} has at least {MIN_TOKEN_CHARS} characters; this one has fewer"))
}

/// Checks the section beyond its types, and returns the policy with what the app leaves its clients.
pub(crate) fn scope(policy: Option<Policy>, app: &App, found: &mut Findings) -> Option<Policy> {
    let (section, file) = (&app.config.serve, &app.file);
    let policy = policy.and_then(|policy| found.built(scoped(policy, section, file)));
    check(section, file, &mut found.errors);
    policy
}

/// Returns the policy with what the app leaves its clients. A client that the app does not name is left nothing: what
/// it has started earlier must not run with the rights of the whole app.
fn scoped(policy: Policy, section: &ServeSection, file: &AppFile) -> Result<Policy, DocumentError> {
    let mut policy = policy
        .with_unknown_denied(SERVED_SESSIONS, UNKNOWN_CLIENT)
        .with_known_sessions(&sessions_of(LOCAL_CLIENT));
    let serve = SettingLocation::default().key("serve");
    let list = serve.key("tokens");
    let tokens = section.tokens.iter().enumerate();
    let tokens = tokens
        .map(|(position, token)| (list.at(position), &token.name, token.scope(), token.profile.as_deref()));
    let clients = section.oauth.iter().flat_map(|oauth| &oauth.clients).enumerate();
    let list = serve.key("oauth").key("clients");
    let clients = clients.map(|(position, client)| {
        (list.at(position), &client.name, client.scope(), client.profile.as_deref())
    });
    for (location, name, scope, profile) in tokens.chain(clients) {
        let sessions = sessions_of(name);
        policy = policy
            .with_scope(&sessions, &scope, &location)
            .map_err(|error| file.error_at(error.place().pointer(), error.to_string()))?;
        policy =
            profile.into_iter().fold(policy, |policy, profile| policy.with_profile_of(&sessions, profile));
    }
    Ok(policy)
}

/// Returns the prefix of a client's sessions.
pub fn sessions_of(client: &str) -> String {
    format!("{SERVED_SESSIONS}{client}/")
}

/// Returns the prefix of the sessions that a client has at the endpoint of a profile.
pub fn sessions_in_profile(client: &str, profile: &str) -> String {
    format!("{}{profile}/", sessions_of(client))
}

impl TokenConfig {
    fn scope(&self) -> Scope {
        let (namespaces, max_risk_level) = (self.namespaces.clone(), self.max_risk_level);
        Scope { namespaces, max_risk_level, ..Scope::default() }
    }
}

/// Checks the section beyond its types.
fn check(section: &ServeSection, file: &AppFile, errors: &mut Vec<DocumentError>) {
    let tokens = &section.tokens;
    if tokens.len() > MAX_TOKENS {
        let message = format!("there are at most {MAX_TOKENS} tokens, not {}", tokens.len());
        errors.push(file.error_at("/serve/tokens", message));
    }
    let clients = section.oauth.iter().flat_map(|oauth| &oauth.clients);
    let tokens = tokens.iter().enumerate().map(|(position, token)| ("tokens", position, &token.name));
    let clients = clients.enumerate().map(|(position, client)| ("oauth/clients", position, &client.name));
    let mut names = BTreeSet::new();
    for (list, position, name) in tokens.chain(clients) {
        let place = format!("/serve/{list}/{position}/name");
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > MAX_CLIENT_CHARS || !name.chars().all(is_plain) {
            let message = format!("a name has up to {MAX_CLIENT_CHARS} letters, digits, `-` and `_`");
            errors.push(file.error_at(&place, message));
        } else if !names.insert(name) || name == LOCAL_CLIENT {
            let message = format!("there is a client `{name}` already");
            errors.push(file.error_at(&place, message));
        }
    }
    for (position, config) in section.tokens.iter().enumerate() {
        let place = format!("/serve/tokens/{position}/token");
        // One whose variable is not set here may be set where the app is served.
        if let Ok(text) = expansion::expanded(file, &config.token, &place, false)
            && let Some(message) = too_short("token", &text)
        {
            errors.push(file.error_at(&place, message));
        }
    }
    if let Some(oauth) = &section.oauth {
        oauth::check(oauth, file, errors);
    }
}
