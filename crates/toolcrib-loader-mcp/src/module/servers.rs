//! The servers that were connected to, each by a session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use serde_json::Value;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolError};
use toolcrib_policy::{Access, Call};
use toolcrib_port::{Approver, CallContext, ToolEngine as _, ToolLoader as _};
use url::Url;

use crate::extras::Extra;
use crate::{McpConnection, McpEngine, McpLoader, McpSource, McpTransport};

/// How many servers are connected to at once, in all sessions together.
pub const MAX_SERVERS: usize = 16;

/// A server that no call has used for so long makes room for another one.
pub const IDLE_TIME: Duration = Duration::from_mins(30);

/// How many tools of a server `connect` shows.
pub const MAX_SHOWN_TOOLS: usize = 50;

/// How many of the tools that cannot be used `connect` tells of.
const MAX_NOTES: usize = 10;

/// The longest name of a server, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// Where a server is.
pub(super) enum Address {
    Command(Vec<String>),
    Url(Url),
}

impl Address {
    /// Of what a call gives, which is one of the two.
    pub(super) fn of(command: Option<Vec<String>>, url: Option<String>) -> Result<Self, ToolError> {
        match (command, url) {
            (Some(command), None) if command.first().is_some_and(|program| !program.is_empty()) => {
                Ok(Self::Command(command))
            }
            (None, Some(url)) => match Url::parse(&url) {
                Ok(url) if matches!(url.scheme(), "http" | "https") && url.host_str().is_some() => {
                    Ok(Self::Url(url))
                }
                _ => Err(invalid("`url` is no address like `https://example.com/mcp`")),
            },
            (Some(_), None) => Err(invalid("`command` is empty; its first word names the program")),
            _ => Err(invalid("a server has a `command` that starts it, or a `url`: one of the two")),
        }
    }

    /// Refuses what may not be started or reached.
    fn check(&self, access: &Access) -> Result<(), ToolError> {
        let (what, is_allowed) = match self {
            Self::Command(command) => {
                let program = command.first().map_or("", String::as_str);
                (format!("`{program}` may not be started"), access.allows_program(program))
            }
            Self::Url(url) => {
                let (host, port) =
                    (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default());
                (format!("`{host}:{port}` may not be reached"), access.allows_host(host, port))
            }
        };
        if is_allowed {
            return Ok(());
        }
        Err(ToolError::new(ErrorKind::Denied, what)
            .with_hint("use a server that is allowed, or ask the user"))
    }
}

/// A server that was connected to.
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: String,
    pub(super) instructions: Option<String>,
    pub(super) tools: Vec<Arc<Tool>>,
    connection: McpConnection,
    engine: McpEngine,
    used: Mutex<Instant>,
}

impl Server {
    pub(super) fn is_open(&self) -> bool {
        self.connection.is_open()
    }

    /// Calls a tool of it.
    pub(super) async fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let tool = self.tools.iter().find(|tool| tool.name.name() == name).ok_or_else(|| {
            let names: Vec<&str> =
                self.tools.iter().take(MAX_SHOWN_TOOLS).map(|tool| tool.name.name()).collect();
            ToolError::new(ErrorKind::UnknownTool, format!("`{}` has no tool `{name}`", self.name))
                .with_hint(format!("it has: {}", names.join(", ")))
        })?;
        self.engine.call(&self.call_of(Arc::clone(tool), arguments), context).await
    }

    /// Asks it for something that is no tool.
    pub(super) async fn extra(
        &self,
        extra: Extra,
        arguments: Value,
        context: &CallContext,
    ) -> Result<Value, ToolError> {
        let tool =
            extra.tool(&self.connection.source().namespace).map_err(|error| invalid(error.to_string()))?;
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        self.engine.extra(&self.call_of(Arc::new(tool), arguments), extra, context).await
    }

    fn call_of(&self, tool: Arc<Tool>, arguments: JsonObject) -> Call {
        let mut call = Call::new(tool, self.connection.source().namespace.as_str().into(), 0);
        call.arguments = arguments;
        call
    }

    fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_idle(&self) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed() >= IDLE_TIME
    }
}

/// By session and name.
type Known = BTreeMap<(Arc<str>, String), Arc<Server>>;

/// The servers of all sessions.
pub(super) struct Servers {
    access: Access,
    folder: PathBuf,
    /// Whom to ask what a server wants to know from the user.
    approver: OnceLock<Arc<dyn Approver>>,
    known: Mutex<Known>,
}

impl Servers {
    pub(super) fn new(access: Access, folder: PathBuf) -> Self {
        Self { access, folder, approver: OnceLock::new(), known: Mutex::default() }
    }

    /// Takes note of whom to ask; servers that are connected to from now on are told that there is somebody.
    pub(super) fn attend(&self, approver: &Arc<dyn Approver>) {
        self.approver.get_or_init(|| Arc::clone(approver));
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The servers of a session, by name.
    pub(super) fn of(&self, session: &str) -> Vec<Arc<Server>> {
        let known = self.known();
        known.iter().filter(|((of, _), _)| **of == *session).map(|(_, server)| Arc::clone(server)).collect()
    }

    /// The server of this name, which is used now.
    pub(super) fn find(&self, session: &Arc<str>, name: &str) -> Result<Arc<Server>, ToolError> {
        let server = self.known().get(&(Arc::clone(session), name.to_owned())).cloned();
        let server = server.ok_or_else(|| unknown(name))?;
        server.touch();
        Ok(server)
    }

    /// Connects to a server, and says what of it cannot be used.
    pub(super) async fn connect(
        &self,
        session: &Arc<str>,
        name: String,
        address: Address,
    ) -> Result<(Arc<Server>, Vec<String>), ToolError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_plain) {
            let message = format!(
                "`server` should be a name of letters, digits, `_` and `-`, of at most {MAX_NAME_BYTES}"
            );
            return Err(invalid(message));
        }
        address.check(&self.access)?;
        let key = (Arc::clone(session), name.clone());
        self.make_room(&key).await?;
        let transport = match address {
            Address::Command(command) => {
                McpTransport::Stdio { command, env: BTreeMap::new(), cwd: Some(self.folder.clone()) }
            }
            Address::Url(url) => McpTransport::http(url),
        };
        let connection =
            McpConnection::new(McpSource::new(format!("{}_{name}", super::ID), transport).eager());
        let engine = McpEngine::new(connection.clone());
        // It is told with the first message whether there is somebody to ask.
        if let Some(approver) = self.approver.get() {
            engine.attend(approver);
        }
        let loader = McpLoader::new(connection.clone());
        let loaded = loader.load().await;
        if let Some(failed) = loaded.rejected.iter().find(|reject| reject.name.is_none()) {
            connection.close().await;
            return Err(ToolError::new(ErrorKind::Unavailable, failed.reason.clone()));
        }
        let broken = loaded.rejected.len();
        let mut notes: Vec<String> =
            loaded.rejected.into_iter().take(MAX_NOTES).map(|reject| reject.reason).collect();
        if broken > MAX_NOTES {
            notes.push(format!("and {} more tools cannot be used", broken - MAX_NOTES));
        }
        let server = Arc::new(Server {
            name,
            address: connection.source().target(),
            instructions: loader.instructions(),
            tools: loaded.tools.into_iter().map(Arc::new).collect(),
            engine,
            connection,
            used: Mutex::new(Instant::now()),
        });
        // Others may have connected meanwhile.
        let refused = {
            let mut known = self.known();
            let refused = fits(&known, &key);
            if refused.is_ok() {
                known.insert(key, Arc::clone(&server));
            }
            refused
        };
        if let Err(error) = refused {
            server.connection.close().await;
            return Err(error);
        }
        Ok((server, notes))
    }

    /// Disconnects from a server, which is ended.
    pub(super) async fn disconnect(&self, session: &Arc<str>, name: &str) -> Result<(), ToolError> {
        let server = self.known().remove(&(Arc::clone(session), name.to_owned()));
        server.ok_or_else(|| unknown(name))?.connection.close().await;
        Ok(())
    }

    /// Ends the servers of a session.
    pub(super) async fn end_session(&self, session: &str) {
        let servers: Known = self.known().extract_if(.., |(of, _), _| **of == *session).collect();
        join_all(servers.values().map(|server| server.connection.close())).await;
    }

    /// Ends all servers.
    pub(super) async fn close(&self) {
        let servers = std::mem::take(&mut *self.known());
        join_all(servers.values().map(|server| server.connection.close())).await;
    }

    /// An error where there is no room for another server, also without those that nobody uses.
    async fn make_room(&self, key: &(Arc<str>, String)) -> Result<(), ToolError> {
        let mut idle = Known::new();
        let fits = {
            let mut known = self.known();
            if known.len() >= MAX_SERVERS {
                idle = known.extract_if(.., |_, server| server.is_idle()).collect();
            }
            fits(&known, key)
        };
        join_all(idle.values().map(|server| server.connection.close())).await;
        fits
    }
}

/// Whether there is room for a server, and its name is free.
fn fits(known: &Known, key: &(Arc<str>, String)) -> Result<(), ToolError> {
    if known.contains_key(key) {
        let message = format!("there is already a server `{}`", key.1);
        return Err(invalid(message).with_hint("give this one another name, or disconnect that one"));
    }
    if known.len() >= MAX_SERVERS {
        let message = format!("{MAX_SERVERS} servers are connected to, and more are not");
        return Err(
            ToolError::new(ErrorKind::ToolFailed, message).with_hint("disconnect one that is done with")
        );
    }
    Ok(())
}

fn unknown(name: &str) -> ToolError {
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    invalid(format!("there is no server `{shown}`"))
        .with_hint("`mcp.list_servers` lists them, `mcp.connect` connects to one")
}

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}
