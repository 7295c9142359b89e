//! The options of a request: sampling, the form and the number of replies.

use std::borrow::Cow;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::json;
use toolcrib_model::JsonObject;

/// The most texts of `stop`.
pub(crate) const MAX_STOPS: usize = 16;

/// The longest text of `stop`, in bytes.
const MAX_STOP_BYTES: usize = 256;

/// The most keys of [`RequestOptions::extra`].
pub(crate) const MAX_EXTRA_KEYS: usize = 32;

/// The largest [`RequestOptions::extra`], in bytes of JSON.
const MAX_EXTRA_BYTES: usize = 16 * 1024;

/// The most replies that one request asks for.
pub const MAX_REPLIES: u32 = 32;

/// The longest name of a schema, in bytes; servers take no longer one.
const MAX_SCHEMA_NAME_BYTES: usize = 64;

/// The keys of a request that the runtime writes itself.
const OWN_KEYS: [&str; 11] = [
    "model",
    "stream",
    "stream_options",
    "tools",
    "messages",
    "tool_choice",
    "temperature",
    "top_p",
    "max_tokens",
    "stop",
    "seed",
];

/// The options of a request. The server decides those that are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// The sampling temperature, from 0 to 2.
    pub temperature: Option<f64>,
    /// The share of the likeliest tokens that it chooses from, from 0 to 1.
    pub top_p: Option<f64>,
    /// The most tokens that it writes in one message.
    pub max_tokens: Option<u32>,
    /// Texts before which it stops.
    pub stop: Vec<String>,
    /// The seed that makes replies reproducible if the server supports it.
    pub seed: Option<i64>,
    /// The number of replies, at most [`MAX_REPLIES`]; those beyond the first are [`ChatReply::alternatives`]. The reply
    /// to a request for several is not streamed.
    ///
    /// [`ChatReply::alternatives`]: super::ChatReply::alternatives
    pub n: Option<u32>,
    /// The form of the reply.
    pub response_format: Option<ResponseFormat>,
    /// True if the server is asked for the log-probabilities of the tokens.
    pub logprobs: Option<bool>,
    /// Further keys of the request, as the server knows them.
    pub extra: JsonObject,
}

/// The form of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Text of any form.
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that conforms to a schema.
    JsonSchema {
        /// The name of the schema: at most 64 letters, digits, underscores and hyphens.
        name: String,
        /// The schema.
        schema: JsonObject,
        /// True if the server enforces the schema exactly, for which it accepts fewer schemas.
        strict: Option<bool>,
    },
}

impl Serialize for ResponseFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text => json!({"type": "text"}),
            Self::JsonObject => json!({"type": "json_object"}),
            Self::JsonSchema { name, schema, strict: None } => {
                json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
            }
            Self::JsonSchema { name, schema, strict } => {
                json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": strict}})
            }
        }
        .serialize(serializer)
    }
}

impl RequestOptions {
    /// Returns these options, with those of `base` where they are absent.
    pub fn or(&self, base: &Self) -> Self {
        let mut extra = base.extra.clone();
        extra.extend(self.extra.clone());
        Self {
            temperature: self.temperature.or(base.temperature),
            top_p: self.top_p.or(base.top_p),
            max_tokens: self.max_tokens.or(base.max_tokens),
            stop: if self.stop.is_empty() { base.stop.clone() } else { self.stop.clone() },
            seed: self.seed.or(base.seed),
            n: self.n.or(base.n),
            response_format: self.response_format.clone().or_else(|| base.response_format.clone()),
            logprobs: self.logprobs.or(base.logprobs),
            extra,
        }
    }

    /// Finds the first value that no server can be sent: its key, and what is wrong.
    pub fn problem(&self) -> Option<(&'static str, String)> {
        let is_within =
            |value: Option<f64>, most: f64| value.is_none_or(|value| (0.0..=most).contains(&value));
        if !is_within(self.temperature, 2.0) {
            return Some(("temperature", "`temperature` has to be from 0 to 2".to_owned()));
        }
        if !is_within(self.top_p, 1.0) {
            return Some(("top_p", "`top_p` has to be from 0 to 1".to_owned()));
        }
        if self.max_tokens == Some(0) {
            return Some(("max_tokens", "`max_tokens` has to be at least 1".to_owned()));
        }
        if self.n.is_some_and(|n| !(1..=MAX_REPLIES).contains(&n)) {
            return Some(("n", format!("`n` has to be from 1 to {MAX_REPLIES}")));
        }
        if let Some(ResponseFormat::JsonSchema { name, .. }) = &self.response_format {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || name.len() > MAX_SCHEMA_NAME_BYTES || !name.chars().all(is_letter) {
                let message = format!(
                    "the `name` of a schema has from 1 to {MAX_SCHEMA_NAME_BYTES} letters, digits, underscores and \
                     hyphens"
                );
                return Some(("response_format", message));
            }
        }
        if self.stop.len() > MAX_STOPS {
            return Some((
                "stop",
                format!("`stop` has at most {MAX_STOPS} texts, found {}", self.stop.len()),
            ));
        }
        if self.stop.iter().any(|stop| stop.is_empty() || stop.len() > MAX_STOP_BYTES) {
            return Some(("stop", format!("a text of `stop` has from 1 to {MAX_STOP_BYTES} bytes")));
        }
        if let Some(own) = self.extra.keys().find(|key| OWN_KEYS.contains(&key.as_str())) {
            return Some((
                "extra",
                format!("`{own}` is not set by `extra`: the request has it already; remove it"),
            ));
        }
        if self.extra.len() > MAX_EXTRA_KEYS {
            return Some((
                "extra",
                format!("`extra` has at most {MAX_EXTRA_KEYS} keys, found {}", self.extra.len()),
            ));
        }
        let bytes = serde_json::to_string(&self.extra).map_or(0, |text| text.len());
        (bytes > MAX_EXTRA_BYTES)
            .then(|| ("extra", format!("`extra` has at most {MAX_EXTRA_BYTES} bytes of JSON, found {bytes}")))
    }
}

/// The options as keys of a request.
#[derive(Clone, Debug)]
pub(crate) struct WireOptions<'a> {
    pub(crate) options: Cow<'a, RequestOptions>,
    /// The key that the server reads the most tokens from.
    pub(crate) max_tokens_key: &'static str,
}

impl Serialize for WireOptions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let RequestOptions {
            temperature,
            top_p,
            max_tokens,
            stop,
            seed,
            n,
            response_format,
            logprobs,
            extra,
        } = self.options.as_ref();
        let mut map = serializer.serialize_map(None)?;
        if let Some(temperature) = temperature {
            map.serialize_entry("temperature", temperature)?;
        }
        if let Some(top_p) = top_p {
            map.serialize_entry("top_p", top_p)?;
        }
        if let Some(max_tokens) = max_tokens {
            map.serialize_entry(self.max_tokens_key, max_tokens)?;
        }
        if !stop.is_empty() {
            map.serialize_entry("stop", stop)?;
        }
        if let Some(seed) = seed {
            map.serialize_entry("seed", seed)?;
        }
        if let Some(n) = n.filter(|n| *n > 1).as_ref() {
            map.serialize_entry("n", n)?;
        }
        if let Some(response_format) = response_format {
            map.serialize_entry("response_format", response_format)?;
        }
        if let Some(logprobs) = logprobs {
            map.serialize_entry("logprobs", logprobs)?;
        }
        let is_set = |key: &str| match key {
            "n" => n.is_some(),
            "response_format" => response_format.is_some(),
            "logprobs" => logprobs.is_some(),
            key => OWN_KEYS.contains(&key) || (max_tokens.is_some() && key == self.max_tokens_key),
        };
        for (key, value) in extra.iter().filter(|(key, _)| !is_set(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
