//! One module as Markdown.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::NOTE;

/// The depth to which types are described, as in an array of arrays.
const MAX_DEPTH: usize = 4;

/// Returns the page of a module, from the answer of `toolcrib schema MODULE --json`.
pub(super) fn of(module: &Value) -> String {
    let text = |key: &str| module[key].as_str().unwrap_or_default();
    let mut page = format!("# `{}`\n\n{NOTE}\n\n{}\n", text("module"), text("description"));
    fields(&mut page, "## Configuration", "key", &module["config"]);
    page.push_str("\n## Actions\n");
    for action in module["actions"].as_array().into_iter().flatten() {
        tool(&mut page, "###", action);
    }
    page
}

/// The essential tools that a setting of the app may leave out, with the sentence that says so.
const CONDITIONS: [(&str, &str); 1] =
    [("run_script", " Offered as [`runtime.scripts` and `serve.scripts`](scripts.md) say.")];

/// Adds a tool under a heading of this level.
pub(super) fn tool(page: &mut String, level: &str, action: &Value) {
    let text = |key: &str| action[key].as_str().unwrap_or_default();
    let description = text("description").trim_end_matches('.');
    // Writing to a string does not fail.
    let _ = write!(page, "\n{level} `{}`\n\n{description}.\n\n", text("name"));
    let _ = write!(page, "Risk: {}.", text("risk"));
    let metadata = &action["metadata"];
    list(page, "Side effects", &metadata["side_effects"]);
    list(page, "Aliases", &metadata["aliases"]);
    let sentences = [
        ("confirmation_required", "Requires approval unless a rule grants it by name."),
        ("idempotent", "Idempotent."),
    ];
    for (key, sentence) in sentences {
        if metadata[key] == true {
            let _ = write!(page, " {sentence}");
        }
    }
    if metadata["operational"] == true && metadata["presence"] == "essential" {
        let condition = CONDITIONS.iter().find(|(name, _)| *name == text("name"));
        page.push_str(condition.map_or(" Always offered to agents.", |(_, condition)| condition));
    }
    page.push('\n');
    fields(page, "Arguments:", "argument", &action["parameters"]);
    if !action["output_parameters"].is_null() {
        fields(page, "Result:", "field", &action["output_parameters"]);
    }
}

fn list(page: &mut String, what: &str, values: &Value) {
    let values: Vec<&str> = values.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !values.is_empty() {
        let _ = write!(page, " {what}: {}.", values.join(", "));
    }
}

/// Adds a table of the fields of an object, or a line if it is no object or has no fields.
fn fields(page: &mut String, title: &str, what: &str, schema: &Value) {
    let root = schema;
    let schema = resolved(root, schema);
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        let is_nothing = schema.as_object().is_none_or(Map::is_empty) || schema["properties"].is_object();
        let kind = if is_nothing { "none".to_owned() } else { kind(root, schema, 0) };
        let _ = match title.strip_suffix(':') {
            Some(title) => write!(page, "\n{title}: {kind}.\n"),
            None => write!(page, "\n{title}\n\nThis module has no settings.\n"),
        };
        return;
    };
    let _ = write!(page, "\n{title}\n\n| {what} | type | default | description |\n|---|---|---|---|\n");
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in properties {
        let default = match (&property["default"], required.contains(&name.as_str())) {
            (Value::Null, true) => "required".to_owned(),
            (Value::Null, false) => String::new(),
            (value, _) => format!("`{value}`"),
        };
        let description =
            property["description"].as_str().or(resolved(root, property)["description"].as_str());
        let cells = [
            format!("`{name}`"),
            kind(root, property, 0),
            default,
            description.unwrap_or_default().to_owned(),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|").replace('\n', " "));
        let _ = writeln!(page, "| {} |", cells.join(" | "));
    }
}

/// Returns the schema that a reference leads to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// Returns a type in words.
fn kind(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = resolved(root, schema);
    if depth > MAX_DEPTH {
        return "any".to_owned();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(branches) = schema[key].as_array() {
            let mut kinds: Vec<String> =
                branches.iter().map(|branch| kind(root, branch, depth + 1)).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(" or ");
    }
    if !schema["const"].is_null() {
        return format!("`{}`", schema["const"]);
    }
    let bounds = match (&schema["minimum"], &schema["maximum"]) {
        (Value::Null, Value::Null) => String::new(),
        (least, Value::Null) => format!(" from {least}"),
        (Value::Null, most) => format!(" up to {most}"),
        (least, most) => format!(" from {least} to {most}"),
    };
    let word = |name: &str| match name {
        "array" if schema["items"].is_object() => {
            format!("array of {}", kind(root, &schema["items"], depth + 1))
        }
        "array" => "array".to_owned(),
        "integer" => format!("integer{bounds}"),
        "number" => format!("number{bounds}"),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => word(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    }
}
