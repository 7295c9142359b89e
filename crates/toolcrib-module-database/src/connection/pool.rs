//! Pools of connections to one database.

use std::time::Duration;

use toolcrib_model::{ErrorKind, ToolError};

use crate::backend::StatementError;
use crate::connection::driver_error::connect_error;
use crate::errors::ALLOW_WRITES;

/// The limits of a pool of connections.
pub(crate) struct PoolLimits {
    pub(crate) pool_size: u32,
    pub(crate) connect_timeout: Duration,
    pub(crate) idle: Duration,
}

/// The connect options of a database.
pub(crate) type Options<D> = <<D as sqlx::Database>::Connection as sqlx::Connection>::Options;

/// Returns a pool that opens its first connection on first use.
pub(crate) fn pool<D: sqlx::Database>(options: Options<D>, bounds: &PoolLimits) -> sqlx::Pool<D> {
    sqlx::pool::PoolOptions::new()
        .max_connections(bounds.pool_size)
        .acquire_timeout(bounds.connect_timeout)
        .idle_timeout(bounds.idle)
        .max_lifetime(None)
        .connect_lazy_with(options)
}

/// Returns a free connection of a pool.
pub(crate) async fn acquire<D: sqlx::Database>(
    pool: &sqlx::Pool<D>,
    description: &str,
) -> Result<sqlx::pool::PoolConnection<D>, StatementError> {
    let error = match pool.acquire().await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    let is_full = pool.size() >= pool.options().get_max_connections();
    if matches!(error, sqlx::Error::PoolTimedOut) && !is_full {
        let silent = std::io::Error::new(std::io::ErrorKind::TimedOut, "no connection in time");
        return Err(connect_error(&sqlx::Error::Io(silent), description));
    }
    Err(connect_error(&error, description))
}

/// Returns the error of a change by a read-only connection.
pub(crate) fn not_writable() -> ToolError {
    ToolError::new(ErrorKind::Denied, "this connection may only read")
        .with_hint(
            "changing data needs `allow_writes`, which the operator sets, and a connection without `read_only`",
        )
        .with_setting(ALLOW_WRITES)
}
