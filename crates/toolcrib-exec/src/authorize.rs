//! The resolution of a call to a tool with final arguments, and its authorization by the policy. Nothing runs here.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::tool::Forwarding;
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolCall, ToolError, ToolTraits};
use toolcrib_policy::{Authorized, Call, Consent, Decision, Effect, PendingApproval, Policy, Verdict};
use toolcrib_port::CallContext;
use toolcrib_registry::{Entry, FindError, Overloads, Snapshot};
use toolcrib_schema::Repair;

use crate::hooks::effects::HookEffects;
use crate::limits::MAX_DEPTH;
use crate::normalize::{
    clamp_numbers, forwarded_calls, nest_fields, normalize_deferred, normalize_forwarding,
};
use crate::views::with_originals;
use crate::{call_errors, former_arguments};

/// A call bound to one tool, with normalized arguments and the decision of the policy.
pub(crate) struct ResolvedCall {
    /// The tool, if the name was found.
    pub(crate) entry: Option<Arc<Entry>>,
    /// The repairs that made the arguments fit.
    pub(crate) repairs: Vec<Repair>,
    pub(crate) state: CallState,
    /// The denied tool and the rule; for the audit record only, since the caller does not learn them.
    pub(crate) denied: Option<(Arc<Entry>, Decision)>,
    /// The effects of hooks.
    pub(crate) hooks: HookEffects,
}

/// The state of a call before it runs.
pub(crate) enum CallState {
    /// The call may run.
    Authorized(Authorized<Call>),
    /// The call needs a person's approval.
    PendingApproval(Box<PendingApproval>),
    /// The call has failed.
    Failed(ToolError),
    /// The state has been moved out for processing.
    Taken,
}

impl ResolvedCall {
    /// Returns the call with its final arguments, unless it has failed.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.state {
            CallState::Authorized(authorized) => Some(authorized),
            CallState::PendingApproval(pending) => Some(pending.call()),
            CallState::Failed(_) | CallState::Taken => None,
        }
    }

    /// Returns true if the call may run with arguments that a person wrote.
    pub(crate) fn is_edited(&self) -> bool {
        matches!(&self.state, CallState::Authorized(authorized) if authorized.consent() == Consent::Edited)
    }

    /// Returns the violations of the tool's schema by other arguments, which are not repaired.
    pub(crate) fn violations(&self, arguments: &JsonObject) -> Option<String> {
        let entry = self.entry.as_ref()?;
        entry
            .schema
            .validate(&Value::Object(arguments.clone()))
            .err()
            .map(|violations| violations.to_string())
    }

    fn failed(entry: Option<Arc<Entry>>, error: ToolError) -> Self {
        Self {
            entry,
            repairs: Vec::new(),
            state: CallState::Failed(error),
            denied: None,
            hooks: HookEffects::default(),
        }
    }
}

/// Resolves the call, checks the policy for the tool, normalizes and repairs the arguments, and checks the policy for
/// the final arguments. Tools that the caller may not use are ignored.
pub(crate) fn authorize(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: JsonObject,
    call_id: Option<String>,
    context: &CallContext,
) -> ResolvedCall {
    if context.depth >= MAX_DEPTH {
        let message = format!("calls are nested deeper than {MAX_DEPTH} levels");
        return ResolvedCall::failed(None, ToolError::new(ErrorKind::LimitReached, message));
    }
    let exists = |tool: &Tool| exists_for(tool, policy, context);
    let is_visible = |entry: &Entry| is_visible(&entry.tool, policy, context);
    let overloads = match find_tool(snapshot, name, &exists, &is_visible) {
        Ok(overloads) => overloads,
        Err(error) => {
            let mut resolved = ResolvedCall::failed(None, ToolError::from(&error));
            resolved.denied = denied_tool(snapshot, policy, name, &error, context);
            return resolved;
        }
    };
    let (arguments, mut repairs) = match normalize(&overloads, arguments, context) {
        Ok(normalized) => normalized,
        Err(error) => return ResolvedCall::failed(overloads.first().cloned(), error),
    };
    let (entry, repaired) = match overloads.repair(arguments) {
        Ok(found) => found,
        Err(Some(error)) => {
            return ResolvedCall::failed(
                Some(Arc::clone(error.nearest)),
                call_errors::invalid_arguments(&error),
            );
        }
        Err(None) => {
            let message = format!("there is no tool `{name}`");
            return ResolvedCall::failed(None, ToolError::new(ErrorKind::UnknownTool, message));
        }
    };
    if entry.tool.equivalent().is_none()
        && let Some((own, arguments)) = snapshot.equivalent(&entry.tool.name, &repaired.arguments)
    {
        // The call is made under the name of the tool that it reaches, so that the rules for both tools apply.
        let mut resolved =
            authorize(snapshot, policy, &own.tool.name.to_string(), arguments, call_id, context);
        repairs.extend(repaired.repairs);
        resolved.repairs.splice(..0, repairs);
        return resolved;
    }
    let resolved = Call {
        tool: Arc::clone(&entry.tool),
        fingerprint: entry.fingerprint,
        source: Arc::clone(&entry.source),
        generation: snapshot.generation(),
        arguments: repaired.arguments,
        call_id,
        originals: Vec::new(),
    };
    let resolved = match with_originals(resolved, entry, context) {
        Ok(resolved) => resolved,
        Err(error) => return ResolvedCall::failed(Some(Arc::clone(entry)), error),
    };
    let mut denied = None;
    let state = match decide(policy, resolved, context) {
        Ok(state) => state,
        Err(decision) => {
            let error = call_errors::denied(&decision);
            denied = Some((Arc::clone(entry), decision));
            CallState::Failed(error)
        }
    };
    repairs.extend(repaired.repairs);
    ResolvedCall { entry: Some(Arc::clone(entry)), repairs, state, denied, hooks: HookEffects::default() }
}

/// Returns the state of a call by the decision of the policy, or the decision that denies it.
pub(crate) fn decide(policy: &Policy, call: Call, context: &CallContext) -> Result<CallState, Decision> {
    match policy.authorize(call, context.principal()) {
        Verdict::Granted(authorized) => Ok(CallState::Authorized(authorized)),
        Verdict::Ask(pending) => Ok(CallState::PendingApproval(pending)),
        Verdict::Denied(decision) => Err(decision),
    }
}

/// Normalizes arguments before an overload is selected. Returns them with the repairs.
fn normalize(
    overloads: &Overloads<'_>,
    mut arguments: JsonObject,
    context: &CallContext,
) -> Result<(JsonObject, Vec<Repair>), ToolError> {
    let Some(first) = overloads.first() else { return Ok((arguments, Vec::new())) };
    let mut repairs = former_arguments::rename(&first.tool, &mut arguments);
    let mut arguments = match (first.tool.forwarding(), first.tool.deferred_call()) {
        (Some(Forwarding::Calls), _) if context.parallel => {
            let message = "calls that run in parallel may not start others in parallel";
            let error = ToolError::new(ErrorKind::InvalidArgs, message);
            return Err(error.with_hint("put all calls into one list"));
        }
        (Some(forwarding), _) => normalize_forwarding(forwarding, arguments)?,
        (None, Some(deferred)) => normalize_deferred(deferred, arguments)?,
        (None, None) => arguments,
    };
    repairs.extend(clamp_numbers(&first.tool, &mut arguments));
    // With several overloads, one may accept what another does not.
    if overloads.iter().count() == 1 {
        repairs.extend(nest_fields(&first.tool, &mut arguments));
    }
    Ok((arguments, repairs))
}

/// Returns the tool that the caller may not see or that does not exist for the caller, and the rule, if this is the
/// reason why the name was not found.
fn denied_tool(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    error: &FindError,
    context: &CallContext,
) -> Option<(Arc<Entry>, Decision)> {
    if !matches!(error, FindError::Hidden { .. } | FindError::Unknown { .. }) {
        return None;
    }
    let hidden = snapshot.find(name, |_| true).ok()?;
    let entry = Arc::clone(hidden.first()?);
    let decision = policy.decide(&entry.tool, context.principal());
    (decision.effect == Effect::Deny).then_some((entry, decision))
}

/// Returns true if the tool exists for the caller, who may be denied it.
pub(crate) fn exists_for(tool: &Tool, policy: &Policy, context: &CallContext) -> bool {
    is_meant_for(tool, context) && policy.exists_for(tool, context.principal())
}

/// Returns true if the caller may use the tool.
pub(crate) fn is_visible(tool: &Tool, policy: &Policy, context: &CallContext) -> bool {
    is_meant_for(tool, context) && policy.is_visible(tool, context.principal())
}

/// Returns true unless the tool is for user interfaces and the caller does not render them.
fn is_meant_for(tool: &Tool, context: &CallContext) -> bool {
    context.app_host || !tool.traits().only_for_apps
}

/// Finds the tool of a name. A typing error is corrected only if the meant tool has no side effects: the correction is
/// a guess.
fn find_tool<'a>(
    snapshot: &'a Snapshot,
    name: &str,
    exists: &dyn Fn(&Tool) -> bool,
    is_visible: &dyn Fn(&Entry) -> bool,
) -> Result<Overloads<'a>, FindError> {
    let unknown = match snapshot.find_among(name, exists, is_visible) {
        Err(error @ FindError::Unknown { .. }) => error,
        found => return found,
    };
    let near = snapshot.find_near(name, exists, is_visible).ok();
    let are_read_only = |tools: &Overloads<'_>| {
        tools.iter().all(|entry| entry.tool.traits().is_read_only() && entry.tool.forwarding().is_none())
    };
    near.filter(are_read_only).ok_or(unknown)
}

/// Returns true if a predicate holds for all tools that a call reaches, with all overloads.
pub(crate) fn reaches_only(
    is_such: impl Fn(&ToolTraits) -> bool,
    snapshot: &Snapshot,
    policy: &Policy,
    call: &ToolCall,
    context: &CallContext,
) -> bool {
    let find = |name: &str| snapshot.find(name, |entry| is_visible(&entry.tool, policy, context));
    let Ok(overloads) = find(&call.name) else { return false };
    let Some(forwarding) = overloads.first().and_then(|entry| entry.tool.forwarding()) else {
        return overloads.iter().all(|entry| is_such(entry.tool.traits()));
    };
    let Ok(calls) = forwarded_calls(forwarding, call.arguments.clone()) else { return false };
    // A forwarded call that forwards another is rare; it does not count as such.
    calls.iter().all(|call| {
        find(&call.name).is_ok_and(|overloads| {
            overloads.iter().all(|entry| entry.tool.forwarding().is_none() && is_such(entry.tool.traits()))
        })
    })
}
