//! The built-in modules of Toolcrib.
//!
//! Each one is a [`Module`](toolcrib_sdk::Module): a namespace of Rust functions that are tools. An app names the
//! modules that it uses. The runtime registers all of them by [`built_in`], so that a new module changes nothing
//! outside of this crate. [`names`] lists them. Each is a feature of the crate, except `hello`.
//!
//! - [`hello`] greets. It needs no configuration, and shows that calls arrive.
//! - [`memory`] stores the goal and the tasks of an agent, and facts for later sessions.
//! - [`filesystem`] reads, finds, searches, writes, edits and moves the files of the app's workspace, and no others.
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
//! assert_eq!(names(), ["hello", "memory", "filesystem", "http", "shell"]);
//! # Ok::<(), toolcrib_modules::Error>(())
//! ```
//!
//! The crate does not decide who may call a tool, and it accesses files only through
//! [`Root`](toolcrib_io::files::Root).

mod built_in;
mod error;
mod root_access;

#[cfg(any(feature = "filesystem", feature = "http"))]
mod blocking;

pub mod hello;

#[cfg(feature = "memory")]
pub mod memory;

#[cfg(feature = "filesystem")]
pub mod filesystem;

#[cfg(feature = "http")]
pub mod http;

#[cfg(feature = "shell")]
pub mod shell;

#[cfg(all(feature = "filesystem", feature = "http", feature = "memory", feature = "shell"))]
#[cfg(test)]
mod tests;

pub use built_in::{ModuleContext, ModuleTable, NoConfig, build, built_in, names};
pub use error::Error;
