//! Schemas and values that are made to hang or to crash a validator. The tests run them small, and the bench at full size.

use serde_json::{Map, Value, json};

/// A name, a schema, and what is checked against it. Both are made for a divisor of their counts, 1 for the full size.
pub(crate) type Attack = (&'static str, fn(usize) -> Value, fn(usize) -> Value);

/// The same schema inside of itself so many times.
fn nested(count: usize, mut inside: Value, wrap: impl Fn(Value) -> Value) -> Value {
    for _ in 0..count {
        inside = wrap(inside);
    }
    inside
}

fn argument(schema: impl Into<Value>) -> Value {
    json!({"properties": {"x": schema.into()}})
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

/// The attacks that the promises name, and what was found beside them.
pub(crate) const ATTACKS: &[Attack] = &[
    (
        "100,000 alternatives",
        |few| argument(json!({"anyOf": vec![json!({"type": "integer"}); 100_000 / few]})),
        |_| json!({"x": "y"}),
    ),
    (
        "30,000 alternatives and a text that none takes",
        |few| argument(json!({"anyOf": vec![json!({"type": "integer"}); 30_000 / few]})),
        |few| json!({"x": "y".repeat(50_000 / few)}),
    ),
    (
        "9000 alternatives and a text that none takes",
        |few| argument(json!({"anyOf": vec![json!({"type": "integer"}); 9000 / few]})),
        |few| json!({"x": "y".repeat(50_000 / few)}),
    ),
    (
        "7000 alternatives that must be one",
        |few| {
            let one = |number| json!({"type": "integer", "minimum": number});
            argument(json!({"oneOf": (0..7000 / few).map(one).collect::<Vec<_>>()}))
        },
        |_| json!({"x": "500"}),
    ),
    (
        "7000 lists of values",
        |few| argument(json!({"anyOf": vec![json!({"enum": ["a", "b"]}); 7000 / few]})),
        |few| json!({"x": {"y": vec!["z"; 1000 / few]}}),
    ),
    (
        "20,000 alternatives that must be one",
        |few| {
            let one = |number| json!({"type": "integer", "minimum": number});
            argument(json!({"oneOf": (0..20_000 / few).map(one).collect::<Vec<_>>()}))
        },
        |_| json!({"x": "500"}),
    ),
    (
        "20,000 lists of values",
        |few| argument(json!({"anyOf": vec![json!({"enum": ["a", "b"]}); 20_000 / few]})),
        |few| json!({"x": {"y": vec!["z"; 1000 / few]}}),
    ),
    (
        "depth 10,000",
        |_| {
            let mut deep = json!({});
            for _ in 0..10_000 {
                deep = Value::Object([("not".to_owned(), deep)].into_iter().collect());
            }
            deep
        },
        |_| json!({"x": "y"}),
    ),
    (
        "a reference to itself that leaves nothing unseen",
        |_| {
            json!({"$dynamicAnchor": "self", "type": "object", "unevaluatedProperties": {"$dynamicRef": "#self"},
                   "properties": {"x": {"$dynamicRef": "#self"}}})
        },
        |_| json!({"x": nested(60, json!("1"), |inside| json!({"x": inside, "y": inside}).as_object().map_or_else(Value::default, |map| json!({"x": map["x"]})))}),
    ),
    ("itself at once", |_| json!({"$dynamicAnchor": "self", "$dynamicRef": "#self"}), |_| json!({"x": "1"})),
    ("itself twice", |_| json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}), |_| json!({"x": "1"})),
    (
        "itself in alternatives",
        |_| json!({"anyOf": [{"$ref": "#"}, {"required": ["y"], "properties": {"y": {"type": "integer"}}}]}),
        |_| json!({"y": "1x"}),
    ),
    (
        "a repetition of 100,000,000",
        |_| argument(json!({"type": "string", "pattern": "x{0,100000000}"})),
        |few| json!({"x": "x".repeat(50_000 / few)}),
    ),
    (
        "a repetition of a repetition",
        |_| argument(json!({"type": "string", "pattern": "((x{0,100}){0,100}){0,100}y"})),
        |few| json!({"x": "x".repeat(50_000 / few)}),
    ),
    (
        "a repetition that just fits",
        |_| argument(json!({"type": "string", "pattern": "x{0,20000}y"})),
        |few| json!({"x": "x".repeat(50_000 / few)}),
    ),
    (
        "a pattern that goes back for ever elsewhere",
        |_| argument(json!({"type": "string", "pattern": "(a+)+$"})),
        |few| json!({"x": format!("{}b", "a".repeat(50_000 / few))}),
    ),
    (
        "look-around",
        |_| argument(json!({"type": "string", "pattern": "^(?=(a+)+$)"})),
        |few| json!({"x": format!("{}b", "a".repeat(50_000 / few))}),
    ),
    (
        "parts that refer to each other",
        |_| {
            json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {
                "a": {"anyOf": [{"$ref": "#/$defs/b"}, {"properties": {"n": {"$ref": "#/$defs/b"}}, "type": "object"}]},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}, {"properties": {"n": {"$ref": "#/$defs/a"}}, "type": "object"}]},
            }})
        },
        |_| json!({"x": nested(60, json!("5"), |inside| json!({"n": inside}))}),
    ),
    (
        "2^40 ways to the same part, all",
        |_| shared(40, |a, b| json!({"allOf": [a, b]})),
        |_| json!({"x": "1"}),
    ),
    (
        "2^40 ways to the same part, any",
        |_| shared(40, |a, b| json!({"anyOf": [a, b]})),
        |_| json!({"x": "1"}),
    ),
    (
        "2^12 ways to the same part, any",
        |_| shared(12, |a, b| json!({"anyOf": [a, b]})),
        |_| json!({"x": "y"}),
    ),
    (
        "2^30 ways through members",
        |_| shared(30, |a, b| json!({"type": "object", "properties": {"a": a, "b": b}})),
        |_| json!({"x": nested(30, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "alternatives of alternatives, and texts in them",
        |_| {
            let list = |inside: Value| json!({"anyOf": [{"type": "array", "items": inside}, {"type": "object", "additionalProperties": inside}, {"type": "integer"}]});
            argument(nested(10, json!({"type": "integer"}), list))
        },
        |_| json!({"x": text_in_text(12).to_string()}),
    ),
    (
        "100 alternatives inside of each other",
        |_| {
            argument(nested(
                100 / 3,
                json!({"type": "integer"}),
                |inside| json!({"anyOf": [inside, {"type": "boolean"}]}),
            ))
        },
        |_| json!({"x": "y"}),
    ),
    (
        "a list of itself, and a list in a text in a list",
        |_| json!({"properties": {"x": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"type": "array", "items": {"$ref": "#/$defs/l"}}}}),
        |_| json!({"x": text_in_text(14).to_string()}),
    ),
    (
        "any of itself, in a value that none takes",
        |_| {
            json!({"properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"anyOf": [
                {"type": "array", "items": {"$ref": "#/$defs/n"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/n"}, "minProperties": 1},
                {"type": "array", "items": {"$ref": "#/$defs/n"}, "maxItems": 3},
            ]}}})
        },
        |_| json!({"x": nested(40, json!("5"), |inside| json!([inside]))}),
    ),
    (
        "100,000 texts that are numbers",
        |_| argument(json!({"type": "array", "items": {"type": "integer"}})),
        |few| json!({"x": vec!["7"; 100_000 / few]}),
    ),
    (
        "100,000 texts that none of two alternatives takes",
        |_| {
            argument(json!({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}}))
        },
        |few| json!({"x": vec!["z"; 100_000 / few]}),
    ),
    (
        "100,000 texts that are listed elsewhere",
        |few| {
            argument(
                json!({"type": "array", "items": {"enum": (0..1000 / few).map(|n| format!("v{n}")).collect::<Vec<_>>()}}),
            )
        },
        |few| json!({"x": vec!["V1000"; 100_000 / few]}),
    ),
    (
        "a text of 1 MB that is nearly a list",
        |few| {
            argument(
                json!({"anyOf": vec![json!({"type": "array", "items": {"type": "integer"}, "maxItems": 5}); 1000 / few]}),
            )
        },
        |few| json!({"x": format!("[{}1]", "1,".repeat(500_000 / few))}),
    ),
    (
        "a text that is 100,000 lists deep",
        |_| argument(json!({"type": "array"})),
        |few| json!({"x": "[".repeat(100_000 / few)}),
    ),
    (
        "defaults of defaults",
        |_| {
            let two = json!({"$ref": "#/$defs/n", "default": {}});
            let members = json!({"a": two, "b": two, "c": two, "d": two});
            json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": members}}})
        },
        |_| json!({}),
    ),
    (
        "100,000 members that look like others",
        |_| json!({"properties": {"x": {"type": "object", "properties": {"name": {}}}}}),
        |few| {
            let members: Map<_, _> = (0..100_000 / few).map(|n| (format!("NAME{n}"), json!(1))).collect();
            let mut value = json!({"x": members});
            value["x"]["Name"] = json!(2);
            value
        },
    ),
    (
        "20,000 names, and 20,000 that are none of them",
        |few| {
            let members: Map<_, _> = (0..20_000 / few).map(|n| (format!("{n:070}"), json!({}))).collect();
            json!({"properties": members})
        },
        |few| (0..20_000 / few).map(|n| (format!("x{n:069}"), json!(1))).collect::<Map<_, _>>().into(),
    ),
    (
        "1000 patterns for 1000 names",
        |few| {
            let patterns: Map<_, _> =
                (0..1000 / few).map(|n| (format!("^p{n}[a-z]*$"), json!({"type": "integer"}))).collect();
            argument(json!({"patternProperties": patterns}))
        },
        |few| json!({"x": (0..1000 / few).map(|n| (format!("p{n}"), json!("z"))).collect::<Map<_, _>>()}),
    ),
    (
        "300 patterns that cannot be checked",
        |_| {
            let members: Map<_, _> =
                (0..300).map(|n| (format!("m{n}"), json!({"pattern": format!("^(?!a{n})b")}))).collect();
            json!({"properties": members})
        },
        |_| json!({"m1": "c"}),
    ),
    (
        "2^30 ways to the same member",
        |_| shared(30, |a, b| json!({"allOf": [{"properties": {"a": a}}, {"properties": {"a": b}}]})),
        |_| json!({"x": nested(30, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "2^12 ways to the same member",
        |_| shared(12, |a, b| json!({"allOf": [{"properties": {"a": a}}, {"properties": {"a": b}}]})),
        |_| json!({"x": nested(12, json!("y"), |inside| json!({"a": inside}))}),
    ),
    (
        "twice itself in every member",
        |_| json!({"allOf": [{"properties": {"x": {"$ref": "#"}}}, {"additionalProperties": {"$ref": "#"}}, {"properties": {"x": {"$ref": "#"}}}, {"type": "object"}]}),
        |_| json!({"x": nested(40, json!("y"), |inside| json!({"x": inside}))}),
    ),
    (
        "twice itself in every member, and right",
        |_| json!({"anyOf": [{"properties": {"x": {"$ref": "#"}}, "required": ["y"]}, {"additionalProperties": {"$ref": "#"}}, {"properties": {"x": {"$ref": "#"}}}]}),
        |_| json!({"x": nested(40, json!("y"), |inside| json!({"x": inside}))}),
    ),
    (
        "100,000 items for 1000 alternatives",
        |few| {
            argument(
                json!({"type": "array", "items": {"anyOf": vec![json!({"type": "integer"}); 1000 / few]}}),
            )
        },
        |few| json!({"x": vec!["z"; 100_000 / few]}),
    ),
    (
        "5000 items for 1000 alternatives",
        |few| {
            argument(
                json!({"type": "array", "items": {"anyOf": (0..1000 / few).map(|n| json!({"type": "integer", "minimum": n})).collect::<Vec<_>>()}}),
            )
        },
        |few| json!({"x": vec!["z"; 5000 / few]}),
    ),
    (
        "100,000 items for 10,000 listed values",
        |few| {
            argument(
                json!({"type": "array", "items": {"enum": (0..10_000 / few).map(|n| json!({"a": n})).collect::<Vec<_>>()}}),
            )
        },
        |few| json!({"x": vec![json!({"a": "z"}); 50_000 / few]}),
    ),
    (
        "100,000 items that must differ",
        |_| argument(json!({"type": "array", "uniqueItems": true})),
        |few| json!({"x": (0..100_000 / few).map(|n| json!([n, {"a": n}])).collect::<Vec<_>>()}),
    ),
    (
        "1000 patterns for 100,000 names",
        |few| {
            let patterns: Map<_, _> =
                (0..1000 / few).map(|n| (format!("a{n}[a-z]*$"), json!({"type": "integer"}))).collect();
            argument(json!({"patternProperties": patterns}))
        },
        |few| json!({"x": (0..100_000 / few).map(|n| (format!("p{n}"), json!("z"))).collect::<Map<_, _>>()}),
    ),
    (
        "5000 large patterns",
        |few| {
            let members: Map<_, _> = (0..5000 / few)
                .map(|n| (format!("m{n}"), json!({"pattern": format!("x{{0,5000}}{n}")})))
                .collect();
            json!({"properties": members})
        },
        |few| json!({"m1": "x".repeat(50_000 / few)}),
    ),
    (
        "the largest pattern that is taken",
        |_| argument(json!({"pattern": "x{0,4000}y"})),
        |few| json!({"x": "x".repeat(50_000 / few)}),
    ),
    (
        "a large pattern of classes",
        |_| argument(json!({"pattern": "[a-x\\s]{0,1000}y"})),
        |few| json!({"x": "x".repeat(50_000 / few)}),
    ),
    (
        "itself where nothing else has looked, 120 deep",
        |_| json!({"$dynamicAnchor": "self", "type": "object", "unevaluatedProperties": {"$dynamicRef": "#self"}}),
        |_| nested(120, json!({}), |inside| json!({"x": inside})),
    ),
    (
        "a value as deep as can be",
        |_| argument(json!({"type": "array", "items": {"type": "integer"}})),
        |_| json!({"x": nested(100, json!("1"), |inside| json!([inside]))}),
    ),
    (
        "30,000 small patterns",
        |few| {
            let members: Map<_, _> =
                (0..30_000 / few).map(|n| (format!("m{n}"), json!({"pattern": format!("a{n}")}))).collect();
            json!({"properties": members})
        },
        |_| json!({"m1": "b"}),
    ),
    (
        "classes of Unicode, again and again",
        |few| argument(json!({"pattern": "\\w\\p{L}".repeat(30_000 / few)})),
        |_| json!({"x": "b"}),
    ),
    (
        "alternatives of a large part",
        |few| {
            let large: Map<_, _> = (0..5000 / few).map(|n| (format!("m{n}"), json!({"enum": [n]}))).collect();
            let part = json!({"$ref": "#/$defs/p"});
            json!({"properties": {"x": {"anyOf": vec![json!({"allOf": [part, {"required": ["y"]}]}); 300]}},
                   "$defs": {"p": {"type": "object", "properties": large}}})
        },
        |few| json!({"x": (0..5000 / few).map(|n| (format!("m{n}"), json!(n))).collect::<Map<_, _>>()}),
    ),
    (
        "a text that is checked as a pattern",
        |_| json!({"$schema": "http://json-schema.org/draft-07/schema", "properties": {"x": {"format": "regex"}}}),
        |few| json!({"x": "(\\w{1000}){1000}".repeat(1000 / few)}),
    ),
    (
        "alternatives within alternatives, of a large value",
        |_| {
            let two = |inside: Value| json!({"anyOf": [{"properties": {"a": inside}, "required": ["z"]}, {"properties": {"a": {"type": "object", "properties": {"b": inside}}}, "required": ["y"]}]});
            argument(nested(6, json!({"type": "integer"}), two))
        },
        |few| {
            let rest = vec!["z"; 20_000 / few];
            json!({"x": nested(6, json!("7"), |inside| json!({"a": inside, "rest": rest}))})
        },
    ),
    (
        "names that must be names",
        |few| {
            let names: Vec<_> = (0..1000 / few).map(|n| format!("n{n}")).collect();
            argument(json!({"propertyNames": {"anyOf": [{"enum": names}, {"pattern": "[ab]*a[ab]{200}"}]}}))
        },
        |few| json!({"x": (0..5000 / few).map(|n| (format!("{n:0100b}"), json!(n))).collect::<Map<_, _>>()}),
    ),
    (
        "properties that others require, each",
        |few| {
            let names: Vec<_> = (0..5000 / few).map(|n| format!("n{n}")).collect();
            argument(
                json!({"type": "array", "items": {"required": names, "properties": {"n1": {"type": "integer"}}}}),
            )
        },
        |few| {
            let all: Map<_, _> = (0..5000 / few).map(|n| (format!("n{n}"), json!("1"))).collect();
            json!({"x": vec![Value::from(all); 20]})
        },
    ),
];
