//! The five meta-tools, and `run_parallel`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, Risk, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Call, RUNTIME_NAMESPACE};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use crate::Discovery;

/// How many tools a search shows when the model does not say.
const DEFAULT_RESULTS: u8 = 5;

/// How many tools a page has when the model does not say.
const DEFAULT_PAGE_SIZE: u8 = 20;

#[derive(Deserialize, JsonSchema)]
struct SearchTools {
    /// What the tool should do, in a few words, or its name.
    query: String,
    /// How many tools to show.
    #[serde(default = "default_results")]
    #[schemars(range(min = 1, max = 20))]
    max_results: u8,
}

fn default_results() -> u8 {
    DEFAULT_RESULTS
}

#[derive(Deserialize, JsonSchema)]
struct GetTool {
    /// The name of the tool, as `category.tool`.
    name: String,
}

#[derive(Deserialize, JsonSchema)]
struct ExecuteTool {
    /// The name of the tool, as `category.tool`.
    name: String,
    /// The arguments of the tool, by its own schema.
    #[serde(default)]
    params: JsonObject,
}

#[derive(Deserialize, JsonSchema)]
struct ListCategories {}

#[derive(Deserialize, JsonSchema)]
struct BrowseCategory {
    /// The category, as `list_categories` names it.
    category: String,
    /// Which page, from 1.
    #[serde(default = "first_page")]
    #[schemars(range(min = 1))]
    page: u32,
    /// How many tools on a page.
    #[serde(default = "default_page_size")]
    #[schemars(range(min = 1, max = 50))]
    page_size: u8,
}

fn first_page() -> u32 {
    1
}

fn default_page_size() -> u8 {
    DEFAULT_PAGE_SIZE
}

/// The most calls of one `run_parallel`.
const MAX_PARALLEL_CALLS: usize = 50;

#[derive(Deserialize, JsonSchema)]
struct RunParallel {
    /// The calls, each with the name of a tool and its arguments. None may be `run_parallel` itself.
    #[schemars(length(min = 1, max = MAX_PARALLEL_CALLS))]
    calls: Vec<ExecuteTool>,
}

/// The five meta-tools over what this discovery may show, and `run_parallel`.
pub fn module(discovery: Arc<Discovery>) -> Module {
    let search = Arc::clone(&discovery);
    let get = Arc::clone(&discovery);
    let list = Arc::clone(&discovery);
    let browse = discovery;
    Module::new(RUNTIME_NAMESPACE, "Finds and runs tools.")
        .with_tool(meta("search_tools", "discover", "Keyword search over all visible tools", {
            move |arguments: SearchTools, context: CallContext| {
                let limit = arguments.max_results.into();
                let found = search.search(&arguments.query, limit, context.principal());
                async move { found.map(|found| for_model(&found)) }
            }
        }))
        .with_tool(meta("get_tool", "inspect", "Full schema, metadata, and examples for one tool", {
            move |arguments: GetTool, context: CallContext| {
                let card = get.describe(&arguments.name, context.principal());
                async move { card }
            }
        }))
        .with_tool(
            discovery_tool(
                FunctionTool::forwarding::<ExecuteTool, _, _>(
                    "execute_tool",
                    "Execute a tool with parameters",
                    execute,
                ),
                "execute",
            )
            .with_metadata("forwards", "call"),
        )
        .with_tool(
            FunctionTool::forwarding::<RunParallel, _, _>(
                "run_parallel",
                "Run up to 50 independent tool calls at once. Results come in the order of the calls; one that fails \
                 does not stop the others",
                run_parallel,
            )
            .with_risk(Risk::Low)
            .with_metadata("operational", true)
            .with_metadata("forwards", "calls"),
        )
        .with_tool(meta("list_categories", "discover", "List all available tool domains", {
            move |_: ListCategories, context: CallContext| {
                let categories = list.categories(context.principal());
                async move { categories }
            }
        }))
        .with_tool(meta("browse_category", "discover", "Browse all tools in a specific domain", {
            move |arguments: BrowseCategory, context: CallContext| {
                let page = usize::try_from(arguments.page).unwrap_or(usize::MAX);
                let size = arguments.page_size.into();
                let page = browse.browse(&arguments.category, page, size, context.principal());
                async move { page }
            }
        }))
}

fn meta<A, T, F, R>(name: &str, step: &str, description: &str, function: F) -> FunctionTool
where
    A: serde::de::DeserializeOwned + JsonSchema + Send + 'static,
    T: Serialize,
    F: Fn(A, CallContext) -> R + Send + Sync + 'static,
    R: Future<Output = Result<T, ToolError>> + Send + 'static,
{
    discovery_tool(FunctionTool::new(name, description, function), step)
}

fn discovery_tool(tool: FunctionTool, step: &str) -> FunctionTool {
    tool.with_risk(Risk::Low).with_metadata("discovery", true).with_metadata("discovery_step", step)
}

/// What a model needs of a search: no scores, which it would read too much into.
fn for_model(found: &crate::Found) -> Value {
    if found.outcome == "no_match" {
        return json!({
            "outcome": found.outcome,
            "reason": found.reason,
            "nearest": found.nearest,
            "hint": hint(found),
        });
    }
    let rows: Vec<_> = found
        .results
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "risk": tool.risk,
                "example_call": tool.example_call,
            })
        })
        .collect();
    json!({"outcome": found.outcome, "results": rows})
}

/// What a model can do where nothing fits.
fn hint(found: &crate::Found) -> String {
    match found.reason {
        Some("source_down") => {
            "no tool fits; a source is down, and the tool may be one of its: say so".into()
        }
        Some("needs_login") => "no tool fits; a source waits for a login of the user: say so".into(),
        Some("quarantined") => {
            "the tool is held back until the user approves what changed of it: say so".into()
        }
        Some("not_permitted") => format!("{} tools fit that may not be used here: say so", found.withheld),
        _ => "no tool fits; try other words once, or answer without a tool".into(),
    }
}

/// Gives the call inside to the entrance. The result is that of the call inside, and so is its name; its metadata says
/// under `forwarded` what it was called with, since the caller knows the outer arguments only.
async fn execute(call: Call, context: CallContext) -> ToolResult {
    let arguments: ExecuteTool = match serde_json::from_value(Value::Object(call.arguments.clone())) {
        Ok(arguments) => arguments,
        Err(error) => return call.error(ErrorKind::InvalidArgs, error.to_string()),
    };
    let Some(caller) = context.caller.clone() else {
        return call.error(ErrorKind::Internal, "there is no entrance to call tools through");
    };
    let inner = ToolCall::new(arguments.name, arguments.params.clone());
    let mut result = caller.call(inner, &context).await;
    // Of calls inside calls, the innermost is the one that ran.
    result.metadata.entry("forwarded").or_insert_with(|| json!({"arguments": arguments.params}));
    result
}

/// Gives the calls inside to the entrance, which judges all of them before any runs. The result lists what came of each.
async fn run_parallel(call: Call, mut context: CallContext) -> ToolResult {
    let arguments: RunParallel = match serde_json::from_value(Value::Object(call.arguments.clone())) {
        Ok(arguments) => arguments,
        Err(error) => return call.error(ErrorKind::InvalidArgs, error.to_string()),
    };
    let Some(caller) = context.caller.clone() else {
        return call.error(ErrorKind::Internal, "there is no entrance to call tools through");
    };
    context.parallel = true;
    let calls = arguments.calls.into_iter().enumerate().map(|(position, inner)| {
        let id =
            call.call_id.as_deref().map_or_else(|| position.to_string(), |id| format!("{id}.{position}"));
        ToolCall::new(inner.name, inner.params).with_call_id(id)
    });
    let results = caller.call_all(calls.collect(), &context).await;
    let failed = results.iter().filter(|result| !result.is_ok()).count();
    let rows: Vec<Value> = results.into_iter().map(parallel_row).collect();
    call.ok(json!({"succeeded": rows.len() - failed, "failed": failed, "results": rows}))
}

/// What a model is told of one call among several.
pub(crate) fn parallel_row(mut result: ToolResult) -> Value {
    let name = result.name.replacen("::", ".", 1);
    let mut row = JsonObject::from_iter([("name".to_owned(), name.into())]);
    row.insert("ok".into(), result.is_ok().into());
    match result.error {
        None => row.insert("result".into(), result.result),
        Some(error) => row.insert("error".into(), json!(error)),
    };
    // The model knows only what it asked for, not what its user made of that.
    if let Some(edited) = result.metadata.shift_remove("edited_arguments") {
        row.insert("edited_arguments".into(), edited);
    }
    row.into()
}
