//! Questions to a person about a call.

use serde::Serialize;
use toolcrib_model::{JsonObject, Risk};

use crate::digest::{Binding, Memory, Subject};
use crate::{Approval, ApprovalDigest, ApprovalRequirement, Remember};

/// A question to a person: the real tool and the arguments of the call. Only [`PendingApproval::question`] creates one.
///
/// [`PendingApproval::question`]: crate::PendingApproval::question
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Question {
    /// Unique in the process.
    pub id: u64,
    /// `namespace.name` of the tool that would run.
    pub tool: String,
    /// The description of the tool.
    pub description: String,
    /// The final arguments.
    pub arguments: JsonObject,
    /// The risk of the tool.
    pub risk: Risk,
    /// The side effects of the tool.
    pub side_effects: Vec<String>,
    /// The rule that asks.
    pub rule: String,
    /// The session that the call belongs to.
    pub session: String,
    /// The agent that makes the call, when it is one.
    pub agent: Option<String>,
    /// The script that makes the call. An approval of the tool holds for this script only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// True for a call without a waiting caller: in the background, of a schedule, or of a started agent. Its question may
    /// interrupt something else.
    pub detached: bool,
    /// The reason for refusing the edit of the last answer, if the question is repeated.
    pub problem: Option<String>,
    /// The approval that the call needs.
    #[serde(skip)]
    pub requirement: ApprovalRequirement,
    /// The digest that an approval of the unchanged call names.
    #[serde(skip)]
    pub digest: ApprovalDigest,
    #[serde(skip)]
    pub(crate) subject: Subject,
    #[serde(skip)]
    pub(crate) binding: Binding,
    /// The digest of the arguments asked about, which stays the same if the field above is edited.
    #[serde(skip)]
    pub(crate) exact: Memory,
}

impl Question {
    /// Approves the call as it is.
    pub fn approve(&self) -> Approval {
        Approval::new(self.digest, None)
    }

    /// Approves the call with these arguments instead. They are validated and decided like those of any call.
    pub fn approve_edited(&self, arguments: JsonObject) -> Approval {
        Approval::new(self.binding.digest(&arguments), Some(arguments))
    }

    /// Returns a digest of the caller, the tool, the arguments, and the rule that asks. It is the same when the caller asks
    /// again, also in another process.
    pub fn key(&self) -> String {
        self.exact.to_string()
    }

    /// Returns true if an approval of another question, remembered in this scope, answers this question too.
    pub fn is_answered_by(&self, other: &Self, remember: Remember) -> bool {
        match remember {
            Remember::Once => false,
            Remember::Tool => {
                // An approval outside of a script covers its calls too.
                self.subject == other.subject
                    && self.rule == other.rule
                    && (other.script.is_none() || self.script == other.script)
            }
            Remember::Arguments => self.exact == other.exact,
        }
    }
}
