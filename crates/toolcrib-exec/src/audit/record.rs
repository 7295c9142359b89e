//! What is kept of a call.

use serde::{Serialize, Serializer};
use serde_json::Value;
use toolcrib_model::{ErrorKind, Fingerprint};
use toolcrib_policy::{Consent, Effect};

/// The version of the fields of a [`Record`]. It grows when one is renamed, removed or means something else.
pub const SCHEMA_VERSION: u32 = 1;

/// What is kept of a call: who made it, what was called, who allowed it, and what came of it.
///
/// As JSON it is one object with the fields in the order in which they stand here; what is not known is `null`. Texts that
/// come from a caller or a source have 256 bytes at most, and what nobody sees in them is written as `\u{…}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Record {
    /// [`SCHEMA_VERSION`].
    pub v: u32,
    /// When the call came in: RFC 3339, UTC, milliseconds.
    pub time: String,
    /// The session that it belongs to.
    pub session: String,
    /// The conversation, where there is one.
    pub conversation: Option<String>,
    /// The user on whose behalf it was made, where that is known.
    pub user: Option<String>,
    /// The agent that made it; `null` for a person at the command line.
    pub agent: Option<String>,
    /// The agents on whose behalf that agent works, the outermost first; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on_behalf_of: Vec<String>,
    /// The W3C `traceparent` of its span; where spans have no ids, that of its caller.
    pub trace: Option<String>,
    /// How many calls stand above it.
    pub depth: u8,
    /// The id that the caller gave it.
    pub call_id: Option<String>,
    /// The name that was called, when no tool was found by it.
    pub called: Option<String>,
    /// The tool, as `namespace::name`.
    pub tool: Option<String>,
    /// The fingerprint of the tool's schema.
    pub fingerprint: Option<Fingerprint>,
    /// The source of the tool.
    pub source: Option<String>,
    /// The generation of the snapshot that it was found in.
    pub generation: Option<u64>,
    /// What the policy said: `grant`, `approve` or `deny`; `null` when it was not asked, as for arguments that do not fit.
    pub decision: Option<Effect>,
    /// The rule that said so, as `tools.capabilities.deny[0]`.
    pub rule: Option<String>,
    /// Whose yes let it run: `granted` by the rule, `approved` or `edited` by a person, `remembered` from an earlier
    /// approval; `null` when nobody's did.
    pub consent: Option<Consent>,
    /// The keyed digest of the final arguments, or of those that were given where it did not get so far.
    pub arguments_hash: Option<String>,
    /// The shape of these arguments: the types, how long texts are, and the names that the tool's schema lists. Any other
    /// name may be a value and is `?`. Of arguments that nest deeper than 128 levels there is neither digest nor shape.
    pub arguments_shape: Value,
    /// The arguments without secrets, where the operator wants them. Those of more than 64 KiB are `null`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// How many repairs made the arguments fit.
    pub repairs: usize,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether the same call may succeed later, of one that failed.
    pub retryable: Option<bool>,
    /// Milliseconds that it waited for an answer, where somebody was asked.
    pub waited_ms: Option<f64>,
    /// Milliseconds that it waited for its turn, where it had to.
    pub queued_ms: Option<f64>,
    /// Milliseconds that it ran, all attempts included, without the waiting for its turn; `null` when it did not run.
    pub ran_ms: Option<f64>,
    /// Milliseconds from its coming in to its end.
    pub total_ms: f64,
    /// The bytes of its result as JSON, as the caller got it.
    pub result_bytes: Option<u64>,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is about to run; `begun`. Only written where records are required, before the record of its end.
    Begun,
    /// It has a result; `ok`.
    Ok,
    /// It has an error of this kind, which is what is written.
    Failed(ErrorKind),
    /// Nobody waited for it any more; `dropped`. What it did before that is not known.
    Dropped,
}

impl Outcome {
    /// As it is written.
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
