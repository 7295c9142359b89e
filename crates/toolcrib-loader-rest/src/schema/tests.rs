//! What the conversion of schemas promises.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

use serde_json::{Value, json};

use super::{BundledDefinition, Converter, Direction, Schemas};
use crate::Error;
use crate::spec::{Documents, Spec};

/// A document with these component schemas.
fn document(version: &str, schemas: Value) -> Value {
    json!({"openapi": version, "components": {"schemas": schemas}})
}

fn convert(document: &Value, schema: &Value, direction: Direction) -> Result<(Value, Value), Error> {
    // A schema belongs to a document, so it is put where it lives as long.
    let mut whole = document.clone();
    whole["schema"] = schema.clone();
    let documents = Documents::single(whole);
    let spec = Spec::new(&documents)?;
    let mut schemas = Schemas::new(spec);
    let mut converter = Converter::new(&mut schemas, direction);
    let result = converter.convert(spec.root().get_or_nothing("schema"))?;
    let (definitions, _) = converter.definitions()?;
    Ok((result, values(&definitions)))
}

fn values(definitions: &[BundledDefinition]) -> Value {
    let definitions = definitions.iter().map(|bundled| &bundled.definition);
    definitions.map(|definition| (definition.name.to_string(), definition.schema.clone())).collect()
}

/// A schema within the limits, and the note about it.
fn fit(schemas: &mut Schemas<'_>, mut schema: Value) -> (Value, Option<String>) {
    let definitions = schema.as_object_mut().unwrap().shift_remove("$defs").unwrap();
    let definitions = definitions.as_object().unwrap().iter();
    let definitions = definitions.map(|(name, schema)| BundledDefinition::new(name, schema.clone()));
    let (schema, note) = schemas.fit(schema, definitions.collect());
    (schema.to_value().into_owned(), note)
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
        (json!({"example": {"a": 1}}), json!({"examples": [{"a": 1}]})),
        (json!({"example": {"$ref": "not a reference"}, "default": [{"$ref": "#/a"}]}), json!({})),
        (json!({"const": {"$ref": "data"}}), json!({"const": {"$ref": "data"}})),
        (
            json!({"type": "String", "minLength": "2", "maxLength": -1, "pattern": 3}),
            json!({"type": "string", "minLength": 2}),
        ),
        (json!({"type": "any", "anyOf": [], "enum": null, "required": "a", "properties": []}), json!({})),
        (
            json!({"type": ["string", "null"], "default": null}),
            json!({"type": ["string", "null"], "default": null}),
        ),
        (json!({"exclusiveMaximum": true, "$schema": "x", "unknown": {"$ref": "y"}}), json!({})),
        (json!({"type": "string", "format": "byte"}), json!({"type": "string", "contentEncoding": "base64"})),
        (json!({"xml": {}, "discriminator": {}, "externalDocs": {}, "x-mine": 1}), json!({})),
        (json!({"items": [{"nullable": true, "type": "null"}]}), json!({"prefixItems": [{"type": "null"}]})),
        (json!({"required": ["a", "a", "b"]}), json!({"required": ["a", "b"]})),
        (json!({"required": true, "type": "string"}), json!({"type": "string"})),
        (
            json!({"allOf": [{"required": ["id", "a"]}], "properties": {"id": {"readOnly": true}}}),
            json!({"allOf": [{"required": ["a"]}], "properties": {}}),
        ),
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
    assert!(matches!(error("#/components/schemas/A"), Error::ReferenceLoop { .. }));
}

#[test]
fn a_reference_that_leads_nowhere_leaves_its_part_open() {
    let document = document("3.0.0", json!({"A": {"$ref": "#/components/schemas/Gone"}}));
    for reference in ["#/components/schemas/C", "#anchor", "#/components/schemas/A"] {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": reference}}});
        let (converted, definitions) = convert(&document, &schema, Direction::Input).unwrap();
        let expected = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}});
        assert_eq!((converted, definitions), (expected, json!({})), "{reference}");
    }
}

#[test]
fn a_schema_that_is_too_large_is_refused() {
    let many: Vec<Value> = (0..100_001).map(Value::from).collect();
    let document = document("3.0.0", json!({}));
    let error = convert(&document, &json!({"enum": many}), Direction::Input).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
}

#[test]
fn what_is_too_far_from_the_top_of_a_large_schema_is_anything() {
    let large: Vec<Value> = (0..9000).map(Value::from).collect();
    let schemas: serde_json::Map<String, Value> = (0..5)
        .map(|index| {
            let next = format!("#/components/schemas/S{}", (index + 1) % 5);
            (format!("S{index}"), json!({"enum": large, "not": {"$ref": next}}))
        })
        .collect();
    let document = document("3.0.0", schemas.into());
    let (_, definitions) =
        convert(&document, &json!({"$ref": "#/components/schemas/S0"}), Direction::Input).unwrap();
    let kept: Vec<_> = definitions
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, schema)| (name.as_str(), schema != &json!({})))
        .collect();
    assert_eq!(
        kept,
        [("S0", true), ("S1", true), ("S2", false)],
        "nothing dangles, and nothing is lost near the top"
    );
}

#[test]
fn a_reference_may_name_an_anchor_or_an_address_of_the_document() {
    let document = document(
        "3.1.0",
        json!({
            "A": {"$anchor": "a", "type": "string"},
            "B": {"$id": "https://x.example/b", "$defs": {"C": {"type": "integer"}}},
            "D": {"$ref": "#/components/schemas/B"},
        }),
    );
    let schema = json!({"prefixItems": [
        {"$ref": "#a"}, {"$dynamicRef": "#a"}, {"$ref": "https://x.example/b#/$defs/C"},
        {"$ref": "#/components/schemas/D/$defs/C"},
    ]});
    let (converted, definitions) = convert(&document, &schema, Direction::Input).unwrap();
    let expected = json!({"prefixItems": [
        {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}, {"$ref": "#/$defs/components_schemas_B__defs_C"},
        {"$ref": "#/$defs/components_schemas_B__defs_C"},
    ]});
    assert_eq!(converted, expected);
    let expected = json!({"A": {"type": "string"}, "components_schemas_B__defs_C": {"type": "integer"}});
    assert_eq!(definitions, expected);
}

#[test]
fn a_schema_that_would_take_too_long_to_check_refers_to_anything() {
    let names: Vec<String> = (0..20).map(|index| format!("S{index}")).collect();
    let definitions: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| {
            let any: Vec<Value> =
                names.iter().map(|other| json!({"$ref": format!("#/$defs/{other}")})).collect();
            (
                name.clone(),
                json!({"type": "object", "properties": {"a": {"anyOf": any}}, "oneOf": [{"anyOf": any}]}),
            )
        })
        .collect();
    let documents = Documents::single(document("3.1.0", json!({})));
    let mut schemas = Schemas::new(Spec::new(&documents).unwrap());
    let schema = json!({"properties": {"a": {"$ref": "#/$defs/S0"}}, "$defs": definitions});
    let (schema, note) = fit(&mut schemas, schema);
    let note = note.unwrap();
    assert!(
        note.contains(" parts of the schema are omitted and allow any value: checking one value may take"),
        "{note}"
    );
    assert_eq!(schema["$defs"]["S19"], json!({"type": "object"}));
    assert!(schema["$defs"]["S0"]["properties"].is_object());
    toolcrib_schema::CompiledSchema::compile(&schema).unwrap();
    let plain = json!({"$defs": {"A": {"allOf": [{"type": "object"}]}}, "$ref": "#/$defs/A"});
    assert_eq!(fit(&mut schemas, plain).1, None);
    let deep: serde_json::Map<String, Value> = (0..300)
        .map(|index| {
            (
                format!("S{index}"),
                json!({"properties": {"a": {"$ref": format!("#/$defs/S{}", (index + 1) % 300)}}}),
            )
        })
        .collect();
    let mut schemas = Schemas::new(Spec::new(&documents).unwrap());
    let (deep, note) = fit(&mut schemas, json!({"$ref": "#/$defs/S0", "$defs": deep}));
    let note = note.unwrap();
    assert!(note.contains("nested deeper than 128 levels"), "{note}");
    // What lay behind the first that is left out is not there at all.
    assert!(note.starts_with("1 parts "), "{note}");
    let left: Vec<_> =
        deep["$defs"].as_object().unwrap().values().filter(|part| **part == json!({})).collect();
    assert!(left.len() == 1 && deep["$defs"].as_object().unwrap().len() < 150);
    toolcrib_schema::CompiledSchema::compile(&deep).unwrap();
}

#[test]
fn all_schemas_of_a_document_share_a_bound_and_each_has_its_part_of_it() {
    let large: Vec<Value> = (0..2000).map(Value::from).collect();
    let documents = Documents::single(document("3.0.0", json!({"Large": {"enum": large}})));
    let spec = Spec::new(&documents).unwrap();
    let schema = json!({"items": {"$ref": "#/components/schemas/Large"}});
    let mut schemas = Schemas::new(spec);
    schemas.share_among(4000);
    let mut bundled = || {
        let mut converter = Converter::new(&mut schemas, Direction::Input);
        converter.convert(spec.root().at(&schema)).unwrap();
        converter.definitions().unwrap()
    };
    let (definitions, notes) = bundled();
    let note = "1 parts of the schema are omitted and allow any value: it is too large";
    assert_eq!((values(&definitions), notes), (json!({"Large": {}}), vec![note.to_owned()]));
    // What the first ones have not used is there for the others.
    for _ in 0..2500 {
        bundled();
    }
    assert_eq!(bundled().1, Vec::<String>::new());
}

#[test]
fn texts_that_are_copied_take_room_too() {
    let documents = Documents::single(document("3.0.0", json!({})));
    let mut schemas = Schemas::new(Spec::new(&documents).unwrap());
    let text = Value::from("x".repeat(1 << 20));
    let copies = (0..1000).take_while(|_| schemas.charge(&text).is_ok()).count();
    assert!(copies < 300, "{copies}");
}
