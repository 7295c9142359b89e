//! What a person is asked.

use serde::Serialize;
use toolcrib_model::{JsonObject, Risk};

use crate::digest::{Binding, Memory, Subject};
use crate::{Approval, ApprovalDigest, Remember};

/// What a person is shown: the real tool and the arguments it would run with. Only [`PendingCall::question`] makes one.
///
/// [`PendingCall::question`]: crate::PendingCall::question
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Question {
    /// Unique in the process.
    pub id: u64,
    /// `namespace.name` of the tool that would run.
    pub tool: String,
    /// What it does.
    pub description: String,
    /// The final arguments.
    pub arguments: JsonObject,
    /// How much harm it can do.
    pub risk: Risk,
    /// What it changes.
    pub side_effects: Vec<String>,
    /// Which rule wants the answer.
    pub rule: String,
    /// The session that the call belongs to.
    pub session: String,
    /// The agent that makes the call, when it is one.
    pub agent: Option<String>,
    /// True for a call that nobody waits for: one in the background, of a schedule, or of an agent that was started. Its
    /// question may come in the middle of something else.
    pub detached: bool,
    /// Why the edit of the last answer was not taken, when this is asked again.
    pub problem: Option<String>,
    /// What an approval of the call as it stands names.
    #[serde(skip)]
    pub digest: ApprovalDigest,
    #[serde(skip)]
    pub(crate) subject: Subject,
    #[serde(skip)]
    pub(crate) binding: Binding,
    /// The arguments as they were asked about, as a digest, whatever becomes of the field above.
    #[serde(skip)]
    pub(crate) exact: Memory,
}

impl Question {
    /// Yes, to the call as it stands.
    pub fn approve(&self) -> Approval {
        Approval::new(self.digest, None)
    }

    /// Yes, with these arguments instead. They are validated and judged as those of any call before they run.
    pub fn approve_edited(&self, arguments: JsonObject) -> Approval {
        Approval::new(self.binding.digest(&arguments), Some(arguments))
    }

    /// Whether an approval of the call of another question, remembered in this way, answers this one too.
    pub fn is_answered_by(&self, other: &Self, remember: Remember) -> bool {
        match remember {
            Remember::Once => false,
            Remember::Tool => {
                Memory::of_tool(self.subject, &self.rule) == Memory::of_tool(other.subject, &other.rule)
            }
            Remember::Arguments => self.exact == other.exact,
        }
    }
}
