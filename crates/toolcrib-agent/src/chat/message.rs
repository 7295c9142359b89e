//! The messages of a conversation, in the form of the Chat Completions API.

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Value, json};
use toolcrib_prompt::OfferedTool;

/// One message of a conversation. The system prompt is not among them: it stands in the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// What a person said, or the runtime in their place.
    User {
        /// The text.
        content: String,
    },
    /// What the model said.
    Assistant {
        /// The text; empty where there are only calls.
        content: String,
        /// The calls, of a model that calls through its API.
        tool_calls: Vec<RequestedCall>,
        /// What it thought before it called, where its server wants that back.
        reasoning: String,
    },
    /// What came of a call that a model made through its API.
    Tool {
        /// The id of the call.
        call_id: String,
        /// The result as the model reads it.
        content: String,
    },
}

/// A call as a model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedCall {
    /// The id that the model gave it; empty if it gave none.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON, one hopes.
    pub arguments: String,
}

/// A tool as it is offered through the API.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFunction {
    /// The wire name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
}

impl Message {
    /// The text of the message.
    pub fn content(&self) -> &str {
        match self {
            Self::User { content } | Self::Assistant { content, .. } | Self::Tool { content, .. } => content,
        }
    }
}

impl From<&OfferedTool> for ToolFunction {
    fn from(tool: &OfferedTool) -> Self {
        Self {
            name: tool.wire_name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::User { content } => {
                map.serialize_entry("role", "user")?;
                map.serialize_entry("content", content)?;
            }
            Self::Assistant { content, tool_calls, reasoning } => {
                map.serialize_entry("role", "assistant")?;
                if !reasoning.is_empty() {
                    map.serialize_entry("reasoning_content", reasoning)?;
                }
                if tool_calls.is_empty() {
                    map.serialize_entry("content", content)?;
                } else {
                    // As the API itself writes a message that consists of calls.
                    map.serialize_entry("content", &Some(content).filter(|content| !content.is_empty()))?;
                    map.serialize_entry("tool_calls", tool_calls)?;
                }
            }
            Self::Tool { call_id, content } => {
                map.serialize_entry("role", "tool")?;
                map.serialize_entry("tool_call_id", call_id)?;
                map.serialize_entry("content", content)?;
            }
        }
        map.end()
    }
}

impl Serialize for RequestedCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        json!({"id": self.id, "type": "function", "function": {"name": self.name, "arguments": self.arguments}})
            .serialize(serializer)
    }
}

impl Serialize for ToolFunction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The keys in the order of `OfferedTool::function`, whose size the plan counts.
        json!({
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        })
        .serialize(serializer)
    }
}
