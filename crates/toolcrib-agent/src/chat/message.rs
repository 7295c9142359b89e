//! The messages of a conversation, independent of provider and call style.

use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_prompt::OfferedTool;

/// One message of a conversation. The system prompt is not among them: it stands in the request.
///
/// It is the same for models that call through their API and for those that write calls as text, so that one may go on
/// where another stopped. As JSON it is what sessions keep, not what a server is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Message {
    /// A message of the user, or of the runtime in the user's name.
    User {
        /// The text.
        content: String,
    },
    /// A message of the model.
    Assistant {
        /// The text, without calls; empty where there are only calls.
        content: String,
        /// The calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<RequestedCall>,
        /// The reasoning before the calls, if the server expects it back.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
        /// The text with the calls in it, of a model that writes them as text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<String>,
        /// The parts that only the model's provider understands.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_items: Option<ProviderItems>,
    },
    /// The result of a call.
    Tool {
        /// The id of the call.
        call_id: String,
        /// The name that was called, as the model wrote it.
        #[serde(default)]
        name: String,
        /// The result as the model reads it.
        content: String,
        /// A text of the runtime after the result; usually empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        note: String,
        /// The wire names of the deferred tools that the result loads, as the result of a search. An API that defers
        /// tools takes these in place of the content.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        loads: Vec<String>,
    },
    /// Pictures that belong to the results before, for a model that sees.
    Pictures {
        /// In the order of the results.
        pictures: Vec<Picture>,
    },
}

/// A message of the model in the form of its provider, with the parts that only the provider understands: signed
/// thoughts, encrypted reasoning, citations. It returns unchanged to the same provider, and to no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderItems {
    /// The name of the provider.
    pub provider: String,
    /// The parts, in order. Of a call there is only its place, since its id and its arguments are those of the message.
    pub items: Vec<Value>,
}

/// A picture of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// The id of the call that it came of.
    pub call_id: String,
    /// Its media type, such as `image/png`.
    pub media_type: String,
    /// Base64.
    pub data: String,
}

/// A call as a model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCall {
    /// The id that the model gave it; empty if it gave none.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them: JSON, one hopes.
    pub arguments: String,
    /// The reason why the arguments cannot be parsed, if the parser of a text style found one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A tool as it is offered through the API.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFunction {
    /// The wire name.
    pub name: String,
    /// The description of the tool.
    pub description: String,
    /// The schema of its arguments.
    pub parameters: Value,
}

impl Message {
    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into() }
    }

    /// Creates a message of the model without calls.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::Assistant {
            content: content.into(),
            tool_calls: Vec::new(),
            reasoning: String::new(),
            written: None,
            provider_items: None,
        }
    }

    /// Creates the message with the result of a call.
    pub fn tool(call_id: impl Into<String>, name: impl Into<String>, content: impl Into<String>) -> Self {
        let (call_id, name, content) = (call_id.into(), name.into(), content.into());
        Self::Tool { call_id, name, content, note: String::new(), loads: Vec::new() }
    }

    /// Returns the text of the message.
    pub fn content(&self) -> &str {
        match self {
            Self::User { content } | Self::Assistant { content, .. } | Self::Tool { content, .. } => content,
            Self::Pictures { .. } => "",
        }
    }
}

impl From<&OfferedTool> for ToolFunction {
    fn from(tool: &OfferedTool) -> Self {
        Self {
            name: tool.wire_name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters().clone(),
        }
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
