//! SQLite: a file of the workspace.

mod journal;
mod place;
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

use super::answer::Column;
use super::connection::{Bounds, acquire, pool};
use super::failure::{failed, trouble, unreachable};
use super::session::{Interrupt, Mode, Pool, Rows, Session, Statement, Trouble};

pub(super) use place::{Place, find};

use journal::Journal;

/// How long a statement waits for another program that writes to the file.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// How much memory SQLite takes in this process, all files together. What would need more, as sorting much without an
/// index, fails; nothing is put on the disk for it. The allocator takes about twice as much for the small pieces that a
/// sort consists of, and keeps what is freed for the thread that freed it.
pub const MAX_SQLITE_HEAP_BYTES: u64 = 128 << 20;

/// The longest that a connection may be in use and be used again. One that was longer is closed, so that its thread ends
/// and the next one takes over the memory that the allocator keeps for it.
const MAX_REUSED_AFTER: Duration = Duration::from_millis(50);

/// After how many steps of SQLite's machine it is asked whether the call was given up.
const PROGRESS_STEPS: i32 = 1000;

/// How many rows are read ahead.
const ROWS_AHEAD: usize = 16;

pub(super) struct Files {
    pool: SqlitePool,
    place: String,
    /// The path that was looked at.
    real: PathBuf,
    /// The journal, on connections that may write.
    journal: Option<Arc<Journal>>,
}

impl Files {
    /// Opens the file, once, to see that it can be; for writing where its journal can be protected.
    pub(super) async fn open(
        place: &Place,
        bounds: &Bounds,
        protected: Option<&ProtectedFiles>,
    ) -> Result<Self, Trouble> {
        let shown = format!("`{}`", place.given);
        let journal = protected.map(|files| Journal::of(&place.real, &place.given, files)).transpose()?;
        let is_writable = journal.is_some();
        let options = SqliteConnectOptions::new()
            .filename(&place.real)
            .read_only(!is_writable)
            .busy_timeout(BUSY_TIMEOUT)
            .row_buffer_size(ROWS_AHEAD)
            // What stands in a file is not to be trusted: not its views, triggers and defaults, not its pages.
            .pragma("trusted_schema", "OFF")
            .pragma("cell_size_check", "ON")
            .pragma("mmap_size", "0")
            .pragma("temp_store", "MEMORY")
            .pragma("hard_heap_limit", MAX_SQLITE_HEAP_BYTES.to_string())
            .disable_statement_logging();
        let pool = pool::<Sqlite>(options, bounds);
        let journal = journal.map(Arc::new);
        let files = Self { pool, place: shown, real: place.real.clone(), journal };
        let mut session = files.acquire().await?;
        session.check_journal().await?;
        // Opening reads nothing yet.
        let looked = (&mut *session.connection).execute("SELECT count(*) FROM sqlite_schema").await;
        looked.map_err(|error| unreachable(&error, &files.place))?;
        if place.is_new && is_writable {
            // The setting has this value already; writing it makes the file one that others take for a database.
            session.plain("PRAGMA user_version = 0").await?;
        }
        Ok(files)
    }

    async fn acquire(&self) -> Result<FileSession, Trouble> {
        let mut connection = acquire(&self.pool, &self.place).await?;
        // Between the look at the path and the opening somebody may have put a symlink there.
        let (_, _, opened): (i64, String, String) = sqlx::query_as("PRAGMA database_list")
            .fetch_one(&mut *connection)
            .await
            .map_err(|error| trouble(&error, None))?;
        if Path::new(&opened) != self.real {
            connection.close_on_drop();
            return Err(
                failed(format!("{} was replaced by another file while it was opened", self.place)).into()
            );
        }
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let mut handle = connection.lock_handle().await.map_err(|error| trouble(&error, None))?;
        handle.set_progress_handler(PROGRESS_STEPS, move || !flag.load(Ordering::Relaxed));
        drop(handle);
        Ok(FileSession { connection, stop, journal: self.journal.clone(), began: Instant::now() })
    }
}

#[async_trait]
impl Pool for Files {
    async fn session(&self) -> Result<Box<dyn Session>, Trouble> {
        Ok(Box::new(self.acquire().await?))
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

struct FileSession {
    connection: PoolConnection<Sqlite>,
    stop: Arc<AtomicBool>,
    /// None where nothing may be written.
    journal: Option<Arc<Journal>>,
    began: Instant,
}

impl FileSession {
    /// Refuses a journal that must not be rolled back.
    async fn check_journal(&self) -> Result<(), Trouble> {
        let Some(journal) = self.journal.clone() else { return Ok(()) };
        let checked = tokio::task::spawn_blocking(move || journal.check()).await;
        Ok(checked.map_err(|error| ToolError::new(ErrorKind::Internal, error.to_string()))??)
    }

    async fn plain(&mut self, sql: &'static str) -> Result<(), Trouble> {
        (&mut *self.connection).execute(sql).await.map_err(|error| trouble(&error, None))?;
        Ok(())
    }
}

#[async_trait]
impl Session for FileSession {
    fn interrupt(&self) -> Interrupt {
        let stop = Arc::clone(&self.stop);
        Box::new(move || async move { stop.store(true, Ordering::Relaxed) }.boxed())
    }

    async fn begin(&mut self, mode: Mode, _lifetime: Duration) -> Result<(), Trouble> {
        match mode {
            Mode::Read => {
                self.plain("PRAGMA query_only = ON").await?;
                self.plain("BEGIN").await?;
                if self.journal.is_none() {
                    return Ok(());
                }
                self.check_journal().await?;
                // Takes the lock at once. While it is held, no journal is rolled back.
                self.plain("SELECT 1 FROM sqlite_schema LIMIT 1").await
            }
            Mode::Write if self.journal.is_some() => {
                self.plain("PRAGMA query_only = OFF").await?;
                self.check_journal().await?;
                self.plain("BEGIN IMMEDIATE").await
            }
            Mode::Write => {
                Err(ToolError::new(ErrorKind::Denied, "this connection was opened for reading").into())
            }
        }
    }

    async fn run(&mut self, statement: &Statement, rows: &mut Rows) -> Result<(), Trouble> {
        let sql = if statement.explain {
            format!("EXPLAIN QUERY PLAN {}", statement.sql)
        } else {
            statement.sql.clone()
        };
        let of = |error: sqlx::Error| trouble(&error, Some(&statement.sql));
        let prepared =
            (&mut *self.connection).prepare(AssertSqlSafe(sql.clone()).into_sql_str()).await.map_err(of)?;
        let count = prepared.parameters().map_or(0, |known| known.map_left(<[_]>::len).into_inner());
        super::parameters::check_count(count, &statement.parameters)?;
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
        // It counts what the last statement changed that changes rows.
        rows.end(if super::lex::is_preparable(&statement.sql) || is_replace(&statement.sql) {
            affected
        } else {
            0
        })
        .await
    }

    async fn commit(&mut self) -> Result<(), Trouble> {
        self.plain("COMMIT").await
    }

    async fn release(mut self: Box<Self>, is_broken: bool) {
        self.stop.store(false, Ordering::Relaxed);
        // Fails where there is no transaction, as when SQLite has taken it back already.
        let _ended = self.plain("ROLLBACK").await;
        let is_idle = match self.connection.lock_handle().await {
            Ok(mut handle) => {
                handle.remove_progress_handler();
                true
            }
            Err(_) => false,
        };
        if is_broken || !is_idle || self.began.elapsed() >= MAX_REUSED_AFTER {
            // It closes in the background where that takes long; nothing can be done about one that does not.
            let _closed = tokio::time::timeout(BUSY_TIMEOUT, self.connection.close()).await;
        }
    }
}

fn is_replace(sql: &str) -> bool {
    sql.trim_start().get(..7).is_some_and(|word| word.eq_ignore_ascii_case("REPLACE"))
}
