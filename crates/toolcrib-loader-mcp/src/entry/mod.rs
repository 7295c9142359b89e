//! MCP servers of an app file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use toolcrib_document::expand;
use toolcrib_loader_mcp::{
    DEFAULT_SESSION_SERVERS, HttpProtocol, McpConnection, McpEngine, McpLoader, McpSource, McpTransport,
    NAMESPACE_PREFIX, SessionEngines, ToolsCache,
};
use toolcrib_model::Secret;
use toolcrib_port::ToolEngine;
use toolcrib_results::is_secret;

use super::Source;
use super::built_in::{Seconds, is_private, may_reach, may_start};
use super::folders::cache_folder;
use super::mcp_auth::{self, McpAuthEntry};
use crate::entry::EntryContext;
use crate::variables::lookup;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpEntry {
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

/// Makes the source.
pub(super) fn open(entry: McpEntry, place: &EntryContext<'_>) -> Result<Source, String> {
    let access = place.access()?;
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
        (Some(command), None) => command.first().map_or(Ok(()), |program| may_start(&access, program))?,
        (None, Some(url)) => may_reach(&access, url)?,
        _ => {}
    }
    let cwd = entry.cwd.map_or_else(|| place.folder().to_owned(), |cwd| place.path(&cwd));
    if let Some(command) = entry.command.as_deref().filter(|command| place.serves_itself(command, &cwd)) {
        return Err(format!(
            "`{}` serves this same app, which would start itself again without end; name another app file, or remove \
             the entry",
            command.join(" ")
        ));
    }
    let transport = match (entry.command, entry.url) {
        (Some(command), None) if !command.is_empty() => {
            McpTransport::Stdio { command, env: entry.env, cwd: Some(cwd) }
        }
        (None, Some(url)) => {
            let allow_private = entry.allow_private.unwrap_or_else(|| is_private(&url));
            let protocol = match entry.transport {
                Some(TransportEntry::Http) => HttpProtocol::Streamable,
                Some(TransportEntry::Sse) => HttpProtocol::Sse,
                Some(TransportEntry::Stdio) | None => HttpProtocol::Any,
            };
            let headers: Vec<_> = entry.headers.into_iter().collect();
            let auth = mcp_auth::open(entry.auth, &headers, place, &namespace)?.map(Box::new);
            McpTransport::Http { url, headers, allow_private, protocol, auth }
        }
        _ => {
            return Err("an MCP server needs either a `command`, a list of words, or a `url`".into());
        }
    };
    let mut source =
        McpSource::new(namespace, transport).with_identity(identity(place)).with_secrets(secrets(place));
    if let Some(folder) = cache_folder("mcp") {
        source = source.with_tools_cache(ToolsCache::new(folder).with_scope(place.scope()));
    }
    if !(place.is_lazy() && entry.lazy.unwrap_or(true)) {
        source = source.eager();
    }
    if entry.pin.unwrap_or(true)
        && let Some(pins) = place.pins()?
    {
        source = source.with_trust_lock(pins);
    }
    if entry.trusted {
        source = source.trusted();
    }
    source = source.with_startup_timeout(
        entry.startup_timeout_seconds.map_or(place.startup_timeout(), Seconds::duration),
    );
    let sessions = match (entry.per_session, entry.max_sessions) {
        (true, most) => Some(most.unwrap_or(DEFAULT_SESSION_SERVERS)),
        (false, None) => None,
        (false, Some(_)) => return Err("`max_sessions` goes with `per_session: true`".into()),
    };
    Ok(mcp_source(source, sessions))
}

/// Returns the identity of the server as the operator wrote it: with the names of variables, not their values.
fn identity(place: &EntryContext<'_>) -> String {
    let entry = place.document().value.pointer(place.pointer());
    let names = |value: &Value| match value {
        Value::Object(map) => map.keys().cloned().map(Value::String).collect(),
        other => other.clone(),
    };
    let read = |key: &str| entry.and_then(|entry| entry.get(key));
    let plain = ["command", "url", "cwd"].map(|key| (key, read(key).cloned()));
    let named = ["env", "headers"].map(|key| (key, read(key).map(names)));
    let all = plain.into_iter().chain(named);
    let all: Map<String, Value> = all.filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Value::Object(all).to_string()
}

/// Returns the values of the secret variables in the command line and the URL of the entry.
fn secrets(place: &EntryContext<'_>) -> Vec<Secret> {
    let entry = place.document().value.pointer(place.pointer());
    let mut secrets = Vec::new();
    for key in ["command", "url"] {
        let texts = match entry.and_then(|entry| entry.get(key)) {
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => vec![text.as_str()],
            _ => Vec::new(),
        };
        let pointer = format!("{}/{key}", place.pointer());
        for text in texts {
            let found = RefCell::new(Vec::new());
            // A variable that is not set has been reported before.
            let _ = expand(text, &|name: &str| {
                let value = lookup(name)?;
                if is_secret(&pointer, text, name) {
                    found.borrow_mut().push(Secret::new(value.as_str()));
                }
                Some(value)
            });
            secrets.extend(found.into_inner());
        }
    }
    secrets
}

/// Returns the source of one server for all sessions, or of one server for each session.
pub(super) fn mcp_source(source: McpSource, sessions: Option<NonZeroUsize>) -> Source {
    let connection = McpConnection::new(source);
    let mcp = Some(connection.source().clone());
    let source = Source::new(Arc::new(McpLoader::new(connection.clone())));
    let engine: Arc<dyn ToolEngine> = match sessions {
        Some(most) => Arc::new(SessionEngines::new(connection, most)),
        None => Arc::new(McpEngine::new(connection)),
    };
    Source { mcp, ..source.with_engine(engine) }
}
