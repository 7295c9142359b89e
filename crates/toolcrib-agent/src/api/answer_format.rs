//! The schema of an answer in the form of each API.

use std::borrow::Cow;

use toolcrib_prompt::Profile;

use super::{Endpoint, WireFormat};
use crate::Provider;
use crate::chat::{ChatRequest, OutputSchema, RequestOptions, ResponseFormat};

/// Adds the schema of the answer to the options of a request, if its API takes it there. Options that say the form of a
/// message already stay as they are.
pub(super) fn with_answer_format<'a>(
    endpoint: &Endpoint,
    request: &ChatRequest<'a>,
    options: Cow<'a, RequestOptions>,
) -> (ChatRequest<'a>, Cow<'a, RequestOptions>) {
    let may_call = request.may_call();
    let schema = request.output.filter(|_| options.response_format.is_none());
    let Some(format) = schema.and_then(|schema| answer_format(endpoint, schema, may_call)) else {
        return (*request, options);
    };
    let mut options = options.into_owned();
    options.response_format = Some(format);
    // Gemini takes either tools or a schema.
    let tools = match endpoint.provider.wire_format() {
        WireFormat::GenerateContent => &[],
        _ => request.tools,
    };
    (ChatRequest { tools, ..*request }, Cow::Owned(options))
}

/// Returns the form of the answer for an API. While the model may call tools, only the servers get it of which it is
/// documented that they let a model call tools all the same: others would force it to answer at once.
fn answer_format(endpoint: &Endpoint, schema: &OutputSchema, may_call: bool) -> Option<ResponseFormat> {
    let (provider, is_own) = (endpoint.provider, endpoint.is_own_server);
    match (provider.wire_format(), provider) {
        (WireFormat::Messages, _) if is_own || !may_call => schema.strict_format(Profile::Structured),
        (WireFormat::Responses, _) | (_, Provider::OpenAi) if is_own => {
            schema.strict_format(Profile::OpenAiStrict).or_else(|| schema.format(Some(false)))
        }
        _ if may_call => None,
        (WireFormat::GenerateContent, _) => schema.strict_format(Profile::Structured),
        // They know no schemas, or know them for some of their models.
        (_, Provider::DeepSeek | Provider::Groq) => Some(ResponseFormat::JsonObject),
        _ => schema.format(None),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use serde_json::{Value, json};
    use toolcrib_io::http::{HttpClient, HttpPolicy};
    use toolcrib_model::Secret;

    use super::*;
    use crate::api::ApiSettings;
    use crate::chat::{ToolChoice, ToolFunction};
    use crate::{ApiModel, Message};

    /// Returns the model of a provider at its own server, or at another one.
    fn model(provider: Provider, is_own: bool) -> ApiModel {
        let settings = ApiSettings::new(provider).with_api_key(Secret::new("sk"));
        let settings =
            if is_own { settings } else { settings.with_base_url("http://localhost:1/v1".to_owned()) };
        let http = HttpClient::new(HttpPolicy { allow_private: true, ..HttpPolicy::default() }).unwrap();
        ApiModel::new(settings, &http).unwrap()
    }

    /// Returns the body of a request for an answer with a schema.
    fn body(model: &ApiModel, schema: &OutputSchema, tool_choice: &ToolChoice) -> Value {
        let messages = [Message::user("Price?")];
        let tools = [ToolFunction {
            name: "look".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {"item": {"type": "string"}}}),
        }];
        let request = ChatRequest {
            tools: &tools,
            tool_choice,
            output: Some(schema),
            ..ChatRequest::new("a-model", &messages)
        };
        let endpoint = &model.endpoint;
        let options = Cow::Borrowed(&endpoint.parameters);
        let (request, options) = with_answer_format(endpoint, &request, options);
        let format = endpoint.provider.wire_format();
        serde_json::from_slice(&format.body(&request, &options, true, endpoint).unwrap()).unwrap()
    }

    fn told(body: &Value) -> Value {
        let parts = ["response_format", "output_config", "text", "generationConfig", "tool_choice"];
        let mut told = serde_json::Map::new();
        for part in parts {
            if let Some(value) = body.get(part) {
                told.insert(part.to_owned(), value.clone());
            }
        }
        told.insert("has tools".to_owned(), body.get("tools").is_some().into());
        told.into()
    }

    fn price() -> OutputSchema {
        let schema = json!({
            "type": "object",
            "properties": {"price": {"type": "integer", "minimum": 0}, "note": {"type": "string"}},
            "required": ["price"],
        });
        OutputSchema::new(&schema).unwrap()
    }

    #[test]
    fn each_api_is_asked_for_the_schema_in_its_own_way() {
        let mut text = String::new();
        let own = [Provider::OpenAi, Provider::OpenAiResponses, Provider::Anthropic, Provider::Gemini];
        let servers = own.into_iter().map(|provider| (provider, true));
        let servers = servers
            .chain([Provider::Vllm, Provider::Anthropic, Provider::DeepSeek].map(|other| (other, false)));
        for (provider, is_own) in servers {
            for choice in [ToolChoice::Auto, ToolChoice::None] {
                let told = told(&body(&model(provider, is_own), &price(), &choice));
                writeln!(text, "{provider}, own server: {is_own}, tool choice {choice:?}\n  {told}").unwrap();
            }
        }
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_schema_that_an_api_cannot_enforce_is_not_sent_there() {
        let open = json!({"type": "object", "properties": {"prices": {"type": "object",
            "additionalProperties": {"type": "number"}}}});
        let open = OutputSchema::new(&open).unwrap();
        let sent = |provider| body(&model(provider, true), &open, &ToolChoice::None);
        assert!(sent(Provider::Anthropic).get("output_config").is_none());
        assert!(sent(Provider::Gemini).get("generationConfig").is_none());
        assert_eq!(sent(Provider::OpenAiResponses)["text"]["format"]["strict"], false);
    }

    #[test]
    fn a_form_of_messages_that_the_operator_chose_stays() {
        let model = {
            let mut model = model(Provider::OpenAi, true);
            model.endpoint.parameters.response_format = Some(ResponseFormat::JsonObject);
            model
        };
        let body = body(&model, &price(), &ToolChoice::None);
        assert_eq!(body["response_format"], json!({"type": "json_object"}));
    }
}
