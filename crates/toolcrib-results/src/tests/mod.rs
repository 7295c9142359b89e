//! What results promise.

mod archive;
mod folder;
mod grep;
mod jsonpath;
mod preview;
mod projection;
mod read;
mod redact;
mod rows;
mod shape;

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_model::{Secret, ToolError, ToolResult};
use toolcrib_port::CallContext;

use super::{ResultLimits, Results, Secrets};
use crate::read_result::ReadResult;

/// Results with room for the least that they may be given.
fn results() -> Results {
    Results::new(ResultLimits { tokens: super::MIN_RESULT_TOKENS, ..ResultLimits::default() })
}

fn shaped(results: &Results, value: impl Into<Value>, context: &CallContext) -> ToolResult {
    results.shape(ToolResult::ok(None, "t::tool", value.into()), None, context)
}

/// The handle of a result that was cut.
fn handle(result: &ToolResult) -> String {
    result.metadata["handle"].as_str().unwrap().to_owned()
}

async fn reading(
    results: &Results,
    handle: &str,
    how: Value,
    context: &CallContext,
) -> Result<Value, ToolError> {
    let mut request = how;
    request["handle"] = json!(handle);
    let request: ReadResult = serde_json::from_value(request).unwrap();
    results.read(request, context).await
}

fn secrets(secret: &str) -> Secrets {
    let secrets = Secrets::new();
    assert!(secrets.add("TOKEN", Secret::new(secret)));
    secrets
}

fn shared(results: Results) -> Arc<Results> {
    Arc::new(results)
}
