//! Cache keys of calls, and the cache declarations of tools.

use std::sync::Arc;

use serde_json::Value;
use toolcrib_model::text::canonical_json;
use toolcrib_model::tool::Cacheable;
use toolcrib_model::{Fingerprint, JsonObject, QualifiedName, Tool, ToolResult};
use toolcrib_policy::Call;
use toolcrib_port::CallContext;

/// The maximum memory of the arguments of a call whose result is cached.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;

/// The maximum nesting of a cached result.
const MAX_DEPTH: usize = 128;

/// A cache key: calls with the same key have the same result. The generation is part of it, so that no result from
/// before a refresh is reused.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct CacheKey {
    tool: QualifiedName,
    fingerprint: Fingerprint,
    source: Arc<str>,
    generation: u64,
    arguments: String,
    /// The principal; `None` if all callers get the same result.
    principal: Option<CachePrincipal>,
}

/// The principal of a cache key. Callers that differ in one of these fields do not see each other's results.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CachePrincipal {
    session: Arc<str>,
    agent: Option<Arc<str>>,
    user: Option<Arc<str>>,
}

/// Returns the declaration of a tool without side effects. With side effects, a second call matters, even if it is
/// idempotent, since the state may have changed between the two. An undeclared risk counts as medium.
pub(super) fn cacheable(tool: &Tool) -> Option<Cacheable> {
    tool.traits().cacheable.filter(|_| tool.traits().is_read_only())
}

impl CacheKey {
    /// Returns the key of a call; `None` if its arguments are too large.
    pub(super) fn of(call: &Call, context: &CallContext, cacheable: Cacheable) -> Option<Arc<Self>> {
        object_weight(&call.arguments, MAX_ARGUMENT_BYTES, 0)?;
        let principal = (!cacheable.is_shared).then(|| CachePrincipal {
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

    /// Returns the approximate memory of the key in bytes.
    pub(super) fn weight(&self) -> usize {
        size_of::<Self>() + self.arguments.len() + self.tool.name().len() + self.tool.namespace().len()
    }
}

/// Returns the approximate memory of a result in bytes; `None` if it exceeds `limit` or nests too deep.
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
        // A slot of the map holds the key, its hash and its position.
        sum += size_of::<String>() + 2 * size_of::<usize>() + key.len();
        sum += value_weight(item, limit.checked_sub(sum)?, depth)?;
    }
    Some(sum)
}
