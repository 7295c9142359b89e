//! A tool as it is offered to a model.

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_model::tool::{DiscoveryStep, Presence};
use toolcrib_model::{JsonObject, QualifiedName, Schema, Tool};
use toolcrib_schema::typescript::Declared;
use toolcrib_schema::{Profile, Sent};

use crate::Tokenizer;
use crate::sanitize::{clean, defuse_json, one_line};
use crate::system_prompt::call_style::CallStyle;

/// The most characters of a description that are sent, of a tool or within its schema. `OpenAI` refuses longer ones of
/// functions.
pub(crate) const MAX_DESCRIPTION_CHARS: usize = 1000;

/// The largest schema that is sent, in bytes of JSON: no single tool takes more than about 8,000 tokens. The
/// descriptions of a larger schema are removed, and if it is still too large, it is not sent.
pub(crate) const MAX_PARAMETERS_BYTES: usize = 32 * 1024;

/// The description of the tool that searches, where the API of the model loads what it finds.
const NATIVE_SEARCH: &str = "Find tools. Two to six words, verb and noun. The tools that it finds are loaded: call them by their names";

/// The role of an offered tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// A tool that does the work.
    Tool,
    /// A tool of the runtime that finds and runs others: it has `discovery: true` in its metadata.
    Discovery,
    /// An operational tool, which the agent needs to run.
    Operational,
}

/// A tool as it is offered to a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OfferedTool {
    /// The name that the model calls it by.
    pub wire_name: String,
    /// The tool.
    pub name: QualifiedName,
    /// The description: truncated with a note if it is long, without hidden characters and call markers.
    pub description: String,
    /// The role of the tool.
    pub role: Role,
    /// The step that a discovery tool serves.
    pub step: Option<DiscoveryStep>,
    /// True for the discovery tool whose results name the tools that it found.
    pub(crate) finds_tools: bool,
    /// The description of such a tool in all modes but the native one.
    usual_description: Option<String>,
    /// True if the tool belongs to the runtime.
    pub(crate) is_runtime: bool,
    /// The condition for offering an operational tool.
    pub(crate) presence: Presence,
    /// The index of the tool among all tools of the plan.
    pub(crate) place: usize,
    schema: SentSchema,
    result: Schema,
}

/// The schema of a tool in the form in which it is sent, made when it is first needed: most tools are never sent.
#[derive(Clone, Debug)]
struct SentSchema {
    declared: Schema,
    profile: Option<Profile>,
    made: OnceLock<Arc<MadeSchema>>,
}

#[derive(Debug)]
struct MadeSchema {
    parameters: Value,
    /// The schema adapted to the API that it is sent to.
    fitted: Option<Sent>,
}

impl SentSchema {
    fn get(&self) -> &MadeSchema {
        self.made.get_or_init(|| {
            let parameters = offered_parameters(&self.declared.to_value());
            let fitted = self.profile.map(|profile| Sent::new(&parameters, profile));
            Arc::new(MadeSchema { parameters, fitted })
        })
    }
}

impl PartialEq for SentSchema {
    fn eq(&self, other: &Self) -> bool {
        self.declared == other.declared && self.profile == other.profile
    }
}

impl OfferedTool {
    /// Creates an offered tool with its schema as an API accepts it. Calls are still checked against the original
    /// schema; [`restore`](Self::restore) maps the names of arguments back.
    pub(crate) fn new(tool: &Tool, wire_name: &str, is_runtime: bool, profile: Option<Profile>) -> Self {
        let role = Role::of(tool, is_runtime);
        Self {
            wire_name: wire_name.to_owned(),
            name: tool.name.clone(),
            description: clean(&tool.description, MAX_DESCRIPTION_CHARS),
            role,
            step: tool.traits().discovery_step.filter(|_| role == Role::Discovery),
            finds_tools: role == Role::Discovery && tool.traits().finds_tools,
            usual_description: None,
            is_runtime,
            presence: tool.presence(),
            place: 0,
            schema: SentSchema { declared: tool.parameters.clone(), profile, made: OnceLock::new() },
            result: tool.output_parameters.clone(),
        }
    }

    /// Describes the tool that searches for native mode, or for all others.
    pub(crate) fn describe_search(&mut self, is_native: bool) {
        if is_native && self.finds_tools {
            let usual = std::mem::replace(&mut self.description, NATIVE_SEARCH.to_owned());
            self.usual_description.get_or_insert(usual);
        } else if let Some(usual) = self.usual_description.take() {
            self.description = usual;
        }
    }

    /// Returns the schema of the arguments, an object schema; a large one loses its annotations and parts.
    pub fn parameters(&self) -> &Value {
        let made = self.schema.get();
        made.fitted.as_ref().map_or(&made.parameters, |sent| &sent.schema)
    }

    /// Returns the arguments of a model under the names that the tool has for them.
    pub fn restore(&self, arguments: JsonObject) -> JsonObject {
        match &self.schema.get().fitted {
            Some(sent) => sent.restore(arguments),
            None => arguments,
        }
    }

    /// Returns the tool as it is declared for scripts, which call it under its name and with its arguments.
    pub(crate) fn declared(&self) -> Declared<'_> {
        Declared::new(&self.name, &self.description, &self.schema.declared, &self.result)
    }

    /// Returns the name that the model finds the tool by and passes to the tool that runs others; a tool of the runtime
    /// has no namespace there.
    pub(crate) fn shown_name(&self) -> String {
        if self.is_runtime { self.wire_name.clone() } else { self.name.dotted() }
    }

    /// Returns the tool in the form of the Chat Completions API: `{"type": "function", "function": {…}}`.
    pub fn function(&self) -> Value {
        json!({
            "type": "function",
            "function": {
                "name": self.wire_name,
                "description": self.description,
                "parameters": self.parameters(),
            },
        })
    }

    /// Returns the tool as a block of the system prompt, for models that write their calls as text.
    pub(crate) fn block(&self) -> String {
        let parameters = defuse_json(&self.parameters().to_string());
        let description = one_line(&self.description, usize::MAX);
        format!("### {}\n{description}\nParameters: {parameters}", self.wire_name)
    }

    /// Returns the tool as it is sent to models that call tools in this style.
    pub(crate) fn sent(&self, style: CallStyle) -> String {
        match style {
            CallStyle::Native => self.function().to_string(),
            CallStyle::Text => self.block(),
        }
    }

    /// Returns the tokens of the tool as it is sent, counted separately from other tools.
    pub fn tokens(&self, style: CallStyle, tokenizer: Tokenizer) -> u32 {
        tokenizer.count(&self.sent(style))
    }
}

impl Role {
    fn of(tool: &Tool, is_runtime: bool) -> Self {
        if is_runtime && tool.traits().discovery {
            Self::Discovery
        } else if tool.traits().operational {
            Self::Operational
        } else {
            Self::Tool
        }
    }
}

/// Returns the schema as it is sent: an object schema, which APIs require and arguments always are, with its
/// descriptions cleaned, and within the bound.
fn offered_parameters(schema: &Value) -> Value {
    let full = object_schema(annotated(schema, &|text| Some(clean(text, MAX_DESCRIPTION_CHARS))));
    let bytes = size(&full);
    if bytes <= MAX_PARAMETERS_BYTES {
        return full;
    }
    let bare = object_schema(annotated(schema, &|_| None));
    if size(&bare) <= MAX_PARAMETERS_BYTES {
        return bare;
    }
    json!({
        "type": "object",
        "description": format!(
            "The schema of the arguments is too large to show ({bytes} bytes). \
             Call with the arguments that seem right: the error says which are expected."
        ),
        "properties": {},
    })
}

fn size(schema: &Value) -> usize {
    schema.to_string().len()
}

fn object_schema(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return json!({"type": "object", "properties": {}});
    };
    schema.insert("type".to_owned(), "object".into());
    schema.entry("properties").or_insert_with(|| JsonObject::new().into());
    schema.into()
}

/// Returns the schema with each annotation that people read changed, or removed if `change` returns `None`. Names and
/// values do not change, because a call has to repeat them exactly.
fn annotated(schema: &Value, change: &dyn Fn(&str) -> Option<String>) -> Value {
    match schema {
        Value::Object(map) => map
            .iter()
            .filter_map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("description" | "title" | "$comment", Value::String(text)) => change(text)?.into(),
                    ("const" | "enum" | "default" | "example" | "examples" | "required", _) => value.clone(),
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                        Value::Object(schemas),
                    ) => schemas
                        .iter()
                        .map(|(name, schema)| (name.clone(), annotated(schema, change)))
                        .collect(),
                    _ => annotated(value, change),
                };
                Some((key.clone(), value))
            })
            .collect(),
        Value::Array(items) => items.iter().map(|item| annotated(item, change)).collect(),
        _ => schema.clone(),
    }
}
