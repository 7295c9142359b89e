//! A call that may run, as a type.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use serde::Serialize;
use toolcrib_model::{ErrorKind, Fingerprint, JsonObject, Tool, ToolError, ToolResult};

use crate::{Decision, Effect, PendingApproval, Policy, Principal};

/// A call whose tool is found and whose arguments are final.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The digest of the tool's schema.
    pub fingerprint: Fingerprint,
    /// The source that the tool came from, which names its engine.
    pub source: Arc<str>,
    /// The snapshot that the tool was found in.
    pub generation: u64,
    /// The validated arguments.
    pub arguments: JsonObject,
    /// The id of the call.
    pub call_id: Option<String>,
    /// The calls of the original tools, in the order of preference, if the tool is a [view](Tool::view). The first that
    /// can run does; a view without any may not be called.
    pub originals: Vec<Self>,
}

impl Call {
    /// Creates a call without arguments and id.
    pub fn new(tool: Arc<Tool>, source: Arc<str>, generation: u64) -> Self {
        let fingerprint = tool.fingerprint();
        Self {
            tool,
            fingerprint,
            source,
            generation,
            arguments: JsonObject::new(),
            call_id: None,
            originals: Vec::new(),
        }
    }

    /// Returns the result of this call.
    pub fn ok(&self, result: impl Into<serde_json::Value>) -> ToolResult {
        ToolResult::ok(self.call_id.clone(), self.tool.name.to_string(), result.into())
    }

    /// Returns the failure of this call.
    pub fn failed(&self, error: ToolError) -> ToolResult {
        ToolResult::failed(self.call_id.clone(), self.tool.name.to_string(), error)
    }

    /// Returns the outcome of this call.
    pub fn outcome(&self, outcome: Result<serde_json::Value, ToolError>) -> ToolResult {
        outcome.map_or_else(|error| self.failed(error), |value| self.ok(value))
    }

    /// Returns the failure of this call, from its kind and message.
    pub fn error(&self, kind: ErrorKind, message: impl Into<String>) -> ToolResult {
        self.failed(ToolError::new(kind, message))
    }
}

/// Proof that the policy, or a person whom it asked, let this through. Only this crate can make one.
///
/// ```
/// # use toolcrib_policy::{Authorized, Call, Verdict};
/// fn honest(verdict: Verdict) -> Option<Authorized<Call>> {
///     if let Verdict::Granted(call) = verdict { Some(call) } else { None }
/// }
/// ```
///
/// It cannot be put together, turned into one from a call, or changed:
///
/// ```compile_fail
/// # use toolcrib_policy::{Authorized, Call, Consent, Decision};
/// fn forged(call: Call, decision: Decision) -> Authorized<Call> {
///     Authorized { inner: call, decision, consent: Consent::Granted }
/// }
/// ```
///
/// ```compile_fail
/// # use toolcrib_policy::{Call, Verdict};
/// fn forged(call: Call) -> Verdict {
///     Verdict::Granted(call)
/// }
/// ```
///
/// ```compile_fail
/// # use toolcrib_policy::{Authorized, Call};
/// fn changed(mut call: Authorized<Call>) {
///     call.arguments.clear();
/// }
/// ```
#[derive(Debug)]
pub struct Authorized<T> {
    inner: T,
    decision: Decision,
    consent: Consent,
    /// The people who approved it.
    approvers: Option<Arc<BTreeSet<String>>>,
}

/// The origin of the consent to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// A rule's.
    Granted,
    /// A person's, to this call.
    Approved,
    /// A person's, who changed the arguments.
    Edited,
    /// A person's, to an earlier call, which holds for the session.
    Remembered,
}

impl<T> Authorized<T> {
    pub(crate) fn mint(inner: T, decision: Decision, consent: Consent) -> Self {
        Self { inner, decision, consent, approvers: None }
    }

    /// Names the people who approved it.
    pub(crate) fn approved_by(self, approvers: Option<Arc<BTreeSet<String>>>) -> Self {
        Self { approvers, ..self }
    }

    /// Returns the people who approved it, where the approver named them.
    pub fn approvers(&self) -> impl Iterator<Item = &str> {
        self.approvers.iter().flat_map(|approvers| approvers.iter()).map(String::as_str)
    }

    /// Returns the decision that granted the call or asked about it.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the origin of the consent.
    pub fn consent(&self) -> Consent {
        self.consent
    }
}

impl Authorized<Call> {
    /// Withdraws the consent: a person is asked first. `rule` is the name of what asks, which records and remembered
    /// approvals have, and `reason` is shown to the person.
    pub fn require_approval(
        self,
        rule: &Arc<str>,
        reason: &str,
        principal: Principal<'_>,
        policy: &Policy,
    ) -> Box<PendingApproval> {
        let decision = Decision::new(Effect::Approve, rule);
        let pending = PendingApproval::new(policy, self.inner, decision, principal);
        Box::new(pending.required_by(rule, reason))
    }

    /// Returns the calls of the original tools of a view, in the order of preference. They have the decision and the
    /// consent of the call.
    pub fn originals(&self) -> Vec<Self> {
        let originals = self.inner.originals.iter().cloned();
        let mint = |call| Self::mint(call, self.decision.clone(), self.consent);
        originals.map(|call| mint(call).approved_by(self.approvers.clone())).collect()
    }
}

impl<T> Deref for Authorized<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}
