//! Requests to a model in a reproducible form.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_model::result::replace_handles;
use toolcrib_model::{Fingerprint, JsonObject};

use crate::chat::{ChatRequest, RequestOptions, WireOptions};

/// The length of the excerpt of a difference, in characters.
const MAX_SHOWN_CHARS: usize = 100;

/// The part of the excerpt before the difference, in characters.
const BEFORE_CHARS: usize = 30;

/// A request without what the previous request already had.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RequestDelta {
    /// The system prompt, where it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    /// The names of the tools, and a digest of each, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<(String, String)>>,
    /// The options of the request, where they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<JsonObject>,
    /// The number of messages of the previous request.
    #[serde(default)]
    from: usize,
    /// The messages behind those.
    #[serde(default)]
    messages: Vec<Value>,
}

/// A whole request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecordedRequest {
    system: String,
    tools: Vec<(String, String)>,
    options: JsonObject,
    messages: Vec<Value>,
}

/// The first difference of two requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) place: String,
    pub(super) recorded: String,
    pub(super) found: String,
}

impl RecordedRequest {
    pub(super) fn of(request: &ChatRequest<'_>) -> Self {
        let tool = |tool: &crate::chat::ToolFunction| {
            let digest = Fingerprint::of(&json!([tool.description, tool.parameters])).to_string();
            (tool.name.clone(), digest.chars().take(16).collect())
        };
        let messages = request.messages.iter().map(|message| {
            let mut value = serde_json::to_value(message).unwrap_or_default();
            // How calls are written, and what only the provider understands, is the model's own affair.
            if let Value::Object(map) = &mut value {
                map.shift_remove("written");
                map.shift_remove("provider_items");
            }
            normalise(&mut value);
            value
        });
        Self {
            system: without_handles(request.system).into_owned(),
            tools: request.tools.iter().map(tool).collect(),
            options: request.options.map(as_object).unwrap_or_default(),
            messages: messages.collect(),
        }
    }

    /// Returns the part of the request that differs from the one before.
    pub(super) fn since(&self, before: Option<&Self>) -> RequestDelta {
        let is_new = |is_same: fn(&Self, &Self) -> bool| before.is_none_or(|before| !is_same(self, before));
        let both = before.map_or(&[][..], |before| &before.messages).iter().zip(&self.messages);
        let from = both.take_while(|(one, other)| one == other).count();
        RequestDelta {
            system: is_new(|one, other| one.system == other.system).then(|| self.system.clone()),
            tools: is_new(|one, other| one.tools == other.tools).then(|| self.tools.clone()),
            options: before
                .map_or(!self.options.is_empty(), |before| before.options != self.options)
                .then(|| self.options.clone()),
            from,
            messages: self.messages.iter().skip(from).cloned().collect(),
        }
    }

    /// Applies the difference to get the next request.
    pub(super) fn then(&mut self, asked: &RequestDelta) {
        if let Some(system) = &asked.system {
            self.system.clone_from(system);
        }
        if let Some(tools) = &asked.tools {
            self.tools.clone_from(tools);
        }
        if let Some(options) = &asked.options {
            self.options.clone_from(options);
        }
        self.messages.truncate(asked.from);
        self.messages.extend(asked.messages.iter().cloned());
    }

    /// Returns the first difference between this recorded request and another.
    pub(super) fn difference(&self, found: &Self) -> Option<Difference> {
        if self.system != found.system {
            return Some(within("the system prompt", &self.system, &found.system));
        }
        let tools = self.tools.iter().zip(&found.tools).find(|(one, other)| one != other);
        let odd = |tools: &[(String, String)]| match tools.get(self.tools.len().min(found.tools.len())) {
            Some((name, _)) => format!("`{name}`"),
            None => "nothing".to_owned(),
        };
        match tools {
            Some(((name, _), (other, _))) if name == other => {
                let place = format!("the description or the parameters of the tool `{name}`");
                return Some(Difference { place, recorded: "another".to_owned(), found: "this".to_owned() });
            }
            Some(((name, _), (other, _))) => {
                let (recorded, found) = (format!("`{name}`"), format!("`{other}`"));
                return Some(Difference { place: "a tool that is offered".to_owned(), recorded, found });
            }
            None if self.tools.len() != found.tools.len() => {
                let (recorded, found) = (odd(&self.tools), odd(&found.tools));
                return Some(Difference { place: "the last of the tools".to_owned(), recorded, found });
            }
            None => {}
        }
        if self.options != found.options {
            let text = |options: &JsonObject| Value::Object(options.clone()).to_string();
            return Some(within("the options", &text(&self.options), &text(&found.options)));
        }
        let count = self.messages.len().max(found.messages.len());
        let at = (0..count).find(|at| self.messages.get(*at) != found.messages.get(*at))?;
        let text = |messages: &[Value]| messages.get(at).map(told).unwrap_or_default();
        let role =
            self.messages.get(at).or(found.messages.get(at)).and_then(|message| message["role"].as_str());
        let place = format!("message {} ({})", at + 1, role.unwrap_or("unknown"));
        Some(within(&place, &text(&self.messages), &text(&found.messages)))
    }
}

fn as_object(options: &RequestOptions) -> JsonObject {
    let wire = WireOptions { options: Cow::Borrowed(options), max_tokens_key: "max_tokens" };
    match serde_json::to_value(wire) {
        Ok(Value::Object(options)) => options,
        _ => JsonObject::new(),
    }
}

/// Returns a message as it is compared: its text where it is only that.
fn told(message: &Value) -> String {
    match message {
        Value::Object(map) if map.get("role").is_some_and(|role| role == "user" || role == "tool") => {
            let text = |key: &str| map.get(key).and_then(Value::as_str).unwrap_or_default();
            [text("name"), text("content"), text("note")].join(" ")
        }
        other => other.to_string(),
    }
}

/// Returns the first difference of two texts, with an excerpt of each.
fn within(place: &str, recorded: &str, found: &str) -> Difference {
    let same = recorded.chars().zip(found.chars()).take_while(|(one, other)| one == other).count();
    let line = recorded.chars().take(same).filter(|c| *c == '\n').count() + 1;
    let part =
        |text: &str| text.chars().skip(same.saturating_sub(BEFORE_CHARS)).take(MAX_SHOWN_CHARS).collect();
    Difference { place: format!("{place}, line {line}"), recorded: part(recorded), found: part(found) }
}

/// Takes out what is another each time: handles. Of long data a digest is enough.
fn normalise(value: &mut Value) {
    match value {
        Value::String(text) => *text = without_handles(text).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Object(map) => {
            // Each server makes different ids. The order says which result belongs to which call.
            for id in ["id", "call_id"] {
                map.shift_remove(id);
            }
            for (key, item) in map.iter_mut() {
                if key == "data" {
                    *item = Fingerprint::of(item).to_string().into();
                } else {
                    normalise(item);
                }
            }
        }
        _ => {}
    }
}

fn without_handles(text: &str) -> Cow<'_, str> {
    replace_handles(text, &mut |_| "r_…".to_owned())
}
