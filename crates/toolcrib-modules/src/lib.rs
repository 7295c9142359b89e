//! The built-in modules of Toolcrib.
//!
//! Each one is a [`Module`](toolcrib_sdk::Module): a namespace of Rust functions that are tools. An app names the
//! modules that it uses. The runtime registers all of them by [`built_in`], so that a new module changes nothing
//! outside of this crate. [`names`] lists them.
//!
//! - [`hello`] greets. It needs no configuration, and shows that calls arrive.
//! - [`memory`] stores the goal and the tasks of an agent, and facts for later sessions.
//! - [`filesystem`] reads, finds, searches, writes, edits and moves the files of the app's workspace, and no others.
//! - [`database`] queries and changes SQLite files of the workspace, and PostgreSQL, MySQL and MariaDB servers.
//! - [`http`](mod@http) sends requests, reads web pages and downloads files with the guarded client.
//! - [`shell`] runs programs in the workspace, in the foreground or in the background.
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
//! The crate does not decide who may call a tool, and it accesses files only through
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

/// The session of the calls that the operator makes when an app starts. The resources that they open are available to
/// all sessions.
pub const SETUP_SESSION: &str = "setup";

/// The hint of an error about a file that the running app consists of.
pub(crate) const PROTECTED_HINT: &str = "use another path, or ask the user to change it";

pub use built_in::{ModuleContext, ModuleTable, NoConfig, build, built_in, names};
pub use error::Error;
