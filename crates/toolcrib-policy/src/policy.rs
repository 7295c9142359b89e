//! The rules together, and the decision.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use toolcrib_model::{JsonObject, QualifiedName, Risk, Tool};

use crate::condition::{self, Arguments, MAX_REGEXES};
use crate::rules::approval_rule::ApprovalRules;
use crate::rules::rule::{CompiledConstraints, CompiledRule, KnownArguments};
use crate::rules::scope::{CompiledScope, Scopes};
use crate::rules::tool_rules::{Facts, Reserved, RuleNames, ToolRules};
use crate::{
    Access, Authorized, Call, Capabilities, Consent, Constraints, Decision, Effect, Overrides,
    PendingApproval, PolicyError, Principal, ProfileRules, RuleLocations, RuleMatch, Scope, SettingLocation,
    Verdict,
};

/// The most rules of a policy.
const MAX_RULES: usize = 4096;

/// The most tools whose rules are kept at hand. Beyond that they are looked up for each call.
const MAX_TOOL_RULES: usize = 65_536;

/// The compiled rules of an app.
#[derive(Debug)]
pub struct Policy {
    constraints: HashMap<String, CompiledConstraints>,
    rules: Vec<Arc<CompiledRule>>,
    max_risk: Option<Risk>,
    pub(crate) names: RuleNames,
    access: Access,
    /// The compiled rules of each tool, which are the same for every call except for callers and arguments.
    tool_rules: RwLock<HashMap<QualifiedName, Vec<Arc<ToolRules>>>>,
    reserved: HashMap<QualifiedName, Reserved>,
    /// Tools that were renamed, each with a former name.
    former_names: Vec<(QualifiedName, String)>,
    scopes: Scopes,
    overrides: RwLock<Arc<Overrides>>,
    /// The rules about the people who approve calls.
    pub(crate) approval_rules: ApprovalRules,
}

impl Policy {
    /// Compiles the rules and the constraints of each module. Decisions and errors name a rule by its list: `deny[0]`.
    pub fn new<'a>(
        capabilities: &Capabilities,
        constraints: impl IntoIterator<Item = (&'a str, &'a Constraints)>,
    ) -> Result<Self, PolicyError> {
        Self::at(&RuleLocations::default(), capabilities, constraints)
    }

    /// Compiles rules that stand in a larger file. Decisions and errors name a rule by its location there.
    pub fn at<'a>(
        locations: &RuleLocations,
        capabilities: &Capabilities,
        constraints: impl IntoIterator<Item = (&'a str, &'a Constraints)>,
    ) -> Result<Self, PolicyError> {
        let place = &locations.capabilities;
        // In the order of precedence, so that the first rule that fits decides.
        let lists = [
            (Effect::Deny, "deny", &capabilities.deny),
            (Effect::Approve, "approve", &capabilities.approve),
            (Effect::Grant, "grant", &capabilities.grant),
        ];
        let count: usize = lists.iter().map(|(_, _, rules)| rules.len()).sum();
        let conditions = lists.iter().flat_map(|(_, _, rules)| *rules).flat_map(|rule| &rule.arguments);
        let regexes = conditions.flatten().filter(|condition| condition.matches.is_some()).count();
        for (what, count, limit) in
            [("rules", count, MAX_RULES), ("regular expressions", regexes, MAX_REGEXES)]
        {
            if count > limit {
                return Err(PolicyError::TooMany { place: place.clone(), what, count, limit });
            }
        }
        let mut rules = Vec::with_capacity(count);
        for (effect, list, entries) in lists {
            for (position, rule) in entries.iter().enumerate() {
                rules.push(Arc::new(CompiledRule::new(&place.key(list).at(position), effect, rule)?));
            }
        }
        let constraints = constraints
            .into_iter()
            .map(|(module, constraints)| {
                let place = locations.modules.key(module).key("constraints");
                Ok((module.to_owned(), CompiledConstraints::new(&place, constraints)?))
            })
            .collect::<Result<_, PolicyError>>()?;
        let access = capabilities.access.as_ref().map(|rules| Access::at(&place.key("access"), rules));
        let access = access.transpose()?.unwrap_or_default();
        Ok(Self {
            constraints,
            rules,
            max_risk: capabilities.max_risk_level,
            names: RuleNames::new(capabilities.default_policy, place),
            access,
            tool_rules: RwLock::default(),
            reserved: HashMap::new(),
            former_names: Vec::new(),
            scopes: Scopes::default(),
            overrides: RwLock::default(),
            approval_rules: ApprovalRules::default(),
        })
    }

    /// Reserves a tool for these agents: all other callers are denied, overriding other rules. `place` is the location of the
    /// setting, such as `agents[].role`.
    pub fn with_reserved(
        mut self,
        tool: QualifiedName,
        agents: impl IntoIterator<Item = String>,
        place: &str,
    ) -> Self {
        self.reserved.insert(tool, Reserved { agents: agents.into_iter().collect(), place: place.into() });
        self
    }

    /// Applies rules that deny or ask, and constraints that block, to a tool under a former name too. Grants apply to
    /// present names only, because the tool may do more now.
    pub fn with_former_name(mut self, tool: QualifiedName, former: impl Into<String>) -> Self {
        self.former_names.push((tool, former.into()));
        self
    }

    /// Restricts sessions with this prefix to a scope, overriding other rules. Decisions and errors name the
    /// location of the scope.
    pub fn with_scope(
        mut self,
        sessions: &str,
        scope: &Scope,
        location: &SettingLocation,
    ) -> Result<Self, PolicyError> {
        self.scopes.limit(sessions, CompiledScope::new(scope, location)?);
        Ok(self)
    }

    /// Adds a profile. A profile never allows more than the rules of the app do.
    pub fn with_profile(mut self, name: &str, rules: ProfileRules) -> Self {
        self.scopes.profiles.add(name, rules);
        self
    }

    /// Limits sessions whose names begin with `sessions` to a profile. Several profiles limit a session together. If one
    /// of them does not exist, every tool is denied.
    pub fn with_profile_of(mut self, sessions: &str, profile: &str) -> Self {
        self.scopes.profiles.bind(sessions, profile);
        self
    }

    /// Limits sessions whose names begin with `sessions` and contain the name of a profile, as in
    /// `serve/CLIENT/PROFILE/ID`, to that profile.
    pub fn with_profiles_in(mut self, sessions: &str) -> Self {
        self.scopes.profiles.name_in(sessions);
        self
    }

    /// Returns the first profile that limits a session.
    pub fn profile_of<'a>(&'a self, session: &'a str) -> Option<&'a str> {
        self.scopes.profiles.first_of(session)
    }

    /// Replaces the overrides, for all later decisions.
    pub fn set_overrides(&self, overrides: Overrides) {
        self.scopes.profiles.set_default(overrides.profile.as_deref());
        *self.overrides.write() = Arc::new(overrides);
    }

    /// Returns the overrides.
    pub fn overrides(&self) -> Arc<Overrides> {
        Arc::clone(&self.overrides.read())
    }

    /// Denies every tool, the runtime's own included, to sessions whose names begin with `sessions`, unless
    /// [`with_scope`](Self::with_scope) or [`with_known_sessions`](Self::with_known_sessions) names them. Rights that a
    /// session had from a scope end with the scope. `place` is the rule that records name.
    pub fn with_unknown_denied(mut self, sessions: &str, place: &str) -> Self {
        self.scopes.deny_unknown(sessions, place);
        self
    }

    /// Exempts sessions whose names begin with `sessions` from [`with_unknown_denied`](Self::with_unknown_denied).
    pub fn with_known_sessions(mut self, sessions: &str) -> Self {
        self.scopes.exempt(sessions);
        self
    }

    /// Returns `false` for a caller to whom every tool is denied because its client is not known any more.
    pub fn admits<'p>(&self, principal: impl Into<Principal<'p>>) -> bool {
        self.scopes.unknown(principal.into()).is_none()
    }

    /// Grants a tool by its name, regardless of its risk. Rules that deny it still apply. `place` is the location of the
    /// setting, such as `modules.database.setup[0]`.
    pub fn with_granted(mut self, tool: &QualifiedName, place: &str) -> Self {
        self.rules.push(Arc::new(CompiledRule::granting(tool, place)));
        self
    }

    /// Returns the decision about a tool before the arguments are known: the most permissive effect on any call, and whether
    /// it depends on the arguments. Only a tool that no arguments could allow is denied.
    pub fn decide<'p>(&self, tool: &Tool, principal: impl Into<Principal<'p>>) -> Decision {
        self.evaluate(tool, principal.into(), None)
    }

    /// Returns the decision about the call of a tool with these arguments, or about any call of it without arguments.
    pub fn decide_call<'p>(
        &self,
        tool: &Arc<Tool>,
        source: &Arc<str>,
        principal: impl Into<Principal<'p>>,
        arguments: Option<&JsonObject>,
    ) -> Decision {
        let Some(arguments) = arguments else { return self.decide(tool, principal) };
        let mut call = Call::new(Arc::clone(tool), Arc::clone(source), 0);
        call.arguments.clone_from(arguments);
        self.evaluate_call(&mut call, principal.into())
    }

    /// Returns all rules and settings that match a call, in the order in which the policy considers them; the last is the
    /// default. Without `arguments`, it includes the rules that match for some arguments. The rules for the agents on
    /// whose behalf the caller works, and for an equivalent of the tool, are not included.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolcrib_model::{QualifiedName, Tool};
    /// use toolcrib_policy::Policy;
    ///
    /// let capabilities = serde_json::from_value(json!({
    ///     "default_policy": "approve",
    ///     "deny": [{"module": "files", "actions": ["delete"]}],
    ///     "grant": [{"module": "files"}],
    /// }))?;
    /// let delete = Tool::new(QualifiedName::new("files", "delete")?);
    /// let matches = Policy::new(&capabilities, [])?.matches(&delete, "session", None);
    /// let rules: Vec<&str> = matches.iter().map(|one| one.decision.rule.as_ref()).collect();
    /// assert_eq!(rules, [
    ///     "deny[0]",
    ///     "grant[0]",
    ///     "default_policy",
    /// ]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn matches<'p>(
        &self,
        tool: &Tool,
        principal: impl Into<Principal<'p>>,
        arguments: Option<&JsonObject>,
    ) -> Vec<RuleMatch> {
        let principal = principal.into();
        let sent = arguments.and_then(|arguments| condition::sent(tool, arguments));
        let arguments = arguments.map(|arguments| Arguments::new(arguments, sent.as_ref()));
        let arguments = arguments.map_or(KnownArguments::None, KnownArguments::All);
        let scope = self.denial(tool, principal).map(RuleMatch::certain);
        let of_profiles = self.restrictions_of_profiles(tool, principal, arguments);
        let of_profiles: Vec<_> = of_profiles.filter_map(RuleMatch::restricting).collect();
        let rules = self.tool_rules(tool).matches(&self.names, principal, arguments);
        let of_originals = self.restrictions_of_originals(tool, principal);
        scope.into_iter().chain(of_profiles).chain(of_originals).chain(rules).collect()
    }

    /// Returns true if the tool is visible to the caller.
    pub fn is_visible<'p>(&self, tool: &Tool, principal: impl Into<Principal<'p>>) -> bool {
        self.decide(tool, principal).effect != Effect::Deny
    }

    /// Returns false for a tool that is disabled or outside of a profile of the caller, for whom it must be as if it did not
    /// exist. A tool that exists may be invisible.
    pub fn exists_for<'p>(&self, tool: &Tool, principal: impl Into<Principal<'p>>) -> bool {
        let mut profiles = self.scopes.profiles.of(principal.into().session);
        self.overrides.read().disabled(tool).is_none()
            && profiles.all(|profile| profile.scope.denial(tool).is_none())
    }

    /// Decides about a call with its final arguments. An approval is bound to the session and the agent.
    pub fn authorize<'p>(&self, mut call: Call, principal: impl Into<Principal<'p>>) -> Verdict {
        let principal = principal.into();
        let decision = self.evaluate_call(&mut call, principal);
        match decision.effect {
            Effect::Grant => Verdict::Granted(Authorized::mint(call, decision, Consent::Granted)),
            Effect::Approve => Verdict::Ask(Box::new(PendingApproval::new(self, call, decision, principal))),
            Effect::Deny => Verdict::Denied(decision),
        }
    }

    /// Puts edited arguments in the place of those that were asked about, once they have been validated. The question
    /// stays the same one. A rule that denies them beats the person who wrote them. `originals` are the calls of a
    /// view's original tools with the edited arguments.
    pub fn reconsider(
        &self,
        pending: PendingApproval,
        arguments: JsonObject,
        originals: Vec<Call>,
    ) -> Result<PendingApproval, Decision> {
        let mut call = Call { arguments, originals, ..pending.call().clone() };
        let decision = self.evaluate_call(&mut call, pending.principal());
        match decision.effect {
            Effect::Deny => Err(decision),
            Effect::Grant | Effect::Approve => Ok(pending.with_call(call, decision)),
        }
    }

    /// Returns the access of modules.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the rules that speak of none of these tools, which may be misspelt.
    pub fn unused_rules<'a>(
        &'a self,
        tools: impl Iterator<Item = &'a Tool> + Clone + 'a,
    ) -> impl Iterator<Item = &'a str> {
        let of_profiles = self.scopes.profiles.unused_rules(tools.clone());
        let is_unused = move |rule: &&Arc<CompiledRule>| {
            !tools.clone().any(|tool| self.may_match(rule, tool, tool.traits().risk))
        };
        self.rules.iter().filter(is_unused).map(|rule| rule.place.as_ref()).chain(of_profiles)
    }

    /// Decides about a tool, or about a call of one that is not a view. The stricter of the decisions by the rules for the
    /// tool, its equivalent, and its originals holds.
    pub(crate) fn evaluate(
        &self,
        tool: &Tool,
        principal: Principal<'_>,
        arguments: Option<&JsonObject>,
    ) -> Decision {
        let decision = self.evaluate_tool(tool, principal, arguments, None);
        if let Some(view) = tool.view() {
            return decision.and(self.restrict_view(view, principal));
        }
        let Some(equivalent) = tool.equivalent() else { return decision };
        let of_other = if let Some(arguments) = arguments {
            let arguments = equivalent.arguments(arguments);
            self.evaluate_tool(&equivalent.tool, principal, Some(&arguments), None)
        } else {
            let unknown = Some(equivalent.arguments_key.as_str());
            self.evaluate_tool(&equivalent.tool, principal, Some(&equivalent.fixed), unknown)
        };
        let rule = format!("{}, as a call of `{}`", of_other.rule, equivalent.tool.name.dotted());
        decision.and(Decision { rule: rule.into(), ..of_other })
    }

    /// Decides about a call by the rules for its tool. The argument named by `unknown` is not known yet.
    pub(crate) fn evaluate_tool(
        &self,
        tool: &Tool,
        principal: Principal<'_>,
        arguments: Option<&JsonObject>,
        unknown: Option<&str>,
    ) -> Decision {
        if let Some(denial) = self.denial(tool, principal) {
            return denial;
        }
        let sent = arguments.and_then(|arguments| condition::sent(tool, arguments));
        let arguments = match arguments.map(|arguments| Arguments::new(arguments, sent.as_ref())) {
            None => KnownArguments::None,
            Some(arguments) => match unknown {
                None => KnownArguments::All(arguments),
                Some(unknown) => KnownArguments::AllBut(arguments, unknown),
            },
        };
        let rules = self.tool_rules(tool);
        let decision = if let Some(decision) = &rules.settled {
            decision.clone()
        } else {
            let evaluate = |principal| rules.evaluate(&self.names, principal, arguments);
            principal.superiors().map(evaluate).fold(evaluate(principal), Decision::and)
        };
        self.restrictions_of_profiles(tool, principal, arguments).fold(decision, Decision::and)
    }

    /// Returns the denial of a tool that the scope or a profile of the caller leaves out, or that is disabled.
    fn denial(&self, tool: &Tool, principal: Principal<'_>) -> Option<Decision> {
        self.scopes.denial(tool, principal).or_else(|| self.overrides.read().denial(tool))
    }

    /// Returns the decisions of the caller's profiles by what restricts a call there.
    pub(crate) fn restrictions_of_profiles<'a>(
        &'a self,
        tool: &'a Tool,
        principal: Principal<'a>,
        arguments: KnownArguments<'a>,
    ) -> impl Iterator<Item = Decision> {
        let profiles = self.scopes.profiles.of(principal.session);
        profiles.map(move |profile| profile.restrictions.restriction(tool, principal, arguments))
    }

    /// Decides about a call by what restricts it: constraints, reservations, the maximum risk, and rules that deny or ask.
    /// Where nothing does, the call is granted.
    pub(crate) fn restriction(
        &self,
        tool: &Tool,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Decision {
        if let Some(denial) = self.overrides.read().denial(tool) {
            return denial;
        }
        let rules = self.tool_rules(tool);
        let restriction = |principal| rules.restriction(&self.names, principal, arguments);
        principal.superiors().map(restriction).fold(restriction(principal), Decision::and)
    }

    fn tool_rules(&self, tool: &Tool) -> Arc<ToolRules> {
        let facts = Facts::of(tool);
        // Such tools come and go with sessions, and there is no end to their names.
        if tool.equivalent().is_some() {
            return Arc::new(self.new_tool_rules(tool, facts));
        }
        {
            let all = self.tool_rules.read();
            let known = all.get(&tool.name).into_iter().flatten();
            if let Some(rules) = known.into_iter().find(|rules| rules.facts == facts) {
                return Arc::clone(rules);
            }
        }
        let rules = Arc::new(self.new_tool_rules(tool, facts));
        let mut all = self.tool_rules.write();
        if all.len() < MAX_TOOL_RULES || all.contains_key(&tool.name) {
            let known = all.entry(tool.name.clone()).or_default();
            if !known.iter().any(|known| known.facts == facts) {
                known.push(Arc::clone(&rules));
            }
        }
        rules
    }

    fn former_names_of(&self, tool: &Tool) -> impl Iterator<Item = &str> {
        self.former_names.iter().filter(|(name, _)| *name == tool.name).map(|(_, former)| former.as_str())
    }

    /// Returns true if a rule may match calls of a tool, by a former name unless it grants.
    pub(crate) fn may_match(&self, rule: &CompiledRule, tool: &Tool, risk: Risk) -> bool {
        let may_match = |name: &str| rule.may_match(tool.name.namespace(), name, risk);
        may_match(tool.name.name())
            || (rule.effect != Effect::Grant && self.former_names_of(tool).any(may_match))
    }

    fn new_tool_rules(&self, tool: &Tool, facts: Facts) -> ToolRules {
        let constraints = self.constraints.get(tool.name.namespace());
        let blocked = constraints.filter(|constraints| {
            !constraints.allow(tool.name.name())
                || self.former_names_of(tool).any(|name| constraints.block(name))
        });
        ToolRules::new(
            facts,
            blocked.map(|constraints| Arc::clone(&constraints.place)),
            self.max_risk.is_some_and(|max| facts.risk > max),
            self.rules.iter().filter(|rule| self.may_match(rule, tool, facts.risk)).cloned().collect(),
            self.reserved.get(&tool.name).cloned(),
            &self.names,
        )
    }
}
