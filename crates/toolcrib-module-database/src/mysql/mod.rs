//! MySQL and MariaDB.
//!
//! Every statement of a model is prepared at the server, which then accepts only one statement.

pub(crate) mod errors;
mod values;

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlColumn, MySqlConnectOptions, MySqlSslMode};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Either, Executor, MySql, MySqlConnection, Row as _,
    SqlSafeStr, Statement as _,
};
use toolcrib_model::Secret;

use super::backend::{RowSender, Statement, StatementError};
use super::config::{Location, Tls};
use super::connection::driver_error::statement_error;
use super::connection::pool::Options;
use super::connection::server::Server;
use super::output::Column;
use super::parameters::check_count;
use super::statement_check::is_preparable;

/// The state of a connection.
pub(super) struct MySqlSession {
    /// The id of the connection at the server.
    thread: u64,
    is_mariadb: bool,
}

fn columns_of(columns: &[MySqlColumn]) -> Vec<Column> {
    let of = |column: &MySqlColumn| Column {
        name: column.name().to_owned(),
        kind: Some(values::type_name(column.type_info())),
    };
    columns.iter().map(of).collect()
}

#[async_trait]
impl Server<MySqlSession> for MySql {
    const RESET: [&'static str; 2] = ["ROLLBACK", "DO RELEASE_ALL_LOCKS()"];

    fn options(location: &Location, host: &str, tls: Tls, _is_writable: bool) -> Options<Self> {
        let mut options = MySqlConnectOptions::new()
            .host(host)
            .port(location.server().1)
            .username(location.user.as_deref().unwrap_or("root"))
            .password(location.password.as_ref().map_or("", Secret::expose))
            .database(&location.database)
            .statement_cache_capacity(0)
            // Otherwise `||` would concatenate, contrary to the documentation of MySQL.
            .pipes_as_concat(false)
            .ssl_mode(match tls {
                Tls::Disable => MySqlSslMode::Disabled,
                Tls::Prefer => MySqlSslMode::Preferred,
                Tls::Require => MySqlSslMode::Required,
                Tls::Verify => MySqlSslMode::VerifyIdentity,
            })
            .disable_statement_logging();
        if let Some(file) = &location.root_certificate {
            options = options.ssl_ca(file);
        }
        options
    }

    async fn session(connection: &mut MySqlConnection) -> Result<MySqlSession, sqlx::Error> {
        let query = sqlx::query_as("SELECT CONNECTION_ID(), VERSION()").persistent(false);
        let (thread, version): (u64, String) = query.fetch_one(connection).await?;
        Ok(MySqlSession { thread, is_mariadb: version.contains("MariaDB") })
    }

    fn cancel(session: &MySqlSession) -> String {
        format!("KILL QUERY {}", session.thread)
    }

    fn begin(session: &MySqlSession, access: &str, lifetime: Duration) -> String {
        let seconds = lifetime.as_secs().max(1);
        let limit = if session.is_mariadb {
            format!("max_statement_time = {seconds}")
        } else {
            format!("max_execution_time = {}", seconds * 1000)
        };
        // The session has the same mode, in case a routine ends the transaction. The write timeout keeps the server
        // from taking a slowly read result for a dead connection.
        format!(
            "SET SESSION {limit}, net_write_timeout = {seconds}; SET SESSION TRANSACTION {access}; \
             START TRANSACTION {access}"
        )
    }

    async fn run(
        connection: &mut MySqlConnection,
        _session: &mut MySqlSession,
        statement: &Statement,
        rows: &mut RowSender,
    ) -> Result<(), StatementError> {
        let sql =
            if statement.explain { format!("EXPLAIN {}", statement.sql) } else { statement.sql.clone() };
        let of = |error: sqlx::Error| statement_error(&error, Some(&statement.sql));
        let text = AssertSqlSafe(sql.clone()).into_sql_str();
        let prepared = (&mut *connection).prepare(text).await.map_err(of)?;
        check_count(&prepared, &statement.parameters)?;
        let columns = columns_of(prepared.columns());
        // MariaDB reports the columns of `RETURNING` only with the rows.
        let mut has_columns = !columns.is_empty();
        drop(prepared);
        let arguments = values::arguments(&statement.parameters)?;
        if has_columns {
            rows.columns(columns).await?;
        }
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(false);
        let mut stream = connection.fetch_many(query);
        let (mut affected, mut count) = (0, 0);
        while let Some(next) = stream.try_next().await.map_err(of)? {
            match next {
                Either::Left(result) => affected = result.rows_affected(),
                Either::Right(row) => {
                    count += 1;
                    if !has_columns {
                        has_columns = true;
                        rows.columns(columns_of(row.columns())).await?;
                    }
                    let cells = (0..row.len()).map(|at| values::cell(&row, at));
                    let row = rows.cut(cells);
                    rows.row(row).await?;
                }
            }
        }
        // The server does not count returned rows as changed rows.
        rows.end(if affected == 0 && is_preparable(&statement.sql) { count } else { affected }).await
    }
}
