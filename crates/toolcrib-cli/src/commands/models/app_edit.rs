//! The choice of a model in the text of an app file, which keeps all other lines.

use serde_json::{Map, Value, json};
use toolcrib_document::{Document, Format, Limits, parse};

/// The section that selects the model.
const SECTION: &str = "/tools/search";

/// The settings of the section that are replaced.
const KEYS: [&str; 3] = ["tier", "model", "model_dir"];

/// The spaces before a key of a section that has no other.
const INDENT: usize = 2;

/// A chosen model.
pub(super) struct ChosenModel {
    /// The tier that runs it.
    pub(super) tier: &'static str,
    /// `model` or `model_dir`.
    pub(super) key: &'static str,
    /// Its name or its folder.
    pub(super) value: String,
}

impl ChosenModel {
    /// Returns the settings as they are written.
    pub(super) fn settings(&self) -> [(&'static str, Value); 2] {
        [("tier", json!(self.tier)), (self.key, json!(self.value))]
    }

    /// Returns the section as one line.
    pub(super) fn line(&self) -> String {
        format!("search: {}", flow(self.settings().iter().map(|(key, value)| (*key, value))))
    }
}

/// Returns the text of an app file with the model in it, or `None` if its layout is not one that is understood. Nothing
/// but the settings of the model differs, which is checked.
pub(super) fn with_model(text: &str, chosen: &ChosenModel) -> Option<String> {
    let read = |text: &str| parse(text.as_bytes(), Format::Yaml, &Limits::default()).ok();
    let document = read(text)?;
    let edited = match (document.value.get("tools"), document.value.pointer(SECTION)) {
        (_, Some(Value::Object(section))) => in_section(text, &document, section, chosen)?,
        (Some(_), None) => in_tools(text, &document, chosen)?,
        (None, _) => {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            format!("{text}{end}\ntools:\n{:INDENT$}{}\n", "", chosen.line())
        }
        _ => return None,
    };
    (read(&edited)?.value == expected(document.value, chosen)?).then_some(edited)
}

/// Returns the expected value of the file.
fn expected(mut value: Value, chosen: &ChosenModel) -> Option<Value> {
    let tools = value.as_object_mut()?.entry("tools").or_insert(Value::Null);
    if tools.is_null() {
        *tools = Value::Object(Map::new());
    }
    let section = tools.as_object_mut()?.entry("search").or_insert_with(|| json!({})).as_object_mut()?;
    section.retain(|key, _| !KEYS.contains(&key.as_str()));
    section.extend(chosen.settings().map(|(key, value)| (key.to_owned(), value)));
    Some(value)
}

/// Replaces the settings in a section that exists.
fn in_section(
    text: &str,
    document: &Document,
    section: &Map<String, Value>,
    chosen: &ChosenModel,
) -> Option<String> {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let head = document.position_of(SECTION)?.line.checked_sub(1)?;
    let line = lines.get(head)?.clone();
    if let Some((before, after)) = line.split_once('{') {
        // On one line. A brace in a text may be taken for the end, which the check of the result finds.
        let (_, after) = after.rsplit_once('}')?;
        let others = section.iter().filter(|(key, _)| !KEYS.contains(&key.as_str()));
        let settings = chosen.settings();
        let all = settings.iter().map(|(key, value)| (*key, value));
        let all = flow(all.chain(others.map(|(key, value)| (key.as_str(), value))));
        *lines.get_mut(head)? = format!("{before}{all}{after}");
        return Some(lines.concat());
    }
    let pointers: Vec<String> = section.keys().map(|key| format!("{SECTION}/{key}")).collect();
    let places = document.positions_of(&pointers);
    let indent = places.first().copied().flatten()?.column.checked_sub(1)?;
    let replaced = section.keys().zip(&places).filter(|(key, _)| KEYS.contains(&key.as_str()));
    let replaced: Vec<usize> =
        replaced.filter_map(|(_, place)| place.as_ref()?.line.checked_sub(1)).collect();
    let at = replaced.iter().copied().min().unwrap_or(head + 1);
    let mut edited: Vec<String> = Vec::new();
    for number in 0..=lines.len() {
        if number == at {
            let settings = chosen.settings();
            edited.extend(settings.map(|(key, value)| format!("{:indent$}{key}: {}\n", "", scalar(&value))));
        }
        edited.extend(lines.get(number).filter(|_| !replaced.contains(&number)).cloned());
    }
    Some(edited.concat())
}

/// Adds the section to `tools`.
fn in_tools(text: &str, document: &Document, chosen: &ChosenModel) -> Option<String> {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let head = document.position_of("/tools")?;
    let first = document.value.get("tools")?.as_object().and_then(|tools| tools.keys().next());
    let indent = match first {
        Some(key) => document.position_of(&format!("/tools/{key}"))?.column.checked_sub(1)?,
        None => head.column.checked_sub(1)? + INDENT,
    };
    let line = format!("{:indent$}{}\n", "", chosen.line());
    if head.line > lines.len() {
        return None;
    }
    lines.insert(head.line, &line);
    Some(lines.concat())
}

/// Returns a mapping on one line.
fn flow<'a>(settings: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let settings: Vec<String> = settings.map(|(key, value)| format!("{key}: {}", scalar(value))).collect();
    format!("{{{}}}", settings.join(", "))
}

/// Returns a value in YAML: names and paths as they are, everything else as in JSON, which is a part of YAML.
fn scalar(value: &Value) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    match value.as_str() {
        Some(text) if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '.' || c == '/') => {
            if text.chars().all(is_plain) { text.to_owned() } else { value.to_string() }
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ChosenModel, with_model};

    fn chosen() -> ChosenModel {
        ChosenModel { tier: "model", key: "model", value: "bge-small-en-v1.5".to_owned() }
    }

    #[test]
    fn a_model_is_written_into_every_usual_layout_and_nothing_else_changes() {
        let line = "search: {tier: model, model: bge-small-en-v1.5}";
        for (before, after) in [
            ("app: {id: a}\n", format!("app: {{id: a}}\n\ntools:\n  {line}\n")),
            ("app: {id: a}", format!("app: {{id: a}}\n\ntools:\n  {line}\n")),
            ("tools:\n    registry: []   # none\n", format!("tools:\n    {line}\n    registry: []   # none\n")),
            (
                "tools:\n  search: {tier: fastembed, model_dir: x, ranking: weighted}  # ours\n",
                "tools:\n  search: {tier: model, model: bge-small-en-v1.5, ranking: weighted}  # ours\n".to_owned(),
            ),
            (
                "tools:\n  search:\n    # why\n    ranking: fused\n    tier: builtin\n  registry: []\n",
                "tools:\n  search:\n    # why\n    ranking: fused\n    tier: model\n    model: bge-small-en-v1.5\n  \
                 registry: []\n"
                    .to_owned(),
            ),
            (
                "tools:\n  search:\n    synonyms: [[a, b]]\n",
                "tools:\n  search:\n    tier: model\n    model: bge-small-en-v1.5\n    synonyms: [[a, b]]\n".to_owned(),
            ),
        ] {
            assert_eq!(with_model(before, &chosen()).as_deref(), Some(after.as_str()));
        }
    }

    #[test]
    fn a_layout_that_is_not_understood_is_left_alone() {
        for text in [
            "tools: {registry: []}\n",
            "tools: {search: {tier: builtin}, registry: [{}]}\n",
            "tools:\n  search: {\n    tier: builtin}\n",
            "tools:\n  search: keyword\n",
            "tools:\n  search:\n    model: >\n      folded\n      text\n",
            "- a list\n",
            "tools: [",
        ] {
            assert_eq!(with_model(text, &chosen()), None, "{text}");
        }
    }

    #[test]
    fn a_folder_with_any_name_is_written_so_that_it_is_read_again() {
        let chosen =
            ChosenModel { tier: "fastembed", key: "model_dir", value: "./my: {models} #1".to_owned() };
        let text = with_model("tools:\n  search: {tier: model, model: a}\n", &chosen).unwrap();
        assert_eq!(text, "tools:\n  search: {tier: fastembed, model_dir: \"./my: {models} #1\"}\n");
    }
}
