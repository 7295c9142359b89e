//! The state of a run in a SQLite file.
//!
//! A stage of an item is one transaction, which is on the disk when it is acknowledged.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::Mutex;

use super::error::PipelineError;
use super::item::Item;

/// The primary result codes of SQLite for a file that another process uses.
const BUSY_CODES: [u32; 2] = [5, 6];

/// The lower byte of a result code, which is the primary one.
const PRIMARY_CODE: u32 = 0xff;

/// The way to treat the state of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlierRun {
    /// It is an error.
    #[default]
    Refuse,
    /// The run continues.
    Resume,
    /// The run begins again.
    Restart,
}

/// The state of a run.
pub(crate) struct Store {
    path: PathBuf,
    connection: Mutex<SqliteConnection>,
}

impl Store {
    /// Opens the state of a task, whose settings identify it.
    pub(crate) async fn open(path: &Path, task: &str, earlier: EarlierRun) -> Result<Self, PipelineError> {
        let exists = path.exists();
        if exists && earlier == EarlierRun::Refuse {
            return Err(PipelineError::Exists { path: path.to_owned() });
        }
        if !exists {
            create(path).map_err(|error| store_error(path, &error))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Delete)
            .locking_mode(SqliteLockingMode::Exclusive)
            .synchronous(SqliteSynchronous::Full)
            .disable_statement_logging();
        let connection = options.connect().await.map_err(|error| database_error(path, &error))?;
        let store = Self { path: path.to_owned(), connection: Mutex::new(connection) };
        store.begin(task, earlier).await?;
        Ok(store)
    }

    async fn begin(&self, task: &str, earlier: EarlierRun) -> Result<(), PipelineError> {
        let mut connection = self.connection.lock().await;
        let error = |error| database_error(&self.path, &error);
        // The first write takes the lock, which the connection keeps.
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(error)?;
        for statement in [
            "CREATE TABLE IF NOT EXISTS task (settings TEXT NOT NULL) STRICT",
            "CREATE TABLE IF NOT EXISTS items (number INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT",
        ] {
            sqlx::query(statement).execute(&mut *transaction).await.map_err(error)?;
        }
        if earlier == EarlierRun::Restart {
            for statement in ["DELETE FROM task", "DELETE FROM items"] {
                sqlx::query(statement).execute(&mut *transaction).await.map_err(error)?;
            }
        }
        let stored: Option<String> = sqlx::query_scalar("SELECT settings FROM task")
            .fetch_optional(&mut *transaction)
            .await
            .map_err(error)?;
        match stored {
            Some(stored) if stored != task => {
                return Err(PipelineError::OtherTask { path: self.path.clone() });
            }
            Some(_) => {}
            None => {
                let insert = sqlx::query("INSERT INTO task VALUES (?)").bind(task);
                insert.execute(&mut *transaction).await.map_err(error)?;
            }
        }
        transaction.commit().await.map_err(error)
    }

    /// Returns the items, by their numbers.
    pub(crate) async fn items(&self) -> Result<Vec<Item>, PipelineError> {
        let mut connection = self.connection.lock().await;
        let bodies: Vec<String> = sqlx::query_scalar("SELECT body FROM items ORDER BY number")
            .fetch_all(&mut *connection)
            .await
            .map_err(|error| database_error(&self.path, &error))?;
        let parsed = bodies.iter().map(|body| serde_json::from_str(body)).collect::<Result<_, _>>();
        parsed.map_err(|error| store_error(&self.path, &error))
    }

    /// Stores an item in one transaction.
    pub(crate) async fn put(&self, item: &Item) -> Result<(), PipelineError> {
        let body = serde_json::to_string(item).map_err(|error| store_error(&self.path, &error))?;
        let number = i64::try_from(item.index).map_err(|error| store_error(&self.path, &error))?;
        let mut connection = self.connection.lock().await;
        sqlx::query(
            "INSERT INTO items VALUES (?, ?) ON CONFLICT (number) DO UPDATE SET body = excluded.body",
        )
        .bind(number)
        .bind(body)
        .execute(&mut *connection)
        .await
        .map_err(|error| database_error(&self.path, &error))?;
        Ok(())
    }

    /// Closes the file.
    pub(crate) async fn close(self) -> Result<(), PipelineError> {
        let path = self.path;
        self.connection.into_inner().close().await.map_err(|error| database_error(&path, &error))
    }
}

/// Creates an empty file. Conversations may contain private data, so only the user may read it.
fn create(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn store_error(path: &Path, error: &dyn std::error::Error) -> PipelineError {
    PipelineError::Store { path: path.to_owned(), message: error.to_string() }
}

fn database_error(path: &Path, error: &sqlx::Error) -> PipelineError {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    let code = code.and_then(|code| code.parse::<u32>().ok()).map(|code| code & PRIMARY_CODE);
    if code.is_some_and(|code| BUSY_CODES.contains(&code)) {
        return PipelineError::InUse { path: path.to_owned() };
    }
    store_error(path, error)
}
