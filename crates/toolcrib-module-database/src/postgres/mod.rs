//! PostgreSQL.
//!
//! Results have the text format, which every type supports, so that no type is unknown and nothing is lost. A statement
//! without parameters is sent as it is, once the server has confirmed that it is one statement. Parameters are sent as
//! texts too: the statement is prepared at the server, the values are stored in settings of the transaction, and the
//! statement is executed with these, each cast to the type of its parameter.

mod array;
pub(crate) mod errors;
mod values;

use std::time::Duration;

use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgSslMode, PgTypeInfo};
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Either, Executor, PgConnection, Postgres, Row as _,
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
pub(super) struct PostgresSession {
    /// The id of the server's process.
    process: i32,
    /// The number of prepared statements.
    statements: u64,
}

impl PostgresSession {
    /// Prepares a statement at the server and stores its parameters. Returns the text that executes it.
    async fn bind_parameters(
        &mut self,
        connection: &mut PgConnection,
        statement: &Statement,
    ) -> Result<String, StatementError> {
        self.statements += 1;
        let name = format!("toolcrib_{}", self.statements);
        let of = |error: sqlx::Error| statement_error(&error, None);
        sqlx::query(AssertSqlSafe(format!("PREPARE {name} AS {}", statement.sql)))
            .persistent(false)
            .execute(&mut *connection)
            .await
            .map_err(of)?;
        let kinds: Vec<(String, bool, String)> = sqlx::query_as(PARAMETER_TYPES)
            .bind(&name)
            .persistent(false)
            .fetch_all(&mut *connection)
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
            .execute(&mut *connection)
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
impl Server<PostgresSession> for Postgres {
    // No state of a statement remains for the next one.
    const RESET: [&'static str; 2] = ["ROLLBACK", "DISCARD ALL"];

    fn options(location: &Location, host: &str, tls: Tls, is_writable: bool) -> Options<Self> {
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
        options
    }

    async fn session(connection: &mut PgConnection) -> Result<PostgresSession, sqlx::Error> {
        let query = sqlx::query_scalar("SELECT pg_backend_pid()").persistent(false);
        Ok(PostgresSession { process: query.fetch_one(connection).await?, statements: 0 })
    }

    fn cancel(session: &PostgresSession) -> String {
        format!("SELECT pg_cancel_backend({})", session.process)
    }

    fn begin(_session: &PostgresSession, access: &str, lifetime: Duration) -> String {
        let milliseconds = lifetime.as_millis();
        format!(
            "BEGIN {access}; SET LOCAL statement_timeout = {milliseconds}; \
             SET LOCAL idle_in_transaction_session_timeout = {milliseconds}"
        )
    }

    async fn run(
        connection: &mut PgConnection,
        session: &mut PostgresSession,
        statement: &Statement,
        rows: &mut RowSender,
    ) -> Result<(), StatementError> {
        let sql = &statement.sql;
        let of = |error: sqlx::Error| statement_error(&error, Some(sql));
        // The server refuses a text of several statements here.
        let text = AssertSqlSafe(sql.clone()).into_sql_str();
        let prepared = (&mut *connection).prepare(text).await.map_err(of)?;
        check_count(&prepared, &statement.parameters)?;
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
            session.bind_parameters(connection, statement).await?
        };
        let text = if statement.explain { format!("EXPLAIN {text}") } else { text };
        if !columns.is_empty() {
            rows.columns(columns).await?;
        }
        let mut stream = connection.fetch_many(sqlx::raw_sql(AssertSqlSafe(text)));
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
}
