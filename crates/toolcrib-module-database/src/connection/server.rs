//! Servers: the pool and the sessions that PostgreSQL and MySQL share.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::FutureExt;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Database, Executor, Pool};

use crate::backend::{
    ConnectionPool, DatabaseSession, Interrupt, Mode, RowSender, Statement, StatementError,
};
use crate::config::{Location, Tls};
use crate::connection::driver_error::{connect_error, statement_error};
use crate::connection::pool::{Options, PoolLimits, acquire, not_writable, pool};

/// The time that a server has to cancel a statement.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// A kind of server. `C` is the state of one connection.
#[async_trait]
pub(crate) trait Server<C: Send + 'static>: Database {
    /// The statements that end a transaction and reset the state of a connection.
    const RESET: [&'static str; 2];

    /// Returns the options of a connection to the server at `host`, the resolved host.
    fn options(location: &Location, host: &str, tls: Tls, is_writable: bool) -> Options<Self>;

    /// Reads the state of a connection that was taken from the pool.
    async fn session(connection: &mut Self::Connection) -> Result<C, sqlx::Error>;

    /// Returns the statement that cancels a running one of this connection.
    fn cancel(session: &C) -> String;

    /// Returns the statements that begin a transaction with an access mode, which the server itself ends after
    /// `lifetime`.
    fn begin(session: &C, access: &str, lifetime: Duration) -> String;

    /// Runs one statement, and sends its rows.
    async fn run(
        connection: &mut Self::Connection,
        session: &mut C,
        statement: &Statement,
        rows: &mut RowSender,
    ) -> Result<(), StatementError>;
}

/// A pool of connections to one server.
struct ServerPool<S: Database, C> {
    pool: Pool<S>,
    options: Options<S>,
    description: String,
    is_writable: bool,
    state: PhantomData<fn() -> C>,
}

/// Connects once, so that a wrong address or wrong credentials are reported immediately and as such, and creates the pool.
pub(crate) async fn open<S: Server<C>, C: Send + 'static>(
    location: &Location,
    host: &str,
    tls: Tls,
    bounds: &PoolLimits,
    is_writable: bool,
) -> Result<Arc<dyn ConnectionPool>, StatementError>
where
    for<'c> &'c mut S::Connection: Executor<'c, Database = S>,
{
    let description = location.describe();
    let options = S::options(location, host, tls, is_writable);
    let of = |error: sqlx::Error| connect_error(&error, &description);
    let silent = |_| sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, "no answer in time"));
    let connect = tokio::time::timeout(bounds.connect_timeout, options.connect());
    let connected = connect.await.map_err(silent).flatten().map_err(of)?;
    // A slow close continues in the background.
    let _closed = tokio::time::timeout(bounds.connect_timeout, connected.close()).await;
    let pool = pool::<S>(options.clone(), bounds);
    Ok(Arc::new(ServerPool { pool, options, description, is_writable, state: PhantomData }))
}

#[async_trait]
impl<S: Server<C>, C: Send + 'static> ConnectionPool for ServerPool<S, C>
where
    for<'c> &'c mut S::Connection: Executor<'c, Database = S>,
{
    async fn session(&self) -> Result<Box<dyn DatabaseSession>, StatementError> {
        let mut connection = acquire(&self.pool, &self.description).await?;
        let state = S::session(&mut connection).await;
        let state = state.map_err(|error| connect_error(&error, &self.description))?;
        let (options, is_writable) = (self.options.clone(), self.is_writable);
        Ok(Box::new(ServerSession::<S, C> { connection, options, state, is_writable }))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

/// One connection to a server, for one transaction.
struct ServerSession<S: Database, C> {
    connection: PoolConnection<S>,
    options: Options<S>,
    state: C,
    is_writable: bool,
}

impl<S: Database, C> ServerSession<S, C>
where
    for<'c> &'c mut S::Connection: Executor<'c, Database = S>,
{
    /// Executes SQL of this module that returns no rows.
    async fn execute_raw(&mut self, sql: String) -> Result<(), StatementError> {
        let sent = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *self.connection).await;
        sent.map_err(|error| statement_error(&error, None))?;
        Ok(())
    }
}

#[async_trait]
impl<S: Server<C>, C: Send + 'static> DatabaseSession for ServerSession<S, C>
where
    for<'c> &'c mut S::Connection: Executor<'c, Database = S>,
{
    fn interrupt(&self) -> Interrupt {
        let (options, sql) = (self.options.clone(), S::cancel(&self.state));
        let cancel = async move {
            let mut other = options.connect().await?;
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut other).await?;
            other.close().await
        };
        let cancel_in_time = async move {
            match tokio::time::timeout(CANCEL_TIMEOUT, cancel).await {
                Ok(Ok(())) => {}
                // The statement ends when its connection is closed, or by its own timeout.
                Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled at the server"),
                Err(_) => tracing::warn!("a statement could not be cancelled at the server in time"),
            }
        };
        Box::new(move || cancel_in_time.boxed())
    }

    async fn begin(&mut self, mode: Mode, lifetime: Duration) -> Result<(), StatementError> {
        let access = match mode {
            Mode::Read => "READ ONLY",
            Mode::Write if self.is_writable => "READ WRITE",
            Mode::Write => return Err(not_writable().into()),
        };
        let sql = S::begin(&self.state, access, lifetime);
        self.execute_raw(sql).await
    }

    async fn run(&mut self, statement: &Statement, rows: &mut RowSender) -> Result<(), StatementError> {
        S::run(&mut self.connection, &mut self.state, statement, rows).await
    }

    async fn commit(&mut self) -> Result<(), StatementError> {
        self.execute_raw("COMMIT".into()).await
    }

    async fn release(mut self: Box<Self>, is_broken: bool) {
        let mut is_clean = !is_broken;
        for sql in S::RESET {
            is_clean = is_clean && self.execute_raw(sql.into()).await.is_ok();
        }
        if !is_clean {
            self.connection.close_on_drop();
        }
    }
}
