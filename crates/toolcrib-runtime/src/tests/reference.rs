//! The reference of the app file, which is made of its schema.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Extensions;

const BEGIN: &str = "<!-- The rest is made of `toolcrib schema app`. -->\n";

/// Set to write the page instead of comparing it.
const BLESS: &str = "TOOLCRIB_BLESS";

#[test]
fn the_reference_of_the_app_file_is_what_its_schema_says() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/app-yaml.md");
    let text = fs::read_to_string(&page).unwrap();
    let (written, _) = text.split_once(BEGIN).expect("the page has a part that is made");
    let made = format!("{written}{BEGIN}{}", reference(&Extensions::default().app_schema()));
    if std::env::var_os(BLESS).is_some() {
        fs::write(&page, &made).unwrap();
    }
    assert!(
        fs::read_to_string(&page).unwrap() == made,
        "docs/reference/app-yaml.md is old; {BLESS}=1 writes it again"
    );
}

/// A section that is still to be written: its path, and its schema.
type Section<'a> = (String, &'a Value);

/// The definitions of a schema, and the sections in which they are told.
struct Reference<'a> {
    root: &'a Value,
    told: BTreeMap<&'a str, String>,
    next: VecDeque<Section<'a>>,
}

fn reference(schema: &Value) -> String {
    let mut reference =
        Reference { root: schema, told: BTreeMap::new(), next: VecDeque::from([(String::new(), schema)]) };
    let mut page = String::new();
    while let Some((path, section)) = reference.next.pop_front() {
        let title = if path.is_empty() { "The file".to_owned() } else { format!("`{path}`") };
        let _ = write!(page, "\n## {title}\n\n");
        if let Some(text) = section.get("description").filter(|_| !path.is_empty()).and_then(Value::as_str) {
            let _ = write!(page, "{}\n\n", one_line(text));
        }
        page.push_str("| key | type | what it says |\n|---|---|---|\n");
        let keys = section.get("properties").and_then(Value::as_object).into_iter().flatten();
        let required: Vec<&str> = section
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (key, value) in keys {
            let place = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let kind = reference.kind(value, &place);
            let text = value.get("description").and_then(Value::as_str).map(one_line).unwrap_or_default();
            let needed = if required.contains(&key.as_str()) { " Required." } else { "" };
            let _ = writeln!(page, "| `{key}` | {kind} | {text}{needed} |");
        }
    }
    page
}

fn one_line(text: &str) -> String {
    // An example in a description is on a page of its own.
    let text = text.split("```").next().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

impl<'a> Reference<'a> {
    /// The type of a value in words. A mapping with keys of its own becomes a section.
    fn kind(&mut self, schema: &'a Value, place: &str) -> String {
        if let Some(name) =
            schema.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next())
        {
            let Some(definition) = self.root.pointer(&format!("/$defs/{name}")) else { return "any".into() };
            let is_section = definition.get("properties").is_some();
            if !is_section {
                return self.kind(definition, place);
            }
            if let Some(told) = self.told.get(name) {
                return format!("as `{told}`");
            }
            self.told.insert(name, place.to_owned());
            self.next.push_back((place.to_owned(), definition));
            return "mapping, see below".into();
        }
        if place == "modules" {
            let entry = schema.pointer("/properties/hello").expect("a module without settings");
            self.next.push_back(("modules.ID".into(), entry));
            let ids = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let ids: Vec<String> = ids.map(|(id, _)| format!("`{id}`")).collect();
            return format!("mapping of {}, see below", ids.join(", "));
        }
        if place == "modules.ID.config" {
            return "mapping, see the page of the module in `docs/reference/modules`".into();
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return values
                .iter()
                .map(|value| format!("`{}`", value.as_str().unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(", ");
        }
        if let Some(value) = schema.get("const").and_then(Value::as_str) {
            return format!("`{value}`");
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(forms) = schema.get(key).and_then(Value::as_array) {
                let forms =
                    forms.iter().filter(|form| form.get("type").and_then(Value::as_str) != Some("null"));
                return forms.map(|form| self.kind(form, place)).collect::<Vec<_>>().join(", ");
            }
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(all)) => {
                all.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect()
            }
            _ => return "any value".into(),
        };
        types.into_iter().map(|kind| self.simple(kind, schema, place)).collect::<Vec<_>>().join(" or ")
    }

    fn simple(&mut self, kind: &str, schema: &'a Value, place: &str) -> String {
        match kind {
            "string" => "text".into(),
            "integer" => match schema.get("minimum").filter(|least| least.as_u64() != Some(0)) {
                Some(least) => format!("whole number, from {least}"),
                None => "whole number".into(),
            },
            "boolean" => "true or false".into(),
            "array" => match schema.get("items") {
                Some(items) => format!("list: {}", self.kind(items, &format!("{place}[]"))),
                None => "list".into(),
            },
            "object" if schema.get("properties").is_some() => {
                let types = schema.pointer("/properties/type/enum").and_then(Value::as_array);
                if let Some(types) = types {
                    let types: Vec<String> =
                        types.iter().filter_map(Value::as_str).map(|kind| format!("`{kind}`")).collect();
                    return format!("mapping with a `type`: {}", types.join(", "));
                }
                self.next.push_back((place.to_owned(), schema));
                "mapping, see below".into()
            }
            "object" => match schema.get("additionalProperties").filter(|more| more.is_object()) {
                Some(more) => format!("mapping of names: {}", self.kind(more, &format!("{place}.NAME"))),
                None => "mapping".into(),
            },
            other => other.to_owned(),
        }
    }
}
