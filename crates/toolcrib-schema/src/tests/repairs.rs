//! What is repaired, and into what.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolcrib_model::JsonObject;

use crate::CompiledSchema;
use crate::repair::{Change, MAX_REPAIRS, Repaired};

/// Groups of cases. A group has a `schema`, or the schema of the one argument `x`. A case is the value that is given,
/// the value that it becomes and the changes; or the value and the error.
const TABLE: &str = include_str!("repairs.json");

fn object(value: &Value) -> JsonObject {
    value.as_object().cloned().unwrap_or_default()
}

fn changes(repaired: &Repaired) -> Vec<String> {
    let text = |repair: &Value| {
        format!("{} {}", repair["path"].as_str().unwrap(), repair["change"].as_str().unwrap())
    };
    repaired.repairs.iter().map(|repair| text(&json!(repair))).collect()
}

#[test]
fn the_table_holds() {
    let groups: Vec<Value> = serde_json::from_str(TABLE).unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for group in &groups {
        let x = group.get("x");
        let schema = x.map_or_else(|| group["schema"].clone(), |x| json!({"properties": {"x": x}}));
        let whole = |value: &Value| if x.is_some() { json!({"x": value}) } else { value.clone() };
        let compiled = CompiledSchema::compile(&schema).unwrap();
        for case in group["cases"].as_array().unwrap() {
            count += 1;
            let given = whole(&case[0]);
            let (expected, found) = match compiled.repair(object(&given)) {
                Err(violations) => (case[1].clone(), json!(violations.to_string())),
                Ok(repaired) => {
                    assert!(compiled.validate(&repaired.arguments.clone().into()).is_ok());
                    let again = compiled.repair(repaired.arguments.clone()).unwrap();
                    assert_eq!((&again.arguments, &again.repairs), (&repaired.arguments, &vec![]), "{given}");
                    let expected = if case.get(2).is_some() { whole(&case[1]) } else { case[1].clone() };
                    // As text: numbers that are equal and written in two ways are not the same here.
                    let expected = json!([expected.to_string(), case[2]]);
                    (
                        expected,
                        json!([Value::from(repaired.arguments.clone()).to_string(), changes(&repaired)]),
                    )
                }
            };
            if expected != found {
                wrong.push(format!("{}: {given}\n  expected {expected}\n  found    {found}", group["about"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 120, "{count} cases");
}

/// Schemas of two arguments, with everything that repairs know of.
pub(super) fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "integer"})),
        Just(json!({"type": "integer", "minimum": 3, "default": 5})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "maxLength": 2, "default": "ab"})),
        Just(json!({"type": "boolean", "default": false})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({"enum": ["Ab", "no", 1, true]})),
        Just(json!({"const": "1"})),
        Just(json!({"$ref": "#/$defs/shared"})),
        Just(json!({"$ref": "#/$defs/self"})),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!({"not": {"type": "string"}})),
    ];
    let part = leaf.prop_recursive(3, 12, 3, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            two.clone()
                .prop_map(|(first, rest)| json!({"prefixItems": [first], "items": rest, "maxItems": 3})),
            two.clone().prop_map(
                |(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}, "required": ["b"]})
            ),
            inner.clone().prop_map(|rest| json!({"type": "object", "additionalProperties": rest})),
            two.clone().prop_map(|(a, b)| json!({"anyOf": [a, b]})),
            two.clone().prop_map(|(a, b)| json!({"oneOf": [a, b]})),
            two.clone().prop_map(|(a, b)| json!({"allOf": [a, b]})),
            (two, inner).prop_map(|((a, b), c)| json!({"if": a, "then": b, "else": c})),
        ]
    });
    (part.clone(), part, any::<bool>()).prop_map(|(a, b, is_required)| {
        let required: &[&str] = if is_required { &["a"] } else { &[] };
        json!({"type": "object", "properties": {"a": a, "b": b}, "required": required, "$defs": {
            "shared": {"type": "array", "items": {"type": "integer"}, "default": ["7"]},
            "self": {"anyOf": [{"type": "integer"}, {"type": "object", "properties": {"a": {"$ref": "#/$defs/self"}},
                                                     "required": ["a"]}]},
        }})
    })
}

/// Values that say something in the wrong type more often than not.
fn values() -> impl Strategy<Value = Value> {
    let text = "[0-9]{1,2}|-?[1-9][.]?[05]|true|False|AB|no|ab|\\[\\]|\\{\\}|";
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-9..9_i64).prop_map(Value::from),
        (-9..9_i32).prop_map(|number| json!(f64::from(number) / 2.0)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[ab]", inner.clone(), 0..3).prop_map(|map| json!(map)),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn what_is_repaired_fits_and_is_not_repaired_again(schema in schemas(), a in values(), b in values()) {
        let Ok(compiled) = CompiledSchema::compile(&schema) else { return Ok(()) };
        let given = object(&json!({"a": a, "b": b}));
        let fits = compiled.validate(&given.clone().into()).is_ok();
        match compiled.repair(given.clone()) {
            Err(violations) => {
                prop_assert!(!fits);
                prop_assert_eq!(Err(violations), compiled.validate(&given.into()));
            }
            Ok(repaired) => {
                // As text: numbers that are equal and written in two ways are not the same here.
                let [before, after] = [given, repaired.arguments.clone()].map(|map| Value::from(map).to_string());
                let is_same = before == after;
                prop_assert_eq!(is_same, repaired.repairs.is_empty());
                let is_gentle = |repair: &crate::Repair| {
                    matches!(repair.change, Change::DefaultFilled | Change::NumberToInteger)
                };
                prop_assert!(!fits || repaired.repairs.iter().all(is_gentle));
                prop_assert!(compiled.validate(&repaired.arguments.clone().into()).is_ok());
                let again = compiled.repair(repaired.arguments.clone()).unwrap();
                prop_assert_eq!(again, Repaired { arguments: repaired.arguments, repairs: vec![] });
            }
        }
    }

    #[test]
    fn a_number_survives_the_way_to_a_text_and_back(whole in -(1_i64 << 53) + 1..(1 << 53), float: f64) {
        let schema = |kind: &str| CompiledSchema::compile(&json!({"properties": {"x": {"type": kind}}})).unwrap();
        let there_and_back = |value: Value, kind: &str| {
            let text = schema("string").repair(object(&json!({"x": value})))?;
            schema(kind).repair(text.arguments)
        };
        prop_assert_eq!(&there_and_back(whole.into(), "integer").unwrap().arguments["x"], &json!(whole));
        if let Ok(back) = there_and_back(float.into(), "number") {
            prop_assert_eq!(&back.arguments["x"], &json!(float));
        }
    }
}

#[test]
fn too_many_changes_are_refused_and_long_values_are_shown_short() {
    let schema = CompiledSchema::compile(&json!({"properties": {
        "n": {"type": "array", "items": {"type": "integer"}}, "t": {"type": "string"},
    }}))
    .unwrap();
    let texts = |count: usize| object(&json!({"n": vec!["7"; count]}));
    assert_eq!(schema.repair(texts(MAX_REPAIRS)).unwrap().repairs.len(), MAX_REPAIRS);
    let refused = schema.repair(texts(MAX_REPAIRS + 1)).unwrap_err();
    assert!(refused.to_string().starts_with("`n[0]` must be of type integer, not \"7\""));

    let long = schema.repair(object(&json!({"t": ["é".repeat(5000)]}))).unwrap();
    let shown = json!(long.repairs);
    assert_eq!(shown[0]["change"], "written_as_json");
    assert!(shown.to_string().len() < 1000, "{shown}");
    assert_eq!(long.arguments["t"].as_str().unwrap().len(), 10_004);
}

#[test]
fn a_repair_tells_what_was_and_what_is() {
    let schema = CompiledSchema::compile(&json!({"properties": {
        "a/b": {"type": "integer"}, "gone": {"type": "string"}, "new": {"default": [1]},
    }}))
    .unwrap();
    let repaired = schema.repair(object(&json!({"a/b": "1", "gone": null}))).unwrap();
    assert_eq!(
        json!(repaired.repairs),
        json!([
            {"path": "/a~1b", "change": "string_to_integer", "from": "1", "to": 1},
            {"path": "/gone", "change": "null_removed", "from": null},
            {"path": "/new", "change": "default_filled", "to": [1]},
        ])
    );
}
