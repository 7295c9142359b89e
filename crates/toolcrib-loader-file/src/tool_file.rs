//! The shapes of tool files, and their conversion into tools.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use toolcrib_document::{Document, Error};
use toolcrib_model::name::NAMESPACE_SEPARATOR;
use toolcrib_model::text::pointer_part;
use toolcrib_model::{JsonObject, QualifiedName, Schema, Tool};

use crate::unknown_keys::UnknownKeys;

/// The namespace of tools without one.
const DEFAULT_NAMESPACE: &str = "default";

/// The keys that identify a mapping as a tool.
const TOOL_KEYS: [&str; 7] =
    ["name", "description", "parameters", "input_schema", "inputSchema", "function", "output_parameters"];

/// Metadata that only the runtime's own tools may have, since it changes how a tool is shown and run.
const RESERVED_METADATA: [&str; 4] = ["operational", "presence", "discovery", "forwards"];

/// The reason that a tool of a file cannot be used.
pub(crate) struct ToolProblem {
    pub(crate) name: Option<String>,
    pub(crate) message: String,
    /// The pointer of the problem within the tool; empty for the tool itself.
    within: String,
}

/// The largest number of broken tools of one file that are reported individually.
pub(crate) const MAX_PROBLEMS: usize = 100;

/// The tools and problems of a file.
#[derive(Default)]
pub(crate) struct ParsedTools {
    pub(crate) tools: Vec<Tool>,
    /// The problems with their JSON pointers: the first [`MAX_PROBLEMS`].
    pub(crate) broken: Vec<(ToolProblem, String)>,
    /// The number of further broken tools, and the pointer of the first.
    pub(crate) beyond: Option<(usize, String)>,
    /// The unknown keys.
    pub(crate) unknown: UnknownKeys,
}

impl ParsedTools {
    fn add(
        &mut self,
        value: Value,
        key: Option<&str>,
        pointer: impl Fn() -> String,
        context: ToolContext<'_>,
    ) {
        let tool = tool(value, key, &pointer, context, &mut self.unknown);
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

    fn add_list(&mut self, items: Vec<Value>, pointer: &str, context: ToolContext<'_>) {
        for (position, item) in items.into_iter().enumerate() {
            self.add(item, None, || format!("{pointer}/{position}"), context);
        }
    }
}

/// The context of a tool: its document, and the namespaces that apply to it, in order of precedence.
#[derive(Clone, Copy)]
struct ToolContext<'a> {
    document: &'a Document,
    argument: Option<&'a str>,
    file: Option<&'a str>,
}

/// Returns the tools of a value at a pointer of a document, in any of the shapes.
pub(crate) fn tools(
    value: Value,
    document: &Document,
    base: &str,
    argument: Option<&str>,
) -> Result<ParsedTools, Error> {
    let context = ToolContext { document, argument, file: None };
    let mut parsed = ParsedTools::default();
    let mut map = match value {
        Value::Array(items) => {
            parsed.add_list(items, base, context);
            return Ok(parsed);
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
        parsed.add_list(items, &format!("{base}/tools"), ToolContext { file, ..context });
        return Ok(parsed);
    }
    if is_tool(&map) {
        parsed.add(Value::Object(map), None, || base.to_owned(), context);
        return Ok(parsed);
    }
    for (key, value) in map {
        let pointer = format!("{base}/{}", pointer_part(&key));
        match value {
            Value::Array(items) => {
                parsed.add_list(items, &pointer, ToolContext { file: Some(&key), ..context });
            }
            Value::Object(_) => {
                parsed.add(value, Some(&key), || pointer.clone(), ToolContext { file, ..context });
            }
            Value::String(_) if key == "namespace" => {}
            _ => {
                let message = format!("`{key}` should hold a list of tools, or one tool");
                return Err(document.error_at(&pointer, message));
            }
        }
    }
    Ok(parsed)
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
    context: ToolContext<'_>,
    unknown: &mut UnknownKeys,
) -> Result<Tool, ToolProblem> {
    let nameless = |message: &str| ToolProblem { name: None, message: message.into(), within: String::new() };
    let Value::Object(mut map) = value else { return Err(nameless("a tool should be a mapping")) };
    // OpenAI wraps the tool; keys next to the wrapped part (namespace, metadata) still apply.
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
    let problem = |message: String| ToolProblem { name: Some(name.clone()), message, within: String::new() };
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
    let namespace =
        own_namespace.as_deref().or(context.argument).or(context.file).unwrap_or(DEFAULT_NAMESPACE);
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
    let exact = if context.document.has_exact_integers() {
        context.document.exact_integers(&format!("{}{wrapped}/{key}", pointer()))
    } else {
        BTreeMap::new()
    };
    let mut tool = Tool::new(name)
        .with_description(description)
        .with_parameters(Schema::exact(parameters, &exact))
        .with_output_parameters(output);
    unknown.check(bare, &map).map_err(|(key, correction)| ToolProblem {
        within: format!("{wrapped}/{}", pointer_part(&key)),
        ..problem(format!("unknown key `{key}`, did you mean `{correction}`?"))
    })?;
    let metadata = metadata(map).map_err(problem)?;
    tool.change_metadata(|own| *own = metadata);
    Ok(tool)
}

/// Returns the first of these keys that is present, with its schema; `{}` if none is present.
fn schema(map: &mut JsonObject, keys: [&'static str; 3]) -> Result<(&'static str, Value), String> {
    match keys.into_iter().find_map(|key| Some((key, map.shift_remove(key)?))) {
        None | Some((_, Value::Null)) => Ok(("", Value::Object(Map::new()))),
        Some((key, schema @ (Value::Object(_) | Value::Bool(_)))) => Ok((key, schema)),
        Some((key, _)) => Err(format!("`{key}` should be a JSON Schema, which is a mapping")),
    }
}

/// Returns the metadata: the key `metadata`, and all remaining keys, such as `risk`, `tags` and `aliases`.
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
