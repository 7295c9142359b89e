//! What is said between a server and an operator.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use toolcrib_model::{JsonObject, Risk};
use toolcrib_policy::Question;

use super::{MAX_SHOWN_ARGUMENT_BYTES, Reply, WaitingQuestion};

/// The version of what is said.
pub(super) const VERSION: u32 = 2;

/// The longest line of an operator, in bytes: an answer with a text that was changed.
pub(super) const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The longest line of a server, in bytes: the arguments, and the texts of a call, each of whose bytes may be written as six.
pub(super) const MAX_NEWS_BYTES: usize = 512 * 1024;

/// The longest that a text of a call is, in bytes. It is cut behind them.
const MAX_TEXT_BYTES: usize = 4 * 1024;

/// What an operator is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Told {
    /// Who serves; the first line.
    Hello(Host),
    /// A call waits.
    Waiting {
        /// The call.
        call: Box<WaitingCall>,
    },
    /// A question of an agent or a server to its user waits.
    Question {
        /// The question.
        question: Box<WaitingQuestion>,
    },
    /// All that waited at the beginning has been told.
    All,
    /// A call or a question waits no more: somebody else has answered it, or it was given up.
    Gone {
        /// Its number.
        id: u64,
    },
    /// What became of an answer.
    Settled {
        /// The number of the call.
        id: u64,
        /// Whether the answer counts.
        taken: bool,
        /// Why it does not.
        why: Option<String>,
    },
    /// The server wants nothing to do with this operator; the last line.
    Refused {
        /// Why.
        why: String,
    },
}

/// The process that serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Of what is said.
    pub version: u32,
    /// The id of the app.
    pub app: String,
    /// The number of the process.
    pub process: u32,
}

/// A call that waits for a yes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingCall {
    /// Its number, which no other call of the process has.
    pub id: u64,
    /// `namespace.name` of the tool that would run.
    pub tool: String,
    /// What the tool says of itself.
    pub description: String,
    /// The final arguments; absent where they take more than [`MAX_SHOWN_ARGUMENT_BYTES`], and the call can only be denied then.
    pub arguments: Option<JsonObject>,
    /// How much harm it can do.
    pub risk: Risk,
    /// What it changes.
    pub side_effects: Vec<String>,
    /// Which rule wants the answer.
    pub rule: String,
    /// The session that the call belongs to; `serve/CLIENT/…` names the client.
    pub session: String,
    /// The agent that makes the call, when it is one.
    pub agent: Option<String>,
    /// For how many seconds it has been waiting.
    pub waiting_seconds: u64,
}

/// What an operator says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Heard {
    /// Who comes; the first line.
    Hello {
        /// Of what is said.
        version: u32,
        /// Whether the operator stays, so that calls wait.
        attends: bool,
    },
    /// An answer.
    Answer {
        /// The number of the call.
        id: u64,
        /// The answer itself.
        say: Say,
    },
    /// A yes to a question; a no is an answer.
    Reply {
        /// The number of the question.
        id: u64,
        /// What was filled in.
        reply: Reply,
    },
}

/// An answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Say {
    /// This call may run.
    Once,
    /// So may later ones of its tool, in its session.
    Tool,
    /// It may not, with a word for the model, which may be empty.
    Deny(String),
}

impl WaitingCall {
    pub(super) fn new(question: &Question, since: Duration) -> Self {
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
            agent: question.agent.as_deref().map(text),
            waiting_seconds: since.as_secs(),
        }
    }
}

pub(super) fn text(text: &str) -> String {
    text_to(text, MAX_TEXT_BYTES)
}

/// The beginning of a text, at most so many bytes of it.
pub(super) fn text_to(text: &str, max_bytes: usize) -> String {
    let start = text.get(..text.floor_char_boundary(max_bytes)).unwrap_or_default();
    if start.len() == text.len() { text.to_owned() } else { format!("{start}…") }
}
