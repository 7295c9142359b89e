//! `toolcrib plan`.

use super::look;
use super::run::SESSION;
use crate::arguments::Plan;
use crate::exit::{Exit, Failure};
use crate::output;

pub(crate) async fn run(arguments: &Plan, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app).await?;
    let setup = runtime.agent_in(arguments.agent.as_deref(), SESSION);
    output::rejects(runtime.snapshot().rejected());
    runtime.close().await;
    let setup = setup?;
    let plan = &setup.plan;
    if json {
        output::json(&plan.to_json(&setup.system_prompt));
        return Ok(Exit::Ok);
    }
    let (tools, domains) = (plan.tool_count, plan.domains.len());
    output::say(&format!("mode: {}   tools: {tools}   domains: {domains}", plan.mode));
    output::say(&format!("budget: {} of {} tokens", plan.budget_tokens, plan.context_window));
    output::say(&format!(
        "tokens: direct {}, compact {}, chosen {}",
        plan.tokens.direct, plan.tokens.compact, plan.tokens.chosen
    ));
    let rows: Vec<[String; 3]> = plan
        .offered
        .iter()
        .map(|tool| [tool.wire_name.clone(), tool.name.dotted(), tool.tokens().to_string()])
        .collect();
    output::table(&["wire name", "tool", "tokens"], &rows);
    output::say(&format!("\nsystem prompt:\n{}", setup.system_prompt));
    Ok(Exit::Ok)
}
