//! The enrichment `output_parameters`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_agent::chat::{ChatRequest, RequestOptions, ResponseFormat};
use toolcrib_agent::{Brain, Error, Message};
use toolcrib_model::JsonObject;
use toolcrib_registry::enrichment::{ToolKey, ToolPatch};
use toolcrib_registry::{Artifacts, Enriched, Enrichment, Entry, Snapshot};
use toolcrib_schema::CompiledSchema;

use crate::engine::routed::ToolPattern;
use crate::json_reply::parse;
use crate::reply_cache::{CacheKey, ReplyCache};

/// The most attempts for one tool.
pub const MAX_ATTEMPTS: u8 = 10;

/// The most tools that a model is asked about at the same time.
pub const MAX_PARALLEL: u8 = 64;

/// The most bytes of an inferred schema as JSON.
pub const MAX_OUTPUT_SCHEMA_BYTES: usize = 32 * 1024;

/// The system prompt.
const PROMPT: &str = include_str!("output_parameters.md");

/// The version of the keys of cached replies. It changes with the prompt.
const KEY_VERSION: u32 = 1;

/// The settings of `type: output_parameters` in `tools.enrichments`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct OutputParametersSettings {
    /// The model: the name of an agent, or the settings of a model. Who opens the model reads it.
    pub model: Value,
    /// The tools whose results are inferred: namespaces, or names in which `*` is any text; by default all.
    pub tools: Vec<String>,
    /// The attempts for one tool, until a reply is a schema.
    pub attempts: u8,
    /// The number of tools that the model is asked about at the same time.
    pub parallel: u8,
    /// True if the model is asked again about tools whose schemas are cached.
    pub force: bool,
}

impl Default for OutputParametersSettings {
    fn default() -> Self {
        Self { model: Value::Null, tools: Vec::new(), attempts: 3, parallel: 4, force: false }
    }
}

impl OutputParametersSettings {
    /// Checks the values beyond their types.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a value.
    pub fn check(&self) -> Result<(), String> {
        for (key, value, most) in
            [("attempts", self.attempts, MAX_ATTEMPTS), ("parallel", self.parallel, MAX_PARALLEL)]
        {
            if !(1..=most).contains(&value) {
                return Err(format!("`{key}` is from 1 to {most}, not {value}"));
            }
        }
        self.patterns().map(drop)
    }

    fn patterns(&self) -> Result<Vec<ToolPattern>, String> {
        self.tools.iter().map(|pattern| ToolPattern::new(pattern)).collect()
    }
}

/// The [`Enrichment`] that asks a model for the schemas of results of tools that declare none, and gives them to the
/// tools. It leaves out the tools of the runtime, and those that declare a schema.
///
/// A model that cannot be asked is an error, which aborts the refresh; the replies until then are cached. A tool for
/// which no reply is a schema stays as it is.
pub struct OutputParametersEnrichment {
    brain: Brain,
    settings: OutputParametersSettings,
    patterns: Vec<ToolPattern>,
    cache: ReplyCache,
}

/// The artifact of [`OutputParametersEnrichment`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InferredOutputs {
    /// The tools whose results have an inferred schema.
    pub inferred: Vec<ToolKey>,
    /// The tools for which no reply was a schema, each with the last problem.
    pub failed: Vec<(ToolKey, String)>,
}

/// The schema of a tool; the problem of the last reply if none was a schema.
type Inferred = Result<JsonObject, String>;

#[derive(Deserialize)]
struct SchemaReply {
    schema: JsonObject,
}

impl OutputParametersEnrichment {
    /// The key of its artifact, [`InferredOutputs`].
    pub const KEY: &'static str = "output_parameters";

    /// Creates the enrichment with its model.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with a setting.
    pub fn new(brain: Brain, settings: OutputParametersSettings) -> Result<Self, String> {
        settings.check()?;
        let patterns = settings.patterns()?;
        Ok(Self { brain, settings, patterns, cache: ReplyCache::in_memory() })
    }

    /// Keeps the schemas in a file of lines, by the content of the tools, so that other runs do not ask again. With
    /// `force`, the schemas in it are replaced.
    pub fn with_cache(mut self, file: impl Into<PathBuf>) -> Self {
        self.cache = ReplyCache::in_file(file.into());
        if self.settings.force {
            self.cache = self.cache.overwriting();
        }
        self
    }

    fn applies_to(&self, entry: &Entry) -> bool {
        let (tool, traits) = (&entry.tool, entry.tool.traits());
        let declares_none = tool.output_parameters.as_object().is_some_and(JsonObject::is_empty);
        let is_of_runtime = tool.name.is_of_runtime() || traits.operational || traits.discovery;
        let is_selected =
            self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.fits(&tool.name));
        declares_none && !is_of_runtime && is_selected
    }

    async fn infer(&self, entry: Arc<Entry>) -> Result<(ToolKey, Inferred), String> {
        let definition = json!({
            "name": entry.tool.name.to_string(),
            "description": entry.tool.description,
            "parameters": entry.tool.parameters.to_value(),
        });
        let parts = json!({"version": KEY_VERSION, "model": self.brain.name, "tool": definition});
        let key = CacheKey::new(&parts);
        let cached = self.cache.get(&key).await.map_err(|error| error.to_string())?;
        let cached = cached.and_then(|text| schema_of(&text).ok());
        let inferred = if let Some(schema) = cached {
            Ok(schema)
        } else {
            let inferred = self.ask(&definition).await?;
            if let Ok(schema) = &inferred {
                self.cache.put(&key, &json!({"schema": schema}).to_string()).await;
            }
            inferred
        };
        Ok((ToolKey::of(&entry), inferred))
    }

    /// Asks the model until a reply is a schema.
    async fn ask(&self, definition: &Value) -> Result<Inferred, String> {
        let mut messages = vec![Message::user(definition.to_string())];
        let mut problem = String::new();
        for attempt in 0..self.settings.attempts {
            let options = RequestOptions {
                seed: Some(attempt.into()),
                response_format: Some(ResponseFormat::JsonObject),
                ..RequestOptions::default()
            };
            let request = ChatRequest {
                system: PROMPT,
                options: Some(&options),
                ..ChatRequest::new(&self.brain.name, &messages)
            };
            let reply = match self.brain.model.complete(&request, &mut |_| ()).await {
                Ok(reply) => reply.written.unwrap_or(reply.content),
                Err(error @ (Error::NotAReply { .. } | Error::TooLarge { .. })) => {
                    problem = error.to_string();
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            };
            problem = match schema_of(&reply) {
                Ok(schema) => return Ok(Ok(schema)),
                Err(problem) => problem,
            };
            messages.push(Message::assistant(reply));
            messages.push(Message::user(format!(
                "This cannot be used: {problem}. Reply with the JSON object alone."
            )));
        }
        Ok(Err(problem))
    }
}

/// Returns the schema in a reply.
///
/// # Errors
///
/// Returns the problem, for the model.
fn schema_of(reply: &str) -> Inferred {
    let SchemaReply { schema } = parse(reply)?;
    if schema.is_empty() {
        return Err("the schema is empty".to_owned());
    }
    let value = Value::Object(schema.clone());
    let bytes = value.to_string().len();
    if bytes > MAX_OUTPUT_SCHEMA_BYTES {
        return Err(format!(
            "the schema has {bytes} bytes, and {MAX_OUTPUT_SCHEMA_BYTES} at most are accepted"
        ));
    }
    CompiledSchema::compile(&value).map_err(|error| error.to_string())?;
    Ok(schema)
}

#[async_trait]
impl Enrichment for OutputParametersEnrichment {
    fn key(&self) -> &str {
        Self::KEY
    }

    fn patches_tools(&self) -> bool {
        true
    }

    async fn run(&self, tools: &Snapshot, _: &Artifacts) -> Result<Enriched, String> {
        let asked: Vec<Arc<Entry>> =
            tools.all().iter().filter(|entry| self.applies_to(entry)).cloned().collect();
        let running = asked.into_iter().map(|entry| self.infer(entry));
        // In the order of the tools, so that equal replies make equal artifacts.
        let inferred: Vec<(ToolKey, Inferred)> =
            stream::iter(running).buffered(self.settings.parallel.into()).try_collect().await?;
        let mut artifact = InferredOutputs::default();
        let mut patches = Vec::new();
        for (tool, schema) in inferred {
            match schema {
                Ok(schema) => {
                    patches.push(ToolPatch::new(tool.clone()).with_output_parameters(Value::Object(schema)));
                    artifact.inferred.push(tool);
                }
                Err(problem) => {
                    tracing::warn!(tool = %tool.name, "no schema of its results was inferred: {problem}");
                    artifact.failed.push((tool, problem));
                }
            }
        }
        Ok(Enriched::new(artifact).with_patches(patches))
    }
}

impl std::fmt::Debug for OutputParametersEnrichment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputParametersEnrichment")
            .field("model", &self.brain.name)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
