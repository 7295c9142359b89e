//! Baseline: the same turns, written by hand on a bare `async-openai`.

use std::error::Error;
use std::time::Instant;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionStreamResponse;
use futures::StreamExt as _;
use serde::Serialize;
use serde_json::{Value, json};
use toolcrib_agent::AgentSettings;
use toolcrib_bench::timings::Timings;
use toolcrib_io::http::HttpClient;

use crate::ours::{MODEL, PROMPT, RESULT};

/// The request body, with fields in the same order as ours.
#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    stream_options: Value,
    tools: Value,
    messages: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'a str>,
}

/// A call, assembled from its stream chunks.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

/// Returns a client that shares its connections with ours.
pub(crate) fn client(base: &str, http: &HttpClient) -> Client<OpenAIConfig> {
    let config = OpenAIConfig::new().with_api_base(base).with_api_key("").with_org_id("").with_project_id("");
    Client::build(http.reqwest_client().clone(), config)
}

/// Runs this number of turns and a last one without tools. The turns from `counted` on are timed.
pub(crate) async fn run(
    client: &Client<OpenAIConfig>,
    settings: &AgentSettings,
    turns: usize,
    counted: usize,
    timings: &mut Timings,
) -> Result<(), Box<dyn Error>> {
    let mut request = Request {
        model: MODEL,
        stream: true,
        stream_options: json!({"include_usage": true}),
        tools: serde_json::to_value(&settings.tools)?,
        messages: vec![
            json!({"role": "system", "content": settings.system_prompt}),
            json!({"role": "user", "content": PROMPT}),
        ],
        tool_choice: None,
    };
    let mut start = Instant::now();
    for turn in 1..=turns {
        let call = ask(client, &request).await?;
        let number: Value = serde_json::from_str(&call.arguments)?;
        if turn > counted {
            timings.add(start.elapsed());
        }
        let result =
            std::hint::black_box(format!("{}: {RESULT}", number.get("number").unwrap_or(&Value::Null)));
        start = Instant::now();
        request.messages.push(json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }]}));
        request.messages.push(json!({"role": "tool", "tool_call_id": call.id, "content": result}));
    }
    Ok(())
}

async fn ask(client: &Client<OpenAIConfig>, request: &Request<'_>) -> Result<Call, Box<dyn Error>> {
    let chat = client.chat();
    let mut stream = chat.create_stream_byot::<_, CreateChatCompletionStreamResponse>(request).await?;
    let mut whole = Call::default();
    while let Some(piece) = stream.next().await {
        let deltas = piece?.choices.into_iter().filter_map(|choice| choice.delta.tool_calls);
        for piece in deltas.flatten() {
            whole.id.push_str(&piece.id.unwrap_or_default());
            let Some(function) = piece.function else { continue };
            whole.name.push_str(&function.name.unwrap_or_default());
            whole.arguments.push_str(&function.arguments.unwrap_or_default());
        }
    }
    Ok(whole)
}
