//! Errors by which a model can repair its call.

use serde_json::Value;
use toolcrib_model::{DENIAL_HINT, ErrorKind, ToolError};
use toolcrib_policy::{Call, Decision};
use toolcrib_registry::OverloadError;
use toolcrib_schema::Violations;

/// Returns the error of a call that the policy forbids, with the arguments that the rule decides on.
pub(crate) fn denied(decision: &Decision) -> ToolError {
    let message = match &decision.arguments {
        Some(arguments) => {
            format!("policy forbids the call with these arguments: {} decides on {arguments}", decision.rule)
        }
        None => format!("policy forbids the call ({})", decision.rule),
    };
    ToolError::new(ErrorKind::Denied, message).with_hint(DENIAL_HINT)
}

/// Advice to the operator in errors of calls, in the terms of the program that runs the executor.
#[derive(Clone, Copy, Debug, Default)]
pub struct OperatorHints {
    /// The way to give an engine to a source.
    pub no_engine: Option<&'static str>,
    /// The way to admit a client that the policy does not know.
    pub unknown_client: Option<&'static str>,
}

/// Returns the error of a call without an engine: the app sets none for its source, or the session has removed the
/// source.
pub(crate) fn no_engine(call: &Call, hints: &OperatorHints) -> ToolError {
    let tool = call.tool.name.shown();
    if call.tool.equivalent().is_some() {
        let message = format!("the session no longer has `{tool}`, and the call did not run");
        return ToolError::new(ErrorKind::ToolChanged, message).with_hint("search for another tool");
    }
    let hint = [Some(format!("its source is {}", call.source)), hints.no_engine.map(ToOwned::to_owned)];
    let hint = hint.into_iter().flatten().collect::<Vec<_>>().join("; ");
    ToolError::new(ErrorKind::Unavailable, format!("`{tool}` has no engine to run it"))
        .with_hint(hint)
        .with_retryable(false)
}

/// Returns the error of arguments that no overload accepts: the violations, the violated parts of the schema, and a
/// valid example.
pub(crate) fn invalid_arguments(error: &OverloadError<'_>) -> ToolError {
    let tool = &error.nearest.tool;
    let among = if error.overloads > 1 { " (the nearest of its overloads)" } else { "" };
    let of = tool.view().map_or_else(String::new, |view| {
        let names: Vec<_> = view.original_names().map(|name| format!("`{name}`")).collect();
        format!(" (a shape of {})", names.join(", "))
    });
    let message =
        format!("the arguments do not fit `{}`{of}{among}: {}", tool.name.shown(), error.violations);
    let mut hints = Vec::new();
    let expected = expected_parts(&error.violations);
    if !expected.is_empty() {
        hints.push(format!("expected {}", expected.join(", ")));
    }
    let example = error.nearest.example_arguments();
    if let Some(example) =
        example.filter(|example| example.as_object().is_none_or(|example| !example.is_empty()))
    {
        hints.push(format!("a minimal valid example: {example}"));
    }
    let failed = ToolError::new(ErrorKind::InvalidArgs, message);
    if hints.is_empty() { failed } else { failed.with_hint(hints.join("; ")) }
}

/// Returns the violated parts of the schema with their names, or examples of them, each once: a part that is contained in
/// another one is left out.
fn expected_parts(violations: &Violations) -> Vec<String> {
    let parts = violations
        .iter()
        .filter_map(|violation| Some((violation.subject.as_str(), violation.expected.as_ref()?)));
    let parts: Vec<_> = parts.collect();
    let is_within = |&(subject, schema): &(&str, &Value), &(outer, outer_schema): &(&str, &Value)| {
        let path = subject.strip_prefix(outer).filter(|path| path.starts_with('/'));
        path.is_some_and(|path| part_at(outer_schema, path) == Some(schema))
    };
    let mut expected = Vec::new();
    for part in &parts {
        let (subject, schema) = part;
        let text = named(subject, ": ", &schema.to_string());
        if !expected.contains(&text) && !parts.iter().any(|outer| is_within(part, outer)) {
            expected.push(text);
        }
    }
    for violation in violations.iter().filter(|violation| !violation.examples.is_empty()) {
        let examples: Vec<_> = violation.examples.iter().map(Value::to_string).collect();
        let text = named(&violation.subject, " such as ", &examples.join(" or "));
        if !expected.contains(&text) {
            expected.push(text);
        }
    }
    expected
}

/// Returns the description of a part with its location, unless it is the whole schema.
fn named(subject: &str, separator: &str, part: &str) -> String {
    let name = subject.trim_start_matches('/').replace('/', ".");
    if name.is_empty() { part.to_owned() } else { format!("`{name}`{separator}{part}") }
}

/// Returns the schema at a location below a schema or a list of properties.
fn part_at<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').skip(1).try_fold(schema, |schema, segment| {
        let in_properties = schema.pointer(&format!("/properties/{segment}"));
        in_properties.or_else(|| schema.pointer(&format!("/{segment}"))).or_else(|| schema.get("items"))
    })
}
