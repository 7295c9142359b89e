//! The rewriting of a schema, part by part.

use serde_json::{Map, Value, json};

use super::merge::Merged;
use super::names::PropertyNames;
use super::notes::Notes;
use super::rules::Rules;
use super::{MAX_SENT_DEPTH, MAX_SENT_PARTS};
use crate::schema_cost::Graph;

/// Keywords whose value is sent as it is where the API takes it.
const AS_IT_IS: &[&str] = &[
    "title",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// A rewriting under way.
pub(super) struct Rewrite<'a> {
    pub(super) graph: Graph<'a>,
    rules: &'static Rules,
    names: &'a PropertyNames,
    /// The number of parts that may still be visited.
    pub(super) left: usize,
    /// The references followed to reach this part.
    pub(super) open: Vec<*const Value>,
    root: &'a Value,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(root: &'a Value, rules: &'static Rules, names: &'a PropertyNames) -> Self {
        let open = vec![std::ptr::from_ref(root)];
        Self { graph: Graph::new(root), rules, names, left: MAX_SENT_PARTS, open, root }
    }

    /// Returns the schema of all arguments: an object with properties and without alternatives.
    pub(super) fn root(mut self) -> Value {
        let mut merged = Merged::default();
        self.collect(self.root, &mut merged, 0);
        self.flatten(&mut merged);
        merged.keywords.insert("type", &Value::Null);
        let mut part = self.finish(merged, &["object"], 0);
        part.entry("properties").or_insert_with(|| json!({}));
        Value::Object(part)
    }

    fn part(&mut self, schema: &'a Value, depth: usize) -> Value {
        let mut merged = Merged::default();
        let is_open = self.left > 0 && depth <= MAX_SENT_DEPTH;
        let opened = self.open.len();
        if is_open {
            self.collect(schema, &mut merged, 0);
        } else if let Some(map) = schema.as_object() {
            merged.keywords.extend(map.get("type").map(|kind| ("type", kind)));
        }
        let kinds = merged.kinds();
        let part = self.finish(merged, &kinds, depth);
        self.open.truncate(opened);
        Value::Object(part)
    }

    /// Converts the merged schema of a part with these types to the form that the API accepts.
    fn finish(&mut self, mut merged: Merged<'a>, kinds: &[&'a str], depth: usize) -> Map<String, Value> {
        let mut part = Map::new();
        let mut notes = std::mem::take(&mut merged.notes);
        if let Some(text) = merged.keywords.get("description").and_then(|text| text.as_str()) {
            part.insert("description".into(), text.into());
        }
        self.kind(&mut part, &merged, kinds, &mut notes, depth);
        for (keyword, value) in std::mem::take(&mut merged.keywords) {
            self.keyword(&mut part, keyword, value, &mut notes, depth);
        }
        let is_known = part.contains_key("type") || part.contains_key("anyOf");
        if self.rules.has_single_types && !is_known {
            notes.say("any JSON value".into());
            part.insert("anyOf".into(), json!([{"type": "string"}, {"type": "number"}, {"type": "boolean"}]));
        }
        notes.put(&mut part);
        part
    }

    /// Its types, and what belongs to only one of them.
    fn kind(
        &mut self,
        part: &mut Map<String, Value>,
        merged: &Merged<'a>,
        kinds: &[&'a str],
        notes: &mut Notes,
        depth: usize,
    ) {
        let named: Vec<&str> = kinds.iter().copied().filter(|kind| *kind != "null").collect();
        let takes_null = named.len() < kinds.len();
        let mut inside = Map::new();
        if named.contains(&"object") || !merged.properties.is_empty() || !merged.required.is_empty() {
            self.object(&mut inside, merged, notes, depth);
        }
        if named.contains(&"array") || merged.keywords.contains_key("items") {
            self.array(&mut inside, merged, depth);
        }
        match named.as_slice() {
            [] if takes_null && !self.rules.has_single_types => {
                part.insert("type".into(), "null".into());
            }
            [] => {}
            [only] => {
                if takes_null && self.rules.has_single_types {
                    self.say_null(part, notes);
                    part.insert("type".into(), (*only).into());
                } else if takes_null {
                    part.insert("type".into(), json!([only, "null"]));
                } else {
                    part.insert("type".into(), (*only).into());
                }
            }
            several if self.rules.has_single_types => {
                if takes_null {
                    self.say_null(part, notes);
                }
                let one = |kind: &&str| {
                    let keywords: &[&str] = match *kind {
                        "object" => &["properties", "required", "additionalProperties"],
                        "array" => &["items"],
                        _ => &[],
                    };
                    let own = inside.iter().filter(|(keyword, _)| keywords.contains(&keyword.as_str()));
                    let mut branch = Map::from_iter([("type".to_owned(), Value::from(*kind))]);
                    branch.extend(own.map(|(keyword, value)| (keyword.clone(), value.clone())));
                    Value::Object(branch)
                };
                let branches: Vec<Value> = several.iter().map(one).collect();
                part.insert("anyOf".into(), branches.into());
                return;
            }
            _ => {
                part.insert("type".into(), kinds.into());
            }
        }
        part.extend(inside);
    }

    fn say_null(&self, part: &mut Map<String, Value>, notes: &mut Notes) {
        if self.rules.takes("nullable") {
            part.insert("nullable".into(), true.into());
        } else {
            notes.say("may be null".into());
        }
    }

    fn object(
        &mut self,
        part: &mut Map<String, Value>,
        merged: &Merged<'a>,
        notes: &mut Notes,
        depth: usize,
    ) {
        let mut properties = Map::new();
        for (name, schema) in &merged.properties {
            let mut property = self.part(schema, depth + 1);
            if self.rules.requires_all && !merged.required.contains(name) {
                property = or_null(property);
            }
            properties.insert(self.names.sent(name).to_owned(), property);
        }
        let is_pruned = self.rules.is_closed || self.rules.has_single_types;
        let is_listed = |name: &&&str| !is_pruned || merged.properties.contains_key(**name);
        let mut required: Vec<&str> =
            merged.required.iter().filter(is_listed).map(|name| self.names.sent(name)).collect();
        let names: Vec<&str> = merged.required.iter().filter(|name| !is_listed(name)).copied().collect();
        if !names.is_empty() {
            notes.add("required", &json!(names));
        }
        if self.rules.requires_all {
            required = properties.keys().map(String::as_str).collect();
        }
        if !required.is_empty() {
            part.insert("required".into(), required.into());
        }
        if !properties.is_empty() || self.rules.is_closed {
            part.insert("properties".into(), properties.into());
        }
        if self.rules.is_closed {
            part.insert("additionalProperties".into(), false.into());
        }
    }

    fn array(&mut self, part: &mut Map<String, Value>, merged: &Merged<'a>, depth: usize) {
        let any = &Value::Bool(true);
        let items = merged.keywords.get("items").filter(|items| !items.is_array()).copied().unwrap_or(any);
        let is_open = depth <= MAX_SENT_DEPTH;
        let items = if is_open { self.part(items, depth + 1) } else { json!({"type": "string"}) };
        part.insert("items".into(), items);
    }

    fn keyword(
        &mut self,
        part: &mut Map<String, Value>,
        keyword: &'a str,
        value: &'a Value,
        notes: &mut Notes,
        depth: usize,
    ) {
        let is_taken = self.rules.takes(keyword);
        match keyword {
            "type" | "description" => {}
            "items" if !value.is_array() => {}
            "enum" => self.options(part, value.as_array().map(Vec::as_slice).unwrap_or_default(), notes),
            "const" if !is_taken => self.options(part, std::slice::from_ref(value), notes),
            "const" | "default" | "examples" if is_taken => {
                part.insert(keyword.into(), self.names.sent_value(value));
            }
            "anyOf" | "oneOf" => self.alternatives(part, keyword, value, notes, depth),
            "format" if is_taken && value.as_str().is_some_and(|name| self.rules.formats.contains(&name)) => {
                part.insert(keyword.into(), value.clone());
            }
            "additionalProperties" if is_taken && !self.rules.is_closed => {
                let rest = if value.is_boolean() { value.clone() } else { self.part(value, depth + 1) };
                part.insert(keyword.into(), rest);
            }
            // Up to draft 4 they were flags.
            "exclusiveMinimum" | "exclusiveMaximum" if is_taken && value.is_number() => {
                part.insert(keyword.into(), value.clone());
            }
            "nullable" if is_taken && value.is_boolean() => drop(part.insert(keyword.into(), value.clone())),
            _ if is_taken && AS_IT_IS.contains(&keyword) => drop(part.insert(keyword.into(), value.clone())),
            _ => notes.add(keyword, value),
        }
    }

    fn options(&self, part: &mut Map<String, Value>, options: &[Value], notes: &mut Notes) {
        if !self.rules.has_single_types {
            let options: Vec<Value> = options.iter().map(|option| self.names.sent_value(option)).collect();
            part.insert("enum".into(), options.into());
            return;
        }
        let texts: Vec<&Value> = options.iter().filter(|option| !option.is_null()).collect();
        let has_texts = !texts.is_empty() && texts.iter().all(|option| option.is_string());
        let is_text = part.get("type").is_none_or(|kind| kind == "string") && !part.contains_key("anyOf");
        if has_texts && is_text {
            part.insert("type".into(), "string".into());
            part.insert("enum".into(), json!(texts));
            if texts.len() < options.len() {
                self.say_null(part, notes);
            }
            return;
        }
        notes.add("enum", &json!(options));
        let kind = |option: &&Value| match option {
            Value::Bool(_) => "boolean",
            Value::Number(_) => "number",
            Value::Array(_) | Value::Object(_) => "",
            _ => "string",
        };
        // An API that takes one type takes it in the alternatives.
        let first = texts.first().map(kind).filter(|first| !first.is_empty() && !part.contains_key("anyOf"));
        if let Some(first) = first.filter(|first| texts.iter().all(|option| kind(option) == *first)) {
            part.entry("type").or_insert_with(|| first.into());
        }
    }

    fn alternatives(
        &mut self,
        part: &mut Map<String, Value>,
        keyword: &str,
        value: &'a Value,
        notes: &mut Notes,
        depth: usize,
    ) {
        let keyword = if self.rules.takes(keyword) { keyword } else { "anyOf" };
        if part.contains_key(keyword) {
            return;
        }
        let mut branches = Vec::new();
        for branch in value.as_array().into_iter().flatten() {
            let is_null = branch.get("type").is_some_and(|kind| kind == "null");
            if is_null && self.rules.has_single_types {
                self.say_null(part, notes);
            } else {
                let branch = self.part(branch, depth + 1);
                if !branches.contains(&branch) && branches.len() < MAX_BRANCHES {
                    branches.push(branch);
                }
            }
        }
        match branches.as_slice() {
            [] => {}
            // What belongs to one type would say something else of another.
            [Value::Object(only)]
                if only.get("type").is_some_and(|kind| part.get("type").is_some_and(|own| own != kind)) =>
            {
                notes.add(keyword, value);
            }
            // A single alternative needs no union.
            [Value::Object(only)] => {
                if self.rules.has_single_types && only.contains_key("anyOf") {
                    part.shift_remove("type");
                }
                for (keyword, value) in only {
                    part.entry(keyword.clone()).or_insert_with(|| value.clone());
                }
            }
            _ => {
                // An API that takes one type takes it in the alternatives.
                if self.rules.has_single_types {
                    part.shift_remove("type");
                }
                part.insert(keyword.into(), branches.into());
            }
        }
    }
}

/// The most alternatives of one part that are sent.
const MAX_BRANCHES: usize = 64;

/// Returns a part that takes null too.
fn or_null(part: Value) -> Value {
    let Value::Object(mut map) = part else { return part };
    let is_fixed = map.contains_key("const") || map.contains_key("oneOf");
    match map.get_mut("type") {
        Some(Value::String(kind)) if !is_fixed => {
            let kind = std::mem::take(kind);
            map.insert("type".into(), if kind == "null" { json!("null") } else { json!([kind, "null"]) });
        }
        Some(Value::Array(kinds)) if !is_fixed => {
            if !kinds.contains(&json!("null")) {
                kinds.push(json!("null"));
            }
        }
        _ => {
            let null = json!({"type": "null"});
            if let Some(branches) = map.get_mut("anyOf").and_then(Value::as_array_mut) {
                if !branches.contains(&null) {
                    branches.push(null);
                }
                return Value::Object(map);
            }
            if !map.is_empty() && !map.contains_key("enum") {
                return json!({"anyOf": [map, {"type": "null"}]});
            }
        }
    }
    if let Some(options) = map.get_mut("enum").and_then(Value::as_array_mut)
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    Value::Object(map)
}
