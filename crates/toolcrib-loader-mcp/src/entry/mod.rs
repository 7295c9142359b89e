//! The entry of an MCP server in an app file: `type: mcp` of `tools.registry`.

mod auth;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use toolcrib_io::files::cache_folder;
use toolcrib_io::http::is_private_url;
use toolcrib_io::process::{Sandbox, SandboxAccess, SandboxPlace, SandboxSettings};
use toolcrib_io::table::SharedGeneration;
use toolcrib_model::{Fingerprint, Secret};
use toolcrib_oauth::client::{LoginLinks, TokenStore};
use toolcrib_policy::access::{AccessRules, Mode};
use toolcrib_port::ToolEngine;
use toolcrib_sdk::{AppEntry, MAX_USERS, Seconds, Source, UserHeaders};

use self::auth::McpAuthEntry;
use crate::calls::session_engines::DEFAULT_SESSION_SERVERS;
use crate::module::NAMESPACE_PREFIX;
use crate::tools::{ToolsCache, TrustLock};
use crate::{HttpProtocol, McpConnection, McpEngine, McpLoader, McpSource, McpTransport, SessionEngines};

/// The entry of a server, with what its app knows of its servers.
pub trait ServerEntry: AppEntry {
    /// Returns the default startup timeout of a server.
    fn startup_timeout(&self) -> Duration;

    /// Returns the key of this app in the caches of its sources.
    fn scope(&self) -> String;

    /// Returns true if a command line in this folder serves the app that names it.
    fn serves_itself(&self, command: &[String], cwd: &Path) -> bool;

    /// Returns the approved state of the app's servers; `None` for an app that is not in a file.
    fn trust_lock(&self) -> Result<Option<Arc<TrustLock>>, String>;

    /// Returns the contents of a source that processes on several machines share, if they do.
    fn generation(&self, id: &str) -> Result<Option<Arc<SharedGeneration>>, String>;

    /// Returns the store for tokens of servers.
    fn token_store(&self) -> Result<TokenStore, String>;

    /// Returns the logins of users by a link.
    fn login_links(&self) -> LoginLinks;

    /// Returns the values of secret variables in these settings of the entry.
    fn secrets_in(&self, keys: &[&str]) -> Vec<Secret>;
}

/// The settings of `type: mcp`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct McpEntry {
    /// The server's own name: `slack` gives the namespace `mcp_slack`.
    name: Option<String>,
    namespace: Option<String>,
    transport: Option<TransportEntry>,
    command: Option<Vec<String>>,
    url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, Secret>,
    cwd: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Secret>,
    /// Headers with another value for each user.
    #[serde(default)]
    user_headers: BTreeMap<String, String>,
    auth: Option<McpAuthEntry>,
    allow_private: Option<bool>,
    #[serde(default)]
    trusted: bool,
    startup_timeout_seconds: Option<Seconds>,
    /// True to start it with its first call rather than with the app, once its tools are known.
    lazy: Option<bool>,
    /// True to start a separate server for each session.
    #[serde(default)]
    per_session: bool,
    /// The number of sessions with a server at the same time.
    max_sessions: Option<NonZeroUsize>,
    /// The files and the network that it can reach.
    sandbox: Option<SandboxSettings>,
    /// True to hold its tools to their approved definitions.
    pin: Option<bool>,
}

/// The transport of a server.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum TransportEntry {
    Stdio,
    Http,
    Sse,
}

/// Opens the source of an entry.
///
/// # Errors
///
/// Returns a message for the operator if the settings are wrong.
pub fn open(entry: McpEntry, place: &dyn ServerEntry) -> Result<Source, String> {
    let (server, sessions) = server(entry, place)?;
    Ok(source(server, sessions))
}

/// Returns the server of an entry, and the number of sessions that each have a separate one.
///
/// # Errors
///
/// Returns a message for the operator if the settings are wrong.
pub fn server(entry: McpEntry, place: &dyn ServerEntry) -> Result<(McpSource, Option<NonZeroUsize>), String> {
    let per_user = entry.auth.as_ref().is_some_and(|auth| auth.per_user);
    check_users(&entry, per_user)?;
    let namespace = match (entry.namespace, entry.name) {
        (Some(namespace), _) => namespace,
        (None, Some(name)) => format!("{NAMESPACE_PREFIX}{name}"),
        (None, None) => {
            return Err(
                "an MCP server needs a `name`, of which `mcp_NAME` becomes its namespace, or a `namespace`"
                    .into(),
            );
        }
    };
    let is_stdio = entry.command.is_some();
    if entry.transport.is_some_and(|transport| (transport == TransportEntry::Stdio) != is_stdio) {
        return Err("`transport: stdio` goes with a `command`; `http` and `sse` go with a `url`".into());
    }
    match (&entry.command, &entry.url) {
        (Some(command), None) => command.first().map_or(Ok(()), |program| place.may_start(program))?,
        (None, Some(url)) => place.may_reach(url)?,
        _ => {}
    }
    let cwd = match entry.cwd {
        Some(cwd) => place.path(&cwd),
        // A sandboxed server reads its working directory, and the folder of the app may contain keys.
        None if entry.sandbox.is_some() => place.workspace()?,
        None => place.folder().to_owned(),
    };
    if let Some(command) = entry.command.as_deref().filter(|command| place.serves_itself(command, &cwd)) {
        return Err(format!(
            "`{}` serves this same app, which would start itself again without end; name another app file, or remove \
             the entry",
            command.join(" ")
        ));
    }
    let user_headers = UserHeaders::open(&entry.user_headers, place)?;
    let transport = match (entry.command, entry.url) {
        (Some(command), None) if !command.is_empty() => {
            let sandbox = sandbox(entry.sandbox, &namespace, place)?;
            McpTransport::Stdio { command, env: entry.env, cwd: Some(cwd), sandbox }
        }
        (None, Some(_)) if entry.sandbox.is_some() => {
            return Err("`sandbox` goes with a `command`; a server behind a `url` runs elsewhere".into());
        }
        (None, Some(url)) => {
            let allow_private = entry.allow_private.unwrap_or_else(|| is_private_url(&url));
            let protocol = match entry.transport {
                Some(TransportEntry::Http) => HttpProtocol::Streamable,
                Some(TransportEntry::Sse) => HttpProtocol::Sse,
                Some(TransportEntry::Stdio) | None => HttpProtocol::Any,
            };
            let headers: Vec<_> = entry.headers.into_iter().collect();
            let names: Vec<_> =
                headers.iter().map(|(name, _)| name.as_str()).chain(user_headers.names()).collect();
            let auth = auth::open(entry.auth, (&url, &names), place, &namespace)?.map(Box::new);
            McpTransport::Http { url, headers, allow_private, protocol, auth }
        }
        _ => {
            return Err("an MCP server needs either a `command`, a list of words, or a `url`".into());
        }
    };
    let mut source = McpSource::new(namespace, transport);
    source.identity = Some(identity(place));
    source.secrets = place.secrets_in(&["command", "url"]);
    source.tools_cache = cache_folder("mcp").map(|folder| ToolsCache::new(folder).with_scope(place.scope()));
    source.lazy = place.is_lazy() && entry.lazy.unwrap_or(true);
    // Otherwise each process contacts the server.
    source.generation = if source.lazy { place.generation(&generation_id(&source))? } else { None };
    source.trust_lock = if entry.pin.unwrap_or(true) { place.trust_lock()? } else { None };
    source.trusted = entry.trusted;
    source.per_user = per_user;
    source.user_headers = user_headers;
    source.login_links = Some(place.login_links());
    source.startup_timeout = entry.startup_timeout_seconds.map_or(place.startup_timeout(), Seconds::duration);
    let sessions = match (entry.per_session, entry.max_sessions) {
        (true, most) => Some(most.unwrap_or(DEFAULT_SESSION_SERVERS)),
        (false, None) => None,
        (false, Some(_)) => return Err("`max_sessions` goes with `per_session: true`".into()),
    };
    Ok((source, sessions))
}

/// Returns the id of the tool list of a server for all processes that share it.
fn generation_id(source: &McpSource) -> String {
    format!("mcp {}", Fingerprint::of(&json!([source.namespace, source.identity()])))
}

/// Checks that the connections of users fit the other settings.
fn check_users(entry: &McpEntry, per_user: bool) -> Result<(), String> {
    let has_headers = !entry.user_headers.is_empty();
    let is_exchange = entry.auth.as_ref().is_some_and(McpAuthEntry::is_exchange);
    if entry.per_session && (per_user || has_headers || is_exchange) {
        return Err("`per_session` does not go with `auth.per_user`, `grant: token_exchange` or `user_headers`: a connection \
                    belongs to a user already"
            .into());
    }
    if has_headers && entry.command.is_some() {
        return Err("`user_headers` goes with a `url`; a `command` takes no headers".into());
    }
    Ok(())
}

/// Returns the sandbox of a server, or of the servers of the module with this name.
///
/// # Errors
///
/// Returns a message for the operator if this system cannot enforce the sandbox.
pub fn sandbox(
    settings: Option<SandboxSettings>,
    namespace: &str,
    place: &dyn AppEntry,
) -> Result<Option<Arc<Sandbox>>, String> {
    let Some(settings) = settings else { return Ok(None) };
    let (workspace, protected) = (place.workspace()?, [PathBuf::from(place.file())]);
    let limits = |rules: &AccessRules| {
        SandboxAccess::new(rules.ports(), rules.folders(Mode::Read), rules.folders(Mode::Write))
    };
    let access: Vec<_> = place.access()?.rules().map(limits).collect();
    let place = SandboxPlace {
        name: namespace,
        folder: place.folder(),
        workspace: &workspace,
        protected: &protected,
        access: &access,
    };
    settings.open(&place).map(|sandbox| Some(Arc::new(sandbox))).map_err(|error| error.to_string())
}

/// Returns the identity of the server as the operator wrote it: with the names of variables, not their values.
fn identity(place: &dyn AppEntry) -> String {
    let entry = place.document().value.pointer(place.pointer());
    let names = |value: &Value| match value {
        Value::Object(map) => map.keys().cloned().map(Value::String).collect(),
        other => other.clone(),
    };
    let read = |key: &str| entry.and_then(|entry| entry.get(key));
    let plain = ["command", "url", "cwd"].map(|key| (key, read(key).cloned()));
    let named = ["env", "headers", "user_headers"].map(|key| (key, read(key).map(names)));
    let all = plain.into_iter().chain(named);
    let all: Map<String, Value> = all.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Value::Object(all).to_string()
}

/// Returns the source of one server for all sessions, of one for each session, or of one connection for each user.
pub fn source(server: McpSource, sessions: Option<NonZeroUsize>) -> Source {
    let connection = McpConnection::new(server);
    let source = Source::new(Arc::new(McpLoader::new(connection.clone())));
    let engine: Arc<dyn ToolEngine> = match sessions {
        Some(most) => Arc::new(SessionEngines::new(connection, most)),
        None if connection.source().is_per_user() => {
            Arc::new(SessionEngines::per_user(connection, MAX_USERS))
        }
        None => Arc::new(McpEngine::new(connection)),
    };
    source.with_engine(engine)
}
