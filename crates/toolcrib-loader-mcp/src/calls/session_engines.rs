//! Engines with a separate server for each session, for servers with per-session state; and with a separate connection
//! for each user, for servers at which users have logins of their own.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use toolcrib_model::{ErrorKind, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};

use crate::{McpConnection, McpEngine};

/// The default number of sessions that may have a server of a source at the same time.
pub(crate) const DEFAULT_SESSION_SERVERS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The idle time after which the server of a session may be closed in favour of another session.
pub(crate) const SESSION_IDLE_TIME: Duration = Duration::from_mins(10);

/// The number of users that may have a connection of a source at the same time.
pub(crate) const MAX_USER_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();

/// The most bytes of the name of a user.
const MAX_USER_BYTES: usize = 1024;

/// The owner of a server or a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Session,
    User,
}

/// An engine that calls tools in a server of the session, or over a connection of the user. The first call of a session
/// starts the server, and the end of the session closes it. The first call of a user opens the connection with the
/// user's login, and it is closed in favour of another user when no call uses it.
pub struct SessionEngines {
    /// The connection that the tools were loaded from. Calls use others like it.
    loaded: McpConnection,
    owner: Owner,
    max_sessions: NonZeroUsize,
    /// The servers by session or user; `None` once the engine is closed.
    servers: Mutex<Option<SessionServers>>,
}

type SessionServers = BTreeMap<Arc<str>, SessionServer>;

struct SessionServer {
    engine: Arc<McpEngine>,
    /// The time at which its last call began or ended.
    used: Instant,
}

impl SessionServer {
    /// Returns true if no call uses the server: a call holds a reference to its engine.
    fn is_idle(&self) -> bool {
        Arc::strong_count(&self.engine) == 1
    }
}

impl SessionEngines {
    /// Creates an engine for the tools that are loaded over this connection, with servers for at most this many
    /// sessions.
    pub fn new(loaded: McpConnection, max_sessions: NonZeroUsize) -> Self {
        Self::with_owner(loaded, Owner::Session, max_sessions)
    }

    /// Creates an engine for the tools that are loaded over this connection, with connections for at most this many
    /// users.
    pub fn per_user(loaded: McpConnection, max_users: NonZeroUsize) -> Self {
        Self::with_owner(loaded, Owner::User, max_users)
    }

    fn with_owner(loaded: McpConnection, owner: Owner, max_sessions: NonZeroUsize) -> Self {
        Self { loaded, owner, max_sessions, servers: Mutex::new(Some(SessionServers::new())) }
    }

    /// Returns the session or the user of a call.
    fn key<'a>(&self, context: &'a CallContext) -> Result<&'a Arc<str>, ToolError> {
        if self.owner == Owner::Session {
            return Ok(&context.session);
        }
        match &context.user {
            Some(user) if (1..=MAX_USER_BYTES).contains(&user.len()) => Ok(user),
            _ => {
                let namespace = &self.loaded.source().namespace;
                let message =
                    format!("`{namespace}` is called with the login of a user, and this call has no user");
                let hint = "the operator names the user: with `--user`, or by a client of `serve.tokens` or `serve.oauth`";
                Err(ToolError::new(ErrorKind::Denied, message).with_hint(hint))
            }
        }
    }

    /// Returns the engine of a session or user, and the servers to close in its favour.
    fn engine(&self, key: &Arc<str>) -> Result<(Arc<McpEngine>, SessionServers), ToolError> {
        let target = || self.loaded.source().target();
        let closed = || unavailable(format!("MCP server `{}` is closed", target()));
        let mut servers = self.servers.lock();
        let servers = servers.as_mut().ok_or_else(closed)?;
        if let Some(server) = servers.get_mut(key) {
            server.used = Instant::now();
            return Ok((Arc::clone(&server.engine), SessionServers::new()));
        }
        let mut evicted = SessionServers::new();
        if servers.len() >= self.max_sessions.get() {
            evicted = evict_idle(servers, self.idle_time());
        }
        if servers.len() >= self.max_sessions.get() {
            let message = format!(
                "{} {} have a separate MCP server `{}`, which is the limit",
                self.max_sessions,
                if self.owner == Owner::Session { "sessions" } else { "users" },
                target()
            );
            return Err(unavailable(message).with_hint("do without the tool, or try again later"));
        }
        let connection = match self.owner {
            Owner::Session => self.loaded.separate(),
            Owner::User => self.loaded.separate_for_user(key),
        };
        let engine = Arc::new(McpEngine::new(connection));
        servers.insert(Arc::clone(key), SessionServer { engine: Arc::clone(&engine), used: Instant::now() });
        Ok((engine, evicted))
    }

    /// Returns the time after which an idle server may be closed. A connection of a user has no state that would be lost.
    fn idle_time(&self) -> Duration {
        if self.owner == Owner::Session { SESSION_IDLE_TIME } else { Duration::ZERO }
    }
}

/// Removes the sessions whose server does not run, or else the session that has been idle for longest.
fn evict_idle(servers: &mut SessionServers, idle_time: Duration) -> SessionServers {
    let dead: SessionServers =
        servers.extract_if(.., |_, server| server.is_idle() && !server.engine.is_open()).collect();
    if !dead.is_empty() {
        return dead;
    }
    let idle = servers.iter().filter(|(_, server)| server.is_idle() && server.used.elapsed() >= idle_time);
    let oldest = idle.min_by_key(|(_, server)| server.used).map(|(session, _)| Arc::clone(session));
    oldest.and_then(|session| servers.remove_entry(&session)).into_iter().collect()
}

#[async_trait]
impl ToolEngine for SessionEngines {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        let found = self.key(context).and_then(|key| Ok((key, self.engine(key)?)));
        let (key, (engine, evicted)) = match found {
            Ok(found) => found,
            Err(error) => return call.failed(error),
        };
        let (result, ()) = tokio::join!(engine.invoke(call, context), close(evicted));
        drop(engine);
        if let Some(server) = self.servers.lock().as_mut().and_then(|servers| servers.get_mut(key)) {
            server.used = Instant::now();
        }
        if result.error.as_ref().is_some_and(|error| error.kind == ErrorKind::ToolChanged) {
            self.loaded.ask_for_load();
        }
        result
    }

    async fn watch(
        &self,
        call: &Authorized<Call>,
        context: &CallContext,
    ) -> Result<Option<watch::Receiver<u64>>, ToolError> {
        let (engine, evicted) = self.engine(self.key(context)?)?;
        let (watched, ()) = tokio::join!(engine.watch(call, context), close(evicted));
        watched
    }

    fn reports_progress(&self) -> bool {
        true
    }

    fn set_has_user(&self, has_user: bool) {
        self.loaded.broker().set_has_user(has_user);
    }

    async fn end_session(&self, session: &str) {
        if self.owner == Owner::User {
            return;
        }
        let server = self.servers.lock().as_mut().and_then(|servers| servers.remove(session));
        if let Some(server) = server {
            server.engine.close().await;
        }
    }

    async fn close(&self) {
        let servers = self.servers.lock().take().unwrap_or_default();
        tokio::join!(close(servers), self.loaded.close());
    }
}

async fn close(servers: SessionServers) {
    join_all(servers.values().map(|server| server.engine.close())).await;
}

fn unavailable(message: String) -> ToolError {
    ToolError::new(ErrorKind::Unavailable, message)
}
