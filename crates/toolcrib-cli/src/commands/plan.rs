//! `toolcrib plan`.

use std::sync::Arc;

use toolcrib_app::sections::serve::SurfaceMode;
use toolcrib_app::{AgentSetup, Extensions};
use toolcrib_server::{ListCost, Server, ServerSettings};

use super::run::SESSION;
use crate::app_start::look;
use crate::arguments::Plan;
use crate::exit::{Exit, Failure};
use crate::ui::output;

pub(crate) async fn run(arguments: &Plan, extensions: &Extensions, json: bool) -> Result<Exit, Failure> {
    let runtime = look(&arguments.app, extensions).await?;
    if arguments.serve {
        let runtime = Arc::new(runtime);
        let mut settings = ServerSettings::default();
        settings.surface = arguments.surface.map(SurfaceMode::from);
        let cost = Server::new(Arc::clone(&runtime), settings).and_then(|server| server.list_cost());
        output::rejects(runtime.snapshot().rejected());
        runtime.close().await;
        served(&cost.map_err(|error| Failure::new(Exit::BadInput, error.to_string()))?, json);
        return Ok(Exit::Ok);
    }
    runtime.ask_server_profiles().await;
    let setup = runtime.agent_in(arguments.agent.as_deref(), SESSION);
    output::rejects(runtime.snapshot().rejected());
    runtime.close().await;
    let setup = setup?;
    for warning in setup.warnings() {
        output::tell(&format!("warning: {warning}"));
    }
    let plan = &setup.plan;
    if json {
        output::json(&plan.to_json(&setup.system_prompt));
        return Ok(Exit::Ok);
    }
    print(&setup);
    output::say(&format!("\nsystem prompt:\n{}", setup.system_prompt.text));
    Ok(Exit::Ok)
}

/// Prints the plan of an agent, without the system prompt.
pub(super) fn print(setup: &AgentSetup) {
    let plan = &setup.plan;
    let (tools, domains) = (plan.tool_count, plan.domains.len());
    output::say(&format!("mode: {}   tools: {tools}   domains: {domains}", plan.mode));
    output::say(&format!(
        "budget: {} of {} tokens, counted by {}",
        plan.budget_tokens, plan.context_window, plan.tokenizer
    ));
    let tokens = plan.tokens();
    let deferring = [("discovery", tokens.discovery), ("native", tokens.native)];
    let deferring = deferring.into_iter().filter_map(|(mode, tokens)| Some(format!("{mode} {}, ", tokens?)));
    output::say(&format!(
        "tokens: direct {}, compact {}, {}chosen {}",
        tokens.direct,
        tokens.compact,
        deferring.collect::<String>(),
        tokens.chosen
    ));
    let parts = plan.parts(&setup.system_prompt).into_iter();
    let parts: Vec<_> = parts.map(|(part, tokens)| format!("{part} {tokens}")).collect();
    output::say(&format!("parts: {}", parts.join(", ")));
    let rows: Vec<[String; 3]> = plan
        .offered
        .iter()
        .map(|tool| {
            let tokens = tool.tokens(plan.style, plan.tokenizer).to_string();
            [tool.wire_name.clone(), tool.name.dotted(), tokens]
        })
        .collect();
    output::table(&["wire name", "tool", "tokens"], &rows);
}

/// Prints the cost of the tools that a client of the server is listed.
fn served(cost: &ListCost, json: bool) {
    if json {
        output::json(cost);
        return;
    }
    let (listed, all) = (cost.tools.len(), cost.direct_tools);
    output::say(&format!("mode: {}   listed: {listed}   all: {all}", cost.mode));
    output::say(&format!(
        "tokens of tools/list: {}, of all tools: {}, saved: {:.1} %, counted by {}",
        cost.tokens,
        cost.direct_tokens,
        cost.saved_percent(),
        cost.tokenizer
    ));
    let rows: Vec<[String; 2]> =
        cost.tools.iter().map(|tool| [tool.name.clone(), tool.tokens.to_string()]).collect();
    output::table(&["wire name", "tokens"], &rows);
}
