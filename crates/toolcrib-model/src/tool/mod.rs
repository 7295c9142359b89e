//! Definitions of tools.

pub mod app;
pub(crate) mod equivalent;
pub(crate) mod fingerprint;
pub(crate) mod risk;
pub(crate) mod schema;
pub(crate) mod traits;
pub mod view;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::name::{NAMESPACE_SEPARATOR, SCHEDULER_NAMESPACE};
use crate::tool::traits::texts;
use crate::tool::view::View;
use crate::{Fingerprint, JsonObject, NameError, QualifiedName, Risk, Schema, ToolTraits};

pub use self::equivalent::EquivalentCall;
pub use self::fingerprint::ParseFingerprintError;
pub use self::schema::{Definition, PerDefinition, Rewritten, SharedDefinitions};
pub use self::traits::{Cacheable, DeferredCall, DiscoveryStep, Forwarding, Presence};

/// The definition of a tool from any source.
///
/// Serialized as `{"name", "namespace", "description", "parameters", "output_parameters", "metadata"}`. All further
/// properties (risk, tags, aliases, …) are part of `metadata`, so that they survive every storage and wire format.
/// [`traits`](Self::traits) has those that decide how the tool is treated.
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
    /// Everything else, as it was written.
    metadata: JsonObject,
    /// The behaviour that the metadata declares. Every change of the metadata updates it.
    traits: ToolTraits,
    /// The equivalent call of another tool. Only the runtime sets it: sources cannot write it.
    equivalent: Option<Arc<EquivalentCall>>,
    /// The tools that this one is a view of. Only the registry sets it: sources cannot write it.
    view: Option<Arc<View>>,
    /// The source that it came from. Only the registry sets it: sources cannot write it.
    source: Option<Arc<str>>,
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
            traits: ToolTraits::default(),
            equivalent: None,
            view: None,
            source: None,
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

    /// Sets one entry of the metadata.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let (key, value) = (key.into(), value.into());
        self.traits.read(&key, &value);
        self.metadata.insert(key, value);
        self
    }

    /// Changes the metadata.
    pub fn change_metadata(&mut self, change: impl FnOnce(&mut JsonObject)) {
        change(&mut self.metadata);
        self.traits = ToolTraits::of(&self.metadata);
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

    /// Sets the tools that this one is a view of.
    pub fn with_view(mut self, view: View) -> Self {
        self.view = Some(Arc::new(view));
        self
    }

    /// Returns the tools that this one is a view of, if it is one.
    pub fn view(&self) -> Option<&View> {
        self.view.as_deref()
    }

    /// Sets the source that the tool came from.
    pub fn with_source(mut self, source: Arc<str>) -> Self {
        self.source = Some(source);
        self
    }

    /// Returns the source that the tool came from, once it is registered.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns the digest of the argument schema, which tells overloads apart.
    pub fn fingerprint(&self) -> Fingerprint {
        self.parameters.fingerprint()
    }

    /// Returns the metadata as it was written.
    pub fn metadata(&self) -> &JsonObject {
        &self.metadata
    }

    /// Returns the declared behaviour.
    pub fn traits(&self) -> &ToolTraits {
        &self.traits
    }

    /// Returns the display name.
    pub fn title(&self) -> Option<&str> {
        self.text("title")
    }

    /// Returns the category in which people look for the tool.
    pub fn category(&self) -> Option<&str> {
        self.text("category")
    }

    /// Returns the method of the Model Context Protocol that the tool represents, if it does.
    pub fn protocol_method(&self) -> Option<&str> {
        self.text(Self::PROTOCOL_METHOD)
    }

    /// The metadata key of the method of the Model Context Protocol that a tool represents.
    pub const PROTOCOL_METHOD: &'static str = "mcp_method";

    /// Returns the `_meta` of the tool at its MCP server, which is meant for clients and not for models.
    pub fn protocol_meta(&self) -> Option<&JsonObject> {
        self.metadata.get(Self::PROTOCOL_META)?.as_object()
    }

    /// The metadata key of the `_meta` of a tool at its MCP server.
    pub const PROTOCOL_META: &'static str = "mcp_meta";

    /// Returns the URI of the user interface of the tool (MCP Apps), if it has one.
    pub fn app_uri(&self) -> Option<&str> {
        app::app_uri(self.protocol_meta()?)
    }

    /// Returns true if changes of what the tool reads are announced.
    pub fn is_watchable(&self) -> bool {
        self.metadata.get(Self::WATCHABLE) == Some(&Value::Bool(true))
    }

    /// The metadata key of tools that read resources whose changes are announced.
    pub const WATCHABLE: &'static str = "watchable";

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

    /// Returns example arguments.
    pub fn examples(&self) -> &[Value] {
        self.metadata.get("examples").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Returns the declared access rules, not yet parsed.
    pub fn access(&self) -> Option<&Value> {
        self.metadata.get("access")
    }

    /// Returns the condition for offering the tool to a model, if it is [operational](ToolTraits::operational).
    pub fn presence(&self) -> Presence {
        // A module that declares its tool operational expects it to be offered.
        let default = if self.name.is_of_runtime() { Presence::Optional } else { Presence::Essential };
        self.traits.presence.unwrap_or(default)
    }

    /// Returns the calls that the tool forwards. Only the runtime's own tools are trusted.
    pub fn forwarding(&self) -> Option<Forwarding> {
        self.traits.forwards.filter(|_| self.name.is_of_runtime())
    }

    /// Returns the arguments with the call that the tool makes later. Only the runtime's own tools and those of
    /// schedules are trusted.
    pub fn deferred_call(&self) -> Option<&DeferredCall> {
        self.traits.target.as_ref().filter(|_| self.is_trusted_to_run_others())
    }

    /// Returns true if a call of the tool may run others, now or later, so that the call does not declare an effect.
    /// Only the runtime's own tools and those of schedules are trusted.
    pub fn runs_others(&self) -> bool {
        let ToolTraits { forwards, target, runs_others, .. } = &self.traits;
        self.is_trusted_to_run_others() && (forwards.is_some() || target.is_some() || *runs_others)
    }

    /// Returns true if the numbers of the tool only request an amount, so that the nearest bound is as good. Only the
    /// runtime's own tools are trusted: for any other tool, a bound may be a limit that no call should approach.
    pub fn clamps_numbers(&self) -> bool {
        self.traits.clamps && self.name.is_of_runtime()
    }

    /// Returns true if the tool waits for its user, and limits that time itself. Only the runtime's own tools are
    /// trusted.
    pub fn awaits_user(&self) -> bool {
        self.traits.awaits_user && self.name.is_of_runtime()
    }

    /// Returns the former names of arguments with their current names. Only the runtime's own tools are trusted.
    pub fn former_arguments(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.metadata.get("former_arguments").filter(|_| self.name.is_of_runtime());
        let names = own.and_then(Value::as_object).into_iter().flatten();
        names.filter_map(|(former, current)| Some((former.as_str(), current.as_str()?)))
    }

    /// Returns the names of the arguments, in order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|map| map.keys().map(String::as_str))
    }

    /// Schedules can be a separate module.
    fn is_trusted_to_run_others(&self) -> bool {
        self.name.is_of_runtime() || self.name.namespace() == SCHEDULER_NAMESPACE
    }

    fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str)
    }

    fn texts(&self, key: &str) -> impl Iterator<Item = &str> {
        self.metadata.get(key).into_iter().flat_map(texts)
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
            traits: ToolTraits::of(&form.metadata),
            metadata: form.metadata,
            equivalent: None,
            view: None,
            source: None,
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
