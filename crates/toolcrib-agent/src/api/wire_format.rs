//! The formats that servers of models speak.

use bytes::Bytes;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolcrib_model::Secret;
use url::Url;

use super::assembly::Assemble;
use super::vertex::is_vertex;
use super::{Endpoint, anthropic, chat_completions, gemini, responses};
use crate::Error;
use crate::chat::{ChatRequest, RequestOptions, ResponseFormat};

/// The revision of the Messages API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// The path of models below a base URL.
const MODELS: &str = "models";

/// A format of requests and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireFormat {
    /// Chat Completions, of `OpenAI` and most others.
    ChatCompletions,
    /// Messages, of Anthropic.
    Messages,
    /// Responses, of `OpenAI`.
    Responses,
    /// `generateContent`, of Gemini.
    GenerateContent,
}

impl WireFormat {
    /// Returns the address of a request.
    pub(super) fn url(self, base: &Url, model: &str, is_streamed: bool) -> Url {
        let mut url = base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty();
            match self {
                Self::ChatCompletions => path.extend(["chat", "completions"]),
                Self::Messages if is_vertex(base) => {
                    let verb = if is_streamed { "streamRawPredict" } else { "rawPredict" };
                    path.extend([MODELS, &format!("{model}:{verb}")])
                }
                Self::Messages => path.push("messages"),
                Self::Responses => path.push("responses"),
                Self::GenerateContent => {
                    let verb = if is_streamed { "streamGenerateContent" } else { "generateContent" };
                    path.extend(format!("{}:{verb}", model_path(model)).split('/'))
                }
            };
        }
        if self == Self::GenerateContent && is_streamed {
            url.query_pairs_mut().append_pair("alt", "sse");
        }
        url
    }

    /// Returns true if the format has tools that are loaded when a search finds them.
    pub(crate) fn defers_tools(self) -> bool {
        matches!(self, Self::Messages | Self::Responses)
    }

    /// Returns true if a request can name several tools of which one has to be called.
    pub(crate) fn takes_tool_lists(self) -> bool {
        self != Self::Messages
    }

    /// Returns the headers of each request.
    ///
    /// # Errors
    ///
    /// The key has characters that no header may have.
    pub(super) fn headers(self, endpoint: &Endpoint, key: Option<&Secret>) -> Result<HeaderMap, Error> {
        let (provider, mut headers) = (endpoint.provider, HeaderMap::new());
        // Vertex takes it in the body.
        if self == Self::Messages && !is_vertex(&endpoint.base) {
            let name = HeaderName::from_static("anthropic-version");
            headers.insert(name, HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        let Some(key) = key.map(Secret::expose) else { return Ok(headers) };
        let (name, text) = match self {
            _ if endpoint.bearer => (AUTHORIZATION, format!("Bearer {key}")),
            Self::ChatCompletions | Self::Responses => (AUTHORIZATION, format!("Bearer {key}")),
            Self::Messages => (HeaderName::from_static("x-api-key"), key.to_owned()),
            Self::GenerateContent => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        };
        let mut value =
            HeaderValue::from_str(&text).map_err(|_| Error::InvalidKey { provider: provider.as_str() })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok(headers)
    }

    /// Returns the body of a request.
    pub(super) fn body(
        self,
        request: &ChatRequest<'_>,
        options: &RequestOptions,
        stream: bool,
        endpoint: &Endpoint,
    ) -> Result<Bytes, Error> {
        match self {
            Self::ChatCompletions => chat_completions::request::body(request, options, stream, endpoint),
            Self::Messages => anthropic::request::body(request, options, stream, endpoint),
            Self::Responses => responses::request::body(request, options, stream, &endpoint.tool_options),
            Self::GenerateContent => gemini::request::body(request, options),
        }
    }

    /// Returns what puts a reply together, or this many. `search` is the wire name of the tool that searches.
    pub(super) fn assembler(
        self,
        replies: u32,
        search: Option<&str>,
        endpoint: &Endpoint,
    ) -> Box<dyn Assemble> {
        match self {
            Self::ChatCompletions => Box::new(chat_completions::reply::CompletionAssembler::new(replies)),
            Self::Messages => Box::new(anthropic::reply::MessageAssembler::default()),
            Self::Responses => {
                Box::new(responses::reply::ResponseAssembler::new(search, &endpoint.tool_options))
            }
            Self::GenerateContent => Box::new(gemini::reply::CandidateAssembler::default()),
        }
    }

    /// Finds the first option that the format has no key for, or that `extra` may not set: its key, and what is wrong.
    pub(crate) fn option_problem(self, options: &RequestOptions) -> Option<(&'static str, String)> {
        let (name, keys, own): (_, &[&'static str], &[&str]) = match self {
            Self::ChatCompletions => return None,
            Self::Messages => (
                "the Messages API",
                &["seed", "n", "logprobs", "response_format"],
                &["system", "stop_sequences", "max_tokens"],
            ),
            Self::Responses => (
                "the Responses API",
                &["seed", "stop", "n", "logprobs"],
                &["store", "instructions", "input", "max_output_tokens"],
            ),
            Self::GenerateContent => (
                "the Gemini API",
                &["n", "logprobs"],
                &["contents", "systemInstruction", "toolConfig", "system_instruction", "tool_config"],
            ),
        };
        let is_set = |key: &str| match key {
            "seed" => options.seed.is_some(),
            "stop" => !options.stop.is_empty(),
            "n" => options.n.is_some_and(|n| n != 1),
            "logprobs" => options.logprobs == Some(true),
            // It knows schemas only.
            _ => options.response_format == Some(ResponseFormat::JsonObject),
        };
        if let Some(key) = keys.iter().find(|key| is_set(key)) {
            let problem = match *key {
                "response_format" => format!("{name} has no `json_object`; give a `json_schema`"),
                key => format!("{name} has no `{key}`; remove it"),
            };
            return Some((key, problem));
        }
        let own = own.iter().find(|own| options.extra.contains_key(**own))?;
        let problem = format!("`{own}` is not set by `extra`: the request has it already; remove it");
        Some(("extra", problem))
    }
}

/// Returns the path of a model. One of a tuning or of a publisher has its path in its name.
pub(super) fn model_path(model: &str) -> String {
    if model.contains('/') { model.to_owned() } else { format!("{MODELS}/{model}") }
}
