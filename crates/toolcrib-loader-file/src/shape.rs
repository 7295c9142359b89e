//! From the value of a file to its tools.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toolcrib_document::{Document, Error};
use toolcrib_model::{JsonObject, NAMESPACE_SEPARATOR, QualifiedName, Tool, pointer_part};

use crate::DEFAULT_NAMESPACE;
use crate::keys::UnknownKeys;

/// Keys by which a mapping is known as a tool.
const TOOL_KEYS: [&str; 7] =
    ["name", "description", "parameters", "input_schema", "inputSchema", "function", "output_parameters"];

/// Metadata that only the runtime's own tools may carry, since it changes how a tool is shown and run.
const RESERVED_METADATA: [&str; 4] = ["operational", "presence", "discovery", "forwards"];

/// Why one tool of a file cannot be used.
pub(crate) struct Problem {
    pub(crate) name: Option<String>,
    pub(crate) message: String,
    /// The pointer of the place within the tool; empty for the tool itself.
    within: String,
}

/// The most broken tools of one file that are reported one by one.
pub(crate) const MAX_PROBLEMS: usize = 100;

/// What a file holds.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) tools: Vec<Tool>,
    /// What is wrong, with the JSON pointer of its place: the first [`MAX_PROBLEMS`].
    pub(crate) broken: Vec<(Problem, String)>,
    /// How many broken tools there are beyond them, and the place of the first.
    pub(crate) beyond: Option<(usize, String)>,
    /// The keys that mean nothing here.
    pub(crate) unknown: UnknownKeys,
}

impl Found {
    fn add(
        &mut self,
        value: Value,
        key: Option<&str>,
        pointer: impl Fn() -> String,
        around: Surroundings<'_>,
    ) {
        let tool = tool(value, key, &pointer, around, &mut self.unknown);
        match (tool, &mut self.beyond) {
            (Ok(tool), _) => self.tools.push(tool),
            (Err(problem), _) if self.broken.len() < MAX_PROBLEMS => {
                let place = format!("{}{}", pointer(), problem.within);
                self.broken.push((problem, place));
            }
            (Err(_), Some((count, _))) => *count += 1,
            (Err(_), none) => *none = Some((1, pointer())),
        }
    }

    fn add_list(&mut self, items: Vec<Value>, pointer: &str, around: Surroundings<'_>) {
        for (position, item) in items.into_iter().enumerate() {
            self.add(item, None, || format!("{pointer}/{position}"), around);
        }
    }
}

/// Where a tool stands, and the namespaces that apply to it, the strongest first.
#[derive(Clone, Copy)]
struct Surroundings<'a> {
    document: &'a Document,
    argument: Option<&'a str>,
    file: Option<&'a str>,
}

/// Every tool of a value that stands at a pointer of a document, by whichever shape it has.
pub(crate) fn tools(
    value: Value,
    document: &Document,
    base: &str,
    argument: Option<&str>,
) -> Result<Found, Error> {
    let around = Surroundings { document, argument, file: None };
    let mut found = Found::default();
    let mut map = match value {
        Value::Array(items) => {
            found.add_list(items, base, around);
            return Ok(found);
        }
        Value::Object(map) => map,
        Value::Null => {
            return Err(document.error_at(base, "there is nothing here; it should be a list of tools"));
        }
        _ => return Err(document.error_at(base, "this should be a list of tools, or a mapping")),
    };
    let file = map.get("namespace").and_then(Value::as_str).map(str::to_owned);
    let file = file.as_deref();
    if let Some(Value::Array(items)) = map.get_mut("tools") {
        let items = std::mem::take(items);
        found.add_list(items, &format!("{base}/tools"), Surroundings { file, ..around });
        return Ok(found);
    }
    if is_tool(&map) {
        found.add(Value::Object(map), None, || base.to_owned(), around);
        return Ok(found);
    }
    for (key, value) in map {
        let pointer = format!("{base}/{}", pointer_part(&key));
        match value {
            Value::Array(items) => {
                found.add_list(items, &pointer, Surroundings { file: Some(&key), ..around });
            }
            Value::Object(_) => {
                found.add(value, Some(&key), || pointer.clone(), Surroundings { file, ..around });
            }
            Value::String(_) if key == "namespace" => {}
            _ => {
                let message = format!("`{key}` should hold a list of tools, or one tool");
                return Err(document.error_at(&pointer, message));
            }
        }
    }
    Ok(found)
}

fn is_tool(map: &Map<String, Value>) -> bool {
    map.get("name").is_some_and(Value::is_string)
        || map.get("type").and_then(Value::as_str) == Some("function")
            && map.keys().any(|key| TOOL_KEYS.contains(&key.as_str()))
}

fn tool(
    value: Value,
    key: Option<&str>,
    pointer: impl FnOnce() -> String,
    around: Surroundings<'_>,
    unknown: &mut UnknownKeys,
) -> Result<Tool, Problem> {
    let nameless = |message: &str| Problem { name: None, message: message.into(), within: String::new() };
    let Value::Object(mut map) = value else { return Err(nameless("a tool should be a mapping")) };
    // OpenAI wraps the tool; what stands beside the wrapped part (namespace, metadata) still counts.
    let wrapped = if let Some(Value::Object(function)) = map.shift_remove("function") {
        map.shift_remove("type");
        map.extend(function);
        "/function"
    } else {
        ""
    };
    let name = match map.shift_remove("name") {
        Some(Value::String(name)) if name.trim().is_empty() => {
            return Err(nameless("the `name` of the tool is empty"));
        }
        Some(Value::String(name)) => name,
        None => key.map(str::to_owned).ok_or_else(|| nameless("the tool has no `name`"))?,
        Some(_) => return Err(nameless("the `name` of a tool should be a text")),
    };
    let problem = |message: String| Problem { name: Some(name.clone()), message, within: String::new() };
    let own_namespace = match map.shift_remove("namespace") {
        None | Some(Value::Null) => None,
        Some(Value::String(namespace)) => Some(namespace),
        Some(_) => return Err(problem(format!("the `namespace` of `{name}` should be a text"))),
    };
    let (own_namespace, bare) = match name.split_once(NAMESPACE_SEPARATOR) {
        Some((namespace, bare)) if own_namespace.as_deref().is_none_or(|own| own == namespace) => {
            (Some(namespace.to_owned()), bare)
        }
        _ => (own_namespace, name.as_str()),
    };
    let namespace = own_namespace.as_deref().or(around.argument).or(around.file).unwrap_or(DEFAULT_NAMESPACE);
    let name = QualifiedName::new(namespace, bare).map_err(|error| problem(error.to_string()))?;

    let description = match map.shift_remove("description") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(_) => return Err(problem(format!("the `description` of `{bare}` should be a text"))),
    };
    let (key, parameters) =
        schema(&mut map, ["parameters", "input_schema", "inputSchema"]).map_err(problem)?;
    let (_, output) =
        schema(&mut map, ["output_parameters", "output_schema", "outputSchema"]).map_err(problem)?;
    let exact = if around.document.has_exact_integers() {
        around.document.exact_integers(&format!("{}{wrapped}/{key}", pointer()))
    } else {
        BTreeMap::new()
    };
    let mut tool = Tool::new(name)
        .with_description(description)
        .with_exact_parameters(parameters, &exact)
        .with_output_parameters(output);
    unknown.check(bare, &map).map_err(|(key, meant)| Problem {
        within: format!("{wrapped}/{}", pointer_part(&key)),
        ..problem(format!("unknown key `{key}`, did you mean `{meant}`?"))
    })?;
    tool.metadata = metadata(map).map_err(problem)?;
    Ok(tool)
}

/// The first of these keys that is there, with its schema; `{}` when none is.
fn schema(map: &mut JsonObject, keys: [&'static str; 3]) -> Result<(&'static str, Value), String> {
    match keys.into_iter().find_map(|key| Some((key, map.shift_remove(key)?))) {
        None | Some((_, Value::Null)) => Ok(("", Value::Object(Map::new()))),
        Some((key, schema @ (Value::Object(_) | Value::Bool(_)))) => Ok((key, schema)),
        Some((key, _)) => Err(format!("`{key}` should be a JSON Schema, which is a mapping")),
    }
}

/// What is left of a tool is metadata too: `risk`, `tags`, `aliases` and the like may stand beside the name.
fn metadata(mut rest: JsonObject) -> Result<JsonObject, String> {
    let mut metadata = match rest.shift_remove("metadata") {
        None | Some(Value::Null) => JsonObject::new(),
        Some(Value::Object(map)) => map,
        Some(_) => return Err("`metadata` should be a mapping".into()),
    };
    metadata.extend(rest);
    metadata.retain(|key, _| !RESERVED_METADATA.contains(&key.as_str()));
    if let Some(risk) = metadata.get("risk")
        && risk.as_str().and_then(toolcrib_model::Risk::parse).is_none()
    {
        return Err(format!("`risk` should be low, medium or high, not {risk}"));
    }
    Ok(metadata)
}
