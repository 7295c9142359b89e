//! Former names of the arguments of the runtime's own tools.

use serde_json::Value;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_schema::{Change, Repair};

/// The entry of a tool's metadata that maps former names of its arguments to the current ones.
const FORMER_ARGUMENTS: &str = "former_arguments";

/// Renames arguments that come under a former name, and returns a repair for each, which the result tells. An argument that
/// also comes under its current name stays as it is, for the schema to refuse. Only the runtime's own tools are believed.
pub(crate) fn rename(tool: &Tool, arguments: &mut JsonObject) -> Vec<Repair> {
    if tool.name.namespace() != RUNTIME_NAMESPACE {
        return Vec::new();
    }
    let names = tool.metadata.get(FORMER_ARGUMENTS).and_then(Value::as_object);
    let mut repairs = Vec::new();
    for (former, current) in names.into_iter().flatten() {
        let Some(current) = current.as_str().filter(|current| !arguments.contains_key(*current)) else {
            continue;
        };
        let Some(value) = arguments.shift_remove(former) else { continue };
        arguments.insert(current.to_owned(), value);
        let path = format!("/{current}");
        let (from, to) = (Some(former.as_str().into()), Some(current.into()));
        repairs.push(Repair { path, change: Change::Renamed, from, to });
    }
    repairs
}
