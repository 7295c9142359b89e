//! Clamping of numbers beyond the bounds of a tool of the runtime.

use serde_json::Value;
use toolcrib_model::{JsonObject, Tool};
use toolcrib_schema::Repair;
use toolcrib_schema::repair::Change;

/// Clamps the numbers of a tool to the bounds of its schema if they only request an amount, and returns the repairs.
pub(crate) fn clamp_numbers(tool: &Tool, arguments: &mut JsonObject) -> Vec<Repair> {
    if !tool.clamps_numbers() {
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
            let path = format!("/{}", toolcrib_model::text::pointer_part(name));
            repairs.push(Repair { path, change: Change::Clamped, from: Some(from), to: Some(bound.clone()) });
        }
    }
    repairs
}
