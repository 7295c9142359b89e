//! The arguments that request bodies become.

use super::*;

#[test]
fn a_body_is_flattened_only_when_nothing_is_lost() {
    let plain = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    let keys = |operation| {
        parameters_of(operation)["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(keys(json_body(true, plain.clone())), ["id", "name"]);
    assert_eq!(keys(json_body(false, plain)), ["id", "name"]);
    for (why, required, schema) in [
        (
            "takes other properties",
            true,
            json!({"properties": {"a": {}}, "additionalProperties": {"type": "string"}}),
        ),
        ("is composed", true, json!({"properties": {"a": {}}, "oneOf": [{}]})),
        ("can be null", true, json!({"type": "object", "nullable": true, "properties": {"a": {}}})),
        ("is all or nothing", false, json!({"properties": {"a": {}}, "required": ["a"]})),
        ("is not an object", true, json!({"type": "array", "items": {}})),
        ("has no properties", true, json!({"type": "object"})),
        ("is bounded as a whole", true, json!({"properties": {"a": {}}, "minProperties": 1})),
    ] {
        assert_eq!(keys(json_body(required, schema)), ["id", "body"], "a body that {why}");
    }
}

#[test]
fn a_property_that_is_called_like_a_parameter_is_an_argument_with_another_name() {
    let body = json!({"type": "object", "required": ["id"], "properties": {
        "id": {"type": "string", "description": "New."}, "id__body": {}, "body": {"type": "string"},
    }});
    let mut operation = json_body(true, body);
    operation["parameters"] = json!([{"name": "id", "in": "query", "schema": {}}]);
    let schema = parameters_of(operation);
    let properties = schema["properties"].as_object().unwrap();
    let keys: Vec<_> = properties.keys().collect();
    assert_eq!(keys, ["id", "id__query", "id__body", "id__body__body", "body"]);
    assert_eq!(properties["id"]["description"], "The path parameter `id`.");
    assert_eq!(properties["id__body"]["description"], "New. (The property `id` of the body.)");
    assert_eq!(properties["id__body__body"]["description"], "The property `id__body` of the body.");
    assert_eq!(schema["required"], json!(["id", "id__body"]));
}

#[test]
fn a_body_that_is_composed_of_plain_objects_is_flattened() {
    let part = |name: &str, schema: Value| json!({"type": "object", "required": [name], "properties": {name: schema}});
    let text = json!({"type": "string"});
    let more = json!({"description": "More.", "properties": {"b": text}, "required": ["a", "b"]});
    let whole = json!({
        "description": "All.",
        "required": ["c", "seen"],
        "properties": {"c": {}, "seen": {"readOnly": true}},
        "allOf": [part("a", text.clone()), {"allOf": [more, part("a", text.clone())]}],
    });
    let schema = parameters_of(json_body(true, whole.clone()));
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "c", "a", "b"]);
    assert_eq!(schema["required"], json!(["id", "c", "a", "b"]));
    // What is referred to is composed just so, and refers on as ever.
    let pet = json!({"$ref": "#/components/schemas/Pet"});
    let schema = parameters_of(json_body(true, json!({"allOf": [pet, part("a", pet.clone())]})));
    let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "name", "mother", "a"]);
    assert_eq!(schema["properties"]["a"], json!({"$ref": "#/$defs/Pet"}));
    for (why, part) in [
        ("may be null", json!({"type": "object", "nullable": true, "properties": {"a": {}}})),
        ("has a property of another kind", json!({"properties": {"c": {"type": "integer"}}})),
        ("takes no other properties", json!({"properties": {"a": {}}, "additionalProperties": false})),
        ("takes others", json!({"properties": {"a": {}}, "additionalProperties": true})),
        ("is decided upon", json!({"properties": {"a": {}}, "discriminator": {"propertyName": "a"}})),
        ("has choices", json!({"oneOf": [{"properties": {"a": {}}}]})),
        ("is bounded", json!({"minProperties": 1})),
        ("is no object", json!({"type": "array"})),
        ("is nothing", json!(false)),
    ] {
        let mut whole = whole.clone();
        whole["allOf"][1] = part;
        let schema = parameters_of(json_body(true, whole));
        let keys: Vec<_> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["id", "body"], "a part that {why}");
    }
}
