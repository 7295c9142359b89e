//! Errors that a model can repair its call by.

use serde_json::Value;
use toolcrib_model::{DENIAL_HINT, ErrorKind, ToolError};
use toolcrib_policy::{Call, Decision};
use toolcrib_registry::OverloadError;

/// Returns the error of a call that policy forbids, with the arguments that the rule is about.
pub(crate) fn denied(decision: &Decision) -> ToolError {
    let message = match &decision.arguments {
        Some(arguments) => {
            format!("policy forbids the call with these arguments: {} decides on {arguments}", decision.rule)
        }
        None => format!("policy forbids the call ({})", decision.rule),
    };
    ToolError::new(ErrorKind::Denied, message).with_hint(DENIAL_HINT)
}

/// Returns why a call has no engine: an app gives its source none, or the session has removed the source.
pub(crate) fn no_engine(call: &Call) -> ToolError {
    let tool = call.tool.name.shown();
    if call.tool.equivalent().is_some() {
        let message = format!("the session no longer has `{tool}`, and the call did not run");
        return ToolError::new(ErrorKind::ToolChanged, message).with_hint("search for another tool");
    }
    let hint = format!("its source is {}; set `engine:` there to one of `tools.engines`", call.source);
    ToolError::new(ErrorKind::Unavailable, format!("`{tool}` has no engine to run it"))
        .with_hint(hint)
        .with_retryable(false)
}

/// What is wrong, the part of the schema it breaks, and a call that would be right.
pub(crate) fn overload_error(error: &OverloadError<'_>) -> ToolError {
    let tool = &error.nearest.tool;
    let among = if error.overloads > 1 { " (the nearest of its overloads)" } else { "" };
    let message = format!("the arguments do not fit `{}`{among}: {}", tool.name.shown(), error.violations);
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
