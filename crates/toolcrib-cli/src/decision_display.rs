//! A decision of the policy, as the operator reads it.

use serde_json::{Value, json};
use toolcrib_model::QualifiedName;
use toolcrib_policy::{Capabilities, Condition, Decision, Effect, Rule, RuleMatch};

use crate::app_start::app_word;

/// The most characters of a condition that are shown in a line.
const MAX_CONDITION_CHARS: usize = 40;

/// The beginning of the rule of a tool that an operator has disabled.
const OVERRIDE: &str = "override:";

/// Returns a decision in words, with what it depends on: `grant (if /argv/0 is "git")`.
pub(crate) fn in_words(decision: &Decision, rules: &Capabilities) -> String {
    if decision.rule.starts_with(OVERRIDE) {
        return "disabled (override)".to_owned();
    }
    let effect = decision.effect.as_str();
    if !decision.depends_on_arguments {
        return effect.to_owned();
    }
    let conditions = conditions(decision, rules);
    if conditions.is_empty() {
        return format!("{effect} (unless a rule matches the arguments)");
    }
    let words: Vec<String> = conditions.iter().map(condition_in_words).collect();
    format!("{effect} (if {})", words.join(" and "))
}

/// Returns a decision as one JSON object.
pub(crate) fn to_json(decision: &Decision, rules: &Capabilities) -> Value {
    json!({
        "effect": decision.effect,
        "rule": decision.rule.as_ref(),
        "depends_on_arguments": decision.depends_on_arguments,
        "conditions": conditions(decision, rules),
    })
}

/// Returns the rule of the app file that decides; `None` where something else does, such as the default.
pub(crate) fn rule<'a>(decision: &Decision, rules: &'a Capabilities) -> Option<&'a Rule> {
    let rest = decision.rule.strip_prefix("tools.capabilities.")?;
    let (list, position) = rest.strip_suffix(']')?.split_once('[')?;
    let list = match list {
        "deny" => &rules.deny,
        "approve" => &rules.approve,
        "grant" => &rules.grant,
        _ => return None,
    };
    list.get(position.parse::<usize>().ok()?)
}

/// Returns true if a rule under `tools.capabilities.grant` that names the tool decides instead of this one.
pub(crate) fn is_changed_by_grant(rule: &str) -> bool {
    const RULES: [&str; 5] = [
        "tools.capabilities.default_policy",
        "runtime",
        "exposed_when_granted",
        "confirmation_required",
        "high risk",
    ];
    RULES.contains(&rule)
}

/// Returns what would change a decision, as advice for the author of the app file.
pub(crate) fn to_change(decision: &Decision, matches: &[RuleMatch], tool: &QualifiedName) -> String {
    let rule = format!("{{module: {}, actions: [{}]}}", tool.namespace(), tool.name());
    let add = |list: &str| format!("add `{rule}` to `tools.capabilities.{list}`");
    match decision.rule.as_ref() {
        rule if is_changed_by_grant(rule) => match decision.effect {
            Effect::Grant => add("deny"),
            Effect::Approve | Effect::Deny => add("grant"),
        },
        "tools.capabilities.max_risk_level" => {
            "raise `tools.capabilities.max_risk_level`, or lower the risk of the tool at its source"
                .to_owned()
        }
        rule if rule.starts_with("tools.capabilities.") => without(rule, matches),
        rule if rule.starts_with("modules.") => format!("allow `{}` in `{rule}`", tool.name()),
        rule if rule.starts_with("agents") => "call it as an agent that it is reserved for".to_owned(),
        rule if rule.starts_with("serve.") => {
            format!("extend the `namespaces` or the `max_risk_level` of `{rule}` to `{}`", tool.namespace())
        }
        rule if rule.starts_with(OVERRIDE) => {
            format!("run `toolcrib enable {} {}`", app_word(), tool.dotted())
        }
        rule => format!("change `{rule}`"),
    }
}

/// Returns the outcome without the rule that decides.
fn without(rule: &str, matches: &[RuleMatch]) -> String {
    let others = matches.iter().filter(|one| one.decision.rule.as_ref() != rule);
    match others.into_iter().find(|one| one.is_certain) {
        Some(next) => format!(
            "remove or narrow {}; then {} decides: {}",
            in_backticks(rule),
            in_backticks(&next.decision.rule),
            next.decision.effect.as_str()
        ),
        None => format!("change {}", in_backticks(rule)),
    }
}

/// Returns the name of a rule in backticks. Those of the tool behind it, as in ``deny[0], for `crm.q2` ``, are its own.
fn in_backticks(rule: &str) -> String {
    match rule.split_once(", ") {
        Some((place, tool)) if tool.contains('`') => format!("`{place}`, {tool}"),
        _ => format!("`{rule}`"),
    }
}

fn conditions<'a>(decision: &Decision, rules: &'a Capabilities) -> &'a [Condition] {
    rule(decision, rules).and_then(|rule| rule.arguments.as_deref()).unwrap_or_default()
}

fn condition_in_words(condition: &Condition) -> String {
    let test = if let Some(value) = &condition.equals {
        format!("is {value}")
    } else if let Some(values) = &condition.one_of {
        format!("is one of {}", Value::Array(values.clone()))
    } else if let Some(pattern) = &condition.matches {
        format!("matches {}", Value::from(pattern.as_str()))
    } else {
        "is there".to_owned()
    };
    let text = format!("{} {test}", condition.path);
    if text.chars().count() <= MAX_CONDITION_CHARS {
        return text;
    }
    text.chars().take(MAX_CONDITION_CHARS - 1).chain(['…']).collect()
}
