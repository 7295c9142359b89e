//! Loading: from the text of a document to its tools, and to a registry that is ready.

use std::error::Error;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_bench::documents::entangled;
use toolcrib_bench::report::{Figure, Row, title};
use toolcrib_bench::timings::Timings;
use toolcrib_bench::{memory, processor};
use toolcrib_loader_rest::RestSource;
use toolcrib_port::ToolLoader;
use toolcrib_registry::ToolRegistry;

const OPERATIONS: usize = 1_000;

/// The time limit for this number of operations on two cores.
const BOUND: Duration = Duration::from_millis(300);

/// The size of the large document, and its time limit.
const LARGE_BYTES: usize = 2_000_000;
const LARGE_BOUND: Duration = Duration::from_secs(1);

const ROUNDS: u32 = 9;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    part(&format!("{OPERATIONS} operations"), &document(OPERATIONS, 3), Some(BOUND))?;
    let mut fields = 3;
    let mut large = document(OPERATIONS, fields);
    while large.to_string().len() < LARGE_BYTES {
        fields += 1;
        large = document(OPERATIONS, fields);
    }
    part("a document of 2 MB", &large, Some(LARGE_BOUND))?;
    part("schemas that all lead to each other", &entangled(OPERATIONS / 2), None)
}

fn part(what: &str, document: &Value, bound: Option<Duration>) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("openapi.json");
    let text = document.to_string();
    fs::write(&path, &text)?;
    title(&format!("{what}, from a JSON file of {} KiB", text.len() / 1024));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let (loader, _engine) = RestSource::new(&path.to_string_lossy(), "api").open()?;
    let loader: Arc<dyn ToolLoader> = Arc::new(loader);
    let load = || runtime.block_on(ToolRegistry::from_loaders([Arc::clone(&loader)]));
    let (registry, peak) = memory::peak_of(load);
    let snapshot = registry.snapshot();
    if snapshot.iter().len() < OPERATIONS / 2 || !snapshot.rejected().is_empty() {
        return Err(
            format!("{} tools loaded, rejected: {:?}", snapshot.iter().len(), snapshot.rejected()).into()
        );
    }
    let (mut parse, mut read, mut whole) = <(Timings, Timings, Timings)>::default();
    let ((), processors) = processor::time_of(|| (0..ROUNDS).for_each(|_| drop(whole.time(load))));
    (0..ROUNDS).for_each(|_| drop(read.time(|| runtime.block_on(loader.load()))));
    for _ in 0..ROUNDS {
        parse.time(|| serde_json::from_str::<Value>(&text))?;
    }
    Row::new("serde_json alone", parse.median()).print();
    for (what, timings) in
        [("the document read into tools", &read), ("all of it, into a registry that is ready", &whole)]
    {
        let row = Row::new(what, timings.median());
        bound.into_iter().fold(row, Row::at_most).print();
    }
    if let Some(taken) = processors {
        Row::new("processor time of that, both cores", taken / ROUNDS).print();
    }
    if let Some(peak) = peak {
        Row::new("memory at the peak of the first load", Figure::Bytes(peak)).print();
    }
    Ok(())
}

/// Returns an API with this number of operations: lists with filters, bodies with nested and recursive schemas,
/// answers.
fn document(operations: usize, fields: usize) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for index in 0..operations / 5 {
        let name = format!("Thing{index}");
        let reference = json!({"$ref": format!("#/components/schemas/{name}")});
        let body = json!({"required": true, "content": {"application/json": {"schema": reference}}});
        let one =
            json!({"200": {"description": "One.", "content": {"application/json": {"schema": reference}}}});
        let many = json!({"200": {"description": "All.", "content": {"application/json": {"schema": {"type": "array", "items": reference}}}}});
        let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string", "format": "uuid"}});
        let filter = json!({"name": "filter", "in": "query", "description": "What to look for.", "schema": {"type": "array", "items": {"type": "string"}}});
        let operation = |verb: &str, more: Value| {
            let mut operation = json!({
                "operationId": format!("{verb}{name}"),
                "summary": format!("{verb} a thing of kind {index}"),
                "tags": [format!("things{}", index % 20)],
            });
            if let (Some(operation), Value::Object(more)) = (operation.as_object_mut(), more) {
                operation.extend(more);
            }
            operation
        };
        paths.insert(format!("/things{index}"), json!({
            "get": operation("list", json!({"parameters": [filter, {"$ref": "#/components/parameters/Page"}], "responses": many})),
            "post": operation("add", json!({"requestBody": body, "responses": one})),
        }));
        paths.insert(
            format!("/things{index}/{{id}}"),
            json!({
                "parameters": [id],
                "get": operation("get", json!({"responses": one})),
                "put": operation("set", json!({"requestBody": body, "responses": one})),
                "delete": operation("drop", json!({"responses": {"204": {"description": "Gone."}}})),
            }),
        );
        let mut properties = Map::new();
        properties.insert("id".into(), json!({"type": "string", "format": "uuid", "readOnly": true}));
        properties.insert("parent".into(), reference.clone());
        properties.insert("next".into(), json!({"$ref": format!("#/components/schemas/Part{}", index % 50)}));
        for field in 0..fields {
            properties.insert(
                format!("field{field}"),
                json!({"type": "string", "nullable": true, "maxLength": 100, "description": format!("Field {field} of thing {index}, as its owner has called it.")}),
            );
        }
        schemas.insert(name, json!({"type": "object", "required": ["field0"], "properties": properties}));
    }
    for index in 0..50 {
        let kinds = ["small", "medium", "large"];
        schemas.insert(format!("Part{index}"), json!({"type": "object", "properties": {
            "kind": {"type": "string", "enum": kinds}, "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
        }}));
    }
    let page = json!({"name": "page", "in": "query", "schema": {"type": "integer", "minimum": 1}});
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Things", "version": "1"},
        "servers": [{"url": "https://api.example/v1"}],
        "paths": paths,
        "components": {"schemas": schemas, "parameters": {"Page": page}},
    })
}
