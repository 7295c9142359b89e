//! A call that waits, and the answer that is bound to it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use toolcrib_model::JsonObject;

use crate::digest::{Binding, Memory, Subject};
use crate::views;
use crate::{
    ApprovalDigest, ApprovalRequirement, Approvals, Authorized, Call, Consent, Decision, Policy, Principal,
    Question,
};

/// A person's yes to exactly one question. Only a [`Question`] makes one.
///
/// ```
/// # use toolcrib_policy::{Approval, Question};
/// fn honest(question: &Question) -> Approval {
///     question.approve()
/// }
/// ```
///
/// ```compile_fail
/// # use toolcrib_policy::{Approval, Question};
/// fn forged(question: &Question) -> Approval {
///     Approval {
///         digest: question.digest,
///         edited: None,
///         remember: Default::default(),
///         approvers: Default::default(),
///     }
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Approval {
    digest: ApprovalDigest,
    edited: Option<JsonObject>,
    remember: Remember,
    /// The principals of the people who approve.
    approvers: BTreeSet<String>,
}

/// For how long an approval holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Remember {
    /// For this call.
    #[default]
    Once,
    /// For every call of this tool by this agent in this session that the same rule asks about; for a call of a script, in
    /// this run of the script.
    Tool,
    /// For every call of this tool with these argument values by this agent in this session.
    Arguments,
}

/// A call that waits for a person's answer. There is one for each question, and an approval uses it up.
#[derive(Debug)]
pub struct PendingApproval {
    call: Call,
    decision: Decision,
    session: String,
    agent: Option<String>,
    on_behalf_of: Vec<Arc<str>>,
    id: u64,
    /// The rule that asked, which another one may have taken the place of since the arguments were edited.
    asked: Arc<str>,
    subject: Subject,
    /// The script that makes the call.
    script: Option<Arc<str>>,
    is_edited: bool,
    /// The reason of what asks, for the person.
    reason: Option<String>,
    /// The approval that the call needs, without the people who make it.
    requirement: ApprovalRequirement,
    /// The user on whose behalf the call is made.
    user: Option<Arc<str>>,
}

impl Approval {
    pub(crate) fn new(digest: ApprovalDigest, edited: Option<JsonObject>) -> Self {
        Self { digest, edited, remember: Remember::Once, approvers: BTreeSet::new() }
    }

    /// Says for how long it holds; for one call otherwise.
    pub fn remember(mut self, remember: Remember) -> Self {
        self.remember = remember;
        self
    }

    /// Returns the scope in which it is remembered.
    pub fn remembered(&self) -> Remember {
        self.remember
    }

    /// Names a person who approves: a user, a client of the server, or [`OPERATOR`](crate::OPERATOR). A call that needs
    /// several people, or another one than its caller, runs only if they are named.
    pub fn by(mut self, principal: impl Into<String>) -> Self {
        self.approvers.insert(principal.into());
        self
    }

    /// Returns the people who approve.
    pub fn approvers(&self) -> impl Iterator<Item = &str> {
        self.approvers.iter().map(String::as_str)
    }

    /// Returns the arguments that the person put in the place of those that were asked about.
    pub fn edited(&self) -> Option<&JsonObject> {
        self.edited.as_ref()
    }
}

/// Returns the id of a question, about a call or of another kind, which no other question of this process has.
pub fn question_id() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

impl PendingApproval {
    pub(crate) fn new(policy: &Policy, call: Call, decision: Decision, principal: Principal<'_>) -> Self {
        Self {
            requirement: policy.approval_requirement(&call.tool, principal.session, None),
            user: None,
            subject: Subject::of(&call, principal),
            session: principal.session.to_owned(),
            agent: principal.agent.map(str::to_owned),
            on_behalf_of: principal.on_behalf_of.to_vec(),
            id: question_id(),
            asked: Arc::clone(&decision.rule),
            call,
            decision,
            script: None,
            is_edited: false,
            reason: None,
        }
    }

    /// Asks on behalf of this rule instead, so that no approval remembered for another rule covers the call.
    pub fn required_by(mut self, rule: &Arc<str>, reason: &str) -> Self {
        self.decision = Decision { rule: Arc::clone(rule), ..self.decision };
        self.asked = Arc::clone(rule);
        self.reason = Some(reason.to_owned());
        self
    }

    /// Names the script that makes the call. An approval for the tool then holds for this script only.
    pub fn with_script(mut self, script: Option<Arc<str>>) -> Self {
        self.script = script;
        self
    }

    /// Names the user on whose behalf the call is made.
    pub fn with_user(mut self, user: Option<Arc<str>>) -> Self {
        self.user = user;
        self
    }

    /// Returns the approval that the call needs.
    pub fn requirement(&self) -> ApprovalRequirement {
        self.requirement.clone().with_requesters(&self.session, self.user.as_deref())
    }

    /// Returns true if one person can approve the call, and an approval may be remembered.
    pub(crate) fn is_plain(&self) -> bool {
        self.requirement.is_plain()
    }

    /// Returns the call as it stands.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// Returns the decision that asks for approval.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the caller.
    pub fn principal(&self) -> Principal<'_> {
        Principal { session: &self.session, agent: self.agent.as_deref(), on_behalf_of: &self.on_behalf_of }
    }

    /// Returns the question for the person who decides.
    pub fn question(&self) -> Question {
        let tool = &self.call.tool;
        Question {
            id: self.id,
            tool: tool.name.dotted(),
            description: views::described(&self.call),
            arguments: self.call.arguments.clone(),
            risk: tool.traits().risk,
            side_effects: tool.traits().side_effects.clone(),
            rule: match &self.reason {
                Some(reason) => format!("{}: {reason}", self.decision.rule),
                None => self.decision.rule.to_string(),
            },
            session: self.session.clone(),
            agent: self.agent.clone(),
            script: self.script.as_deref().map(str::to_owned),
            detached: false,
            problem: None,
            digest: self.digest(),
            subject: self.subject,
            binding: self.binding(),
            exact: self.memory(Remember::Arguments),
            requirement: self.requirement(),
        }
    }

    /// Authorizes the call if the approval names exactly this question and these arguments, and the people whom the call
    /// needs. Remembers the approval in its scope, unless the call needs several people or another one than its caller.
    /// Returns the pending call otherwise.
    pub fn approve(self, approval: &Approval, approvals: &Approvals) -> Result<Authorized<Call>, Box<Self>> {
        if approval.digest != self.digest() || self.requirement().shortfall(approval).is_some() {
            return Err(Box::new(self));
        }
        if approval.remember != Remember::Once && self.is_plain() {
            approvals.insert(&self.session, self.memory(approval.remember));
        }
        let consent = if self.is_edited { Consent::Edited } else { Consent::Approved };
        let people: BTreeSet<_> = approval.approvers().map(|name| self.requirement.person(name)).collect();
        let people = (!people.is_empty()).then(|| Arc::new(people));
        Ok(Authorized::mint(self.call, self.decision, consent).approved_by(people))
    }

    /// Returns the same question about other arguments, with their decision.
    pub(crate) fn with_call(mut self, call: Call, decision: Decision) -> Self {
        self.call = call;
        self.decision = decision;
        self.is_edited = true;
        self
    }

    /// Lets the call through because an approval of another is remembered.
    pub(crate) fn recalled(self) -> Authorized<Call> {
        Authorized::mint(self.call, self.decision, Consent::Remembered)
    }

    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Returns the approvals that cover the call. One for the session covers the calls of its scripts.
    pub(crate) fn covering(&self) -> [Memory; 3] {
        let of_session = Memory::of_tool(self.subject, &self.asked, None);
        [self.memory(Remember::Tool), of_session, self.memory(Remember::Arguments)]
    }

    pub(crate) fn memory(&self, remember: Remember) -> Memory {
        match remember {
            Remember::Arguments => {
                Memory::of_arguments(self.subject, &self.decision.rule, &self.call.arguments)
            }
            // What the person said yes to for the session is what was asked, not what the edit ran into.
            Remember::Tool | Remember::Once => {
                Memory::of_tool(self.subject, &self.asked, self.script.as_deref())
            }
        }
    }

    fn binding(&self) -> Binding {
        Binding::of(self.id, self.subject)
    }

    fn digest(&self) -> ApprovalDigest {
        self.binding().digest(&self.call.arguments)
    }
}
