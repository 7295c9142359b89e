//! Bodies whose beginning is kept from the request before.

use proptest::prelude::*;
use serde_json::json;
use toolcrib_model::Secret;

use super::client;
use crate::api::ApiSettings;
use crate::chat::{
    ChatRequest, EncodedPrefix, Picture, ProviderItems, RequestedCall, ToolChoice, ToolFunction,
};
use crate::{ApiModel, Message, Provider};

/// One provider for each format.
const PROVIDERS: [Provider; 4] =
    [Provider::OpenAi, Provider::Anthropic, Provider::OpenAiResponses, Provider::Gemini];

/// Returns a message of one of the kinds, the `number`th of its conversation.
fn message(kind: u8, number: usize) -> Message {
    let call = |id: String| RequestedCall {
        id,
        name: "look".to_owned(),
        arguments: r#"{"item": "lamp"}"#.to_owned(),
        problem: None,
    };
    let answer = |content: &str, calls: usize, provider_items| Message::Assistant {
        content: content.to_owned(),
        tool_calls: (0..calls).map(|position| call(format!("call_{number}_{position}"))).collect(),
        reasoning: String::new(),
        written: None,
        provider_items,
    };
    let items = |provider: Provider, items: serde_json::Value| {
        Some(ProviderItems {
            provider: provider.as_str().to_owned(),
            items: items.as_array().unwrap().clone(),
        })
    };
    match kind {
        0 => Message::user(format!("And {number}?")),
        1 => answer("I look.", 1, None),
        2 => answer("", 2, None),
        3 => answer(" ", 0, None),
        4 => answer("A lamp.", 0, items(Provider::Anthropic, json!([{"type": "text", "text": "A lamp."}]))),
        5 => {
            answer("", 1, items(Provider::Gemini, json!([{"functionCall": {}, "thoughtSignature": "c2ln"}])))
        }
        6 => Message::Pictures {
            pictures: vec![Picture {
                call_id: "a".to_owned(),
                media_type: "image/png".to_owned(),
                data: "iVBO".to_owned(),
            }],
        },
        _ => Message::tool(format!("call_{}_0", number.saturating_sub(1)), "look", "3 euro"),
    }
}

fn models() -> Vec<ApiModel> {
    let model = |provider| {
        let settings = ApiSettings::new(provider).with_api_key(Secret::new("sk"));
        ApiModel::new(settings, &client()).unwrap()
    };
    PROVIDERS.map(model).into()
}

fn body(
    model: &ApiModel,
    messages: &[Message],
    prefix: Option<&EncodedPrefix>,
    choice: &ToolChoice,
) -> String {
    let tools = [ToolFunction {
        name: "look".to_owned(),
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {"item": {"type": "string"}}}),
    }];
    let request = ChatRequest {
        system: "Be brief.",
        tools: &tools,
        tool_choice: choice,
        encoded: prefix,
        ..ChatRequest::new("m", messages)
    };
    let endpoint = &model.endpoint;
    let body = endpoint.provider.wire_format().body(&request, &endpoint.parameters, true, endpoint).unwrap();
    String::from_utf8(body.into()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_body_is_the_same_with_and_without_the_prefix_of_the_request_before(
        kinds in prop::collection::vec((0_u8..8, prop::bool::weighted(0.7)), 1..24),
        changes in prop::collection::vec(0_usize..4, 24),
    ) {
        let models = models();
        // A conversation that stays with one API, and one that changes it now and then.
        let mut prefixes: Vec<_> = (0..PROVIDERS.len()).map(|_| EncodedPrefix::default()).collect();
        let mut shared = EncodedPrefix::default();
        let mut messages = Vec::new();
        for (step, (kind, is_sent)) in kinds.into_iter().enumerate() {
            messages.push(message(kind, step));
            if !is_sent {
                continue;
            }
            let choice = if changes[step] == 0 { ToolChoice::None } else { ToolChoice::Auto };
            for (model, prefix) in models.iter().zip(&prefixes) {
                let whole = body(model, &messages, None, &choice);
                let parsed: serde_json::Value = serde_json::from_str(&whole).unwrap();
                prop_assert!(parsed.is_object());
                prop_assert_eq!(body(model, &messages, Some(prefix), &choice), whole);
            }
            let other = &models[changes[step]];
            prop_assert_eq!(
                body(other, &messages, Some(&shared), &choice), body(other, &messages, None, &choice));
            if changes[step] == 3 {
                // What was said last is extended.
                if let Some(Message::User { content }) = messages.last_mut() {
                    content.push_str(" Really?");
                    for prefix in &mut prefixes {
                        prefix.forget_from(step);
                    }
                    shared.forget_from(step);
                }
            }
        }
    }
}
