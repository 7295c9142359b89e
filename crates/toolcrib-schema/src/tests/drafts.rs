//! Drafts of JSON Schema, and patterns that cannot be checked.

use serde_json::{Value, json};

use crate::{CompiledSchema, Error};

const NONE: &str = "";
const DRAFT_4: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_6: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema";
const DRAFT_2019_09: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020_12: &str = "https://json-schema.org/draft/2020-12/schema";

fn with_draft(schema: &Value, draft: &str) -> Value {
    let mut schema = schema.clone();
    if !draft.is_empty() {
        schema["$schema"] = draft.into();
    }
    schema
}

/// Whether a schema of this draft takes the value; none where it is no schema of this draft.
fn takes(schema: &Value, draft: &str, value: &Value) -> Option<bool> {
    CompiledSchema::compile(&with_draft(schema, draft)).ok().map(|schema| schema.accepts(value))
}

#[test]
fn each_draft_is_told_from_the_others() {
    let drafts = [DRAFT_4, DRAFT_6, DRAFT_7, DRAFT_2019_09, DRAFT_2020_12, NONE];
    let (yes, no, none) = (Some(true), Some(false), None);
    for (about, schema, value, expected) in [
        (
            "a flag for the bound itself",
            json!({"minimum": 3, "exclusiveMinimum": true}),
            json!(3),
            [no, none, none, none, none, none],
        ),
        ("a bound of its own", json!({"exclusiveMinimum": 3}), json!(3), [none, no, no, no, no, no]),
        ("1.0 as an integer", json!({"type": "integer"}), json!(1.0), [no, yes, yes, yes, yes, yes]),
        ("`const`", json!({"const": 1}), json!(2), [yes, no, no, no, no, no]),
        ("`if`", json!({"if": true, "then": false}), json!(1), [yes, yes, no, no, no, no]),
        (
            "what stands beside a reference",
            json!({"allOf": [{"$ref": "#/definitions/any", "type": "string"}], "definitions": {"any": {}}}),
            json!(1),
            [yes, yes, yes, no, no, no],
        ),
        (
            "dependent properties",
            json!({"dependentRequired": {"a": ["b"]}}),
            json!({"a": 1}),
            [yes, yes, yes, no, no, no],
        ),
        (
            "`dependencies`, which 2019-09 took apart and validators go on to read",
            json!({"dependencies": {"a": ["b"]}}),
            json!({"a": 1}),
            [no, no, no, no, no, no],
        ),
        (
            "what no part has looked at",
            json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
            json!({"b": 1}),
            [yes, yes, yes, no, no, no],
        ),
        (
            "a tuple as a list of items",
            json!({"items": [{"type": "string"}]}),
            json!([1]),
            [no, no, no, no, none, none],
        ),
        (
            "a tuple as first items",
            json!({"prefixItems": [{"type": "string"}]}),
            json!([1]),
            [yes, yes, yes, yes, no, no],
        ),
        ("formats", json!({"format": "date"}), json!("tomorrow"), [no, no, no, yes, yes, yes]),
        (
            "a schema that is a flag",
            json!({"properties": {"a": false}}),
            json!({"a": 1}),
            [none, no, no, no, no, no],
        ),
    ] {
        let found = drafts.map(|draft| takes(&schema, draft, &value));
        assert_eq!(found, expected, "{about}");
    }
}

#[test]
fn a_draft_that_nobody_knows_counts_as_the_newest() {
    for draft in ["https://example.com/my-schema", "http://json-schema.org/draft-03/schema#"] {
        assert_eq!(takes(&json!({"prefixItems": [{"type": "string"}]}), draft, &json!([1])), Some(false));
    }
}

#[test]
fn a_pattern_that_cannot_be_checked_is_left_out_and_told() {
    let schema = json!({
        "type": "object",
        "properties": {
            "password": {"type": "string", "minLength": 3, "pattern": "^(?=.*[0-9]).+$"},
            "code": {"$ref": "#/$defs/code"},
            "zip": {"type": "string", "pattern": "^[0-9]{5}$"},
            "pattern": {"enum": ["(?=x)"]},
        },
        "$defs": {"code": {"type": "string", "pattern": "x{0,100000000}"}},
    });
    let compiled = CompiledSchema::compile(&schema).unwrap();
    assert_eq!(compiled.schema(), &schema);
    let mut told: Vec<_> = compiled.unchecked().iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "the pattern `^(?=.*[0-9]).+$` at `/properties/password` is not checked: look-around and back-references \
             cannot be matched in linear time",
            "the pattern `x{0,100000000}` at `/$defs/code` is not checked: it is too large, or the patterns of the \
             schema are together",
        ]
    );
    for (value, expected) in [
        (json!({"password": "abc", "code": "y", "zip": "01234"}), "fits"),
        (json!({"password": "ab"}), "`password` is not valid: it is shorter than 3 characters"),
        (json!({"zip": "1"}), "`zip` is not valid: it does not match \"^[0-9]{5}$\""),
        (json!({"pattern": "x"}), "`pattern` must be one of \"(?=x)\", not \"x\""),
    ] {
        let found = compiled.validate(&value).map_or_else(|wrong| wrong.to_string(), |()| "fits".into());
        assert_eq!(found, expected);
    }
    let repaired = compiled.repair(json!({"password": 123}).as_object().cloned().unwrap()).unwrap();
    assert_eq!(repaired.arguments["password"], "123");
    assert!(CompiledSchema::compile(&json!({"pattern": "^a+$"})).unwrap().unchecked().is_empty());
}

#[test]
fn a_brace_that_stands_for_itself_does_not_cost_the_tool() {
    for pattern in ["^(?:{[0-9]{2}}|x)$", "{}", "a{,3}", "}{", r"\\{a{1,2}{"] {
        let schema = CompiledSchema::compile(&json!({"properties": {"a": {"pattern": pattern}}})).unwrap();
        assert!(schema.accepts(&json!({"a": "{12}"})) || schema.unchecked().is_empty(), "{pattern}");
    }
    for pattern in ["(a", "a)", "[a", "*", "{(", "a{2,1}"] {
        let schema = CompiledSchema::compile(&json!({"properties": {"a": {"pattern": pattern}}}));
        assert!(schema.is_err(), "{pattern}");
    }
}

#[test]
fn what_depends_on_an_unchecked_pattern_refuses_nothing_that_the_schema_takes() {
    let bad = json!({"type": "string", "pattern": "^(?!a)"});
    for (schema, value) in [
        (json!({"not": bad}), json!("a")),
        (json!({"not": {"$ref": "#/$defs/bad"}, "$defs": {"bad": bad}}), json!("a")),
        (json!({"oneOf": [bad, {"type": "string", "maxLength": 1}]}), json!("a")),
        (json!({"oneOf": [bad, {"const": "a"}], "allOf": [{"type": "string"}]}), json!("a")),
        (json!({"if": bad, "then": false, "else": true}), json!("a")),
        (json!({"contains": bad, "maxContains": 1}), json!(["b", "a"])),
        (
            json!({"patternProperties": {"^(?!a)": {"type": "integer"}}, "additionalProperties": false}),
            json!({"b": 1}),
        ),
        (
            json!({"allOf": [{"patternProperties": {"^(?!a)": true}}], "unevaluatedProperties": false}),
            json!({"b": 1}),
        ),
    ] {
        let compiled = CompiledSchema::compile(&schema).unwrap();
        assert_eq!(compiled.unchecked().len(), 1, "{schema}");
        assert!(compiled.accepts(&value), "{schema}");
    }
    // What does not depend on it is checked as before.
    let beside = json!({"allOf": [{"not": {"const": 1}}, {"oneOf": [{"minimum": 5}, {"maximum": 6}]}, bad]});
    let compiled = CompiledSchema::compile(&beside).unwrap();
    assert!(!compiled.accepts(&json!(1)) && !compiled.accepts(&json!(0)));
    assert!(!CompiledSchema::compile(&json!({"properties": {"a": bad}})).unwrap().accepts(&json!({"a": 1})));
}

#[test]
fn a_pattern_that_is_none_is_an_error() {
    for pattern in ["(", "[a-z", "*", "a{2,1}"] {
        let error = CompiledSchema::compile(&json!({"properties": {"a": {"pattern": pattern}}})).unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{pattern}: {error:?}");
    }
    let error = CompiledSchema::compile(&json!({"properties": {"a": {"pattern": "("}}})).unwrap_err();
    assert_eq!(
        error.to_string(),
        "not a valid JSON Schema at `/properties/a/pattern`: \"(\" is no regular expression"
    );
}
