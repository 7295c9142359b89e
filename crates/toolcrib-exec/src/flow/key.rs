//! Which calls have the same answer, and for how long.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, Risk, Tool, ToolResult, canonical_json};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

use super::settings::MAX_TTL;

/// How much memory the arguments of a call may take for its result to be used again.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// How deep a result may be nested to be kept.
const MAX_DEPTH: usize = 128;

/// What a tool declares under `cacheable`: `true`, or `{ttl_seconds, scope: session | shared}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cacheable {
    /// How long its results are kept.
    pub(super) ttl: Duration,
    /// Whether everybody gets the same answer.
    pub(super) is_shared: bool,
}

/// Calls with the same key have the same answer. The generation is part of it: whatever a refresh changed, nothing from
/// before it is used again.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    tool: QualifiedName,
    fingerprint: Fingerprint,
    source: Arc<str>,
    generation: u64,
    arguments: String,
    /// `None` when everybody gets the same answer.
    principal: Option<Principal>,
}

/// Whoever differs in one of these does not see the other's results.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Principal {
    session: Arc<str>,
    agent: Option<Arc<str>>,
    user: Option<Arc<str>>,
}

impl Cacheable {
    /// What the tool declares. A declaration that cannot be read is none, and so is that of a tool that changes
    /// something: its second call matters, even when it is idempotent, since the world may have moved between the two.
    /// A risk that is not given is taken to be medium.
    pub(super) fn of(tool: &Tool, default_ttl: Duration) -> Option<Self> {
        let declared = tool.metadata.get("cacheable")?;
        if tool.risk() != Risk::Low || tool.side_effects().next().is_some() {
            return None;
        }
        let plain = Self { ttl: default_ttl.min(MAX_TTL), is_shared: false };
        match declared {
            Value::Bool(true) => Some(plain),
            Value::Object(declared) => plain.with(declared),
            _ => None,
        }
    }

    fn with(self, declared: &JsonObject) -> Option<Self> {
        let ttl = match declared.get("ttl_seconds") {
            None => self.ttl,
            Some(seconds) => {
                let seconds = seconds.as_f64().filter(|seconds| *seconds >= 0.0)?;
                Duration::try_from_secs_f64(seconds).unwrap_or(MAX_TTL).min(MAX_TTL)
            }
        };
        let is_shared = match declared.get("scope").map(Value::as_str) {
            None | Some(Some("session")) => false,
            Some(Some("shared")) => true,
            Some(_) => return None,
        };
        Some(Self { ttl, is_shared })
    }
}

impl Key {
    /// The key of a call; `None` when its arguments are too large.
    pub(super) fn of(call: &Call, context: &CallContext, cacheable: Cacheable) -> Option<Arc<Self>> {
        object_weight(&call.arguments, MAX_ARGUMENT_BYTES, 0)?;
        let principal = (!cacheable.is_shared).then(|| Principal {
            session: Arc::clone(&context.session),
            agent: context.agent.clone(),
            user: context.user.clone(),
        });
        Some(Arc::new(Self {
            tool: call.tool.name.clone(),
            fingerprint: call.fingerprint,
            source: Arc::clone(&call.source),
            generation: call.generation,
            arguments: canonical_json(&Value::Object(call.arguments.clone())),
            principal,
        }))
    }

    /// How much memory it takes, about.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + self.arguments.len() + self.tool.name().len() + self.tool.namespace().len()
    }
}

/// How much memory a result takes, about; `None` when that is more than `limit`, or when it is nested too deep.
pub(super) fn weight(result: &ToolResult, limit: usize) -> Option<usize> {
    let error = result.error.as_ref();
    let texts = error.map_or(0, |error| error.message.len() + error.hint.as_ref().map_or(0, String::len));
    let own = size_of::<ToolResult>() + result.name.len() + texts;
    let left = limit.checked_sub(own)?;
    let value = value_weight(&result.result, left, 0)?;
    let metadata = object_weight(&result.metadata, left.checked_sub(value)?, 0)?;
    Some(own + value + metadata)
}

fn value_weight(value: &Value, limit: usize, depth: usize) -> Option<usize> {
    if depth > MAX_DEPTH {
        return None;
    }
    let own = size_of::<Value>();
    let rest = limit.checked_sub(own)?;
    let inner = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => {
            let mut sum = 0;
            for item in items {
                sum += value_weight(item, rest.checked_sub(sum)?, depth + 1)?;
            }
            sum
        }
        Value::Object(map) => object_weight(map, rest, depth + 1)?,
    };
    (inner <= rest).then_some(own + inner)
}

fn object_weight(map: &JsonObject, limit: usize, depth: usize) -> Option<usize> {
    let mut sum = 0_usize;
    for (key, item) in map {
        // A slot of the map holds the key, its hash and its place.
        sum += size_of::<String>() + 2 * size_of::<usize>() + key.len();
        sum += value_weight(item, limit.checked_sub(sum)?, depth)?;
    }
    Some(sum)
}
