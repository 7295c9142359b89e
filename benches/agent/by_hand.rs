//! Baseline of the formats without a client library here: the same turns on a bare HTTP client, with values of JSON.

use std::error::Error;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolcrib_agent::{AgentSettings, Provider};
use toolcrib_bench::timings::Timings;
use toolcrib_io::http::HttpClient;

use crate::ours::{MODEL, PROMPT, RESULT};

/// A conversation in the format of a provider.
pub(crate) struct ByHand {
    provider: Provider,
    client: reqwest::Client,
    url: String,
    body: Map<String, Value>,
}

/// A call, assembled from its stream.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    arguments: String,
}

impl ByHand {
    /// Creates a conversation with its prompt. It shares its connections with ours.
    pub(crate) fn new(
        provider: Provider,
        base: &str,
        http: &HttpClient,
        settings: &AgentSettings,
    ) -> Result<Self, Box<dyn Error>> {
        let (system, tools) = (&settings.system_prompt, &settings.tools);
        let mark = json!({"type": "ephemeral"});
        let body = match provider {
            Provider::Anthropic => json!({
                "model": MODEL, "stream": true, "max_tokens": 16_384,
                "tools": tools.iter().map(|tool| json!({
                    "name": tool.name, "description": tool.description, "input_schema": tool.parameters,
                })).collect::<Value>(),
                "system": [{"type": "text", "text": system, "cache_control": mark}],
                "messages": [{"role": "user", "content": [{"type": "text", "text": PROMPT}]}],
            }),
            Provider::OpenAiResponses => json!({
                "model": MODEL, "stream": true, "store": false, "include": ["reasoning.encrypted_content"],
                "tools": tools.iter().map(|tool| json!({
                    "type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters, "strict": false,
                })).collect::<Value>(),
                "instructions": system,
                "input": [{"type": "message", "role": "user", "content": PROMPT}],
            }),
            _ => json!({
                "tools": [{"functionDeclarations": tools.iter().map(|tool| json!({
                    "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                })).collect::<Value>()}],
                "systemInstruction": {"parts": [{"text": system}]},
                "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
            }),
        };
        let path = match provider {
            Provider::Anthropic => "messages".to_owned(),
            Provider::OpenAiResponses => "responses".to_owned(),
            _ => format!("models/{MODEL}:streamGenerateContent?alt=sse"),
        };
        let Value::Object(body) = body else { return Err("the body is no object".into()) };
        Ok(Self { provider, client: http.reqwest_client().clone(), url: format!("{base}/{path}"), body })
    }

    /// Runs this number of turns. Those from `counted` on are timed.
    pub(crate) async fn run(
        &mut self,
        turns: usize,
        counted: usize,
        timings: &mut Timings,
    ) -> Result<(), Box<dyn Error>> {
        let mut start = Instant::now();
        for turn in 1..=turns {
            let call = self.ask().await?;
            let arguments: Value = serde_json::from_str(&call.arguments)?;
            if turn > counted {
                timings.add(start.elapsed());
            }
            let result = std::hint::black_box(format!(
                "{}: {RESULT}",
                arguments.get("number").unwrap_or(&Value::Null)
            ));
            start = Instant::now();
            self.push(&call, &arguments, &result);
        }
        Ok(())
    }

    fn list(&mut self) -> Option<&mut Vec<Value>> {
        let key = match self.provider {
            Provider::Anthropic => "messages",
            Provider::OpenAiResponses => "input",
            _ => "contents",
        };
        self.body.get_mut(key).and_then(Value::as_array_mut)
    }

    /// Adds a call and its result.
    fn push(&mut self, call: &Call, arguments: &Value, result: &str) {
        let Call { id, name, arguments: text } = call;
        let news = match self.provider {
            Provider::Anthropic => [
                json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": arguments}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]}),
            ],
            Provider::OpenAiResponses => [
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": text}),
                json!({"type": "function_call_output", "call_id": id, "output": result}),
            ],
            _ => [
                json!({"role": "model", "parts": [
                    {"functionCall": {"id": id, "name": name, "args": arguments}, "thoughtSignature": "c2ln"},
                ]}),
                json!({"role": "user", "parts": [
                    {"functionResponse": {"id": id, "name": name, "response": {"output": result}}},
                ]}),
            ],
        };
        if let Some(list) = self.list() {
            list.extend(news);
        }
    }

    /// Sets the marks at the end and before the last answer, or removes them.
    fn mark(&mut self, is_marked: bool) {
        let Some(list) = self.list() else { return };
        let last = list.len().saturating_sub(1);
        for position in [last.checked_sub(2), Some(last)].into_iter().flatten() {
            let block = list.get_mut(position).and_then(|message| message.pointer_mut("/content/0"));
            if let Some(Value::Object(block)) = block {
                if is_marked {
                    block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
                } else {
                    block.shift_remove("cache_control");
                }
            }
        }
    }

    async fn ask(&mut self) -> Result<Call, Box<dyn Error>> {
        let is_marked = self.provider == Provider::Anthropic;
        if is_marked {
            self.mark(true);
        }
        let request = self.client.post(&self.url).json(&self.body);
        if is_marked {
            self.mark(false);
        }
        let mut response = request.send().await?;
        let (mut buffer, mut call) = (Vec::new(), Call::default());
        while let Some(chunk) = response.chunk().await? {
            buffer.extend_from_slice(&chunk);
            while let Some(end) = buffer.windows(2).position(|window| window == b"\n\n") {
                let event: Vec<u8> = buffer.drain(..end + 2).collect();
                let data = event.strip_prefix(b"data: ").ok_or("an event without data")?;
                self.take(&serde_json::from_slice(data)?, &mut call);
            }
        }
        Ok(call)
    }

    /// Takes what an event says of the call.
    fn take(&self, event: &Value, call: &mut Call) {
        let text = |pointer: &str| event.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let [id, name, arguments] = match self.provider {
            Provider::Anthropic => ["/content_block/id", "/content_block/name", "/delta/partial_json"],
            Provider::OpenAiResponses if text("/type") == "response.output_item.done" => return,
            Provider::OpenAiResponses => ["/item/call_id", "/item/name", "/delta"],
            _ => {
                let part = "/candidates/0/content/parts/0/functionCall";
                call.id.push_str(text(&format!("{part}/id")));
                call.name.push_str(text(&format!("{part}/name")));
                if let Some(args) = event.pointer(&format!("{part}/args")) {
                    call.arguments = args.to_string();
                }
                return;
            }
        };
        call.id.push_str(text(id));
        call.name.push_str(text(name));
        call.arguments.push_str(text(arguments));
    }
}
