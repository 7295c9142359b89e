//! The sampling parameters of a request.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use toolcrib_model::JsonObject;

/// The most texts of `stop`.
pub(crate) const MAX_STOPS: usize = 16;

/// The longest text of `stop`, in bytes.
const MAX_STOP_BYTES: usize = 256;

/// The most keys of [`Parameters::extra`].
pub(crate) const MAX_EXTRA_KEYS: usize = 32;

/// The largest [`Parameters::extra`], in bytes of JSON.
const MAX_EXTRA_BYTES: usize = 16 * 1024;

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

/// The sampling parameters of a request. The server decides those that are absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
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
    /// Further keys of the request, as the server knows them.
    pub extra: JsonObject,
}

impl Parameters {
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

/// The parameters as keys of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent<'a> {
    pub(super) parameters: &'a Parameters,
    /// The key that the server reads the most tokens from.
    pub(super) max_tokens_key: &'static str,
}

impl Serialize for Sent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Parameters { temperature, top_p, max_tokens, stop, seed, extra } = self.parameters;
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
        let is_own =
            |key: &str| OWN_KEYS.contains(&key) || (max_tokens.is_some() && key == self.max_tokens_key);
        for (key, value) in extra.iter().filter(|(key, _)| !is_own(key)) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}
