//! The modules that Toolcrib comes with.
//!
//! Each is a [`Module`](toolcrib_sdk::Module): a namespace of Rust functions that are tools. An app names those it
//! wants, and whoever wires the app takes them from the table by [`build`], so that a new module changes nothing
//! outside of this crate. [`names`] lists the table.
//!
//! - [`hello`] greets. It needs nothing, and shows that calls arrive.
//! - [`memory`] keeps what an agent is at, and facts for later.
//! - [`filesystem`] reads, lists, finds, searches and writes the files of the app's workspace, and no others.
//!
//! ```
//! use toolcrib_modules::{ModuleContext, build, names};
//!
//! let context = ModuleContext::new(std::env::temp_dir());
//! let module = build("filesystem", &context)?;
//! assert_eq!(module.actions().collect::<Vec<_>>(), ["read", "ls", "find", "grep", "write", "mkdir"]);
//! assert_eq!(names(), ["hello", "memory", "filesystem"]);
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

#[cfg(test)]
mod tests;

pub use built_in::{ModuleContext, build, names};
pub use error::Error;
