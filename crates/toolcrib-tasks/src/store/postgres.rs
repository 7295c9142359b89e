//! A store in a PostgreSQL database, which processes on several machines share.
//!
//! All operations of a process use one connection, which is opened again when it breaks. Changes that arrive during a
//! write are combined into one transaction, and acknowledged when it is committed and on the disk of the server
//! (`synchronous_commit`). If the connection breaks during a commit, the status of the transaction tells whether the
//! changes were made.

mod hints;
mod statements;

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::MutexGuard;
use tokio::time::{Instant, sleep, timeout};
use toolcrib_io::table::Hints;
use toolcrib_model::Secret;

use self::hints::HintListener;
pub(super) use self::statements::MIGRATIONS;
use self::statements::{Migration, Prepared, migrate, now, write_uncommitted};
use super::audit::AuditRow;
use super::encoded_changes::{PendingWrite, Refused, WriteQueue};
use super::failpoint::failpoint;
use super::{
    Change, Record, RecordKind, Store, StoreError, StoreStatus, ids_with, milliseconds, without_credentials,
};

/// The time for a connection to be established.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The number of newer versions whose tables a program can use, so that an update can replace one process after the other.
/// Migrations only add tables and columns that earlier programs need not know.
const COMPATIBLE_VERSIONS: usize = 1;

/// The time for one operation, after which its connection is closed.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which the status of a transaction is asked for whose commit was not answered.
const RESOLVE_TIME: Duration = Duration::from_secs(10);

/// The number of attempts to write changes that conflict with those of other processes.
const MAX_ATTEMPTS: usize = 5;

/// The time between two attempts to ask for the status.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The SQLSTATE codes that have an error of their own.
mod state {
    pub(super) const READ_ONLY: &str = "25006";
    pub(super) const DISK_FULL: &str = "53100";
    /// The class of lost connections.
    pub(super) const CONNECTION: &str = "08";
    /// The class of servers that shut down or start.
    pub(super) const OPERATOR: &str = "57P";
    /// The class of transactions that conflict with those of other processes.
    pub(super) const CONFLICT: &str = "40";
    /// The class of exhausted resources, such as connections.
    pub(super) const RESOURCES: &str = "53";
}

/// A store in a PostgreSQL database.
pub struct PostgresStore {
    database: Arc<PostgresDatabase>,
}

struct PostgresDatabase {
    options: PgConnectOptions,
    /// The URL without credentials.
    location: String,
    connection: tokio::sync::Mutex<Link>,
    /// The changes of callers that wait for the connection.
    pending: WriteQueue,
    /// The number of transactions of all processes at the last check for changes, with those of this process since.
    changes: Mutex<Option<i64>>,
    hints: HintListener,
}

/// The connection of a store.
enum Link {
    Open(Box<PgConnection>),
    /// It is opened by the next operation.
    Broken,
    Closed,
}

/// A failed operation.
enum Fault {
    Database(sqlx::Error),
    /// The server has not answered in time.
    Late,
}

/// A connection in use. Unless the operation reports success, the next one opens another connection.
struct Session<'a> {
    link: MutexGuard<'a, Link>,
}

impl PostgresStore {
    /// Connects to the database of a URL such as `postgres://user:password@host/database`, and creates or migrates the
    /// tables of the store in it.
    pub async fn open(url: &Secret) -> Result<Self, StoreError> {
        Self::open_with(url, &MIGRATIONS).await
    }

    /// Does the same as a program with these migrations.
    pub(super) async fn open_with(url: &Secret, migrations: &[Migration]) -> Result<Self, StoreError> {
        let database = PostgresDatabase::new(url)?;
        database.migrate(migrations).await?;
        Ok(Self { database: Arc::new(database) })
    }
}

impl PostgresStore {
    /// Appends audit records, except those that are there already.
    pub(super) async fn append_audit(&self, records: &[AuditRow]) -> Result<(), StoreError> {
        let mut session = self.database.session().await?;
        let appended = statements::append_audit(session.connection(), records);
        let appended = within(OPERATION_TIMEOUT, appended).await;
        session.end(appended).map_err(|fault| self.database.error(fault))
    }
}

/// Returns the state of the store in the database of a URL.
pub(super) async fn status(url: &Secret) -> Result<StoreStatus, StoreError> {
    let database = PostgresDatabase::new(url)?;
    let mut session = database.session().await?;
    let found = within(OPERATION_TIMEOUT, statements::status(session.connection())).await;
    let (version, records) = session.end(found).map_err(|fault| database.error(fault))?;
    let supported = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    Ok(StoreStatus { location: database.location.clone(), version, supported, records })
}

impl PostgresDatabase {
    fn new(url: &Secret) -> Result<Self, StoreError> {
        let location = without_credentials(url);
        let options = PgConnectOptions::from_str(url.expose()).map_err(|error| StoreError::Failed {
            path: location.clone().into(),
            reason: format!("expected a URL such as `postgres://user:password@host/database`: {error}"),
        })?;
        Ok(Self {
            options: options.application_name("toolcrib").disable_statement_logging(),
            location,
            connection: tokio::sync::Mutex::new(Link::Broken),
            pending: WriteQueue::default(),
            changes: Mutex::default(),
            hints: HintListener::default(),
        })
    }
}

impl Session<'_> {
    fn connection(&mut self) -> &mut PgConnection {
        match &mut *self.link {
            Link::Open(connection) => connection,
            Link::Broken | Link::Closed => unreachable!("a session has an open connection"),
        }
    }

    /// Ends the session, with another connection for the next if the server is not in order.
    fn end<T>(mut self, result: Result<T, Fault>) -> Result<T, Fault> {
        if result.as_ref().is_err_and(Fault::is_of_connection) {
            *self.link = Link::Broken;
        }
        result
    }
}

impl Fault {
    /// Returns true if the same transaction may succeed, and has certainly not been committed.
    fn is_conflict(&self) -> bool {
        let Self::Database(error) = self else { return false };
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        code.is_some_and(|code| code.starts_with(state::CONFLICT))
    }

    /// Returns true if the connection cannot be used any more.
    fn is_of_connection(&self) -> bool {
        let Self::Database(error) = self else { return true };
        match error.as_database_error() {
            Some(error) => error
                .code()
                .is_some_and(|code| code.starts_with(state::CONNECTION) || code.starts_with(state::OPERATOR)),
            None => true,
        }
    }
}

/// Waits for an operation within its time.
async fn within<T>(time: Duration, operation: impl Future<Output = sqlx::Result<T>>) -> Result<T, Fault> {
    match timeout(time, operation).await {
        Ok(result) => result.map_err(Fault::Database),
        Err(_late) => Err(Fault::Late),
    }
}

impl PostgresDatabase {
    /// Returns the connection when the operations before have ended.
    async fn session(&self) -> Result<Session<'_>, StoreError> {
        let mut link = self.connection.lock().await;
        match &*link {
            Link::Open(_) => {}
            Link::Closed => return Err(StoreError::Closed),
            Link::Broken => {
                let connected = within(CONNECT_TIMEOUT, self.options.connect()).await;
                *link = Link::Open(Box::new(connected.map_err(|fault| self.error(fault))?));
            }
        }
        Ok(Session { link })
    }

    fn error(&self, fault: Fault) -> StoreError {
        let (path, location) = (self.location.clone().into(), self.location.clone());
        let error = match fault {
            Fault::Late => {
                return StoreError::Unreachable { location, reason: "it does not answer in time".to_owned() };
            }
            Fault::Database(error) => error,
        };
        let Some(answer) = error.as_database_error() else {
            return StoreError::Unreachable { location, reason: error.to_string() };
        };
        let (reason, code) = (answer.message().to_owned(), answer.code().unwrap_or_default());
        match code.as_ref() {
            state::DISK_FULL => StoreError::Full { path },
            state::READ_ONLY => StoreError::ReadOnly { path, reason },
            code if [state::CONNECTION, state::OPERATOR, state::RESOURCES]
                .iter()
                .any(|class| code.starts_with(class)) =>
            {
                StoreError::Unreachable { location, reason }
            }
            _ => StoreError::Failed { path, reason },
        }
    }

    /// Creates the tables or migrates them to the newest version, in one transaction.
    async fn migrate(&self, migrations: &[Migration]) -> Result<(), StoreError> {
        let mut session = self.session().await?;
        let migrated = within(OPERATION_TIMEOUT, migrate(session.connection(), migrations)).await;
        let version = session.end(migrated).map_err(|fault| self.error(fault))?;
        let supported = i64::try_from(migrations.len() + COMPATIBLE_VERSIONS).unwrap_or(i64::MAX);
        if version > supported {
            let path = self.location.clone().into();
            return Err(StoreError::NewerVersion { path, version, supported });
        }
        Ok(())
    }

    /// Reads the records between two ids, again if the server has restarted since the last operation.
    async fn read(&self, kind: RecordKind, first: &str, last: &str) -> Result<Vec<Record>, StoreError> {
        match self.read_once(kind, first, last).await {
            Err(StoreError::Unreachable { .. }) => self.read_once(kind, first, last).await,
            result => result,
        }
    }

    async fn read_once(&self, kind: RecordKind, first: &str, last: &str) -> Result<Vec<Record>, StoreError> {
        let mut session = self.session().await?;
        let rows = sqlx::query_as(concat!(
            "SELECT id, session, body FROM toolcrib_records WHERE kind = $1 AND id >= $2 AND id <= $3
             AND (ends IS NULL OR ends > ",
            now!(),
            ") ORDER BY id",
        ))
        .bind(kind.as_str())
        .bind(first)
        .bind(last)
        .fetch_all(session.connection());
        let rows: Result<Vec<(String, String, String)>, _> = within(OPERATION_TIMEOUT, rows).await;
        let rows = session.end(rows).map_err(|fault| self.error(fault))?;
        let record = |(id, session, body): (String, String, String)| {
            let body = serde_json::from_str(&body).map_err(|error| StoreError::Failed {
                path: self.location.clone().into(),
                reason: format!("{} `{id}` is damaged: {error}", kind.as_str()),
            })?;
            Ok(Record { kind, id, session, body })
        };
        rows.into_iter().map(record).collect()
    }

    /// Writes the changes of the callers that wait, in one transaction.
    async fn write_pending(&self) {
        let session = self.session().await;
        let batch = self.pending.take_batch();
        let written = match session {
            _ if batch.is_empty() => return,
            Ok(session) => self.write(session, &batch).await,
            Err(error) => Err(error),
        };
        PendingWrite::answer_all(batch, &written);
    }

    async fn write(&self, session: Session<'_>, batch: &[PendingWrite]) -> Result<Vec<Refused>, StoreError> {
        let (prepared, mut session) = self.prepare(session, batch).await?;
        let commit = sqlx::raw_sql("COMMIT").execute(session.connection());
        let committed = within(OPERATION_TIMEOUT, commit).await;
        failpoint();
        if let Err(fault) = session.end(committed) {
            let is_lost = fault.is_of_connection();
            let error = self.error(fault);
            if !is_lost {
                return Err(error);
            }
            self.resolve(&prepared.transaction, error).await?;
        }
        let mut known = self.changes.lock();
        // Otherwise other processes have changed the store too, which the next check finds.
        if *known == Some(prepared.changes - 1) {
            *known = Some(prepared.changes);
        }
        Ok(prepared.refused)
    }

    /// Writes the changes of a batch without committing them, again if they conflict with those of other processes, or
    /// the server has restarted since the last operation.
    async fn prepare<'a>(
        &'a self,
        mut session: Session<'a>,
        batch: &[PendingWrite],
    ) -> Result<(Prepared, Session<'a>), StoreError> {
        let mut attempt = 1;
        loop {
            let prepared = within(OPERATION_TIMEOUT, write_uncommitted(session.connection(), batch)).await;
            let fault = match prepared {
                Ok(prepared) => return Ok((prepared, session)),
                Err(fault) => fault,
            };
            // The server ends the transaction with the connection.
            *session.link = Link::Broken;
            drop(session);
            let attempts = if fault.is_conflict() { MAX_ATTEMPTS } else { 2 };
            if attempt >= attempts || !(fault.is_conflict() || fault.is_of_connection()) {
                return Err(self.error(fault));
            }
            session = self.session().await?;
            attempt += 1;
        }
    }

    /// Returns whether a transaction was committed whose commit was not answered: an error if not, or if the server
    /// cannot tell.
    async fn resolve(&self, transaction: &str, error: StoreError) -> Result<(), StoreError> {
        let begun = Instant::now();
        while begun.elapsed() < RESOLVE_TIME {
            match self.status(transaction).await {
                Ok(Some(status)) if status == "committed" => return Ok(()),
                Ok(Some(status)) if status == "aborted" => return Err(error),
                // It has not ended, or the server is starting.
                Ok(_) | Err(StoreError::Unreachable { .. }) => sleep(RETRY_INTERVAL).await,
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Unreachable {
            location: self.location.clone(),
            reason: format!("{error}; it is unknown whether the last change was made"),
        })
    }

    async fn lease_once(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        let mut session = self.session().await?;
        let leased = sqlx::query(concat!(
            "INSERT INTO toolcrib_leases AS held (id, owner, until) VALUES ($1, $2, ",
            now!(),
            " + $3) ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, until = excluded.until
             WHERE held.owner = excluded.owner OR held.until <= ",
            now!(),
        ))
        .bind(id)
        .bind(owner)
        .bind(milliseconds(time))
        .execute(session.connection());
        let leased = within(OPERATION_TIMEOUT, leased).await;
        let leased = session.end(leased).map_err(|fault| self.error(fault))?;
        Ok(leased.rows_affected() > 0)
    }

    async fn status(&self, transaction: &str) -> Result<Option<String>, StoreError> {
        let mut session = self.session().await?;
        let status = sqlx::query_scalar("SELECT pg_xact_status($1::TEXT::XID8)")
            .bind(transaction)
            .fetch_one(session.connection());
        let status = within(OPERATION_TIMEOUT, status).await;
        session.end(status).map_err(|fault| self.error(fault))
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn list(&self, kind: RecordKind, prefix: &str) -> Result<Vec<Record>, StoreError> {
        let (first, last) = ids_with(prefix);
        self.database.read(kind, &first, &last).await
    }

    async fn get(&self, kind: RecordKind, id: &str) -> Result<Option<Record>, StoreError> {
        Ok(self.database.read(kind, id, id).await?.pop())
    }

    async fn remove_ended(&self) -> Result<(), StoreError> {
        let mut session = self.database.session().await?;
        let removed = sqlx::query(concat!("DELETE FROM toolcrib_records WHERE ends <= ", now!()))
            .execute(session.connection());
        let removed = within(OPERATION_TIMEOUT, removed).await;
        session.end(removed).map(drop).map_err(|fault| self.database.error(fault))
    }

    async fn apply(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        let answered = self.database.pending.push(changes)?;
        // A separate task, so that a transaction ends even if its caller stops waiting.
        let database = Arc::clone(&self.database);
        tokio::spawn(async move { database.write_pending().await });
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn lease(&self, id: &str, owner: &str, time: Duration) -> Result<bool, StoreError> {
        match self.database.lease_once(id, owner, time).await {
            // The owner of a lease may acquire it again.
            Err(StoreError::Unreachable { .. }) => self.database.lease_once(id, owner, time).await,
            result => result,
        }
    }

    async fn count_call(
        &self,
        rate: &str,
        interval: Duration,
        tolerance: Duration,
    ) -> Result<Duration, StoreError> {
        let microseconds = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4);
        let times = (microseconds(interval), microseconds(tolerance));
        let mut session = self.database.session().await?;
        let early = statements::count_call(session.connection(), rate, times);
        let early = within(OPERATION_TIMEOUT, early).await;
        let early = session.end(early).map_err(|fault| self.database.error(fault))?;
        Ok(Duration::from_micros(early.unsigned_abs()))
    }

    async fn release(&self, id: &str, owner: &str) -> Result<(), StoreError> {
        let mut session = self.database.session().await?;
        let released = sqlx::query("UPDATE toolcrib_leases SET until = 0 WHERE id = $1 AND owner = $2")
            .bind(id)
            .bind(owner)
            .execute(session.connection());
        let released = within(OPERATION_TIMEOUT, released).await;
        session.end(released).map(drop).map_err(|fault| self.database.error(fault))
    }

    async fn has_changed(&self) -> Result<bool, StoreError> {
        let mut session = self.database.session().await?;
        let changes =
            sqlx::query_scalar("SELECT changes FROM toolcrib_store").fetch_one(session.connection());
        let changes: Result<i64, _> = within(OPERATION_TIMEOUT, changes).await;
        let has_changed = changes.map(|changes| {
            // While the session lasts, no write of this process counts.
            let before = self.database.changes.lock().replace(changes);
            before.is_some_and(|before| before != changes)
        });
        session.end(has_changed).map_err(|fault| self.database.error(fault))
    }

    fn hints(&self, kind: RecordKind) -> Hints {
        self.database.hints.hints(kind, &self.database.options)
    }

    fn is_durable(&self) -> bool {
        true
    }

    async fn close(&self) {
        self.database.hints.end();
        while !self.database.pending.is_empty() {
            self.database.write_pending().await;
        }
        let mut link = self.database.connection.lock().await;
        if let Link::Open(connection) = std::mem::replace(&mut *link, Link::Closed) {
            // The changes are committed even if closing fails.
            let _ = connection.close().await;
        }
    }
}
