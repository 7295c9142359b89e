//! A desk whose tools come from Rust, and pass the gate.

use std::error::Error;
use std::sync::Arc;

use serde_json::Value;
use toolcrib::exec::{DenyAll, Executor};
use toolcrib::model::{ToolCall, ToolResult};
use toolcrib::policy::{Capabilities, Policy};
use toolcrib::port::{CallContext, ToolLoader};
use toolcrib::registry::ToolRegistry;
use toolcrib::sdk::{Module, module};

struct Desk;

/// Answers at the shipping desk.
#[module(id = "desk", crate = "toolcrib::sdk")]
impl Desk {
    /// Returns the price of a parcel, in cents.
    #[tool(risk = "low")]
    fn quote(&self, kilograms: u32) -> u32 {
        450 + 120 * kilograms
    }
}

/// Returns an executor of the desk with these rules.
pub async fn desk(rules: Value) -> Result<Arc<Executor>, Box<dyn Error>> {
    let desk = Arc::new(Module::from(Desk));
    let registry = ToolRegistry::from_loaders([Arc::clone(&desk) as Arc<dyn ToolLoader>]).await;
    let rules: Capabilities = serde_json::from_value(rules)?;
    let policy = Policy::new(&rules, [])?;
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    Ok(Arc::new(executor.with_engine(desk.source(), desk.clone())))
}

/// Makes one call.
pub async fn call(executor: &Arc<Executor>, name: &str, arguments: Value) -> ToolResult {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    executor.call(ToolCall::new(name, arguments), &CallContext::new("session")).await
}
