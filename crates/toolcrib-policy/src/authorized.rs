//! A call that may run, as a type.

use std::ops::Deref;
use std::sync::Arc;

use toolcrib_model::{ErrorKind, Fingerprint, JsonObject, Tool, ToolError, ToolResult};

use crate::Decision;

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
}

impl Call {
    /// A call without arguments and id.
    pub fn new(tool: Arc<Tool>, source: Arc<str>, generation: u64) -> Self {
        let fingerprint = tool.fingerprint();
        Self { tool, fingerprint, source, generation, arguments: JsonObject::new(), call_id: None }
    }

    /// The result of this call.
    pub fn ok(&self, result: impl Into<serde_json::Value>) -> ToolResult {
        ToolResult::ok(self.call_id.clone(), self.tool.name.to_string(), result.into())
    }

    /// The failure of this call.
    pub fn failed(&self, error: ToolError) -> ToolResult {
        ToolResult::failed(self.call_id.clone(), self.tool.name.to_string(), error)
    }

    /// The failure of this call, from its kind and message.
    pub fn error(&self, kind: ErrorKind, message: impl Into<String>) -> ToolResult {
        self.failed(ToolError::new(kind, message))
    }
}

/// Proof that the policy, or a person whom it asked, let this through. Only this crate can make one.
///
/// ```compile_fail
/// # use toolcrib_policy::{Authorized, Call, Decision};
/// fn forge(call: Call, decision: Decision) -> Authorized<Call> {
///     Authorized { inner: call, decision }
/// }
/// ```
#[derive(Debug)]
pub struct Authorized<T> {
    inner: T,
    decision: Decision,
}

impl<T> Authorized<T> {
    pub(crate) fn mint(inner: T, decision: Decision) -> Self {
        Self { inner, decision }
    }

    /// Which rule let it through.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The thing itself, which is then no longer proof of anything.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<T> Deref for Authorized<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.inner
    }
}
