//! Schemas and values that are made to hang or to crash a validator. Each runs on a quarter of the usual stack.

use serde_json::{Value, json};

use super::on_a_small_stack;
use crate::{CompiledSchema, MAX_VALUE_DEPTH};

/// A name, a schema, and what is checked against it.
pub(super) type Attack = (&'static str, fn() -> Value, fn() -> Value);

/// The same schema inside of itself so many times.
fn nested(count: usize, mut inside: Value, wrap: impl Fn(Value) -> Value) -> Value {
    for _ in 0..count {
        inside = wrap(inside);
    }
    inside
}

fn argument(schema: Value) -> Value {
    json!({"properties": {"x": schema}})
}

/// Definitions that each refer to the next one twice.
fn shared(count: usize, link: impl Fn(Value, Value) -> Value) -> Value {
    let mut schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": {}});
    for number in 0..count {
        let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
        schema["$defs"][format!("d{number}")] = link(next.clone(), next);
    }
    schema["$defs"][format!("d{count}")] = json!({"type": "integer"});
    schema
}

/// A text of a list of a text of a list, and so on. Each level doubles the escapes, so few fit into memory.
fn text_in_text(count: usize) -> Value {
    nested(count, json!([1]), |value| json!([value.to_string()]))
}

pub(super) const ATTACKS: &[Attack] = &[
    (
        "100,000 alternatives",
        || argument(json!({"anyOf": vec![json!({"type": "integer"}); 100_000]})),
        || json!({"x": "y"}),
    ),
    (
        "30,000 alternatives and a text that none takes",
        || argument(json!({"anyOf": vec![json!({"type": "integer"}); 30_000]})),
        || json!({"x": "y".repeat(50_000)}),
    ),
    (
        "20,000 alternatives that must be one",
        || {
            let one = |number| json!({"type": "integer", "minimum": number});
            argument(json!({"oneOf": (0..20_000).map(one).collect::<Vec<_>>()}))
        },
        || json!({"x": "500"}),
    ),
    (
        "20,000 lists of values",
        || argument(json!({"anyOf": vec![json!({"enum": ["a", "b"]}); 20_000]})),
        || json!({"x": {"y": vec!["z"; 1000]}}),
    ),
    (
        "depth 10,000",
        || {
            let mut deep = json!({});
            for _ in 0..10_000 {
                deep = Value::Object([("not".to_owned(), deep)].into_iter().collect());
            }
            deep
        },
        || json!({"x": "y"}),
    ),
    (
        "a reference to itself that leaves nothing unseen",
        || {
            json!({"$dynamicAnchor": "self", "type": "object", "unevaluatedProperties": {"$dynamicRef": "#self"},
                   "properties": {"x": {"$dynamicRef": "#self"}}})
        },
        || json!({"x": nested(60, json!("1"), |inside| json!({"x": inside, "y": inside}).as_object().map_or_else(Value::default, |map| json!({"x": map["x"]})))}),
    ),
    ("itself at once", || json!({"$dynamicAnchor": "self", "$dynamicRef": "#self"}), || json!({"x": "1"})),
    ("itself twice", || json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), || json!({"x": "1"})),
    (
        "itself in alternatives",
        || json!({"anyOf": [{"$ref": "#"}, {"required": ["y"], "properties": {"y": {"type": "integer"}}}]}),
        || json!({"y": "1x"}),
    ),
    (
        "a repetition of 100,000,000",
        || argument(json!({"type": "string", "pattern": "x{0,100000000}"})),
        || json!({"x": "x".repeat(50_000)}),
    ),
    (
        "a repetition of a repetition",
        || argument(json!({"type": "string", "pattern": "((x{0,100}){0,100}){0,100}y"})),
        || json!({"x": "x".repeat(50_000)}),
    ),
    (
        "a repetition that just fits",
        || argument(json!({"type": "string", "pattern": "x{0,20000}y"})),
        || json!({"x": "x".repeat(50_000)}),
    ),
    (
        "a pattern that goes back for ever elsewhere",
        || argument(json!({"type": "string", "pattern": "(a+)+$"})),
        || json!({"x": format!("{}b", "a".repeat(50_000))}),
    ),
    (
        "look-around",
        || argument(json!({"type": "string", "pattern": "^(?=(a+)+$)"})),
        || json!({"x": format!("{}b", "a".repeat(50_000))}),
    ),
    (
        "parts that refer to each other",
        || {
            json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"properties": {"n": {"$ref": "#/$defs/b"}}, "type": "object"}]},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"properties": {"n": {"$ref": "#/$defs/a"}}, "type": "object"}]},
            }})
        },
        || json!({"x": nested(60, json!("5"), |inside| json!({"n": inside}))}),
    ),
    ("2^40 ways to the same part, all", || shared(40, |a, b| json!({"allOf": [a, b]})), || json!({"x": "1"})),
    ("2^40 ways to the same part, any", || shared(40, |a, b| json!({"anyOf": [a, b]})), || json!({"x": "1"})),
    ("2^12 ways to the same part, any", || shared(12, |a, b| json!({"anyOf": [a, b]})), || json!({"x": "y"})),
    (
        "2^30 ways through members",
        || shared(30, |a, b| json!({"type": "object", "properties": {"a": a, "b": b}})),
        || json!({"x": nested(30, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "alternatives of alternatives, and texts in them",
        || {
            let list = |inside: Value| json!({"anyOf": [{"type": "array", "items": inside}, {"type": "object", "additionalProperties": inside}, {"type": "integer"}]});
            argument(nested(20, json!({"type": "integer"}), list))
        },
        || json!({"x": text_in_text(12).to_string()}),
    ),
    (
        "100 alternatives inside of each other",
        || {
            argument(nested(
                100 / 3,
                json!({"type": "integer"}),
                |inside| json!({"anyOf": [inside, {"type": "boolean"}]}),
            ))
        },
        || json!({"x": "y"}),
    ),
    (
        "a list of itself, and a list in a text in a list",
        || json!({"properties": {"x": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}),
        || json!({"x": text_in_text(14).to_string()}),
    ),
    (
        "any of itself, in a value that none takes",
        || {
            json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/n"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}, "minProperties": 1},
                {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 3},
            ]}}})
        },
        || json!({"x": nested(40, json!("5"), |inside| json!([inside]))}),
    ),
    (
        "100,000 texts that are numbers",
        || argument(json!({"type": "array", "items": {"type": "integer"}})),
        || json!({"x": vec!["7"; 100_000]}),
    ),
    (
        "100,000 texts that none of two alternatives takes",
        || argument(json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}})),
        || json!({"x": vec!["z"; 100_000]}),
    ),
    (
        "100,000 texts that are listed elsewhere",
        || {
            argument(
                json!({"type": "array", "items": {"enum": (0..1000).map(|n| format!("v{n}")).collect::<Vec<_>>()}}),
            )
        },
        || json!({"x": vec!["V1000"; 100_000]}),
    ),
    (
        "a text of 1 MB that is nearly a list",
        || {
            argument(
                json!({"anyOf": vec![json!({"type": "array", "items": {"type": "integer"}, "maxItems": 5}); 1000]}),
            )
        },
        || json!({"x": format!("[{}1]", "1,".repeat(500_000))}),
    ),
    (
        "a text that is 100,000 lists deep",
        || argument(json!({"type": "array"})),
        || json!({"x": "[".repeat(100_000)}),
    ),
    (
        "defaults of defaults",
        || {
            let two = json!({"$ref": "#/$defs/n", "default": {}});
            let members = json!({"a": two, "b": two, "c": two, "d": two});
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": members}}})
        },
        || json!({}),
    ),
    (
        "100,000 members that look like others",
        || json!({"properties": {"x": {"type": "object", "properties": {"name": {}}}}}),
        || {
            let members: serde_json::Map<_, _> =
                (0..100_000).map(|n| (format!("NAME{n}"), json!(1))).collect();
            let mut value = json!({"x": members});
            value["x"]["Name"] = json!(2);
            value
        },
    ),
    (
        "20,000 names, and 20,000 that are none of them",
        || {
            let members: serde_json::Map<_, _> =
                (0..20_000).map(|n| (format!("{n:070}"), json!({}))).collect();
            json!({"properties": members})
        },
        || (0..20_000).map(|n| (format!("x{n:069}"), json!(1))).collect::<serde_json::Map<_, _>>().into(),
    ),
    (
        "1000 patterns for 1000 names",
        || {
            let patterns: serde_json::Map<_, _> =
                (0..1000).map(|n| (format!("^p{n}[a-z]*$"), json!({"type": "integer"}))).collect();
            argument(json!({"patternProperties": patterns}))
        },
        || json!({"x": (0..1000).map(|n| (format!("p{n}"), json!("z"))).collect::<serde_json::Map<_, _>>()}),
    ),
    (
        "300 patterns that cannot be checked",
        || {
            let members: serde_json::Map<_, _> =
                (0..300).map(|n| (format!("m{n}"), json!({"pattern": format!("^(?!a{n})b")}))).collect();
            json!({"properties": members})
        },
        || json!({"m1": "c"}),
    ),
    (
        "2^30 ways to the same member",
        || shared(30, |a, b| json!({"allOf": [{"properties": {"a": a}}, {"properties": {"a": b}}]})),
        || json!({"x": nested(30, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "2^12 ways to the same member",
        || shared(12, |a, b| json!({"allOf": [{"properties": {"a": a}}, {"properties": {"a": b}}]})),
        || json!({"x": nested(12, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "twice itself in every member",
        || json!({"allOf": [{"properties": {"x": {"$ref": "#"}}}, {"additionalProperties": {"$ref": "#"}}, {"properties": {"x": {"$ref": "#"}}}, {"type": "object"}]}),
        || json!({"x": nested(40, json!("y"), |inside| json!({"x": inside}))}),
    ),
    (
        "twice itself in every member, and right",
        || json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}, "required": ["y"]}, {"additionalProperties": {"$ref": "#"}}, {"properties": {"x": {"$ref": "#"}}}]}),
        || json!({"x": nested(40, json!("y"), |inside| json!({"x": inside}))}),
    ),
    (
        "100,000 items for 1000 alternatives",
        || argument(json!({"type": "array", "items": {"anyOf": vec![json!({"type": "integer"}); 1000]}})),
        || json!({"x": vec!["z"; 100_000]}),
    ),
    (
        "5000 items for 1000 alternatives",
        || {
            argument(
                json!({"type": "array", "items": {"anyOf": (0..1000).map(|n| json!({"type": "integer", "minimum": n})).collect::<Vec<_>>()}}),
            )
        },
        || json!({"x": vec!["z"; 5000]}),
    ),
    (
        "100,000 items for 10,000 listed values",
        || {
            argument(
                json!({"type": "array", "items": {"enum": (0..10_000).map(|n| json!({"a": n})).collect::<Vec<_>>()}}),
            )
        },
        || json!({"x": vec![json!({"a": "z"}); 50_000]}),
    ),
    (
        "100,000 items that must differ",
        || argument(json!({"type": "array", "uniqueItems": true})),
        || json!({"x": (0..100_000).map(|n| json!([n, {"a": n}])).collect::<Vec<_>>()}),
    ),
    (
        "1000 patterns for 100,000 names",
        || {
            let patterns: serde_json::Map<_, _> =
                (0..1000).map(|n| (format!("a{n}[a-z]*$"), json!({"type": "integer"}))).collect();
            argument(json!({"patternProperties": patterns}))
        },
        || json!({"x": (0..100_000).map(|n| (format!("p{n}"), json!("z"))).collect::<serde_json::Map<_, _>>()}),
    ),
    (
        "5000 large patterns",
        || {
            let members: serde_json::Map<_, _> =
                (0..5000).map(|n| (format!("m{n}"), json!({"pattern": format!("x{{0,5000}}{n}")}))).collect();
            json!({"properties": members})
        },
        || json!({"m1": "x".repeat(50_000)}),
    ),
    (
        "the largest pattern that is taken",
        || argument(json!({"pattern": "x{0,4000}y"})),
        || json!({"x": "x".repeat(50_000)}),
    ),
    (
        "a large pattern of classes",
        || argument(json!({"pattern": "[a-x\\s]{0,1000}y"})),
        || json!({"x": "x".repeat(50_000)}),
    ),
    (
        "itself where nothing else has looked, 120 deep",
        || json!({"$dynamicAnchor": "self", "type": "object", "unevaluatedProperties": {"$dynamicRef": "#self"}}),
        || nested(120, json!({}), |inside| json!({"x": inside})),
    ),
    (
        "a value as deep as can be",
        || argument(json!({"type": "array", "items": {"type": "integer"}})),
        || json!({"x": nested(100, json!("1"), |inside| json!([inside]))}),
    ),
];

/// Everything that is done with a schema and the arguments of a call.
pub(super) fn run(schema: &Value, value: &Value) {
    let t = std::time::Instant::now();
    let compiled = CompiledSchema::compile(schema);
    let t_compile = t.elapsed();
    let Ok(compiled) = compiled else {
        println!("   refused {t_compile:?}");
        return;
    };
    let t = std::time::Instant::now();
    let ok = compiled.validate(value).is_ok();
    let t_val = t.elapsed();
    let t = std::time::Instant::now();
    let _ = compiled.minimal_example();
    let t_ex = t.elapsed();
    let t = std::time::Instant::now();
    let r = compiled.repair(value.as_object().cloned().unwrap_or_default());
    println!(
        "   compile {t_compile:?} validate {t_val:?} {ok} example {t_ex:?} repair {:?} {:?}",
        t.elapsed(),
        r.as_ref().map(|r| r.repairs.len()).map_err(|e| e.to_string().len())
    );
    let t = std::time::Instant::now();
    let r2 = compiled.repair(value.as_object().cloned().unwrap_or_default());
    println!("   repair again {:?}", t.elapsed());
    drop(r2);
    if let Ok(repaired) = compiled.repair(value.as_object().cloned().unwrap_or_default()) {
        assert!(compiled.validate(&repaired.arguments.into()).is_ok());
    }
}

#[test]
fn no_schema_and_no_value_hangs_or_crashes() {
    for (name, schema, value) in ATTACKS {
        println!("{name}");
        on_a_small_stack(|| {
            let (schema, value) = (schema(), value());
            run(&schema, &value);
            // Dropping what is 10,000 levels deep recurses too, which is the matter of whoever built it.
            std::mem::forget((schema, value));
        });
    }
}

#[test]
fn a_value_deeper_than_the_bound_is_refused() {
    let schema = CompiledSchema::compile(&json!({})).unwrap();
    let depth = usize::try_from(MAX_VALUE_DEPTH).unwrap();
    let value = |depth: usize| nested(depth - 1, json!({}), |inside| json!({"a": inside}));
    for (levels, is_taken) in [(depth, true), (depth + 1, false), (200, false)] {
        assert_eq!(schema.accepts(&value(levels)), is_taken);
        let object = value(levels).as_object().cloned().unwrap();
        assert_eq!(schema.repair(object).is_ok(), is_taken);
    }
}
