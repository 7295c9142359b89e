//! The errors of SQLite, as models read them.

use sqlx::error::DatabaseError;
use sqlx::sqlite::SqliteError;
use toolcrib_model::ErrorKind;

use crate::backend::StatementError;
use crate::errors::{READ_ONLY, TOO_LONG, error_with_hint, position_of, shortened};

/// The bits of the primary result code; the higher bits are extended codes of SQLite.
const PRIMARY: i32 = 0xff;

/// Converts an error of the library.
pub(crate) fn statement_error(error: &SqliteError, sql: Option<&str>) -> StatementError {
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
