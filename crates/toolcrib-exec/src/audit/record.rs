//! The audit record of a call.

use serde::{Serialize, Serializer};
use serde_json::Value;
use toolcrib_model::{ErrorKind, Fingerprint};
use toolcrib_policy::{Consent, Effect};

/// The version of the fields of a [`Record`]. It grows if a field is renamed, removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The audit record of a call: the caller, the tool, the decision and the outcome.
///
/// As JSON it is one object with the fields in this order; unknown values are `null`. Texts from a caller or a source
/// have at most 256 bytes, and their invisible characters are written as `\u{…}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// The version of the record, [`SCHEMA_VERSION`].
    pub v: u32,
    /// The time at which the call arrived: RFC 3339, UTC, milliseconds.
    pub time: String,
    /// The session of the call.
    pub session: String,
    /// The conversation, if there is one.
    pub conversation: Option<String>,
    /// The user on whose behalf the call was made, if known.
    pub user: Option<String>,
    /// The agent that made the call; `null` for a person at the command line.
    pub agent: Option<String>,
    /// The agents on whose behalf that agent works, the outermost first; absent if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_behalf_of: Vec<String>,
    /// The W3C `traceparent` of the span; if spans have no ids, that of the caller.
    pub trace: Option<String>,
    /// The number of calls above this one in the call chain.
    pub depth: u8,
    /// The id that the caller gave the call.
    pub call_id: Option<String>,
    /// The called name, if it matched no tool.
    pub called: Option<String>,
    /// The tool, as `namespace::name`.
    pub tool: Option<String>,
    /// The original tool that the call reaches, if the tool is a shape of it; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// The fingerprint of the tool's schema.
    pub fingerprint: Option<Fingerprint>,
    /// The source of the tool.
    pub source: Option<String>,
    /// The generation of the snapshot in which the tool was found.
    pub generation: Option<u64>,
    /// The decision of the policy: `grant`, `approve` or `deny`; `null` if it did not decide, as for invalid arguments.
    pub decision: Option<Effect>,
    /// The rule of the decision, such as `tools.capabilities.deny[0]`.
    pub rule: Option<String>,
    /// The consent by which it ran: `granted` by the rule, `approved` or `edited` by a person, `remembered` from an
    /// earlier approval; `null` without one.
    pub consent: Option<Consent>,
    /// The people who approved it, where the approver named them; absent if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approved_by: Vec<String>,
    /// The keyed digest of the final arguments, or of the given arguments if the call failed before.
    pub arguments_hash: Option<String>,
    /// The shape of these arguments: their types, the lengths of texts, and the names that the tool's schema lists. Any
    /// other name may be a value and is shown as `?`. Arguments that nest deeper than 128 levels have neither digest
    /// nor shape.
    pub arguments_shape: Value,
    /// The arguments without secrets, if the operator enables this. `null` if they exceed 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The arguments of the original tool without secrets, if the tool is a shape of it and the operator enables values.
    /// `null` if they exceed 64 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original_arguments: Option<Value>,
    /// The result of the engine without secrets, if the operator enables this and the call has one of at most 64 KiB.
    /// Otherwise the field is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The error of the engine without secrets, as `{"message", "hint"}`, if the operator enables this and the call ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// The number of repairs that made the arguments fit.
    pub repairs: usize,
    /// The verdicts of hooks that had an effect on the call or its result; absent if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<HookRecord>,
    /// The outcome of the call.
    pub outcome: Outcome,
    /// True if the same call may succeed later; only for a failed call.
    pub retryable: Option<bool>,
    /// The milliseconds that the call waited for approval, if it was requested.
    pub waited_ms: Option<f64>,
    /// The milliseconds that the call waited in queues, if it had to.
    pub queued_ms: Option<f64>,
    /// The milliseconds that the call ran, including all attempts, without its time in queues; `null` if it did not
    /// run.
    pub ran_ms: Option<f64>,
    /// The milliseconds from the arrival of the call to its end.
    pub total_ms: f64,
    /// The size of the result as JSON in bytes, as the caller got it.
    pub result_bytes: Option<u64>,
    /// The tokens that a projection of the result saved; absent without a projection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_tokens: Option<u64>,
}

/// The verdict of a hook on a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HookRecord {
    /// The name of the hook.
    pub hook: String,
    /// The verdict: before the call `deny`, `ask` or `change`; on its result `note`, `change_result`, `redact` or `block`;
    /// `failed` for a hook that returned no verdict.
    pub verdict: &'static str,
    /// The names of the changed arguments; `?` for one that the tool's schema does not list. Absent if empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call is about to run; `begun`. Only written if records are required, before the record of its end.
    Begun,
    /// The call has a result; `ok`.
    Ok,
    /// The call has an error of this kind, whose name is written.
    Failed(ErrorKind),
    /// The caller no longer waited for the call; `dropped`. Its effects until then are unknown.
    Dropped,
}

impl Outcome {
    /// Returns the outcome as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Ok => "ok",
            Self::Failed(kind) => kind.as_str(),
            Self::Dropped => "dropped",
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
