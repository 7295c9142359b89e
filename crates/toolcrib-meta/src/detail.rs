//! How much is told of a tool in a list.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::{JsonObject, Tool};
use toolcrib_policy::{Policy, Principal};
use toolcrib_registry::{Entry, Overloads, Snapshot};

use crate::ToolCard;

/// The most characters of a description in a list; `get_tool` has all of it.
pub const MAX_LISTED_DESCRIPTION: usize = 240;

/// The most characters of a one-line summary.
pub const MAX_SUMMARY: usize = 100;

/// The most arguments of a tool that a list tells of; the rest is counted.
pub const MAX_LISTED_ARGUMENTS: usize = 12;

/// The most further overloads whose descriptions a list tells.
const MAX_OTHER_FORMS: usize = 4;

/// The bytes of JSON that a search tells of what it found, beside [`FOUND_BYTES_PER_TOOL`].
pub const FOUND_BYTES: usize = 450;

/// The bytes of JSON that a search tells for each tool that is asked for. With [`FOUND_BYTES`] five tools take some 280
/// tokens.
pub const FOUND_BYTES_PER_TOOL: usize = 110;

/// How much is told of a tool in a list. Each level has a call that can be made as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Its name, a line on what it does, and a call.
    Brief,
    /// Also the risk, and a line on each argument.
    #[default]
    Detailed,
    /// All that `get_tool` tells.
    Full,
}

/// A tool as a list tells of it, as far as these overloads may be seen.
pub(crate) fn row(
    overloads: &Overloads<'_>,
    detail: Detail,
    snapshot: &Snapshot,
    policy: &Policy,
    principal: Principal<'_>,
) -> Option<Value> {
    let entry = overloads.first()?;
    let tool = &entry.tool;
    let mut row = JsonObject::from_iter([("name".to_owned(), json!(tool.name.dotted()))]);
    match detail {
        Detail::Full => {
            return serde_json::to_value(ToolCard::new(overloads, snapshot, policy, principal)?).ok();
        }
        Detail::Brief => {
            row.insert("description".into(), summary(&tool.description).into());
        }
        Detail::Detailed => {
            row.insert("description".into(), listed(&tool.description).into());
            let others = other_descriptions(overloads);
            if !others.is_empty() {
                row.insert("other_forms".into(), others.into());
            }
            row.insert("risk".into(), json!(tool.risk()));
            row.insert("arguments".into(), arguments(tool).into());
        }
    }
    row.insert("example_call".into(), call(entry));
    Some(row.into())
}

/// Returns the descriptions of further overloads that differ from the first one's, each once, as a list tells them.
fn other_descriptions(overloads: &Overloads<'_>) -> Vec<String> {
    let mut seen = Vec::new();
    for entry in overloads.iter() {
        let text = entry.tool.description.as_str();
        if !text.is_empty() && !seen.contains(&text) {
            seen.push(text);
        }
    }
    seen.into_iter().skip(1).take(MAX_OTHER_FORMS).map(listed).collect()
}

/// What a search tells of the tools that it found, the best first, where up to `limit` were asked for. The best are told as
/// `detail` says while there is room, then with less, and the last ones by name and a line: a model that has not found its
/// tool among the first looks at it by `get_tool`. What is asked for in full comes in full.
pub(crate) fn rows(
    found: &[Overloads<'_>],
    detail: Detail,
    limit: usize,
    snapshot: &Snapshot,
    policy: &Policy,
    principal: Principal<'_>,
) -> Vec<Value> {
    let told = |overloads: &Overloads<'_>, detail| row(overloads, detail, snapshot, policy, principal);
    let levels: &[Detail] = match detail {
        Detail::Full => return found.iter().filter_map(|overloads| told(overloads, detail)).collect(),
        Detail::Detailed => &[Detail::Detailed, Detail::Brief],
        Detail::Brief => &[Detail::Brief],
    };
    let named: Vec<Value> = found.iter().filter_map(named).collect();
    let mut reserved: usize = named.iter().map(size).sum();
    let mut left = FOUND_BYTES.saturating_add(FOUND_BYTES_PER_TOOL.saturating_mul(limit));
    let rows = found.iter().zip(named).map(|(overloads, named)| {
        reserved = reserved.saturating_sub(size(&named));
        let mut fuller = levels.iter().filter_map(|detail| told(overloads, *detail));
        let row = fuller.find(|row| size(row) + reserved <= left).unwrap_or(named);
        left = left.saturating_sub(size(&row));
        row
    });
    rows.collect()
}

/// The least that is told of a tool: its name, and a line on what it does.
fn named(overloads: &Overloads<'_>) -> Option<Value> {
    let tool = &overloads.first()?.tool;
    Some(json!({"name": tool.name.dotted(), "description": summary(&tool.description)}))
}

fn size(row: &Value) -> usize {
    row.to_string().len()
}

/// A call of the tool as `execute_tool` takes it: valid as it stands, or with the arguments still to be filled in.
pub(crate) fn call(entry: &Entry) -> Value {
    let params = entry.example_arguments().unwrap_or_else(|| json!({}));
    json!({"name": entry.tool.name.dotted(), "params": params})
}

/// A description, shortened for a list.
pub(crate) fn listed(description: &str) -> String {
    cut(description, MAX_LISTED_DESCRIPTION)
}

/// The first sentence of a description, on one line.
pub(crate) fn summary(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = line.match_indices(". ").map(|(at, _)| at + 1).next();
    cut(end.and_then(|end| line.get(..end)).unwrap_or(&line), MAX_SUMMARY)
}

/// The first characters, with a mark when there are more.
pub(crate) fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A line for each argument: its name, its type, whether it can be left out, and what it is for.
fn arguments(tool: &Tool) -> Vec<String> {
    let Some(properties) = tool.parameters.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let required = tool.parameters.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one.as_str() == Some(name)));
    // Those that every call has first, each group in the order of the schema.
    let (mut shown, optional): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| is_required(name));
    shown.extend(optional);
    let line = |(name, schema): &(&String, &Value)| {
        let kind = type_of(schema);
        let kind = if is_required(name) { kind } else { format!("{kind}, optional") };
        let about = schema.get("description").and_then(Value::as_str).map(summary).unwrap_or_default();
        let separator = if about.is_empty() { "" } else { ": " };
        format!("{} ({kind}){separator}{about}", cut(name, MAX_SUMMARY))
    };
    let mut told: Vec<String> = shown.iter().take(MAX_LISTED_ARGUMENTS).map(line).collect();
    let more = shown.len().saturating_sub(MAX_LISTED_ARGUMENTS);
    if more > 0 {
        told.push(format!("{more} more, see `get_tool`"));
    }
    told
}

/// The type of a value as one word, or the values that it may have.
fn type_of(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<String> = values.iter().take(MAX_LISTED_ARGUMENTS).map(Value::to_string).collect();
        return cut(&values.join(" | "), MAX_SUMMARY);
    }
    match schema.get("type") {
        Some(Value::String(name)) => cut(name, MAX_SUMMARY),
        Some(Value::Array(names)) => {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            cut(&names.join(" | "), MAX_SUMMARY)
        }
        _ => "any".to_owned(),
    }
}
