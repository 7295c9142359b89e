//! `toolcrib why`.

mod approval;

use serde_json::{Value, json};
use toolcrib_app::Extensions;
use toolcrib_app::sections::capabilities;
use toolcrib_app::sections::serve::sessions_of;
use toolcrib_model::ToolError;
use toolcrib_policy::{Decision, Effect, Principal, RuleMatch};
use toolcrib_registry::Entry;

use self::approval::NeededApproval;
use super::call;
use crate::app_start::look;
use crate::arguments::{SESSION, Why};
use crate::exit::{Exit, Failure};
use crate::{decision_display, ui::output};

pub(crate) async fn run(arguments: &Why, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let given = arguments.arguments.as_deref().map(call::read).transpose()?;
    let runtime = look(&arguments.app, extensions).await?;
    let (snapshot, executor) = (runtime.snapshot(), runtime.executor());
    let (policy, rules) = (executor.policy(), &runtime.app().config.tools.capabilities);
    runtime.close().await;
    // The operator is told of tools that agents are not told of, too.
    let overloads = snapshot.find(&arguments.name, |_| true).map_err(|error| {
        output::rejects(snapshot.rejected());
        ToolError::from(&error)
    })?;
    let session = session(arguments.session.as_deref(), arguments.token.as_deref());
    let principal = principal(&session, arguments.agent.as_deref());
    let decided: Vec<(&Entry, Decision, Vec<RuleMatch>)> = overloads
        .iter()
        .map(|entry| {
            let matches = policy.matches(&entry.tool, principal, given.as_ref());
            (
                entry.as_ref(),
                policy.decide_call(&entry.tool, &entry.source, principal, given.as_ref()),
                matches,
            )
        })
        .collect();
    let approval = |entry: &Entry, decision: &Decision, matches: &[RuleMatch]| {
        let needed = || NeededApproval::new(runtime.app(), policy, &entry.tool, &session);
        may_ask(decision, matches).then(needed)
    };
    if json {
        let row = |(entry, decision, matches): &(&Entry, Decision, Vec<RuleMatch>)| {
            json!({
                "tool": entry.tool.name.dotted(),
                "source": entry.source.as_ref(),
                "risk": entry.tool.traits().risk,
                "policy": decision_display::to_json(decision, rules),
                "reason": capabilities::reason(decision),
                "matched": decision_display::rule(decision, rules),
                "considered": matches.iter().map(considered).collect::<Vec<_>>(),
                "hooks": executor.hooks_of(&entry.tool).collect::<Vec<_>>(),
                "to_change": decision_display::to_change(decision, matches, &entry.tool.name),
                "approval": approval(entry, decision, matches).map(|needed| needed.to_json()),
            })
        };
        output::json(&json!({"decisions": decided.iter().map(row).collect::<Vec<_>>()}));
        return Ok(Exit::Ok);
    }
    for (entry, decision, matches) in &decided {
        let words = decision_display::in_words(decision, rules);
        output::say(&format!("{}: {words}", entry.tool.name.dotted()));
        output::say(&format!("  decided by: {}", decision.rule));
        if let Some(rule) = decision_display::rule(decision, rules) {
            output::say(&format!("  which is: {}", serde_json::to_string(rule).unwrap_or_default()));
        }
        output::say(&format!("  because: {}", capabilities::reason(decision)));
        output::say(&format!("  risk: {}   source: {}", entry.tool.traits().risk, entry.source));
        output::say("  all that matches, in this order:");
        for one in matches {
            let effect = one.decision.effect.as_str();
            let certainty = if one.is_certain { "" } else { "   (for some arguments)" };
            output::say(&format!("    {effect:<8} {}{certainty}", one.decision.rule));
        }
        let hooks: Vec<&str> = executor.hooks_of(&entry.tool).collect();
        if !hooks.is_empty() {
            output::say(&format!("  then checked by the hooks: {}", hooks.join(", ")));
        }
        let change = decision_display::to_change(decision, matches, &entry.tool.name);
        output::say(&format!("  to change it: {change}"));
        if let Some(needed) = approval(entry, decision, matches) {
            needed.say();
        }
    }
    Ok(Exit::Ok)
}

/// Returns true if a person may be asked about the call: by the decision, or by a rule for some arguments.
fn may_ask(decision: &Decision, matches: &[RuleMatch]) -> bool {
    let asks = |one: &RuleMatch| one.decision.effect == Effect::Approve;
    decision.effect == Effect::Approve
        || decision.effect == Effect::Grant && decision.depends_on_arguments && matches.iter().any(asks)
}

fn considered(one: &RuleMatch) -> Value {
    json!({"rule": one.decision.rule.as_ref(), "effect": one.decision.effect, "is_certain": one.is_certain})
}

/// Returns the session of a call: that of a client if a token is named, else the given one, else the command line's.
pub(super) fn session(session: Option<&str>, token: Option<&str>) -> String {
    match (session, token) {
        (None, Some(token)) => format!("{}why", sessions_of(token)),
        (session, _) => session.unwrap_or(SESSION).to_owned(),
    }
}

/// Returns the caller in a session: the agent if one is named, else a person.
pub(super) fn principal<'a>(session: &'a str, agent: Option<&'a str>) -> Principal<'a> {
    let principal = Principal::new(session);
    match agent {
        Some(agent) => principal.with_agent(agent),
        None => principal,
    }
}
