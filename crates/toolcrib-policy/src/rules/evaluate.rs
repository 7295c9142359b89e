//! Deny beats approve beats grant beats the default.

use toolcrib_model::Risk;

use crate::rules::rule::{CompiledRule, Fit, KnownArguments};
use crate::rules::tool_rules::{RuleNames, ToolRules};
use crate::{Decision, Effect, Principal, RuleMatch};

impl ToolRules {
    /// Returns the effect on a call; without arguments, the most permissive effect on any call.
    pub(crate) fn evaluate(
        &self,
        names: &RuleNames,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Decision {
        let may_be_denied = match self.denial(names, principal, arguments) {
            Ok(may_be_denied) => may_be_denied,
            Err(denial) => return denial,
        };
        let mut decision = self.unless_denied(names, principal, arguments);
        decision.depends_on_arguments |= may_be_denied && decision.effect != Effect::Deny;
        decision
    }

    /// Returns what restricts a call: the denial, the rule that asks, or a grant if there is neither. Grants and the default
    /// do not count.
    pub(crate) fn restriction(
        &self,
        names: &RuleNames,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Decision {
        let may_be_denied = match self.denial(names, principal, arguments) {
            Ok(may_be_denied) => may_be_denied,
            Err(denial) => return denial,
        };
        let asks = self.first(Effect::Approve, principal, arguments);
        let mut decision = asks
            .surely
            .map_or_else(|| Decision::new(Effect::Grant, &names.default.rule), CompiledRule::decision);
        decision.depends_on_arguments |= may_be_denied || asks.perhaps.is_some();
        decision
    }

    /// Checks that nothing surely denies a call. Returns true if a rule denies it for some arguments.
    ///
    /// # Errors
    ///
    /// Returns the denial.
    fn denial(
        &self,
        names: &RuleNames,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Result<bool, Decision> {
        if let Some(place) = &self.blocked {
            return Err(Decision::new(Effect::Deny, place));
        }
        if let Some(denial) = self.reserved.as_ref().and_then(|reserved| reserved.denial(principal)) {
            return Err(denial);
        }
        let denies = self.first(Effect::Deny, principal, arguments);
        if let Some(rule) = denies.surely {
            return Err(rule.decision());
        }
        if self.is_too_risky {
            return Err(names.max_risk.clone());
        }
        Ok(denies.perhaps.is_some())
    }

    /// Returns all rules and settings that match a call, in the order in which they are considered.
    pub(crate) fn matches(
        &self,
        names: &RuleNames,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Vec<RuleMatch> {
        let blocked = self.blocked.as_ref().map(|place| Decision::new(Effect::Deny, place));
        let reserved = self.reserved.as_ref().and_then(|reserved| reserved.denial(principal));
        let mut matches: Vec<RuleMatch> =
            [blocked, reserved].into_iter().flatten().map(RuleMatch::certain).collect();
        for effect in [Effect::Deny, Effect::Approve, Effect::Grant] {
            for rule in self.rules.iter().filter(|rule| rule.effect == effect) {
                let is_certain = match rule.fit(principal, arguments) {
                    Fit::No => continue,
                    Fit::Yes => true,
                    Fit::Perhaps => false,
                };
                let decision = self.confirmed(rule.decision(), names, rule.is_by_name);
                matches.push(RuleMatch { decision, is_certain });
            }
            if effect == Effect::Deny && self.is_too_risky {
                matches.push(RuleMatch::certain(names.max_risk.clone()));
            }
        }
        matches.push(RuleMatch::certain(self.confirmed(self.default(names), names, false)));
        matches
    }

    fn unless_denied(
        &self,
        names: &RuleNames,
        principal: Principal<'_>,
        arguments: KnownArguments<'_>,
    ) -> Decision {
        let asks = self.first(Effect::Approve, principal, arguments);
        if let Some(rule) = asks.surely {
            return rule.decision();
        }
        let grants = self.first(Effect::Grant, principal, arguments);
        let granted = grants.surely.map_or_else(|| self.default(names), CompiledRule::decision);
        let surely = self.confirmed(granted, names, grants.surely_by_name);
        let mut best = surely.clone();
        if let Some(rule) = grants.perhaps {
            // By name if that is how any of them may grant it.
            let is_by_name = grants.surely_by_name || grants.perhaps_by_name;
            let perhaps = self.confirmed(rule.decision(), names, is_by_name);
            let depends = perhaps.effect != surely.effect;
            best = best.or_better(perhaps);
            best.depends_on_arguments |= depends;
        }
        if let Some(rule) = asks.perhaps {
            let depends = best.effect != Effect::Approve || surely.effect != Effect::Approve;
            best = best.or_better(rule.decision());
            best.depends_on_arguments |= depends;
        }
        best
    }

    fn default(&self, names: &RuleNames) -> Decision {
        let decision = match (self.facts.exposed_when_granted, self.facts.is_of_runtime) {
            (true, _) => &names.not_exposed,
            (false, true) => &names.runtime,
            (false, false) => &names.default,
        };
        decision.clone()
    }

    /// Turns the grant of a dangerous tool into a question, unless the rule names that tool.
    fn confirmed(&self, decision: Decision, names: &RuleNames, is_by_name: bool) -> Decision {
        if decision.effect != Effect::Grant || is_by_name {
            decision
        } else if self.facts.confirmation_required {
            names.confirmation.clone()
        } else if self.facts.risk == Risk::High {
            names.high_risk.clone()
        } else {
            decision
        }
    }

    fn first(&self, effect: Effect, principal: Principal<'_>, arguments: KnownArguments<'_>) -> First<'_> {
        let mut first = First::default();
        for rule in self.rules.iter().filter(|rule| rule.effect == effect) {
            match rule.fit(principal, arguments) {
                Fit::No => {}
                Fit::Yes => {
                    first.surely = first.surely.or(Some(rule));
                    // The first grant that fits may be a wider one, and a narrower one stand behind it.
                    first.surely_by_name |= rule.is_by_name;
                    if effect != Effect::Grant {
                        break;
                    }
                }
                Fit::Perhaps => {
                    first.perhaps = first.perhaps.or(Some(rule));
                    first.perhaps_by_name |= rule.is_by_name;
                }
            }
        }
        first
    }
}

/// The first rules with one effect that speak of a call.
#[derive(Default)]
struct First<'a> {
    surely: Option<&'a CompiledRule>,
    surely_by_name: bool,
    /// The first that does for some arguments.
    perhaps: Option<&'a CompiledRule>,
    perhaps_by_name: bool,
}

impl CompiledRule {
    fn decision(&self) -> Decision {
        Decision { arguments: self.arguments.clone(), ..Decision::new(self.effect, &self.place) }
    }
}
