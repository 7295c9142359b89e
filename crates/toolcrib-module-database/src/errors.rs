//! The errors of databases, as models read them.

use std::borrow::Cow;

use sqlx::Error;
use sqlx::mysql::MySqlDatabaseError;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use sqlx::sqlite::SqliteError;
use toolcrib_model::{ErrorKind, ToolError, ellipsize_chars};

use super::backend::StatementError;

/// The maximum length of a server's message that is passed on, in characters.
const MAX_MESSAGE_CHARS: usize = 600;

/// The number of characters of a statement that are shown after a mistake.
const MISTAKE_CHARS: usize = 30;

/// Creates the error of a tool that failed.
pub(super) fn failed(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::ToolFailed, message)
}

/// Creates the error of invalid arguments.
pub(super) fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorKind::InvalidArgs, message)
}

/// Converts a driver's error for a model. `sql` is the statement, if a model wrote it.
pub(super) fn statement_error(error: &Error, sql: Option<&str>) -> StatementError {
    match error {
        Error::Database(database) => {
            let error = if let Some(error) = database.try_downcast_ref::<PgDatabaseError>() {
                postgres(error, sql)
            } else if let Some(error) = database.try_downcast_ref::<MySqlDatabaseError>() {
                mysql(error)
            } else if let Some(error) = database.try_downcast_ref::<SqliteError>() {
                sqlite(error, sql)
            } else {
                StatementError::from(failed(shortened(database.message())))
            };
            with_constraint_hint(error, &database.kind())
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

/// Converts a driver's error while connecting to `database`.
pub(super) fn connect_error(error: &Error, database: &str) -> StatementError {
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

fn postgres(error: &PgDatabaseError, sql: Option<&str>) -> StatementError {
    let mut message = shortened(error.message()).into_owned();
    let position = match (error.position(), sql) {
        (Some(PgErrorPosition::Original(at)), Some(sql)) => position_of(sql, at),
        _ => None,
    };
    if let Some(detail) = error.detail() {
        message = format!("{message}; {}", shortened(detail));
    }
    if let Some(position) = position {
        message = format!("{message}, {position}");
    }
    let mut missing_table = None;
    let (kind, hint) = match error.code() {
        "42P01" => {
            missing_table = between(error.message(), '"');
            (ErrorKind::ToolFailed, Some("`database.list_tables` lists the tables"))
        }
        "42703" => (ErrorKind::ToolFailed, Some("`database.describe_table` lists the columns of a table")),
        "25006" => (ErrorKind::Denied, Some(READ_ONLY)),
        "57014" => (ErrorKind::Timeout, Some(TOO_LONG)),
        "53300" | "57P03" => {
            (ErrorKind::Unavailable, Some("the server takes no more connections now; try again later"))
        }
        "57P01" | "57P02" | "57P05" | "25P03" => {
            (ErrorKind::Unavailable, Some("try again: the next call connects again"))
        }
        "28P01" | "28000" => (ErrorKind::ToolFailed, Some("check the user and the password")),
        "42501" => (ErrorKind::Denied, Some("the user of this connection may not do that: ask the operator")),
        "53100" => (ErrorKind::ToolFailed, Some("the disk of the server is full: tell the operator")),
        "40001" | "40P01" => (ErrorKind::Unavailable, Some("others changed the same rows; try again")),
        "42P18" => (ErrorKind::ToolFailed, Some("say the type of the parameter, as in `$1::text`")),
        "42P02" => (
            ErrorKind::InvalidArgs,
            Some("parameters are written `$1`, `$2`, … and each needs a value in `params`"),
        ),
        _ => (ErrorKind::ToolFailed, None),
    };
    let hint = error.hint().map(shortened).or(hint.map(Cow::Borrowed));
    let is_broken = error.code().starts_with("57P") || error.code() == "25P03";
    StatementError { error: error_with_hint(kind, message, hint.as_deref()), is_broken, missing_table }
}

fn mysql(error: &MySqlDatabaseError) -> StatementError {
    let mut missing_table = None;
    let (kind, hint) = match error.number() {
        1146 => {
            // Table 'database.table' doesn't exist
            let name = between(error.message(), '\'').unwrap_or_default();
            missing_table = Some(name.split_once('.').map_or(name.clone(), |(_, table)| table.to_owned()));
            (ErrorKind::ToolFailed, Some("`database.list_tables` lists the tables"))
        }
        1054 => (ErrorKind::ToolFailed, Some("`database.describe_table` lists the columns of a table")),
        1064 => (ErrorKind::ToolFailed, Some("the text after `near` is where the mistake begins or ends")),
        1792 | 1290 | 1223 => (ErrorKind::Denied, Some(READ_ONLY)),
        1317 | 1969 | 3024 => (ErrorKind::Timeout, Some(TOO_LONG)),
        1040 | 1203 | 1226 => {
            (ErrorKind::Unavailable, Some("the server takes no more connections now; try again later"))
        }
        1053 | 1927 | 2006 | 2013 => {
            (ErrorKind::Unavailable, Some("try again: the next call connects again"))
        }
        1045 | 1698 => (ErrorKind::ToolFailed, Some("check the user and the password")),
        1142 | 1143 | 1227 | 1044 | 1370 => {
            (ErrorKind::Denied, Some("the user of this connection may not do that: ask the operator"))
        }
        1021 | 1114 => (ErrorKind::ToolFailed, Some("the disk of the server is full: tell the operator")),
        1205 | 1213 => (ErrorKind::Unavailable, Some("others changed the same rows; try again")),
        _ => (ErrorKind::ToolFailed, None),
    };
    let is_broken = matches!(error.number(), 1053 | 1927 | 2006 | 2013);
    StatementError {
        error: error_with_hint(kind, shortened(error.message()).into_owned(), hint),
        is_broken,
        missing_table,
    }
}

fn sqlite(error: &SqliteError, sql: Option<&str>) -> StatementError {
    use sqlx::error::DatabaseError;
    /// The bits of the primary result code; the higher bits are extended codes of SQLite.
    const PRIMARY: i32 = 0xff;
    let code = error.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(1) & PRIMARY;
    let text = error.message();
    let missing_table = text
        .strip_prefix("no such table: ")
        .map(|name| name.split_once('.').map_or(name, |(_, table)| table).to_owned());
    let (kind, hint) = match code {
        1 if missing_table.is_some() => {
            (ErrorKind::ToolFailed, Some("`database.list_tables` lists the tables"))
        }
        1 if text.starts_with("no such column") => (
            ErrorKind::ToolFailed,
            Some("`database.describe_table` lists the columns; a text stands in 'single quotes'"),
        ),
        1 if text == "incomplete input" => {
            (ErrorKind::ToolFailed, Some("something is missing at the end, as a bracket or a name"))
        }
        1 if text.ends_with("syntax error") => {
            (ErrorKind::ToolFailed, Some("the mistake is there or right before it"))
        }
        5 | 6 => (ErrorKind::Unavailable, Some("another program is writing to the file; try again")),
        7 => (
            ErrorKind::LimitReached,
            Some("let it read fewer rows at once: sort or group less, or by an index"),
        ),
        8 => (ErrorKind::Denied, Some(READ_ONLY)),
        9 => (ErrorKind::Timeout, Some(TOO_LONG)),
        11 => (ErrorKind::ToolFailed, Some("the file is damaged: tell the user, who may have a copy")),
        13 => (ErrorKind::ToolFailed, Some("there is no room for more on the disk: tell the user")),
        14 => (ErrorKind::ToolFailed, Some("check the path, and that the file and its folder may be opened")),
        26 => (ErrorKind::ToolFailed, Some("give the path of a file that SQLite has written")),
        _ => (ErrorKind::ToolFailed, None),
    };
    // SQLite may hold corrupt pages of a damaged file in memory.
    let is_broken = matches!(code, 10 | 11 | 26);
    let position = sql.and_then(|sql| {
        position_of_unique(sql, text.strip_prefix("near \"")?.strip_suffix("\": syntax error")?)
    });
    let message = position
        .map_or_else(|| shortened(text).into_owned(), |position| format!("{}, {position}", shortened(text)));
    StatementError { error: error_with_hint(kind, message, hint), is_broken, missing_table }
}

/// Returns the position of a text that occurs exactly once.
fn position_of_unique(sql: &str, part: &str) -> Option<String> {
    let (before, after) = sql.split_once(part)?;
    (!after.contains(part)).then(|| position_of(sql, before.chars().count() + 1)).flatten()
}

const READ_ONLY: &str = "this transaction may only read: `database.execute` changes data, where the operator has set \
                         `modules.database.config.allow_writes`";

const TOO_LONG: &str = "let it do less: add a condition or a limit, and look at it with `database.explain`";

fn error_with_hint(kind: ErrorKind, message: String, hint: Option<&str>) -> ToolError {
    let error = ToolError::new(kind, message);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Describes the position of a character by line and column, counted from 1, and the text at it.
fn position_of(sql: &str, at: usize) -> Option<String> {
    let before: String = sql.chars().take(at.checked_sub(1)?).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|character| *character != '\n').count() + 1;
    let rest: String = sql.chars().skip(at - 1).take(MISTAKE_CHARS).collect();
    let excerpt = rest.lines().next().unwrap_or_default();
    Some(if excerpt.is_empty() {
        format!("at the end of the statement, line {line}, column {column}")
    } else {
        format!("at line {line}, column {column}: `{excerpt}`")
    })
}

/// Returns the text between the first two of this quote.
fn between(text: &str, quote: char) -> Option<String> {
    text.split(quote).nth(1).map(ToOwned::to_owned)
}

pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    ellipsize_chars(text, MAX_MESSAGE_CHARS)
}
