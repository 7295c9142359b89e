//! Decisions of the policy.

use std::sync::Arc;

use crate::{Authorized, Call, Effect, PendingApproval};

/// The decision of the policy about a tool or a call, with the deciding rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// The effect on the call. If it depends on unknown arguments, the most permissive possible effect.
    pub effect: Effect,
    /// The location of the deciding rule, such as `tools.capabilities.deny[0]`.
    pub rule: Arc<str>,
    /// True if other arguments may have another effect; always false once the arguments are known.
    pub depends_on_arguments: bool,
    /// The arguments that the rule is about, where it is about some, as people and models read them: "`path`, `mode`".
    pub arguments: Option<Arc<str>>,
}

/// A rule or setting that matches a call. The first match decides, except that a later grant may be one that names the
/// tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RuleMatch {
    /// The decision if no earlier rule decides.
    pub decision: Decision,
    /// False if the rule matches some arguments only, and they are not known.
    pub is_certain: bool,
}

/// The verdict about a call with its final arguments.
#[derive(Debug)]
pub enum Verdict {
    /// It may run.
    Granted(Authorized<Call>),
    /// A person has to be asked.
    Ask(Box<PendingApproval>),
    /// It may not run.
    Denied(Decision),
}

impl RuleMatch {
    pub(crate) fn certain(decision: Decision) -> Self {
        Self { decision, is_certain: true }
    }

    /// Returns the match of a rule or setting that restricts a call, by its decision; `None` if nothing does.
    pub(crate) fn restricting(decision: Decision) -> Option<Self> {
        let is_certain = !decision.depends_on_arguments;
        (decision.effect != Effect::Grant || !is_certain).then_some(Self { decision, is_certain })
    }
}

impl Decision {
    pub(crate) fn new(effect: Effect, rule: &Arc<str>) -> Self {
        Self { effect, rule: Arc::clone(rule), depends_on_arguments: false, arguments: None }
    }

    /// Returns the stricter of two decisions; the first of equals.
    pub(crate) fn and(self, other: Self) -> Self {
        let depends_on_arguments = self.depends_on_arguments || other.depends_on_arguments;
        let worse = if rank(other.effect) > rank(self.effect) { other } else { self };
        // A denial that does not depend on the arguments stays a denial.
        let depends_on_arguments = depends_on_arguments && worse.effect != Effect::Deny;
        Self { depends_on_arguments, ..worse }
    }

    /// Returns the more permissive of two decisions; the first of equals.
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
