//! Tools from YAML and JSON files, and their engines.
//!
//! [`FileLoader`] reads a file in any of these shapes:
//!
//! 1. a mapping of namespaces to lists of tools;
//! 2. a list of tools;
//! 3. a mapping of tool names to tools;
//!
//! and `{namespace: …, tools: […]}`. A tool is `{name, description, parameters, output_parameters, metadata}`; the
//! formats of OpenAI (`{"type": "function", "function": …}`), Anthropic (`input_schema`) and MCP (`inputSchema`) are
//! recognised. The namespace of a tool is its own one, else that of the loader, else that of the file, else `default`.
//!
//! [`InlineLoader`] reads the same from a part of another document, such as an app file.
//!
//! [`CommandEngine`](command::CommandEngine) runs a program for each call, [`MockEngine`] returns canned results.
//!
//! [`ExecModule`] and [`WorkerModule`](worker::WorkerModule) are loaders and engines: the former is a folder of programs
//! that read and print JSON, with a manifest that describes their tools; the latter is a process that serves many calls.
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
//! A broken tool is rejected with its position, and so is a tool with a misspelt key; the others load.

mod file_loader;
mod inline_loader;
mod tool_file;
mod unknown_keys;

pub mod entry;

pub mod command;
mod mock_engine;

pub mod exec;
mod module_settings;
mod program_sandbox;
pub mod worker;

#[cfg(test)]
mod tests;

pub use exec::ExecModule;
pub use file_loader::FileLoader;
pub use inline_loader::InlineLoader;
pub use mock_engine::{MockEngine, MockSettings};
pub use module_settings::ModuleSettings;
pub use program_sandbox::ProgramSandbox;
