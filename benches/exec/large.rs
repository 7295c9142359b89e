//! A result of 100 MB.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use toolcrib_bench::memory::peak_of;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;

const MEGABYTE: usize = 1_000_000;
const SIZE: usize = 100 * MEGABYTE;
const BOUND: u64 = 150 * MEGABYTE as u64;

/// Returns lines of text.
struct Flood;

#[async_trait]
impl ToolEngine for Flood {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        const LINE: &str = "a line of a log that nobody wants to read as a whole\n";
        let mut text = String::with_capacity(SIZE + LINE.len());
        while text.len() < SIZE {
            text.push_str(LINE);
        }
        call.ok(text)
    }
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("a result of 100 MB");
    let registry = ToolRegistry::from_tools("bench", [Tool::new(QualifiedName::new("bench", "flood")?)])?;
    let policy = Policy::new(&serde_json::from_value(json!({"default_policy": "grant"}))?, [])?;
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("bench", Arc::new(Flood)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let context = CallContext::new("bench").with_agent("assistant");
    let call = ToolCall::new("bench.flood", JsonObject::default());
    let (result, peak) = peak_of(|| runtime.block_on(executor.call(call, &context)));
    if let Some(error) = result.error {
        return Err(error.into());
    }
    match peak {
        Some(peak) => Row::new("peak memory, the result itself included", Figure::Bytes(peak))
            .at_most(Figure::Bytes(BOUND))
            .print(),
        None => return Err("this system does not tell the peak of a process".into()),
    }
    Ok(())
}
