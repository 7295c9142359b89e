//! PostgreSQL.
//!
//! Results have the text format, which every type supports, so that no type is unknown and nothing is lost. A statement
//! without parameters is sent as it is, once the server has confirmed that it is one statement. Parameters are sent as
//! texts too: the statement is prepared at the server, the values are stored in settings of the transaction, and the
//! statement is executed with these, each cast to the type of its parameter.

mod array;
mod values;

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgSslMode, PgTypeInfo};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Connection, Either, Executor, PgConnection, PgPool, Postgres,
    Row as _, SqlSafeStr, Statement as _,
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

pub(super) struct PostgresBackend {
    pool: PgPool,
    options: PgConnectOptions,
    description: String,
    is_writable: bool,
}

impl PostgresBackend {
    /// Connects once to check the credentials, and creates the pool. `host` is the resolved host.
    pub(super) async fn open(
        location: &Location,
        host: &str,
        tls: Tls,
        bounds: &PoolLimits,
        is_writable: bool,
    ) -> Result<Self, StatementError> {
        let description = location.describe();
        let mut options = PgConnectOptions::new_without_pgpass()
            .host(host)
            .port(location.server().1)
            .username(location.user.as_deref().unwrap_or("postgres"))
            // Always set: the driver would take a missing password from the environment, and send it to any server.
            .password(location.password.as_ref().map_or("", Secret::expose))
            .database(&location.database)
            .application_name("toolcrib")
            .statement_cache_capacity(0)
            .ssl_mode(match tls {
                Tls::Disable => PgSslMode::Disable,
                Tls::Prefer => PgSslMode::Prefer,
                Tls::Require => PgSslMode::Require,
                Tls::Verify => PgSslMode::VerifyFull,
            })
            .options([
                ("default_transaction_read_only", if is_writable { "off" } else { "on" }),
                ("bytea_output", "hex"),
                ("IntervalStyle", "iso_8601"),
            ])
            .disable_statement_logging();
        if let Some(file) = &location.root_certificate {
            options = options.ssl_root_cert(file);
        }
        try_once(bounds, &description, PgConnection::connect_with(&options)).await?;
        let pool = pool::<Postgres>(options.clone(), bounds);
        Ok(Self { pool, options, description, is_writable })
    }
}

#[async_trait]
impl ConnectionPool for PostgresBackend {
    async fn session(&self) -> Result<Box<dyn DatabaseSession>, StatementError> {
        let mut connection = acquire(&self.pool, &self.description).await?;
        let process = sqlx::query_scalar("SELECT pg_backend_pid()")
            .persistent(false)
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| connect_error(&error, &self.description))?;
        let (options, is_writable) = (self.options.clone(), self.is_writable);
        Ok(Box::new(PostgresSession { connection, options, process, statements: 0, is_writable }))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

struct PostgresSession {
    connection: PoolConnection<Postgres>,
    options: PgConnectOptions,
    /// The id of the server's process.
    process: i32,
    /// The number of prepared statements.
    statements: u64,
    is_writable: bool,
}

impl PostgresSession {
    async fn execute_raw(&mut self, sql: String) -> Result<(), StatementError> {
        server::execute_raw(&mut self.connection, sql).await
    }

    /// Prepares a statement at the server and stores its parameters. Returns the text that executes it.
    async fn bind_parameters(&mut self, statement: &Statement) -> Result<String, StatementError> {
        self.statements += 1;
        let name = format!("toolcrib_{}", self.statements);
        let of = |error: sqlx::Error| statement_error(&error, None);
        sqlx::query(AssertSqlSafe(format!("PREPARE {name} AS {}", statement.sql)))
            .persistent(false)
            .execute(&mut *self.connection)
            .await
            .map_err(of)?;
        let kinds: Vec<(String, bool, String)> = sqlx::query_as(PARAMETER_TYPES)
            .bind(&name)
            .persistent(false)
            .fetch_all(&mut *self.connection)
            .await
            .map_err(of)?;
        let mut texts = Vec::new();
        let mut arguments = Vec::new();
        for (at, ((qualified, is_array, kind), value)) in kinds.iter().zip(&statement.parameters).enumerate()
        {
            let text = values::text(value, at, *is_array, kind.trim_start_matches('_') == "bytea")?;
            arguments.push(match text {
                Some(_) => format!("current_setting('toolcrib.p{}')::{qualified}", at + 1),
                None => format!("NULL::{qualified}"),
            });
            texts.push(text);
        }
        sqlx::query(SET_PARAMETERS)
            .bind(texts)
            .persistent(false)
            .execute(&mut *self.connection)
            .await
            .map_err(of)?;
        Ok(format!("EXECUTE {name}({})", arguments.join(", ")))
    }
}

/// The types of the parameters of a prepared statement: qualified name, array or not, plain name.
const PARAMETER_TYPES: &str = "\
    SELECT quote_ident(n.nspname) || '.' || quote_ident(t.typname), t.typcategory = 'A', t.typname::text \
    FROM pg_prepared_statements p, unnest(p.parameter_types) WITH ORDINALITY AS u(kind, at) \
    JOIN pg_type t ON t.oid = u.kind::oid JOIN pg_namespace n ON n.oid = t.typnamespace \
    WHERE p.name = $1 ORDER BY u.at";

/// Stores the parameters in settings that end with the transaction.
const SET_PARAMETERS: &str = "\
    SELECT count(set_config('toolcrib.p' || u.at, u.value, true)) \
    FROM unnest($1::text[]) WITH ORDINALITY AS u(value, at)";

#[async_trait]
impl DatabaseSession for PostgresSession {
    fn interrupt(&self) -> Interrupt {
        server::interrupt::<Postgres>(
            self.options.clone(),
            format!("SELECT pg_cancel_backend({})", self.process),
        )
    }

    async fn begin(&mut self, mode: Mode, lifetime: Duration) -> Result<(), StatementError> {
        let access = server::access(mode, self.is_writable)?;
        let milliseconds = lifetime.as_millis();
        self.execute_raw(format!(
            "BEGIN {access}; SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL idle_in_transaction_session_timeout = {milliseconds}"
        ))
        .await
    }

    async fn run(&mut self, statement: &Statement, rows: &mut RowSender) -> Result<(), StatementError> {
        let sql = &statement.sql;
        let of = |error: sqlx::Error| statement_error(&error, Some(sql));
        // The server refuses a text of several statements here.
        let text = AssertSqlSafe(sql.clone()).into_sql_str();
        let prepared = (&mut *self.connection).prepare(text).await.map_err(of)?;
        let count =
            prepared.parameters().map_or(0, |parameters| parameters.map_left(<[_]>::len).into_inner());
        check_count(count, &statement.parameters)?;
        let (columns, kinds): (Vec<Column>, Vec<Option<PgTypeInfo>>) = if statement.explain {
            (vec![Column { name: "plan".into(), kind: None }], vec![None])
        } else {
            let of = |column: &sqlx::postgres::PgColumn| {
                let kind = Some(column.type_info().to_string().to_lowercase());
                (Column { name: column.name().to_owned(), kind }, Some(column.type_info().clone()))
            };
            prepared.columns().iter().map(of).unzip()
        };
        drop(prepared);
        let text = if statement.parameters.is_empty() {
            sql.clone()
        } else {
            self.bind_parameters(statement).await?
        };
        let text = if statement.explain { format!("EXPLAIN {text}") } else { text };
        if !columns.is_empty() {
            rows.columns(columns).await?;
        }
        let mut stream = (&mut *self.connection).fetch_many(sqlx::raw_sql(AssertSqlSafe(text)));
        let mut affected = 0;
        while let Some(next) = stream.try_next().await.map_err(of)? {
            match next {
                Either::Left(result) => affected = result.rows_affected(),
                Either::Right(row) => {
                    let cells = (0..row.len())
                        .map(|at| values::cell(&row, at, kinds.get(at).and_then(Option::as_ref)));
                    let row = rows.cut(cells);
                    rows.row(row).await?;
                }
            }
        }
        rows.end(if is_preparable(sql) { affected } else { 0 }).await
    }

    async fn commit(&mut self) -> Result<(), StatementError> {
        self.execute_raw("COMMIT".into()).await
    }

    async fn release(mut self: Box<Self>, is_broken: bool) {
        // No state of a statement remains for the next one.
        let is_clean = !is_broken
            && self.execute_raw("ROLLBACK".into()).await.is_ok()
            && self.execute_raw("DISCARD ALL".into()).await.is_ok();
        if !is_clean {
            self.connection.close_on_drop();
        }
    }
}
