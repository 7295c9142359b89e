//! Checks of calls that are made later.

use toolcrib_model::{JsonObject, ToolCall, ToolError};
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
    for ToolCall { name, arguments, .. } in forwards.calls(call.arguments.clone())? {
        check(snapshot, policy, &name, arguments, &below)?;
    }
    Ok(())
}
