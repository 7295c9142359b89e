//! What schemas promise.

mod attacks;
mod drafts;
mod hostile;
mod profile;
mod repairs;

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
            Value::Null,
        ),
        (
            json!({"city": "x", "days": 15}),
            "`days` is not valid: it is greater than the maximum of 14",
            json!({"type": "integer", "minimum": 1, "maximum": 14}),
        ),
        (json!({"city": "x", "tags": ["a", 1]}), "`tags[1]` must be of type string, not 1", Value::Null),
        (
            json!({"city": "x", "dais": 3}),
            "unknown argument `dais`, did you mean `days`?",
            json!({"type": "integer", "minimum": 1, "maximum": 14}),
        ),
        (json!({"city": "x", "zzz": 3}), "unknown argument `zzz`", weather().schema()["properties"].clone()),
    ] {
        let violations = weather().validate(&given).unwrap_err();
        assert_eq!(violations.to_string(), message);
        let first = violations.iter().next().unwrap();
        assert_eq!(first.expected.clone().unwrap_or_default(), expected, "{message}");
    }
}

#[test]
fn several_unknown_arguments_are_followed_by_one_list_of_the_known_ones() {
    let long = "Long enough that the schema is not shown. ".repeat(10);
    let schema = json!({"properties": {"a": {"description": long}, "b": {}}, "additionalProperties": false});
    let violations =
        CompiledSchema::compile(&schema).unwrap().validate(&json!({"xx": 1, "yy": 2})).unwrap_err();
    let told = "unknown argument `xx`; expected one of: a, b; unknown argument `yy`";
    assert_eq!(violations.to_string(), told);
    assert!(violations.iter().all(|violation| violation.expected.is_none()));
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

/// Runs on a stack that is a quarter of the usual one.
pub(super) fn on_a_small_stack(check: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(check).unwrap().join().unwrap();
}

/// Definitions `d0` to `d{count - 1}`, each made from the reference to the next, and the last from `true`.
fn chain(count: usize, link: impl Fn(Value) -> Value) -> Value {
    let definition = |position: usize| {
        let next = position + 1;
        let next = if next == count {
            json!({"type": "string"})
        } else {
            json!({"$ref": format!("#/$defs/d{next}")})
        };
        (format!("d{position}"), link(next))
    };
    json!({"$ref": "#/$defs/d0", "$defs": (0..count).map(definition).collect::<serde_json::Map<_, _>>()})
}

#[test]
fn long_ways_through_references_overflow_no_stack() {
    on_a_small_stack(|| {
        let links: [fn(Value) -> Value; 3] = [
            |next| next,
            |next| json!({"properties": {"a": next}}),
            |next| json!({"allOf": [{"items": next}, {"type": "array"}]}),
        ];
        for link in links {
            // A link is up to three parts, so that one of these is the longest that is taken.
            for count in [40, 60, 120, 2000] {
                let compiled = CompiledSchema::compile(&chain(count, link));
                assert!(compiled.is_ok() || count > 40);
                assert!(compiled.is_ok() || compiled.as_ref().is_err_and(|error| *error == Error::TooDeep));
                assert!(compiled.is_err() || count < 2000);
                if let Ok(schema) = compiled {
                    let _ = schema.validate(&json!(5));
                    let _ = schema.minimal_example();
                }
            }
        }
    });
}

#[test]
fn references_that_multiply_the_checks_are_refused() {
    let links: [fn(Value) -> Value; 5] = [
        |next| json!({"anyOf": [next, next]}),
        |next| json!({"oneOf": [next, next]}),
        |next| json!({"allOf": [next, next]}),
        |next| json!({"if": next, "then": next, "else": next}),
        |next| json!({"not": next, "dependentSchemas": {"a": next}}),
    ];
    for link in links {
        on_a_small_stack(move || {
            let error = CompiledSchema::compile(&chain(40, link)).unwrap_err();
            assert_eq!(error, Error::TooMuchWork, "{}", link(json!({})));
            assert!(CompiledSchema::compile(&chain(8, link)).unwrap().validate(&json!(5)).is_err());
        });
    }
}

#[test]
fn a_deep_wrong_value_of_a_recursive_schema_is_refused_quickly() {
    on_a_small_stack(|| {
        let schema = CompiledSchema::compile(&json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {"type": "object", "properties": {
                "a": {"anyOf": [{"$ref": "#/$defs/node"}, {"$ref": "#/$defs/node"}]}}}},
        }))
        .unwrap();
        let mut value = json!(5);
        for _ in 0..60 {
            value = json!({"a": value});
        }
        let message = schema.validate(&value).unwrap_err().to_string();
        assert!(message.contains("too large or deep"), "{message}");
    });
}

#[test]
fn a_deep_value_of_a_deep_schema_overflows_no_stack() {
    // What the threads of a runtime have.
    let check = || {
        for count in [1, 10, 30, 100] {
            let mut schema = chain(count, |next| next);
            schema["$defs"][format!("d{}", count - 1)] =
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}});
            let schema = CompiledSchema::compile(&schema).unwrap();
            for (depth, is_deep) in [(1, false), (15, false), (127, true)] {
                let nested = |inside| (0..depth).fold(inside, |value, _| json!({"a": value}));
                let accepted = schema.accepts(&nested(json!({})));
                assert!(accepted || is_deep || count == 100, "{count} {depth}");
                assert!(schema.validate(&nested(json!(5))).is_err());
            }
        }
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(check).unwrap().join().unwrap();
}

#[test]
fn examples_stay_small_however_much_the_schema_asks_for() {
    let mut nested = json!({"type": "string"});
    for _ in 0..7 {
        nested = json!({"type": "array", "minItems": 64, "items": nested});
    }
    let names: Vec<_> = (0..5000).map(|name| format!("p{name}")).collect();
    let circle =
        json!({"$defs": {"n": {"allOf": vec![json!({"$ref": "#/$defs/n"}); 5]}}, "$ref": "#/$defs/n"});
    let given = json!({"type": "array", "minItems": 9, "items": {"default": "x".repeat(100_000)}});
    for schema in [nested, json!({"required": names}), circle, given] {
        assert_eq!(CompiledSchema::compile(&schema).unwrap().minimal_example(), None);
    }
}

#[test]
fn messages_stay_short_however_long_names_and_values_are() {
    let properties: serde_json::Map<_, _> =
        (0..500).map(|name| (format!("{name}{}", "p".repeat(1000)), json!({"type": "integer"}))).collect();
    let schema =
        CompiledSchema::compile(&json!({"properties": properties, "additionalProperties": false})).unwrap();
    let value: serde_json::Map<_, _> =
        (0..100).map(|name| (format!("{name}{}", "x".repeat(100_000)), json!("y"))).collect();
    let violations = schema.validate(&value.into()).unwrap_err();
    assert!(violations.to_string().chars().count() <= 4001);
    let first = violations.iter().next().unwrap();
    assert!(first.message.contains("and 488 more"), "{}", first.message);
    assert!(first.message.len() < 1500);

    let typed = CompiledSchema::compile(&json!({"additionalProperties": {"type": "integer"}})).unwrap();
    let value = json!({"k".repeat(100_000): " is not of type ".repeat(10_000)});
    assert!(typed.validate(&value).unwrap_err().to_string().len() < 500);
}
