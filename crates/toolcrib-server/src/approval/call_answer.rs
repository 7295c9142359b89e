//! Answers to calls, and the people who give them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_policy::{AnswerRefusal, Approval, Question, Remember};
use toolcrib_port::Answer;

use super::answer_queue::{Acceptance, OperatorQuestion};
use crate::operator::WaitingCall;

/// The maximum length of the operator's feedback to a model, in characters.
pub(crate) const MAX_FEEDBACK_CHARS: usize = 1_000;

/// An operator's answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorAnswer {
    /// Allows this call.
    Once,
    /// Allows this call and later calls of the same tool in the same session.
    Tool,
    /// Denies the call, with feedback for the model.
    Deny(Option<String>),
}

impl OperatorAnswer {
    /// Returns a denial. The feedback is truncated to its maximum length, and omitted if it is empty.
    pub fn deny(feedback: &str) -> Self {
        let feedback: String = feedback.trim().chars().take(MAX_FEEDBACK_CHARS).collect();
        Self::Deny((!feedback.is_empty()).then_some(feedback))
    }
}

/// An answer to a call, with the people who gave it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CallAnswer {
    answer: OperatorAnswer,
    by: BTreeSet<String>,
}

impl CallAnswer {
    pub(super) fn new(answer: OperatorAnswer, person: &str) -> Self {
        Self { answer, by: BTreeSet::from([person.to_owned()]) }
    }

    /// Returns the answer to the question that was asked.
    pub(super) fn to(self, question: &Question) -> Answer {
        let approval = || self.by.iter().fold(question.approve(), Approval::by);
        match self.answer {
            OperatorAnswer::Once => Answer::Approved(approval()),
            OperatorAnswer::Tool => Answer::Approved(approval().remember(Remember::Tool)),
            OperatorAnswer::Deny(feedback) => Answer::Denied(feedback),
        }
    }
}

impl OperatorQuestion<CallAnswer> for WaitingCall {
    const QUEUE: &'static str = "call";

    fn needs_several(&self) -> bool {
        self.requirement.approvers > 1
    }

    fn accept(&mut self, answer: CallAnswer) -> Acceptance<CallAnswer> {
        if matches!(answer.answer, OperatorAnswer::Deny(_)) {
            return Acceptance::Complete(answer);
        }
        let people = answer.by.iter().map(|principal| self.requirement.person(principal));
        self.approved_by.extend(people);
        if self.approved_by.len() < self.requirement.approvers {
            return Acceptance::Partial;
        }
        Acceptance::Complete(CallAnswer { by: self.approved_by.clone(), ..answer })
    }

    fn refusal(&self, answer: &CallAnswer) -> Option<AnswerRefusal> {
        if answer.answer == OperatorAnswer::Tool && !self.requirement.is_plain() {
            return Some(AnswerRefusal::OnceOnly);
        }
        answer.by.iter().find_map(|principal| self.requirement.refusal(principal, &self.approved_by))
    }

    fn outlasts_process(&self) -> bool {
        self.resumable.is_some()
    }

    fn encode(&self, _id: u64) -> Option<Value> {
        Some(json!(self))
    }

    fn decode(question: &Value, id: u64) -> Option<Self> {
        let call: Self = serde_json::from_value(question.clone()).ok()?;
        Some(Self { id, ..call })
    }
}

impl WaitingCall {
    /// Takes over approvals of an earlier question about the same call, of people who may still answer it.
    pub(crate) fn take_approvals(&mut self, approved_by: BTreeSet<String>) {
        let none = BTreeSet::new();
        let requirement = &self.requirement;
        let valid = approved_by.into_iter().filter(|person| requirement.refusal(person, &none).is_none());
        self.approved_by.extend(valid);
    }
}

/// Returns the person who approved, if the answer is an approval that names one.
pub(super) fn approver_of(answer: &Answer) -> Option<&str> {
    match answer {
        Answer::Approved(approval) => approval.approvers().next(),
        _ => None,
    }
}
