//! What the conversion of schemas promises.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

use serde_json::{Value, json};

use super::{Budget, Converter, Direction};
use crate::Error;
use crate::spec::Spec;

/// A document with these component schemas.
fn document(version: &str, schemas: Value) -> Value {
    json!({"openapi": version, "components": {"schemas": schemas}})
}

fn convert(document: &Value, schema: &Value, direction: Direction) -> Result<(Value, Value), Error> {
    // A schema belongs to a document, so it is put where it lives as long.
    let mut whole = document.clone();
    whole["schema"] = schema.clone();
    let mut budget = Budget::default();
    let mut converter = Converter::new(Spec::new(&whole)?, direction, &mut budget);
    let result = converter.convert(&whole["schema"])?;
    let definitions = converter.definitions()?;
    Ok((result, definitions.into()))
}

fn input(schema: Value) -> Value {
    convert(&document("3.0.3", json!({})), &schema, Direction::Input).unwrap().0
}

#[test]
fn keywords_of_openapi_become_json_schema_2020_12() {
    for (given, expected) in [
        (json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]})),
        (
            json!({"type": "string", "nullable": true, "enum": ["a"]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        (json!({"nullable": true}), json!({})),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false}),
            json!({"type": "integer", "exclusiveMinimum": 1, "maximum": 9}),
        ),
        (json!({"exclusiveMinimum": 1}), json!({"exclusiveMinimum": 1})),
        (json!({"example": {"$ref": "not a reference"}}), json!({"examples": [{"$ref": "not a reference"}]})),
        (json!({"type": "string", "format": "byte"}), json!({"type": "string", "contentEncoding": "base64"})),
        (json!({"xml": {}, "discriminator": {}, "externalDocs": {}, "x-mine": 1}), json!({})),
        (json!({"items": [{"nullable": true, "type": "null"}]}), json!({"prefixItems": [{"type": "null"}]})),
        (json!({"required": ["a", "a", "b"]}), json!({"required": ["a", "b"]})),
        (json!({"required": true, "type": "string"}), json!({"type": "string"})),
        (
            json!({"properties": {"x-mine": true, "$ref": {"type": "string"}}}),
            json!({"properties": {"x-mine": true, "$ref": {"type": "string"}}}),
        ),
    ] {
        assert_eq!(input(given), expected);
    }
}

#[test]
fn null_is_an_alternative_to_the_whole_of_a_composition() {
    let schema = json!({"allOf": [{"type": "object"}], "nullable": true, "description": "d"});
    let expected = json!({"description": "d", "anyOf": [{"allOf": [{"type": "object"}]}, {"type": "null"}]});
    assert_eq!(input(schema), expected);
}

#[test]
fn what_goes_the_other_way_only_is_left_out() {
    let document = document("3.0.0", json!({"Id": {"type": "integer", "readOnly": true}}));
    let schema = json!({
        "properties": {
            "id": {"$ref": "#/components/schemas/Id"},
            "password": {"type": "string", "writeOnly": true},
            "name": {"type": "string"},
        },
        "required": ["id", "password", "name"],
    });
    let (to_server, _) = convert(&document, &schema, Direction::Input).unwrap();
    assert_eq!(to_server["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["password", "name"]);
    assert_eq!(to_server["required"], json!(["password", "name"]));
    let (from_server, _) = convert(&document, &schema, Direction::Output).unwrap();
    assert_eq!(from_server["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "name"]);
}

#[test]
fn references_are_bundled_once_and_recursion_stays() {
    let document = document(
        "3.0.0",
        json!({
            "Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}, "tag": {"$ref": "#/components/schemas/a~1b"}}},
            "a/b": {"properties": {"inner": {"type": "string"}}},
            "a_b": {"type": "integer"},
        }),
    );
    let schema = json!({"anyOf": [
        {"$ref": "#/components/schemas/Node"},
        {"$ref": "#/components/schemas/a_b"},
        {"$ref": "#/components/schemas/a%7E1b/properties/inner"},
    ]});
    let (converted, definitions) = convert(&document, &schema, Direction::Input).unwrap();
    let expected = json!({"anyOf": [
        {"$ref": "#/$defs/Node"},
        {"$ref": "#/$defs/a_b"},
        {"$ref": "#/$defs/components_schemas_a_1b_properties_inner"},
    ]});
    assert_eq!(converted, expected);
    let expected = json!({
        "Node": {"properties": {"next": {"$ref": "#/$defs/Node"}, "tag": {"$ref": "#/$defs/a_1b"}}},
        "a_1b": {"properties": {"inner": {"type": "string"}}},
        "a_b": {"type": "integer"},
        "components_schemas_a_1b_properties_inner": {"type": "string"},
    });
    assert_eq!(definitions, expected);
}

#[test]
fn two_references_never_share_a_definition() {
    let document = document("3.0.0", json!({"a b": {"type": "string"}, "a_b": {"type": "integer"}}));
    let schema =
        json!({"items": {"$ref": "#/components/schemas/a b"}, "not": {"$ref": "#/components/schemas/a_b"}});
    let (converted, definitions) = convert(&document, &schema, Direction::Input).unwrap();
    assert_eq!(converted, json!({"items": {"$ref": "#/$defs/a_b"}, "not": {"$ref": "#/$defs/a_b_2"}}));
    assert_eq!(definitions, json!({"a_b": {"type": "string"}, "a_b_2": {"type": "integer"}}));
}

#[test]
fn what_stands_beside_a_reference_counts_in_openapi_3_1() {
    let schema = json!({"$ref": "#/components/schemas/A", "description": "d", "minLength": 2});
    let schemas = json!({"A": {"type": "string"}});
    let (old, _) = convert(&document("3.0.0", schemas.clone()), &schema, Direction::Input).unwrap();
    assert_eq!(old, json!({"$ref": "#/$defs/A", "description": "d"}));
    let (new, _) = convert(&document("3.1.0", schemas), &schema, Direction::Input).unwrap();
    assert_eq!(new, json!({"$ref": "#/$defs/A", "description": "d", "minLength": 2}));
}

#[test]
fn a_reference_that_cannot_be_followed_is_named() {
    let document = document(
        "3.0.0",
        json!({"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}),
    );
    let error = |reference: &str| {
        convert(&document, &json!({"items": {"$ref": reference}}), Direction::Input).unwrap_err()
    };
    assert!(
        matches!(error("other.yaml#/A"), Error::ExternalReference { reference } if reference == "other.yaml#/A")
    );
    assert!(matches!(error("https://evil.example/x"), Error::ExternalReference { .. }));
    assert!(matches!(error("#/components/schemas/C"), Error::DanglingReference { .. }));
    assert!(matches!(error("#/components/schemas/A"), Error::ReferenceLoop { .. }));
    assert!(matches!(error("#anchor"), Error::Unsupported { .. }));
}

#[test]
fn a_schema_that_is_too_large_is_refused() {
    let many: Vec<Value> = (0..100_001).map(Value::from).collect();
    let document = document("3.0.0", json!({}));
    let error = convert(&document, &json!({"enum": many}), Direction::Input).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}
