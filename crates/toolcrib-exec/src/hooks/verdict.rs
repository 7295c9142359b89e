//! The verdicts of hooks, and their effect on a call.

use serde_json::Value;
use toolcrib_model::text::ellipsize_chars;
use toolcrib_model::{ErrorKind, JsonObject, ToolError};
use toolcrib_policy::{Call, Consent, Policy};
use toolcrib_port::CallContext;

use crate::audit::HookRecord;
use crate::authorize::{CallState, ResolvedCall, decide};
use crate::call_errors;
use crate::views::with_originals;

/// The maximum number of characters of a reason; the rest is cut.
pub const MAX_REASON_CHARS: usize = 1000;

/// The verdict of a hook on a call that the policy does not deny.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HookVerdict {
    /// The call continues as the policy decided. It never runs without an approval that the policy requires.
    Allow,
    /// The call does not run.
    Deny {
        /// The reason, for the model.
        reason: String,
    },
    /// A person is asked, even if the policy grants the call.
    Ask {
        /// The reason, for the person.
        reason: String,
    },
    /// The call continues with other arguments, which are validated and authorized like those of any call.
    Change {
        /// The arguments in the place of those of the call.
        arguments: JsonObject,
        /// The reason, for the model.
        reason: Option<String>,
    },
}

/// Applies the verdict of a hook to a call.
///
/// # Errors
///
/// Returns the error of a call that does not run: the hook denies it, or the changed arguments are invalid or denied.
pub(crate) fn apply(
    resolved: &mut ResolvedCall,
    hook: &str,
    verdict: HookVerdict,
    policy: &Policy,
    context: &CallContext,
) -> Result<(), ToolError> {
    let record = |verdict, arguments| HookRecord { hook: hook.to_owned(), verdict, arguments };
    match verdict {
        HookVerdict::Allow => Ok(()),
        HookVerdict::Deny { reason } => {
            resolved.hooks.records.push(record("deny", Vec::new()));
            let reason = ellipsize_chars(&reason, MAX_REASON_CHARS);
            Err(ToolError::new(ErrorKind::Denied, format!("the hook `{hook}` denied the call: {reason}"))
                .with_hint("follow the reason, or tell the user; do not do the same by another tool"))
        }
        HookVerdict::Ask { reason } => {
            resolved.hooks.records.push(record("ask", Vec::new()));
            let reason = ellipsize_chars(&reason, MAX_REASON_CHARS).to_string();
            resolved.hooks.asking = Some((format!("hook `{hook}`").into(), reason));
            require_approval(resolved, policy, context);
            Ok(())
        }
        HookVerdict::Change { arguments, reason } => {
            let Some(call) = resolved.call().filter(|call| call.arguments != arguments) else {
                return Ok(());
            };
            let names = changed(call, &arguments);
            let call = Call { arguments, originals: Vec::new(), ..call.clone() };
            resolved.hooks.records.push(record("change", names.clone()));
            let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let mut change = format!("the hook `{hook}` changed {names} before the call ran");
            if let Some(reason) = reason {
                change = format!("{change}: {}", ellipsize_chars(&reason, MAX_REASON_CHARS));
            }
            resolved.hooks.changes.push(change);
            authorize_changed(resolved, hook, call, policy, context)
        }
    }
}

/// Records the failure of a hook that does not end the call.
pub(crate) fn record_failure(resolved: &mut ResolvedCall, hook: &str) {
    let record = HookRecord { hook: hook.to_owned(), verdict: "failed", arguments: Vec::new() };
    resolved.hooks.records.push(record);
}

/// Validates and authorizes a call with the arguments of a hook. They are not repaired: a hook knows the schema.
fn authorize_changed(
    resolved: &mut ResolvedCall,
    hook: &str,
    call: Call,
    policy: &Policy,
    context: &CallContext,
) -> Result<(), ToolError> {
    let Some(entry) = resolved.entry.clone() else { return Ok(()) };
    if let Some(violations) = resolved.violations(&call.arguments) {
        let tool = call.tool.name.shown();
        let message =
            format!("the hook `{hook}` changed the arguments of `{tool}` to invalid ones: {violations}");
        return Err(ToolError::new(ErrorKind::Internal, message)
            .with_hint("the call did not run; tell the user that the operator has to correct the hook"));
    }
    let call = with_originals(call, &entry, context)?;
    match decide(policy, call, context) {
        Ok(state) => resolved.state = state,
        Err(decision) => {
            let error = call_errors::denied(&decision);
            resolved.denied = Some((entry, decision));
            return Err(error);
        }
    }
    // The person whom an earlier hook asks, sees the arguments of this one.
    require_approval(resolved, policy, context);
    Ok(())
}

/// Requires a person's approval if a hook asks. One who has answered about these arguments is not asked again.
fn require_approval(resolved: &mut ResolvedCall, policy: &Policy, context: &CallContext) {
    let Some((rule, reason)) = &resolved.hooks.asking else { return };
    resolved.state = match std::mem::replace(&mut resolved.state, CallState::Taken) {
        CallState::Authorized(call) if call.consent() == Consent::Granted => {
            CallState::PendingApproval(call.require_approval(rule, reason, context.principal(), policy))
        }
        CallState::PendingApproval(pending) => {
            CallState::PendingApproval(Box::new(pending.required_by(rule, reason)))
        }
        state => state,
    };
}

/// Returns the names of the arguments that differ. One that the schema does not list may be a value; it is `?`.
fn changed(call: &Call, arguments: &JsonObject) -> Vec<String> {
    let listed = call.tool.parameters.get("properties").and_then(Value::as_object);
    let added = arguments.keys().filter(|name| !call.arguments.contains_key(*name));
    let names = call.arguments.keys().chain(added);
    let differing = names.filter(|name| call.arguments.get(*name) != arguments.get(*name));
    let shown = differing.map(|name| {
        if listed.is_some_and(|listed| listed.contains_key(name)) { name.clone() } else { "?".to_owned() }
    });
    let mut names: Vec<String> = shown.collect();
    names.dedup();
    names
}
