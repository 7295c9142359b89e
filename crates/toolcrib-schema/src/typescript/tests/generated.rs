//! Generated schemas and values: a type accepts what its schema accepts, and where TypeScript can say all that the schema
//! says, nothing else.

use std::collections::BTreeSet;

use jsonschema::Draft;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{TestRng, TestRunner};
use serde_json::{Map, Value, json};
use toolcrib_model::Schema;

use super::accepted::accepts;
use crate::typescript::convert::{Level, convert};
use crate::typescript::library::Library;
use crate::typescript::types::Type;
use crate::typescript::{LEAST, LEVELS};
use crate::validator;

/// How many schemas are generated.
const SCHEMAS: u32 = 1_500;

/// How many values are tried with each.
const VALUES: usize = 40;

/// The names of properties.
const NAMES: [&str; 4] = ["a", "b", "c", "x-y"];

/// The definitions of each schema.
const DEFINITIONS: usize = 3;

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn scalar() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1.5),
        json!(3),
        json!(""),
        json!("x"),
        json!("yy"),
    ])
}

fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((name(), inner), 0..4).prop_map(object_of),
        ]
    })
}

fn object_of<K: Into<String>>(members: Vec<(K, Value)>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn types() -> impl Strategy<Value = Value> {
    let one = proptest::sample::select(vec!["string", "number", "boolean", "null"]);
    vec(one, 1..3).prop_map(|names| {
        let mut names = names;
        names.sort_unstable();
        names.dedup();
        if names.len() == 1 { json!(names[0]) } else { json!(names) }
    })
}

fn reference() -> impl Strategy<Value = Value> {
    (0..DEFINITIONS).prop_map(|number| json!({"$ref": format!("#/$defs/Type{number}")}))
}

/// Schemas of which TypeScript can say everything.
fn plain_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => types().prop_map(|types| json!({"type": types})),
        2 => vec(any_value(), 1..4).prop_map(|values| json!({"enum": values.into_iter().filter(|value| !value.is_object()).collect::<Vec<_>>()}))
            .prop_filter("an empty enum", |schema| schema["enum"] != json!([])),
        1 => scalar().prop_map(|value| json!({"const": value})),
        1 => prop::bool::ANY.prop_map(Value::from),
        1 => Just(json!({})),
        2 => reference(),
    ];
    leaf.prop_recursive(4, 30, 4, |inner| {
        let object = (vec((name(), inner.clone()), 0..4), vec(name(), 0..3), prop::bool::ANY);
        let object = object.prop_map(|(properties, required, is_nullable)| {
            let kinds = if is_nullable { json!(["object", "null"]) } else { json!("object") };
            json!({"type": kinds, "properties": object_of(properties), "required": required})
        });
        let list = (vec(inner.clone(), 0..3), inner.clone(), 0..3_usize).prop_map(|(first, items, least)| {
            let least = least.min(first.len());
            let mut schema = json!({"type": "array", "items": items, "minItems": least});
            if !first.is_empty() {
                schema["prefixItems"] = first.into();
            }
            schema
        });
        prop_oneof![
            3 => object,
            2 => list,
            1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            1 => vec(inner.clone(), 1..4).prop_map(|members| json!({"anyOf": members})),
            1 => vec(inner.clone(), 1..3).prop_map(|members| json!({"allOf": members})),
            1 => (inner, vec(name(), 1..3)).prop_map(|(property, names)| {
                let members: Vec<Value> = names.into_iter().map(|name| json!({"required": [name]})).collect();
                json!({"type": "object", "properties": {"a": property}, "anyOf": members})
            }),
        ]
    })
}

/// Schemas with everything else too.
fn schema() -> impl Strategy<Value = Value> {
    plain_schema().prop_recursive(3, 30, 4, |inner| {
        let bounded = prop_oneof![
            Just(json!({"type": "integer"})),
            Just(json!({"type": ["integer", "string"], "minimum": 1, "pattern": "^y"})),
            Just(json!({"type": "string", "maxLength": 1})),
        ];
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            2 => bounded,
            1 => vec(inner.clone(), 1..4).prop_map(|members| json!({"oneOf": members})),
            1 => pair.clone().prop_map(|(one, other)| json!({"if": one, "then": other, "not": {"const": "x"}})),
            1 => pair.clone().prop_map(|(one, other)| {
                json!({"type": "object", "properties": {"a": one}, "additionalProperties": other, "required": ["b"]})
            }),
            1 => pair.clone().prop_map(|(one, other)| {
                json!({"type": "object", "properties": {"a": one}, "patternProperties": {"^x": other}, "additionalProperties": false})
            }),
            1 => pair.clone().prop_map(|(one, other)| json!({"type": "array", "prefixItems": [one, other], "items": false})),
            1 => pair.prop_map(|(one, other)| json!({"type": ["object", "string"], "propertyNames": one, "allOf": [other]})),
            1 => (reference(), inner.clone()).prop_map(|(mut reference, other)| {
                reference["anyOf"] = json!([other, {"type": "object"}]);
                reference
            }),
            1 => inner.prop_map(|items| json!({"type": "array", "contains": items, "uniqueItems": true})),
        ]
    })
}

/// The schema of an object with a value of this one.
fn whole(
    schema: impl Strategy<Value = Value>,
    definition: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Value> {
    (schema, vec(definition, DEFINITIONS)).prop_map(|(schema, definitions)| {
        let numbered = definitions.into_iter().enumerate();
        let definitions =
            object_of(numbered.map(|(number, schema)| (format!("Type{number}"), schema)).collect());
        json!({"type": "object", "properties": {"v": schema}, "required": ["v"], "$defs": definitions})
    })
}

/// Makes values that a schema is likely to accept.
struct Maker<'a> {
    root: &'a Value,
    random: &'a mut TestRng,
}

impl Maker<'_> {
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.random.next_u64() % bound.max(1) as u64).unwrap()
    }

    fn pick<'v>(&mut self, values: &'v [Value]) -> Option<&'v Value> {
        let at = self.below(values.len());
        values.get(at)
    }

    fn anything(&mut self) -> Value {
        let values = [
            json!(null),
            json!(true),
            json!(1),
            json!(-1.5),
            json!("x"),
            json!("yy"),
            json!([]),
            json!([1, "x"]),
            json!({}),
            json!({"a": "x", "b": 1}),
            json!({"c": null}),
        ];
        self.pick(&values).cloned().unwrap()
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if depth == 0 || self.below(12) == 0 {
            return self.anything();
        }
        if let Some(reference) = schema["$ref"].as_str() {
            let target = self.root.pointer(reference.trim_start_matches('#')).unwrap().clone();
            return self.value(&target, depth - 1);
        }
        if let Some(value) = schema.get("const") {
            return value.clone();
        }
        for key in ["enum", "anyOf", "oneOf", "allOf"] {
            let Some(chosen) = schema[key].as_array().and_then(|members| self.pick(members)).cloned() else {
                continue;
            };
            if key == "enum" {
                return chosen;
            }
            let is_alone = schema.get("type").is_none() || self.below(2) == 0;
            if is_alone && chosen.get("required").is_none() {
                return self.value(&chosen, depth - 1);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => self.pick(kinds).unwrap().clone(),
            kind => kind.clone(),
        };
        match kind.as_str() {
            Some("string") => json!(["", "x", "yy"][self.below(3)]),
            Some("number") => json!([0.0, 1.0, -1.5][self.below(3)]),
            Some("integer") => json!([1, 3][self.below(2)]),
            Some("boolean") => json!(self.below(2) == 0),
            Some("null") => Value::Null,
            Some("object") => self.object(schema, depth),
            Some("array") => self.list(schema, depth),
            _ => self.anything(),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut members = Map::new();
        let own =
            schema["properties"].as_object().map(|own| own.keys().cloned().collect()).unwrap_or_default();
        let names: BTreeSet<String> = NAMES.map(str::to_owned).into_iter().chain::<Vec<_>>(own).collect();
        for name in names {
            let is_required = schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
            let property = schema["properties"].get(&name).or_else(|| schema.get("additionalProperties"));
            let share = if property.is_some() { 2 } else { 5 };
            if is_required && self.below(10) > 0 || self.below(share) == 0 {
                let value = match property.cloned() {
                    Some(property) => self.value(&property, depth - 1),
                    None => self.anything(),
                };
                members.insert(name, value);
            }
        }
        members.into()
    }

    fn list(&mut self, schema: &Value, depth: usize) -> Value {
        let first = schema["prefixItems"].as_array().cloned().unwrap_or_default();
        let count = self.below(first.len() + 3);
        let items = (0..count).map(|at| {
            let item = first.get(at).or_else(|| schema.get("items")).cloned().unwrap_or(json!({}));
            self.value(&item, depth - 1)
        });
        items.collect()
    }
}

/// Converts a schema at a level.
fn converted(schema: &Value, level: Level) -> (Type, Library) {
    let mut library = Library::default();
    let (kind, _) = convert(&Schema::from(schema.clone()), "Args", level, &mut library);
    library.break_circles();
    (kind, library)
}

/// How often schemas and types accept values.
#[derive(Debug, Default)]
struct Counts {
    values: usize,
    accepted: usize,
}

/// Calls a check with generated schemas and values, and whether the schema accepts each.
fn for_each(schemas: impl Strategy<Value = Value>, mut check: impl FnMut(&Value, &Value, bool)) -> Counts {
    let mut counts = Counts::default();
    let mut runner = TestRunner::deterministic();
    for _ in 0..SCHEMAS {
        let schema = schemas.new_tree(&mut runner).unwrap().current();
        // Definitions by themselves are refused.
        let Ok(compiled) = validator::build(&schema, Draft::default()) else { continue };
        for _ in 0..VALUES {
            let value = Maker { root: &schema, random: runner.rng() }.value(&schema, 8);
            let is_accepted = compiled.is_valid(&value);
            counts.values += 1;
            counts.accepted += usize::from(is_accepted);
            check(&schema, &value, is_accepted);
        }
    }
    // Both answers are frequent, or little is tried.
    assert!(counts.values > 20_000, "{counts:?}");
    assert!(counts.accepted * 5 > counts.values && counts.accepted * 20 < counts.values * 19, "{counts:?}");
    counts
}

#[test]
fn what_a_schema_accepts_its_declaration_accepts_at_every_level_of_detail() {
    let levels = || LEVELS.into_iter().chain([LEAST]);
    let mut known: Option<(Value, Vec<(Type, Library)>)> = None;
    for_each(whole(schema(), schema()), |schema, value, is_accepted| {
        if !is_accepted {
            return;
        }
        if known.as_ref().is_none_or(|(known, _)| known != schema) {
            known = Some((schema.clone(), levels().map(|level| converted(schema, level)).collect()));
        }
        for (number, (kind, library)) in known.iter().flat_map(|(_, types)| types).enumerate() {
            assert!(
                accepts(library, kind, value),
                "level {number}: {schema}\n{value}\n{kind:?}\n{library:?}"
            );
        }
    });
}

#[test]
fn what_the_declaration_of_a_plain_schema_accepts_the_schema_accepts() {
    let mut known: Option<(Value, (Type, Library))> = None;
    for_each(whole(plain_schema(), plain_schema()), |schema, value, is_accepted| {
        if known.as_ref().is_none_or(|(known, _)| known != schema) {
            known = Some((schema.clone(), converted(schema, LEVELS[0])));
        }
        let Some((_, (kind, library))) = &known else { return };
        assert_eq!(accepts(library, kind, value), is_accepted, "{schema}\n{value}\n{kind:?}\n{library:?}");
    });
}
