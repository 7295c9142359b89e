//! Which schemas are compiled when they are loaded, and which when they are first needed.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_schema::CompiledSchema;

use super::{first, tool};
use crate::build::{SimpleDefinitions, is_simple};
use crate::{Snapshot, ToolRegistry};
use toolcrib_port::LoadOutcome;

/// Values such as stand behind keywords, the wrong keyword included.
fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-10.0..10.0).prop_map(|number: f64| json!(number)),
        "string|strng|null|integer|object|a|\\(|https://json-schema.org/draft/2020-12/schema|http://json-schema.org/draft-04/schema#|"
            .prop_map(Value::from),
        prop::collection::vec("string|null|integer|a|", 0..4).prop_map(|texts| json!(texts)),
        prop::collection::vec(any::<i8>(), 0..4).prop_map(|numbers| json!(numbers)),
        Just(json!({})),
        Just(Value::Null),
        Just(json!([{"$ref": "#/nowhere"}])),
        Just(json!({"$ref": "#/nowhere"})),
    ]
}

/// Every keyword that a plain schema may have, and some that it may not.
fn keyword() -> impl Strategy<Value = String> {
    "type|properties|items|additionalProperties|anyOf|required|title|description|format|enum|examples|const|default|\
     minimum|maximum|exclusiveMinimum|exclusiveMaximum|minLength|maxLength|minItems|maxItems|uniqueItems|\\$schema|\
     allOf|minProperties|maxProperties|contentEncoding|contentMediaType|deprecated|pattern|\\$ref|\\$id|oneOf|not|if|multipleOf|unevaluatedProperties"
}

/// Schemas that are right in most parts: each keyword has a value of its sort, or any.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => "string|integer|number|boolean|null".prop_map(|name| json!({"type": name})),
        2 => prop::collection::vec(any::<i8>(), 1..4).prop_map(|values| json!({"enum": values})),
        1 => Just(json!({"type": ["string", "null"], "maxLength": 5, "format": "date"})),
        1 => Just(json!({"minimum": 0, "exclusiveMaximum": 1.5, "default": 1, "examples": [1, "x", null]})),
        1 => Just(json!(true)),
        1 => (keyword(), value()).prop_map(|(keyword, value)| json!({keyword: value})),
    ];
    leaf.prop_recursive(6, 40, 4, |inner| {
        prop_oneof![
            3 => prop::collection::btree_map("[a-c]|\\$ref|pattern", inner.clone(), 0..4).prop_map(|properties| {
                let required: Vec<_> = properties.keys().cloned().collect();
                json!({"type": "object", "properties": properties, "required": required})
            }),
            2 => inner.clone().prop_map(|items| json!({"type": "array", "items": items, "uniqueItems": true})),
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(|parts| json!({"anyOf": parts})),
            1 => inner.clone().prop_map(|rest| json!({"additionalProperties": rest})),
            1 => (inner, keyword(), value()).prop_map(|(mut schema, keyword, value)| {
                if let Some(map) = schema.as_object_mut() {
                    map.insert(keyword, value);
                }
                schema
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_schema_that_is_left_for_later_always_compiles(schema in schema()) {
        if is_simple(&schema.clone().into(), &SimpleDefinitions::default()) {
            let compiled = CompiledSchema::compile(&schema);
            prop_assert!(compiled.is_ok_and(|compiled| compiled.unchecked().is_empty()));
        }
    }
}

#[test]
fn what_a_look_cannot_prove_is_compiled_at_once() {
    let nested = |depth: usize| (0..depth).fold(json!({}), |inside, _| json!({"items": inside}));
    let many = |count: usize| json!({"properties": {"a": {"enum": (0..count).collect::<Vec<_>>()}}});
    for (schema, plain) in [
        (json!({}), true),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "string"}}}),
            true,
        ),
        (json!({"properties": {"$ref": {"type": "string"}}}), true),
        (json!({"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}), false),
        (json!({"$schema": "http://json-schema.org/draft-04/schema#"}), false),
        (json!({"type": "strng"}), false),
        (json!({"type": []}), false),
        (json!({"pattern": "^SM[0-9a-fA-F]{32}$"}), true),
        (json!({"pattern": "^(?!a)b"}), false),
        (json!({"pattern": "("}), false),
        (json!({"pattern": "a{0,1000}"}), false),
        (json!({"$ref": "#"}), false),
        (json!({"default": {"$ref": "x"}}), false),
        (json!({"enum": []}), false),
        (json!({"required": ["a", "a"]}), false),
        (nested(32), true),
        (nested(33), false),
        (many(400), true),
        (many(200_000), false),
    ] {
        assert_eq!(is_simple(&schema.clone().into(), &SimpleDefinitions::default()), plain, "{schema}");
    }
}

#[test]
fn a_pattern_that_is_not_checked_is_told_with_its_tool() {
    let lookahead = json!({"properties": {"id": {"type": "string", "pattern": "^(?!x)a"}}});
    let tools = vec![tool("a", "fine"), tool("a", "odd").with_parameters(lookahead)];
    let snapshot = first([("file t.yaml", None, LoadOutcome { tools, rejected: vec![] })]);
    assert_eq!(snapshot.iter().len(), 2);
    let warnings = snapshot.warnings();
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    let expected = "`a.odd` (file t.yaml): the pattern `^(?!x)a` at `/properties/id` is not checked: ";
    assert!(warning.starts_with(expected), "{warning}");
    assert!(Snapshot::default().warnings().is_empty());
}

#[test]
fn very_many_warnings_are_counted_rather_than_listed() {
    let of = |number: usize| json!({"properties": {"id": {"pattern": format!("^(?!x){number}")}}});
    let tools = (0..150).map(|number| tool("a", &format!("t{number}")).with_parameters(of(number)));
    let snapshot = ToolRegistry::from_tools("s", tools).unwrap().snapshot();
    assert_eq!(snapshot.warnings().len(), 101);
    assert_eq!(snapshot.warnings()[100], "and 50 more patterns are not checked");
}
