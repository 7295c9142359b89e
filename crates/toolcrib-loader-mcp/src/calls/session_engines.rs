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
use toolcrib_model::{ErrorKind, Secret, SubjectToken, ToolError, ToolResult};
use toolcrib_oauth::client::LoginOwner;
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_sdk::{LoginPrompt, subject_of_call, user_of_call};
use url::Url;

use crate::{McpConnection, McpEngine};

/// The default number of sessions that may have a server of a source at the same time.
pub(crate) const DEFAULT_SESSION_SERVERS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// The idle time after which the server of a session may be closed in favour of another session.
pub(crate) const SESSION_IDLE_TIME: Duration = Duration::from_mins(10);

/// The owner of a server or a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Session,
    User,
}

/// An engine that calls tools in a server of the session, or over a connection of the user. The first call of a session
/// starts the server, and the end of the session closes it. The first call of a user opens the connection with the
/// user's login and headers. It is replaced when the headers change, and closed in favour of another user when no call uses
/// it.
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
    /// The user that it is for, unless it belongs to a session.
    user: Option<UserConnection>,
    /// The time at which its last call began or ended.
    used: Instant,
}

/// A user, and the credentials of the user's requests.
#[derive(Clone, PartialEq)]
pub(crate) struct UserConnection {
    pub(crate) user: Arc<str>,
    pub(crate) headers: Vec<(String, Secret)>,
    /// The token that the user came with, if it is exchanged.
    pub(crate) subject: Option<Arc<SubjectToken>>,
}

impl UserConnection {
    /// Returns the key of the connection. Each token that the user came with has its own, since it may have other scopes.
    fn key(&self) -> Arc<str> {
        let Some(subject) = &self.subject else { return Arc::clone(&self.user) };
        // A token contains no line break.
        format!("{}\n{}", subject.token.expose(), self.user).into()
    }
}

/// The engine of a call.
struct Prepared {
    key: Arc<str>,
    engine: Arc<McpEngine>,
    evicted: SessionServers,
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

    /// Returns the engine for a call, the session or the user that it belongs to, and the servers to close in its favour.
    async fn prepare(&self, context: &CallContext) -> Result<Prepared, ToolError> {
        let user = match self.owner {
            Owner::Session => None,
            Owner::User => Some(self.user(context).await?),
        };
        let key = user.as_ref().map_or_else(|| Arc::clone(&context.session), UserConnection::key);
        let (engine, evicted) = self.engine(&key, user)?;
        Ok(Prepared { key, engine, evicted })
    }

    /// Returns the user of a call with the credentials of the user.
    async fn user(&self, context: &CallContext) -> Result<UserConnection, ToolError> {
        let source = self.loaded.source();
        let user = user_of_call(context, &source.namespace)?;
        let is_exchanged = source.exchanges_tokens();
        let subject = is_exchanged.then(|| subject_of_call(context, &source.namespace)).transpose()?.cloned();
        Ok(UserConnection { user: Arc::clone(user), headers: source.headers_of(user).await?, subject })
    }

    /// Returns the engine of a session or user, and the servers to close in its favour.
    fn engine(
        &self,
        key: &Arc<str>,
        user: Option<UserConnection>,
    ) -> Result<(Arc<McpEngine>, SessionServers), ToolError> {
        let target = || self.loaded.source().target();
        let closed = || unavailable(format!("MCP server `{}` is closed", target()));
        let mut servers = self.servers.lock();
        let servers = servers.as_mut().ok_or_else(closed)?;
        let mut evicted = SessionServers::new();
        match servers.get_mut(key) {
            Some(server) if server.user == user => {
                server.used = Instant::now();
                return Ok((Arc::clone(&server.engine), evicted));
            }
            // A call that still uses it ends with the old credentials, and drops it.
            Some(_) => evicted.extend(servers.remove_entry(key).filter(|(_, server)| server.is_idle())),
            None => {}
        }
        if servers.len() >= self.max_sessions.get() {
            evicted.append(&mut evict_idle(servers, self.idle_time()));
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
        let connection = match &user {
            None => self.loaded.separate(),
            Some(user) => self.loaded.separate_for_user(user.clone()),
        };
        let engine = Arc::new(McpEngine::new(connection));
        let server = SessionServer { engine: Arc::clone(&engine), user, used: Instant::now() };
        servers.insert(Arc::clone(key), server);
        Ok((engine, evicted))
    }

    /// Makes a call. Returns its result, and the user who has to log in first.
    async fn run(&self, call: &Authorized<Call>, context: &CallContext) -> (ToolResult, Option<Arc<str>>) {
        let Prepared { key, engine, evicted } = match self.prepare(context).await {
            Ok(prepared) => prepared,
            Err(error) => return (call.failed(error), None),
        };
        let (result, ()) = tokio::join!(engine.invoke(call, context), close(evicted));
        let needs_login = self.loaded.source().per_user && engine.take_needs_login();
        drop(engine);
        if let Some(server) = self.servers.lock().as_mut().and_then(|servers| servers.get_mut(&key)) {
            server.used = Instant::now();
        }
        (result, context.user.clone().filter(|_| needs_login))
    }

    /// Offers the user of a call a link to log in by. Returns true if the user has logged in.
    async fn log_in(&self, user: &Arc<str>, context: &CallContext) -> bool {
        let source = self.loaded.source();
        let Some(links) = source.login_links.as_ref().filter(|links| links.is_served()) else { return false };
        let Some(Ok(authorization)) = source.clone().for_user(user).authorization() else { return false };
        let namespace = source.namespace.as_str();
        let owner = LoginOwner { namespace: namespace.to_owned(), user: user.as_ref().to_owned() };
        let prompt = &LoginPrompt::new(context, namespace, user);
        let show = move |link: Url| async move { prompt.show(link.as_str()).await };
        let _waiting = context.phase.wait_for_person();
        let outcome = links.log_in(&authorization, owner, show).await;
        prompt.ended().await;
        match outcome {
            Ok(Some(_)) => {
                // It waits after its failure, and has the credentials of before.
                let before = self.servers.lock().as_mut().and_then(|servers| servers.remove_entry(user));
                close(before.into_iter().filter(|(_, server)| server.is_idle()).collect()).await;
                true
            }
            Ok(None) => false,
            Err(error) => {
                tracing::warn!(%error, namespace, "a user could not log in by a link");
                false
            }
        }
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
        let (mut result, login) = self.run(call, context).await;
        // Without a login, the server has not processed the call.
        if let Some(user) = login
            && self.log_in(&user, context).await
        {
            result = self.run(call, context).await.0;
        }
        if result.error.as_ref().is_some_and(|error| error.kind == ErrorKind::ToolChanged) {
            self.loaded.ask_for_fresh_load();
        }
        result
    }

    async fn watch(
        &self,
        call: &Authorized<Call>,
        context: &CallContext,
    ) -> Result<Option<watch::Receiver<u64>>, ToolError> {
        let Prepared { engine, evicted, .. } = self.prepare(context).await?;
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
