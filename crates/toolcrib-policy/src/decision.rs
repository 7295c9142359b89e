//! What the policy says.

use std::sync::Arc;

use crate::{Authorized, Call, Effect, PendingCall};

/// What the policy says of a tool or a call, and which part of it says so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// What happens to a call. Where that depends on its arguments and they are not known, the best that may happen.
    pub effect: Effect,
    /// Where the deciding rule stands, as `tools.capabilities.deny[0]`.
    pub rule: Arc<str>,
    /// Whether other arguments may come to another effect; never so once they are known.
    pub depends_on_arguments: bool,
}

/// What becomes of a call with its final arguments.
#[derive(Debug)]
pub enum Verdict {
    /// It may run.
    Granted(Authorized<Call>),
    /// A person has to be asked.
    Ask(Box<PendingCall>),
    /// It may not run.
    Denied(Decision),
}

impl Decision {
    pub(crate) fn new(effect: Effect, rule: &Arc<str>) -> Self {
        Self { effect, rule: Arc::clone(rule), depends_on_arguments: false }
    }

    /// Of two that both hold, the one under which less may happen; the first of equals.
    pub(crate) fn and(self, other: Self) -> Self {
        let depends_on_arguments = self.depends_on_arguments || other.depends_on_arguments;
        let worse = if rank(other.effect) > rank(self.effect) { other } else { self };
        // What is denied whatever the arguments are, stays denied.
        let depends_on_arguments = depends_on_arguments && worse.effect != Effect::Deny;
        Self { depends_on_arguments, ..worse }
    }

    /// Of two, the one under which more may happen; the first of equals.
    pub(crate) fn or_better(self, other: Self) -> Self {
        if rank(other.effect) < rank(self.effect) { other } else { self }
    }
}

fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Grant => 0,
        Effect::Approve => 1,
        Effect::Deny => 2,
    }
}
