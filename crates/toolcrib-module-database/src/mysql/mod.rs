//! MySQL and MariaDB.
//!
//! Every statement of a model is prepared at the server, which then accepts only one statement.

mod values;

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlColumn, MySqlConnectOptions, MySqlSslMode};
use sqlx::pool::PoolConnection;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Either, Executor, MySql, MySqlConnection,
    MySqlPool, Row as _, SqlSafeStr, Statement as _,
};
use toolcrib_model::Secret;

use super::backend::{
    ConnectionPool, DatabaseSession, Interrupt, Mode, RowSender, Statement, StatementError,
};
use super::config::{Location, Tls};
use super::connection::{PoolLimits, acquire, pool, try_once};
use super::errors::{connect_error, statement_error};
use super::output::Column;
use super::parameters::check_count;
use super::server;
use super::statement_check::is_preparable;

pub(super) struct MySqlBackend {
    pool: MySqlPool,
    options: MySqlConnectOptions,
    description: String,
    is_writable: bool,
}

impl MySqlBackend {
    /// Connects once to check the credentials, and creates the pool. `host` is the resolved host.
    pub(super) async fn open(
        location: &Location,
        host: &str,
        tls: Tls,
        bounds: &PoolLimits,
        is_writable: bool,
    ) -> Result<Self, StatementError> {
        let description = location.describe();
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
        try_once(bounds, &description, MySqlConnection::connect_with(&options)).await?;
        let pool = pool::<MySql>(options.clone(), bounds);
        Ok(Self { pool, options, description, is_writable })
    }
}

#[async_trait]
impl ConnectionPool for MySqlBackend {
    async fn session(&self) -> Result<Box<dyn DatabaseSession>, StatementError> {
        let of = |error: sqlx::Error| connect_error(&error, &self.description);
        let mut connection = acquire(&self.pool, &self.description).await?;
        let (thread, version): (u64, String) = sqlx::query_as("SELECT CONNECTION_ID(), VERSION()")
            .persistent(false)
            .fetch_one(&mut *connection)
            .await
            .map_err(of)?;
        Ok(Box::new(MySqlSession {
            connection,
            options: self.options.clone(),
            thread,
            is_mariadb: version.contains("MariaDB"),
            is_writable: self.is_writable,
        }))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

struct MySqlSession {
    connection: PoolConnection<MySql>,
    options: MySqlConnectOptions,
    /// The id of the connection at the server.
    thread: u64,
    is_mariadb: bool,
    is_writable: bool,
}

impl MySqlSession {
    async fn execute_raw(&mut self, sql: String) -> Result<(), StatementError> {
        server::execute_raw(&mut self.connection, sql).await
    }
}

fn columns(columns: &[MySqlColumn]) -> Vec<Column> {
    let of = |column: &MySqlColumn| Column {
        name: column.name().to_owned(),
        kind: Some(values::type_name(column.type_info())),
    };
    columns.iter().map(of).collect()
}

#[async_trait]
impl DatabaseSession for MySqlSession {
    fn interrupt(&self) -> Interrupt {
        server::interrupt::<MySql>(self.options.clone(), format!("KILL QUERY {}", self.thread))
    }

    async fn begin(&mut self, mode: Mode, lifetime: Duration) -> Result<(), StatementError> {
        let access = server::access(mode, self.is_writable)?;
        let seconds = lifetime.as_secs().max(1);
        let limit = if self.is_mariadb {
            format!("max_statement_time = {seconds}")
        } else {
            format!("max_execution_time = {}", seconds * 1000)
        };
        // The session has the same mode, in case a routine ends the transaction. The write timeout keeps the server
        // from taking a slowly read result for a dead connection.
        self.execute_raw(format!(
            "SET SESSION {limit}, net_write_timeout = {seconds}; SET SESSION TRANSACTION {access}; \
             START TRANSACTION {access}"
        ))
        .await
    }

    async fn run(&mut self, statement: &Statement, rows: &mut RowSender) -> Result<(), StatementError> {
        let sql =
            if statement.explain { format!("EXPLAIN {}", statement.sql) } else { statement.sql.clone() };
        let of = |error: sqlx::Error| statement_error(&error, Some(&statement.sql));
        let text = AssertSqlSafe(sql.clone()).into_sql_str();
        let prepared = (&mut *self.connection).prepare(text).await.map_err(of)?;
        let count =
            prepared.parameters().map_or(0, |parameters| parameters.map_left(<[_]>::len).into_inner());
        check_count(count, &statement.parameters)?;
        let columns = columns(prepared.columns());
        // MariaDB reports the columns of `RETURNING` only with the rows.
        let mut has_columns = !columns.is_empty();
        drop(prepared);
        let arguments = values::arguments(&statement.parameters)?;
        if has_columns {
            rows.columns(columns).await?;
        }
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(false);
        let mut stream = (&mut *self.connection).fetch_many(query);
        let (mut affected, mut count) = (0, 0);
        while let Some(next) = stream.try_next().await.map_err(of)? {
            match next {
                Either::Left(result) => affected = result.rows_affected(),
                Either::Right(row) => {
                    count += 1;
                    if !has_columns {
                        has_columns = true;
                        rows.columns(self::columns(row.columns())).await?;
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

    async fn commit(&mut self) -> Result<(), StatementError> {
        self.execute_raw("COMMIT".into()).await
    }

    async fn release(mut self: Box<Self>, is_broken: bool) {
        let is_clean = !is_broken
            && self.execute_raw("ROLLBACK".into()).await.is_ok()
            && self.execute_raw("DO RELEASE_ALL_LOCKS()".into()).await.is_ok();
        if !is_clean {
            self.connection.close_on_drop();
        }
    }
}
