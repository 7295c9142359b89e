//! The agent loop, and the models that it talks to.
//!
//! - An [`Agent`] answers a prompt: it asks a [`ChatModel`], runs the calls of the model through a
//!   [`ToolCaller`](toolcrib_port::ToolCaller), returns their results to the model, and always ends within its
//!   [`RunLimits`], with a [`RunReport`]. An [`Observer`] watches.
//! - A [`Budget`] limits a run together with all runs that it starts.
//! - An [`AgentPool`] starts other agents of the app, and an [`AppPool`] calls the agents of other apps.
//! - [`OpenAiModel`] is a model behind the Chat Completions API of any [`Provider`].
//! - [`FallbackModel`] asks the next of several models where one cannot answer, and [`TextModel`] is a model that writes
//!   its calls as text, as one that calls through its API.
//! - [`RecordedModel`] plays turns from a file, and [`Recorder`] writes such a file.
//! - An [`NotificationQueue`] holds out-of-band notifications, which the model reads with its next turn.
//! - A [`Journal`] stores the events of a run as [`Entry`]s, and [`Conversation::restore`] restores the run from them.
//!
//! ```
//! use async_trait::async_trait;
//! use serde_json::json;
//! use toolcrib_agent::{Agent, AgentSettings, Conversation, RecordedModel};
//! use toolcrib_model::{QualifiedName, Tool, ToolCall, ToolResult};
//! use toolcrib_port::{CallContext, ToolCaller};
//! use toolcrib_prompt::{CallStyle, InjectionSettings, Plan, WireNames};
//!
//! /// Runs every tool by greeting.
//! struct Greeter;
//!
//! #[async_trait]
//! impl ToolCaller for Greeter {
//!     async fn call(&self, call: ToolCall, _context: &CallContext) -> ToolResult {
//!         ToolResult::ok(call.call_id, call.name, json!(format!("Hello, {}!", call.arguments["name"])))
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let tools = [Tool::new(QualifiedName::new("hello", "greet")?)];
//! let names = WireNames::new(&tools, "context_builder", &[]);
//! let plan = Plan::new(&tools, &InjectionSettings::default(), &names)?;
//! let agent = Agent::new(AgentSettings::new("assistant", "recorded", &plan, names));
//!
//! let recording = br#"
//! turns:
//!   - calls: [{name: hello__greet, arguments: {name: Ada}}]
//!   - expect: ['Hello, "Ada"!']
//!     text: I greeted her.
//! "#;
//! let model = RecordedModel::new("greet.yaml", recording, CallStyle::Native)?;
//! let (mut conversation, context) = (Conversation::new(), CallContext::new("session"));
//! let report = agent.run("Greet Ada.", &mut conversation, &model, &Greeter, &context, &mut ()).await;
//! assert_eq!(report.text, "I greeted her.");
//! assert_eq!(report.calls[0].name, "hello::greet");
//! # Ok(())
//! # }
//! ```
//!
//! It finds no tools, decides no policy and runs nothing itself; it knows its tools as names and schemas. It reads and
//! writes no files: recordings come in as bytes and go out to a writer.

mod agent;

mod budget;

mod app_pool;
mod pool;

mod chat;

mod fallback;
mod openai;
mod provider;

mod journal;
mod notifications;
mod recorded;

mod error;

pub use agent::{
    Agent, AgentSettings, CallRecord, Compacted, Conversation, DEFAULT_COMPACT_AT, DEFAULT_MAX_CALLS,
    DEFAULT_MAX_COST, DEFAULT_MAX_DURATION, DEFAULT_MAX_FAILURES, DEFAULT_MAX_RESULT_BYTES,
    DEFAULT_MAX_TOKENS, DEFAULT_MAX_TURNS, Limit, MAX_PARALLEL_CALLS, MAX_REPORTED_CALLS,
    MAX_REPORTED_NOTICES, Observer, Outcome, REPEAT_WINDOW, RunLimits, RunReport, STOP_AFTER_REPEATS, Spent,
};
pub use app_pool::{AppAgent, AppApprover, AppPool, CALL_APP, CallableApp};
pub use budget::Budget;
pub use chat::{
    ChatModel, ChatReply, ChatRequest, Message, Picture, Piece, RecoveringModel, RequestedCall, TextModel,
    TextSink, ToolChoice, ToolFunction, Usage,
};
pub use error::Error;
pub use fallback::{BREAKER_FAILURES, BREAKER_PAUSE, Brain, FallbackModel};
pub use journal::{Entry, Journal};
pub use notifications::{Note, NotificationQueue};
pub use openai::{
    DEFAULT_ATTEMPTS, DEFAULT_IDLE_TIMEOUT, DEFAULT_REPLY_TIMEOUT, DEFAULT_RETRY_DELAY, OpenAiModel,
    OpenAiSettings, Parameters, Prices,
};
pub use pool::{AgentFactory, AgentPool, SpawnedAgent};
pub use provider::Provider;
pub use recorded::{MAX_RECORDING_BYTES, RecordedModel, Recorder};
pub use toolcrib_model::{Amount, Resource};
