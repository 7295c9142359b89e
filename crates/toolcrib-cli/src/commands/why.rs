//! `toolcrib why`.

use serde_json::json;
use toolcrib_app::Extensions;
use toolcrib_model::ToolError;
use toolcrib_policy::{Call, Decision, Policy, Principal, Verdict};
use toolcrib_registry::Entry;

use super::call;
use crate::app_start::look;
use crate::arguments::{SESSION, Why};
use crate::exit::{Exit, Failure};
use crate::{decision_display, ui::output};

pub(crate) async fn run(arguments: &Why, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let given = arguments.arguments.as_deref().map(call::read).transpose()?;
    let runtime = look(&arguments.app, extensions).await?;
    let (snapshot, policy) = (runtime.snapshot(), runtime.executor().policy().clone());
    let rules = runtime.app().config.tools.capabilities.clone();
    let rejected = snapshot.rejected().to_vec();
    runtime.close().await;
    // The operator is told of tools that agents are not told of, too.
    let overloads = snapshot.find(&arguments.name, |_| true).map_err(|error| {
        output::rejects(&rejected);
        ToolError::from(&error)
    })?;
    let principal = Principal::new(arguments.session.as_deref().unwrap_or(SESSION));
    let principal = match &arguments.agent {
        Some(agent) => principal.with_agent(agent),
        None => principal,
    };
    let decided: Vec<(&Entry, Decision)> = overloads
        .iter()
        .map(|entry| (entry.as_ref(), decide(&policy, entry, principal, given.as_ref())))
        .collect();
    if json {
        let row = |(entry, decision): &(&Entry, Decision)| {
            json!({
                "tool": entry.tool.name.dotted(),
                "source": entry.source.as_ref(),
                "risk": entry.tool.traits().risk,
                "policy": decision_display::to_json(decision, &rules),
                "reason": decision_display::reason(decision),
                "matched": decision_display::rule(decision, &rules),
            })
        };
        output::json(&json!({"decisions": decided.iter().map(row).collect::<Vec<_>>()}));
        return Ok(Exit::Ok);
    }
    for (entry, decision) in &decided {
        let words = decision_display::in_words(decision, &rules);
        output::say(&format!("{}: {words}", entry.tool.name.dotted()));
        output::say(&format!("  decided by: {}", decision.rule));
        if let Some(rule) = decision_display::rule(decision, &rules) {
            output::say(&format!("  which is: {}", serde_json::to_string(rule).unwrap_or_default()));
        }
        output::say(&format!("  because: {}", decision_display::reason(decision)));
        output::say(&format!("  risk: {}   source: {}", entry.tool.traits().risk, entry.source));
    }
    Ok(Exit::Ok)
}

/// Returns what happens to calls of a tool: to the one with these arguments, or to any.
fn decide(
    policy: &Policy,
    entry: &Entry,
    principal: Principal<'_>,
    arguments: Option<&toolcrib_model::JsonObject>,
) -> Decision {
    let Some(arguments) = arguments else { return policy.decide(&entry.tool, principal) };
    let mut call = Call::new(entry.tool.clone(), entry.source.clone(), 0);
    call.arguments.clone_from(arguments);
    match policy.authorize(call, principal) {
        Verdict::Granted(call) => call.decision().clone(),
        Verdict::Ask(pending) => pending.decision().clone(),
        Verdict::Denied(decision) => decision,
    }
}
