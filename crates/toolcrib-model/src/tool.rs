//! Definitions of tools.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    EquivalentCall, Fingerprint, JsonObject, NAMESPACE_SEPARATOR, NameError, QualifiedName,
    RUNTIME_NAMESPACE, Risk, Schema,
};

/// The definition of a tool from any source.
///
/// Serialized as `{"name", "namespace", "description", "parameters", "output_parameters", "metadata"}`. Further
/// properties (risk, tags, aliases, …) are stored in `metadata` under the name of the method that reads them, so that
/// they survive every storage and wire format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "ToolForm<Value>", into = "ToolForm<Schema>")]
pub struct Tool {
    /// The full name.
    pub name: QualifiedName,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Schema,
    /// JSON Schema of the result; `{}` when it is not known.
    pub output_parameters: Schema,
    /// Everything else.
    pub metadata: JsonObject,
    /// The equivalent call of another tool. Only the runtime sets it: sources cannot write it.
    equivalent: Option<Arc<EquivalentCall>>,
}

/// The condition for offering a model an operational tool ([`Tool::is_operational`]), in modes that do not offer all
/// tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Presence {
    /// The tool is always offered.
    Essential,
    /// The tool is offered if the budget has room for it.
    Optional,
    /// The model has to find the tool, as it finds those of sources.
    OnDemand,
}

/// The reason why data is not a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFormError {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A schema is neither an object nor a boolean.
    #[error("`{field}` must be a JSON Schema, an object")]
    Schema {
        /// `parameters` or `output_parameters`.
        field: &'static str,
    },
}

impl Tool {
    /// Creates a tool without arguments and without a description.
    pub fn new(name: QualifiedName) -> Self {
        Self {
            name,
            description: String::new(),
            parameters: json!({"type": "object", "properties": {}}).into(),
            output_parameters: json!({}).into(),
            metadata: JsonObject::new(),
            equivalent: None,
        }
    }

    /// Sets the description.
    pub fn with_description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the schema of the arguments.
    pub fn with_parameters(mut self, parameters: impl Into<Schema>) -> Self {
        self.parameters = parameters.into();
        self
    }

    /// Sets the schema of the result.
    pub fn with_output_parameters(mut self, output_parameters: impl Into<Schema>) -> Self {
        self.output_parameters = output_parameters.into();
        self
    }

    /// Adds one entry to the metadata.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Sets the risk.
    pub fn with_risk(self, risk: Risk) -> Self {
        self.with_metadata("risk", risk.as_str())
    }

    /// Sets the equivalent call of another tool, so that the rules for both apply.
    pub fn with_equivalent(mut self, equivalent: EquivalentCall) -> Self {
        self.equivalent = Some(Arc::new(equivalent));
        self
    }

    /// Returns the equivalent call of another tool, if there is one.
    pub fn equivalent(&self) -> Option<&EquivalentCall> {
        self.equivalent.as_deref()
    }

    /// Returns the digest of the argument schema, which tells overloads apart.
    pub fn fingerprint(&self) -> Fingerprint {
        self.parameters.fingerprint()
    }

    /// Returns the risk of a call; medium if the tool does not declare one.
    pub fn risk(&self) -> Risk {
        self.metadata.get("risk").and_then(Value::as_str).and_then(Risk::parse).unwrap_or_default()
    }

    /// Returns the display name.
    pub fn title(&self) -> Option<&str> {
        self.metadata.get("title").and_then(Value::as_str)
    }

    /// The metadata key of arguments whose members are sent as separate arguments.
    pub const EXPLODED_ARGUMENTS: &'static str = "exploded_arguments";

    /// Returns the arguments whose members are sent as separate arguments.
    pub fn exploded_arguments(&self) -> impl Iterator<Item = &str> {
        self.texts(Self::EXPLODED_ARGUMENTS)
    }

    /// Returns the topics of the tool.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        self.texts("tags")
    }

    /// Returns other names that the tool can be found by, in any language.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.texts("aliases")
    }

    /// Returns the declared side effects of a call.
    pub fn side_effects(&self) -> impl Iterator<Item = &str> {
        self.texts("side_effects")
    }

    /// Returns example arguments.
    pub fn examples(&self) -> &[Value] {
        self.metadata.get("examples").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns true if each call needs approval unless the tool is granted by name.
    pub fn confirmation_required(&self) -> bool {
        self.flag("confirmation_required", false)
    }

    /// Returns true if a second identical call has no further effect.
    pub fn is_idempotent(&self) -> bool {
        self.flag("idempotent", false)
    }

    /// Returns true if the tool is part of the agent runtime itself; [`presence`](Self::presence) says when it is
    /// offered.
    pub fn is_operational(&self) -> bool {
        self.flag("operational", false)
    }

    /// Returns the condition for offering the tool to a model, if it is [operational](Self::is_operational).
    pub fn presence(&self) -> Presence {
        match self.metadata.get("presence").and_then(Value::as_str) {
            Some("essential") => Presence::Essential,
            Some("on_demand") => Presence::OnDemand,
            // A module that declares its tool operational expects it to be offered.
            _ if self.name.namespace() != RUNTIME_NAMESPACE => Presence::Essential,
            _ => Presence::Optional,
        }
    }

    /// Returns true if models may see the tool. Only programs call a tool that represents a request of a protocol.
    pub fn is_for_models(&self) -> bool {
        self.flag("for_models", true)
    }

    /// Returns true if people can select the tool from a list.
    pub fn is_user_selectable(&self) -> bool {
        self.flag("user_selectable", true)
    }

    /// Returns the names of the arguments, in order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        self.metadata.get(key).and_then(Value::as_bool).unwrap_or(default)
    }

    fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        self.metadata.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    }
}

/// The serialized form of a [`Tool`].
#[derive(Clone, Serialize, Deserialize)]
struct ToolForm<S> {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: S,
    #[serde(default)]
    output_parameters: S,
    #[serde(default)]
    metadata: JsonObject,
}

impl TryFrom<ToolForm<Value>> for Tool {
    type Error = ToolFormError;

    fn try_from(form: ToolForm<Value>) -> Result<Self, ToolFormError> {
        let name = match form.name.split_once(NAMESPACE_SEPARATOR) {
            Some((namespace, name)) if form.namespace.is_empty() || form.namespace == namespace => {
                QualifiedName::new(namespace, name)?
            }
            _ => QualifiedName::new(form.namespace, form.name)?,
        };
        Ok(Self {
            name,
            description: form.description,
            parameters: schema("parameters", form.parameters)?,
            output_parameters: schema("output_parameters", form.output_parameters)?,
            metadata: form.metadata,
            equivalent: None,
        })
    }
}

fn schema(field: &'static str, value: Value) -> Result<Schema, ToolFormError> {
    match value {
        Value::Null => Ok(json!({}).into()),
        Value::Object(_) | Value::Bool(_) => Ok(value.into()),
        _ => Err(ToolFormError::Schema { field }),
    }
}

impl From<Tool> for ToolForm<Schema> {
    fn from(tool: Tool) -> Self {
        Self {
            name: tool.name.name().into(),
            namespace: tool.name.namespace().into(),
            description: tool.description,
            parameters: tool.parameters,
            output_parameters: tool.output_parameters,
            metadata: tool.metadata,
        }
    }
}
