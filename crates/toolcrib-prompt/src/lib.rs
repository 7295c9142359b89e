//! Presents tools to models, and parses the calls that models write as text.
//!
//! - [`WireNames`] gives each tool a name that function-calling APIs accept, and maps the name back to the tool by
//!   table.
//! - [`Plan`] decides, from [`InjectionSettings`], which tools are sent with their schemas, which are listed on a line
//!   each, and which have to be found ([`Injection`]), and holds each [`OfferedTool`] as it is sent.
//! - [`SystemPrompt`] renders the prompt before the conversation, for models that call tools through their API and for
//!   those that write calls as text ([`CallStyle`](system_prompt::CallStyle)).
//! - [`parse_text_calls`](text_calls::parse_text_calls) parses the calls of the latter, and
//!   [`TextReader`](text_calls::TextReader) does so while they are streamed;
//!   [`render_tool_result`](text_calls::render_tool_result) writes the results for them, and [`defuse`] keeps data from
//!   looking like a call.
//! - [`Tokenizer`] measures all sizes: with the model's own table where it is known, else with an estimate.
//!
//! ```
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_prompt::system_prompt::CallStyle;
//! use toolcrib_prompt::{InjectionSettings, Plan, SystemPrompt, WireNames};
//! use toolcrib_prompt::text_calls::ToolNames;
//! use toolcrib_prompt::text_calls::parse_text_calls;
//!
//! let tools = [Tool::new(QualifiedName::new("filesystem", "read")?).with_description("Read a file.")];
//! let names = WireNames::new(&tools, "context_builder", &[]);
//! let mut settings = InjectionSettings::default();
//! settings.style = CallStyle::Text;
//! let plan = Plan::new(&tools, &settings, &names)?;
//! assert_eq!(plan.offered[0].wire_name, "filesystem__read");
//!
//! let prompt = SystemPrompt::new(&plan).with_agent("assistant", "assistant").render();
//! assert!(prompt.text.contains("### filesystem__read"));
//!
//! let message = r#"<tool_call>{"name": "filesystem__read", "arguments": {}}</tool_call>"#;
//! let parsed = parse_text_calls(message, &ToolNames::from(&names));
//! let target = names.resolve(&parsed.calls[0].name).ok_or("unknown tool")?;
//! assert_eq!(target.name.dotted(), "filesystem.read");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here is a pure function of its inputs: no I/O, no clock, no chat client. Policy is applied earlier: all
//! tools that come in are visible.

pub mod wire_names;

mod declarations;
pub mod injection;
pub mod listing;
mod offered_tool;
mod plan;

mod plan_cost;
mod reveal;

pub mod system_prompt;

pub mod text_calls;

mod error;
mod sanitize;
pub mod tokenizer;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use injection::{Injection, InjectionMode, InjectionSettings};
pub use offered_tool::{OfferedTool, Role};
pub use plan::Plan;
pub use plan_cost::PlanTokens;
pub use reveal::Reveals;
pub use sanitize::defuse;
pub use system_prompt::SystemPrompt;
pub use tokenizer::Tokenizer;
pub use toolcrib_schema::Profile;
pub use wire_names::WireNames;
