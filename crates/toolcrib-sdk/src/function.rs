//! One function with what a model is told about it.

use std::future::{Future, ready};
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use schemars::generate::{Contract, SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, JsonObject, NameError, QualifiedName, Risk, Tool, ToolError, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

use crate::Inputs;

/// A handler that maps a call to its result.
pub(crate) type Handler = Arc<dyn Fn(&Call, Inputs) -> BoxFuture<'static, ToolResult> + Send + Sync>;

/// A tool made of a Rust function.
#[derive(Clone)]
pub struct FunctionTool {
    name: String,
    description: String,
    parameters: Value,
    output_parameters: Value,
    metadata: JsonObject,
    pub(crate) handler: Handler,
}

impl FunctionTool {
    /// A tool of this bare name. `A` is the type of the arguments; its schema is what a model sees. The function's
    /// value is the result; a failure that the model can do something about is a [`ToolError`].
    pub fn new<A, T, F, R>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize,
        F: Fn(A, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        Self::with_inputs(name, description, move |arguments, inputs: Inputs| {
            function(arguments, inputs.context)
        })
    }

    /// The same for a function that also wants the configuration of its module.
    pub fn with_inputs<A, T, F, R>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize,
        F: Fn(A, Inputs) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, ToolError>> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |call, inputs| {
            let arguments = match A::deserialize(&call.arguments) {
                Ok(arguments) => arguments,
                Err(error) => {
                    return Box::pin(ready(call.error(ErrorKind::InvalidArgs, error.to_string())));
                }
            };
            let running = function(arguments, inputs);
            let (call_id, name) = (call.call_id.clone(), call.tool.name.to_string());
            Box::pin(async move {
                let json =
                    |error| ToolError::new(ErrorKind::Internal, format!("the result is not JSON: {error}"));
                let value = match running.await {
                    Ok(value) => serde_json::to_value(value).map_err(json),
                    Err(error) => Err(error),
                };
                match value {
                    Ok(value) => ToolResult::ok(call_id, name, value),
                    Err(error) => ToolResult::failed(call_id, name, error),
                }
            })
        });
        Self::from_handler(name, description, arguments_of::<A>(), handler)
    }

    /// Returns a tool whose function makes the whole [`ToolResult`], as one that passes on the result of another call.
    pub fn forwarding<A, F, R>(name: impl Into<String>, description: impl Into<String>, function: F) -> Self
    where
        A: JsonSchema,
        F: Fn(Call, CallContext) -> R + Send + Sync + 'static,
        R: Future<Output = ToolResult> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |call, inputs| Box::pin(function(call.clone(), inputs.context)));
        Self::from_handler(name, description, arguments_of::<A>(), handler)
    }

    fn from_handler(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        handler: Handler,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            output_parameters: json!({}),
            metadata: JsonObject::new(),
            handler,
        }
    }

    /// Sets how much harm a call can do; medium otherwise.
    pub fn with_risk(self, risk: Risk) -> Self {
        self.with_metadata("risk", risk.as_str())
    }

    /// Sets other names under which the tool should be found.
    pub fn with_aliases<const N: usize>(self, aliases: [&str; N]) -> Self {
        self.with_metadata("aliases", aliases.map(Value::from).to_vec())
    }

    /// Sets what a call changes outside of itself.
    pub fn with_side_effects<const N: usize>(self, side_effects: [&str; N]) -> Self {
        self.with_metadata("side_effects", side_effects.map(Value::from).to_vec())
    }

    /// Changes the schema of the arguments, such as to take out what cannot be used where the tool is made. Calls are checked
    /// against what is left.
    pub fn with_parameters(mut self, change: impl FnOnce(&mut Value)) -> Self {
        change(&mut self.parameters);
        self
    }

    /// Sets the schema of the result, from its type.
    pub fn with_output<T: JsonSchema>(mut self) -> Self {
        self.output_parameters = schema_under::<T>(Contract::Serialize);
        self
    }

    /// Sets one entry of the tool's metadata.
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Returns the bare name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the definition under a module's name.
    pub(crate) fn definition(&self, module: &str) -> Result<Tool, NameError> {
        let mut tool = Tool::new(QualifiedName::new(module, &self.name)?)
            .with_description(&self.description)
            .with_parameters(self.parameters.clone())
            .with_output_parameters(self.output_parameters.clone());
        tool.change_metadata(|metadata| metadata.clone_from(&self.metadata));
        Ok(tool)
    }
}

/// Returns the schema of the arguments of a call.
fn arguments_of<A: JsonSchema>() -> Value {
    let mut schema = schema_of::<A>();
    leave_out_null(&mut schema);
    schema
}

/// Returns the JSON Schema of a type, in the form that providers of models take: nothing by reference, no title.
pub fn schema_of<T: JsonSchema>() -> Value {
    schema_under::<T>(Contract::Deserialize)
}

/// Returns the schema of the values that serde accepts for a type, or of those that it writes. They differ: a field with
/// `skip_serializing_if` may be absent from what is written, and one with `default` from what is accepted.
fn schema_under<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract;
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(map) = schema.as_object_mut() {
        map.shift_remove("title");
        map.shift_remove("description");
        if map.get("type") == Some(&json!("object")) && !map.contains_key("properties") {
            map.insert("properties".into(), json!({}));
        }
    }
    drop_number_formats(&mut schema);
    fold_lines(&mut schema);
    schema
}

/// Joins the lines of each paragraph in descriptions: where the source of a doc comment breaks them says nothing.
fn fold_lines(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match value {
                    Value::String(text) if key == "description" => *text = folded(text),
                    value => fold_lines(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(fold_lines),
        _ => {}
    }
}

/// Returns the text with each paragraph on one line. Items of lists keep lines of their own.
fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut is_within_paragraph = false;
    for line in text.lines().map(str::trim) {
        let is_item = line.starts_with(['-', '*', '|']) || line.starts_with(|c: char| c.is_ascii_digit());
        match (line.is_empty(), is_within_paragraph) {
            (true, _) => out.push_str(if is_within_paragraph { "\n\n" } else { "" }),
            (false, true) => out.push(if is_item { '\n' } else { ' ' }),
            (false, false) => {}
        }
        out.push_str(line);
        is_within_paragraph = !line.is_empty();
    }
    out.truncate(out.trim_end().len());
    out
}

/// Lets an argument that may be left out be left out, and no more: `Option` would also allow null, and a default such as
/// `false` or `[]` says what leaving it out means anyway, in words that every request of a model pays for. A null that is
/// sent all the same is repaired.
fn leave_out_null(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let required = map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            if let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) {
                let optional = properties.iter_mut().filter(|(name, _)| !required.contains(&json!(name)));
                optional.filter_map(|(_, property)| property.as_object_mut()).for_each(without_null);
            }
            map.values_mut().for_each(leave_out_null);
        }
        Value::Array(items) => items.iter_mut().for_each(leave_out_null),
        _ => {}
    }
}

fn without_null(property: &mut JsonObject) {
    if property.get("default").is_some_and(is_empty) {
        property.shift_remove("default");
    }
    let alone = match property.get("type").and_then(Value::as_array).map(Vec::as_slice) {
        Some([one, null] | [null, one]) if null == "null" => Some(one.clone()),
        _ => None,
    };
    if let Some(alone) = alone {
        property.insert("type".into(), alone);
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Takes away `uint8`, `double` and their like: they say how Rust stores a number, which is nothing to a model, and
/// some providers refuse formats that they do not know.
fn drop_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let is_number = map.get("type").is_some_and(|types| {
                let names = types.as_array().map_or(std::slice::from_ref(types), Vec::as_slice);
                names.iter().any(|name| name == "integer" || name == "number")
            });
            if is_number {
                map.shift_remove("format");
            }
            map.values_mut().for_each(drop_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_number_formats),
        _ => {}
    }
}
