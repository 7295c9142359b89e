//! Errors that a model can repair its call by.

use serde_json::Value;
use toolcrib_model::{ErrorKind, ToolError};
use toolcrib_policy::Decision;
use toolcrib_registry::OverloadError;

pub(crate) fn denied(decision: &Decision) -> ToolError {
    ToolError::new(ErrorKind::Denied, format!("policy forbids the call ({})", decision.rule))
        .with_hint(format!("{}, or ask the user", ToolError::FIND_ANOTHER_WAY))
}

/// What is wrong, the part of the schema it breaks, and a call that would be right.
pub(crate) fn overload_error(error: &OverloadError<'_>) -> ToolError {
    let tool = &error.nearest.tool;
    let among = if error.overloads > 1 { " (the nearest of its overloads)" } else { "" };
    let message = format!("the arguments do not fit `{}`{among}: {}", tool.name.dotted(), error.violations);
    let mut hints = Vec::new();
    let mut expected: Vec<String> = Vec::new();
    for violation in error.violations.iter() {
        let Some(schema) = &violation.expected else { continue };
        let name = violation.subject.trim_start_matches('/').replace('/', ".");
        let part = if name.is_empty() { schema.to_string() } else { format!("`{name}`: {schema}") };
        if !expected.contains(&part) {
            expected.push(part);
        }
    }
    if !expected.is_empty() {
        hints.push(format!("expected {}", expected.join(", ")));
    }
    if let Some(example) = error.nearest.example_arguments() {
        hints.push(format!("a minimal valid example: {}", Value::to_string(&example)));
    }
    let failed = ToolError::new(ErrorKind::InvalidArgs, message);
    if hints.is_empty() { failed } else { failed.with_hint(hints.join("; ")) }
}
