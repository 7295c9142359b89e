//! The functions that PostgreSQL and MySQL share.

use std::time::Duration;

use futures::future::FutureExt;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Database, Executor};

use super::backend::{Interrupt, Mode, StatementError};
use super::connection::{Options, not_writable};
use super::errors::statement_error;

/// The time that a server has to cancel a statement.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Executes SQL of this module that returns no rows.
pub(super) async fn execute_raw<D: Database>(
    connection: &mut PoolConnection<D>,
    sql: String,
) -> Result<(), StatementError>
where
    for<'c> &'c mut D::Connection: Executor<'c, Database = D>,
{
    let sent = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **connection).await;
    sent.map_err(|error| statement_error(&error, None))?;
    Ok(())
}

/// Returns the access mode of a transaction in SQL.
pub(super) fn access(mode: Mode, is_writable: bool) -> Result<&'static str, StatementError> {
    match mode {
        Mode::Read => Ok("READ ONLY"),
        Mode::Write if is_writable => Ok("READ WRITE"),
        Mode::Write => Err(not_writable().into()),
    }
}

/// Returns a function that cancels a running statement by `sql`, over a separate connection.
pub(super) fn interrupt<D: Database>(options: Options<D>, sql: String) -> Interrupt
where
    for<'c> &'c mut D::Connection: Executor<'c, Database = D>,
{
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
