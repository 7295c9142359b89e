//! What schemas promise.

use serde_json::{Value, json};

use crate::{CompiledSchema, Error};

fn weather() -> CompiledSchema {
    CompiledSchema::compile(&json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city"],
    }))
    .unwrap()
}

#[test]
fn violations_say_what_is_wrong_and_what_was_expected() {
    for (given, message, expected) in [
        (json!({}), "`city` is missing", json!({"type": "string", "description": "where"})),
        (
            json!({"city": 5}),
            "`city` must be of type string, not 5",
            json!({"type": "string", "description": "where"}),
        ),
        (
            json!({"city": "x", "unit": "kelvin"}),
            "`unit` must be one of \"celsius\", \"fahrenheit\", not \"kelvin\"",
            json!({"enum": ["celsius", "fahrenheit"]}),
        ),
        (
            json!({"city": "x", "days": 15}),
            "`days` is not valid: it is greater than the maximum of 14",
            json!({"type": "integer", "minimum": 1, "maximum": 14}),
        ),
        (
            json!({"city": "x", "tags": ["a", 1]}),
            "`tags[1]` must be of type string, not 1",
            json!({"type": "string"}),
        ),
        (
            json!({"city": "x", "dais": 3}),
            "unknown argument `dais`, did you mean `days`?",
            json!({"type": "integer", "minimum": 1, "maximum": 14}),
        ),
        (
            json!({"city": "x", "zzz": 3}),
            "unknown argument `zzz`; expected one of: city, days, unit, tags",
            weather().schema()["properties"].clone(),
        ),
    ] {
        let violations = weather().validate(&given).unwrap_err();
        assert_eq!(violations.to_string(), message);
        let first = violations.iter().next().unwrap();
        assert_eq!(first.expected.clone().unwrap_or_default(), expected, "{message}");
    }
}

#[test]
fn unknown_arguments_pass_where_the_schema_is_open() {
    for schema in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
        json!({"anyOf": [{"properties": {"a": {}}}], "properties": {"c": {}}}),
    ] {
        assert!(CompiledSchema::compile(&schema).unwrap().validate(&json!({"b": 1})).is_ok(), "{schema}");
    }
    let closed = CompiledSchema::compile(&json!({"properties": {}, "additionalProperties": false})).unwrap();
    assert_eq!(
        closed.validate(&json!({"b": 1})).unwrap_err().to_string(),
        "unknown argument `b`; none is expected here"
    );
}

#[test]
fn a_schema_that_is_none_says_where() {
    let error = CompiledSchema::compile(&json!({"properties": {"a": {"type": "strng"}}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a valid JSON Schema at `/properties/a/type`: \"strng\" is no type; the types are string, number, integer, \
         boolean, object, array and null"
    );
    assert!(matches!(CompiledSchema::compile(&json!({"pattern": "("})), Err(Error::Invalid { .. })));
    assert!(CompiledSchema::compile(&json!({"$ref": "#/$defs/absent"})).is_err());
}

#[test]
fn nothing_is_fetched_for_a_reference() {
    for reference in ["https://example.com/schema.json", "file:///etc/passwd", "other.json"] {
        let error = CompiledSchema::compile(&json!({"properties": {"a": {"$ref": reference}}})).unwrap_err();
        assert!(matches!(error, Error::ExternalRef { .. }), "{reference}: {error:?}");
    }
}

#[test]
fn a_recursive_schema_compiles_and_checks() {
    let schema = CompiledSchema::compile(&json!({
        "type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "required": ["node"],
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "id": {"type": "integer"}},
                           "required": ["id"]}},
    }))
    .unwrap();
    assert!(schema.validate(&json!({"node": {"id": 1, "next": {"id": 2}}})).is_ok());
    assert_eq!(
        schema.validate(&json!({"node": {"id": 1, "next": {}}})).unwrap_err().to_string(),
        "`node.next.id` is missing"
    );
    assert_eq!(schema.minimal_example(), Some(json!({"node": {"id": 1}})));
}

#[test]
fn a_schema_beyond_the_bounds_is_refused() {
    let mut deep = json!({});
    for _ in 0..200 {
        deep = json!({"items": deep});
    }
    assert_eq!(CompiledSchema::compile(&deep).unwrap_err(), Error::TooDeep);
    let wide = json!({"anyOf": vec![json!({"type": "string"}); 100_000]});
    assert_eq!(CompiledSchema::compile(&wide).unwrap_err(), Error::TooLarge);
}

#[test]
fn minimal_examples_are_valid_or_absent() {
    for (schema, expected) in [
        (json!({"type": "string", "minLength": 6}), Some(json!("textxx"))),
        (json!({"type": "string", "maxLength": 2}), Some(json!("te"))),
        (json!({"type": "integer", "exclusiveMinimum": 4}), Some(json!(5))),
        (json!({"type": "number", "maximum": -2}), Some(json!(-2.0))),
        (json!({"type": "array", "minItems": 2, "items": {"type": "boolean"}}), Some(json!([true, true]))),
        (json!({"type": ["string", "null"]}), Some(json!("text"))),
        (json!({"enum": [3, 4]}), Some(json!(3))),
        (json!({"type": "string", "pattern": "^[0-9]{5}$"}), None),
        (json!({"type": "string", "pattern": "^[0-9]{5}$", "examples": ["12345"]}), Some(json!("12345"))),
        (json!(false), None),
    ] {
        assert_eq!(CompiledSchema::compile(&schema).unwrap().minimal_example(), expected, "{schema}");
    }
}
