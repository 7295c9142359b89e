//! Rules about the people who approve calls.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU8;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_model::{Risk, Tool};

use crate::present_value::present;
use crate::rules::rule::CompiledRule;
use crate::{Approval, Effect, Policy, PolicyError, Rule, SettingLocation};

/// The most people whose approval one call may need.
const MAX_APPROVERS: u8 = 8;

/// The name of the operator among the people who approve calls: the person at the machine that serves or runs the app.
pub const OPERATOR: &str = "operator";

/// `approvals.rules[]`: the people who are asked about calls, and how many of them have to approve. A rule applies to
/// calls that need approval; it does not make a call need one. If several rules match, the strictest value of each
/// setting applies.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// The module, which is the namespace of the tool; any when absent. A glob.
    #[serde(default, deserialize_with = "present")]
    pub module: Option<String>,
    /// The actions, which are the bare names of tools; any when absent. Globs.
    #[serde(default, deserialize_with = "present")]
    pub actions: Option<Vec<String>>,
    /// The risk of the tool; any when absent.
    #[serde(default, deserialize_with = "present")]
    pub risk: Option<Risk>,
    /// The channels that ask, by their names under `approvals.channels`.
    #[serde(default)]
    pub ask: Vec<String>,
    /// The number of different people who have to approve a call, from 1 to 8. The default is 1.
    #[serde(default = "one")]
    pub approvers: NonZeroU8,
    /// True if a call is never answered by the principal that made it.
    #[serde(default)]
    pub four_eyes: bool,
}

fn one() -> NonZeroU8 {
    NonZeroU8::MIN
}

/// The people who approve calls, with the principals that each of them is: users, clients of the server, and
/// [`OPERATOR`]. A principal that belongs to no one else is a separate person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct People {
    /// The person of each principal.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    principals: BTreeMap<String, String>,
    /// The prefixes of the sessions of all clients of the server, and of those without a token.
    #[serde(skip)]
    served: Option<(String, String)>,
}

impl People {
    /// Adds a person with their principals.
    pub fn with_person(mut self, name: &str, principals: impl IntoIterator<Item = String>) -> Self {
        let principals = principals.into_iter().map(|principal| (principal, name.to_owned()));
        self.principals.extend(principals);
        self
    }

    /// Names the prefix of the sessions of clients, which the name of the client follows, and the prefix for the client
    /// without a token. Calls of that client, and of all other sessions, are made by the operator.
    pub fn with_served_sessions(mut self, served: &str, local: &str) -> Self {
        self.served = Some((served.to_owned(), local.to_owned()));
        self
    }

    /// Returns the person that a principal is.
    pub fn person<'a>(&'a self, principal: &'a str) -> &'a str {
        self.principals.get(principal).map_or(principal, String::as_str)
    }

    /// Returns the principals that make the calls of a session on behalf of a user, the most exact one first.
    fn requesters<'a>(&self, session: &'a str, user: Option<&'a str>) -> Vec<&'a str> {
        let client = self.served.as_ref().and_then(|(served, local)| {
            let client = session.strip_prefix(served.as_str())?;
            client.split('/').next().filter(|_| !session.starts_with(local.as_str()))
        });
        match client {
            Some(client) => user.into_iter().chain([client]).collect(),
            None => [OPERATOR].into_iter().chain(user).collect(),
        }
    }
}

/// The approval rules of an app.
#[derive(Debug, Default)]
pub(crate) struct ApprovalRules {
    rules: Vec<PlacedRule>,
    people: People,
}

#[derive(Debug)]
struct PlacedRule {
    place: SettingLocation,
    compiled: CompiledRule,
    rule: ApprovalRule,
}

/// The approval that a call needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRequirement {
    /// The number of different people who have to approve.
    pub approvers: usize,
    /// True if none of them may be a requester.
    pub four_eyes: bool,
    /// The channels that ask.
    pub channels: Vec<String>,
    /// The people who make the call.
    pub requesters: BTreeSet<String>,
    /// The principal that makes the call.
    pub requester: String,
    people: People,
}

/// The reason why a person may not answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerRefusal {
    /// The person makes the call, and `four_eyes` requires another one.
    Requester,
    /// The person has answered before.
    AnsweredBefore,
    /// The call may be approved once, and not for the session.
    OnceOnly,
}

impl AnswerRefusal {
    /// Returns the reason for the person.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Requester => "you made this call, so another person has to answer",
            Self::AnsweredBefore => "you have answered this question; another person has to answer",
            Self::OnceOnly => "this call can be allowed once only, and not for the session",
        }
    }
}

impl Default for ApprovalRequirement {
    fn default() -> Self {
        Self::of(&ApprovalRules::default(), std::iter::empty())
    }
}

impl ApprovalRequirement {
    /// Returns the strictest value of each setting of the rules.
    fn of<'a>(all: &ApprovalRules, rules: impl Iterator<Item = &'a ApprovalRule>) -> Self {
        let mut requirement = Self {
            approvers: 1,
            four_eyes: false,
            channels: Vec::new(),
            requesters: BTreeSet::new(),
            requester: String::new(),
            people: all.people.clone(),
        };
        for rule in rules {
            requirement.approvers = requirement.approvers.max(rule.approvers.get().into());
            requirement.four_eyes |= rule.four_eyes;
            for channel in &rule.ask {
                if !requirement.channels.contains(channel) {
                    requirement.channels.push(channel.clone());
                }
            }
        }
        requirement
    }

    /// Names the people who make the call.
    pub(crate) fn with_requesters(mut self, session: &str, user: Option<&str>) -> Self {
        let principals = self.people.requesters(session, user);
        self.requester = principals.first().copied().unwrap_or(OPERATOR).to_owned();
        self.requesters = principals.into_iter().map(|principal| self.person(principal)).collect();
        self
    }

    /// Returns true if any one person can approve the call, also for later calls.
    pub fn is_plain(&self) -> bool {
        self.approvers <= 1 && !self.four_eyes
    }

    /// Returns the person that a principal is.
    pub fn person(&self, principal: &str) -> String {
        self.people.person(principal).to_owned()
    }

    /// Returns those of these people who can approve the call, with the operator and the people who make the call.
    pub fn eligible<'a>(&'a self, people: impl IntoIterator<Item = &'a str>) -> BTreeSet<&'a str> {
        let people = people.into_iter().map(|person| self.people.person(person));
        let all = people.chain([self.people.person(OPERATOR)]);
        let all: BTreeSet<&str> = all.chain(self.requesters.iter().map(String::as_str)).collect();
        all.into_iter().filter(|person| self.refusal(person, &BTreeSet::new()).is_none()).collect()
    }

    /// Returns the reason why a principal may not answer after others have approved, or `None` if it may.
    pub fn refusal(&self, principal: &str, approved_by: &BTreeSet<String>) -> Option<AnswerRefusal> {
        let person = self.people.person(principal);
        if self.four_eyes && self.requesters.contains(person) {
            return Some(AnswerRefusal::Requester);
        }
        approved_by.contains(person).then_some(AnswerRefusal::AnsweredBefore)
    }

    /// Returns what an approval lacks, or `None` if it suffices.
    pub fn shortfall(&self, approval: &Approval) -> Option<String> {
        if self.is_plain() {
            return None;
        }
        let people: BTreeSet<&str> = approval.approvers().map(|name| self.people.person(name)).collect();
        let is_other = |person: &&str| !self.four_eyes || !self.requesters.contains(*person);
        let count = people.into_iter().filter(is_other).count();
        (count < self.approvers).then(|| {
            let other = if self.four_eyes { " who did not make the call" } else { "" };
            match self.approvers {
                1 => format!("it needs the approval of a person{other}"),
                needed => {
                    format!("it needs the approval of {needed} different people{other}, and {count} approved")
                }
            }
        })
    }
}

impl Policy {
    /// Adds the rules about the people who approve calls. Errors name the location of a rule.
    pub fn with_approval_rules(
        mut self,
        rules: &[ApprovalRule],
        people: People,
        location: &SettingLocation,
    ) -> Result<Self, PolicyError> {
        let compile = |(position, rule): (usize, &ApprovalRule)| {
            let place = location.at(position);
            if rule.approvers.get() > MAX_APPROVERS {
                let problem = format!("expected at most {MAX_APPROVERS} approvers, found {}", rule.approvers);
                return Err(PolicyError::Condition { place: place.key("approvers"), problem });
            }
            let ApprovalRule { module, actions, risk, .. } = rule.clone();
            let matching = Rule { module, actions, risk, ..Rule::default() };
            let compiled = CompiledRule::new(&place, Effect::Approve, &matching)?;
            Ok(PlacedRule { place, compiled, rule: rule.clone() })
        };
        let rules = rules.iter().enumerate().map(compile).collect::<Result<_, _>>()?;
        self.approval_rules = ApprovalRules { rules, people };
        Ok(self)
    }

    /// Returns the rules about the people who approve calls of a tool, each with its place: the rules for the tool, for
    /// the originals of a view, and for the equivalent of a tool of a session.
    pub fn approval_rules(&self, tool: &Tool) -> Vec<(&SettingLocation, &ApprovalRule)> {
        let originals = tool.view().into_iter().flat_map(|view| &view.originals);
        let others = originals.map(|original| &*original.tool);
        let equivalent = tool.equivalent().map(|equivalent| &*equivalent.tool);
        let tools: Vec<&Tool> = std::iter::once(tool).chain(others).chain(equivalent).collect();
        let matches = |placed: &&PlacedRule| {
            tools.iter().any(|tool| self.may_match(&placed.compiled, tool, tool.traits().risk))
        };
        let matching = self.approval_rules.rules.iter().filter(matches);
        matching.map(|placed| (&placed.place, &placed.rule)).collect()
    }

    /// Returns the approval that calls of a tool need if a person is asked about them.
    pub fn approval_requirement(
        &self,
        tool: &Tool,
        session: &str,
        user: Option<&str>,
    ) -> ApprovalRequirement {
        let rules = self.approval_rules(tool).into_iter().map(|(_, rule)| rule);
        ApprovalRequirement::of(&self.approval_rules, rules).with_requesters(session, user)
    }
}
