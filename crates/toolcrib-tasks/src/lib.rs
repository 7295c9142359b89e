//! Tasks that outlast one step of an agent: background calls, watchers, schedules, scripts, channels, skills and
//! `ask_user`.
//!
//! [`Background`] runs calls in the background, [`Watchers`] calls tools at intervals and reports changes, and
//! [`Schedules`] runs actions at given times. [`Scripts`] runs programs of models. Each is a policy over a ledger, which keeps the tasks with their owners,
//! limits, runs, leases and due times, and recovers them after a restart. They share [`Services`], which holds the
//! [`Store`], the [`Clock`], the tool caller and the [`Channel`]s. [`Tasks`] opens all of them for an app.
//!
//! [`tools`](ask_user::tools) creates `ask_user` for one [`Approver`](toolcrib_port::Approver), as a function for the
//! namespace of the runtime's built-in tools:
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_sdk::Module;
//!
//! let module = toolcrib_tasks::ask_user::tools(Arc::new(DenyAll))
//!     .into_iter()
//!     .fold(Module::new("context_builder", "Finds and runs tools."), Module::with_tool);
//! assert_eq!(module.actions().collect::<Vec<_>>(), ["ask_user"]);
//! ```
//!
//! `ask_user` shows the user a question, a text to review and edit, choices, and form fields. Agents see it only if a
//! rule grants it: `grant: [{module: context_builder, actions: [ask_user]}]`. Every answer is validated against its
//! question. An answer never approves a call; only the policy does.

mod action;
mod action_support;
pub mod ask_user;
pub mod background;
pub mod channels;
mod clock;
pub mod condition;
mod error;
mod id;
mod ledger;
pub mod notifications;
mod operator_request;
mod overrides;
mod owner;
mod run_detached;
pub mod schedule;
pub mod scripts;
mod services;
pub mod skills;
pub mod store;
mod tasks;
mod text;
pub mod time;
pub mod watch;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use action_support::ActionSupport;
pub use background::Background;
pub use channels::Channel;
pub use clock::{Clock, SystemClock};
pub use error::Error;
pub use notifications::Notifications;
pub use operator_request::OperatorRequest;
pub use overrides::{ActiveOverrides, OverrideError};
pub use owner::WithOwner;
pub use schedule::{Scheduler, Schedules};
pub use scripts::Scripts;
pub use services::{Prompter, Services, TaskPorts};
pub use skills::Skills;
pub use store::Store;
pub use tasks::{DRAIN_TIME, OwnedTask, StoreLocation, TaskSettings, TaskStore, TaskSummary, Tasks};
pub use watch::Watchers;
