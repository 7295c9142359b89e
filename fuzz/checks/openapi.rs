//! Any bytes as an OpenAPI document, in JSON and in YAML: what loads can be compiled, and names nothing outside of itself.

use std::sync::LazyLock;

use serde_json::Value;
use toolcrib_loader_rest::{RestLoader, RestSource};
use toolcrib_schema::{CompiledSchema, Error};

static LOADERS: LazyLock<Vec<RestLoader>> = LazyLock::new(|| {
    let open = |spec| RestSource::new(spec, "fuzz").open().map(|(loader, _)| loader);
    ["openapi.json", "openapi.yaml"].into_iter().filter_map(|spec| open(spec).ok()).collect()
});

/// Checks what holds for one input.
pub(crate) fn check(bytes: &[u8]) {
    for loader in LOADERS.iter() {
        let loaded = loader.load_text(bytes);
        for tool in &loaded.tools {
            for schema in [&tool.parameters, &tool.output_parameters] {
                let schema = schema.to_value();
                assert!(!dangles(&schema, &schema), "{schema}");
                if let Err(error) = CompiledSchema::compile(&schema) {
                    assert!(!matches!(error, Error::ExternalRef { .. }), "{error}: {schema}");
                }
            }
        }
        for reject in &loaded.rejected {
            assert!(!reject.reason.is_empty() && reject.reason.len() < 4096);
        }
    }
}

/// Returns true if a reference in the place of a schema leads nowhere. In lists of values and under names it is data.
fn dangles(root: &Value, schema: &Value) -> bool {
    let Value::Object(map) = schema else { return false };
    let leads_nowhere =
        |reference: &str| reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).is_none();
    map.iter().any(|(key, value)| match (key.as_str(), value) {
        ("$ref", Value::String(reference)) => leads_nowhere(reference),
        ("properties" | "patternProperties" | "$defs" | "dependentSchemas", Value::Object(schemas)) => {
            schemas.values().any(|schema| dangles(root, schema))
        }
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
            schemas.iter().any(|schema| dangles(root, schema))
        }
        ("enum" | "const" | "default" | "examples" | "required" | "dependentRequired", _) => false,
        (_, value) => dangles(root, value),
    })
}
