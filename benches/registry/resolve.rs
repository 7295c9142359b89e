//! Resolution of a call to its tool.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_bench::catalogue;
use toolcrib_bench::report::{Row, title};
use toolcrib_bench::timings::{Timings, per_item};
use toolcrib_model::{QualifiedName, Tool, ToolCall};
use toolcrib_registry::{Snapshot, ToolRegistry};

const NAMES: usize = 1_000;
const OVERLOADS: usize = 5;
const ROUNDS: usize = 200;

const BOUND_OF_ONE: Duration = Duration::from_micros(1);
const BOUND_OF_OVERLOADS: Duration = Duration::from_micros(20);

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    title(&format!("resolve, over {NAMES} names in turn, arguments of ten properties"));
    for (overloads, bound) in [(1, BOUND_OF_ONE), (OVERLOADS, BOUND_OF_OVERLOADS)] {
        let snapshot = ToolRegistry::from_tools("bench", tools(overloads)?)?.snapshot();
        let calls: Vec<ToolCall> =
            snapshot.tool_names().map(|name| call(name, last_schema(&snapshot, name))).collect();
        for call in &calls {
            snapshot.resolve(call, |_| true)?;
        }
        let taken = per_item(ROUNDS, &calls, |call| {
            let _ = black_box(snapshot.resolve(call, |_| true));
        });
        Row::new(format!("overloads of each name: {overloads}"), taken).at_most(bound).print();
    }
    first_calls()
}

/// Measures the first call of a tool whose schema is compiled on demand, and later calls.
fn first_calls() -> Result<(), Box<dyn Error>> {
    let snapshot = ToolRegistry::from_tools("bench", tools(1)?)?.snapshot();
    let calls: Vec<ToolCall> =
        snapshot.tool_names().map(|name| call(name, last_schema(&snapshot, name))).collect();
    for what in ["the first call of a tool: resolve, compile, check, p50", "and each after it"] {
        let mut timings = Timings::default();
        for call in &calls {
            let arguments = call.arguments.clone();
            let overloads = snapshot.find(&call.name, |_| true)?;
            timings.time(|| overloads.repair(arguments).is_ok());
        }
        Row::new(what, timings.median()).print();
    }
    Ok(())
}

/// Returns the schema of the overload that is tried last.
fn last_schema<'a>(snapshot: &'a Snapshot, name: &QualifiedName) -> Option<&'a Value> {
    snapshot.get(name)?.iter().last().map(|entry| entry.tool.parameters.root())
}

fn tools(overloads: usize) -> Result<Vec<Tool>, Box<dyn Error>> {
    let mut tools = Vec::new();
    for number in 0..NAMES {
        let name = QualifiedName::new(format!("service_{}", number % 20), format!("get_report_{number}"))?;
        for overload in 0..overloads {
            let schema = catalogue::schema(number * OVERLOADS + overload, 10);
            tools.push(Tool::new(name.clone()).with_parameters(schema));
        }
    }
    Ok(tools)
}

/// Returns a call with a value for each property of the schema.
fn call(name: &QualifiedName, schema: Option<&Value>) -> ToolCall {
    let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
    let arguments = properties.into_iter().flatten().map(|(name, schema)| (name.clone(), value(schema)));
    ToolCall::new(name.to_string(), arguments.collect())
}

fn value(schema: &Value) -> Value {
    if schema.get("enum").is_some() {
        return json!("id");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("integer") => json!(7),
        Some("number") => json!(0.5),
        Some("boolean") => json!(true),
        Some("array") => json!(["one", "two"]),
        Some("object") => {
            let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            members.map(|(name, schema)| (name.clone(), value(schema))).collect()
        }
        _ => json!("some-text"),
    }
}
