//! A tool that `#[module]` makes from a method, compared with the method.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_port::ToolEngine as _;
use toolcrib_sdk::{CallContext, Module, ToolError, module};

use crate::call::{authorized, context};

const CALLS: usize = 20_000;
const ROUNDS: usize = 10;

/// The maximum overhead of a call of the tool over a call of the method.
const BOUND: Duration = Duration::from_micros(2);

/// How reports are sorted.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    Newest,
    Oldest,
}

/// One page of reports.
#[derive(Serialize, JsonSchema)]
struct Page {
    title: String,
    first: u64,
    last: u64,
    is_reversed: bool,
}

#[derive(Clone)]
struct Reports;

/// Lists reports.
#[module(id = "reports")]
impl Reports {
    /// Tells which reports are on a page.
    #[tool(risk = "low", idempotent)]
    async fn page(
        &self,
        context: &CallContext,
        /// Whose reports.
        owner: String,
        /// The first of them.
        offset: u64,
        /// How many.
        limit: u64,
        /// What their titles contain.
        title: Option<String>,
        /// How they are sorted.
        order: Order,
    ) -> Result<Page, ToolError> {
        context.cancel.is_cancelled();
        Ok(Page {
            title: title.unwrap_or(owner),
            first: offset,
            last: offset + limit,
            is_reversed: matches!(order, Order::Oldest),
        })
    }
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("a tool that is made of a method with five arguments");
    let module = Module::from(Reports);
    let (reports, context) = (Arc::new(Reports), context());
    let arguments = json!({
        "owner": "Ada Lovelace", "offset": 40, "limit": 20, "title": "invoices of last month", "order": "oldest",
    });
    let call = authorized(&module, "page", &arguments)?;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut tool, mut method) = (Timings::default(), Timings::default());
    // Alternate, so that disturbances affect both.
    for round in 0..=ROUNDS {
        runtime.block_on(async {
            for _ in 0..CALLS {
                let start = Instant::now();
                let result = black_box(module.invoke(black_box(&call), &context).await);
                drop(result);
                let taken = start.elapsed();
                if round > 0 {
                    tool.add(taken);
                }
            }
            for _ in 0..CALLS {
                let (owner, title) =
                    (black_box("Ada Lovelace").to_owned(), black_box("invoices of last month").to_owned());
                let start = Instant::now();
                let page = reports.page(&context, owner, 40, 20, Some(title), Order::Oldest).await;
                drop(black_box(page));
                let taken = start.elapsed();
                if round > 0 {
                    method.add(taken);
                }
            }
        });
    }
    let result = runtime.block_on(module.invoke(&call, &context)).result;
    if result != json!({"title": "invoices of last month", "first": 40, "last": 60, "is_reversed": true}) {
        return Err(format!("the tool gives something else than the method: {result}").into());
    }
    Row::new("the method, p50", method.median()).print();
    Row::new("the tool, p50", tool.median()).print();
    Row::new("what the tool takes more, p50", tool.median().saturating_sub(method.median()))
        .at_most(BOUND)
        .print();
    Row::new("the tool, p99", tool.percentile(99.0)).print();
    Ok(())
}
