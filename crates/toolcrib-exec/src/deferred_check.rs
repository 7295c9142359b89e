//! Checks of calls that are made later.

use toolcrib_model::tool::Forwarding;
use toolcrib_model::{JsonObject, ToolCall, ToolError};
use toolcrib_policy::Policy;
use toolcrib_port::CallContext;
use toolcrib_registry::Snapshot;

use crate::authorize::{CallState, authorize};
use crate::normalize::forwarded_calls;

/// Returns the error that a call would end with before it runs, under the current tools and rules. The calls that it
/// forwards are checked too. No approval is requested.
pub(crate) fn check(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: JsonObject,
    context: &CallContext,
) -> Result<(), ToolError> {
    let resolved = authorize(snapshot, policy, name, arguments, None, context);
    if let CallState::Failed(error) = resolved.state {
        return Err(error);
    }
    let Some(call) = resolved.call() else { return Ok(()) };
    let Some(forwarding) = call.tool.forwarding() else { return Ok(()) };
    let mut below = context.clone();
    below.depth += 1;
    below.parallel = forwarding == Forwarding::Calls;
    for ToolCall { name, arguments, .. } in forwarded_calls(forwarding, call.arguments.clone())? {
        check(snapshot, policy, &name, arguments, &below)?;
    }
    Ok(())
}
