//! The errors of MySQL and MariaDB, as models read them.

use sqlx::mysql::MySqlDatabaseError;
use toolcrib_model::ErrorKind;

use crate::backend::StatementError;
use crate::errors::{READ_ONLY, TOO_LONG, between, error_with_hint, shortened};

/// Converts an error of the server.
pub(crate) fn statement_error(error: &MySqlDatabaseError) -> StatementError {
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
