//! What the building of requests promises.

#![expect(clippy::needless_pass_by_value, reason = "the values are literals of the tests")]

mod bodies;
mod slots;

use std::path::Path;

use http::HeaderMap;
use serde_json::{Value, json};
use toolcrib_io::http::Request;
use toolcrib_policy::Access;

use crate::Error;
use crate::auth::BoundAuth;
use crate::operation::{ConversionSettings, Operation, ServerSettings, read_document};
use crate::request::prepare;
use crate::selection::Selection;
use crate::upload::Files;

/// The only operation of a document.
fn operation_of(document: &Value, auth: &BoundAuth) -> (Operation, Value) {
    let setting = ConversionSettings {
        source: "test",
        namespace: "api",
        base: ServerSettings::default(),
        auth,
        selection: &Selection::default(),
        has_workspace: true,
    };
    let reading = read_document(document, &setting).unwrap();
    let operation =
        reading.operations.values().next().unwrap_or_else(|| panic!("{:?}", reading.loaded.rejected));
    ((**operation).clone(), reading.loaded.tools[0].parameters["properties"].clone())
}

/// The request of the only operation of a document with this path and operation.
fn request_from(
    path: &str,
    operation: Value,
    arguments: Value,
    workspace: Option<&Path>,
) -> Result<Request, Error> {
    let document = json!({
        "openapi": "3.0.3",
        "servers": [{"url": "https://api.example/v1/"}],
        "paths": {path: {"post": operation}},
    });
    let (operation, _) = operation_of(&document, &BoundAuth::default());
    let access = Access::unlimited();
    let mut files = Files::new(workspace, &access);
    prepare(&operation, arguments.as_object().unwrap(), &HeaderMap::new(), &mut files)
}

fn request(path: &str, operation: Value, arguments: Value) -> Result<Request, Error> {
    request_from(path, operation, arguments, None)
}

fn parameter(location: &str, extra: Value) -> Value {
    let mut parameter = json!({"name": "v", "in": location, "required": true, "schema": {}});
    parameter.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    json!({"parameters": [parameter]})
}

fn url(path: &str, operation: Value, value: Value) -> String {
    request(path, operation, json!({"v": value})).unwrap().url.to_string()
}
