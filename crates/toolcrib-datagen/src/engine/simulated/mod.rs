//! The engine of simulated tools, whose results come from a model.
//!
//! A call passes these steps:
//!
//! 1. the injected errors: each category is drawn independently, from the seed, the session, and the position of the call
//!    in the session. An error that is drawn is the result of the call;
//! 2. the cache, by the tool, the arguments, and the values of the session;
//! 3. the model, which is given the definition of the tool, the earlier calls of the tool in the session as examples,
//!    the values of the session if the tools are stateful, and the call;
//! 4. the choice among the samples that are valid, see [`Candidate`].
//!
//! The metadata of each result say under [`SIMULATION`] where it came from, so that a failure of the simulation is
//! distinguished from an error of the tool.

mod choice;
mod error_categories;
mod prompt;
mod reply;
mod settings;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use toolcrib_agent::chat::{ChatModel, ChatReply, ChatRequest, RequestOptions};
use toolcrib_agent::{Message, Provider};
use toolcrib_model::{ErrorKind, JsonObject, Tool, ToolError, ToolResult};
use toolcrib_policy::{Authorized, Call};
use toolcrib_port::{CallContext, ToolEngine};
use toolcrib_schema::CompiledSchema;

pub use self::choice::Candidate;
use self::error_categories::digest;
pub use self::error_categories::{
    ErrorCategories, ErrorCategory, NETWORK_ERROR, SCHEMA_VIOLATION, UNPARSEABLE_RESULT,
};
use self::reply::{Outcome, Reply, ReplyFault};
pub use self::settings::{CacheSetting, MAX_ATTEMPTS, MAX_EXAMPLES, SimulatedSettings};
pub use crate::engine::SIMULATION;
pub use crate::reply_cache::MAX_CACHE_BYTES;
use crate::reply_cache::{CacheKey, ReplyCache};
use crate::session::{RememberedCall, SessionStates};

/// The version of the keys of cached replies. It changes when equal calls may get other replies, as by another prompt.
const KEY_VERSION: u32 = 1;

/// The category of a failure of the model or its server.
const MODEL_FAILURE: &str = "model";

/// The category of a failure of the cache or the session.
const STATE_FAILURE: &str = "state";

/// An engine whose results come from a model.
pub struct SimulatedEngine {
    model: Arc<dyn ChatModel>,
    model_name: String,
    settings: SimulatedSettings,
    states: SessionStates,
    cache: ReplyCache,
}

/// The reason why there is no result: a category of the metadata, and the error.
struct Failure {
    category: &'static str,
    error: ToolError,
}

impl SimulatedEngine {
    /// Creates the engine on a model, by its name at its provider. Sessions of a
    /// [`SessionEngine`](crate::session::SessionEngine) are seen if it has the same `states`.
    pub fn new(
        model: Arc<dyn ChatModel>,
        model_name: impl Into<String>,
        settings: SimulatedSettings,
        states: SessionStates,
    ) -> Self {
        let cache = match &settings.cache {
            CacheSetting::Memory(false) => ReplyCache::default(),
            CacheSetting::Memory(true) => ReplyCache::in_memory(),
            CacheSetting::File(path) => ReplyCache::in_file(path.clone()),
        };
        Self { model, model_name: model_name.into(), settings, states, cache }
    }

    async fn result(&self, call: &Authorized<Call>, context: &CallContext) -> Result<ToolResult, Failure> {
        let (session, states) = (&*context.session, &self.states);
        let changes =
            if self.settings.stateful { Some(states.changes(session).map_err(of_state)?) } else { None };
        let _changing = match &changes {
            Some(changes) => Some(changes.lock().await),
            None => None,
        };
        let is_example = |earlier: &RememberedCall| {
            earlier.tool == call.tool.name && earlier.fingerprint == call.fingerprint
        };
        let view = states.enter(session, self.settings.examples, is_example).map_err(of_state)?;
        if let Some((category, error)) =
            self.settings.error_categories.draw(self.settings.seed, session, view.position)
        {
            return Ok(call.failed(error).with_metadata(SIMULATION, json!({"injected": category})));
        }
        let schema = output_schema(&call.tool);
        let values = self.settings.stateful.then_some(&view.values);
        let key = self.cache_key(call, values);
        let cached = self.cache.get(&key).await.map_err(|error| of_cache(&error))?;
        let cached = cached.and_then(|text| Reply::parse(&text, schema.as_ref(), values.is_some()).ok());
        let (reply, origin) = if let Some(reply) = cached {
            (reply, json!({"cached": true, "model": self.written_by()}))
        } else {
            let conversation = prompt::conversation(&self.settings, call, &view.earlier, values);
            let reply = self.ask(call, context, &conversation, (schema.as_ref(), view.position)).await?;
            self.cache.put(&key, &reply.text()).await;
            (reply, json!({"samples": self.settings.samples, "model": self.written_by()}))
        };
        let remembered = RememberedCall {
            tool: call.tool.name.clone(),
            fingerprint: call.fingerprint,
            arguments: call.arguments.clone(),
            reply: reply.without_state(),
        };
        states.leave((session, view.id), remembered, reply.state).map_err(of_state)?;
        let result = match reply.outcome {
            Outcome::Result(value) => call.ok(value),
            Outcome::Error(message) => call.error(ErrorKind::ToolFailed, message),
        };
        Ok(result.with_metadata(SIMULATION, origin))
    }

    /// Returns the name of what makes up the results: the model, or a recording in its place.
    fn written_by(&self) -> &str {
        if self.model.provider() == Provider::Recorded.as_str() {
            return Provider::Recorded.as_str();
        }
        &self.model_name
    }

    fn cache_key(&self, call: &Call, values: Option<&JsonObject>) -> CacheKey {
        let tool = &call.tool;
        CacheKey::new(&json!({
            "version": KEY_VERSION,
            "model": self.model_name,
            "instructions": self.settings.instructions,
            "samples": self.settings.samples,
            "tool": tool.name.to_string(),
            "description": tool.description,
            "fingerprint": call.fingerprint.to_string(),
            "output": tool.output_parameters.fingerprint().to_string(),
            "arguments": call.arguments,
            "values": values,
        }))
    }

    /// Asks the model until a sample is valid, and returns the best one of its attempt.
    async fn ask(
        &self,
        call: &Call,
        context: &CallContext,
        conversation: &(String, Vec<Message>),
        (schema, position): (Option<&CompiledSchema>, u64),
    ) -> Result<Reply, Failure> {
        let (stateful, several) = (self.settings.stateful, self.settings.samples > 1);
        let mut options = RequestOptions {
            response_format: schema.and_then(|_| prompt::response_format(&call.tool, stateful)),
            logprobs: several.then_some(true),
            ..RequestOptions::default()
        };
        let mut fault = None;
        for attempt in 0..self.settings.attempts {
            options.seed = Some(seed_of(self.settings.seed, &context.session, position, attempt));
            let mut valid = Vec::new();
            for sample in self.samples(conversation, &options, context).await? {
                match Reply::parse(&sample.text, schema, stateful) {
                    Ok(reply) => valid.push((reply, sample.mean_log_probability)),
                    Err(reason) => fault = Some(reason),
                }
            }
            if let Some(best) = choice::best(valid) {
                return Ok(best);
            }
        }
        let attempts = self.settings.attempts;
        let fault = fault.unwrap_or(ReplyFault::Unparseable("the model gave no reply".into()));
        let tool = call.tool.name.shown();
        let message =
            format!("the simulation of `{tool}` gave no valid result in {attempts} attempts: {fault}");
        Err(Failure { category: fault.category(), error: ToolError::new(ErrorKind::Internal, message) })
    }

    /// Requests as many samples as the settings say. A server that returns fewer at a time is asked again.
    async fn samples(
        &self,
        (system, messages): &(String, Vec<Message>),
        options: &RequestOptions,
        context: &CallContext,
    ) -> Result<Vec<Candidate>, Failure> {
        let wanted = usize::from(self.settings.samples);
        let mut samples = Vec::with_capacity(wanted);
        while samples.len() < wanted {
            let mut options = options.clone();
            let missing = u32::from(self.settings.samples) - u32::try_from(samples.len()).unwrap_or_default();
            options.n = Some(missing);
            // The same seed would return the same sample.
            let asked = i64::try_from(samples.len()).unwrap_or_default();
            options.seed = options.seed.map(|seed| seed.saturating_add(asked));
            let request = ChatRequest {
                system,
                options: Some(&options),
                ..ChatRequest::new(&self.model_name, messages)
            };
            let reply = self.model.complete(&request, &mut |_| ()).await;
            let reply = reply.map_err(|error| {
                let message = format!("the model of the simulated tool cannot be asked: {error}");
                let kind = if error.is_unavailable() { ErrorKind::Unavailable } else { ErrorKind::Internal };
                Failure { category: MODEL_FAILURE, error: ToolError::new(kind, message) }
            })?;
            if let Some(budget) = &context.budget {
                budget.charge(reply.usage.into());
            }
            let ChatReply { content, mean_log_probability, alternatives, .. } = reply;
            let others = alternatives.into_iter().map(|other| (other.content, other.mean_log_probability));
            let all = [(content, mean_log_probability)].into_iter().chain(others);
            samples.extend(all.map(|(text, mean_log_probability)| Candidate { text, mean_log_probability }));
        }
        samples.truncate(wanted);
        Ok(samples)
    }
}

#[async_trait]
impl ToolEngine for SimulatedEngine {
    async fn invoke(&self, call: &Authorized<Call>, context: &CallContext) -> ToolResult {
        match self.result(call, context).await {
            Ok(result) => result,
            Err(Failure { category, error }) => {
                call.failed(error).with_metadata(SIMULATION, json!({"failed": category}))
            }
        }
    }

    fn warning(&self, tool: &Tool) -> Option<String> {
        let schema = tool.output_parameters.to_value();
        let error = CompiledSchema::compile(&schema).err()?;
        Some(format!(
            "its simulated results are not checked, since its output schema cannot be used: {error}"
        ))
    }

    async fn end_session(&self, session: &str) {
        self.states.forget(session);
    }
}

impl fmt::Debug for SimulatedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedEngine")
            .field("model_name", &self.model_name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Returns the schema of the results of a tool, if it is known and can be used.
fn output_schema(tool: &Tool) -> Option<CompiledSchema> {
    let schema = tool.output_parameters.to_value();
    let is_known = schema.as_object().is_none_or(|keywords| !keywords.is_empty());
    CompiledSchema::compile(&schema).ok().filter(|_| is_known)
}

/// Returns the seed of an attempt: a positive number that every server takes.
fn seed_of(seed: u64, session: &str, position: u64, attempt: u8) -> i64 {
    let [first, second, third, fourth, ..] =
        digest(seed, session, position, &format!("attempt {attempt}")).to_le_bytes();
    i64::from(u32::from_le_bytes([first, second, third, fourth]) >> 1)
}

#[expect(clippy::needless_pass_by_value, reason = "`map_err` passes it so")]
fn of_state(error: crate::session::SessionError) -> Failure {
    Failure { category: STATE_FAILURE, error: ToolError::new(ErrorKind::LimitReached, error.to_string()) }
}

fn of_cache(error: &toolcrib_io::Error) -> Failure {
    let message = format!("the cache of simulated results cannot be read: {error}");
    Failure { category: STATE_FAILURE, error: ToolError::new(ErrorKind::Internal, message) }
}
