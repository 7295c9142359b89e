//! The five meta-tools, and `run_parallel`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, ResultNote, Risk, ToolCall, ToolError, ToolResult};
use toolcrib_policy::{Call, RUNTIME_NAMESPACE};
use toolcrib_sdk::{CallContext, FunctionTool, Module};

use crate::categories::{MAX_PAGE_SIZE, PAGE_SIZE};
use crate::names::{BROWSE_CATEGORY, EXECUTE_TOOL, GET_TOOL, LIST_CATEGORIES, RUN_PARALLEL, SEARCH_TOOLS};
use crate::search::for_model::{MAX_QUERIES, ModelFindings, ModelSearch};
use crate::source_notes::NOTES;
use crate::{Discovery, Page, ToolDetail};

/// Names of arguments in other runtimes that models use for these tools, with the names here.
const OTHER_ARGUMENTS: [(&str, &[(&str, &str)]); 3] = [
    (
        SEARCH_TOOLS,
        &[
            ("q", "query"),
            ("text", "query"),
            ("limit", "max_results"),
            ("top_k", "max_results"),
            ("k", "max_results"),
            ("server", "namespace"),
            ("source", "namespace"),
            ("category", "namespace"),
        ],
    ),
    (GET_TOOL, &[("tool", "name"), ("tool_name", "name"), ("names", "name")]),
    (BROWSE_CATEGORY, &[("name", "category"), ("limit", "page_size")]),
];

const SEARCH: &str = "Find tools. Two to six words, verb and noun. Call a result with `execute_tool`";

const GET: &str = "Parameters of a tool that a search did not show";

const EXECUTE: &str = "Call a tool by its name";

const PARALLEL: &str = "Run independent calls at once. Results keep their order";

/// The default number of tools that a search shows.
const DEFAULT_RESULTS: i64 = 5;

/// The most tools that a search shows.
const MAX_RESULTS: i64 = 20;

#[derive(Deserialize, JsonSchema)]
struct SearchTools {
    #[serde(default)]
    query: Option<String>,
    /// One for each step.
    #[serde(default)]
    #[schemars(length(max = MAX_QUERIES))]
    queries: Vec<String>,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default = "default_results")]
    #[schemars(schema_with = "results_schema")]
    max_results: i64,
    /// `types`: as TypeScript, for a script.
    #[serde(default, rename = "as")]
    #[schemars(schema_with = "notation_schema")]
    notation: Option<Notation>,
}

impl From<SearchTools> for ModelSearch {
    fn from(arguments: SearchTools) -> Self {
        let SearchTools { query, queries, namespace, max_results, notation } = arguments;
        let mut all: Vec<String> = Vec::new();
        for query in query.into_iter().chain(queries) {
            if !all.contains(&query) {
                all.push(query);
            }
        }
        let limit = at_least_1(max_results);
        Self { queries: all, namespace, limit, as_types: notation.is_some() }
    }
}

fn default_results() -> i64 {
    DEFAULT_RESULTS
}

#[derive(Deserialize, JsonSchema)]
struct GetTool {
    name: String,
    /// A part to open, as `/body/spec`.
    #[serde(default)]
    path: String,
    #[serde(default)]
    #[schemars(schema_with = "parts_schema")]
    include: Vec<ToolDetail>,
    #[serde(default, rename = "as")]
    #[schemars(schema_with = "notation_schema")]
    notation: Option<Notation>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct ExecuteTool {
    name: String,
    #[serde(default)]
    #[schemars(schema_with = "any_object")]
    params: JsonObject,
    /// `$.a` or jq.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_text")]
    project: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ListCategories {
    #[serde(default)]
    page: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
struct BrowseCategory {
    category: String,
    #[serde(default)]
    page: Option<i64>,
    #[serde(default)]
    #[schemars(schema_with = "page_size_schema")]
    page_size: Option<i64>,
}

/// Returns the schema of an object whose properties another schema describes.
fn any_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object"})
}

/// Returns the schema of a text.
fn any_text(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string"})
}

// Every request carries these schemas: numbers below 1 are read as 1, which needs no explanation.

fn results_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "maximum": MAX_RESULTS})
}

fn page_size_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "integer", "maximum": MAX_PAGE_SIZE})
}

/// Returns a schema without a sentence for each section, which every request would carry.
fn parts_schema(_: &mut SchemaGenerator) -> Schema {
    let parts = [ToolDetail::Output, ToolDetail::Suppliers, ToolDetail::Metadata];
    json_schema!({"type": "array", "items": {"type": "string", "enum": parts}})
}

fn notation_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": [Notation::Types]})
}

/// The notation of tools in place of signatures and JSON Schema.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Notation {
    /// Declarations in TypeScript.
    Types,
}

/// The argument that selects the notation.
const NOTATION: &str = "as";

/// Removes the argument `as` where models cannot run scripts: no request should carry it then.
fn without_notation(schema: &mut Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.shift_remove(NOTATION);
    }
}

/// Removes the argument `project` of the calls of `run_parallel`, which is described once, at `execute_tool`.
fn without_projection(schema: &mut Value) {
    let properties = schema.pointer_mut("/properties/calls/items/properties").and_then(Value::as_object_mut);
    if let Some(properties) = properties {
        properties.shift_remove("project");
    }
}

/// The most calls of one `run_parallel`.
const MAX_PARALLEL_CALLS: usize = 50;

#[derive(Deserialize, JsonSchema)]
struct RunParallel {
    #[schemars(length(min = 1, max = MAX_PARALLEL_CALLS))]
    calls: Vec<ExecuteTool>,
}

/// Returns the module of the five meta-tools over this discovery, and of `run_parallel`.
pub fn module(discovery: Arc<Discovery>) -> Module {
    let has_scripts = discovery.has_scripts;
    let with_notation =
        |tool: FunctionTool| if has_scripts { tool } else { tool.with_parameters(without_notation) };
    let search = Arc::clone(&discovery);
    let get = Arc::clone(&discovery);
    let list = Arc::clone(&discovery);
    let browse = discovery;
    Module::new(RUNTIME_NAMESPACE, "Finds and runs tools.")
        .with_tool(with_notation(with_other_arguments(
            SEARCH_TOOLS,
            discovery_tool(
                FunctionTool::forwarding::<SearchTools, _, _>(SEARCH_TOOLS, SEARCH, move |call, context| {
                    std::future::ready(search_result(&search, &call, &context))
                }),
                "discover",
            )
            .with_metadata("finds_tools", true),
        )))
        .with_tool(with_notation(meta(GET_TOOL, "inspect", GET, {
            move |arguments: GetTool, context: CallContext| {
                let GetTool { name, path, include, notation } = arguments;
                let card = match notation {
                    // A part of a schema has no declaration.
                    Some(Notation::Types) if path.is_empty() => get.tool_as_types(&name, context.principal()),
                    _ => get.tool_for_model(&name, &path, &include, context.principal()),
                };
                async move { card }
            }
        })))
        .with_tool(
            discovery_tool(
                FunctionTool::forwarding::<ExecuteTool, _, _>(EXECUTE_TOOL, EXECUTE, execute),
                "execute",
            )
            .with_metadata("forwards", "call"),
        )
        .with_tool(
            FunctionTool::forwarding::<RunParallel, _, _>(RUN_PARALLEL, PARALLEL, run_parallel)
                .with_parameters(without_projection)
                .with_risk(Risk::Low)
                .with_metadata("operational", true)
                .with_metadata("presence", "essential")
                .with_metadata("forwards", "calls"),
        )
        .with_tool(meta(LIST_CATEGORIES, "discover", "List the categories of tools", {
            move |arguments: ListCategories, context: CallContext| {
                let page = list.category_page(
                    at_least_1(arguments.page.unwrap_or(1)),
                    PAGE_SIZE,
                    context.principal(),
                );
                async move { page.map(|page| page_for_model(page, "categories")) }
            }
        }))
        .with_tool(meta(BROWSE_CATEGORY, "discover", "List the tools of a category", {
            move |arguments: BrowseCategory, context: CallContext| {
                let BrowseCategory { category, page, page_size } = arguments;
                let page = at_least_1(page.unwrap_or(1));
                let page_size = page_size.map_or(PAGE_SIZE, at_least_1);
                let is_first = page == 1;
                let discovery = Arc::clone(&browse);
                let page = browse.browse(&category, page, page_size, context.principal());
                async move {
                    let (category, page) = page?;
                    let mut told = page_for_model(page, "tools");
                    if let Some(note) = discovery.sources.note(&category).filter(|_| is_first) {
                        told.insert(NOTES.into(), json!({&*category: note}));
                    }
                    told.shift_insert(0, "category".into(), category.into());
                    Ok(told)
                }
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
    with_other_arguments(name, discovery_tool(FunctionTool::new(name, description, function), step))
}

fn with_other_arguments(name: &str, tool: FunctionTool) -> FunctionTool {
    match OTHER_ARGUMENTS.iter().find(|(of, _)| *of == name) {
        Some((_, names)) => {
            tool.with_metadata("former_arguments", json!(names.iter().copied().collect::<BTreeMap<_, _>>()))
        }
        None => tool,
    }
}

/// Searches for a model. The result has the names of the tools in its metadata, so that they can be loaded.
fn search_result(discovery: &Discovery, call: &Call, context: &CallContext) -> ToolResult {
    let arguments: SearchTools = match serde_json::from_value(Value::Object(call.arguments.clone())) {
        Ok(arguments) => arguments,
        Err(error) => return call.error(ErrorKind::InvalidArgs, error.to_string()),
    };
    match discovery.search_for_model(&arguments.into(), context.principal()) {
        Ok(ModelFindings { told, found }) => call.ok(told).with_note(ResultNote::FoundTools(found)),
        Err(error) => call.failed(error),
    }
}

fn discovery_tool(tool: FunctionTool, step: &str) -> FunctionTool {
    tool.with_risk(Risk::Low)
        .with_metadata("discovery", true)
        .with_metadata("discovery_step", step)
        .with_metadata("clamps", true)
}

/// Returns a page for a model, its items under their own key.
fn page_for_model<T: Serialize>(page: Page<T>, items: &str) -> JsonObject {
    let Page { page, pages, total, items: rows } = page;
    JsonObject::from_iter([
        ("page".to_owned(), page.into()),
        ("pages".to_owned(), pages.into()),
        ("total".to_owned(), total.into()),
        (items.to_owned(), json!(rows)),
    ])
}

/// Returns a number that a model passed, or 1 for a lower one.
fn at_least_1(number: i64) -> usize {
    usize::try_from(number).unwrap_or(1).max(1)
}

/// Passes the inner call to the tool executor. Result and name are those of the inner call; the metadata has its
/// arguments under `forwarded`, because the caller knows the outer arguments only.
async fn execute(call: Call, mut context: CallContext) -> ToolResult {
    let arguments: ExecuteTool = match serde_json::from_value(Value::Object(call.arguments.clone())) {
        Ok(arguments) => arguments,
        Err(error) => return call.error(ErrorKind::InvalidArgs, error.to_string()),
    };
    let Some(caller) = context.caller.clone() else {
        return call.error(ErrorKind::Internal, "no tool executor is available in this context");
    };
    // Without one, the projection of a call around this one applies.
    let projection = arguments.project.filter(|expression| !expression.trim().is_empty());
    context.projection = projection.map(Into::into).or_else(|| context.projection.take());
    let inner = ToolCall::new(arguments.name, arguments.params.clone());
    let mut result = caller.call(inner, &context).await;
    // Of nested calls, the innermost is the one that ran.
    if result.forwarded_arguments().is_none() {
        result.note(ResultNote::Forwarded(arguments.params));
    }
    result
}

/// Passes the inner calls to the tool executor, which authorizes all of them before any runs. The result lists their
/// outcomes.
async fn run_parallel(call: Call, mut context: CallContext) -> ToolResult {
    let arguments: RunParallel = match serde_json::from_value(Value::Object(call.arguments.clone())) {
        Ok(arguments) => arguments,
        Err(error) => return call.error(ErrorKind::InvalidArgs, error.to_string()),
    };
    let Some(caller) = context.caller.clone() else {
        return call.error(ErrorKind::Internal, "no tool executor is available in this context");
    };
    context.parallel = true;
    context.sharing = context.sharing.saturating_mul(arguments.calls.len().max(1));
    let calls = arguments.calls.into_iter().enumerate().map(|(position, inner)| {
        let id =
            call.call_id.as_deref().map_or_else(|| position.to_string(), |id| format!("{id}.{position}"));
        projected_call(inner).with_call_id(id)
    });
    let results = caller.call_all(calls.collect(), &context).await;
    let failed = results.iter().filter(|result| !result.is_ok()).count();
    let rows: Vec<Value> = results.into_iter().map(parallel_row).collect();
    call.ok(json!({"succeeded": rows.len() - failed, "failed": failed, "results": rows}))
}

/// Returns one of several calls. One with a projection is made by `execute_tool`, which passes the projection on.
fn projected_call(call: ExecuteTool) -> ToolCall {
    match (&call.project, serde_json::to_value(&call)) {
        (Some(_), Ok(Value::Object(arguments))) => {
            ToolCall::new(format!("{RUNTIME_NAMESPACE}::{EXECUTE_TOOL}"), arguments)
        }
        _ => ToolCall::new(call.name, call.params),
    }
}

/// Returns the result of one call among several, for a model.
pub(crate) fn parallel_row(result: ToolResult) -> Value {
    let facts = result.facts();
    let name = result.name.replacen("::", ".", 1);
    let mut row = JsonObject::from_iter([("name".to_owned(), name.into())]);
    row.insert("ok".into(), result.is_ok().into());
    match result.error {
        None => row.insert("result".into(), result.result),
        Some(error) => row.insert("error".into(), json!(error)),
    };
    row.extend(facts.map(|facts| ("facts".to_owned(), facts.into())));
    row.into()
}
