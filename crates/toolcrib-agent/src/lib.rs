//! The agent loop, and the models that it talks to.
//!
//! - An [`Agent`] answers a prompt: it asks a [`ChatModel`], runs the calls of the model through a
//!   [`ToolCaller`](toolcrib_port::ToolCaller), returns their results to the model, and always ends within its
//!   [`RunLimits`], with a [`RunReport`]. An [`Observer`] watches.
//! - A [`Budget`] limits a run together with all runs that it starts.
//! - An [`AgentPool`] starts other agents of the app, and an [`AppPool`] calls the agents of other apps.
//! - [`ApiModel`] is a model behind the HTTP API of any [`Provider`].
//! - [`FallbackModel`](fallback::FallbackModel) asks the next of several models where one cannot answer, and
//!   [`TextModel`](chat::TextModel) is a model that writes its calls as text, as one that calls through its API.
//! - [`RecordedModel`](recorded::RecordedModel) plays turns from a file, and [`Recorder`](recorded::Recorder) writes
//!   such a file.
//! - An [`NotificationQueue`](notifications::NotificationQueue) holds out-of-band notifications, which the model reads
//!   with its next turn.
//! - A [`Journal`] stores the events of a run as [`Entry`](journal::Entry)s, and [`Conversation::restore`] restores the
//!   run from them.
//!
//! ```
//! use async_trait::async_trait;
//! use serde_json::json;
//! use toolcrib_agent::{Agent, AgentSettings, Conversation};
//! use toolcrib_agent::recorded::RecordedModel;
//! use toolcrib_model::{QualifiedName, Tool, ToolCall, ToolResult};
//! use toolcrib_port::{CallContext, ToolCaller};
//! use toolcrib_prompt::system_prompt::CallStyle;
//! use toolcrib_prompt::{InjectionSettings, Plan, WireNames};
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

pub mod budget;

pub mod app_pool;
pub mod pool;

pub mod api;
pub mod chat;

pub mod fallback;
mod provider;

pub mod journal;
pub mod notifications;
pub mod recorded;

mod error;

pub use agent::{
    Agent, AgentSettings, Conversation, Observer, Outcome, RunLimits, RunReport, limits, observer, report,
};
pub use api::ApiModel;
pub use app_pool::AppPool;
pub use budget::Budget;
pub use chat::{ChatModel, Message};
pub use error::Error;
pub use fallback::Brain;
pub use journal::Journal;
pub use pool::AgentPool;
pub use provider::Provider;
