//! One module as Markdown.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// How deep types are told, as in a list of lists.
const MAX_DEPTH: usize = 4;

/// The page of a module, of what `toolcrib schema MODULE --json` says.
pub(super) fn of(module: &Value) -> String {
    let text = |key: &str| module[key].as_str().unwrap_or_default();
    let mut page = format!(
        "# `{}`\n\n<!-- Made by `cargo xtask docs` of the module's declarations, which are what to change. -->\n\n{}\n",
        text("module"),
        text("description")
    );
    fields(&mut page, "## Configuration", "key", &module["config"]);
    page.push_str("\n## Actions\n");
    for action in module["actions"].as_array().into_iter().flatten() {
        one(&mut page, action);
    }
    page
}

fn one(page: &mut String, action: &Value) {
    let text = |key: &str| action[key].as_str().unwrap_or_default();
    // Writing to a string does not fail.
    let _ = write!(page, "\n### `{}`\n\n{}\n\n", text("name"), text("description"));
    let _ = write!(page, "Risk: {}.", text("risk"));
    let metadata = &action["metadata"];
    list(page, "Side effects", &metadata["side_effects"]);
    list(page, "Also found as", &metadata["aliases"]);
    let told = [
        ("confirmation_required", "Asks unless it is granted by name."),
        ("idempotent", "May be called again."),
    ];
    for (key, sentence) in told {
        if metadata[key] == true {
            let _ = write!(page, " {sentence}");
        }
    }
    if metadata["operational"] == true && metadata["presence"] == "essential" {
        page.push_str(" Always shown to agents.");
    }
    page.push('\n');
    fields(page, "Arguments:", "argument", &action["parameters"]);
    fields(page, "Result:", "field", &action["output_parameters"]);
}

fn list(page: &mut String, what: &str, values: &Value) {
    let values: Vec<&str> = values.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !values.is_empty() {
        let _ = write!(page, " {what}: {}.", values.join(", "));
    }
}

/// A table of the fields of an object; a line where it is no object or has none.
fn fields(page: &mut String, title: &str, what: &str, schema: &Value) {
    let root = schema;
    let schema = resolved(root, schema);
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty())
    else {
        let is_nothing = schema.as_object().is_none_or(Map::is_empty) || schema["properties"].is_object();
        let kind = if is_nothing { "none".to_owned() } else { kind(root, schema, 0) };
        let _ = match title.strip_suffix(':') {
            Some(title) => write!(page, "\n{title}: {kind}.\n"),
            None => write!(page, "\n{title}\n\nThere is {kind}.\n"),
        };
        return;
    };
    let _ = write!(page, "\n{title}\n\n| {what} | type | default | |\n|---|---|---|---|\n");
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

/// What a schema refers to.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let target = schema["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
    target.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// A type in words.
fn kind(root: &Value, schema: &Value, depth: usize) -> String {
    let schema = resolved(root, schema);
    if depth > MAX_DEPTH {
        return "anything".to_owned();
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
            format!("list of {}", kind(root, &schema["items"], depth + 1))
        }
        "array" => "list".to_owned(),
        "string" => "text".to_owned(),
        "integer" => format!("whole number{bounds}"),
        "number" => format!("number{bounds}"),
        "boolean" => "`true` or `false`".to_owned(),
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => word(name),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => "anything".to_owned(),
    }
}
