//! The parameters of statements.

use serde_json::Value;
use sqlx::Statement;
use toolcrib_model::ToolError;

use super::errors::invalid;

/// The maximum number of parameters of one statement.
pub(crate) const MAX_PARAMETERS: usize = 1000;

/// Checks that the number of values is that of the parameters of a statement.
pub(super) fn check_count(prepared: &impl Statement, given: &[Value]) -> Result<(), ToolError> {
    let wanted = prepared.parameters().map_or(0, |parameters| parameters.map_left(<[_]>::len).into_inner());
    if wanted == given.len() {
        return Ok(());
    }
    let message = format!("the statement has {wanted} parameters, and `params` has {} values", given.len());
    Err(invalid(message)
        .with_hint("write a parameter as `?`, or `$1` in PostgreSQL, and give a value for each"))
}

/// Returns the error of a parameter that is not valid Base64.
pub(super) fn not_base64(at: usize, error: &base64::DecodeError) -> ToolError {
    invalid(format!("parameter {} is not Base64: {error}", at + 1))
        .with_hint("bytes are given as `{\"base64\": \"…\"}`; a JSON document with that key alone as a text")
}

/// Returns the error of a parameter that cannot be passed.
pub(super) fn not_bound(at: usize, reason: &str) -> ToolError {
    invalid(format!("parameter {} cannot be passed: {reason}", at + 1))
}
