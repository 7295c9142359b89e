//! A store in a SQLite file.
//!
//! One task owns the only connection. Changes that arrive during a write are combined into one transaction, so that
//! many callers share one wait for the disk. Changes are acknowledged when they are on the disk (`synchronous = FULL`).

mod errors;
mod migrations;
mod writer;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use parking_lot::Mutex;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::errors::ErrorContext;
use self::writer::{Command, Lease, MAX_WAITING};
use super::{Change, Record, RecordKind, Store, StoreError};
use crate::{Clock, SystemClock};

/// The time to wait for another process to finish writing to the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of quarantined databases. Another damaged database is an error.
const MAX_QUARANTINED: u32 = 100;

/// A store in a SQLite file.
pub struct SqliteStore {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    commands: mpsc::Sender<Command>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The lock file, which is held while the store is open. The system releases it when the process ends.
    lock: Mutex<Option<File>>,
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

    fn with_connection(path: PathBuf, connection: SqliteConnection, lock: Option<File>) -> Self {
        let (commands, waiting) = mpsc::channel(MAX_WAITING);
        let writer = tokio::spawn(writer::run(connection, waiting, path.clone()));
        let (writer, lock) = (Mutex::new(Some(writer)), Mutex::new(lock));
        Self { path, clock: Arc::new(SystemClock), commands, writer, lock }
    }

    /// Sets the clock of leases.
    #[cfg(test)]
    pub(in crate::store) fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Limits the number of pages of the database, which simulates a full disk.
    #[cfg(test)]
    pub(in crate::store) async fn limit_pages(&self, pages: u32) {
        self.execute(|answer| Command::Limit { pages, answer }).await.unwrap();
    }

    async fn execute<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Command,
    ) -> Result<T, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(command(answer)).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn load(&self, kind: RecordKind) -> Result<Vec<Record>, StoreError> {
        self.execute(|answer| Command::Load { kind, id: None, answer }).await
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        let id = Some(id.to_owned());
        Ok(self.execute(|answer| Command::Load { kind, id, answer }).await?.pop())
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let changes = changes.into_iter().map(writer::encode).collect::<Result<Vec<_>, _>>()?;
        self.execute(|answer| Command::Apply { changes, answer }).await
    }

    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        // All processes that share a file run on one machine.
        let now = self.clock.now();
        let until = now.checked_add(time).unwrap_or(Timestamp::MAX);
        let lease = Lease { id: id.to_owned(), owner: owner.to_owned(), now: Some(now), until };
        self.execute(|answer| Command::Lease { lease, answer }).await
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        let lease = Lease { id: id.to_owned(), owner: owner.to_owned(), now: None, until: Timestamp::MIN };
        self.execute(|answer| Command::Lease { lease, answer }).await.map(|_| ())
    }

    async fn has_changed(&self) -> Result<bool, StoreError> {
        self.execute(|answer| Command::Changed { answer }).await
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn close(&self) {
        // This fails only if the store was closed before.
        let _ = self.commands.send(Command::Close).await;
        let writer = self.writer.lock().take();
        let lock = self.lock.lock().take();
        if let Some(writer) = writer {
            // The writer has reported all failures to the callers.
            let _ = writer.await;
        }
        // All writes have ended, so another process may open the file.
        drop(lock);
    }
}

/// Creates the folder, and acquires the lock.
fn prepare(path: &Path, is_shared: bool) -> Result<File, StoreError> {
    let failed = |error: io::Error| ErrorContext { path }.convert_io(&error);
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
    let error_context = ErrorContext { path };
    open_file(path).map_err(|error| error_context.convert_io(&error))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| error_context.convert(&error))?;
    let found: Result<String, _> =
        sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    let prepared = match found {
        Ok(found) if found == "ok" => migrations::migrate(&mut connection, &error_context).await,
        Ok(found) => Err(StoreError::Damaged { path: path.to_owned(), reason: found }),
        Err(error) => Err(error_context.convert(&error)),
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

/// Renames a damaged database, so that its content can still be inspected, and returns the new path.
fn quarantine(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |error: io::Error| ErrorContext { path }.convert_io(&error);
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
