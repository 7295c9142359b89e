//! The messages between a server and an operator.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_model::{JsonObject, Risk};
use toolcrib_policy::{ApprovalRequirement, Question};

use super::limits::{MAX_SHOWN_ARGUMENT_BYTES, text};
use super::question::{QuestionReply, WaitingQuestion};
use crate::replica::resumable::ResumableQuestion;

/// The version of the messages.
pub(super) const VERSION: u32 = 2;

/// The maximum length of a line of an operator, in bytes: an answer with an edited text.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The maximum length of a line of a server, in bytes: the arguments and the texts of a call. Each byte of a text may
/// be escaped as six.
pub(super) const MAX_MESSAGE_BYTES: usize = 512 * 1024;

/// A message to an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServerMessage {
    /// The serving process, as the first line.
    Hello(ProcessInfo),
    /// A waiting call.
    Waiting {
        /// The call.
        call: Box<WaitingCall>,
    },
    /// A waiting question of an agent or a server to its user.
    Question {
        /// The question.
        question: Box<WaitingQuestion>,
    },
    /// The end of the calls and questions that were waiting at the start.
    All,
    /// The end of a call or a question that was answered elsewhere or withdrawn.
    Gone {
        /// The id.
        id: u64,
    },
    /// The outcome of an answer.
    Settled {
        /// The id of the call.
        id: u64,
        /// True if the answer was accepted.
        taken: bool,
        /// The reason why it was not.
        why: Option<String>,
    },
    /// A refusal of this operator, as the last line.
    Refused {
        /// The reason.
        why: String,
    },
}

/// A process that serves an app.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessInfo {
    /// The version of the messages.
    pub version: u32,
    /// The id of the app.
    pub app: String,
    /// The process id.
    pub process: u32,
}

/// A call that waits for an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingCall {
    /// The id, which is unique among the calls of the process.
    pub id: u64,
    /// The `namespace.name` of the tool that would run.
    pub tool: String,
    /// The description by the tool's source.
    pub description: String,
    /// The final arguments. Absent if they exceed [`MAX_SHOWN_ARGUMENT_BYTES`], in which case the call can only be
    /// denied.
    pub arguments: Option<JsonObject>,
    /// The risk of the tool.
    pub risk: Risk,
    /// The side effects of the tool.
    pub side_effects: Vec<String>,
    /// The rule that requires the approval.
    pub rule: String,
    /// The session of the call. `serve/CLIENT/…` names the client.
    pub session: String,
    /// The principal that makes the call: a user, a client of the server, or `operator`.
    #[serde(default)]
    pub requester: String,
    /// The agent that makes the call, if an agent does.
    pub agent: Option<String>,
    /// The script that makes the call. An approval of the tool holds for this script only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The time that it has been waiting, in seconds.
    pub waiting_seconds: u64,
    /// The people whose approval it needs.
    #[serde(default, skip_serializing_if = "ApprovalRequirement::is_plain")]
    pub requirement: ApprovalRequirement,
    /// The people who have approved it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub approved_by: BTreeSet<String>,
    /// Set if its caller makes the call again after the end of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resumable: Option<ResumableQuestion>,
}

/// A message of an operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum OperatorMessage {
    /// The greeting, as the first line.
    Hello {
        /// The version of the messages.
        version: u32,
        /// True if the operator stays, so that calls wait.
        attends: bool,
    },
    /// An answer to a call, or a refusal of a question.
    Answer {
        /// The id of the call.
        id: u64,
        /// The answer itself.
        say: CallDecision,
    },
    /// An agreement to a question.
    Reply {
        /// The id of the question.
        id: u64,
        /// The completed form.
        reply: QuestionReply,
    },
}

/// An operator's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallDecision {
    /// Allows this call.
    Once,
    /// Allows this call and later calls of the same tool in the same session.
    Tool,
    /// Denies the call, with feedback for the model, which may be empty.
    Deny(String),
}

impl WaitingCall {
    pub(crate) fn new(question: &Question, since: Duration) -> Self {
        let bytes = serde_json::to_vec(&question.arguments).map_or(usize::MAX, |bytes| bytes.len());
        let changes = question.side_effects.join(", ");
        Self {
            id: question.id,
            tool: text(&question.tool),
            description: text(&question.description),
            arguments: (bytes <= MAX_SHOWN_ARGUMENT_BYTES).then(|| question.arguments.clone()),
            risk: question.risk,
            side_effects: if changes.is_empty() { Vec::new() } else { vec![text(&changes)] },
            rule: text(&question.rule),
            session: text(&question.session),
            requester: text(&question.requirement.requester),
            agent: question.agent.as_deref().map(text),
            script: question.script.clone(),
            waiting_seconds: since.as_secs(),
            requirement: question.requirement.clone(),
            approved_by: BTreeSet::new(),
            resumable: None,
        }
    }
}
