//! Return types of functions.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use toolcrib_model::{ErrorKind, ToolError};

/// The return type of a tool's function: a value or a failure.
///
/// Two types implement it. `Result<T, ToolError>` returns the value unchanged, and a failure as the error of the call.
/// `Result<T, ErrorCode>` returns both as a [`Status`].
pub trait Outcome {
    /// The type of the call's result.
    type Result: Serialize + JsonSchema;

    /// Converts to the result of the call.
    ///
    /// # Errors
    ///
    /// Returns the error of the call.
    fn into_result(self) -> Result<Self::Result, ToolError>;
}

impl<T: Serialize + JsonSchema> Outcome for Result<T, ToolError> {
    type Result = T;

    fn into_result(self) -> Self {
        self
    }
}

impl<T: Serialize + JsonSchema> Outcome for Result<T, ErrorCode> {
    type Result = Status<T>;

    fn into_result(self) -> Result<Status<T>, ToolError> {
        let value = match self {
            Ok(value) => serde_json::to_value(value).map_err(|error| {
                ToolError::new(ErrorKind::Internal, format!("the result is not JSON: {error}"))
            })?,
            Err(code) => return Ok(Status::new([("status", json!("error")), ("error", json!(code.0))])),
        };
        Ok(match value {
            Value::Object(fields) => {
                let mut status = Status::new([("status", json!("ok"))]);
                status.fields.extend(fields.into_iter().filter(|(key, _)| key != "status"));
                status
            }
            Value::Null => Status::new([("status", json!("ok"))]),
            value => Status::new([("status", json!("ok")), ("result", value)]),
        })
    }
}

/// A failure that was to be expected, as a code that a model can act on: `not_found`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCode(Cow<'static, str>);

impl ErrorCode {
    /// Creates a failure by its code.
    pub fn new(code: impl Into<Cow<'static, str>>) -> Self {
        Self(code.into())
    }
}

/// `{"status": "ok", …}` with the fields of a value, or with the value itself as `result` where it has none; and
/// `{"status": "error", "error": code}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Status<T> {
    fields: Map<String, Value>,
    value: PhantomData<fn() -> T>,
}

impl<T> Status<T> {
    fn new<const N: usize>(fields: [(&str, Value); N]) -> Self {
        let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Self { fields, value: PhantomData }
    }
}

impl<T> Serialize for Status<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

impl<T: JsonSchema> JsonSchema for Status<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("StatusOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let value = generator.subschema_for::<T>().to_value();
        let mut properties = Map::new();
        properties.insert("status".into(), json!({"enum": ["ok", "error"]}));
        match value.get("properties").and_then(Value::as_object) {
            Some(fields) => {
                properties.extend(
                    fields.iter().filter(|(key, _)| *key != "status").map(|(k, v)| (k.clone(), v.clone())),
                );
            }
            None if value.get("type") == Some(&json!("null")) => {}
            None => {
                properties.insert("result".into(), value);
            }
        }
        properties
            .insert("error".into(), json!({"type": "string", "description": "What failed, as a code."}));
        let mut schema = Schema::default();
        schema.insert("type".into(), json!("object"));
        schema.insert("properties".into(), Value::Object(properties));
        schema.insert("required".into(), json!(["status"]));
        schema
    }
}
