//! From a call as it was made to a verdict on its final arguments. Nothing runs here.

use std::sync::Arc;

use toolcrib_model::{ErrorKind, JsonObject, Risk, Tool, ToolError};
use toolcrib_policy::{Authorized, Call, Consent, Decision, PendingCall, Policy, Verdict};
use toolcrib_port::CallContext;
use toolcrib_registry::{Entry, FindError, Overloads, Snapshot};
use toolcrib_schema::Repair;

use crate::liberal::{Forwards, Target, clamped, nested};
use crate::{MAX_DEPTH, explain, former};

/// A call on its way.
pub(crate) struct Judged {
    /// The tool, once it is known.
    pub(crate) entry: Option<Arc<Entry>>,
    /// What had to be changed to make the arguments fit.
    pub(crate) repairs: Vec<Repair>,
    pub(crate) state: State,
    /// Which tool is denied, and by which rule; for the record only, since the caller is not told.
    pub(crate) denied: Option<(Arc<Entry>, Decision)>,
}

/// How far it is.
pub(crate) enum State {
    /// It may run.
    Ready(Authorized<Call>),
    /// A person has to be asked.
    Ask(Box<PendingCall>),
    /// It is over.
    Failed(ToolError),
    /// Somebody works on it.
    Taken,
}

impl Judged {
    /// The call with its final arguments, while it is on its way.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.state {
            State::Ready(authorized) => Some(authorized),
            State::Ask(pending) => Some(pending.call()),
            State::Failed(_) | State::Taken => None,
        }
    }

    /// Whether it may run with arguments that a person wrote.
    pub(crate) fn is_edited(&self) -> bool {
        matches!(&self.state, State::Ready(authorized) if authorized.consent() == Consent::Edited)
    }

    fn failed(entry: Option<Arc<Entry>>, error: ToolError) -> Self {
        Self { entry, repairs: Vec::new(), state: State::Failed(error), denied: None }
    }
}

/// Resolves the call, gates it on the tool, makes the arguments final, and gates it on those. Tools that the caller may
/// not use take no part in it.
pub(crate) fn judge(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: JsonObject,
    call_id: Option<String>,
    context: &CallContext,
) -> Judged {
    if context.depth >= MAX_DEPTH {
        let message = format!("calls are nested deeper than {MAX_DEPTH} levels");
        return Judged::failed(None, ToolError::new(ErrorKind::LimitReached, message));
    }
    let principal = context.principal();
    let is_visible = |entry: &Entry| policy.is_visible(&entry.tool, principal);
    let overloads = match found(snapshot, name, is_visible) {
        Ok(overloads) => overloads,
        Err(error) => {
            let error = ToolError::from(&error);
            let hidden =
                (error.kind == ErrorKind::Denied).then(|| snapshot.find(name, |_| true).ok()).flatten();
            let mut judged = Judged::failed(None, error);
            let hidden = hidden.and_then(|overloads| overloads.first().cloned());
            judged.denied = hidden.map(|entry| (Arc::clone(&entry), policy.decide(&entry.tool, principal)));
            return judged;
        }
    };
    let first = overloads.first();
    let mut arguments = arguments;
    let mut repairs = first.map(|entry| former::rename(&entry.tool, &mut arguments)).unwrap_or_default();
    let forwards = first.and_then(|entry| Forwards::of(&entry.tool));
    let target = first.and_then(|entry| Target::of(&entry.tool));
    let mut arguments = match forwards {
        None => match target {
            None => arguments,
            Some(target) => match target.normalise(arguments) {
                Ok(arguments) => arguments,
                Err(error) => return Judged::failed(first.cloned(), error),
            },
        },
        Some(Forwards::Calls) if context.parallel => {
            let message = "calls that run in parallel may not start others in parallel";
            let error =
                ToolError::new(ErrorKind::InvalidArgs, message).with_hint("put all calls into one list");
            return Judged::failed(first.cloned(), error);
        }
        Some(forwards) => match forwards.normalise(arguments) {
            Ok(arguments) => arguments,
            Err(error) => return Judged::failed(first.cloned(), error),
        },
    };
    repairs.extend(first.map(|entry| clamped(&entry.tool, &mut arguments)).unwrap_or_default());
    // Of several forms, one may take what another does not.
    if let (Some(entry), 1) = (first, overloads.iter().count()) {
        repairs.extend(nested(&entry.tool, &mut arguments));
    }
    let (entry, repaired) = match overloads.repair(arguments) {
        Ok(found) => found,
        Err(Some(error)) => {
            return Judged::failed(Some(Arc::clone(error.nearest)), explain::overload_error(&error));
        }
        Err(None) => {
            let message = format!("there is no tool `{name}`");
            return Judged::failed(None, ToolError::new(ErrorKind::UnknownTool, message));
        }
    };
    if entry.tool.equivalent().is_none()
        && let Some((own, arguments)) = snapshot.equivalent(&entry.tool.name, &repaired.arguments)
    {
        // The same call by the name of the tool that it reaches, which the rules for both judge.
        let mut judged = judge(snapshot, policy, &own.tool.name.to_string(), arguments, call_id, context);
        repairs.extend(repaired.repairs);
        judged.repairs.splice(..0, repairs);
        return judged;
    }
    let resolved = Call {
        tool: Arc::clone(&entry.tool),
        fingerprint: entry.fingerprint,
        source: Arc::clone(&entry.source),
        generation: snapshot.generation(),
        arguments: repaired.arguments,
        call_id,
    };
    let mut denied = None;
    let state = match policy.authorize(resolved, principal) {
        Verdict::Granted(authorized) => State::Ready(authorized),
        Verdict::Ask(pending) => State::Ask(pending),
        Verdict::Denied(decision) => {
            let error = explain::denied(&decision);
            denied = Some((Arc::clone(entry), decision));
            State::Failed(error)
        }
    };
    repairs.extend(repaired.repairs);
    Judged { entry: Some(Arc::clone(entry)), repairs, state, denied }
}

/// Returns the tool of a name. A slip of the keys is read as the tool that is near only where that changes nothing: what
/// was meant is a guess.
fn found<'a>(
    snapshot: &'a Snapshot,
    name: &str,
    is_visible: impl Fn(&Entry) -> bool,
) -> Result<Overloads<'a>, FindError> {
    let unknown = match snapshot.find(name, &is_visible) {
        Err(error @ FindError::Unknown { .. }) => error,
        found => return found,
    };
    let near = snapshot.find_near(name, &is_visible).ok();
    let only_looks = |tools: &Overloads<'_>| {
        tools.iter().all(|entry| looks(&entry.tool) && Forwards::of(&entry.tool).is_none())
    };
    near.filter(only_looks).ok_or(unknown)
}

/// Whether a call only looks. Of overloads, all have to.
pub(crate) fn only_reads(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: &JsonObject,
    context: &CallContext,
) -> bool {
    all_are(looks, snapshot, policy, name, arguments, context)
}

/// Whether a call may be made a second time. Of overloads, all have to.
pub(crate) fn may_repeat(
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: &JsonObject,
    context: &CallContext,
) -> bool {
    all_are(|tool| looks(tool) || tool.is_idempotent(), snapshot, policy, name, arguments, context)
}

fn looks(tool: &Tool) -> bool {
    tool.risk() == Risk::Low && tool.side_effects().next().is_none()
}

/// Whether all tools that a call reaches are such.
fn all_are(
    is_such: impl Fn(&Tool) -> bool,
    snapshot: &Snapshot,
    policy: &Policy,
    name: &str,
    arguments: &JsonObject,
    context: &CallContext,
) -> bool {
    let principal = context.principal();
    let find = |name: &str| snapshot.find(name, |entry| policy.is_visible(&entry.tool, principal));
    let Ok(overloads) = find(name) else { return false };
    let Some(forwards) = overloads.first().and_then(|entry| Forwards::of(&entry.tool)) else {
        return overloads.iter().all(|entry| is_such(&entry.tool));
    };
    let Ok(calls) = forwards.calls(arguments.clone()) else { return false };
    // What forwards again is rare, and may wait for its turn.
    calls.iter().all(|call| {
        find(&call.name).is_ok_and(|overloads| {
            overloads.iter().all(|entry| Forwards::of(&entry.tool).is_none() && is_such(&entry.tool))
        })
    })
}
