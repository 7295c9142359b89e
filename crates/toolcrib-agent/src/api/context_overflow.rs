//! Detection of requests that exceed the context window of a model.
//!
//! Servers share no field for it: some have an error code, others only a message.

use serde_json::Value;

/// The codes and types of those that have one.
const CODES: [&str; 6] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "request_too_large",
    "string_above_max_length",
];

/// Phrases that indicate an overflow alone, in lower case.
const PHRASES: [&str; 8] = [
    "reduce the length of the messages",
    "prompt is too long",
    "input is too long",
    "request too large",
    "too many tokens",
    "input token count",
    "`inputs` tokens + `max_new_tokens` must be",
    "fit into the model",
];

/// Names of the context window,
const BOUNDS: [&str; 7] = [
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt length",
    "model length",
    "max_model_len",
];

/// and that it is too little, one of these.
const TOO_MUCH: [&str; 7] =
    ["exceed", "too long", "too large", "longer than", "however", "but the request", "greater than"];

/// Returns true if this response reports an overflow. `body` is the error as JSON, or null.
pub(super) fn is_overflow(status: u16, body: &Value, message: &str) -> bool {
    let code = |body: &Value| {
        let word =
            |key: &str| body.get(key).and_then(Value::as_str).is_some_and(|word| CODES.contains(&word));
        word("code") || word("type")
    };
    if status == 413 || code(body) || body.get("error").is_some_and(code) {
        return true;
    }
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    match status {
        // Fewer tokens help where a single request is above what a minute allows.
        429 => message.contains("request too large"),
        401 | 403 | 404 => false,
        _ => says(&PHRASES) || says(&BOUNDS) && says(&TOO_MUCH),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[expect(clippy::too_many_lines, reason = "a table")]
    #[test]
    fn each_server_says_it_in_its_own_words() {
        let error = |message: &str| json!({"error": {"message": message}});
        let cases = [
            (
                "OpenAI",
                400,
                json!({"error": {"message": "…", "type": "invalid_request_error", "code": "context_length_exceeded"}}),
            ),
            (
                "OpenAI",
                400,
                error(
                    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.",
                ),
            ),
            (
                "OpenAI",
                400,
                error(
                    "Your input exceeds the context window of this model. Please adjust your input and try again.",
                ),
            ),
            (
                "OpenAI",
                429,
                error(
                    "Request too large for gpt-4o in organization org on tokens per min (TPM): Limit 30000, Requested 40000.",
                ),
            ),
            (
                "vLLM",
                400,
                json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.", "type": "BadRequestError", "code": 400}),
            ),
            (
                "vLLM",
                400,
                error(
                    "The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.",
                ),
            ),
            (
                "vLLM",
                400,
                error(
                    "The prompt (total length 5000) is too long to fit into the model (context length 4096).",
                ),
            ),
            (
                "llama.cpp",
                400,
                json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error", "n_prompt_tokens": 5000, "n_ctx": 4096}}),
            ),
            (
                "llama.cpp",
                500,
                error(
                    "the request exceeds the available context size. try increasing the context size or enable context shift",
                ),
            ),
            ("llama.cpp", 500, error("Context size has been exceeded.")),
            ("llama-cpp-python", 500, error("Requested tokens (600) exceed context window of 512")),
            ("Ollama", 400, json!({"error": "the input length exceeds the context length"})),
            (
                "LM Studio",
                400,
                json!({"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}),
            ),
            (
                "LM Studio",
                400,
                json!({"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
            ),
            (
                "Mistral",
                400,
                json!({"object": "error", "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", "type": "invalid_request_prompt", "code": "3051"}),
            ),
            (
                "Anthropic",
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
            ),
            (
                "Anthropic",
                400,
                error(
                    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again",
                ),
            ),
            (
                "Anthropic",
                413,
                json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
            ),
            (
                "Groq",
                413,
                error(
                    "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
                ),
            ),
            (
                "xAI",
                400,
                error("This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
            ),
            (
                "Gemini",
                400,
                error(
                    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
                ),
            ),
            (
                "TGI",
                422,
                json!({"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 0 `max_new_tokens`", "error_type": "validation"}),
            ),
            (
                "SGLang",
                400,
                error("The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
            ),
            ("Bedrock", 400, error("Input is too long for requested model.")),
            (
                "Cohere",
                400,
                error(
                    "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.",
                ),
            ),
            ("in a stream", 200, json!({"message": "Context size has been exceeded.", "code": 500})),
        ];
        for (server, status, body) in cases {
            let message = super::super::error_response::message_of(&body).unwrap_or_default();
            assert!(is_overflow(status, &body, message), "{server}: {body}");
        }
    }

    #[test]
    fn what_has_another_reason_is_not_taken_for_it() {
        for (status, message) in [
            (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens."),
            (400, "Invalid schema for function 'x': schema is too large"),
            (400, "Unknown parameter: 'context_window'."),
            (401, "Incorrect API key; see the context window exceeded page"),
            (404, "The model `x` with a context length of 4096 does not exist; however, `y` does"),
            (
                429,
                "Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.",
            ),
            (500, "The server had an error while processing your request."),
            (503, "Too many requests"),
        ] {
            assert!(!is_overflow(status, &json!({"error": {"message": message}}), message), "{message}");
        }
    }
}
