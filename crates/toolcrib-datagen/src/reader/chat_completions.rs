//! The reader of `{messages, tools}` of the Chat Completions API.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_model::QualifiedName;

use crate::conversation::{Call, Conversation, ConversationTool, Kind, Message};

/// The namespace of tools whose names have none.
const DEFAULT_NAMESPACE: &str = "tools";

#[derive(Deserialize)]
struct Row {
    messages: Vec<RowMessage>,
    #[serde(default)]
    tools: Vec<RowTool>,
}

#[derive(Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum RowMessage {
    #[serde(alias = "developer")]
    System {
        content: Content,
    },
    User {
        content: Content,
    },
    Assistant {
        #[serde(default)]
        content: Option<Content>,
        #[serde(default)]
        tool_calls: Option<Vec<RowCall>>,
    },
    Tool {
        tool_call_id: String,
        content: Content,
    },
}

/// The content of a message: a text, or parts of which those with text count.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Deserialize)]
struct ContentPart {
    #[serde(default)]
    text: String,
}

#[derive(Deserialize)]
struct RowCall {
    id: String,
    function: CalledFunction,
}

#[derive(Deserialize)]
struct CalledFunction {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct RowTool {
    function: Function,
}

#[derive(Deserialize)]
struct Function {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Value>,
}

/// Reads one row. Calls of tools that were not offered keep their names as they are written.
pub(super) fn read(row: Value, id: &str) -> Result<Conversation, String> {
    let row: Row = serde_json::from_value(row).map_err(|error| error.to_string())?;
    let mut names = HashMap::new();
    let mut tools = Vec::new();
    for RowTool { function } in row.tools {
        let name = qualified(&function.name)?;
        names.insert(function.name, name.to_string());
        let parameters = function.parameters.unwrap_or_else(|| json!({"type": "object", "properties": {}}));
        tools.push(ConversationTool { name, description: function.description, parameters });
    }
    let messages = row.messages.into_iter().map(|message| self::message(message, &names)).collect();
    // The format does not say which behaviour a conversation shows, and no check depends on it.
    Ok(Conversation { tools, messages, ..Conversation::new(id, Kind::Single) })
}

/// Parses `namespace::name`, `namespace.name`, `namespace__name`, or a name alone.
fn qualified(name: &str) -> Result<QualifiedName, String> {
    let split = ["::", ".", "__"].into_iter().find_map(|separator| name.split_once(separator));
    let parts = split.filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty());
    let (namespace, own) = parts.unwrap_or((DEFAULT_NAMESPACE, name));
    QualifiedName::new(namespace, own).map_err(|error| format!("the name of the tool `{name}`: {error}"))
}

fn message(message: RowMessage, names: &HashMap<String, String>) -> Message {
    match message {
        RowMessage::System { content } => Message::System { content: content.into_text() },
        RowMessage::User { content } => Message::User { content: content.into_text() },
        RowMessage::Assistant { content, tool_calls } => Message::Assistant {
            content: content.map(Content::into_text).unwrap_or_default(),
            calls: tool_calls.unwrap_or_default().into_iter().map(|call| self::call(call, names)).collect(),
        },
        RowMessage::Tool { tool_call_id, content } => {
            let text = content.into_text();
            let parsed = serde_json::from_str(&text).ok().filter(|value: &Value| !value.is_string());
            let content = parsed.unwrap_or(Value::String(text));
            let failed = content.get("error").is_some_and(|error| !error.is_null());
            Message::Tool { call_id: tool_call_id, content, failed }
        }
    }
}

fn call(call: RowCall, names: &HashMap<String, String>) -> Call {
    let CalledFunction { name, arguments } = call.function;
    let arguments = serde_json::from_str(&arguments).unwrap_or(Value::String(arguments));
    Call { id: call.id, name: names.get(&name).cloned().unwrap_or(name), arguments }
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().map(|part| part.text).collect::<Vec<_>>().join("\n"),
        }
    }
}
