//! The `toolcrib` command, as a library.
//!
//! A program with custom modules, loaders or engines passes them to [`main_with`] and has the whole command line, with the
//! exit codes and the output of `toolcrib` itself:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use toolcrib_app::{EntryContext, Extensions};
//! use toolcrib_sdk::{Module, module};
//!
//! struct Dice;
//!
//! /// Rolls dice.
//! #[module(id = "dice")]
//! impl Dice {
//!     /// Rolls one that always falls the same.
//!     #[tool(risk = "low")]
//!     fn roll(&self) -> u8 {
//!         4
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     let dice = |_: toolcrib_cli::NoConfig, _: &EntryContext<'_>| Ok(Module::from(Dice));
//!     toolcrib_cli::main_with(Extensions::default().with_module("dice", dice))
//! }
//! ```
//!
//! Each command is a file under `commands`; `arguments` defines the command line, `exit` the exit codes. With `--json` a
//! command prints exactly one JSON document on standard output; text for people that is not the result goes to standard
//! error.

mod app_start;
mod arguments;
mod entry;
mod exit;
mod trace;
mod ui;

mod commands;

mod allocator;
mod approver;
mod decision_display;
mod delegated_calls;
mod extensions;
mod file_edit;
mod interrupt;
mod secrets;
mod session;
#[cfg(feature = "otlp")]
mod telemetry;
#[cfg(not(feature = "otlp"))]
#[path = "telemetry/absent.rs"]
mod telemetry;
mod terminal;
mod trust_changes;

pub use entry::{main, main_with};
pub use toolcrib_app::{EntryContext, Extensions, NoConfig};
