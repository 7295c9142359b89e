//! Numbers that are somewhat beyond what a tool of the runtime takes.

use serde_json::Value;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_policy::RUNTIME_NAMESPACE;
use toolcrib_schema::{Change, Repair};

/// The metadata of tools whose numbers only say how much is wanted, so that the nearest bound serves as well.
const CLAMPS: &str = "clamps";

/// Brings the numbers of such a tool within the bounds of its schema, and says which were changed. Only the runtime's own tools
/// are believed: of any other, a bound may be a limit that no call is to come near.
pub(crate) fn clamped(tool: &Tool, arguments: &mut JsonObject) -> Vec<Repair> {
    let is_own = tool.name.namespace() == RUNTIME_NAMESPACE;
    if !is_own || tool.metadata.get(CLAMPS).and_then(Value::as_bool) != Some(true) {
        return Vec::new();
    }
    let properties = tool.parameters.get("properties").and_then(Value::as_object);
    let mut repairs = Vec::new();
    for (name, schema) in properties.into_iter().flatten() {
        let Some(given) = arguments.get_mut(name) else { continue };
        let Some(number) = given.as_f64() else { continue };
        let beyond = |key: &str, is_beyond: fn(f64, f64) -> bool| {
            schema.get(key).filter(|bound| bound.as_f64().is_some_and(|bound| is_beyond(number, bound)))
        };
        let bound = beyond("minimum", |number, bound| number < bound)
            .or_else(|| beyond("maximum", |number, bound| number > bound));
        if let Some(bound) = bound {
            let from = std::mem::replace(given, bound.clone());
            let path = format!("/{}", toolcrib_model::pointer_part(name));
            repairs.push(Repair { path, change: Change::Clamped, from: Some(from), to: Some(bound.clone()) });
        }
    }
    repairs
}
