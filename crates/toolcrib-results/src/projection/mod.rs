//! Projections: the part of a result that a caller or a shape asked for, before a model sees any of it.
//!
//! An expression is `JSONPath` if it begins with `$`, else a jq program. Both run on a thread of their own, within the
//! limits of `read_result`, and end when their time is over. Secrets are redacted before, so that no expression can take
//! them apart.

mod compact;
#[cfg(feature = "html")]
mod markdown;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolcrib_model::{ErrorKind, ResultNote, Tool, ToolError, ToolResult};
use toolcrib_port::CallContext;

use crate::Results;
use crate::json_size::json_size;
use crate::limits::MAX_STORED_RESULT_BYTES;
use crate::preview::outline::Outline;
use crate::process::{parsed, written};
use crate::read_result::cancellable_search::CancelFlag;
use crate::read_result::jsonpath::{self, Query};
use crate::read_result::table::Records;
use crate::read_result::{answer, jq};
use crate::store::{Format, Owner, StoredResult};

/// The maximum time of the projections of one result.
const MAX_PROJECTION_TIME: Duration = Duration::from_secs(10);

/// The maximum number of tokens of the structure of a result that an expression did not fit.
const MAX_STRUCTURE_TOKENS: usize = 400;

/// The maximum size of a result whose tokens are counted exactly; those of a larger one are estimated.
const MAX_COUNTED_BYTES: usize = 256 * 1024;

/// The expressions for a result, in the order in which they apply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Projections<'a> {
    /// The expression of the shape. If it fails, so does the call: it may remove what no caller should see.
    pub of_shape: Option<&'a str>,
    /// The expression of the caller. If it fails, the result is its structure.
    pub of_caller: Option<&'a str>,
}

/// Checks the syntax of an expression.
///
/// # Errors
///
/// Returns the position of the mistake, or the name of an unknown filter.
pub fn check_expression(expression: &str) -> Result<(), String> {
    let checked = if is_jsonpath(expression) { parse(expression).map(drop) } else { jq::check(expression) };
    checked.map_err(|error| match error.hint {
        Some(hint) => format!("{} ({hint})", error.message),
        None => error.message,
    })
}

impl Results {
    /// Applies projections to a successful result, and writes tables in their shortest form if the settings say so and a
    /// model reads them. The metadata has the tokens before and after under `projected`.
    pub async fn project(
        &self,
        mut result: ToolResult,
        projections: Projections<'_>,
        tool: Option<&Arc<Tool>>,
        context: &CallContext,
    ) -> ToolResult {
        let has_schema = tool
            .is_some_and(|tool| tool.output_parameters.as_object().is_some_and(|schema| !schema.is_empty()));
        // The user interface of a tool reads the values of its results.
        let has_app = tool.is_some_and(|tool| tool.app_uri().is_some());
        let is_compact = self.limits.compact && !context.full_results && !has_schema && !has_app;
        let Projections { of_shape, of_caller } = projections;
        let is_unchanged = of_shape.is_none() && of_caller.is_none() && !is_compact;
        if is_unchanged || result.error.is_some() || result.is_preview() {
            return result;
        }
        if of_shape.is_some() || of_caller.is_some() {
            result.forget_client_content();
        }
        self.secrets().redactor().redact_value(&mut result.result);
        let before = self.tokens_of_value(&result.result);
        for (expression, is_of_shape) in [(of_shape, true), (of_caller, false)] {
            let Some(expression) = expression else { continue };
            let value = std::mem::take(&mut result.result);
            match evaluated(expression, value).await {
                Ok(value) => result.result = value,
                Err((error, _)) if is_of_shape => {
                    let message =
                        format!("the call ran, and the projection of its result failed: {}", error.message);
                    let error = ToolError::new(ErrorKind::ToolFailed, message);
                    let hint = "do not repeat it; the operator has to correct `project` of the shape";
                    return ToolResult::failed(result.call_id, result.name, error.with_hint(hint));
                }
                Err((error, value)) => {
                    let (structure, handle) = self.structure(&error, value, &result.name, context);
                    result.result = structure;
                    if let Some(handle) = handle {
                        result.note(ResultNote::Handle(handle));
                    }
                    return result;
                }
            }
        }
        if is_compact && let Some(text) = compact::shortest(&result.result, &self.counter) {
            result.result = text.into();
        }
        #[cfg(feature = "html")]
        if is_compact && let Some(text) = self.markdown(&result, context).await {
            result.result = text.into();
        }
        let after = self.tokens_of_value(&result.result);
        // Without a projection, a model would have read a preview of a large result.
        let before = before.min(self.limits.tokens_of(tool.map(Arc::as_ref), context.sharing));
        if of_shape.is_some() || of_caller.is_some() || after < before {
            result.note(ResultNote::Projected { before, after });
        }
        result
    }

    /// Returns the structure of a result that an expression did not fit, with the error and the handle of the result.
    fn structure(
        &self,
        error: &ToolError,
        value: Value,
        tool: &str,
        context: &CallContext,
    ) -> (Value, Option<String>) {
        let outline = Outline::of(&read(&value)).within(MAX_STRUCTURE_TOKENS, &self.counter);
        let (text, format) = match value {
            Value::String(text) => (text, Format::Text),
            value => (written(&value, MAX_STORED_RESULT_BYTES).0, Format::Json),
        };
        let (_, handle) =
            self.store.insert(StoredResult::new(Owner::of(context), tool.to_owned(), text, format, None));
        let hint = error.hint.clone().unwrap_or_else(|| {
            "write an expression for this structure, such as $.items[*].name or .items | length".to_owned()
        });
        let whole =
            handle.as_deref().map(|handle| format!("read_result(handle=\"{handle}\", jsonpath or jq)"));
        let told = json!({
            "problem": format!("the call ran, and `project` did not fit its result: {}", error.message),
            "hint": hint,
            "structure": outline,
            "whole_result": whole,
        });
        (told, handle)
    }

    /// Returns the number of tokens of a value as a model reads it, estimated for a large one.
    pub(crate) fn tokens_of_value(&self, value: &Value) -> usize {
        match value {
            Value::String(text) if text.len() <= MAX_COUNTED_BYTES => self.counter.count(text),
            Value::String(text) => self.counter.estimate(text, text.len()),
            value if json_size(value, MAX_COUNTED_BYTES).is_some() => self.counter.count(&value.to_string()),
            value => {
                let (beginning, bytes) = written(value, MAX_COUNTED_BYTES);
                self.counter.estimate(&beginning, bytes)
            }
        }
    }
}

/// Evaluates an expression on a thread for blocking work. A failure returns the value.
async fn evaluated(expression: &str, value: Value) -> Result<Value, (ToolError, Value)> {
    let cancel = CancelFlag::default();
    // The thread ends when this future is dropped.
    let _waiting = cancel.cancel_on_drop();
    let value = Arc::new(value);
    let (input, text) = (Arc::clone(&value), expression.to_owned());
    let work = tokio::task::spawn_blocking(move || evaluate(&text, &input, &cancel));
    let found = match timeout(MAX_PROJECTION_TIME, work).await {
        Ok(Ok(found)) => found,
        Ok(Err(_)) => Err(ToolError::new(ErrorKind::Internal, "it crashed; this is a bug in Toolcrib")),
        Err(_) => {
            let message = format!("it takes more than {} s", MAX_PROJECTION_TIME.as_secs());
            Err(ToolError::new(ErrorKind::LimitReached, message))
        }
    };
    found.map_err(|error| (error, Arc::unwrap_or_clone(value)))
}

fn evaluate(expression: &str, value: &Value, cancel: &CancelFlag) -> Result<Value, ToolError> {
    let root = read(value);
    let mut found = if is_jsonpath(expression) {
        let query = parse(expression)?;
        let found = query.select(&root, cancel).map_err(answer::exceeded)?;
        if found.is_empty() {
            let reason = jsonpath::explain(&query, &root, cancel);
            let reason = reason.unwrap_or_else(|| "no value fits".to_owned());
            return Err(ToolError::new(ErrorKind::InvalidArgs, format!("it finds nothing: {reason}")));
        }
        found.into_iter().cloned().collect()
    } else {
        jq::run(expression, root, cancel)?
    };
    match (found.len(), found.pop()) {
        (0, _) | (1, None | Some(Value::Null)) => {
            Err(ToolError::new(ErrorKind::InvalidArgs, "it finds nothing"))
        }
        (1, Some(only)) => Ok(only),
        (_, last) => {
            found.extend(last);
            Ok(found.into())
        }
    }
}

/// Returns the value of a text that is JSON or a table, as many servers send it, or the value itself.
fn read(value: &Value) -> Value {
    let Value::String(text) = value else { return value.clone() };
    let rows = || Records::of(text).and_then(|records| records.read(text));
    parsed(text).or_else(rows).unwrap_or_else(|| value.clone())
}

fn is_jsonpath(expression: &str) -> bool {
    expression.trim_start().starts_with('$')
}

fn parse(expression: &str) -> Result<Query, ToolError> {
    let text = expression.trim();
    Query::parse(text).map_err(|error| {
        answer::malformed("project", "JSONPath", text, &error)
            .with_hint("examples: $.items[*].name, $.items[0:10], $.items[?@.price < 10]")
    })
}
