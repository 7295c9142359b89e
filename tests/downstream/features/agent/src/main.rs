//! The agent loop with a recorded model and a custom caller of tools.

use std::error::Error;

use async_trait::async_trait;
use serde_json::json;
use toolcrib::agent::recorded::RecordedModel;
use toolcrib::agent::{Agent, AgentSettings, Conversation};
use toolcrib::model::{QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib::port::{CallContext, ToolCaller};
use toolcrib::prompt::system_prompt::CallStyle;
use toolcrib::prompt::{InjectionSettings, Plan, WireNames};

const RECORDING: &[u8] =
    b"turns: [{calls: [{name: hello__greet, arguments: {name: Ada}}]}, {text: I greeted her.}]";

struct Greeter;

#[async_trait]
impl ToolCaller for Greeter {
    async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
        ToolResult::ok(call.call_id, call.name, json!(format!("Hello, {}!", call.arguments["name"])))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let tools = [Tool::new(QualifiedName::new("hello", "greet")?)];
    let names = WireNames::new(&tools, "context_builder", &[]);
    let plan = Plan::new(&tools, &InjectionSettings::default(), &names)?;
    let agent = Agent::new(AgentSettings::new("assistant", "recorded", &plan, names));
    let model = RecordedModel::new("greet.yaml", RECORDING, CallStyle::Native)?;
    let (mut conversation, context) = (Conversation::new(), CallContext::new("session"));
    let report = agent.run("Greet Ada.", &mut conversation, &model, &Greeter, &context, &mut ()).await;
    assert_eq!(report.text, "I greeted her.");
    Ok(())
}
