//! Checks of calls that are made later.

use serde_json::Value;
use toolcrib_model::{JsonObject, ToolError};
use toolcrib_policy::Policy;
use toolcrib_port::CallContext;
use toolcrib_registry::Snapshot;

use crate::judge::{State, judge};
use crate::liberal::Forwards;

/// Returns the error that a call would end with before it runs, as the tools and the rules are now. The calls that it
/// forwards are checked too. Nobody is asked for approval.
pub(crate) fn check(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: JsonObject,
    context: &CallContext,
) -> Result<(), ToolError> {
    let judged = judge(snapshot, policy, name, arguments, None, context);
    if let State::Failed(error) = judged.state {
        return Err(error);
    }
    let Some(call) = judged.call() else { return Ok(()) };
    let Some(forwards) = Forwards::of(&call.tool) else { return Ok(()) };
    let mut below = context.clone();
    below.depth += 1;
    below.parallel = forwards == Forwards::Calls;
    for call in forwarded(forwards, &call.arguments) {
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        let params = call.get("params").and_then(Value::as_object).cloned().unwrap_or_default();
        check(snapshot, policy, name, params, &below)?;
    }
    Ok(())
}

/// Returns the calls inside arguments that fit the schema of a forwarding tool.
fn forwarded(forwards: Forwards, arguments: &JsonObject) -> Vec<&JsonObject> {
    if forwards == Forwards::Call {
        return vec![arguments];
    }
    let calls = arguments.get("calls").and_then(Value::as_array);
    calls.into_iter().flatten().filter_map(Value::as_object).collect()
}
