//! Keys of the task files of fms-dgt, from which a task of data generation may come.

use serde_json::{Map, Value, json};
use toolcrib_document::Document;

/// Keys without a counterpart, each with what to do about it.
const UNUSED: [(&str, &str); 8] = [
    ("created_by", "it has no effect"),
    ("data_builder", "the stages under `generate.stages` build the data"),
    ("seed_datastore", "conversations start from the tools, not from seed examples"),
    ("seed_examples", "conversations start from the tools, not from seed examples"),
    ("runner_config", "`generate` has `parallel`, `num_outputs` and `budget`"),
    ("datastore", "`generate.output` names the file"),
    ("final_datastore", "`generate.output` names the file"),
    ("formatter", "`generate.format` names the format"),
];

/// The key that marks a task file.
const MARK: &str = "task_name";

/// Reads the keys of a task file as what they mean. Returns a note for each one without a counterpart.
pub(crate) fn adopt(document: &mut Document) -> Vec<String> {
    if document.value.get(MARK).is_none() && document.value.get("data_builder").is_none() {
        return Vec::new();
    }
    let mut notes = Vec::new();
    for (key, advice) in UNUSED {
        let place =
            document.position_of(&format!("/{key}")).map(|position| format!("line {}: ", position.line));
        if take(&mut document.value, key).is_some() {
            notes.push(format!("{}`{key}` of the task file is ignored: {advice}", place.unwrap_or_default()));
        }
    }
    if let Some(name) = take(&mut document.value, MARK) {
        set(&mut document.value, "app", "id", || json!(identifier(name.as_str().unwrap_or_default())));
    }
    if let Some(description) = take(&mut document.value, "task_description") {
        set(&mut document.value, "generate", "description", || description);
    }
    notes
}

fn take(root: &mut Value, key: &str) -> Option<Value> {
    root.as_object_mut()?.shift_remove(key)
}

/// Sets a key of a section that does not set it.
fn set(root: &mut Value, section: &str, key: &str, value: impl FnOnce() -> Value) {
    let Some(root) = root.as_object_mut() else { return };
    let section = root.entry(section).or_insert_with(|| Value::Object(Map::new()));
    if section.is_null() {
        *section = Value::Object(Map::new());
    }
    if let Some(section) = section.as_object_mut() {
        section.entry(key).or_insert_with(value);
    }
}

/// Returns a name as the id of an app: `public/tools/My task` becomes `public-tools-my-task`.
fn identifier(name: &str) -> String {
    let dashed = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let id: String = name.chars().map(dashed).collect();
    id.trim_matches('-').to_owned()
}
