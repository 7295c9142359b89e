//! Calls that are resolved, validated and decided, and not made.

use std::sync::Arc;

use toolcrib_model::{JsonObject, Tool, ToolError};
use toolcrib_policy::Decision;
use toolcrib_schema::Repair;

use crate::authorize::{CallState, ResolvedCall};

/// The outcome of a call that was not made: no hook, engine or person was asked.
#[derive(Debug)]
#[non_exhaustive]
pub struct DryRun {
    /// The tool that would be called, if the name means one.
    pub tool: Option<Arc<Tool>>,
    /// The final arguments, unless the call fails.
    pub arguments: Option<JsonObject>,
    /// The original tools of a shaped tool, in the order in which they are tried, with their arguments.
    pub originals: Vec<(Arc<Tool>, JsonObject)>,
    /// The repairs that made the arguments fit.
    pub repairs: Vec<Repair>,
    /// The decision of the policy, if the call got that far. For the operator only.
    pub decision: Option<Decision>,
    /// The error with which the call would end before it runs.
    pub error: Option<ToolError>,
}

impl DryRun {
    pub(crate) fn new(resolved: ResolvedCall) -> Self {
        let arguments = resolved.call().map(|call| call.arguments.clone());
        let originals = resolved.call().into_iter().flat_map(|call| &call.originals);
        let originals = originals.map(|call| (Arc::clone(&call.tool), call.arguments.clone())).collect();
        let ResolvedCall { entry, repairs, state, denied, .. } = resolved;
        let (decision, error) = match state {
            CallState::Authorized(call) => (Some(call.decision().clone()), None),
            CallState::PendingApproval(pending) => (Some(pending.decision().clone()), None),
            CallState::Failed(error) => (denied.as_ref().map(|(_, decision)| decision.clone()), Some(error)),
            CallState::Taken => (None, None),
        };
        let entry = entry.or_else(|| denied.map(|(entry, _)| entry));
        Self {
            tool: entry.map(|entry| Arc::clone(&entry.tool)),
            arguments,
            originals,
            repairs,
            decision,
            error,
        }
    }
}
