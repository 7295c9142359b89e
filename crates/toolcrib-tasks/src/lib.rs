//! Tasks that outlast one step of an agent: background calls, watchers, schedules, channels, skills and `ask_user`.
//!
//! [`Background`] runs calls in the background, [`Watchers`] calls tools at intervals and reports changes, and
//! [`Schedules`] runs actions at given times. Each is a policy over a ledger, which keeps the tasks with their owners,
//! limits, runs, leases and due times, and recovers them after a restart. They share [`Services`], which holds the
//! [`Store`], the [`Clock`], the tool caller and the [`Channel`]s. [`Tasks`] opens all of them for an app.
//!
//! [`tools`] creates `ask_user` for one [`Approver`](toolcrib_port::Approver), as a function for the namespace of the
//! runtime's built-in tools:
//!
//! ```
//! use std::sync::Arc;
//! use toolcrib_exec::DenyAll;
//! use toolcrib_sdk::Module;
//!
//! let module = toolcrib_tasks::tools(Arc::new(DenyAll))
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
mod ask_user;
mod background;
mod channels;
mod clock;
mod condition;
mod error;
mod id;
mod ledger;
mod notifications;
mod operator_request;
mod owner;
mod run_detached;
mod schedule;
mod services;
mod skills;
mod store;
mod tasks;
mod text;
mod time;
mod watch;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use action_support::ActionSupport;
pub use ask_user::{MAX_TEXT_CHARS, tools};
pub use background::{
    Background, BackgroundSettings, BackgroundingCaller, TaskObserver, TaskState, TaskStatus, former_names,
    makes_tasks, resolve_former_name,
};
pub use channels::{
    Channel, DEFAULT_MAX_FILE_BYTES, DELIVERY_TIME, FIRST_PAUSE, FileChannel, MAX_ATTEMPTS,
    MAX_MESSAGE_CHARS, MIN_FILE_BYTES, Message, SEND_MESSAGE, Terminal, TerminalChannel, ToolChannel,
    WebhookChannel, channel_tools,
};
pub use clock::{Clock, SystemClock};
pub use condition::Condition;
pub use error::Error;
pub use notifications::{MAX_NOTIFICATIONS, Notification, Notifications};
pub use operator_request::OperatorRequest;
pub use owner::WithOwner;
pub use schedule::{
    LastRun, Overlap, RunOutcome, SCHEDULER, ScheduleRequest, ScheduleSettings, ScheduleState,
    ScheduleStatus, ScheduleTime, Scheduler, Schedules,
};
pub use services::{Prompter, Services, TaskPorts};
pub use skills::{RejectedSkill, Skill, SkillFolder, Skills, USE_SKILL};
pub use store::{Change, MemoryStore, OpenedStore, Record, RecordKind, SqliteStore, Store, StoreError};
pub use tasks::{DRAIN_TIME, OwnedTask, ScheduleTools, TaskSettings, TaskStore, TaskSummary, Tasks};
pub use time::{Cron, parse_time};
pub use watch::{
    CheckOutcome, MAX_SHOWN_BYTES, MAX_WATCH_HISTORY, NotifyWhen, WatchRequest, WatcherCheck, WatcherMetrics,
    WatcherSettings, WatcherState, WatcherStatus, Watchers,
};
