//! Gate, validation, and routing of a tool in the same process.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_exec::{DenyAll, Executor};
use toolcrib_model::{QualifiedName, Tool, ToolCall};
use toolcrib_policy::{Call, Capabilities, Policy, Verdict};
use toolcrib_port::{CallContext, ToolEngine, ToolLoader};
use toolcrib_registry::ToolRegistry;
use toolcrib_sdk::{FunctionTool, Module};

const CALLS: usize = 20_000;
const ROUNDS: usize = 10;

const BOUND: Duration = Duration::from_micros(5);
const BOUND_TO_BARE: f64 = 1.2;

/// What the tool takes.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is read, and nothing is done with it")]
struct Arguments {
    query: String,
    language: String,
    limit: u64,
    offset: u64,
    exact: bool,
    score: f64,
    tags: Vec<String>,
    since: String,
    order: String,
    owner: Owner,
}

#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is read, and nothing is done with it")]
struct Owner {
    id: u64,
    name: String,
}

/// A module with one tool, which reads its arguments and returns at once.
fn module() -> Module {
    let work = |_: Arguments, _: CallContext| async { Ok(true) };
    Module::new("bench", "Nothing.").with_tool(FunctionTool::new("work", "Does nothing.", work))
}

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title("gate, validate and route of a tool in the same process, ten properties");
    let schema = schema();
    let tool = Tool::new(QualifiedName::new("bench", "work")?).with_parameters(schema.clone());
    let engine = Arc::new(module());
    let registry = Arc::new(ToolRegistry::from_tools(engine.source(), [tool.clone()])?);
    let capabilities: Capabilities = serde_json::from_value(json!({
        "default_policy": "deny",
        "grant": [{"module": "other"}, {"module": "bench", "actions": ["work"]}],
        "approve": [{"module": "mail", "actions": ["send*"]}],
        "deny": [{"module": "shell"}, {"module": "bench", "actions": ["drop*", "delete*"]}],
    }))?;
    let policy = Arc::new(Policy::new(&capabilities, [])?);
    let executor = Executor::new(registry, Arc::clone(&policy), Arc::new(DenyAll));
    let executor = Arc::new(executor.with_engine(engine.source(), engine.clone()));
    let context = CallContext::new("bench");

    let validator = jsonschema::options().offline().build(&schema)?;
    let mut call = Call::new(Arc::new(tool), engine.source().into(), 1);
    call.arguments = arguments().as_object().cloned().unwrap_or_default();
    let Verdict::Granted(authorized) = policy.authorize(call, context.principal()) else {
        return Err("the call is not granted".into());
    };

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut whole, mut bare) = (Timings::default(), Timings::default());
    // Alternate, so that disturbances affect both.
    for round in 0..=ROUNDS {
        runtime.block_on(async {
            for _ in 0..CALLS {
                let call = ToolCall::new("bench::work", authorized.arguments.clone());
                let start = Instant::now();
                let result = black_box(executor.call(call, &context).await);
                drop(result);
                let taken = start.elapsed();
                if round > 0 {
                    whole.add(taken);
                }
            }
            for _ in 0..CALLS {
                let value = Value::Object(authorized.arguments.clone());
                let start = Instant::now();
                let result =
                    black_box((validator.is_valid(&value), engine.invoke(&authorized, &context).await));
                // A call consumes its arguments.
                drop((result, value));
                let taken = start.elapsed();
                if round > 0 {
                    bare.add(taken);
                }
            }
        });
    }
    Row::new("the whole way, p50", whole.median()).at_most(BOUND).print();
    Row::new("the whole way against the bare check and call, p50", whole.median())
        .at_most_times(BOUND_TO_BARE, bare.median())
        .print();
    Row::new("the whole way, p99", whole.percentile(99.0)).print();
    Row::new("the bare check and call, p99", bare.percentile(99.0)).print();
    Ok(())
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 500},
            "language": {"type": "string", "enum": ["en", "de", "fr", "zh"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "offset": {"type": "integer", "minimum": 0},
            "exact": {"type": "boolean"},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 20},
            "since": {"type": "string", "pattern": "^\\d{4}-\\d{2}-\\d{2}$"},
            "order": {"type": "string", "enum": ["asc", "desc"]},
            "owner": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                "required": ["id"],
            },
        },
        "required": ["query", "limit"],
        "additionalProperties": false,
    })
}

fn arguments() -> Value {
    json!({
        "query": "invoices of last month",
        "language": "en",
        "limit": 20,
        "offset": 0,
        "exact": false,
        "score": 0.5,
        "tags": ["finance", "open"],
        "since": "2026-01-31",
        "order": "desc",
        "owner": {"id": 7, "name": "Ada"},
    })
}
