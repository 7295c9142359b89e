//! A Rust function becomes a tool.
//!
//! What a function is, is said where it stands: [`tool`](macro@tool) makes a tool of a function, and
//! [`module`](macro@module) a [`Module`], a namespace of tools, of the `impl` block that they stand in. A module is both the
//! loader of its tools and their engine, so an app takes it as one source.
//!
//! ```
//! use toolcrib_sdk::{ErrorCode, Module, module};
//!
//! struct Reports {
//!     titles: Vec<String>,
//! }
//!
//! /// Reads reports.
//! #[module(id = "reports", title = "Reports")]
//! impl Reports {
//!     /// Loads the title of one report.
//!     #[tool(name = "get-title", risk = "low", aliases = ["titre d'un rapport"])]
//!     fn title(
//!         &self,
//!         /// Which one.
//!         report_id: usize,
//!     ) -> Result<String, ErrorCode> {
//!         self.titles.get(report_id).cloned().ok_or(ErrorCode::new("not_found"))
//!     }
//! }
//!
//! let module = Module::from(Reports { titles: vec!["May".into()] });
//! assert_eq!(module.id(), "reports");
//! assert_eq!(module.actions().collect::<Vec<_>>(), ["get-title"]);
//! ```
//!
//! # What a function takes
//!
//! Each parameter is an argument of the call: its name and type make the schema, its doc comment the description, and
//! `#[serde(…)]` and `#[schemars(…)]` on it say more. `Option` is an argument that may be left out. A single parameter with
//! `#[arguments]` takes all of them as one type instead, which then implements `Deserialize` and `JsonSchema`.
//!
//! `&CallContext` is filled in, and so is `&Tools`, by which a function looks at other tools and calls them. So is a parameter with `#[hidden(context = "…")]`, from what the runtime knows of the call
//! (`session`, `conversation`, `user`, `agent`), or with `#[hidden(config = "…")]`, from the configuration of the module. They
//! are in no schema, and a call that has arguments of their names is refused.
//!
//! What `access` declares is in `CallContext::access`. A function that reaches a host, a file, or a program asks
//! [`CallContext::narrow`] with the [`Access`](toolcrib_policy::Access) of its app, which gives what both allow.
//!
//! A function that waits has to be `async`; one that is not holds up the others while it works, so it has to be quick.
//!
//! # What it gives
//!
//! A value is the result. `Result<T, ToolError>` can fail with an error that tells a model what to do; `Result<T, ErrorCode>`
//! gives a [`Status`] instead: `{"status": "ok", …}` or `{"status": "error", "error": "not_found"}`, for failures that were to be
//! expected. A panic is an error of the call, and so is a deadline that passes.
//!
//! # What the attribute says
//!
//! `#[module]` takes `id`, `title`, `description`, and `crate`, the path of this crate where another one re-exports it, as in
//! `crate = "toolcrib::sdk"`; `#[tool]` takes:
//!
//! | option | what it says |
//! |---|---|
//! | `name` | the bare name; the function's by default |
//! | `title` | a name for people |
//! | `description` | what it does, for models; the doc comment by default |
//! | `risk` | `"low"`, `"medium"` (the default) or `"high"` |
//! | `aliases`, `tags`, `side_effects` | lists of texts |
//! | `examples` | a list of arguments, as JSON |
//! | `access` | what its calls may reach, as JSON, within what the app and the module may |
//! | `confirmation_required` | that each call asks, unless the tool is granted by name |
//! | `user_selectable` | whether people can pick it; `= false` for tools of one agent |
//! | `idempotent` | that a second identical call does no more than the first, so that it may be tried again |
//! | `cacheable` | that its result may be used again; also `= {"ttl_seconds": 60}` |
//! | `timeout` | how long a call may take, in seconds |
//! | `crate` | the path of this crate, where a free function is a tool and another crate re-exports the SDK |
//! | `operational` | that it belongs to the running of an agent, and is always shown to it |
//!
//! A wrong option is a compile error at its place.
//!
//! # Without a macro
//!
//! A [`FunctionTool`] is the same for a closure, at run time:
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//! use toolcrib_sdk::{FunctionTool, Module, ToolError};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greet {
//!     /// Who is greeted.
//!     name: String,
//! }
//!
//! let greet = FunctionTool::new("say_hello", "Greets one person.", |greet: Greet, _context| async move {
//!     Ok::<_, ToolError>(format!("Hello, {}!", greet.name))
//! });
//! let module = Module::new("hello", "Greets people.").with_tool(greet.with_aliases(["dire bonjour"]));
//! assert_eq!(module.id(), "hello");
//! ```
//!
//! Arguments are validated against the schema before a function sees them. It decides nothing about who may call.

// The code that the macros write names this crate, also in its own tests.
#[cfg(test)]
extern crate self as toolcrib_sdk;

mod function;
mod inputs;
mod login_link;
mod module;
mod outcome;
mod source;
mod tool_access;
mod user_text;

/// Support for the code that the macros generate.
#[doc(hidden)]
pub mod macros {
    pub use schemars;
    pub use serde;
    pub use serde_json;
    pub use toolcrib_model::ToolError;

    pub use crate::outcome::Outcome;
}

#[cfg(test)]
mod tests;

pub use function::{FunctionTool, schema_of};
pub use inputs::Inputs;
pub use login_link::LoginPrompt;
pub use module::{Lifecycle, Module};
pub use outcome::{ErrorCode, Outcome, Status};
pub use source::{AppEntry, Seconds, SecretSink, Source};
pub use tool_access::Tools;
pub use toolcrib_macros::{module, tool};
pub use toolcrib_model::ToolError;
pub use toolcrib_port::CallContext;
pub use user_text::{MAX_USERS, UserHeaders, UserText, subject_of_call, user_of_call};

/// The session of the calls that the operator makes when an app starts. The resources that they open are available to
/// all sessions.
pub const SETUP_SESSION: &str = "setup";
