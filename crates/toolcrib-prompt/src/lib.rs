//! What a model is shown of the tools, and how what it writes is read back.
//!
//! - [`WireNames`] gives each tool a name that function-calling APIs accept, and finds the tool again by table.
//! - [`Plan`] decides, from [`InjectionSettings`], whether all tools are shown ([`Injection::Direct`]) or only those
//!   by which the others are found ([`Injection::Discovery`]), and holds each [`OfferedTool`] as it is sent.
//! - [`SystemPrompt`] renders what stands before the conversation, for models that call tools through their API and
//!   for those that write calls as text ([`CallStyle`]).
//! - [`parse_text_calls`] reads the calls of the latter, and [`TextReader`] does so while they are written;
//!   [`render_tool_result`] writes what they get back, and [`defuse`] keeps data from looking like a call.
//! - [`estimate_tokens`] is the measure of all sizes.
//!
//! ```
//! use toolcrib_model::{QualifiedName, Tool};
//! use toolcrib_prompt::{CallStyle, InjectionSettings, Plan, SystemPrompt, ToolNames, WireNames};
//! use toolcrib_prompt::parse_text_calls;
//!
//! let tools = [Tool::new(QualifiedName::new("filesystem", "read")?).with_description("Read a file.")];
//! let names = WireNames::new(&tools, "context_builder", &[]);
//! let plan = Plan::new(&tools, &InjectionSettings::default(), &names)?;
//! assert_eq!(plan.offered[0].wire_name, "filesystem__read");
//!
//! let prompt = SystemPrompt::new(&plan, CallStyle::Text).with_agent("assistant", "assistant").render();
//! assert!(prompt.contains("### filesystem__read"));
//!
//! let message = r#"<tool_call>{"name": "filesystem__read", "arguments": {}}</tool_call>"#;
//! let parsed = parse_text_calls(message, &ToolNames::from(&names));
//! let target = names.resolve(&parsed.calls[0].name).ok_or("unknown tool")?;
//! assert_eq!(target.name.dotted(), "filesystem.read");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything here is a pure function of its inputs: no I/O, no clock, no chat client. Policy is applied before:
//! whatever tools come in are visible ones.

mod wire;

mod injection;
mod offer;
mod plan;

mod system_prompt;

mod text;

mod clean;
mod error;
mod tokens;

#[cfg(test)]
mod tests;

pub use clean::defuse;
pub use error::Error;
pub use injection::{Injection, InjectionMode, InjectionSettings};
pub use offer::{DiscoveryStep, MAX_DESCRIPTION_CHARS, MAX_PARAMETERS_BYTES, OfferedTool, Role};
pub use plan::{COMPACT_TOKENS_PER_TOOL, Plan, PlanTokens};
pub use system_prompt::{
    CallStyle, MAX_DOMAINS_CHARS, MAX_IDENTITY_CHARS, MAX_SUMMARY_CHARS, MAX_TOOL_LIST_CHARS,
    MAX_TOOLS_SECTION_CHARS, MAX_USER_PROMPT_CHARS, SystemPrompt,
};
pub use text::{
    MAX_TEXT_BYTES, MAX_TEXT_CALLS, ParsedText, TEXT_CALL_FORMAT, TextCall, TextReader, ToolNames,
    parse_text_calls, render_tool_result,
};
pub use tokens::estimate_tokens;
pub use toolcrib_schema::Profile;
pub use wire::{MAX_WIRE_NAME_CHARS, WireNames, WireTarget};
