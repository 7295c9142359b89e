//! A store in a SQLite file.
//!
//! All operations use one connection. Changes that arrive during a write are combined into one transaction, so that
//! many callers share one wait for the disk. Changes are acknowledged when they are on the disk (`synchronous = FULL`).

mod statements;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::MappedMutexGuard;

use self::statements::write;
use super::encoded_changes::{PendingWrite, Refused, WriteQueue};
use super::{Change, Record, RecordKind, Store, StoreError, ids_with, milliseconds};
use crate::{Clock, SystemClock};

/// The time to wait for another process to finish writing to the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of quarantined databases. Another damaged database is an error.
const MAX_QUARANTINED: u32 = 100;

/// The statements that migrate a database from each version to the next. A released migration is never changed.
pub(super) const MIGRATIONS: [&[&str]; 2] = [
    &[
        "CREATE TABLE records (
            kind TEXT NOT NULL, id TEXT NOT NULL, session TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (kind, id)
        ) WITHOUT ROWID, STRICT",
        // Timestamps in nanoseconds do not fit into 64 bits for all years; milliseconds do.
        "CREATE TABLE leases (id TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL)
            WITHOUT ROWID, STRICT",
        "PRAGMA user_version = 1",
    ],
    &[
        "ALTER TABLE records ADD COLUMN ends INTEGER",
        "CREATE INDEX records_ends ON records (ends) WHERE ends IS NOT NULL",
        "PRAGMA user_version = 2",
    ],
];

/// The primary result codes of SQLite (<https://sqlite.org/rescode.html>), which are the lower bytes of extended codes.
mod code {
    pub(super) const BUSY: u32 = 5;
    pub(super) const LOCKED: u32 = 6;
    pub(super) const READONLY: u32 = 8;
    pub(super) const CORRUPT: u32 = 11;
    pub(super) const FULL: u32 = 13;
    pub(super) const CANTOPEN: u32 = 14;
    pub(super) const NOTADB: u32 = 26;
    pub(super) const PRIMARY: u32 = 0xff;
}

/// A store in a SQLite file.
pub struct SqliteStore {
    database: Arc<Database>,
    /// The lock file, which is held while the store is open. The system releases it when the process ends.
    lock: Mutex<Option<File>>,
}

struct Database {
    path: PathBuf,
    /// The clock of leases and of records that end.
    clock: Arc<dyn Clock>,
    /// `None` after the store was closed.
    connection: tokio::sync::Mutex<Option<SqliteConnection>>,
    /// The changes of callers that wait for the connection.
    pending: WriteQueue,
    /// The version of the data at the last check for changes of other processes.
    version: Mutex<Option<i64>>,
}

/// An opened store, and the path of the damaged database that it replaces.
pub struct OpenedStore {
    /// The store.
    pub store: SqliteStore,
    /// The new path of a damaged database that was replaced with an empty one.
    pub quarantined: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens a file. Creates the file and its folder if they do not exist. Returns [`StoreError::InUse`] if another
    /// process has it open, unless both processes share it.
    pub async fn open(path: impl Into<PathBuf>, is_shared: bool) -> Result<OpenedStore, StoreError> {
        let path = path.into();
        let lock = prepare(&path, is_shared)?;
        let mut quarantined = None;
        let connection = match connect(&path).await {
            Err(StoreError::Damaged { .. }) => {
                quarantined = Some(quarantine(&path)?);
                connect(&path).await?
            }
            opened => opened?,
        };
        Ok(OpenedStore { store: Self::with_connection(path, connection, Some(lock)), quarantined })
    }

    /// Opens an existing file without the lock, while another process has it open. This is for operators, who read
    /// tasks and submit requests, but run no tasks.
    pub async fn open_unlocked(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let connection = connect(&path).await?;
        Ok(Self::with_connection(path, connection, None))
    }

    /// Opens an existing file to read it. Checks and migrates nothing. Returns `None` for a file of an earlier format.
    pub async fn open_for_reading(path: impl Into<PathBuf>) -> Result<Option<Self>, StoreError> {
        let path = path.into();
        let options = SqliteConnectOptions::new().filename(&path).busy_timeout(BUSY_TIMEOUT);
        let failed = |error: sqlx::Error| database_error(&path, &error);
        let mut connection = options.disable_statement_logging().connect().await.map_err(failed)?;
        let version = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut connection).await;
        let version: i64 = version.map_err(failed)?;
        let is_current = usize::try_from(version).is_ok_and(|version| version >= MIGRATIONS.len());
        Ok(is_current.then(|| Self::with_connection(path, connection, None)))
    }

    fn with_connection(path: PathBuf, connection: SqliteConnection, lock: Option<File>) -> Self {
        let connection = tokio::sync::Mutex::new(Some(connection));
        let (clock, pending) = (Arc::new(SystemClock), WriteQueue::default());
        let database = Database { path, clock, connection, pending, version: Mutex::default() };
        Self { database: Arc::new(database), lock: Mutex::new(lock) }
    }

    /// Sets the clock of leases and of records that end.
    #[cfg(test)]
    pub(in crate::store) fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        Arc::get_mut(&mut self.database).unwrap().clock = clock;
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.database.path
    }

    /// Limits the number of pages of the database, which simulates a full disk.
    #[cfg(test)]
    pub(in crate::store) async fn limit_pages(&self, pages: u32) {
        let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
        sqlx::query(limit).execute(&mut *self.database.connection().await.unwrap()).await.unwrap();
    }

    async fn read(&self, kind: RecordKind, first: &str, last: &str) -> Result<Vec<Record>, StoreError> {
        let database = &self.database;
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT id, session, body FROM records WHERE kind = ? AND id >= ? AND id <= ?
             AND (ends IS NULL OR ends > ?) ORDER BY id",
        )
        .bind(kind.as_str())
        .bind(first)
        .bind(last)
        .bind(database.now())
        .fetch_all(&mut *database.connection().await?)
        .await
        .map_err(|error| database.error(&error))?;
        let record = |(id, session, body): (String, String, String)| {
            let body = serde_json::from_str(&body).map_err(|error| StoreError::Damaged {
                path: database.path.clone(),
                reason: format!("{} `{id}`: {error}", kind.as_str()),
            })?;
            Ok(Record { kind, id, session, body })
        };
        rows.into_iter().map(record).collect()
    }
}

impl Database {
    /// Returns the connection when the operations before have ended.
    async fn connection(&self) -> Result<MappedMutexGuard<'_, SqliteConnection>, StoreError> {
        let connection = self.connection.lock().await;
        tokio::sync::MutexGuard::try_map(connection, Option::as_mut).map_err(|_| StoreError::Closed)
    }

    /// Writes the changes of the callers that wait, in one transaction.
    async fn write_pending(&self) {
        let connection = self.connection().await;
        let batch = self.pending.take_batch();
        let written = match connection {
            Ok(mut connection) => self.write(&mut connection, &batch).await,
            Err(closed) => Err(closed),
        };
        PendingWrite::answer_all(batch, &written);
    }

    async fn write(
        &self,
        connection: &mut SqliteConnection,
        batch: &[PendingWrite],
    ) -> Result<Vec<Refused>, StoreError> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let error = match write(connection, batch, self.now()).await {
            Ok(refused) => return Ok(refused),
            Err(error) => error,
        };
        // A full disk has already ended the transaction, which a transaction of `sqlx` would not notice.
        let _ = sqlx::query("ROLLBACK").execute(connection).await;
        Err(self.error(&error))
    }

    /// Returns the time in milliseconds.
    fn now(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    fn error(&self, error: &sqlx::Error) -> StoreError {
        database_error(&self.path, error)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        let (first, last) = ids_with(prefix);
        self.read(kind, &first, &last).await
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.read(kind, id, id).await?.pop())
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        let removed = sqlx::query("DELETE FROM records WHERE ends <= ?")
            .bind(self.database.now())
            .execute(&mut *self.database.connection().await?)
            .await;
        removed.map(drop).map_err(|error| self.database.error(&error))
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let answered = self.database.pending.push(changes)?;
        // A separate task, so that a transaction ends even if its caller stops waiting.
        let database = Arc::clone(&self.database);
        tokio::spawn(async move { database.write_pending().await });
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        // All processes that share a file run on one machine.
        let now = self.database.now();
        let leased = sqlx::query(
            "INSERT INTO leases (id, owner, until) VALUES (?, ?, ?)
             ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until = excluded.until
             WHERE leases.owner = excluded.owner OR leases.until <= ?",
        )
        .bind(id)
        .bind(owner)
        .bind(now.saturating_add(milliseconds(time)))
        .bind(now)
        .execute(&mut *self.database.connection().await?)
        .await;
        Ok(leased.map_err(|error| self.database.error(&error))?.rows_affected() > 0)
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        let released = sqlx::query("UPDATE leases SET until = 0 WHERE id = ? AND owner = ?")
            .bind(id)
            .bind(owner)
            .execute(&mut *self.database.connection().await?)
            .await;
        released.map(drop).map_err(|error| self.database.error(&error))
    }

    async fn has_changed(&self) -> Result<bool, StoreError> {
        // `data_version` changes with commits of other connections only.
        let version: i64 = sqlx::query_scalar("PRAGMA data_version")
            .fetch_one(&mut *self.database.connection().await?)
            .await
            .map_err(|error| self.database.error(&error))?;
        Ok(self.database.version.lock().replace(version).is_some_and(|before| before != version))
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn close(&self) {
        while !self.database.pending.is_empty() {
            self.database.write_pending().await;
        }
        let lock = self.lock.lock().take();
        if let Some(connection) = self.database.connection.lock().await.take() {
            // Changes in the write-ahead log are durable even if closing fails.
            let _ = connection.close().await;
        }
        // All writes have ended, so another process may open the file.
        drop(lock);
    }
}

/// Creates the folder, and acquires the lock.
fn prepare(path: &Path, is_shared: bool) -> Result<File, StoreError> {
    let failed = |error: io::Error| io_error(path, &error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let lock = open_file(&with_suffix(path, ".lock")).map_err(failed)?;
    let locked = if is_shared { lock.try_lock_shared() } else { lock.try_lock() };
    match locked {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Opens a file, or creates it. Only its owner may read it, since arguments of calls may be secret.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        const OWNER_ONLY: u32 = 0o600;
        options.mode(OWNER_ONLY);
    }
    options.open(path)
}

async fn connect(path: &Path) -> Result<SqliteConnection, StoreError> {
    open_file(path).map_err(|error| io_error(path, &error))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| database_error(path, &error))?;
    let found: Result<String, _> =
        sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    let prepared = match found {
        Ok(found) if found == "ok" => migrate(&mut connection, path).await,
        Ok(found) => Err(StoreError::Damaged { path: path.to_owned(), reason: found }),
        Err(error) => Err(database_error(path, &error)),
    };
    match prepared {
        Ok(()) => Ok(connection),
        Err(error) => {
            // The connection is not used any more.
            let _ = connection.close().await;
            Err(error)
        }
    }
}

/// Migrates a database to the newest version in one transaction.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let supported = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    let failed = |error: sqlx::Error| database_error(path, &error);
    // The write lock prevents two processes that open the file at once from both migrating it.
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.map_err(failed)?;
    let version: i64 =
        sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut *connection).await.map_err(failed)?;
    if version > supported {
        return Err(StoreError::NewerVersion { path: path.to_owned(), version, supported });
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(version).unwrap_or_default()) {
        for statement in *step {
            sqlx::query(*statement).execute(&mut *connection).await.map_err(failed)?;
        }
    }
    sqlx::query("COMMIT").execute(connection).await.map_err(failed)?;
    Ok(())
}

/// Renames a damaged database, so that its content can still be inspected, and returns the new path.
fn quarantine(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |error: io::Error| io_error(path, &error);
    let free = (1..=MAX_QUARANTINED).map(|number| with_suffix(path, &format!(".damaged-{number}")));
    let aside = free.into_iter().find(|aside| !aside.exists()).ok_or_else(|| {
        let reason = format!("{MAX_QUARANTINED} damaged copies exist already");
        StoreError::Damaged { path: path.to_owned(), reason }
    })?;
    // The write-ahead log belongs to the database.
    for part in ["-wal", "-shm"] {
        match fs::rename(with_suffix(path, part), with_suffix(&aside, part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    fs::rename(path, &aside).map_err(failed)?;
    Ok(aside)
}

/// Appends a suffix to the name of a file.
fn with_suffix(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}

pub(super) fn database_error(path: &Path, error: &sqlx::Error) -> StoreError {
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::Io(error) => io_error(path, error),
            other => StoreError::Failed { path: path.to_owned(), reason: other.to_string() },
        };
    };
    let (path, reason) = (path.to_owned(), database.message().to_owned());
    let number = database.code().and_then(|code| code.parse::<u32>().ok());
    match number.map(|number| number & code::PRIMARY) {
        Some(code::BUSY | code::LOCKED) => StoreError::Locked { path },
        Some(code::READONLY | code::CANTOPEN) => StoreError::ReadOnly { path, reason },
        Some(code::CORRUPT | code::NOTADB) => StoreError::Damaged { path, reason },
        Some(code::FULL) => StoreError::Full { path },
        _ => StoreError::Failed { path, reason },
    }
}

fn io_error(path: &Path, error: &io::Error) -> StoreError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path },
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly { path, reason: error.to_string() }
        }
        _ => StoreError::Failed { path, reason: error.to_string() },
    }
}
