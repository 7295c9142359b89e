//! Digests of questions and remembered approvals.

use std::fmt;

use sha2::{Digest, Sha256};
use toolcrib_model::text::canonical_json;
use toolcrib_model::{JsonObject, Tool};

use crate::{Call, Principal};

/// A digest of everything that an approval covers: the question, the tool (its name, source and whole definition), the
/// canonical arguments, the session and the agent. Only this crate creates one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ApprovalDigest(Sum);

/// A digest of a caller and a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject(Sum);

/// A digest of a question about a [`Subject`], regardless of the arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding(Sum);

/// A digest of an approval that is remembered for a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory(Sum);

type Sum = [u8; 32];

impl Subject {
    pub(crate) fn of(call: &Call, principal: Principal<'_>) -> Self {
        // The fingerprint covers the arguments' schema only. Risk, description and side effects are what the person
        // decides by, so a tool that changes one of them is another tool here.
        let definition = |tool: &Tool| canonical_json(&serde_json::to_value(tool).unwrap_or_default());
        let originals = call.tool.view().into_iter().flat_map(|view| &view.originals);
        let originals: String = originals.map(|original| definition(&original.tool)).collect();
        Self(sum(
            "subject",
            &[
                call.tool.name.to_string().as_bytes(),
                call.fingerprint.to_string().as_bytes(),
                call.source.as_bytes(),
                definition(&call.tool).as_bytes(),
                originals.as_bytes(),
                principal.session.as_bytes(),
                // No name is distinct from an empty name.
                &[u8::from(principal.agent.is_some())],
                principal.agent.unwrap_or_default().as_bytes(),
            ],
        ))
    }
}

impl Binding {
    pub(crate) fn of(question: u64, subject: Subject) -> Self {
        Self(sum("question", &[&question.to_le_bytes(), &subject.0]))
    }

    pub(crate) fn digest(self, arguments: &JsonObject) -> ApprovalDigest {
        ApprovalDigest(sum("approval", &[&self.0, canonical(arguments).as_bytes()]))
    }
}

impl Memory {
    /// Any arguments, where this rule asks, in a script or in the whole session. What another rule asks about was not
    /// answered.
    pub(crate) fn of_tool(subject: Subject, rule: &str, script: Option<&str>) -> Self {
        match script {
            None => Self(sum("tool", &[&subject.0, rule.as_bytes()])),
            Some(script) => Self(sum("tool in script", &[&subject.0, rule.as_bytes(), script.as_bytes()])),
        }
    }

    /// These arguments, where this rule asks.
    pub(crate) fn of_arguments(subject: Subject, rule: &str, arguments: &JsonObject) -> Self {
        Self(sum("arguments", &[&subject.0, rule.as_bytes(), canonical(arguments).as_bytes()]))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Tells `1` from `1.0`, and two integers of 64 bits from each other.
fn canonical(arguments: &JsonObject) -> String {
    canonical_json(&serde_json::Value::Object(arguments.clone()))
}

/// Lengths keep the parts apart, and the purpose keeps one use from another.
fn sum(purpose: &str, parts: &[&[u8]]) -> Sum {
    let mut hash = Sha256::new();
    for part in std::iter::once(purpose.as_bytes()).chain(parts.iter().copied()) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
