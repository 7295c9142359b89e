//! The stages of a pipeline, and what they share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use toolcrib_agent::chat::{ChatRequest, RequestOptions, ResponseFormat, Usage};
use toolcrib_agent::{ChatModel, Error, Message};
use toolcrib_port::ToolCaller;

use super::error::{PipelineError, StageError};
use super::item::Item;
use super::settings::{GenerateSettings, ReplyForm, StageKind};
use super::template::{Template, Values};
use crate::json_reply::parse;
use crate::seed::Random;
use crate::session::SessionEngine;

/// The status of a server that failed while it made a reply.
const FAILED: u16 = 500;

/// The status of a server that failed after it had begun to send a reply.
const FAILED_MIDWAY: u16 = 200;

/// A stage of the pipeline.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Returns the type, which reports name.
    fn kind(&self) -> StageKind;

    /// Takes an item one stage further. The future may be dropped at any time; the item is then as it was before.
    ///
    /// # Errors
    ///
    /// Returns an error if the item is dropped, or the run ends.
    async fn run(&self, item: &mut Item, context: &StageContext) -> Result<(), StageError>;
}

/// The parts of a run that its stages share.
pub struct StageContext {
    /// The settings of the task.
    pub settings: GenerateSettings,
    /// The sessions in which calls run.
    pub sessions: SessionEngine,
    /// The caller that the sessions use, for questions about tools.
    pub caller: Arc<dyn ToolCaller>,
    /// The usage of the models.
    pub(crate) spent: Spent,
}

/// The usage of the models of a run.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    tokens: AtomicU64,
    cost: AtomicU64,
}

impl Spent {
    pub(crate) fn reset(&self) {
        self.tokens.store(0, Ordering::Relaxed);
        self.cost.store(0, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, usage: Usage) {
        self.tokens.fetch_add(usage.tokens(), Ordering::Relaxed);
        self.cost.fetch_add(usage.cost, Ordering::Relaxed);
    }

    /// Returns true if a limit is reached.
    pub(crate) fn is_used(&self, settings: &GenerateSettings) -> bool {
        /// The units of [`Usage::cost`] in one unit of the currency.
        const MILLIONTHS: f64 = 1e6;
        let tokens = self.tokens.load(Ordering::Relaxed);
        #[expect(clippy::cast_precision_loss, reason = "exact up to nine thousand million units")]
        let cost = self.cost.load(Ordering::Relaxed) as f64 / MILLIONTHS;
        settings.budget.tokens.is_some_and(|limit| tokens >= limit.get())
            || settings.budget.cost.is_some_and(|limit| cost >= limit)
    }
}

/// A model with its name at its provider.
#[derive(Clone)]
pub struct NamedModel {
    /// The name.
    pub name: String,
    /// The model.
    pub model: Arc<dyn ChatModel>,
}

/// The prompt of a stage, and the model that answers it.
pub(crate) struct Asker {
    pub(crate) stage: StageKind,
    pub(crate) template: Template,
    pub(crate) model: NamedModel,
}

impl Asker {
    /// Asks the model until a reply passes the check. `number` distinguishes the questions of one stage.
    pub(crate) async fn ask<T: DeserializeOwned + JsonSchema, R>(
        &self,
        item: &mut Item,
        context: &StageContext,
        number: u64,
        check: impl Fn(&Item, T) -> Result<R, String> + Send + Sync,
    ) -> Result<R, StageError> {
        let settings = &context.settings;
        let material = serde_json::to_string_pretty(&item.context(self.stage)).unwrap_or_default();
        let kind = serde_json::to_value(item.conversation.kind).unwrap_or_default();
        let values = Values {
            description: &settings.description,
            kind: kind.as_str().unwrap_or_default(),
            context: &material,
        };
        let mut messages = vec![Message::user(self.template.fill(values))];
        let format = response_format::<T>(self.stage, settings.response_format);
        let mut problem = String::new();
        for attempt in 0..settings.attempts.get() {
            let part = number.saturating_mul(u64::from(settings.attempts.get())) + u64::from(attempt);
            let seed = request_seed(item, part);
            let options =
                RequestOptions { seed, response_format: format.clone(), ..RequestOptions::default() };
            let reply = self.complete(item, &messages, &options, context).await?;
            problem = match parse(&reply).and_then(|reply| check(item, reply)) {
                Ok(usable) => {
                    item.conversation.provenance.add_model(&self.model.name);
                    return Ok(usable);
                }
                Err(problem) => problem,
            };
            messages.push(Message::assistant(reply));
            messages.push(Message::user(format!(
                "This cannot be used: {problem}. Reply with the JSON object alone."
            )));
        }
        Err(StageError::drop(self.stage, "unusable_reply", problem))
    }

    async fn complete(
        &self,
        item: &mut Item,
        messages: &[Message],
        options: &RequestOptions,
        context: &StageContext,
    ) -> Result<String, StageError> {
        if context.spent.is_used(&context.settings) {
            return Err(StageError::Budget);
        }
        let request = ChatRequest { options: Some(options), ..ChatRequest::new(&self.model.name, messages) };
        let limit = Duration::from_secs(context.settings.reply_timeout_seconds.get().into());
        let mut ignored = |_: toolcrib_agent::chat::Piece<'_>| {};
        let reply = tokio::time::timeout(limit, self.model.model.complete(&request, &mut ignored)).await;
        let reply = match reply {
            Ok(Ok(reply)) => reply,
            Ok(Err(error @ Error::TimedOut { .. })) => {
                return Err(StageError::drop(self.stage, "no_reply", error.to_string()));
            }
            Ok(Err(error @ (Error::NotAReply { .. } | Error::TooLarge { .. }))) => {
                return Err(StageError::drop(self.stage, "unusable_reply", error.to_string()));
            }
            // The server failed at this reply, and would again: the seed is the same when the run is resumed.
            Ok(Err(error @ Error::Refused { status: FAILED_MIDWAY | FAILED, .. })) => {
                return Err(StageError::drop(self.stage, "failed_reply", error.to_string()));
            }
            Ok(Err(error)) => {
                let message = error.to_string();
                return Err(StageError::Fail(PipelineError::Model { stage: self.stage, message }));
            }
            Err(_) => {
                let detail = format!("the model sent no complete reply within {} s", limit.as_secs());
                return Err(StageError::drop(self.stage, "no_reply", detail));
            }
        };
        context.spent.add(reply.usage);
        item.usage += reply.usage;
        // The text is whole where the wrapper of a model took calls out of it.
        Ok(reply.written.unwrap_or(reply.content))
    }
}

/// Returns the seed of a request. `part` distinguishes the requests of one stage.
fn request_seed(item: &Item, part: u64) -> Option<i64> {
    let stage_seed = Random::derive(item.conversation.seed, item.next_stage as u64);
    let turn_seed = Random::derive(stage_seed, u64::from(item.complete_turns));
    // Servers take seeds of 31 bits.
    i64::try_from(Random::derive(turn_seed, part) >> 33).ok()
}

/// Returns the form of the replies to a stage.
fn response_format<T: JsonSchema>(stage: StageKind, form: ReplyForm) -> Option<ResponseFormat> {
    match form {
        ReplyForm::JsonSchema => {
            let settings = SchemaSettings::draft2020_12().with(|settings| {
                // Servers that make a grammar of a schema know few keywords.
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            });
            let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
            let schema = schema.as_object().cloned().unwrap_or_default();
            Some(ResponseFormat::JsonSchema { name: stage.name().to_owned(), schema, strict: None })
        }
        ReplyForm::JsonObject => Some(ResponseFormat::JsonObject),
        ReplyForm::Text => None,
    }
}
