//! What a model pays for what it wants to know of large results.

#![expect(clippy::cast_precision_loss, reason = "the numbers are small")]

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::{Blueprint, EntryContext, Extensions};
use toolcrib_exec::DenyAll;
use toolcrib_model::ToolCall;
use toolcrib_modules::NoConfig;
use toolcrib_port::CallContext;
use toolcrib_prompt::Tokenizer;
use toolcrib_results::PREVIEW_TOKENS;
use toolcrib_sdk::{Module, module};

use crate::Runtime;

/// The most tokens of the four tasks together, all that is written and read.
const MAX_TOKENS: u32 = 2_500;

struct Warehouse;

/// A warehouse with results of 0.3 to 1 MB.
#[module(id = "warehouse")]
impl Warehouse {
    /// Lists all items.
    #[tool(risk = "low")]
    fn inventory(&self) -> Value {
        let item = |at: usize| {
            json!({
                "sku": format!("SKU-{at:05}"), "name": format!("Part number {at} of the press"), "stock": (at * 7919) % 997,
                "price": (at % 400) as f64 / 4.0, "location": {"aisle": at % 40, "shelf": format!("S{}", at % 9)},
                "discontinued": at.is_multiple_of(31),
            })
        };
        json!({"generated": "2026-11-01T08:00:00Z", "items": (0..6_500).map(item).collect::<Vec<_>>()})
    }

    /// Lists the sales of a year.
    #[tool(risk = "low")]
    fn sales(&self) -> Value {
        let sale = |at: usize| {
            let (month, day) = (1 + at / 28 % 12, 1 + at % 28);
            json!({
                "date": format!("2025-{month:02}-{day:02}"), "sku": format!("SKU-{:05}", at % 16), "quantity": 1 + at % 5,
                "unit_price": 9.99 + (at % 16) as f64, "customer": format!("C-{}", at * 31 % 700),
            })
        };
        Value::from((0..5_376).map(sale).collect::<Vec<_>>())
    }

    /// Reads the log of the gates.
    #[tool(risk = "low")]
    fn log(&self) -> String {
        let mut log = String::new();
        for at in 0..14_000_usize {
            let event = if at.is_multiple_of(97) {
                "ERROR timeout waiting for the barrier"
            } else {
                "INFO barrier opened"
            };
            writeln!(
                log,
                "2026-11-{:02}T{:02}:{:02}:00Z gate={} {event}",
                1 + at / 1_440 % 28,
                at / 60 % 24,
                at % 60,
                at % 7
            )
            .unwrap();
        }
        log
    }

    /// Exports the customers as CSV.
    #[tool(risk = "low")]
    fn customers(&self) -> String {
        let mut csv = "id,name,city,since,balance\n".to_owned();
        for at in 0..7_000 {
            writeln!(
                csv,
                "C-{at},\"Customer, number {at}\",City {},20{:02}-05-01,{}.50",
                at % 90,
                at % 26,
                at * 13 % 5_000
            )
            .unwrap();
        }
        csv
    }
}

/// Runs a call as a model makes it, and counts the tokens that it writes and reads.
async fn call(runtime: &Runtime, name: &str, arguments: Value, tokens: &mut u32) -> Value {
    *tokens += Tokenizer::O200k.count(&json!({"name": name, "arguments": arguments}).to_string());
    let call = ToolCall::new(name, arguments.as_object().cloned().unwrap());
    let result = runtime.executor().call(call, &CallContext::new("test")).await;
    assert_eq!(result.error, None);
    let text = result.result.as_str().map_or_else(|| result.result.to_string(), str::to_owned);
    let read = Tokenizer::O200k.count(&text);
    assert!(!result.metadata.contains_key("handle") || read <= PREVIEW_TOKENS, "{read} tokens: {text}");
    *tokens += read;
    let mut told = json!({"text": text, "value": result.result});
    told["handle"] = result.metadata.get("handle").cloned().unwrap_or_default();
    told
}

#[tokio::test]
async fn four_tasks_over_large_results_cost_little_and_figures_are_computed() {
    let extensions = Extensions::default()
        .with_module("warehouse", |_: NoConfig, _: &EntryContext<'_>| Ok(Module::from(Warehouse)));
    let app = "modules: {warehouse: {}}\ntools: {capabilities: {default_policy: grant}}\n";
    let app = Blueprint::from_text_with("app.yaml", app, extensions).unwrap();
    let runtime = Runtime::start(app, Arc::new(DenyAll)).await.unwrap();
    let mut tokens = 0;

    let told = call(&runtime, "warehouse.inventory", json!({}), &mut tokens).await;
    let ask = json!({"handle": told["handle"], "where": "stock < 2", "fields": ["sku", "stock"]});
    let found = call(&runtime, "read_result", ask, &mut tokens).await;
    let expected = (0..6_500).filter(|at| (at * 7919) % 997 < 2).count();
    assert_eq!(found["value"]["matches"], expected);
    assert_eq!(found["value"]["values"][0], json!({"sku": "SKU-00000", "stock": 0}));

    let told = call(&runtime, "warehouse.sales", json!({}), &mut tokens).await;
    let ask =
        json!({"handle": told["handle"], "where": "sku == 'SKU-00003'", "sum": "quantity * unit_price"});
    let found = call(&runtime, "read_result", ask, &mut tokens).await;
    let sold: usize = (0..5_376).filter(|at| at % 16 == 3).map(|at| 1 + at % 5).sum();
    let revenue = found["value"]["sum"].as_f64().unwrap();
    assert!((revenue - sold as f64 * 12.99).abs() < 1e-6, "{found}");

    let told = call(&runtime, "warehouse.log", json!({}), &mut tokens).await;
    let ask = json!({"handle": told["handle"], "grep": "gate=3 ERROR timeout", "count": true});
    let found = call(&runtime, "read_result", ask, &mut tokens).await;
    let expected = (0..14_000).filter(|at| at % 7 == 3 && at % 97 == 0).count();
    assert_eq!(found["value"], json!({"count": expected, "lines": 14_000}));

    let told = call(&runtime, "warehouse.customers", json!({}), &mut tokens).await;
    let ask = json!({"handle": told["handle"], "where": "id == 'C-4711'"});
    let found = call(&runtime, "read_result", ask, &mut tokens).await;
    let row = json!({"id": "C-4711", "name": "Customer, number 4711", "city": "City 31", "since": "2005-05-01", "balance": 1243.5});
    assert_eq!(found["value"], json!({"matches": 1, "values": [row]}));

    assert!(tokens <= MAX_TOKENS, "{tokens} tokens");
    runtime.close().await;
}
