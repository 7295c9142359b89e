//! The modules that Toolcrib comes with.
//!
//! Each is a [`Module`](toolcrib_sdk::Module): a namespace of Rust functions that are tools. An app names those it
//! wants, and whoever wires the app takes in the whole table by [`built_in`], so that a new module changes nothing
//! outside of this crate. [`names`] lists the table.
//!
//! - [`hello`] greets. It needs nothing, and shows that calls arrive.
//! - [`memory`] keeps what an agent is at, and facts for later.
//! - [`filesystem`] reads, finds, searches, writes, edits and moves the files of the app's workspace, and no others.
//! - [`database`] queries and changes SQLite files of the workspace, and PostgreSQL, MySQL and MariaDB servers.
//! - [`http`](mod@http) sends requests, reads web pages and downloads files, by the guarded client.
//! - [`shell`] runs programs in the workspace, to their end or in the background.
//!
//! ```
//! use toolcrib_modules::{ModuleContext, build, names};
//!
//! let context = ModuleContext::new(std::env::temp_dir());
//! let module = build("filesystem", &context)?;
//! assert_eq!(
//!     module.actions().collect::<Vec<_>>(),
//!     [
//!         "read", "ls", "tree", "stat", "find", "grep", "write", "append", "edit", "mkdir", "move", "copy", "delete"
//!     ]
//! );
//! assert_eq!(names(), ["hello", "memory", "filesystem", "database", "http", "shell"]);
//! # Ok::<(), toolcrib_modules::Error>(())
//! ```
//!
//! It decides nothing about who may call what, and it touches no file but through
//! [`Root`](toolcrib_io::files::Root).

mod built_in;
mod error;

pub mod hello;

pub mod memory;

pub mod filesystem;

pub mod http;

pub mod shell;

pub mod database;

#[cfg(test)]
mod tests;

/// The session of the calls that the operator makes when an app starts. What they open is for all sessions.
pub const SETUP_SESSION: &str = "setup";

/// The hint of an error about a file that the running app is made of.
pub(crate) const PROTECTED_HINT: &str = "use another path, or ask the user to change it";

pub use built_in::{ModuleContext, ModuleTable, NoConfig, build, built_in, names};
pub use error::Error;
