//! Presents tools to models, and parses the calls that models write as text.
//!
//! - [`WireNames`] gives each tool a name that function-calling APIs accept, and maps the name back to the tool by
//!   table.
//! - [`Plan`] decides, from [`InjectionSettings`], which tools are sent with their schemas, which are listed on a line
//!   each, and which have to be found ([`Injection`]), and holds each [`OfferedTool`] as it is sent.
//! - [`SystemPrompt`] renders the prompt before the conversation, for models that call tools through their API and for
//!   those that write calls as text ([`CallStyle`]).
//! - [`parse_text_calls`] parses the calls of the latter, and [`TextReader`] does so while they are streamed;
//!   [`render_tool_result`] writes the results for them, and [`defuse`] keeps data from looking like a call.
//! - [`Tokenizer`] measures all sizes: with the model's own table where it is known, else with an estimate.
//!
//! ```
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_prompt::{CallStyle, InjectionSettings, Plan, SystemPrompt, ToolNames, WireNames};
//! use toolcrib_prompt::parse_text_calls;
//!
//! let tools = [Tool::new(QualifiedName::new("filesystem", "read")?).with_description("Read a file.")];
//! let names = WireNames::new(&tools, "context_builder", &[]);
//! let settings = InjectionSettings { style: CallStyle::Text, ..InjectionSettings::default() };
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

mod wire_names;

mod injection;
mod listing;
mod offered_tool;
mod plan;

mod plan_cost;
mod reveal;

mod system_prompt;

mod text_calls;

mod error;
mod sanitize;
mod tokenizer;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use injection::{
    DEFAULT_CONTEXT_WINDOW, DEFAULT_TOKENS_PER_TOOL, DEFAULT_TOOL_BUDGET, Estimate, Injection, InjectionMode,
    InjectionSettings, Reveal,
};
pub use listing::ListedTool;
pub use offered_tool::{MAX_DESCRIPTION_CHARS, MAX_PARAMETERS_BYTES, OfferedTool, Role};
pub use plan::Plan;
pub use plan_cost::PlanTokens;
pub use reveal::Reveals;
pub use sanitize::defuse;
pub use system_prompt::{CallStyle, MAX_USER_PROMPT_CHARS, RenderedPrompt, Section, SystemPrompt};
pub use text_calls::{
    MAX_TEXT_CALLS, ParsedText, TextCall, TextReader, ToolNames, parse_text_calls, render_tool_result,
};
pub use tokenizer::{ESTIMATE_MARGIN_PERCENT, Tokenizer, estimate_tokens};
pub use toolcrib_schema::Profile;
pub use wire_names::{MAX_WIRE_NAME_CHARS, WireNames, WireTarget};
