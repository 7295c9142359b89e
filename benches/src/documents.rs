//! Generated OpenAPI documents.

use serde_json::{Map, Value, json};

/// Returns an API with this number of operations, whose answers contain each other, by reference or by id, so that each
/// leads to all others.
pub fn entangled(count: usize) -> Value {
    let reference = |index: usize| json!({"$ref": format!("#/components/schemas/Thing{}", index % count)});
    let schemas: Map<String, Value> = (0..count)
        .map(|index| {
            let mut properties = Map::new();
            for field in 0..12 {
                let expanded = reference(index * 7 + field * 31 + 1);
                properties.insert(
                    format!("field{field}"),
                    json!({"description": "The id of a thing, or the thing.", "anyOf": [{"type": "string"}, expanded]}),
                );
            }
            (format!("Thing{index}"), json!({"type": "object", "properties": properties}))
        })
        .collect();
    let paths: Map<String, Value> = (0..count)
        .map(|index| {
            let answer = json!({"200": {"content": {"application/json": {"schema": reference(index)}}}});
            let body = json!({"content": {"application/json": {"schema": reference(index + 1)}}});
            (format!("/things{index}"), json!({"post": {"requestBody": body, "responses": answer}}))
        })
        .collect();
    json!({"openapi": "3.0.3", "paths": paths, "components": {"schemas": schemas}})
}
