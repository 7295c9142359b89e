//! SQLite: a file of the workspace.

pub(crate) mod errors;
mod file;
mod journal;
mod values;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::future::FutureExt;
use sqlx::pool::PoolConnection;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{
    AssertSqlSafe, Column as _, ConnectOptions, Either, Executor, Row as _, SqlSafeStr, Sqlite, SqlitePool,
    Statement as _,
};
use toolcrib_io::files::ProtectedFiles;
use toolcrib_model::{ErrorKind, ToolError};

use super::backend::{
    ConnectionPool, DatabaseSession, Interrupt, Mode, RowSender, Statement, StatementError,
};
use super::connection::driver_error::{connect_error, statement_error};
use super::connection::pool::{PoolLimits, acquire, pool};
use super::errors::failed;
use super::output::Column;

pub(super) use file::{DatabaseFile, find_file};

use journal::Journal;

/// The time that a statement waits for another program that writes to the file.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// The memory limit of SQLite in this process, for all files together, in bytes. A statement that needs more, such as a
/// large sort without an index, fails; SQLite writes no temporary files for it. The allocator takes about twice as much
/// for the small chunks of a sort, and caches freed memory for the thread that freed it.
pub(crate) const MAX_SQLITE_HEAP_BYTES: u64 = 128 << 20;

/// The maximum time in use after which a connection is reused. One that was in use longer is closed, so that its thread
/// ends and the next thread takes over the memory that the allocator cached for it.
const MAX_REUSED_AFTER: Duration = Duration::from_millis(50);

/// The number of instructions of SQLite's virtual machine between two checks for cancellation.
const PROGRESS_STEPS: i32 = 1000;

/// The number of rows that the driver reads ahead.
const ROWS_AHEAD: usize = 16;

pub(super) struct SqliteBackend {
    pool: SqlitePool,
    description: String,
    /// The path that was checked.
    real_path: PathBuf,
    /// The journal, on connections that may write.
    journal: Option<Arc<Journal>>,
}

impl SqliteBackend {
    /// Opens the file once to check it, and creates the pool. The connections may write if `protected` is given.
    pub(super) async fn open(
        file: &DatabaseFile,
        bounds: &PoolLimits,
        protected: Option<&ProtectedFiles>,
    ) -> Result<Self, StatementError> {
        let description = format!("`{}`", file.given);
        let journal =
            protected.map(|backend| Journal::of(&file.real_path, &file.given, backend)).transpose()?;
        let is_writable = journal.is_some();
        let options = SqliteConnectOptions::new()
            .filename(&file.real_path)
            .read_only(!is_writable)
            .busy_timeout(BUSY_TIMEOUT)
            .row_buffer_size(ROWS_AHEAD)
            // The content of a file is not trusted: views, triggers, defaults and pages.
            .pragma("trusted_schema", "OFF")
            .pragma("cell_size_check", "ON")
            .pragma("mmap_size", "0")
            .pragma("temp_store", "MEMORY")
            .pragma("hard_heap_limit", MAX_SQLITE_HEAP_BYTES.to_string())
            .disable_statement_logging();
        let pool = pool::<Sqlite>(options, bounds);
        let journal = journal.map(Arc::new);
        let backend = Self { pool, description, real_path: file.real_path.clone(), journal };
        let mut session = backend.acquire().await?;
        session.check_journal().await?;
        // Opening alone reads nothing.
        let checked = (&mut *session.connection).execute("SELECT count(*) FROM sqlite_schema").await;
        checked.map_err(|error| connect_error(&error, &backend.description))?;
        if file.is_new && is_writable {
            // The setting already has this value. Writing it creates the header that identifies the file as a database.
            session.execute_raw("PRAGMA user_version = 0").await?;
        }
        Ok(backend)
    }

    async fn acquire(&self) -> Result<SqliteSession, StatementError> {
        let mut connection = acquire(&self.pool, &self.description).await?;
        // A symlink may have replaced the file between the check of the path and the opening.
        let (_, _, opened): (i64, String, String) = sqlx::query_as("PRAGMA database_list")
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| statement_error(&error, None))?;
        if Path::new(&opened) != self.real_path {
            connection.close_on_drop();
            return Err(failed(format!(
                "{} was replaced by another file while it was opened",
                self.description
            ))
            .into());
        }
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let mut handle = connection.lock_handle().await.map_err(|error| statement_error(&error, None))?;
        handle.set_progress_handler(PROGRESS_STEPS, move || !flag.load(Ordering::Relaxed));
        drop(handle);
        Ok(SqliteSession { connection, stop, journal: self.journal.clone(), began: Instant::now() })
    }
}

#[async_trait]
impl ConnectionPool for SqliteBackend {
    async fn session(&self) -> Result<Box<dyn DatabaseSession>, StatementError> {
        Ok(Box::new(self.acquire().await?))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

struct SqliteSession {
    connection: PoolConnection<Sqlite>,
    stop: Arc<AtomicBool>,
    /// `None` if nothing may be written.
    journal: Option<Arc<Journal>>,
    began: Instant,
}

impl SqliteSession {
    /// Refuses a journal that must not be rolled back.
    async fn check_journal(&self) -> Result<(), StatementError> {
        let Some(journal) = self.journal.clone() else { return Ok(()) };
        let checked = tokio::task::spawn_blocking(move || journal.check()).await;
        Ok(checked.map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))??)
    }

    async fn execute_raw(&mut self, sql: &'static str) -> Result<(), StatementError> {
        (&mut *self.connection).execute(sql).await.map_err(|error| statement_error(&error, None))?;
        Ok(())
    }
}

#[async_trait]
impl DatabaseSession for SqliteSession {
    fn interrupt(&self) -> Interrupt {
        let stop = Arc::clone(&self.stop);
        Box::new(move || async move { stop.store(true, Ordering::Relaxed) }.boxed())
    }

    async fn begin(&mut self, mode: Mode, _lifetime: Duration) -> Result<(), StatementError> {
        match mode {
            Mode::Read => {
                self.execute_raw("PRAGMA query_only = ON").await?;
                self.execute_raw("BEGIN").await?;
                if self.journal.is_none() {
                    return Ok(());
                }
                self.check_journal().await?;
                // Takes the lock now. While it is held, no journal is rolled back.
                self.execute_raw("SELECT 1 FROM sqlite_schema LIMIT 1").await
            }
            Mode::Write if self.journal.is_some() => {
                self.execute_raw("PRAGMA query_only = OFF").await?;
                self.check_journal().await?;
                self.execute_raw("BEGIN IMMEDIATE").await
            }
            Mode::Write => {
                Err(ToolError::new(ErrorKind::Denied, "this connection was opened for reading").into())
            }
        }
    }

    async fn run(&mut self, statement: &Statement, rows: &mut RowSender) -> Result<(), StatementError> {
        let sql = if statement.explain {
            format!("EXPLAIN QUERY PLAN {}", statement.sql)
        } else {
            statement.sql.clone()
        };
        let of = |error: sqlx::Error| statement_error(&error, Some(&statement.sql));
        let prepared =
            (&mut *self.connection).prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await.map_err(of)?;
        super::parameters::check_count(&prepared, &statement.parameters)?;
        let columns = prepared
            .columns()
            .iter()
            .map(|column| Column { name: column.name().to_owned(), kind: values::type_name(column) });
        let columns: Vec<Column> = columns.collect();
        let arguments = values::arguments(&statement.parameters)?;
        if !columns.is_empty() {
            rows.columns(columns).await?;
        }
        let query = sqlx::query_with(AssertSqlSafe(sql), arguments).persistent(false);
        let mut stream = (&mut *self.connection).fetch_many(query);
        let mut affected = 0;
        while let Some(next) = stream.try_next().await.map_err(of)? {
            match next {
                Either::Left(result) => affected = result.rows_affected(),
                Either::Right(row) => {
                    let cells = (0..row.len()).map(|at| values::cell(&row, at));
                    let row = rows.cut(cells);
                    rows.row(row).await?;
                }
            }
        }
        // SQLite reports the count of the last statement that changed rows, even after others.
        rows.end(if super::statement_check::is_preparable(&statement.sql) || is_replace(&statement.sql) {
            affected
        } else {
            0
        })
        .await
    }

    async fn commit(&mut self) -> Result<(), StatementError> {
        self.execute_raw("COMMIT").await
    }

    async fn release(mut self: Box<Self>, is_broken: bool) {
        self.stop.store(false, Ordering::Relaxed);
        // Fails if SQLite has already rolled back.
        let _ended = self.execute_raw("ROLLBACK").await;
        let is_idle = match self.connection.lock_handle().await {
            Ok(mut handle) => {
                handle.remove_progress_handler();
                true
            }
            Err(_) => false,
        };
        if is_broken || !is_idle || self.began.elapsed() >= MAX_REUSED_AFTER {
            // A slow close continues in the background; one that hangs is given up.
            let _closed = tokio::time::timeout(BUSY_TIMEOUT, self.connection.close()).await;
        }
    }
}

fn is_replace(sql: &str) -> bool {
    sql.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("REPLACE"))
}
