//! Many concurrent calls, one of which never ends.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::json;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{JsonObject, QualifiedName, Tool, ToolCall, ToolResult};
use toolcrib_policy::{Authorized, Call, Policy};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_registry::ToolRegistry;

const CALLS: usize = 10_000;
const ROUNDS: usize = 5;
const BOUND: f64 = 2.0;

/// An engine that hangs on request, and otherwise yields once, as a call of another tool does.
struct Sometimes;

#[async_trait]
impl ToolEngine for Sometimes {
    async fn invoke(&self, call: &Authorized<Call>, _context: &CallContext) -> ToolResult {
        if call.tool.name.name() == "hang" {
            std::future::pending::<()>().await;
        }
        tokio::task::yield_now().await;
        call.ok(true)
    }
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("{CALLS} calls at once, with and without one that hangs"));
    let tool = |name: &str| Ok::<_, Box<dyn Error>>(Tool::new(QualifiedName::new("bench", name)?));
    let registry = ToolRegistry::from_tools("bench", [tool("work")?, tool("hang")?])?;
    let policy = Policy::new(&serde_json::from_value(json!({"default_policy": "grant"}))?, [])?;
    let executor = Executor::new(Arc::new(registry), Arc::new(policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine("bench", Arc::new(Sometimes)));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let (mut with, mut without) = (Timings::default(), Timings::default());
    for round in 0..=ROUNDS {
        for (timings, hangs) in [(&mut without, false), (&mut with, true)] {
            let measured = runtime.block_on(burst(&executor, hangs))?;
            if round > 0 {
                timings.merge(&measured);
            }
        }
    }
    let (with, without) = (with.percentile(99.0), without.percentile(99.0));
    Row::new("p99 of the others, beside one that hangs", with).at_most_times(BOUND, without).print();
    Ok(())
}

async fn burst(executor: &Arc<Executor>, hangs: bool) -> Result<Timings, Box<dyn Error>> {
    let context = CallContext::new("bench");
    let call = |name: &str| {
        let (executor, context, call) =
            (Arc::clone(executor), context.clone(), ToolCall::new(name, JsonObject::default()));
        tokio::spawn(async move {
            let start = Instant::now();
            let result = executor.call(call, &context).await;
            (start.elapsed(), result.error)
        })
    };
    let hanging = hangs.then(|| call("bench.hang"));
    let running: Vec<_> = (0..CALLS).map(|_| call("bench.work")).collect();
    let mut timings = Timings::default();
    for run in running {
        let (taken, error) = run.await?;
        if let Some(error) = error {
            return Err(error.into());
        }
        timings.add(taken);
    }
    if let Some(hanging) = hanging {
        hanging.abort();
    }
    Ok(timings)
}
