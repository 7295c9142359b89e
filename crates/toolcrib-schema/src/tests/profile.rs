//! Schemas as the APIs of model vendors accept them.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::repairs::schemas;
use crate::provider_profile::MAX_SENT_PARTS;
use crate::{CompiledSchema, Profile, Sent};

const PROFILES: [Profile; 6] = [
    Profile::OpenAi,
    Profile::OpenAiStrict,
    Profile::Anthropic,
    Profile::Structured,
    Profile::Gemini,
    Profile::Portable,
];

/// What is sent of one argument named `x`.
fn sent_x(schema: &Value, profile: Profile) -> Value {
    let schema = json!({"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": {
        "name": {"type": "string", "maxLength": 9},
        "tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
    }});
    Sent::new(&schema, profile).schema["properties"]["x"].clone()
}

/// What it is about, a schema, where it is sent, and what is sent.
type Case = (&'static str, Value, Profile, Value);

fn references_and_keywords() -> Vec<Case> {
    let tree =
        |inner: Value| json!({"type": "object", "properties": {"below": {"type": "array", "items": inner}}});
    let again = "(the same form again as the one around it)";
    vec![
        (
            "a reference is written out, with what stands beside it",
            json!({"$ref": "#/$defs/name", "description": "who"}),
            Profile::Anthropic,
            json!({"description": "who", "type": "string", "maxLength": 9}),
        ),
        (
            "a circle is cut where it closes",
            json!({"$ref": "#/$defs/tree"}),
            Profile::Gemini,
            tree(json!({"type": "object", "description": again})),
        ),
        (
            "keywords become words",
            json!({"type": "integer", "description": "how many", "minimum": 1, "multipleOf": 5}),
            Profile::Gemini,
            json!({"description": "how many (multipleOf: 5)", "type": "integer", "minimum": 1}),
        ),
        (
            "an unknown format becomes a word",
            json!({"type": "string", "format": "phone"}),
            Profile::OpenAi,
            json!({"type": "string", "description": "(format: \"phone\")"}),
        ),
        (
            "a known format stays",
            json!({"type": "string", "format": "date"}),
            Profile::OpenAi,
            json!({"type": "string", "format": "date"}),
        ),
        (
            "flags of draft 4 become words",
            json!({"type": "number", "minimum": 1, "exclusiveMinimum": true}),
            Profile::OpenAi,
            json!({"type": "number", "minimum": 1, "description": "(exclusiveMinimum: true)"}),
        ),
    ]
}

fn types_and_alternatives() -> Vec<Case> {
    vec![
        (
            "one constant is a list of one",
            json!({"const": "a"}),
            Profile::Gemini,
            json!({"type": "string", "enum": ["a"]}),
        ),
        (
            "numbers that are listed become words",
            json!({"enum": [1, 2]}),
            Profile::Gemini,
            json!({"type": "number", "description": "(enum: [1,2])"}),
        ),
        (
            "null is a flag",
            json!({"type": ["string", "null"]}),
            Profile::Gemini,
            json!({"type": "string", "nullable": true}),
        ),
        (
            "null is a word where there is no flag",
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            Profile::Portable,
            json!({"type": "string", "description": "(may be null)"}),
        ),
        (
            "several types are alternatives",
            json!({"type": ["string", "array"], "items": {"type": "string"}}),
            Profile::Gemini,
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        ),
        (
            "exclusive alternatives are alternatives",
            json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
            Profile::OpenAiStrict,
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ),
        (
            "what applies together is one",
            json!({"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"required": ["a"]}]}),
            Profile::Portable,
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}),
        ),
        (
            "a list has items",
            json!({"type": "array"}),
            Profile::OpenAi,
            json!({"type": "array", "items": {}}),
        ),
        (
            "a part without a type has one",
            json!({}),
            Profile::Portable,
            json!({"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}],
                   "description": "(any JSON value)"}),
        ),
        (
            "bounds are words where the API takes none, and objects are closed",
            json!({"type": "object", "required": ["a"], "properties": {
                "a": {"type": "integer", "minimum": 1, "maximum": 9}, "b": {"type": "string", "format": "date"}}}),
            Profile::Structured,
            json!({"type": "object", "required": ["a"], "properties": {
                "a": {"type": "integer", "description": "(minimum: 1; maximum: 9)"},
                "b": {"type": "string", "format": "date"},
            }, "additionalProperties": false}),
        ),
        (
            "what may be left out takes null where all is required",
            json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"enum": ["c"]}, "d": {"anyOf": [
                {"type": "string"}, {"type": "integer"}]}}}),
            Profile::OpenAiStrict,
            json!({"type": "object", "required": ["a", "b", "d"], "properties": {
                "a": {"type": ["string", "null"]}, "b": {"enum": ["c", null]},
                "d": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            }, "additionalProperties": false}),
        ),
    ]
}

#[test]
fn each_api_gets_what_it_accepts() {
    for (about, schema, profile, expected) in
        references_and_keywords().into_iter().chain(types_and_alternatives())
    {
        assert_eq!(sent_x(&schema, profile), expected, "{about}");
    }
}

#[test]
fn the_arguments_as_a_whole_are_an_object() {
    let one = |schema: Value| Sent::new(&schema, Profile::Anthropic).schema;
    let properties = json!({"a": {"type": "string"}, "b": {"type": "integer"}});
    assert_eq!(
        one(
            json!({"type": "object", "properties": properties, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
        ),
        json!({"type": "object", "properties": properties, "description": "(give at least one of: a; b)"})
    );
    assert_eq!(
        one(json!({"description": "Find.", "oneOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "required": ["a", "b"]},
        ]})),
        json!({"description": "Find. (give exactly one of: b)", "type": "object", "required": ["a"],
               "properties": properties})
    );
    for schema in [json!({}), json!(true), json!({"type": "null"}), json!({"$ref": "#"}), json!([])] {
        let sent = one(schema);
        assert_eq!((&sent["type"], &sent["properties"]), (&json!("object"), &json!({})));
    }
}

#[test]
fn names_that_are_refused_are_changed_and_put_back() {
    let long = "n".repeat(65);
    let schema = json!({
        "properties": {
            "plain.name-1": {"type": "string"}, "filter[name]": {"type": "string"}, "filter<name>": {"type": "string"},
            "größe": {"type": "object", "properties": {"$top": {"type": "integer"}}, "required": ["$top"],
                      "default": {"$top": 1}},
            long.clone(): {"type": "array", "items": {"properties": {"a b": {"type": "string"}}}},
            "": {"type": "string"},
        },
        "required": ["filter[name]"],
    });
    for profile in PROFILES {
        let sent = Sent::new(&schema, profile);
        let names: Vec<&String> = sent.schema["properties"].as_object().unwrap().keys().collect();
        let is_accepted = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        assert!(names.iter().all(|name| (1..=64).contains(&name.len()) && name.chars().all(is_accepted)));
        assert_eq!((names.len(), names[0].as_str()), (6, "plain.name-1"));
        let [filter, other, size, many] = [1, 2, 3, 4].map(|at: usize| names[at].as_str());
        assert!(sent.schema["required"].as_array().unwrap().contains(&json!(filter)));
        let inner = |part: &Value| part["properties"].as_object().unwrap().keys().next().unwrap().clone();
        let top = inner(&sent.schema["properties"][size]);
        let item = inner(&sent.schema["properties"][many]["items"]);
        let given =
            json!({filter: "1", other: "2", size: {top: 3}, many: [{item: "4"}], "unknown": {"x": 1}});
        assert_eq!(
            Value::from(sent.restore(given.as_object().cloned().unwrap())),
            json!({"filter[name]": "1", "filter<name>": "2", "größe": {"$top": 3}, long.clone(): [{"a b": "4"}],
                   "unknown": {"x": 1}})
        );
    }
    let default = &Sent::new(&schema, Profile::OpenAi).schema["properties"];
    let default = default.as_object().unwrap().values().find_map(|part| part.get("default")).unwrap();
    assert!(default.get("$top").is_none() && default.as_object().unwrap().len() == 1, "{default}");
}

#[test]
fn nulls_that_strict_models_give_are_dropped_by_the_repair() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}});
    let sent = Sent::new(&schema, Profile::OpenAiStrict);
    assert_eq!(sent.schema["required"], json!(["a", "b"]));
    let given = sent.restore(json!({"a": "x", "b": null}).as_object().cloned().unwrap());
    let repaired = CompiledSchema::compile(&schema).unwrap().repair(given).unwrap();
    assert_eq!(Value::from(repaired.arguments), json!({"a": "x"}));
}

#[test]
fn what_is_sent_is_bounded() {
    let twice = |next: &str| json!({"properties": {"a": {"$ref": next}, "b": {"$ref": next}}});
    let parts: Map<_, _> =
        (0..40).map(|n| (format!("d{n}"), twice(&format!("#/$defs/d{}", n + 1)))).collect();
    let schema = json!({"$ref": "#/$defs/d0", "$defs": parts});
    for profile in PROFILES {
        let text = Sent::new(&schema, profile).schema.to_string();
        assert!(text.len() < MAX_SENT_PARTS * 400, "{}", text.len());
    }
}

/// The keywords of all parts of a schema.
fn keywords<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    let Some(map) = schema.as_object() else { return };
    found.extend(map.keys().map(String::as_str));
    let properties = map.get("properties").and_then(Value::as_object);
    let branches = ["anyOf", "oneOf"].iter().filter_map(|keyword| map.get(*keyword)?.as_array()).flatten();
    let below = ["items", "additionalProperties"].iter().filter_map(|keyword| map.get(*keyword));
    properties
        .into_iter()
        .flat_map(Map::values)
        .chain(branches)
        .chain(below)
        .for_each(|part| keywords(part, found));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_rewritten_is_rewritten_to_itself(schema in schemas()) {
        for profile in PROFILES {
            let sent = Sent::new(&schema, profile).schema;
            prop_assert_eq!(&Sent::new(&schema, profile).schema.to_string(), &sent.to_string());
            prop_assert_eq!(&Sent::new(&sent, profile).schema, &sent, "{:?}", profile);
            let mut found = Vec::new();
            keywords(&sent, &mut found);
            for refused in ["$ref", "$defs", "allOf", "not", "if", "prefixItems"] {
                prop_assert!(!found.contains(&refused), "{refused} in {sent}");
            }
            let is_plain = matches!(profile, Profile::Gemini | Profile::Portable);
            prop_assert!(!is_plain || !found.iter().any(|keyword| ["const", "oneOf"].contains(keyword)));
            prop_assert!(["anyOf", "oneOf", "enum", "const"].iter().all(|keyword| sent.get(*keyword).is_none()));
        }
    }
}

#[test]
fn alternatives_beside_listed_values_get_no_type_of_their_own() {
    let schema = json!({"properties": {"a": {
        "allOf": [{"anyOf": [{"type": "integer"}, {"type": "object"}]}, {"const": "1"}],
    }}});
    let once = Sent::new(&schema, Profile::Gemini).schema;
    assert!(once["properties"]["a"].get("type").is_none(), "{once}");
    assert_eq!(Sent::new(&once, Profile::Gemini).schema, once);
}

#[test]
fn listed_values_of_another_type_are_said_and_not_sent() {
    let schema = json!({"properties": {"a": {
        "allOf": [{"type": "boolean"}, {"anyOf": [{"const": "1"}, {"const": "1"}]}],
    }}});
    let once = Sent::new(&schema, Profile::Gemini).schema;
    assert!(once["properties"]["a"].get("enum").is_none(), "{once}");
    assert_eq!(Sent::new(&once, Profile::Gemini).schema, once);
}
