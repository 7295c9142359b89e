//! Documents that were written to do harm: each ends, in an error or in tools, and stays within its bounds.

use serde_json::{Value, json};
use toolcrib_port::{LoadOutcome, RejectKind};
use toolcrib_schema::CompiledSchema;

use crate::RestSource;

fn load(text: &str) -> LoadOutcome {
    let (loader, _) = RestSource::new("hostile.json", "api").open().unwrap();
    loader.load_text(text.as_bytes())
}

/// A document with one operation that takes this schema.
fn taking(schema: &Value, schemas: &Value) -> String {
    let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    json!({"openapi": "3.1.0", "paths": {"/": {"post": {"requestBody": body}}}, "components": {"schemas": schemas}})
        .to_string()
}

/// The one reject, or the one tool, whose schemas compile.
fn outcome(text: &str) -> Result<Value, (RejectKind, String)> {
    let loaded = load(text);
    match (loaded.tools.as_slice(), loaded.rejected.as_slice()) {
        ([tool], []) => {
            CompiledSchema::compile(&tool.parameters.to_value()).unwrap();
            CompiledSchema::compile(&tool.output_parameters.to_value()).unwrap();
            Ok(tool.parameters.to_value().into_owned())
        }
        ([], [reject]) => {
            assert!(reject.reason.len() < 1000, "{}", reject.reason);
            Err((reject.kind, reject.reason.clone()))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn schemas_without_end_have_one() {
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    for (schema, schemas) in [
        (reference("A"), json!({"A": {"properties": {"a": reference("A")}}})),
        (reference("A"), json!({"A": {"allOf": [reference("A")]}})),
        (
            reference("A"),
            json!({"A": {"allOf": [reference("B")]}, "B": {"anyOf": [reference("A"), reference("B")]}}),
        ),
        (
            json!({"$ref": "#/paths/~1/post/requestBody/content/application~1json/schema/properties/a", "properties": {"a": {"items": {"$ref": "#/paths/~1/post/requestBody/content/application~1json/schema"}}}}),
            json!({}),
        ),
    ] {
        assert!(outcome(&taking(&schema, &schemas)).is_ok(), "{schema}");
    }
    for (schema, schemas) in [
        (reference("A"), json!({"A": reference("A")})),
        (reference("A"), json!({"A": reference("B"), "B": reference("A")})),
        (json!({"items": reference("A/x")}), json!({"A": reference("A/y")})),
    ] {
        assert_eq!(outcome(&taking(&schema, &schemas)).unwrap_err().0, RejectKind::InvalidSchema, "{schema}");
    }
}

#[test]
fn a_schema_of_a_hundred_thousand_values_is_refused_or_cut() {
    let many: serde_json::Map<String, Value> =
        (0..100_000).map(|index| (format!("p{index}"), json!({}))).collect();
    let large = json!({"type": "object", "properties": many});
    let (kind, reason) = outcome(&taking(&large, &json!({}))).unwrap_err();
    assert_eq!(
        (kind, reason.as_str()),
        (RejectKind::TooLarge, "the schema of the operation has more than 25000 values")
    );
    let below = json!({"properties": {"a": {"$ref": "#/components/schemas/L"}}});
    let parameters = outcome(&taking(&below, &json!({"L": large}))).unwrap();
    assert_eq!(parameters["$defs"]["L"], json!({}));
}

#[test]
fn deep_compositions_end_at_the_bounds_of_the_parser_or_of_the_checker() {
    let deep = |levels: usize| {
        let mut schema = json!({"type": "string"});
        for _ in 0..levels {
            schema = json!({"allOf": [schema]});
        }
        schema
    };
    assert!(outcome(&taking(&deep(40), &json!({}))).is_ok());
    let text = taking(&json!("HERE"), &json!({}))
        .replace("\"HERE\"", &format!("{}{}{}", "{\"allOf\":[".repeat(500), "{}", "]}".repeat(500)));
    assert_eq!(outcome(&text).unwrap_err().0, RejectKind::TooLarge);
    // A chain of references, each of them a level.
    let chain: serde_json::Map<String, Value> = (0..2000)
        .map(|index| {
            (
                format!("S{index}"),
                json!({"allOf": [{"$ref": format!("#/components/schemas/S{}", index + 1)}]}),
            )
        })
        .chain([("S2000".to_owned(), json!({"type": "object"}))])
        .collect();
    outcome(&taking(&json!({"$ref": "#/components/schemas/S0"}), &chain.into())).unwrap();
    // Twice as many ways at each level.
    let doubled: serde_json::Map<String, Value> = (0..60)
        .map(|index| {
            let next = json!({"$ref": format!("#/components/schemas/S{}", index + 1)});
            (format!("S{index}"), json!({"allOf": [next, next]}))
        })
        .chain([("S60".to_owned(), json!({"type": "object"}))])
        .collect();
    assert!(outcome(&taking(&json!({"$ref": "#/components/schemas/S0"}), &doubled.into())).is_ok());
}

#[tokio::test]
async fn a_file_of_20_megabytes_is_not_read() {
    use toolcrib_port::ToolLoader;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.json");
    let mut text = "{\"openapi\": \"3.0.0\", \"info\": \"".to_owned();
    text.push_str(&"x".repeat(20 << 20));
    text.push_str("\"}");
    std::fs::write(&path, text).unwrap();
    let (loader, _) = RestSource::new(path.to_str().unwrap(), "api").open().unwrap();
    let loaded = loader.load().await;
    assert_eq!(loaded.rejected[0].kind, RejectKind::TooLarge);
}

#[test]
fn parts_of_the_wrong_shape_reject_what_they_are_in_and_nothing_else() {
    let junk = [json!(null), json!(3), json!("x"), json!([]), json!([1]), json!({}), json!(true)];
    for key in [
        "parameters",
        "requestBody",
        "responses",
        "servers",
        "security",
        "tags",
        "operationId",
        "summary",
        "deprecated",
    ] {
        for value in &junk {
            for version in
                [json!({"openapi": "3.0.0"}), json!({"openapi": "3.2.0"}), json!({"swagger": "2.0"})]
            {
                let mut document = version;
                document["paths"] =
                    json!({"/a": {"get": {key: value}}, "/b": {"get": {"operationId": "fine"}}});
                let loaded = load(&document.to_string());
                assert_eq!(loaded.tools.len() + loaded.rejected.len(), 2, "{document}");
                assert!(loaded.tools.iter().any(|tool| tool.name.name() == "fine"), "{document}");
            }
        }
    }
    for value in &junk {
        for key in [
            "paths",
            "components",
            "servers",
            "definitions",
            "consumes",
            "host",
            "security",
            "securityDefinitions",
        ] {
            for version in ["openapi", "swagger"] {
                let number = if version == "openapi" { "3.1.0" } else { "2.0" };
                load(&json!({version: number, key: value, "info": value}).to_string());
            }
        }
    }
}
