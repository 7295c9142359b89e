//! Tools from YAML and JSON files, and what runs them.
//!
//! [`FileLoader`] reads a file in any of the shapes that people have lying about:
//!
//! 1. a mapping of namespaces to lists of tools;
//! 2. a list of tools;
//! 3. a mapping of tool names to tools;
//!
//! and `{namespace: …, tools: […]}`. A tool is `{name, description, parameters, output_parameters, metadata}`; the forms
//! of OpenAI (`{"type": "function", "function": …}`), Anthropic (`input_schema`) and MCP (`inputSchema`) are recognised.
//! The namespace of a tool is its own, else the loader's, else the file's, else `default`.
//!
//! [`InlineLoader`] takes the same from a part of another document, such as an app file.
//!
//! [`CommandEngine`] runs a program for each call, [`MockEngine`] answers with canned results.
//!
//! An [`ExecModule`] is both at once: a folder of programs that read JSON and print JSON, with a manifest that says which
//! tools they are. A [`WorkerModule`] is a process that serves the calls of its tools for as long as it is needed.
//!
//! ```
//! use toolcrib_loader_file::FileLoader;
//! use toolcrib_port::ToolLoader;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let loaded = FileLoader::new("absent.yaml").with_namespace("weather").load().await;
//! assert!(loaded.tools.is_empty());
//! assert!(loaded.rejected[0].reason.contains("absent.yaml"));
//! # }
//! ```
//!
//! A broken tool is rejected with its place, and so is one with a key that is a known one misspelt; the others load.

mod inline;
mod keys;
mod loader;
mod shape;

mod command;
mod mock;
mod template;

mod exec;
mod worker;

#[cfg(test)]
mod tests;

pub use command::{CommandEngine, CommandOutput, CommandSettings};
pub use exec::{
    CONTEXT_VARIABLES, ExecModule, MANIFEST, MAX_ERROR_LINES, MAX_EXEC_TOOLS, MAX_MANIFEST_BYTES,
    MAX_PROGRESS_LINES,
};
pub use inline::InlineLoader;
pub use loader::{DEFAULT_NAMESPACE, FileLoader};
pub use mock::{MockEngine, MockSettings};
pub use template::{ArgvItem, TemplateError};
pub use worker::{
    CANCEL_GRACE, DEFAULT_START_LIMIT, FIRST_RESTART_PAUSE, MAX_OPEN_REQUESTS, MAX_PROGRESS_REPORTS,
    MAX_RESTART_PAUSE, MAX_WORKER_CALLS, MAX_WORKER_LINE_BYTES, STABLE_AFTER, WORKER_PROTOCOL, WorkerModule,
};
