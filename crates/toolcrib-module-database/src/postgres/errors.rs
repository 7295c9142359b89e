//! The errors of PostgreSQL, as models read them.

use std::borrow::Cow;

use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use toolcrib_model::ErrorKind;

use crate::backend::StatementError;
use crate::errors::{READ_ONLY, TOO_LONG, between, error_with_hint, position_of, shortened};

/// Converts an error of the server.
pub(crate) fn statement_error(error: &PgDatabaseError, sql: Option<&str>) -> StatementError {
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
