//! The operational tools of the runtime that outlast one step: asking the user.
//!
//! [`tools`] makes them for one [`Approver`](toolcrib_port::Approver), as functions that belong into the namespace of
//! the runtime's own tools:
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
//! `ask_user` shows the user a question, a text to look through and change, answers to pick and fields to fill in. It is
//! there for agents only where a rule grants it: `grant: [{module: context_builder, actions: [ask_user]}]`. An answer is
//! checked against what was asked, whoever gives it. It approves no call: that is for the gate alone.

mod action;
mod ask_user;
mod background;
mod channels;
mod clock;
mod condition;
mod error;
mod id;
mod means;
mod notifications;
mod owner;
mod request;
mod schedule;
mod services;
mod skills;
mod store;
mod text;
mod time;
mod to_the_end;
mod watch;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use ask_user::{
    DEFAULT_TIMEOUT, MAX_CHOICES, MAX_CONTENT_CHARS, MAX_FIELDS, MAX_QUESTION_CHARS, MAX_TEXT_CHARS,
    MAX_TIMEOUT, MIN_TIMEOUT, tools,
};
pub use background::{
    Background, BackgroundSettings, DEFAULT_TASK_WAIT, LookedAfter, MAX_TASK_WAIT, MOVED, Patient, TaskState,
    TaskStatus, former_names, makes_tasks, renamed,
};
pub use channels::{
    ATTEMPT_TIME, Channel, DEFAULT_MAX_FILE_BYTES, DELIVERY_TIME, FIRST_PAUSE, FileChannel, MAX_ATTEMPTS,
    MAX_MESSAGE_CHARS, MAX_PAUSE, MIN_FILE_BYTES, Message, PLACES, SEND_MESSAGE, SIGNATURE_HEADER, Terminal,
    TerminalChannel, ToolChannel, WebhookChannel, channel_tools,
};
pub use clock::{Clock, SystemClock};
pub use condition::{Condition, MAX_CONDITION_CHARS, MAX_CONDITION_DEPTH};
pub use error::Error;
pub use means::TaskMeans;
pub use notifications::{
    MAX_NOTIFICATION_CHARS, MAX_NOTIFICATIONS, NOTIFICATION_AGE, Notification, Notifications,
};
pub use owner::Owned;
pub use request::Request;
pub use schedule::{
    LastRun, MAX_ACTION_BYTES, MAX_CATCH_UP, MAX_LABEL_CHARS, MAX_OVERLAPPING, MIN_CATCH_UP,
    MIN_CRON_INTERVAL, NEXT_RUNS, Overlap, RunOutcome, SCHEDULER, ScheduleRequest, ScheduleSettings,
    ScheduleState, ScheduleStatus, ScheduleTime, Scheduler, Schedules,
};
pub use services::{Prompter, Services};
pub use skills::{
    MAX_ARGUMENTS_CHARS, MAX_FRONT_MATTER_BYTES, MAX_LISTED, MAX_SKILL_BYTES, MAX_SKILL_FILES,
    MAX_SKILL_NAME_CHARS, MAX_SKILLS, RejectedSkill, Skill, SkillFolder, Skills, USE_SKILL,
};
pub use store::{
    Change, Kind, MAX_RECORD_BYTES, MemoryStore, Opened, Record, SqliteStore, Store, StoreError,
};
pub use time::{Cron, MAX_CRON_CHARS, MAX_PHRASE_CHARS, moment};
pub use watch::{
    CheckOutcome, DEFAULT_WATCH_INTERVAL, MAX_COMPARED_BYTES, MAX_SHOWN_BYTES, MAX_WATCH_ACTIONS,
    MAX_WATCH_BACKOFF, MAX_WATCH_HISTORY, MAX_WATCH_INTERVAL, MAX_WATCH_LABEL_CHARS, MAX_WATCH_REQUEST_BYTES,
    MAX_WATCHED_BYTES, MIN_WATCH_INTERVAL, NotifyWhen, WatchRequest, WatcherCheck, WatcherMetrics,
    WatcherSettings, WatcherState, WatcherStatus, Watchers,
};
