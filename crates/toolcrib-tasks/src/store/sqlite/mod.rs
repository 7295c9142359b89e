//! A store in a file of SQLite.
//!
//! One connection writes, in its own task: changes that wait while others are written become one transaction, so that many
//! callers share one wait for the disk. Nothing is acknowledged before the disk has it (`synchronous = FULL`).

mod fault;
mod form;
mod writer;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use self::fault::Fault;
use self::writer::{Command, Lease, MAX_WAITING};
use super::{Change, Kind, Record, Store, StoreError};

/// How long somebody else may write to the file before that is an error.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How many damaged databases are set aside before one more is an error.
const MAX_SET_ASIDE: u32 = 100;

/// Keeps records in a file.
pub struct SqliteStore {
    path: PathBuf,
    commands: mpsc::Sender<Command>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// Held as long as the store is open. The system gives it back however the process ends.
    lock: Mutex<Option<File>>,
}

/// A store that was opened.
pub struct Opened {
    /// The store.
    pub store: SqliteStore,
    /// Where the database now is that was found damaged, and in whose place there is an empty one.
    pub set_aside: Option<PathBuf>,
}

impl SqliteStore {
    /// Opens the file, which is made where there is none, in a folder that is too. Another process may have it open only
    /// where both share it.
    pub async fn open(path: impl Into<PathBuf>, is_shared: bool) -> Result<Opened, StoreError> {
        let path = path.into();
        let lock = prepare(&path, is_shared)?;
        let mut set_aside = None;
        let connection = match connect(&path).await {
            Err(StoreError::Damaged { .. }) => {
                set_aside = Some(put_aside(&path)?);
                connect(&path).await?
            }
            opened => opened?,
        };
        Ok(Opened { store: Self::over(path, connection, Some(lock)), set_aside })
    }

    /// Opens a file that is there beside the process that has it, to look at it and to leave it a request. That is for
    /// whoever operates that process, and never runs what is in it.
    pub async fn open_beside(path: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let path = path.into();
        let connection = connect(&path).await?;
        Ok(Self::over(path, connection, None))
    }

    fn over(path: PathBuf, connection: SqliteConnection, lock: Option<File>) -> Self {
        let (commands, waiting) = mpsc::channel(MAX_WAITING);
        let writer = tokio::spawn(writer::run(connection, waiting, path.clone()));
        Self { path, commands, writer: Mutex::new(Some(writer)), lock: Mutex::new(lock) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets the database have no more pages, as a disk does that is full.
    #[cfg(test)]
    pub(in crate::store) async fn limit_pages(&self, pages: u32) {
        self.ask(|answer| Command::Limit { pages, answer }).await.unwrap();
    }

    async fn ask<T>(
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
    async fn load(&self, kind: Kind) -> Result<Vec<Record>, StoreError> {
        self.ask(|answer| Command::Load { kind, id: None, answer }).await
    }

    async fn get(&self, kind: Kind, id: &str) -> Result<Option<Record>, StoreError> {
        let id = Some(id.to_owned());
        Ok(self.ask(|answer| Command::Load { kind, id, answer }).await?.pop())
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let changes = changes.into_iter().map(writer::written).collect::<Result<Vec<_>, _>>()?;
        self.ask(|answer| Command::Apply { changes, answer }).await
    }

    async fn lease(&self, id: &str, owner: &str, now: Timestamp, time: Duration) -> Result<bool, StoreError> {
        let until = now.checked_add(time).unwrap_or(Timestamp::MAX);
        let lease = Lease { id: id.to_owned(), owner: owner.to_owned(), now: Some(now), until };
        self.ask(|answer| Command::Lease { lease, answer }).await
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        let lease = Lease { id: id.to_owned(), owner: owner.to_owned(), now: None, until: Timestamp::MIN };
        self.ask(|answer| Command::Lease { lease, answer }).await.map(|_| ())
    }

    async fn has_changed(&self) -> Result<bool, StoreError> {
        self.ask(|answer| Command::Changed { answer }).await
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn close(&self) {
        // Where it was closed before, nobody listens.
        let _ = self.commands.send(Command::Close).await;
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // What it could not do, it has told those who asked for it.
            let _ = writer.await;
        }
        // Nothing is written any more, so that whoever comes next may have it.
        drop(lock);
    }
}

/// Makes the folder, and takes the lock.
fn prepare(path: &Path, is_shared: bool) -> Result<File, StoreError> {
    let failed = |error: io::Error| Fault { path }.of_system(&error);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let lock = open_file(&beside(path, ".lock")).map_err(failed)?;
    let locked = if is_shared { lock.try_lock_shared() } else { lock.try_lock() };
    match locked {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Opens a file, which is made where there is none. Only its owner may read it: arguments of calls may be secrets.
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
    let fault = Fault { path };
    open_file(path).map_err(|error| fault.of_system(&error))?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| fault.of(&error))?;
    let found: Result<String, _> =
        sqlx::query_scalar("PRAGMA quick_check(1)").fetch_one(&mut connection).await;
    let prepared = match found {
        Ok(found) if found == "ok" => form::bring_up(&mut connection, &fault).await,
        Ok(found) => Err(StoreError::Damaged { path: path.to_owned(), reason: found }),
        Err(error) => Err(fault.of(&error)),
    };
    match prepared {
        Ok(()) => Ok(connection),
        Err(error) => {
            // It is opened again elsewhere, or not at all.
            let _ = connection.close().await;
            Err(error)
        }
    }
}

/// Gives a damaged database another name, so that what is in it can still be looked at. Gives that name.
fn put_aside(path: &Path) -> Result<PathBuf, StoreError> {
    let failed = |error: io::Error| Fault { path }.of_system(&error);
    let free = (1..=MAX_SET_ASIDE).map(|number| beside(path, &format!(".damaged-{number}")));
    let aside = free.into_iter().find(|aside| !aside.exists()).ok_or_else(|| {
        let reason = format!("{MAX_SET_ASIDE} damaged ones stand beside it already");
        StoreError::Damaged { path: path.to_owned(), reason }
    })?;
    // The log of what was written last belongs to it.
    for part in ["-wal", "-shm"] {
        match fs::rename(beside(path, part), beside(&aside, part)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    fs::rename(path, &aside).map_err(failed)?;
    Ok(aside)
}

/// The path of a file beside it, whose name goes on.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    name.into()
}
