//! The resources and prompts of the suite.

use serde_json::{Value, json};
use toolcrib_model::{ErrorKind, ToolError};

use super::failed;

/// A picture of one pixel.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

pub(super) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

pub(super) fn embedded(uri: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}})
}

pub(super) fn read(uri: &str) -> Result<Value, ToolError> {
    match uri {
        "test://static-text" => Ok(json!([{
            "uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource.",
        }])),
        "test://static-binary" => Ok(json!([{"uri": uri, "mimeType": "image/png", "blob": PNG}])),
        _ => match uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) {
            Some(id) => {
                let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                Ok(json!([{"uri": uri, "mimeType": "application/json", "text": data.to_string()}]))
            }
            None => Err(failed(ErrorKind::NotFound, "there is no such resource")),
        },
    }
}

pub(super) fn prompts(has_more: bool) -> Value {
    let argument = |name: &str| json!({"name": name, "description": "An argument.", "required": true});
    let prompt = |name: &str, arguments: Vec<Value>| json!({"name": name, "description": "A prompt.", "arguments": arguments});
    let mut prompts = vec![
        prompt("test_simple_prompt", vec![]),
        prompt("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
        prompt("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
        prompt("test_prompt_with_image", vec![]),
        prompt("test_input_required_result_prompt", vec![]),
    ];
    prompts.extend(has_more.then(|| prompt("test_one_more", vec![])));
    json!({"prompts": prompts})
}

pub(super) fn prompt(name: &str, arguments: &Value) -> Result<Value, ToolError> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let user = |content: Value| json!({"role": "user", "content": content});
    let messages = match name {
        "test_simple_prompt" => vec![user(json!("This is a simple prompt for testing."))],
        "test_prompt_with_arguments" => {
            let (first, second) = (text("arg1"), text("arg2"));
            vec![user(json!(format!("Prompt with arguments: arg1='{first}', arg2='{second}'")))]
        }
        "test_prompt_with_embedded_resource" => vec![
            user(embedded(text("resourceUri"), "Embedded resource content for testing.")),
            user(json!("Please process the embedded resource above.")),
        ],
        "test_prompt_with_image" => {
            vec![user(image()), user(json!("Please analyze the image above."))]
        }
        _ => return Err(failed(ErrorKind::NotFound, "there is no such prompt")),
    };
    Ok(json!({"description": "A prompt.", "messages": messages}))
}
