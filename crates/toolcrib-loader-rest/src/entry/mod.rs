//! The entry of an OpenAPI document in an app file: `type: rest` of `tools.registry`.

mod auth;
mod selection;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::{Fingerprint, Secret};
use toolcrib_oauth::client::{LoginLinks, TokenStore};
use toolcrib_sdk::{AppEntry, Seconds, Source, UserHeaders};

use self::auth::{AuthEntry, one_or_many};
pub use self::selection::with_default_cache;
use self::selection::{CacheEntry, SelectorEntry, keep, select};
use crate::oauth::Authorization;
use crate::{RestSource, SpecLocation};

/// The largest answer that an app file can have read, in bytes.
const MAX_RESPONSE_BYTES: usize = 100 * 1024 * 1024;

/// The settings of `type: rest`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestEntry {
    namespace: String,
    spec: String,
    base_url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
    /// Headers with another value for each user.
    #[serde(default)]
    user_headers: BTreeMap<String, String>,
    /// One credential, or several.
    #[serde(default, deserialize_with = "one_or_many")]
    auth: Vec<AuthEntry>,
    /// Of the URLs of the document's servers.
    #[serde(default)]
    variables: BTreeMap<String, String>,
    #[serde(default)]
    allow_private: bool,
    timeout_seconds: Option<Seconds>,
    max_response_bytes: Option<usize>,
    #[serde(default, deserialize_with = "one_or_many")]
    include: Vec<SelectorEntry>,
    #[serde(default, deserialize_with = "one_or_many")]
    exclude: Vec<SelectorEntry>,
    #[serde(default, deserialize_with = "one_or_many")]
    risks: Vec<SelectorEntry>,
    #[serde(default, deserialize_with = "one_or_many")]
    idempotent: Vec<SelectorEntry>,
    cache: Option<CacheEntry>,
}

/// An entry of an app file for an API at which users may log in.
pub trait ApiEntry: AppEntry {
    /// Returns the contents of a source that processes on several machines share, if they do.
    fn generation(&self, id: &str) -> Result<Option<Arc<SharedGeneration>>, String>;

    /// Returns the store for tokens of servers.
    fn token_store(&self) -> Result<TokenStore, String>;

    /// Returns the logins of users by a link.
    fn login_links(&self) -> LoginLinks;
}

/// Opens the source of an entry.
///
/// # Errors
///
/// Returns a message for the operator if the settings are wrong.
pub fn open(entry: RestEntry, place: &dyn ApiEntry) -> Result<Source, String> {
    let mut source = configured(entry, place)?;
    source.login_links = Some(place.login_links());
    self::source(source)
}

/// Returns the source of an entry, with its settings.
fn configured(entry: RestEntry, place: &dyn ApiEntry) -> Result<RestSource, String> {
    let spec = located(place.folder(), &entry.spec);
    let access = place.access()?;
    let issuers = entry.auth.iter().flat_map(AuthEntry::issuers);
    for url in entry.base_url.iter().chain(Some(&spec).filter(|spec| is_url(spec))).chain(issuers) {
        place.may_reach(url)?;
    }
    let mut source = RestSource::new(&spec, entry.namespace.clone());
    source.name = format!("rest {} as {}", entry.spec, entry.namespace);
    source.base_url = entry.base_url;
    source.access = access;
    source.allow_private = entry.allow_private;
    source.workspace = Some(place.workspace()?);
    source.timeout = entry.timeout_seconds.map_or(source.timeout, Seconds::duration);
    source.max_response_bytes = entry.max_response_bytes.unwrap_or(source.max_response_bytes);
    if !(1..=MAX_RESPONSE_BYTES).contains(&source.max_response_bytes) {
        let bytes = source.max_response_bytes;
        return Err(format!("`max_response_bytes` has to be from 1 to {MAX_RESPONSE_BYTES}, not {bytes}"));
    }
    select(&mut source, entry.include, entry.exclude, entry.risks, entry.idempotent)?;
    source.headers = entry.headers.into_iter().collect();
    source.user_headers = UserHeaders::open(&entry.user_headers, place)?;
    source.variables = entry.variables;
    if let SpecLocation::Url(url) = &source.spec
        && place.is_lazy()
    {
        let url = Fingerprint::of(&Value::from(url.as_str()));
        source.generation = place.generation(&format!("rest {} {url}", entry.namespace))?;
    }
    let credential = |auth: AuthEntry| auth.credential(place, &entry.namespace);
    source.auth = entry.auth.into_iter().map(credential).collect::<Result<_, _>>()?;
    Ok(keep(source, entry.cache.as_ref(), place))
}

/// The login at the API of an entry.
pub struct ApiLogin {
    /// The authorization; `None` if users do not log in there.
    pub authorization: Option<Authorization>,
    /// True if each user has a login.
    pub per_user: bool,
}

/// Returns the login at the API of an entry: of a user, where each has one.
///
/// # Errors
///
/// Returns a message for the operator if the settings are wrong.
pub fn login(entry: RestEntry, place: &dyn ApiEntry, user: Option<&str>) -> Result<ApiLogin, String> {
    let (loader, _) = configured(entry, place)?.open().map_err(|error| error.to_string())?;
    let Some(logins) = loader.logins() else { return Ok(ApiLogin { authorization: None, per_user: false }) };
    let per_user = logins.is_per_user();
    let authorization = logins.open(user.filter(|_| per_user)).map_err(|error| error.to_string())?;
    Ok(ApiLogin { authorization: Some(authorization), per_user })
}

/// Opens a source with the settings that it has.
///
/// # Errors
///
/// Returns a message for the operator if they are wrong.
pub fn source(source: RestSource) -> Result<Source, String> {
    let is_local = matches!(source.spec, SpecLocation::File(_));
    let (loader, engine) = source.open().map_err(|error| error.to_string())?;
    let source = Source::new(Arc::new(loader)).with_engine(Arc::new(engine));
    Ok(if is_local { source.local() } else { source })
}

fn is_url(spec: &str) -> bool {
    spec.starts_with("http://") || spec.starts_with("https://")
}

fn located(folder: &Path, spec: &str) -> String {
    if is_url(spec) { spec.to_owned() } else { folder.join(spec).display().to_string() }
}
