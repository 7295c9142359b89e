//! Named connections: their pools, sessions and lifetimes.

pub(crate) mod driver_error;
pub(crate) mod pool;
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) mod server;
mod server_address;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
#[cfg(feature = "mysql")]
use sqlx::MySql;
#[cfg(feature = "postgres")]
use sqlx::Postgres;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;
use toolcrib_document::nearest;
use toolcrib_io::files::{ProtectedFiles, Root};
use toolcrib_model::{ErrorKind, Secret, ToolError};
use toolcrib_policy::Access;
use toolcrib_sdk::{CallContext, SETUP_SESSION};

use self::pool::PoolLimits;
use self::server_address::{is_private_host, resolve_server};
use super::backend::{ConnectionPool, StatementError};
use super::config::{DatabaseConfig, Driver, Location};
use super::errors::invalid;
use super::output::ConnectionInfo;
#[cfg(feature = "sqlite")]
use super::sqlite;

/// The time limit to open a connection, and to wait for a free one.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);

/// The maximum length of the name of a connection, in bytes.
pub(crate) const MAX_NAME_BYTES: usize = 64;

/// The access rules and limits of connections.
pub(super) struct ConnectPolicy {
    pub(super) root: Root,
    pub(super) access: Access,
    /// The files that no tool changes.
    pub(super) protected: ProtectedFiles,
    pub(super) bounds: PoolLimits,
    pub(super) allow_private: bool,
    pub(super) allow_writes: bool,
}

/// Returns true if the operator makes a call, by an action under `setup`.
pub(super) fn is_setup(context: &CallContext) -> bool {
    context.agent.is_none() && *context.session == *SETUP_SESSION
}

/// A database with a name.
pub(super) struct Connection {
    pub(super) name: String,
    pub(super) location: Location,
    /// The session that it belongs to; `None` if it is available to all.
    session: Option<Arc<str>>,
    /// True if the app file defines it.
    is_configured: bool,
    pub(super) is_writable: bool,
    /// Set once its file was created for it.
    created: AtomicBool,
    used: Mutex<Instant>,
    pool: AsyncMutex<Option<Arc<dyn ConnectionPool>>>,
}

impl Connection {
    fn new(
        name: &str,
        location: Location,
        session: Option<Arc<str>>,
        is_configured: bool,
        policy: &ConnectPolicy,
    ) -> Self {
        Self {
            name: name.to_owned(),
            is_writable: policy.allow_writes && !location.read_only,
            location,
            session,
            is_configured,
            created: AtomicBool::new(false),
            used: Mutex::new(Instant::now()),
            pool: AsyncMutex::new(None),
        }
    }

    /// Returns its pool, and opens it on first use within the limits of the call.
    pub(super) async fn pool(
        &self,
        context: &CallContext,
        policy: &ConnectPolicy,
    ) -> Result<Arc<dyn ConnectionPool>, StatementError> {
        *self.used.lock() = Instant::now();
        let mut pool = self.pool.lock().await;
        if let Some(pool) = &*pool {
            return Ok(Arc::clone(pool));
        }
        let opened = self.open(context, policy).await.map_err(|failure| self.without_secret(failure))?;
        *pool = Some(Arc::clone(&opened));
        Ok(opened)
    }

    async fn open(
        &self,
        context: &CallContext,
        policy: &ConnectPolicy,
    ) -> Result<Arc<dyn ConnectionPool>, StatementError> {
        let access = context.narrow(&policy.access);
        match self.location.driver {
            Driver::Sqlite => self.open_file(access, policy).await,
            Driver::Postgres | Driver::Mysql => self.open_server(&access, policy).await,
        }
    }

    #[cfg(not(feature = "sqlite"))]
    async fn open_file(
        &self,
        _access: Access,
        _policy: &ConnectPolicy,
    ) -> Result<Arc<dyn ConnectionPool>, StatementError> {
        Err(not_built(Driver::Sqlite))
    }

    #[cfg(feature = "sqlite")]
    async fn open_file(
        &self,
        access: Access,
        policy: &ConnectPolicy,
    ) -> Result<Arc<dyn ConnectionPool>, StatementError> {
        let (location, is_writable, root) = (&self.location, self.is_writable, policy.root.clone());
        // The operator may create a file that tools only read.
        let may_create = is_writable || (self.session.is_none() && !self.is_configured);
        let (path, create) = (location.database.clone(), location.create && may_create);
        let find = move || sqlite::find_file(&root, &access, &path, is_writable, create);
        let file = tokio::task::spawn_blocking(find).await;
        let file = file.map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))??;
        self.created.fetch_or(file.is_new, Ordering::Relaxed);
        let protected = is_writable.then_some(&policy.protected);
        Ok(Arc::new(sqlite::SqliteBackend::open(&file, &policy.bounds, protected).await?))
    }

    #[cfg_attr(
        not(any(feature = "mysql", feature = "postgres")),
        expect(unused_variables, reason = "without a driver")
    )]
    async fn open_server(
        &self,
        access: &Access,
        policy: &ConnectPolicy,
    ) -> Result<Arc<dyn ConnectionPool>, StatementError> {
        let (location, is_writable) = (&self.location, self.is_writable);
        let is_named = self.is_configured && is_private_host(location.server().0);
        let limit = policy.bounds.connect_timeout;
        let resolved = resolve_server(location, access, policy.allow_private || is_named, limit).await?;
        let mut last = None;
        for host in &resolved.hosts {
            #[allow(clippy::match_wildcard_for_single_variants, reason = "a driver may be left out")]
            let opened = match location.driver {
                #[cfg(feature = "mysql")]
                Driver::Mysql => {
                    server::open::<MySql, _>(location, host, resolved.tls, &policy.bounds, is_writable).await
                }
                #[cfg(feature = "postgres")]
                Driver::Postgres => {
                    server::open::<Postgres, _>(location, host, resolved.tls, &policy.bounds, is_writable)
                        .await
                }
                other => Err(not_built(other)),
            };
            match opened {
                Ok(pool) => return Ok(pool),
                Err(failure) => last = Some(failure),
            }
        }
        Err(last.unwrap_or_else(|| {
            ToolError::new(ErrorKind::Unavailable, "there is no address to connect to").into()
        }))
    }

    /// Closes the pool for new calls. The next call connects again, and resolves the name of the server again.
    pub(super) async fn reset(&self) {
        *self.pool.lock().await = None;
    }

    /// Closes it.
    pub(super) async fn close(&self, limit: Duration) {
        if let Some(pool) = self.pool.lock().await.take() {
            // The pool closes a connection that is in use when it is returned.
            let _closed = tokio::time::timeout(limit, pool.close()).await;
        }
    }

    /// Removes the password from an error, since a server may repeat what it received.
    pub(super) fn without_secret(&self, mut failure: StatementError) -> StatementError {
        if let Some(password) = self.location.password.as_ref().map(Secret::expose)
            && !password.is_empty()
        {
            failure.error.message = failure.error.message.replace(password, "[secret]");
            failure.error.hint = failure.error.hint.map(|hint| hint.replace(password, "[secret]"));
        }
        failure
    }

    pub(super) fn info(&self) -> ConnectionInfo {
        let is_file = self.location.driver == Driver::Sqlite;
        let (host, port) = self.location.server();
        ConnectionInfo {
            connection: self.name.clone(),
            driver: self.location.driver.as_str(),
            database: self.location.database.clone(),
            host: (!is_file).then(|| format!("{host}:{port}")),
            writable: self.is_writable,
            created: self.created.load(Ordering::Relaxed),
        }
    }

    /// Returns true if a caller may close it for good: a connection of the caller's session, or any as the operator.
    pub(super) fn may_be_closed_by(&self, context: &CallContext) -> bool {
        !self.is_configured && (self.session.is_some() || is_setup(context))
    }

    fn is_for(&self, session: &str) -> bool {
        self.session.as_deref().is_none_or(|own| own == session)
    }

    fn is_idle(&self, limit: Duration) -> bool {
        self.session.is_some() && self.used.lock().elapsed() >= limit
    }
}

/// Returns the error of a kind of database that this program does not support.
fn not_built(driver: Driver) -> StatementError {
    ToolError::new(ErrorKind::Unavailable, format!("this program was built without support for {driver}"))
        .with_hint("ask the user for a program with that support")
        .into()
}

/// The named connections of an app.
pub(super) struct ConnectionRegistry {
    list: Mutex<Vec<Arc<Connection>>>,
    most: usize,
    idle: Duration,
}

impl ConnectionRegistry {
    /// Creates a registry with the connections of the app file.
    pub(super) fn new(config: &DatabaseConfig, policy: &ConnectPolicy) -> Self {
        let configured = config
            .connections
            .iter()
            .map(|(name, location)| Arc::new(Connection::new(name, location.clone(), None, true, policy)));
        let idle = Duration::from_secs(config.idle_seconds);
        Self { list: Mutex::new(configured.collect()), most: config.max_connections, idle }
    }

    /// Adds a connection for the session of the caller, or for all sessions if the operator makes the call when the app
    /// starts.
    pub(super) fn add(
        &self,
        context: &CallContext,
        name: &str,
        location: Location,
        policy: &ConnectPolicy,
    ) -> Result<Arc<Connection>, ToolError> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES || name.chars().any(char::is_control) {
            return Err(invalid(format!("a connection's name has 1 to {MAX_NAME_BYTES} bytes")));
        }
        let mut list = self.list.lock();
        if let Some(same) =
            list.iter().find(|connection| connection.name == name && connection.is_for(&context.session))
        {
            // `create` is not part of the identity of a file.
            let is_same = Location { create: location.create, ..same.location.clone() } == location;
            if is_same {
                return Ok(Arc::clone(same));
            }
            let message = format!("there is a connection `{name}` already, to {}", same.location.describe());
            return Err(invalid(message)
                .with_hint("give another `name`, or close that one by `database.disconnect` first"));
        }
        if list.len() >= self.most {
            list.retain(|connection| !connection.is_idle(self.idle));
        }
        if list.len() >= self.most {
            let message = format!("there are {} connections already, which is the most", list.len());
            return Err(ToolError::new(ErrorKind::LimitReached, message)
                .with_hint("close one by `database.disconnect`, or use one of `database.list_connections`"));
        }
        let session = (!is_setup(context)).then(|| Arc::clone(&context.session));
        let connection = Arc::new(Connection::new(name, location, session, false, policy));
        list.push(Arc::clone(&connection));
        Ok(connection)
    }

    /// Returns the connection of this name, or the only one.
    pub(super) fn find(
        &self,
        context: &CallContext,
        name: Option<&str>,
    ) -> Result<Arc<Connection>, ToolError> {
        let list = self.list.lock();
        let visible: Vec<_> = list.iter().filter(|connection| connection.is_for(&context.session)).collect();
        let found = match (name, visible.as_slice()) {
            (Some(name), _) => visible.iter().find(|connection| connection.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        if let Some(found) = found {
            return Ok(Arc::clone(found));
        }
        let names: Vec<&str> = visible.iter().map(|connection| connection.name.as_str()).collect();
        let message = match name {
            Some(name) => format!("there is no connection `{name}`"),
            None if names.is_empty() => "there is no connection to a database".into(),
            None => "there are several connections, so `connection` has to name one".into(),
        };
        let hint = match name.and_then(|name| nearest(name, names.iter().copied())) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "open one by `database.connect`".into(),
            None => format!("there are {}", names.join(", ")),
        };
        let kind =
            if name.is_some() || names.is_empty() { ErrorKind::NotFound } else { ErrorKind::InvalidArgs };
        Err(ToolError::new(kind, message).with_hint(hint))
    }

    /// Removes a connection.
    pub(super) fn remove(&self, connection: &Arc<Connection>) {
        self.list.lock().retain(|other| !Arc::ptr_eq(other, connection));
    }

    /// Closes the connections of a session, concurrently.
    pub(super) async fn end_session(&self, session: &str, limit: Duration) {
        let is_its_own = |connection: &mut Arc<Connection>| connection.session.as_deref() == Some(session);
        let list: Vec<_> = self.list.lock().extract_if(.., is_its_own).collect();
        futures::future::join_all(list.iter().map(|connection| connection.close(limit))).await;
    }

    /// Closes all connections, concurrently.
    pub(super) async fn close(&self, limit: Duration) {
        let list: Vec<_> = self.list.lock().drain(..).collect();
        futures::future::join_all(list.iter().map(|connection| connection.close(limit))).await;
    }

    /// Lists the connections that a session may use.
    pub(super) fn list(&self, context: &CallContext) -> Vec<ConnectionInfo> {
        let list = self.list.lock();
        list.iter()
            .filter(|connection| connection.is_for(&context.session))
            .map(|connection| connection.info())
            .collect()
    }
}
