//! Errors that a model can repair its call by.

use serde_json::Value;
use toolcrib_model::{ErrorKind, QualifiedName, ToolError};
use toolcrib_policy::Decision;
use toolcrib_registry::{FindError, OverloadError};

pub(crate) fn find_error(error: &FindError) -> ToolError {
    let message = error.to_string();
    match error {
        FindError::Unknown { suggestions, .. } if suggestions.is_empty() => {
            ToolError::new(ErrorKind::UnknownTool, message)
                .with_hint("search for a tool, or list what there is")
        }
        FindError::Unknown { suggestions, .. } => ToolError::new(ErrorKind::UnknownTool, message)
            .with_hint(format!("did you mean {}?", list(suggestions))),
        FindError::Ambiguous { candidates, .. } => ToolError::new(ErrorKind::AmbiguousTool, message)
            .with_hint(format!("use the full name: {}", list(candidates))),
        _ => ToolError::new(ErrorKind::Denied, message).with_hint("find another way, or ask the user"),
    }
}

pub(crate) fn denied(decision: &Decision) -> ToolError {
    ToolError::new(ErrorKind::Denied, format!("policy forbids the call ({})", decision.rule))
        .with_hint("find another way, or ask the user")
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
    let example = tool.examples().iter().find(|example| error.nearest.schema.accepts(example)).cloned();
    if let Some(example) = example.or_else(|| error.nearest.schema.minimal_example()) {
        hints.push(format!("a minimal valid example: {}", Value::to_string(&example)));
    }
    let failed = ToolError::new(ErrorKind::InvalidArgs, message);
    if hints.is_empty() { failed } else { failed.with_hint(hints.join("; ")) }
}

fn list(names: &[QualifiedName]) -> String {
    let names: Vec<_> = names.iter().map(|name| format!("`{}`", name.dotted())).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
