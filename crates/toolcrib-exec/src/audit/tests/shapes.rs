//! Shapes tell types and listed names, and no values.

use serde_json::{Value, json};

use super::arguments;
use crate::audit::argument_shape::shape;

#[test]
fn a_shape_has_types_and_the_names_that_the_schema_lists() {
    let schema = json!({
        "$defs": {"place": {"properties": {"city": {}, "inner": {"$ref": "#/$defs/place"}}}},
        "properties": {
            "text": {}, "n": {}, "list": {"items": {"$ref": "#/$defs/place"}},
            "pair": {"prefixItems": [{"properties": {"x": {}}}], "items": {"properties": {"y": {}}}},
            "map": {"additionalProperties": {"properties": {"known": {}}}},
            "either": {"anyOf": [{"properties": {"left": {}}}, {"properties": {"right": {}}}]},
        },
    });
    let table = [
        (
            json!({"text": "grüße", "n": 1, "list": null}),
            json!({"text": "string(5)", "n": "integer", "list": "null"}),
        ),
        (json!({"text": 1.5, "n": true}), json!({"text": "number", "n": "boolean"})),
        (json!({"secret name": 1, "other": "x"}), json!({"?": "integer", "?2": "string(1)"})),
        (
            json!({"list": [{"city": "x", "no": 1}, 1, 2, 3, 4]}),
            json!({"list": [{"city": "string(1)", "?": "integer"}, "integer", "integer", "2 more"]}),
        ),
        (
            json!({"pair": [{"x": 1}, {"x": 1, "y": 2}]}),
            json!({"pair": [{"x": "integer"}, {"?": "integer", "y": "integer"}]}),
        ),
        (
            json!({"map": {"a": {"known": 1}, "b": 1}}),
            json!({"map": {"?": {"known": "integer"}, "?2": "integer"}}),
        ),
        (
            json!({"either": {"left": 1, "right": 2, "up": 3}}),
            json!({"either": {"left": "integer", "right": "integer", "?": "integer"}}),
        ),
        (
            json!({"list": [{"inner": {"inner": {"inner": {"city": 1}}}}, {"inner": {"inner": [1, 2]}}]}),
            json!({"list": [{"inner": {"inner": "object(1)"}}, {"inner": {"inner": "array(2)"}}]}),
        ),
    ];
    for (given, expected) in table {
        assert_eq!(shape(&arguments(given.clone()), Some(&schema.clone().into())), expected, "{given}");
    }
}

#[test]
fn a_shape_is_bounded_however_large_the_arguments_and_the_schema_are() {
    let wide: Value = (0..10_000)
        .map(|n| (format!("k{n}"), json!([[1, 2], [3, 4]])))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let branches: Vec<_> =
        (0..10_000).map(|n| json!({"properties": {format!("k{n}"): {"$ref": "#"}}})).collect();
    let schema = json!({"anyOf": branches, "$ref": "#"});
    let shown = shape(&arguments(wide.clone()), Some(&schema.clone().into())).to_string();
    assert!(shown.len() < 4096, "{}", shown.len());
    assert!(shown.contains("more"), "{shown}");
    let listed = json!({"properties": {"x".repeat(100_000): {}}});
    assert!(shape(&arguments(json!({"x".repeat(100_000): 1})), Some(&listed.into())).to_string().len() < 400);
}
