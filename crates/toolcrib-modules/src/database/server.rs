//! The functions that PostgreSQL and MySQL share.

use std::time::Duration;

use futures::future::FutureExt;
use sqlx::pool::PoolConnection;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Database, Executor};

use super::connection::{Options, not_writable};
use super::failure::trouble;
use super::session::{Interrupt, Mode, Trouble};

/// The time that a server has to cancel a statement.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// Executes SQL of this module that returns no rows.
pub(super) async fn plain<D: Database>(connection: &mut PoolConnection<D>, sql: String) -> Result<(), Trouble>
where
    for<'c> &'c mut D::Connection: Executor<'c, Database = D>,
{
    let sent = sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut **connection).await;
    sent.map_err(|error| trouble(&error, None))?;
    Ok(())
}

/// Returns the access mode of a transaction in SQL.
pub(super) fn access(mode: Mode, is_writable: bool) -> Result<&'static str, Trouble> {
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
    let told = async move {
        match tokio::time::timeout(CANCEL_TIMEOUT, cancel).await {
            Ok(Ok(())) => {}
            // The statement ends when its connection is closed, or by its own timeout.
            Ok(Err(error)) => tracing::warn!(%error, "a statement could not be cancelled at the server"),
            Err(_) => tracing::warn!("a statement could not be cancelled at the server in time"),
        }
    };
    Box::new(move || told.boxed())
}
