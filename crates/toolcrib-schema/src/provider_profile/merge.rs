//! Everything that applies to the same value, put together.

use indexmap::IndexMap;
use serde_json::Value;

use super::notes::Notes;
use super::rewrite::Rewrite;

/// The maximum depth of `allOf` and references followed for one value.
const MAX_MERGE_DEPTH: usize = 16;

/// The most alternatives of all arguments that are looked at.
const MAX_ROOT_BRANCHES: usize = 32;

/// The most sets of names that are told.
const MAX_TOLD_SETS: usize = 8;

/// The combination of several schemas for one value. The first of two conflicting keywords wins.
#[derive(Default)]
pub(super) struct Merged<'a> {
    pub(super) keywords: IndexMap<&'a str, &'a Value>,
    pub(super) properties: IndexMap<&'a str, &'a Value>,
    pub(super) required: Vec<&'a str>,
    pub(super) notes: Notes,
}

impl<'a> Merged<'a> {
    /// Returns the types that `type` names.
    pub(super) fn kinds(&self) -> Vec<&'a str> {
        match self.keywords.get("type").copied() {
            Some(Value::String(kind)) => vec![kind.as_str()],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if !self.properties.is_empty() => vec!["object"],
            _ if self.keywords.contains_key("items") => vec!["array"],
            _ => Vec::new(),
        }
    }
}

impl<'a> Rewrite<'a> {
    /// Adds what a schema says, what it refers to and the parts of its `allOf`.
    pub(super) fn collect(&mut self, schema: &'a Value, merged: &mut Merged<'a>, depth: usize) {
        let Some(map) = schema.as_object() else {
            if schema == &Value::Bool(false) {
                merged.notes.say("nothing is accepted here".into());
            }
            return;
        };
        if self.left == 0 || depth > MAX_MERGE_DEPTH {
            return;
        }
        self.left -= 1;
        for (keyword, value) in map {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, property) in properties {
                        merged.properties.entry(name).or_insert(property);
                    }
                }
                ("required", Value::Array(names)) => {
                    for name in names.iter().filter_map(Value::as_str) {
                        if !merged.required.contains(&name) {
                            merged.required.push(name);
                        }
                    }
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef" | "allOf" | "properties" | "required", _) => {}
                (keyword, value) => drop(merged.keywords.entry(keyword).or_insert(value)),
            }
        }
        for keyword in ["$ref", "$dynamicRef", "$recursiveRef"] {
            if let Some(reference) = map.get(keyword).and_then(Value::as_str) {
                self.follow(reference, merged, depth);
            }
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.collect(part, merged, depth + 1);
        }
    }

    fn follow(&mut self, reference: &str, merged: &mut Merged<'a>, depth: usize) {
        let Some((target, _)) = self.graph.target(reference) else { return };
        if self.open.contains(&std::ptr::from_ref(target)) {
            merged.notes.say("the same form again as the one around it".into());
            if let Some(kind) = target.get("type") {
                merged.keywords.entry("type").or_insert(kind);
            }
        } else {
            self.open.push(std::ptr::from_ref(target));
            self.collect(target, merged, depth + 1);
        }
    }

    /// Takes the alternatives of all arguments as one object with the properties of all.
    pub(super) fn flatten(&mut self, merged: &mut Merged<'a>) {
        for keyword in ["anyOf", "oneOf"] {
            let Some(branches) = merged.keywords.shift_remove(keyword).and_then(Value::as_array) else {
                continue;
            };
            let mut sets: Vec<Vec<&str>> = Vec::new();
            for branch in branches.iter().take(MAX_ROOT_BRANCHES) {
                let mut one = Merged::default();
                let opened = self.open.len();
                self.collect(branch, &mut one, 1);
                self.open.truncate(opened);
                for (name, property) in one.properties {
                    merged.properties.entry(name).or_insert(property);
                }
                sets.push(one.required);
            }
            if let Some((first, rest)) = sets.split_first() {
                let in_all = |name: &&&str| rest.iter().all(|set| set.contains(name));
                let common: Vec<&str> = first.iter().filter(in_all).copied().collect();
                let is_new = |name: &&str| !merged.required.contains(name);
                let new: Vec<&str> = common.into_iter().filter(is_new).collect();
                merged.required.extend(new);
            }
            let known = &merged.required;
            let told: Vec<String> = sets
                .iter()
                .map(|set| {
                    set.iter().filter(|name| !known.contains(name)).copied().collect::<Vec<_>>().join(" and ")
                })
                .filter(|set| !set.is_empty())
                .take(MAX_TOLD_SETS)
                .collect();
            if !told.is_empty() {
                let how_many = if keyword == "oneOf" { "exactly one" } else { "at least one" };
                merged.notes.say(format!("give {how_many} of: {}", told.join("; ")));
            }
        }
        // What is refused of the arguments as a whole is said in words.
        for keyword in ["enum", "const", "default", "nullable"] {
            if let Some(value) = merged.keywords.shift_remove(keyword) {
                merged.notes.add(keyword, value);
            }
        }
    }
}
