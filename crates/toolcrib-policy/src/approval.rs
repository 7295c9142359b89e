//! The question to a person, and the answer that is bound to it.

use serde::Serialize;
use sha2::{Digest, Sha256};
use toolcrib_model::{JsonObject, Risk, canonical_json};

use crate::{Authorized, Call, Decision};

/// What exactly was approved: a digest of the tool's fingerprint and name, the canonical arguments, and the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApprovalDigest([u8; 32]);

/// A call that waits for a person's answer.
#[derive(Debug)]
pub struct PendingCall {
    call: Call,
    decision: Decision,
    digest: ApprovalDigest,
}

/// What a person is shown: the real tool and the arguments it would run with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
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
    /// What an approval has to name.
    #[serde(skip)]
    pub digest: ApprovalDigest,
}

impl ApprovalDigest {
    /// The digest of a call in a session.
    pub fn of(call: &Call, session: &str) -> Self {
        let arguments = serde_json::Value::Object(call.arguments.clone());
        let mut hash = Sha256::new();
        // Lengths keep the parts apart.
        for part in [
            call.tool.name.to_string(),
            call.fingerprint.to_string(),
            canonical_json(&arguments),
            session.to_owned(),
        ] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }
}

impl PendingCall {
    pub(crate) fn new(call: Call, decision: Decision, session: &str) -> Self {
        let digest = ApprovalDigest::of(&call, session);
        Self { call, decision, digest }
    }

    /// The call as it stands.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Which rule wants an answer.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// What to show.
    pub fn question(&self) -> Question {
        let tool = &self.call.tool;
        Question {
            tool: tool.name.dotted(),
            description: tool.description.clone(),
            arguments: self.call.arguments.clone(),
            risk: tool.risk(),
            side_effects: tool.side_effects().map(str::to_owned).collect(),
            rule: self.decision.rule.clone(),
            digest: self.digest,
        }
    }

    /// Lets the call through when the approval names this very call; gives it back otherwise.
    pub fn approve(self, digest: ApprovalDigest) -> Result<Authorized<Call>, Box<Self>> {
        if digest == self.digest {
            Ok(Authorized::mint(self.call, self.decision))
        } else {
            Err(Box::new(self))
        }
    }
}
