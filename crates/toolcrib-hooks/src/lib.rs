//! Hooks that an app file configures: programs and webhooks that check calls and results, and the guard.
//!
//! A [`ConfiguredHook`] sends each call, or each result, as one JSON object to a program or a URL, and reads one JSON object
//! with the verdict. The [`Guard`] filters results by regular expressions. Both implement
//! [`Hook`](toolcrib_exec::Hook), the contract that hooks in Rust have too.
//!
//! ```
//! use toolcrib_hooks::{Guard, GuardSettings};
//!
//! let settings: GuardSettings = serde_json::from_value(serde_json::json!({
//!     "patterns": {"order": "ORD-[0-9]{8}"},
//!     "rules": [{"detect": ["order", "pii"], "action": "redact"}],
//! }))?;
//! let guard = Guard::new(&settings)?;
//! assert_eq!(guard.redact("ORD-12345678 of ann@example.com"), "[redacted: order] of [redacted: email]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A hook that hangs, fails or returns anything but a verdict ends the call, unless its entry says `on_failure: open`.

mod answer;
mod configured;
pub mod cycle;
mod edit;
mod error;
pub mod guard;
mod message;
mod program;
mod selection;
pub mod settings;
mod webhook;

#[cfg(test)]
mod tests;

pub use configured::{ConfiguredHook, HookHost, MAX_ANSWER_BYTES, MAX_MESSAGE_BYTES};
pub use error::SettingError;
pub use guard::{Guard, GuardSettings};
pub use settings::HookSettings;
