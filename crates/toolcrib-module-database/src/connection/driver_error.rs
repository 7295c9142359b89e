//! The errors of drivers, as models read them.

use sqlx::Error;
use sqlx::error::DatabaseError;
use toolcrib_model::{ErrorKind, ToolError};

use crate::backend::StatementError;
use crate::errors::{failed, shortened};

/// Converts a driver's error for a model. `sql` is the statement, if a model wrote it.
pub(crate) fn statement_error(error: &Error, sql: Option<&str>) -> StatementError {
    match error {
        Error::Database(database) => {
            with_constraint_hint(driver_error(database.as_ref(), sql), &database.kind())
        }
        Error::Io(_) | Error::Tls(_) | Error::Protocol(_) | Error::WorkerCrashed | Error::PoolClosed => {
            let message = format!("the connection to the database broke: {}", shortened(&error.to_string()));
            let error = ToolError::new(ErrorKind::Unavailable, message).with_hint(
                "try again: the next call connects again; `database.list_connections` lists the connections",
            );
            StatementError { error, is_broken: true, missing_table: None }
        }
        Error::PoolTimedOut => ToolError::new(
            ErrorKind::Overloaded,
            "all connections to this database are in use, and none was free in time",
        )
        .with_hint("wait for other calls to end, or read open results to their end")
        .into(),
        // A value that a driver cannot decode is a bug of the driver or of this module, and the connection may be in
        // the middle of a row.
        error => {
            let error = failed(shortened(&error.to_string()));
            StatementError { error, is_broken: true, missing_table: None }
        }
    }
}

/// Converts the error of a database by its driver.
#[cfg_attr(not(any(feature = "postgres", feature = "sqlite")), expect(unused_variables))]
fn driver_error(error: &dyn DatabaseError, sql: Option<&str>) -> StatementError {
    #[cfg(feature = "postgres")]
    if let Some(error) = error.try_downcast_ref() {
        return crate::postgres::errors::statement_error(error, sql);
    }
    #[cfg(feature = "mysql")]
    if let Some(error) = error.try_downcast_ref() {
        return crate::mysql::errors::statement_error(error);
    }
    #[cfg(feature = "sqlite")]
    if let Some(error) = error.try_downcast_ref() {
        return crate::sqlite::errors::statement_error(error, sql);
    }
    failed(shortened(error.message())).into()
}

/// Converts a driver's error while connecting to `database`.
pub(crate) fn connect_error(error: &Error, database: &str) -> StatementError {
    let mut failure = statement_error(error, None);
    let kind = match error {
        Error::Io(_) | Error::Protocol(_) | Error::Tls(_) => ErrorKind::Unavailable,
        _ => failure.error.kind,
    };
    let reason = match error {
        Error::Io(error) => error.to_string(),
        Error::Tls(error) => format!("its certificate or encryption is refused: {error}"),
        _ => failure.error.message.clone(),
    };
    let hint = match (error, failure.error.hint.take()) {
        (Error::Tls(_), _) => "ask the operator for `root_certificate` or `tls` of this connection".into(),
        (Error::Database(_) | Error::PoolTimedOut, Some(hint)) => hint,
        (Error::Database(_), None) => "check the user, the password and the name of the database".into(),
        _ => "check the host and the port, and that the server is running".to_owned(),
    };
    let message = match error {
        Error::PoolTimedOut => reason,
        _ => format!("cannot open {database}: {}", shortened(&reason)),
    };
    failure.error = ToolError::new(kind, message).with_hint(hint);
    // A full pool is no reason to open another one.
    failure.is_broken = !matches!(error, Error::PoolTimedOut);
    failure
}

fn with_constraint_hint(mut failure: StatementError, kind: &sqlx::error::ErrorKind) -> StatementError {
    use sqlx::error::ErrorKind as Kind;
    let hint = match kind {
        Kind::UniqueViolation => {
            "a row with this key is there already: change the key, or use `database.upsert`"
        }
        Kind::ForeignKeyViolation => {
            "the row that is referred to is not there, or others still refer to this one"
        }
        Kind::NotNullViolation => {
            "give a value for that column; `database.describe_table` tells which need one"
        }
        Kind::CheckViolation => {
            "the table does not allow that value; `database.describe_table` tells of its columns"
        }
        _ => return failure,
    };
    failure.error.hint.get_or_insert_with(|| hint.into());
    failure
}
