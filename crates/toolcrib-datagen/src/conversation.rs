//! Generated conversations.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::{QualifiedName, Tool, ToolError};

/// A generated conversation with the tools that its assistant was offered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conversation {
    /// The identifier, unique in its data set.
    pub id: String,
    /// The seed that all random choices of the conversation derive from.
    pub seed: u64,
    /// The behaviour that the conversation shows.
    pub kind: Kind,
    /// The offered tools, in the order in which they were offered.
    pub tools: Vec<ConversationTool>,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The messages that a preference pair rejects, in place of [`messages`](Self::messages) from
    /// [`RejectedBranch::from`] on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejected: Option<RejectedBranch>,
    /// The models and sources that the conversation came from.
    #[serde(default)]
    pub provenance: Provenance,
}

impl Conversation {
    /// Creates a conversation without tools and messages.
    pub fn new(id: impl Into<String>, kind: Kind) -> Self {
        Self {
            id: id.into(),
            seed: 0,
            kind,
            tools: Vec::new(),
            messages: Vec::new(),
            rejected: None,
            provenance: Provenance::default(),
        }
    }
}

/// The behaviours that generated conversations show.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// One call.
    Single,
    /// Several independent calls in one message.
    Parallel,
    /// A call that uses the result of an earlier one.
    Nested,
    /// Several messages of the user.
    MultiTurn,
    /// The user leaves out a required argument, and the assistant asks for it.
    MissingParameter,
    /// No offered tool can do what the user asks for.
    MissingTool,
    /// The request needs no tool.
    Irrelevant,
    /// Several tools or values fit, and the assistant asks which one is meant.
    Ambiguous,
    /// The policy denies the call.
    Denied,
    /// A call fails, and the assistant corrects it.
    ErrorRecovery,
    /// The result is too long for one message, and the assistant reads more of it.
    LongResult,
    /// The assistant searches for a tool before it calls it.
    Discovery,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Single,
        Self::Parallel,
        Self::Nested,
        Self::MultiTurn,
        Self::MissingParameter,
        Self::MissingTool,
        Self::Irrelevant,
        Self::Ambiguous,
        Self::Denied,
        Self::ErrorRecovery,
        Self::LongResult,
        Self::Discovery,
    ];

    /// Returns the name, as in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Parallel => "parallel",
            Self::Nested => "nested",
            Self::MultiTurn => "multi_turn",
            Self::MissingParameter => "missing_parameter",
            Self::MissingTool => "missing_tool",
            Self::Irrelevant => "irrelevant",
            Self::Ambiguous => "ambiguous",
            Self::Denied => "denied",
            Self::ErrorRecovery => "error_recovery",
            Self::LongResult => "long_result",
            Self::Discovery => "discovery",
        }
    }
}

/// A tool as a conversation offers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversationTool {
    /// The qualified name. Overloads have the same name.
    pub name: QualifiedName,
    /// The description.
    pub description: String,
    /// The schema of the arguments, with its definitions.
    pub parameters: Value,
}

impl From<&Tool> for ConversationTool {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.to_value().into_owned(),
        }
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The system prompt.
    System {
        /// The text.
        content: String,
    },
    /// A message of the user.
    User {
        /// The text.
        content: String,
    },
    /// A message of the assistant.
    Assistant {
        /// The text; empty if the message consists of calls.
        #[serde(default)]
        content: String,
        /// The calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
    },
    /// The result of a call.
    Tool {
        /// The identifier of the call.
        call_id: String,
        /// The result as the assistant reads it: a value, or a text.
        content: Value,
        /// True if the call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
}

impl Message {
    /// Creates a message of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self::User { content: content.into() }
    }

    /// Creates a message of the assistant without calls.
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::Assistant { content: content.into(), calls: Vec::new() }
    }

    /// Creates a message of the assistant that consists of calls.
    pub fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::Assistant { content: String::new(), calls: calls.into_iter().collect() }
    }

    /// Creates the result of a call.
    pub fn result(call_id: impl Into<String>, content: impl Into<Value>) -> Self {
        Self::Tool { call_id: call_id.into(), content: content.into(), failed: false }
    }

    /// Creates the result of a call that failed, in the form in which agents read errors: `{"error": {…}}`.
    pub fn failure(call_id: impl Into<String>, error: &ToolError) -> Self {
        Self::Tool { call_id: call_id.into(), content: json!({"error": error}), failed: true }
    }
}

/// A call of the assistant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The identifier, unique in its conversation.
    pub id: String,
    /// The name of the tool: `namespace::name`.
    pub name: String,
    /// The arguments: an object, or the text of the assistant if it is no JSON object.
    pub arguments: Value,
}

impl Call {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// The rejected branch of a preference pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RejectedBranch {
    /// The index of the first message that the branch replaces.
    pub from: usize,
    /// The messages of the branch.
    pub messages: Vec<Message>,
}

/// The models and sources that a conversation came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The models that wrote parts of it, each once.
    pub models: Vec<String>,
    /// The sources of the tools.
    pub sources: Vec<String>,
}

impl Provenance {
    /// Adds a model that wrote a part of the conversation.
    pub(crate) fn add_model(&mut self, model: &str) {
        if !self.models.iter().any(|known| known == model) {
            self.models.push(model.to_owned());
        }
    }
}
