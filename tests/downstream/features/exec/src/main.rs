//! A custom source behind the gate: a loader, an engine, and the executor in front of them.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolcrib::exec::{DenyAll, Executor};
use toolcrib::model::{ErrorKind, LoadOutcome, QualifiedName, Risk, Tool, ToolCall, ToolResult};
use toolcrib::policy::{Authorized, Call, Capabilities, Policy};
use toolcrib::port::{CallContext, ToolEngine, ToolLoader};
use toolcrib::registry::ToolRegistry;

struct Clock;

#[async_trait]
impl ToolLoader for Clock {
    fn source(&self) -> &str {
        "clock"
    }

    async fn load(&self) -> LoadOutcome {
        let mut loaded = LoadOutcome::default();
        let name = QualifiedName::new("clock", "now").expect("a valid name");
        loaded.tools.push(Tool::new(name).with_description("Tells the time.").with_risk(Risk::Low));
        loaded
    }
}

#[async_trait]
impl ToolEngine for Clock {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        call.ok(json!("noon"))
    }
}

async fn call(policy: Value) -> Result<ToolResult, Box<dyn Error>> {
    let (clock, rules) = (Arc::new(Clock), serde_json::from_value::<Capabilities>(policy)?);
    let registry = ToolRegistry::from_loaders([Arc::clone(&clock) as Arc<dyn ToolLoader>]).await;
    let executor = Executor::new(Arc::new(registry), Arc::new(Policy::new(&rules, [])?), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("clock", clock));
    Ok(executor.call(ToolCall::new("clock.now", Default::default()), &CallContext::new("session")).await)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    assert_eq!(call(json!({"default_policy": "grant"})).await?.result, "noon");
    let denied = call(json!({"default_policy": "deny"})).await?.error.ok_or("it ran")?;
    assert_eq!(denied.kind, ErrorKind::Denied);
    Ok(())
}
